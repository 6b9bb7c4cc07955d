#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/outside-operations.md is true: the C in it, put together, compiles without warnings with the command given there; the
# operation runs from both forms of files, is listed, and is refused as the page says.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh
page=docs/outside-operations.md
program=$(realpath "$build/ptosim")
include=$(realpath include)

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" >"$work/hinge.c"
awk '/^```/ { on = 0 } /^webnn_graph/ { on = 1 } on' "$page" >"$work/loss.webnn"
compile() { (cd "$work" && ${CC:-cc} -std=c17 -O2 -fPIC -shared -Wall -Wextra -Werror "-I$include" -o "$2" "$1"); }
with() { (cd "$work" && PTO_OPERATIONS=$1 "$program" "${@:2}"); }
runs() {
  with hinge.so graph "$@" --run --compare reference >"$work/ran" && grep -q '^compared   within tolerance' "$work/ran" &&
    grep -Fqx -- "    $(grep '^nodes' "$work/ran")" "$page"
}
saves_as_json() { with hinge.so graph loss.webnn --quiet --save loss.json && grep -q '"op":"hinge"' "$work/loss.json"; }
is_listed() { grep -Fqx -- "    $(with hinge.so list ops hinge | head -n 1)" "$page" && with hinge.so list ops | grep -q '^hinge '; }
is_explained() { with hinge.so graph loss.webnn --explain | grep -q 'hinge loss .* hinge 4'; }
is_checked() { with hinge.so check loss.webnn | grep -q ' 0 findings'; }
is_refused() { # OPERATIONS SENTENCE ARGUMENT...
  leaves_with 2 with "$1" "${@:3}" >"$work/refused"
  grep -F -- "$2" "$work/refused"
}
names_the_place() {
  sed 's/t: f32\[4,6\]/t: f32[6,4]/' "$work/loss.webnn" >"$work/kept" && mv "$work/loss.webnn" "$work/right" &&
    mv "$work/kept" "$work/loss.webnn"
  is_refused hinge.so 'hinge "loss": x and t have other shapes' graph loss.webnn --validate &&
    grep -Fq -- "\`$(sed 's/^ptosim: graph: //' "$work/refused")\`" "$page"
}

holds 'the page compiles' compile hinge.c hinge.so
holds 'it runs from text as the page says' runs loss.webnn
holds 'it runs in virtual time' runs loss.webnn --engine virtual --chip a2a3
holds 'it is saved as JSON' saves_as_json
holds 'and runs from it' runs loss.json
holds 'it is listed as the page says' is_listed
holds 'it is explained' is_explained
holds 'it is checked' is_checked
holds 'without the variable there is none' is_refused '' 'there is no operation "hinge"' graph loss.webnn
holds 'nor from a file that is not there' is_refused absent.so 'absent.so' graph loss.webnn
echo 'int nothing;' >"$work/nothing.c"
holds 'another file compiles' compile nothing.c nothing.so
holds 'and is none' is_refused hinge.so:nothing.so 'nothing.so has no symbol pto_operations' graph loss.webnn
sed 's/= PTO_OPERATION_ABI/= PTO_OPERATION_ABI + 1/' "$work/hinge.c" >"$work/newer.c"
holds 'one of another abi compiles' compile newer.c newer.so
holds 'and is refused' is_refused newer.so 'has the interface 3, and this library 2' list ops
sed 's/"hinge",$/"relu",/' "$work/hinge.c" >"$work/taken.c"
holds 'one of a name that is taken compiles' compile taken.c taken.so
holds 'and is refused' is_refused taken.so 'there is an operation "relu" already' graph loss.webnn
# The kernel writes into the next row, too, which another task has.
sed 's/^ *((float \*)y->addr).*= loss > 0.*/&((float *)y->addr)[(i + 1) * y->strides[0] + j * y->strides[1]] = loss + 1;/' "$work/hinge.c" >"$work/wide.c"
holds 'one whose kernel writes too much compiles' compile wide.c wide.so
names_the_node() {
  leaves_with 1 with wide.so explore loss.webnn --schedules 5 >"$work/explored"
  grep -F '; both of node 0 hinge loss; no edge between them' "$work/explored" && ! grep 'submitted at' "$work/explored"
}
holds 'and explore names its node, and no line of the lowering' names_the_node
holds 'a wrong call is told with its place, as on the page' names_the_place
holds_total
