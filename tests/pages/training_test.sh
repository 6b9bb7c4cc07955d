#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/training.md is true: the lines that it shows of a run are those of the run, the finding is found, and its commands work.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh

page=$PWD/docs/training.md
"$build/ptosim" run train_mlp --engine virtual --chip a2a3 >"$work/run"
shown=$(awk '/^\$ build.ptosim run train_mlp/ { inside = 1; next } /^```/ { inside = 0 } inside && !/^\.\.\.$/' "$page")
while IFS= read -r line; do
  holds "the run says: $line" grep -qxF -- "$line" "$work/run"
done <<<"$shown"

finding=$(sed -n 's/^\(WAR: .*\) \.\.\.$/\1/p' "$page")
holds 'in place under --deps pto is found wrong' leaves_with 1 "$build/ptosim" check train_mlp --deps pto
holds 'with the finding of the page' grep -qF -- "$finding" "$work/out"

holds 'training writes a checkpoint' "$build/ptosim" run train_mlp --set checkpoint="$work/mlp.json" --set every=20
holds 'that is a graph' "$build/ptosim" graph "$work/mlp.json" --run --compare reference

holds_total
