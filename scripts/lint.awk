# SPDX-License-Identifier: MIT
#
# The checks of `make lint` that need only the text of C sources and headers (POSIX awk; mawk will do).
# Input: a list of all files, scripts/layers.txt, scripts/lint.allow, then all sources, named from the top folder.
# Output: one line a finding, "path:line: rule: sentence"; findings of the soft limits start with "warning ".
# To add a check: a rule in the last block but one, and a planted violation in scripts/lint_self_test.

function report(rule, sentence) {
  if (!((rule " " path) in allowed)) print path ":" FNR ": " rule ": " sentence
}
function soft(rule, line, sentence) {
  if (!((rule " " path) in allowed)) print "warning " path ":" line ": " rule ": " sentence
}

# The line without comments and without what stands in literals; what the comments say is left in `comment`.
function strip(s,    out, i, token, quote) {
  out = comment = ""
  while (s != "") {
    if (in_comment) {
      i = index(s, "*/")
      comment = comment " " (i ? substr(s, 1, i - 1) : s)
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
      comment = comment " " substr(s, i + 2)
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

# The layer that a file belongs to: the longest folder in the list that it lies in.
function layer_of(file,    name, best) {
  best = ""
  for (name in layers) if (index(file, name "/") == 1 && length(name) > length(best)) best = name
  return best
}

# Whether a `circle` line lets `file` use `target`; each of its two names is a file, or a folder that the file lies in.
function is_registered(file, target,    i) {
  for (i = 1; i <= circles; i++)
    if ((file == circle_from[i] || index(file, circle_from[i] "/") == 1) && (target == circle_to[i] || index(target, circle_to[i] "/") == 1)) return 1
  return 0
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

# Whether the file has a place in the list of a home line.
function is_at_home(name,    homes, n, i) {
  n = split(home[name], homes, " ")
  for (i = 1; i <= n; i++) if (path == homes[i] || (homes[i] ~ /\/$/ && index(path, homes[i]) == 1)) return 1
  return 0
}
function report_home(name, what) {
  if (!is_at_home(name)) report("home", what " has its home in " (home[name] ? home[name] : "no file yet (scripts/layers.txt)"))
}

function check_include(header, is_quoted,    target, from, to, name) {
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
    for (name in home) if (header == name || (name ~ /\/$/ && index(header, name) == 1)) report_home(name, "<" header ">")
    return
  }
  if (is_test) return
  from = layer_of(path)
  to = layer_of(target)
  if (from == "") report("layers", "lies in no layer of scripts/layers.txt")
  else if (!reaches(from, to) && !is_registered(path, target)) report("layers", from " may not include " target)
}

# The files that a comment names are in the tree; system headers are known by their includes.
function check_named_files(text,    name) {
  while ((name = file_name_in(text)) != "") {
    if (!is_file(name, path) && !(("named-file " path) in allowed)) named[path ":" FNR] = name
    text = after_name
  }
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

FILENAME ~ /layers\.txt$/ {
  text = $0
  sub(/^[a-z]+[ \t]+/, "", text)
  name = substr(text, 1, index(text, ":") - 1)
  text = substr(text, index(text, ":") + 1)
  if ($1 == "layer") layers[name] = text ~ /^ *\*/ ? "*" : text
  else if ($1 == "home" && sub(/\(\)$/, "", name)) { home[name] = text; is_function[name] = 1 }
  else if ($1 == "home") home[name] = is_system[name] = text
  else if ($1 == "circle") {
    circle_from[++circles] = $2
    circle_to[circles] = substr($3, 1, length($3) - 1)
    if ($3 !~ /:$/ || NF < 4) print FILENAME ":" FNR ": circle: not \"circle FROM TO: reason\""
  }
  next
}
FILENAME ~ /lint\.allow$/ {
  if ($1 !~ /^#/ && NF) {
    if (($1 " " $2) in allowed) print FILENAME ":" FNR ": allow: " $1 " " $2 " stands there twice"
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
comment ~ /\./ { check_named_files(comment) }
raw ~ /\t/ { report("tab", "tab") }
raw ~ /[ \t\r]$/ { report("blank", "blank or carriage return at the end of the line") }
raw ~ /(^|[^A-Za-z0-9_])(TO[D]O|FI[X]ME|XX[X]|HA[C]K)([^A-Za-z0-9_]|$)/ { report("plan", "a plan, not a fact") }
code ~ /^[ \t]*#[ \t]*include/ {
  header = raw
  sub(/^[ \t]*#[ \t]*include[ \t]*/, "", header)
  is_quoted = header ~ /^"/
  sub(/^["<]/, "", header)
  sub(/[">].*/, "", header)
  if (!is_quoted) is_system[header] = is_system[base_of(header)] = 1
  check_include(header, is_quoted)
}
code ~ /(^|[^A-Za-z0-9_])volatile([^A-Za-z0-9_]|$)/ && code !~ /(asm|__asm__)[ \t]+(volatile|__volatile__)/ {
  report("volatile", "volatile orders nothing between threads")
}
code ~ /atomic_(thread|signal)_fence|__sync_synchronize|__atomic_thread_fence/ { report("fence", "ThreadSanitizer does not see bare fences") }
{
  for (name in is_function) if (code ~ ("(^|[^A-Za-z0-9_])" name "[ \t]*\\(")) report_home(name, name "()")
}
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
  for (place in named) if (!(named[place] in is_system)) print place ": named-file: " named[place] " is not in the tree"
  for (path in lines) if (lines[path] > 500) soft("long-file", 1, lines[path] " lines")
}
