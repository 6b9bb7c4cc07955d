#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/from-onnx.md is true: on a model of two layers its commands print what is shown below each, and what is refused is
# refused as the page says; all operations and options that it names are there.  The commands need a Python that imports onnx.
set -u
cd "$(dirname "$0")/../.." || exit 1
top=$PWD
build=$(realpath "${PTO_BUILD_DIR:-build}")
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh
page=$top/docs/from-onnx.md

# x → gemm, relu, gemm, softmax; and a model with two nodes that have no counterpart.
make_models() {
  "$python" - "$work" <<'END'
import sys, numpy, onnx
from onnx import TensorProto, helper, numpy_helper
def save(name, nodes, shape, **constants):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(numpy.array(each, numpy.float32), key) for key, each in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), f"{sys.argv[1]}/{name}.onnx")
node = helper.make_node
save("model", [node("Gemm", ["x", "w0", "b0"], ["h"], transB=1), node("Relu", ["h"], ["r"]),
               node("Gemm", ["r", "w2", "b2"], ["s"], transB=1), node("Softmax", ["s"], ["y"], axis=1)], ["batch", 2],
     w0=[[1, 0], [0, 1], [1, 1]], b0=[0, 0, -1], w2=[[1, 0, 0], [0, 1, 1]], b2=[0.5, 0])
save("other", [node("NonMaxSuppression", ["x", "x"], ["n"], "boxes"),
               node("If", ["x"], ["y"], "branch", then_branch=helper.make_graph([], "a", [], []),
                    else_branch=helper.make_graph([], "b", [], []))], [1, 3, 4, 4])
numpy.save(f"{sys.argv[1]}/x.npy", numpy.array([[1, 2]], numpy.float32))
END
}

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
holds 'four commands have output' test -s 4.shown
case $build in *address* | *thread* | *coverage*) why='Python loads no instrumented library' ;; *) why='' ;; esac
[ -e "$build/libptotools.so" ] || why="there is no $build/libptotools.so"
python=$("$top/scripts/python" onnx) || why='no Python imports cffi, numpy and onnx (scripts/deps --python)'
if [ -z "$why" ]; then
  export PYTHON=$python PTO_BUILD_DIR=$build
  if [ ! -e "$build/python/_pto.py" ]; then
    mkdir -p "$build/python" && (cd "$top" && "$python" python/pto_declarations.py "$build/python")
  fi
  holds 'models are made' make_models
  for command in *.command; do
    holds "what is shown of: $(cat "$command")" prints_what_is_shown "${command%.command}"
  done

  # x = [1, 2]: hidden [1, 2, 2], scores [1.5, 4], shares e^−2.5 / (1 + e^−2.5) and the rest.
  gives() {
    "$build/ptosim" graph "$@" --run --input x=x.npy --output-dir out --quiet && od -An -j 128 -t f4 out/y.npy |
      awk '{ is_right = $1 > 0.075857 && $1 < 0.075859 && $2 > 0.924141 && $2 < 0.924143; print } END { exit !is_right }'
  }
  mkdir out
  holds 'the result is that of its weights' gives model.onnx --set batch=1
  holds 'it is saved as a graph file' "$build/ptosim" graph model.onnx --set batch=1 --save model.json --quiet
  holds 'which gives the same' gives model.json
  missing() { # without the declarations that `make python` writes: one sentence, and no trace of Python's
    ! PYTHONNOUSERSITE=1 PTO_BUILD_DIR=/nonexistent "$build/ptosim" graph model.onnx >said 2>&1 && grep -q 'make python' said && ! grep -q Traceback said
  }
  "$python" -c 'import _pto' 2>/dev/null || holds 'a package that is not built is told' missing
else
  echo "$why: the commands are not run"
fi

# Names: of the second column, all; of the third, and of the text, what looks like one of ours.
"$build/ptosim" list ops >ops
# shellcheck disable=SC2046
"$build/ptosim" list ops $(awk '{ print $1 }' ops) | tr -cs 'A-Za-z0-9\n' '\n' | sort -u >words
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
