#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/training.md is true: a run under the weaker rules is found wrong, and its commands work (what it shows: transcripts_test.sh).
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh

holds 'in place under --deps pto is found wrong' leaves_with 1 "$build/ptosim" check train_mlp --deps pto

holds 'training writes a checkpoint' "$build/ptosim" run train_mlp --set checkpoint="$work/mlp.json" --set every=20
holds 'that is a graph' "$build/ptosim" graph "$work/mlp.json" --run --compare reference

holds_total
