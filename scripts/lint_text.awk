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

function check_named_files(text,    name) {
  if (FILENAME == "CHANGELOG.md") return # it tells of what has gone
  while ((name = file_name_in(text)) != "") {
    if (!is_file(name, FILENAME)) missing[name] = FNR
    text = after_name
  }
}

# A file that the text of a link names is the link's target.
function check_link(text, target,    name, path) {
  if (target ~ /:/) return
  sub(/#.*/, "", target)
  path = folder_of(FILENAME) "/" target
  while (sub(/[^\/]+\/\.\.\//, "", path)) continue
  while ((name = file_name_in(text)) != "") {
    if (substr("/" path, length(path) - length(name) + 1) != "/" name) report(FNR, "link", "the text says " name ", the target is " target)
    text = after_name
  }
}

# README's picture: pieces of a line stand apart by two blanks or "|"; what ends with "/" is a folder, its own stand before a colon.
function check_picture(line,    count, piece, names, name, i, k) {
  count = split(line, piece, /  +| *\| */)
  for (i = 1; i <= count; i++) {
    if (match(piece[i], /^[a-z.]+\//)) {
      check_folder(top = substr(piece[i], 1, RLENGTH - 1))
      piece[i] = substr(piece[i], RLENGTH + 1)
    }
    names = sub(/:.*/, "", piece[i]) ? split(piece[i], name, " ") : 0
    for (k = 1; k <= names; k++) check_folder(top "/" name[k])
  }
}
function check_folder(folder) {
  drawn[folder] = 1
  if (!(folder in folders)) report(FNR, "picture", "there is no " folder "/")
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

FNR == 1 { end_file(); in_code = 0 }
{ file = FILENAME }
/^[ \t]*(```|~~~)/ { end_sentence(); in_code = !in_code; next }
in_code {
  code = code $0 "\n"
  if (FILENAME == "README.md" && heading == "## The parts") check_picture($0)
  next
}
/^#/ { heading = $0 }
{
  text = $0
  while (match(text, /[^][]*\]\([^)]*\)/)) {
    link = substr(text, RSTART, RLENGTH - 1)
    text = substr(text, RSTART + RLENGTH)
    check_link(substr(link, 1, index(link, "](") - 1), substr(link, index(link, "](") + 2))
  }
  text = $0
  gsub(/\]\([^)]*\)/, "]", text)
  check_named_files(text)
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
END {
  end_file()
  for (folder in folders) if (("README.md" in exists) && !(folder in drawn) && folder !~ /^\./) print "README.md:1: picture: " folder "/ is missing"
}
