# SPDX-License-Identifier: MIT
#
# For test scripts, which source it after holds.sh: the pieces of code that a section of a page adds to the tree, and a
# copy of the tree in $work to add them to.
#
#   take_pieces PAGE SECTION          $work/pieces: a line a piece, of path, word, anchor and the file that holds the block
#   has_pieces COUNT                  so if the section has as many
#   put_pieces                        puts each where the page says, into $work
#
# A piece is a line such as "`graph/build/op_list.h`, behind `  X(prelu`" (or before; or at the end of `it`, the file itself, which
# may be new), then a block of C.
take_pieces() {
  : >"$work/pieces"
  awk -v work="$work" -v section="## $2" '
    /^## / { is_here = $0 == section; next }
    !is_here { next }
    /^`[a-z\/_0-9.]*`, (behind|before|at the end of) `/ {
      split($0, part, "`")
      path = part[2]
      anchor = part[4]
      how = part[3]
      next
    }
    path != "" && /^```c$/ { file = work "/piece." ++count; inside = 1; next }
    inside && /^```$/ { inside = 0; print path "\t" how "\t" anchor "\t" file > (work "/pieces"); path = ""; close(file); next }
    inside { print > file }' "$1"
}

has_pieces() { [ "$(wc -l <"$work/pieces")" = "$1" ] || { cat "$work/pieces"; return 1; }; }

put_pieces() {
  local path how anchor file
  while IFS=$'\t' read -r path how anchor file; do
    case $how in
    *end*) cat "$file" >>"$work/$path" ;;
    *) awk -v how="$how" -v anchor="$anchor" -v file="$file" '
        function piece(  line) { while ((getline line < file) > 0) print line; close(file); found = 1 }
        index($0, anchor) && !found { if (how ~ /before/) { piece(); print } else { print; piece() } next }
        { print }
        END { exit !found }' "$work/$path" >"$work/with" || { echo "no $anchor in $path"; return 1; }
      cat "$work/with" >"$work/$path" ;;
    esac
  done <"$work/pieces"
}
