#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ptosim run --ranks N: each algorithm on 2 to 16 chips is right and has the same digests each time; what no fabric holds, and what is
# of one chip alone, is refused in one sentence.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
. tests/support/holds.sh

# The two digests of a run that is right on all ranks.
digests() {
  "$ptosim" run all_reduce "$@" >"$work/text" && ! grep -q WRONG "$work/text" && grep -c verified "$work/text" && grep -E '^  (trace|digest)' "$work/text"
}
same() {
  local first
  first=$(digests "$@") && [ "$first" = "$(digests "$@")" ] && [ "$(head -1 <<<"$first")" = "$ranks" ]
}
for ranks in 2 3 8 16; do
  for algorithm in one_phase two_phase ring bidirectional_ring; do
    holds "$algorithm on $ranks ranks" same --ranks "$ranks" --chip a2a3 --set elems=10001 --set algorithm=$algorithm --set times=3
  done
done
# Timelines, bytes and JSON do not depend on threads.
threads() { [ "$(digests --ranks 5 --chip a2a3 --set times=4 --set algorithm=two_phase)" = "$(digests --ranks 5 --chip a2a3 --set times=4 --set algorithm=two_phase --world-threads "$1")" ]; }
for count in 2 3 5; do holds "the same on $count threads" threads $count; done
# workers CPUS MOST: on two threads no rank has more workers, and some has.
workers() {
  taskset -c "$1" "$ptosim" run bgemm --ranks 2 --world-threads 2 --workers 3 --quiet --json "$work/w.json" || return 1
  [ "$(grep -o '"workers": *[0-9]*' "$work/w.json" | grep -o '[0-9]*$' | sort -n | tail -1)" -le "$2" ]
}
cpus=$(nproc)
holds 'workers and threads are no more than CPUs' workers 0-$((cpus - 1)) $((cpus > 3 ? cpus / 2 : 1))
holds 'nor on one CPU' workers 0 1
holds 'experts on several ranks, on threads' bash -c "
  '$ptosim' run expert_parallel_moe --case ragged >'$work/a' && '$ptosim' run expert_parallel_moe --case ragged --world-threads 2 >'$work/b' &&
  [ \"\$(grep -E '^  (trace|digest)' '$work/a')\" = \"\$(grep -E '^  (trace|digest)' '$work/b')\" ]"
holds 'an expert that gets too much' bash -c "
  '$ptosim' run expert_parallel_moe --set capacity=20 2>&1 | grep -q 'expert 0, of place 0, gets 42 rows, and its capacity is 20'"
holds 'explore names the chip' bash -c "'$ptosim' explore all_reduce --schedules 1 --deps pto --json - | grep -q '\"chip\":\"tiny\",\"deps\":\"pto'"
holds 'as many ranks as the program wants' bash -c "'$ptosim' run all_reduce | grep -q '4 ranks of tiny'"
holds 'one rank is one' bash -c "'$ptosim' run all_reduce --ranks 1 | grep -q '^  on       1 rank of tiny'"
holds 'without kernels, the same time' bash -c "
  '$ptosim' run all_reduce --ranks 4 --json '$work/a.json' >/dev/null && '$ptosim' run all_reduce --ranks 4 --no-compute --json '$work/b.json' >/dev/null &&
  [ \"\$(grep -o '^[^[]*virtual_us\": [0-9.]*' '$work/a.json' | grep -o '[0-9.]*$')\" = \"\$(grep -o '^[^[]*virtual_us\": [0-9.]*' '$work/b.json' | grep -o '[0-9.]*$')\" ]"

# says SENTENCE OPTION…: refused with 2, in one line that has the sentence.
says() {
  local sentence=$1 status
  shift
  "$ptosim" run "$@" >"$work/out" 2>"$work/error"
  status=$?
  [ $status = 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/error")" = 1 ] && grep -q -- "$sentence" "$work/error"
}
holds 'threads are refused' says '^ptosim: several ranks are for engine virtual' all_reduce --engine threads
holds 'more ranks than there are chips' says '5' all_reduce --ranks 5 --chip tiny,nodes=1,chips_per_node=4
holds 'no ranks' says 'ranks' all_reduce --ranks 0
holds 'more than the most' says '64' all_reduce --ranks 65
holds 'more threads than ranks' says '5 threads for 4 ranks' all_reduce --world-threads 5
holds 'one task of one chip' says 'of one chip' all_reduce --dump 0 "$work/kept"
holds 'graphs are files' says 'a file a rank, and not standard output' all_reduce --dot -
holds 'experts that ranks do not divide' says 'experts 6 is no multiple of the 4 ranks' expert_parallel_moe --set experts=6
holds 'several rounds' says 'one round' all_reduce --rounds 2
# A file a rank: of ranks that send nothing, that of one chip.
graphs() {
  local ending
  "$ptosim" run bgemm --engine virtual --deps-json "$work/one.json" --dot "$work/one" --quiet || return
  "$ptosim" run bgemm --ranks 2 --deps-json "$work/g.json" --dot "$work/g" --quiet || return
  for ending in .0.json .1.json; do cmp "$work/one.json" "$work/g$ending" || return; done
  for ending in .0 .1; do cmp "$work/one" "$work/g$ending" || return; done
  [ ! -e "$work/g.json" ] && [ ! -e "$work/g" ]
}
holds 'graphs, a file a rank' graphs
differ() {
  "$ptosim" run tensor_parallel_mlp --ranks 3 --deps-json "$work/m.json" --quiet && "$ptosim" diff "$work/m.1.json" "$work/m.1.json" &&
    ! "$ptosim" diff "$work/m.0.json" "$work/m.2.json" >"$work/out" && grep -q 'shape \[32, 170\] in A and \[32, 171\] in B' "$work/out"
}
holds 'and two of them compared' differ
explores() { # SENTENCE WORD…: it is refused with that
  local sentence=$1
  shift
  "$@" >"$work/out" 2>"$work/error"
  [ $? = 2 ] && grep -qx -- "ptosim: explore: with several ranks $sentence" "$work/error"
}
holds 'explore names the option that is of one chip' explores 'there is no --all' "$ptosim" explore all_reduce --all
no_waits() {
  "$ptosim" run all_reduce --waits-dot "$work/w.dot" --quiet && grep -q '^digraph "all_reduce stopped" {' "$work/w.dot" && ! grep -q rank[0-9] "$work/w.dot"
}
holds 'ranks that come to an end wait for none' no_waits
without_kernels() {
  "$ptosim" explore all_reduce --ranks 4 --no-compute --schedules 6 >"$work/out" && grep -q '6 runs in which ranks are late, 0 differ' "$work/out" &&
    grep -q 'not judged: .*outputs (without kernels there are none' "$work/out"
}
holds 'explore compares how runs without kernels end' without_kernels
for verb in perf diff task graph adopt; do
  holds "why $verb has no ranks" bash -c "! '$ptosim' $verb all_reduce --ranks 2 2>&1 | grep -vq 'does not take --ranks: '"
done
holds 'other verbs say where to go' bash -c "'$ptosim' perf all_reduce 2>&1 | grep -q 'several ranks'"
holds_total
