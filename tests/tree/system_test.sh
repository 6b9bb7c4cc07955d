#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ptosim at home on a system: man pages say what --help says and have no mistake, bash completes what there is, pages and chips are
# installed, uninstall leaves nothing, compile_commands.json compiles, and colours are for terminals.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread* | *coverage*) echo 'this is about what is installed: no instrumented build'; exit 77 ;; esac
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh
root=$work/root prefix=$work/root/usr
touch_nothing() { mkdir -p "$prefix/bin" && echo mine >"$prefix/bin/other"; }
touch_nothing
holds 'it installs' make install DESTDIR="$root" PREFIX=/usr
for file in share/man/man1/ptosim.1 share/man/man1/ptosim-run.1 share/bash-completion/completions/ptosim share/doc/pto/docs/cli.md \
  share/doc/pto/LICENSE share/pto/chips/a2a3.ini; do
  holds "there is $file" test -s "$prefix/$file"
done
ptosim=$prefix/bin/ptosim
holds 'help names an installed page' test -s "$("$ptosim" --help | sed -n 's/ has every verb.*//p')"
holds 'an installed chip file runs' "$ptosim" run vector_example --engine virtual --chip "$prefix/share/pto/chips/a2a3.ini" --quiet

# What a page shows, without its layout, has each word of the help in its order.
words() { tr -s ' \n' '\n\n' | tr -d '\n'; }
shown() { sed -e '/^\./d; s/\\&//g; s/\\-/-/g; s/\\e/\\/g' "$1" | words; }
says() {
  local page=$1
  shift
  "$ptosim" "$@" --help | sed "s,$prefix/share,/usr/share," | words >"$work/help"
  shown "$page" >"$work/page"
  [[ $(<"$work/page") == *"$(<"$work/help")"* ]]
}
count=0
while read -r verb; do
  holds "ptosim-$verb(1) says what the help says" says "$prefix/share/man/man1/ptosim-$verb.1" "$verb"
  count=$((count + 1))
done < <("$ptosim" --help | sed -n 's/^  ptosim \([a-z-]*\) .*/\1/p')
holds 'each verb has a page' test $((count + 1)) = "$(find "$prefix/share/man/man1" -name '*.1' | wc -l)"
if command -v man >/dev/null; then
  well_formed() { ! LC_ALL=C.UTF-8 MANWIDTH=120 man --warnings -l "$1" 2>&1 >/dev/null | grep .; }
  for page in "$prefix"/share/man/man1/*.1; do holds "${page##*/} is well formed" well_formed "$page"; done
fi

# completes LINE WORD: whether WORD is among what bash offers for the last word of LINE.
completes() {
  bash -c '. "$1"; PATH="$2:$PATH"; read -ra COMP_WORDS <<<"$3"; [[ $3 == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); compopt() { :; }; _ptosim; printf "%s\n" "${COMPREPLY[@]}"' \
    - "$prefix/share/bash-completion/completions/ptosim" "$prefix/bin" "$1" >"$work/offered"
  cat "$work/offered"
  grep -qxF -e "$2" "$work/offered"
}
holds 'completion knows verbs' completes 'ptosim ex' explore
holds 'and options of a verb' completes 'ptosim check --obs' --observe
holds 'and programs' completes 'ptosim run bge' bgemm
holds 'and cases of the program' completes 'ptosim run bgemm --case ' 500x128x2
holds 'and its settings' completes 'ptosim run bgemm --set task_n' task_num=
holds 'and kernels' completes 'ptosim op test softm' softmax
holds 'and chips' completes 'ptosim run bgemm --chip a2' a2a3
refuses() { ! "$@"; }
holds 'and does not offer what does not fit' refuses completes 'ptosim run bge' moe

# script(1) gives a terminal.
if command -v script >/dev/null; then
  on_terminal() { env -u NO_COLOR TERM=xterm "$@" script -qec "$ptosim run vector_example" /dev/null | grep -q "$(printf '\033')\\[32mverified"; }
  holds 'a verdict has a colour on a terminal' on_terminal TERM=xterm
  own_line() { script -qec "$ptosim run llm --set steps=1 </dev/null" /dev/null | grep -qE '^llm.?$'; }
  holds 'a report begins on a line of its own' own_line
  holds 'and none with NO_COLOR' refuses on_terminal NO_COLOR=1
  holds 'and none where the terminal has none' refuses on_terminal TERM=dumb
fi
holds 'and none in a pipe' bash -c "! TERM=xterm '$ptosim' run vector_example | grep -q '$(printf '\033')'"

holds 'compile_commands.json is made' make compile_commands.json
compiles() {
  local command
  command=$(tr -d '\n' <compile_commands.json | grep -o "\"file\": \"$1\", \"command\": \"[^\"]*" | sed 's/.*"command": "//')
  [ -n "$command" ] && $command -fsyntax-only
}
holds 'and compiles a source' compiles formats/csv.c
rm -f compile_commands.json

holds 'it uninstalls' make uninstall DESTDIR="$root" PREFIX=/usr
left() { find "$root" ! -type d ! -path "$prefix/bin/other"; }
holds 'and leaves nothing' bash -c '[ -z "$1" ]' - "$(left)"
holds 'but what was there before' test -s "$prefix/bin/other"

holds_total
