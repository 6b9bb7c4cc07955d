#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The oracle: every program holds when it is executed one task at a time, whatever fresh memory holds and however many clusters there
# are; and it tells right from wrong and from failed.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
export PTO_PROGRAM_PATH=${PTO_PROGRAM_PATH:-$build/programs}
oracle=$build/oracle
[ -x "$oracle" ] || { echo "there is no $oracle"; exit 77; }
. tests/support/holds.sh
table() { "$oracle" all "$@" >"$work/table" && cat "$work/table"; }

holds 'every program verifies' table

# The rest looks at programs whose goldens are quick to compute.
quick='barriers core_fifo inplace_update mixed_example paged_attention paged_attention_manual predicated scalar_data split_k spmd spmd_barrier spmd_sync_start
  strided_views task_bench vector_example war_reuse'
table $quick >"$work/plain"
table $quick --poison >"$work/poisoned"
holds 'no result depends on what fresh memory holds' cmp "$work/plain" "$work/poisoned"
table $quick --clusters 24 >"$work/clusters"
holds 'no result depends on the number of clusters' cmp "$work/plain" "$work/clusters"
holds 'and these are results' grep -q 'task_bench .* verified' "$work/plain"

seed() { "$oracle" task_bench --set tasks=100 --seed "$1" | awk '{ print $5 }'; }
holds 'the seed makes the inputs' [ "$(seed 1)" != "$(seed 2)" ]
holds 'and nothing else does' [ "$(seed 1)" = "$(seed 1)" ]

holds 'an unknown program is a bad argument' leaves_with 2 "$oracle" no_such_program
holds 'an unknown option of a program too' leaves_with 2 "$oracle" task_bench --set colour=red
holds 'a kernel error is a failed run' leaves_with 3 "$oracle" errors/kernel
holds 'whose sentence says where' grep -q 'check_positive.*element 11 is -3' "$work/out"

holds 'cores that wait for ever are a failed run' leaves_with 3 "$oracle" errors/deadlock
holds 'whose sentence says who waits for whom' grep -q 'AIC of block 0 (asker) waits for an element from AIV0; AIV0.*from AIC' "$work/out"

# A golden that is wrong in one element.
sed 's/golden\[i\] = (c + 1)/golden[i] = (i == 300 ? 1 : 0) + (c + 1)/' orchestration/basics/vector_example.c >"$work/wrong.c"
holds 'a program with a wrong golden compiles' ${CC:-cc} -std=c17 -O2 -w -fPIC -shared -Iinclude -o "$work/wrong.so" "$work/wrong.c"
holds 'and is found wrong' leaves_with 1 "$oracle" "$work/wrong.so"
holds 'with the first element that differs' grep -q 'output f\[2,44\]: 47 instead of 48 (1 of 16384' "$work/out"
holds 'JSON has what a comparison needs' leaves_with 0 "$oracle" vector_example --json -
for field in '"output_digest": "[0-9a-f]\{16\}"' '"tasks": 5' '"verified": true' '"max_abs_error": 0.0' '"case": null'; do
  holds "such as $field" grep -q "$field" "$work/out"
done

holds_total
