#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The programs of orchestration/ranks: right to the last bit on as many ranks as they are for, by their goldens and by the oracle, which
# executes rank by rank and task by task, the same on two threads, without kernels as long, and accused of nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
for tool in "$ptosim" "$build/oracle"; do [ -x "$tool" ] || { echo "there is no $tool"; exit 77; }; done
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh

# All ranks are verified; leaves what is told of them.
verified() { # RANKS WORDS…
  "$ptosim" run "${@:2}" --ranks "$1" >"$work/told" && [ "$(grep -c ', verified$' "$work/told")" = "$1" ]
}
digests() { verified "$@" && grep -E '^  (trace|digest)' "$work/told"; }
same_on_two_threads() { [ -n "$(digests "$@")" ] && [ "$(digests "$@")" = "$(digests "$@" --world-threads 2)" ]; }
time_of() { "$ptosim" run "$@" | grep -o '[0-9.]* [num]s on the chips'; }
as_long_without_kernels() { [ -n "$(time_of "$@")" ] && [ "$(time_of "$@")" = "$(time_of "$@" --no-compute)" ]; }
refused() { # SENTENCE WORDS…
  leaves_with 2 "$ptosim" run "${@:2}" && grep -q -- "$1" "$work/out"
}
# The outputs of each rank are those of tests/oracle, of which a chip is of no matter.
as_oracle() { # RANKS WORDS…
  local ranks=$1 words=" ${*:2} "
  read -ra words <<<"${words/ --chip a2a3 / }"
  "$build/oracle" "${words[@]}" --ranks "$ranks" | grep -o '[0-9a-f]\{16\}  verified' | cut -c 1-16 >"$work/oracle"
  "$ptosim" run "${@:2}" --ranks "$ranks" --quiet --json - | grep -o '"output_digest":"[0-9a-f]*"' | tail -n "$ranks" | cut -d '"' -f 4 >"$work/ours"
  [ "$(wc -l <"$work/oracle")" = "$ranks" ] && diff "$work/oracle" "$work/ours"
}
holds_of() { # PROGRAM WORDS…
  local ranks
  for ranks in 1 2 4 8; do
    holds "$* on $ranks ranks" verified $ranks "$@"
    holds "$* on $ranks ranks as by the oracle" as_oracle $ranks "$@"
  done
  holds "$* on two threads" same_on_two_threads 4 "$@"
  holds "$* without kernels" as_long_without_kernels "$@" --ranks 4
  holds "$* is ordered" "$ptosim" check "$@" --ranks 4
  holds "$* is ordered by the rules of pto" "$ptosim" check "$@" --ranks 8 --deps pto
}

for algorithm in one_phase two_phase ring bidirectional_ring; do
  holds_of tensor_parallel_mlp --case uneven --set algorithm=$algorithm
  holds "$algorithm of one rank, three times" verified 1 all_reduce --set times=3 --set algorithm=$algorithm
done
for algorithm in one_phase two_phase ring bidirectional_ring; do
  for ranks in 2 3 8 16; do
    holds "$algorithm of $ranks ranks as by the oracle" as_oracle $ranks all_reduce --set elems=1001 --set times=2 --set algorithm=$algorithm
  done
done
for ranks in 1 2 4; do
  holds "experts on $ranks ranks as by the oracle" as_oracle $ranks expert_parallel_moe
  holds "ragged ones on $ranks ranks as by the oracle" as_oracle $ranks expert_parallel_moe --case ragged --chip a2a3
done
holds_of tensor_parallel_mlp --case 512 --chip a2a3
holds_of tensor_parallel_attention --case 4x2x16x4 --chip a2a3
holds_of tensor_parallel_attention --case one_kv_head --set algorithm=ring
holds 'more ranks than some KV heads' verified 16 tensor_parallel_attention
holds_of pipeline --case 8x8
holds_of pipeline --case uneven --chip a2a3
holds 'a pipeline by the rules of pto, which know no write after read' verified 4 pipeline --deps pto
# Once all 4 stages have work they are 4 times as fast as one; the first 16 micro-batches take 19 turns at least, in 3 of which a
# stage waits.
ps_of() { "$ptosim" run pipeline --no-compute --set rows=128 --set dim=256 "$@" --quiet --json - | grep -o '"virtual_us": *[0-9.]*' | head -1 | tr -dc '0-9'; }
bubbles() {
  local one four short
  one=$(($(ps_of --ranks 1 --set batches=32) - $(ps_of --ranks 1 --set batches=16)))
  short=$(ps_of --ranks 4 --set batches=16)
  four=$(($(ps_of --ranks 4 --set batches=32) - short))
  echo "16 more micro-batches: $one ps on one rank, $four ps on 4, whose first 16 take $short ps"
  [ $((39 * four)) -lt $((10 * one)) ] && [ $((16 * short)) -gt $((19 * four)) ]
}
holds 'stages work side by side, and wait at begin and end' bubbles
holds 'fewer layers than ranks' refused 'layers 3 is not in 4' pipeline --set layers=3
holds 'fewer columns than ranks' refused 'hidden 3 is not in 4' tensor_parallel_mlp --set hidden=3 --ranks 4
holds 'an all-reduce that is none' refused 'algorithm "tree" is none of' tensor_parallel_mlp --set algorithm=tree
holds 'heads that ranks do not divide' refused 'heads 16 and kv_heads 4 cannot be split over 3 ranks' tensor_parallel_attention --ranks 3
holds_total
