#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ptosim run --ranks N in several processes, under mpirun: text, JSON and digests are those of one process, and so are the sentence and
# the exit status where all wait for ever or a rank is refused.  A process that is killed ends all.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
command -v mpirun >/dev/null || { echo 'there is no mpirun (scripts/deps --mpi)'; exit 77; }
[ -e "$build/libpto_mpi.so" ] || { echo "there is no $build/libpto_mpi.so: built without MPI (scripts/deps --mpi)"; exit 77; }
case $build in *address* | *thread*) echo 'MPI is not instrumented'; exit 77 ;; esac
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
. tests/support/holds.sh

# on PROCESSES ARGUMENT…: in so many.  What mpirun says of a process's status is not looked at.
on() {
  local count=$1
  shift
  timeout 300 mpirun --oversubscribe -n "$count" "$ptosim" run "$@" --json "$work/json.$count" >"$work/text.$count" 2>"$work/error.$count"
}
# As `on` leaves them, but for wall times, and for what would help, which is told of one process alone; of one process that no launcher has started (0) or of several.
told() {
  sed -E '/ in half the time: |^ +ptosim run .* --chip-set |^ +each was run, /d' "$work/text.$1" | cat - "$work/json.$1" |
    sed -E 's/^(  time     ).*,/\1/; s/"(wall_seconds|tokens_per_second)":[^,]*//g; s/"gains":\[[^]]*\]//g; s/"why_no_gains":(null|"[^"]*")//g'
  grep '^ptosim: ' "$work/error.$1"
  true
}
# alike STATUS ARGUMENT…: in 1, 2 and 4 processes the same as alone.
alike() {
  local want=$1 count status
  shift
  "$ptosim" run "$@" --json "$work/json.0" >"$work/text.0" 2>"$work/error.0"
  status=$?
  [ $status = "$want" ] || { echo "left with $status"; return 1; }
  for count in 1 2 4; do
    rm -f "$work/json.$count"
    on $count "$@"
    status=$?
    [ $status = "$want" ] || { echo "$count processes left with $status"; cat "$work/error.$count"; return 1; }
    diff <(told 0) <(told $count) || return 1
  done
}
for algorithm in one_phase two_phase ring bidirectional_ring; do
  holds "$algorithm" alike 0 all_reduce --ranks 16 --chip a2a3 --set elems=5001 --set algorithm=$algorithm --set times=2
done
holds 'experts on several ranks' alike 0 expert_parallel_moe --ranks 4 --case ragged
holds 'a matrix product that ranks share' alike 0 tensor_parallel_mlp --ranks 4 --chip a2a3
holds 'attention' alike 0 tensor_parallel_attention --ranks 4 --chip a2a3
holds 'a pipeline' alike 0 pipeline --ranks 4 --chip a2a3
for mistake in not_submitted not_dispatched blocked lost; do
  holds "a hang of 16 ranks: $mistake" alike 3 "$build/planted/planted_moe_hang.so" --chip a2a3 --set mistake=$mistake
done
# As tests/long/worlds_mpi_test.sh, which has more of them.
worlds() {
  mkdir "$work/worlds" && cp "$build/tests/world/world_random_test" "$build/libpto_mpi.so" "$work/worlds/" &&
    PTO_RANDOM_WORLDS=1000 timeout 1200 mpirun --oversubscribe -n 2 "$work/worlds/world_random_test" >"$work/worlds/text" 2>&1 &&
    [ "$(grep -c 'one of 2 processes' "$work/worlds/text")" = 2 ]
}
if [ -x "$build/tests/world/world_random_test" ]; then holds 'random programs of several ranks' worlds; fi
holds 'a kernel that none runs' alike 2 all_reduce --ranks 4 --chip a2a3 --chip-set half_kernel=nosuch
holds 'parts of unequal size' alike 0 all_reduce --ranks 7 --chip a2a3
holds 'what was moved, and where the time went' alike 0 all_reduce --ranks 8 --chip a2a3 --set times=2 --comm-stats --stats
timelines() { # ENDING FILE…: 3 processes write what one does
  "$ptosim" run all_reduce --ranks 4 --chip a2a3 --trace "$work/a.$1" --quiet && on 3 all_reduce --ranks 4 --chip a2a3 --trace "$work/b.$1" --quiet || return 1
  local ending
  for ending in "${@:2}"; do cmp "$work/a.$ending" "$work/b.$ending" || return 1; done
}
holds 'one timeline' timelines json json
hang=("$build/planted/planted_moe_hang.so" --chip a2a3 --set mistake=lost --quiet --waits-dot)
picture() { # 3 processes draw what one does
  "$ptosim" run "${hang[@]}" "$work/a.dot"
  on 3 "${hang[@]}" "$work/b.dot"
  grep -q 'rank3 -> rank7' "$work/a.dot" && cmp "$work/a.dot" "$work/b.dot"
}
holds 'one picture of a hang' picture
holds 'for Perfetto' timelines pftrace pftrace
holds 'for Chakra' timelines et 0.et 1.et 2.et 3.et
graphs() { # 3 processes write what one does, a file a rank
  local rank
  "$ptosim" run all_reduce --ranks 4 --deps-json "$work/a.json" --quiet && on 3 all_reduce --ranks 4 --deps-json "$work/b.json" --quiet || return 1
  for rank in 0 1 2 3; do cmp "$work/a.$rank.json" "$work/b.$rank.json" || return 1; done
}
holds 'graphs' graphs
holds 'links are told' grep -q '"busy_us"' "$work/json.4"
holds 'a program that drives contexts' alike 0 llm --ranks 4 --engine virtual --chip a2a3 --set steps=5 --set check=false
holds 'with a text' [ "$(wc -c <"$work/text.4")" -gt 3 ]
holds 'ranks that no communicator joins' alike 0 vector_example --ranks 5
holds 'all wait for ever' alike 3 "$build/planted/planted_ranks.so" --ranks 8
holds 'and that is said' grep -q 'rank 7' "$work/error.4"
crashed() { ! on 4 "$build/planted/planted_ranks.so" --ranks 8 --set mistake=crash && grep -q '^ptosim: ' "$work/error.4"; }
holds 'a crash ends all' crashed
holds 'a program that is refused' alike 2 all_reduce --ranks 4 --set times=0
holds 'more ranks than there are chips' alike 2 all_reduce --ranks 5 --chip tiny,nodes=1,chips_per_node=4

# says SENTENCE ARGUMENT…: four processes are refused, in one line.
says() {
  local sentence=$1 status
  shift
  on 4 "$@"
  status=$?
  cat "$work/error.4"
  [ $status = 2 ] && [ ! -s "$work/text.4" ] && [ "$(grep -c '^ptosim: ' "$work/error.4")" = 1 ] && grep -q -- "$sentence" "$work/error.4"
}
holds 'more processes than ranks' says '4 processes for 3 ranks' all_reduce --ranks 3
holds 'threads as well' says 'have no threads' all_reduce --ranks 8 --world-threads 2
holds 'nor does predict run in several' bash -c "mpirun --oversubscribe -n 2 '$ptosim' predict all_reduce --ranks 4 --chip a2a3 2>&1 |
  grep -q 'predict: ranks are judged in one process, not in several'"
holds 'one rank alone' says 'rank 7: .*the last rank is refused' "$build/planted/planted_ranks.so" --ranks 8 --set mistake=refused
# started SENTENCE ARGUMENTS OTHERS: a process has those, and two have these; all are refused, in one line.
started() {
  local status
  timeout 300 mpirun --oversubscribe -n 1 "$ptosim" run all_reduce --ranks 6 --chip a2a3 $2 : -n 2 "$ptosim" run all_reduce --chip a2a3 --ranks 6 $3 >"$work/text" 2>"$work/error"
  status=$?
  cat "$work/error"
  [ $status = "${4:-2}" ] && [ "$(grep -c '^ptosim: ' "$work/error")" = "${5:-1}" ] && grep -q -- "^ptosim: MPI: process 1 of 3 has $1; all are to be started as process 0 is\$" "$work/error"
}
holds 'another number of ranks' started '9 ranks, not 6' '' '--ranks 9'
holds 'another chip' started 'another chip: [a-z_]* differs' '' '--chip a5'
holds 'a number of the chip' started 'another chip: dispatch differs' '--chip-set dispatch=7' ''
holds 'other settings' started 'another program, or with another case, setting, seed or input' '--set elems=100' '--set elems=101'
for option in --no-compute '--deps pto' '--policy lifo' '--jitter 1%' --stats --comm-stats "--trace $work/t.json" "--report $work/t.html"; do
  holds "one process alone has $option" started 'other options' "$option" ''
done
holds 'timelines of two formats' started 'other options' "--trace $work/t.json" "--trace $work/t.et"
own_files() { # of its ranks' graphs each writes one, the first one the timeline, as one process does
  local run=("$ptosim" run all_reduce --ranks 6 --chip a2a3 --quiet)
  "${run[@]}" --trace "$work/alone.json" --deps-json "$work/alone_of.json" || return 1
  timeout 300 mpirun --oversubscribe -n 1 "${run[@]}" --trace "$work/first.json" --deps-json "$work/first_of.json" : \
    -n 2 "${run[@]}" --trace "$work/other.json" --deps-json "$work/other_of.json" || return 1
  cmp "$work/alone.json" "$work/first.json" && [ ! -e "$work/other.json" ] && cmp "$work/alone_of.1.json" "$work/first_of.1.json" &&
    cmp "$work/alone_of.2.json" "$work/other_of.2.json" && [ ! -e "$work/first_of.2.json" ]
}
holds 'files of its own' own_files
full() { # which process 0 alone cannot write; the page takes all
  timeout 300 mpirun --oversubscribe -n 2 "$ptosim" run all_reduce --ranks 4 --quiet --trace /dev/full --report "$work/page.html" >"$work/out" 2>&1
  [ $? = 3 ] && grep -q 'ptosim: /dev/full: No space left on device' "$work/out" && grep -q '</html>' "$work/page.html"
}
holds 'a file that cannot be written keeps none from the next' full
holds 'what each tells by itself may differ' bash -c "timeout 300 mpirun --oversubscribe -n 1 '$ptosim' run all_reduce --ranks 6 --quiet --json '$work/one.json' : -n 2 '$ptosim' run all_reduce --ranks 6"
holds 'without the plug-in' bash -c "cp '$ptosim' '$work/ptosim' && PTO_PROGRAM_PATH='$build/programs' OMPI_COMM_WORLD_SIZE=2 '$work/ptosim' run all_reduce --ranks 2 2>&1 |
  grep -q 'libpto_mpi.so beside ptosim'"

# The processes of ptosim below that one, of which MPICH has a proxy between.
processes() {
  local child
  for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    if [ "$(cat /proc/"$child"/comm 2>/dev/null)" = ptosim ]; then echo "$child"; else processes "$child"; fi
  done
}
# A process that is killed in a run of many seconds: mpirun ends the others, and says so.
killed() {
  local launcher one tries=0
  mpirun --oversubscribe -n 4 "$ptosim" run all_reduce --ranks 8 --chip a2a3 --set times=30 --set elems=1000000 --set algorithm=one_phase --timeout 0 >"$work/error" 2>&1 &
  launcher=$!
  until [ "$(processes $launcher | wc -l)" = 4 ] || [ $((tries++)) = 100 ]; do sleep 0.1; done
  sleep 1
  one=$(processes $launcher | sed -n 3p)
  kill -9 "$one" || return 1
  for ((tries = 0; tries < 100; tries++)); do
    kill -0 $launcher 2>/dev/null || break
    sleep 0.1
  done
  kill -9 $launcher 2>/dev/null && { echo 'mpirun was still there after 10 seconds'; return 1; }
  wait $launcher && return 1
  cat "$work/error"
  grep -qE 'process rank [0-9]+ with .* exited on signal 9|Killed \(signal 9\)' "$work/error" # Open MPI's words, and MPICH's
}
holds 'a process that is killed ends all' killed
holds_total
