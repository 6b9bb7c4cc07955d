#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/tables/operations.txt is the table that the build gives: every operation of the list, with its operands and the
# kernels that it becomes.  Its worst ULP are measured elsewhere, and are only there.  The text form of docs/graph.md runs,
# comes back, and is refused as the page says.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
. tests/support/holds.sh

printed_is_kept() {
  scripts/update_graph_ops --print "$build" >"$work/printed" &&
    grep -v '^#' docs/tables/operations.txt >"$work/kept" &&
    { diff "$work/kept" "$work/printed" || { echo 'scripts/update_graph_ops writes it'; return 1; }; }
}
every_operation() { [ "$(grep -c '^| `' "$work/printed")" = "$("$build/ptosim" list ops | wc -l)" ]; }
each_becomes_something() { ! awk -F ' *[|] *' '$2 ~ /^`/ && $5 == "" { print; found = 1 } END { exit !found }' "$work/printed"; }

example() { # W: a constant of other numbers, so that no file of weights is needed
  awk '/^```/ { on = 0 } /^webnn_graph "head"/ { on = 1 } on' docs/graph.md | sed "s/W: f32.*@weights(\"W\")/W: f32$1 @scalar(1)/"
}
example_runs() {
  example '[4,3]' >"$work/head.webnn" && grep -q '@scalar(1)' "$work/head.webnn" &&
    "$build/ptosim" graph "$work/head.webnn" --run --compare reference | grep -q 'gemm 1, split 1'
}
example_comes_back() {
  "$build/ptosim" graph "$work/head.webnn" --quiet --save "$work/a.json" &&
    "$build/ptosim" graph "$work/a.json" --quiet --save "$work/b.webnn" &&
    "$build/ptosim" graph "$work/b.webnn" --quiet --save "$work/b.json" && cmp "$work/a.json" "$work/b.json" &&
    grep -q 'label="cut"' "$work/b.webnn"
}
every_verb_takes_it() {
  "$build/ptosim" run "$work/head.webnn" | grep -q '^head' && "$build/ptosim" check "$work/head.webnn" | grep -q ' 0 findings'
}
refusal_is_the_pages() {
  example '[3,4]' >"$work/head.webnn"
  (cd "$work" && leaves_with 2 "$program" graph head.webnn) >"$work/refused"
  grep -q 'line 5, column 5' "$work/refused" && grep -Fqx -- "$(sed 's/^ptosim: graph: //' "$work/refused")" docs/graph.md
}
tokens() { awk '/^```/ { on = 0 } /^webnn_graph "tokens"/ { on = 1 } on' docs/graph.md >"$work/tokens.webnn"; }
open_sizes_are_bound() {
  tokens && "$build/ptosim" graph "$work/tokens.webnn" | grep -q 'batch .* 1 to 8' &&
    "$build/ptosim" graph "$work/tokens.webnn" --set batch=3 --set length=5 --run --compare reference >"$work/bound" &&
    grep -q '^compared   within tolerance' "$work/bound" && grep -q 'sum .*float32 \[3, 5, 3\]' "$work/bound" &&
    "$build/ptosim" check "$work/tokens.webnn" --set length=16 --set batch=8 | grep -q ' 0 findings'
}
open_size_is_refused() {
  (cd "$work" && leaves_with 2 "$program" graph tokens.webnn --set batch=3 --run) >"$work/refused"
  grep -q 'length' "$work/refused" && grep -Fqx -- "    $(cat "$work/refused")" docs/graph.md
}
# fusion_table MODEL: its row in docs/lowering.md.
explained() { "$program" graph --model "$1" --explain --chip a2a3 "${@:2}" --json -; }
fusion_table() {
  explained "$1" --no-fusion >"$work/single.json" && explained "$1" >"$work/fused.json" &&
    row=$("$python" - "$1" "$work/single.json" "$work/fused.json" <<'END'
import json, sys
single, fused = (json.load(open(name))["explained"] for name in sys.argv[2:])
both = lambda figure, unit="": f"{figure(single)} → {figure(fused)}{unit}"
print(f"| `{sys.argv[1]}` |", both(lambda e: e["tasks"]), "|", both(lambda e: e["edges"]), "|",
      both(lambda e: f"{sum(n['bytes_in'] + n['bytes_out'] for n in e['nodes'] if 'bytes_in' in n) / 1e6:.1f}", " MB"), "|",
      both(lambda e: f"{e['virtual_us'] - e['transfer_us']:.1f}", " µs"), "|")
END
    ) && grep -Fqx -- "$row" docs/lowering.md || { echo "$row"; return 1; }
}
program=$(realpath "$build/ptosim")
python=$(command -v python3)

holds 'the text form of the page runs as the reference does' example_runs
holds 'it comes back through JSON' example_comes_back
holds 'every verb takes it as a program' every_verb_takes_it
holds 'it is refused as the page says' refusal_is_the_pages
holds 'open sizes of the page are bound by --set' open_sizes_are_bound
holds 'one that is missing is refused as the page says' open_size_is_refused
holds 'docs/tables/operations.txt is what scripts/update_graph_ops makes' printed_is_kept
holds 'it has every operation' every_operation
holds 'every operation becomes tasks' each_becomes_something
if [ -n "$python" ]; then
  for model in llama mobilenet_v2; do holds "docs/lowering.md says what fusion does to $model" fusion_table "$model"; done
else
  echo 'without the table of docs/lowering.md: there is no python3'
fi
holds_total
