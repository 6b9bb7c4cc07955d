#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# No tool of valgrind that judges reports anything of a program of this tree: memcheck in virtual time, helgrind and drd on threads,
# each through make valgrind.  A small case of each program, where the usual one would take minutes.  TOOLS and PROGRAMS in the
# environment choose among them.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
if nm "$build/ptosim" | grep -qE '__(asan|tsan|ubsan)_'; then
  echo "a sanitizer's build does not run under valgrind"
  exit 77
fi
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh

declare -A small=(
  [alternating_matmul_add]='--case 1x1x1' [barriers]='--case fan_in65' [batch_paged_attention]='--case var2'
  [bgemm]='--set task_num=16 --set tile=16 --set grid_k=2' [core_fifo]='--case one' [inplace_update]='--case four'
  [mixed_example]='--case 4x64' [paged_attention]='--case var2' [paged_attention_manual]='--case var2'
  [paged_attention_ringbuffer]='--case var4' [paged_attention_unroll]='--case small' [split_k]='--case 7'
  [spmd_barrier]='--case mix8 --chip a2a3' [spmd_sync_start]='--chip a2a3' [task_bench]='--set tasks=400'
  [war_reuse]='--case short --set rounds=20' [errors/timeout]=never [errors/crash]=never
)
judge() { # TOOL PROGRAM STATUS…: ptosim itself may leave with the status that the program expects, valgrind's is 99
  # shellcheck disable=SC2086
  scripts/profile "$1" "$(folder_for "$1")" "$2" --quiet ${small[$2]:-}
  local got=$?
  [ $got = 0 ] || [[ $2 == errors/* && $got = 3 ]]
}
folder_for() { if [ "$1" = memcheck ]; then echo "$build"; else echo build-annotate; fi; }

for tool in ${TOOLS:-memcheck helgrind drd}; do
  if [ "$tool" != memcheck ]; then holds 'the annotated build' make -s ANNOTATE=1 all; fi
  for program in ${PROGRAMS:-$("$build/ptosim" list programs | awk '{ print $1 }')}; do
    [ "${small[$program]:-}" = never ] && continue
    holds "$tool has nothing to say of $program" judge "$tool" "$program"
  done
done

holds_total
