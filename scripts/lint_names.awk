# SPDX-License-Identifier: MIT
#
# Names of files in comments and documents: what lint.awk and lint_text.awk share, which are read after it.
# Of the list of all files it keeps `exists`, their names without folders, `bases`, and the `folders`, two deep.

# These belong to other projects.
BEGIN { split("llama2.c doc/stories260K.md ggml-common.h sleef.h sys/sdt.h", others, " "); for (i in others) is_system[others[i]] = 1 }

FILENAME ~ /tree\.files$/ {
  exists[$0] = 1
  bases[base_of($0)] = 1
  parts = split($0, part, "/")
  if (parts > 1) folders[part[1]] = 1
  if (parts > 2) folders[part[1] "/" part[2]] = 1
  next
}

function folder_of(file) { return match(file, /.*\//) ? substr(file, 1, RLENGTH - 1) : "." }
function base_of(file) { sub(/.*\//, "", file); return file }

# The first file that `text` names, "" without one; what follows it is left in `after_name`.
function file_name_in(text) {
  text = text " "
  if (!match(text, /[A-Za-z0-9_.\/*<-]*[A-Za-z0-9_*]\.(c|h|inc|md|sh|ini|list|txt|awk)[^A-Za-z0-9_(]/)) return ""
  after_name = substr(text, RSTART + RLENGTH - 1)
  return substr(text, RSTART, RLENGTH - 1)
}

# Whether the name that stands in `file` is one of the tree's.  One in capitals or of one letter stands for others.
function is_file(name, file) {
  if (name ~ /[*<]|[A-Z][A-Z]|^build|^[\/_]|^[a-z](_test)?\.[ch]$/ || name ~ /^[^a-z]*\./) return 1
  return name in exists || ("include/" name) in exists || (folder_of(file) "/" name) in exists || name in bases || name in is_system
}
