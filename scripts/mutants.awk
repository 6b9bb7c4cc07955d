# SPDX-License-Identifier: MIT
#
# Lists the mutants that operators make of C sources: one change of one line each, in bodies of functions.
#
#   awk -v seed=N -f scripts/mutants.awk FILES…      prints, separated by tabs, a line a mutant:
#       rank  name  file  line number  key  line before  line after
#
# The name (deps/hazards.c:123:relational, and relational.2 for the second of its kind on the line) is for people.  The key
# (kind and line before) says the same without a line number, so that it outlives changes elsewhere in the file; the rank is a hash
# of seed, file and key: the lowest ranks are the sample.
#
# Kinds:
#   relational  < ↔ <=, > ↔ >=, == ↔ !=           logical    && ↔ ||
#   arithmetic  + ↔ -, * ↔ /, % → /, ++ ↔ --      bitwise    & ↔ |, ^ → |, << ↔ >>, without ~
#   constant    1 → 0, any other n → n + 1, true ↔ false
#   negate      the condition of an if, while or for; a ! left out
#   statement   the statement left out            plusone    what is assigned, one larger
#
# Left alone: assertions and functions whose name ends in _is_valid, as nothing of the product calls them, and prefetches.

BEGIN {
  for (i = 1; i < 256; i++) code_of[sprintf("%c", i)] = i
  split("<= >= == != && || << >> += -= &= |= ++ --", list, " ")
  for (i in list) two_letters[list[i]] = 1
  split("< <= <= < > >= >= > == != != ==", relational, " ")
  for (i = 1; i in relational; i += 2) { kind_of[relational[i]] = "relational"; becomes[relational[i]] = relational[i + 1] }
  split("+ - - + * / / * % / += -= -= += ++ -- -- ++", arithmetic, " ")
  for (i = 1; i in arithmetic; i += 2) { kind_of[arithmetic[i]] = "arithmetic"; becomes[arithmetic[i]] = arithmetic[i + 1] }
  split("& | | & ^ | << >> >> << &= |= |= &=", bitwise, " ")
  for (i = 1; i in bitwise; i += 2) { kind_of[bitwise[i]] = "bitwise"; becomes[bitwise[i]] = bitwise[i + 1] }
  split("&& || || &&", logical, " ")
  for (i = 1; i in logical; i += 2) { kind_of[logical[i]] = "logical"; becomes[logical[i]] = logical[i + 1] }
}

FNR == 1 { in_comment = in_macro = in_body = is_checking = 0; ended = ";"; split("", seen) }

{
  code = masked($0)
  was_macro = in_macro
  in_macro = (code ~ /^#/ || was_macro) && code ~ /\\$/
  if (was_macro || code ~ /^#/) next
  if (!in_body && code ~ /^[A-Za-z].*\)( [A-Z_]+)? \{/ || !in_body && code ~ /^ .*\) \{$/) {
    in_body = 1
    is_checking = signature code ~ /_is_valid\(/
    if (code ~ /\{ .* \}$/) { mutate($0, code, index(code, "{") + 1); in_body = 0 }
    signature = ""
    next
  }
  if (!in_body) { signature = code ~ /[;}]$/ ? "" : signature code; next }
  if (code ~ /^\}/) { in_body = 0; ended = ";"; next }
  mutate($0, code, 1)
  if (code ~ /[^ ]/) {
    ended = substr(code, length(code))
    is_header = code ~ /^ *(\} )?(if|for|while|else|else if) \(.*\)$/ && is_balanced(code) || code ~ /(^| )else$/
  }
}

# The line without comments, and with strings and characters blotted out; as long as it was, but for blanks at its end.
function masked(line,    out, i, c, n, quote) {
  out = ""
  n = length(line)
  for (i = 1; i <= n; i++) {
    c = substr(line, i, 1)
    if (in_comment) {
      if (c == "*" && substr(line, i + 1, 1) == "/") { in_comment = 0; i++; out = out " " }
      out = out " "
    } else if (quote != "") {
      if (c == "\\") { i++; out = out "s" }
      else if (c == quote) quote = ""
      out = out "s"
    } else if (c == "\"" || c == "'") {
      quote = c
      out = out "s"
    } else if (c == "/" && substr(line, i + 1, 1) == "*") {
      in_comment = 1
      i++
      out = out "  "
    } else {
      out = out c
    }
  }
  sub(/ +$/, "", out)
  return out
}

function trimmed(text) {
  sub(/^ +/, "", text)
  sub(/ +$/, "", text)
  return text
}

function is_balanced(text,    copy) {
  copy = text
  return gsub(/\(/, "", copy) == gsub(/\)/, "", copy)
}

# A hash of text, for choosing: any that spreads would do (Lehmer's generator, of the letters one after another).
function hash(text,    h, i) {
  h = 1
  for (i = 1; i <= length(text); i++) h = (h * 16807 + code_of[substr(text, i, 1)] * 7919) % 2147483647
  for (i = 0; i < 4; i++) h = h * 48271 % 2147483647
  return h
}

function emit(kind, after,    before, short, file, nth) {
  before = trimmed(substr(text_now, 1, length(code_now)))
  file = FILENAME
  sub(/^runtime\//, "", file)
  if (is_checking) return
  nth = ++count_of[FILENAME ":" FNR ":" kind]
  if (nth > 1) kind = kind "." nth
  short = kind " :: " before
  seen[short]++
  printf "%d\t%s:%d:%s\t%s\t%d\t%s\t%s\t%s\n", hash(seed "/" file "/" short "/" seen[short]), file, FNR, kind, FILENAME, FNR, short, \
    before, after
}

# The line with what is at `at`, `length_before` letters long, replaced.
function with(at, length_before, replacement) { return substr(text_now, 1, at - 1) replacement substr(text_now, at + length_before) }

# Where the parenthesis that opens at `at` closes; 0: not on this line.
function closing(code, at,    depth, i, c) {
  for (i = at; i <= length(code); i++) {
    c = substr(code, i, 1)
    if (c == "(") depth++
    if (c == ")" && --depth == 0) return i
  }
  return 0
}

function mutate(line, code, first,    i) {
  text_now = line
  code_now = code
  if (code ~ /PTO_ASSERT|PTO_INTERNAL|_Static_assert|__builtin_prefetch/) return
  operators(code, first)
  constants(code, first)
  conditions(code, first)
  if (first == 1 && (ended ~ /[;{}:]/ || is_header)) statements(code)
}

function operators(code, first,    i, token, is_spaced) {
  for (i = first; i <= length(code); i++) {
    token = substr(code, i, 2)
    if (!(token in two_letters)) token = substr(code, i, 1)
    if (token == "~") { emit("bitwise", with(i, 1, "")); continue }
    if (token == "->") { i++; continue }
    is_spaced = substr(code, i - 1, 1) == " " && (substr(code, i + length(token), 1) ~ /^ ?$/)
    if ((token in becomes) && (is_spaced || token == "++" || token == "--"))
      emit(kind_of[token], with(i, length(token), becomes[token]))
    i += length(token) - 1
  }
}

function constants(code, first,    i, rest, number) {
  for (i = first; i <= length(code); i++) {
    if (substr(code, i - 1, 1) ~ /[A-Za-z0-9_.]/) continue
    rest = substr(code, i)
    if (match(rest, /^[0-9]+[uUlL]*/) && substr(rest, RLENGTH + 1, 1) !~ /[A-Za-z0-9_.]/) {
      number = substr(rest, 1, RLENGTH) + 0
      emit("constant", with(i, match(rest, /[^0-9]|$/) - 1, number == 1 ? 0 : number + 1))
      i += RLENGTH
    } else if (match(rest, /^(true|false)/) && substr(rest, RLENGTH + 1, 1) !~ /[A-Za-z0-9_]/) {
      emit("constant", with(i, RLENGTH, substr(rest, 1, 4) == "true" ? "false" : "true"))
    }
  }
}

function conditions(code, first,    i, end, at, rest) {
  for (i = first; i <= length(code); i++) {
    rest = substr(code, i)
    if (substr(code, i - 1, 1) ~ /[A-Za-z0-9_]/) continue
    if (match(rest, /^(if|while) \(/)) {
      at = i + RLENGTH
      end = closing(code, at - 1)
      if (end) emit("negate", with(at, end - at, "!(" substr(text_now, at, end - at) ")"))
    } else if (match(rest, /^for \([^;]*; [^;]+;/)) {
      at = i + index(rest, "; ") + 1
      end = i + RLENGTH - 1
      emit("negate", with(at, end - at, "!(" substr(text_now, at, end - at) ")"))
    } else if (rest ~ /^![A-Za-z(*_]/) {
      emit("negate", with(i, 1, ""))
    }
  }
}

function is_declaration(code) {
  return code ~ /^ *(const |static |struct |enum |union |unsigned |bool |char |int |size_t |u?int(ptr|8|16|32|64)_t |wide |quad )/
}

function statements(code,    at) {
  if (code !~ /;$/ || !is_balanced(code) || is_declaration(code) || code ~ /^ *(return [^;]|case |default:|\}|goto )/) return
  match(code, /^ */)
  emit("statement", substr(code, 1, RLENGTH) ";")
  at = index(code, " = ")
  if (at && code !~ /[{}]/ && code !~ /^ *(if|for|while|else|do) / && code !~ / = .* = /)
    emit("plusone", with(at + 3, length(code) - at - 3, "(" substr(text_now, at + 3, length(code) - at - 3) ") + 1"))
}
