# SPDX-License-Identifier: MIT
#
# The checks of `make lint` that need only the text of C sources and headers (POSIX awk; mawk will do).
# Input: scripts/layers.txt, scripts/lint.allow, then all sources, named from the top folder.  Output: one line a finding,
# "path:line: rule: sentence"; findings of the soft limits start with "warning ".
# To add a check: a rule in the last block but one, and a planted violation in scripts/lint_self_test.

function report(rule, sentence) {
  if (!((rule " " path) in allowed)) print path ":" FNR ": " rule ": " sentence
}
function soft(rule, line, sentence) {
  if (!((rule " " path) in allowed)) print "warning " path ":" line ": " rule ": " sentence
}

# The line without comments and without what stands in literals.
function strip(s,    out, i, token, quote) {
  out = ""
  while (s != "") {
    if (in_comment) {
      i = index(s, "*/")
      if (!i) return out
      s = substr(s, i + 2)
      in_comment = 0
      continue
    }
    if (!match(s, /\/\*|\/\/|"|'/)) return out s
    i = RSTART
    out = out substr(s, 1, i - 1)
    token = substr(s, i, 2)
    if (token == "/*") {
      in_comment = 1
      s = substr(s, i + 2)
      out = out " "
    } else if (token == "//") {
      return out
    } else {
      quote = substr(s, i, 1)
      s = substr(s, i + 1)
      if (match(s, "^([^" quote "\\\\]|\\\\.)*" quote)) s = substr(s, RLENGTH + 1)
      else s = ""
      out = out quote quote
    }
  }
  return out
}

function folder_of(file) { return match(file, /.*\//) ? substr(file, 1, RLENGTH - 1) : "." }
function base_of(file) { sub(/.*\//, "", file); return file }

# The layer that a file belongs to: the longest folder in the list that it lies in.
function layer_of(file,    name, best) {
  best = ""
  for (name in layers) if (index(file, name "/") == 1 && length(name) > length(best)) best = name
  return best
}

# Whether layer `from` reaches layer `to` through the permitted edges.
function reaches(from, to,    key, parts, n, i, found) {
  key = from " " to
  if (key in reach) return reach[key]
  reach[key] = 0
  if (from == to || layers[from] == "*") return reach[key] = 1
  n = split(layers[from], parts, " ")
  found = 0
  for (i = 1; i <= n && !found; i++) if (parts[i] == to || reaches(parts[i], to)) found = 1
  return reach[key] = found
}

function check_include(header, is_quoted,    target, from, to, name, homes, n, i, ok) {
  target = ""
  if (is_quoted && (folder_of(path) "/" header) in exists) target = folder_of(path) "/" header
  else if (header in exists) target = header
  else if (("include/" header) in exists) target = "include/" header
  if (!own_seen && !is_test && path ~ /\.c$/) {
    own_seen = 1
    name = path
    sub(/\.c$/, ".h", name)
    if ((name in exists) && target != name) report("own-header", "includes its own header, " base_of(name) ", first")
  }
  if (target == "") {
    for (name in home) if (header == name || (name ~ /\/$/ && index(header, name) == 1)) {
      ok = 0
      n = split(home[name], homes, " ")
      for (i = 1; i <= n; i++) if (path == homes[i] || (homes[i] ~ /\/$/ && index(path, homes[i]) == 1)) ok = 1
      if (!ok) report("home", "<" header "> has its home in " (n ? home[name] : "no file yet (scripts/layers.txt)"))
    }
    return
  }
  if (is_test) return
  from = layer_of(path)
  to = layer_of(target)
  if (from == "") report("layers", "lies in no layer of scripts/layers.txt")
  else if (!reaches(from, to)) report("layers", from " may not include " target)
}

# A macro, its continuation lines joined.
function check_macro(text,    name) {
  sub(/^[ \t]*#[ \t]*define[ \t]+/, "", text)
  name = text
  sub(/[^A-Za-z0-9_].*/, "", name)
  sub(/^[A-Za-z0-9_]+(\([^)]*\))?/, "", text)
  if (text ~ /(^|[^A-Za-z0-9_])(return|goto)([^A-Za-z0-9_]|$)/) report("macro-jump", "the macro " name " contains return or goto")
  if (path ~ /\.h$/ && path ~ /^(include|runtime|sim|kernels|formats|device|graph)\// && name !~ /^(PTO_|pto_)/ && name != "X" && name != "_GNU_SOURCE")
    report("macro-name", "the macro " name " of a library header does not start with PTO_")
}

function begin_file() {
  path = FILENAME
  sub(/^\.\//, "", path)
  is_test = path ~ /_test\.c$/ || path ~ /^tests\/interleave\//
  in_comment = depth = own_seen = function_line = 0
  pending = macro = ""
  lines[path] = 0
}

# What has to be known before the first source: its names.
BEGIN {
  for (i = 1; i < ARGC; i++) {
    name = ARGV[i]
    sub(/^\.\//, "", name)
    exists[name] = 1
    if (base_of(name) in first_of && name ~ /\.[ch]$/)
      print name ":1: unique-name: " first_of[base_of(name)] " has the same file name"
    first_of[base_of(name)] = name
  }
}

FILENAME ~ /layers\.txt$/ {
  if ($1 == "layer" || $1 == "home") {
    text = $0
    sub(/^[a-z]+[ \t]+/, "", text)
    name = substr(text, 1, index(text, ":") - 1)
    text = substr(text, index(text, ":") + 1)
    if ($1 == "layer") layers[name] = text ~ /^ *\*/ ? "*" : text
    else home[name] = text
  }
  next
}
FILENAME ~ /lint\.allow$/ {
  if ($1 !~ /^#/ && NF) {
    allowed[$1 " " $2] = 1
    if (NF < 3) print FILENAME ":" FNR ": allow: the reason is missing"
    if (!($2 in exists)) print FILENAME ":" FNR ": allow: " $2 " does not exist"
  }
  next
}

FNR == 1 {
  begin_file()
  if ($0 != "/* SPDX-License-Identifier: MIT */") report("spdx", "line 1 is not /* SPDX-License-Identifier: MIT */")
}
FNR == 2 && path ~ /\.h$/ && $0 !~ /^\/\*/ { report("header-comment", "no comment after the licence says what the header owns") }

{
  lines[path]++
  raw = $0
  code = strip(raw)
}
raw ~ /\t/ { report("tab", "tab") }
raw ~ /[ \t\r]$/ { report("blank", "blank or carriage return at the end of the line") }
raw ~ /(^|[^A-Za-z0-9_])(TO[D]O|FI[X]ME|XX[X]|HA[C]K)([^A-Za-z0-9_]|$)/ { report("plan", "a plan, not a fact") }
code ~ /^[ \t]*#[ \t]*include/ {
  header = raw
  sub(/^[ \t]*#[ \t]*include[ \t]*/, "", header)
  is_quoted = header ~ /^"/
  sub(/^["<]/, "", header)
  sub(/[">].*/, "", header)
  check_include(header, is_quoted)
}
code ~ /(^|[^A-Za-z0-9_])volatile([^A-Za-z0-9_]|$)/ && code !~ /(asm|__asm__)[ \t]+(volatile|__volatile__)/ {
  report("volatile", "volatile orders nothing between threads")
}
code ~ /atomic_(thread|signal)_fence|__sync_synchronize|__atomic_thread_fence/ { report("fence", "ThreadSanitizer does not see bare fences") }
!is_test && code ~ /memory_order_seq_cst|__ATOMIC_SEQ_CST/ { report("seq-cst", "sequential consistency without a reason in scripts/lint.allow") }
!is_test && code ~ /(^|[^A-Za-z0-9_])atomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_(weak|strong))[ \t]*\(/ {
  report("seq-cst", "an atomic operation without a stated order")
}

# Macros, with their continuation lines.
macro != "" || code ~ /^[ \t]*#[ \t]*define/ {
  macro = macro " " code
  if (raw ~ /\\$/) next
  text = macro
  gsub(/\\/, " ", text)
  macro = ""
  sub(/^ +/, "", text)
  check_macro(text)
  next
}
code ~ /^[ \t]*#/ { if (raw ~ /\\$/) macro = " #if"; next }

# Length of functions: from the first line of the signature to the closing brace.
{
  if (depth == 0 && code ~ /[^ \t]/) {
    if (pending == "") pending_line = FNR
    pending = pending code
    if (code ~ /extern ""/) { pending = ""; next }
  }
  opened = gsub(/{/, "{", code)
  closed = gsub(/}/, "}", code)
  if (depth == 0 && opened && pending ~ /\(.*\)[^=]*{/ && pending !~ /=/) function_line = pending_line
  depth += opened - closed
  if (depth < 0) depth = 0
  if (depth == 0) {
    if (function_line && closed) {
      if (FNR - function_line + 1 > 60) soft("long-function", function_line, (FNR - function_line + 1) " lines")
      function_line = 0
    }
    if (opened || closed || code ~ /;[ \t]*$/) pending = ""
  }
}

END {
  for (path in lines) if (lines[path] > 500) soft("long-file", 1, lines[path] " lines")
}
