#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/from-onnx.md is true: its graph, beside weights as PyTorch would save them, gives what is shown below each command, and
# the result that its weights make; all operations and options that it names are there.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
build=$(realpath "${PTO_BUILD_DIR:-build}")
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh
page=$top/docs/from-onnx.md

awk '/^```json$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" >"$work/mlp.json"
sed '0,/, "bTranspose": true/s///' "$work/mlp.json" >"$work/wrong.json"

# mlp.safetensors: the length of a header, the header, the numbers.  float32 of 1, 0, −1 and ½, little-endian.
one='\0\0\200\077' zero='\0\0\0\0' less='\0\0\200\277' half='\0\0\0\077'
header='{"0.weight":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},"0.bias":{"dtype":"F32","shape":[3],"data_offsets":[24,36]},'
header+='"2.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[36,60]},"2.bias":{"dtype":"F32","shape":[2],"data_offsets":[60,68]}}'
{
  # shellcheck disable=SC2059
  printf "$(printf '\\%03o\\%03o\\0\\0\\0\\0\\0\\0' $((${#header} % 256)) $((${#header} / 256)))"
  printf '%s' "$header"
  printf '%b' "$one$zero" "$zero$one" "$one$one" "$zero$zero$less" "$one$zero$zero" "$zero$one$one" "$half$zero"
} >"$work/mlp.safetensors"
cp "$work/mlp.safetensors" "$work/wrong.safetensors"

# Files N.command and N.shown, one a command of the page that has output below it.
awk -v work="$work" '
  match($0, /`build\/ptosim [^`]*`/) { command = substr($0, RSTART + 1, RLENGTH - 2) }
  /^    [^ ]/ { if (command != "") { n++; print command > (work "/" n ".command"); command = "" } print substr($0, 5) > (work "/" n ".shown") }
' "$page"
cd "$work" || exit 1
prints_what_is_shown() {
  local words
  read -ra words <"$1.command"
  "$build/ptosim" "${words[@]:1}" >"$1.out" 2>&1
  while IFS= read -r line; do
    grep -qxF -- "$line" "$1.out" || { echo "not printed: $line"; cat "$1.out"; return 1; }
  done <"$1.shown"
}
holds 'there are five commands with output' test -s 5.shown
for command in *.command; do
  holds "what is shown of: $(cat "$command")" prints_what_is_shown "${command%.command}"
done

# x = [1, 2]: hidden [1, 2, 2], scores [1.5, 4], shares e^−2.5 / (1 + e^−2.5) and the rest.
{
  description="{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }"
  printf '\223NUMPY\1\0\166\0%-117s\n' "$description"
  printf '%b' "$one" '\0\0\0\100'
} >x.npy
gives() {
  "$build/ptosim" graph "$1" --run --input x=x.npy --output-dir out --quiet && od -An -j 128 -t f4 out/y.npy |
    awk '{ is_right = $1 > 0.075857 && $1 < 0.075859 && $2 > 0.924141 && $2 < 0.924143; print } END { exit !is_right }'
}
mkdir out
holds 'the result is that of its weights' gives mlp.json
rm -f mlp.safetensors
holds 'the file with its weights within needs no other' gives again.json

# Names: of the second column, all; of the third, and of the text, what looks like one of ours.
"$build/ptosim" list ops >ops
tr -cs 'A-Za-z0-9\n' '\n' <ops | sort -u >words
named() { grep '^| ' "$page" | awk -F ' *[|] *' -v column="$1" '{ print $column }' | grep -oE '`[a-z][A-Za-z0-9]*`' | tr -d '`' | sort -u; }
are_known() { ! comm -23 named known | grep .; }
named 3 >named && awk '{ print $1 }' ops | sort -u >known
holds 'the table names operations' test -s named
holds 'all operations that it names are there' are_known
named 4 >named && cp words known
holds 'so are all options' are_known
same_with_small_letter() {
  grep -oE '^\| Abs, [A-Za-z, ]*' "$page" | tr -d '|,' | tr ' ' '\n' | grep . | awk '{ print tolower(substr($0, 1, 1)) substr($0, 2) }' | sort -u
}
same_with_small_letter >named && awk '{ print $1 }' ops | sort -u >known
holds 'and those that differ by a letter alone' are_known
holds_total
