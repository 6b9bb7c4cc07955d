# SPDX-License-Identifier: MIT
#
# The checks of `make lint` on documents (POSIX awk).  Input: a list of all files, then the documents, named from the top folder.
# Output: one line a finding, "path:line: rule: sentence".
# Sentences end with . ! or ? before a blank, with a paragraph, and with an item of a list; code and tables hold none.

function report(line, rule, sentence) { print FILENAME ":" line ": " rule ": " sentence }

function end_sentence() {
  if (words > 40) print file ":" begun ": long-sentence: " words " words"
  words = 0
}

function check_name(name,    folder) {
  if (FILENAME == "CHANGELOG.md") return # it tells of what has gone
  if (name ~ /[*<]|[A-Z][A-Z]|^build|^[\/_]|^[a-z](_test)?\.[ch]$|^sys\// || name ~ /^[^a-z]*\./) return
  folder = FILENAME
  sub(/[^\/]*$/, "", folder)
  if (name in exists || ("include/" name) in exists || (folder name) in exists || name in bases) return
  missing[name] = FNR
}

# A file that the page has its reader write stands in the page's own commands too.
function end_file(    name) {
  end_sentence()
  for (name in missing) {
    if (!index(code, name)) print file ":" missing[name] ": named-file: " name " is not in the tree"
    delete missing[name]
  }
  code = ""
}

FILENAME ~ /tree\.files$/ {
  exists[$0] = 1
  base = $0
  sub(/.*\//, "", base)
  bases[base] = 1
  next
}
FNR == 1 { end_file(); in_code = 0 }
{ file = FILENAME }
/^[ \t]*(```|~~~)/ { end_sentence(); in_code = !in_code; next }
in_code { code = code $0 "\n"; next }
{
  text = $0
  while (match(text, /`[A-Za-z0-9_.\/*<-]*\.(c|h|inc|md|sh|ini|list|awk)`/)) {
    check_name(substr(text, RSTART + 1, RLENGTH - 2))
    text = substr(text, RSTART + RLENGTH)
  }
}
/^[ \t]*\|/ {
  end_sentence()
  if (length($0) > 160) report(FNR, "wide-table", length($0) " columns")
  next
}
/^[ \t]*$/ || /^#/ || /^    / && !words { end_sentence(); next }
/^[ \t]*([-*+]|[0-9]+\.) / { end_sentence(); sub(/^[ \t]*([-*+]|[0-9]+\.) /, "") }
{
  # A span of code is one word, a link is its text.
  gsub(/`[^`]*`/, "code")
  gsub(/\]\([^)]*\)/, "]")
  count = split($0, part, /[ \t]+/)
  for (i = 1; i <= count; i++) {
    if (part[i] !~ /[A-Za-z0-9]/) continue
    if (!words++) begun = FNR
    if (part[i] ~ /[.!?]["')*_\]]*$/ && part[i] !~ /^(e\.g|i\.e|cf|vs|etc|No)\.$/) end_sentence()
  }
}
END { end_file() }
