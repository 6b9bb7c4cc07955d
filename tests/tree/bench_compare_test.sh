#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# scripts/bench_compare on made-up results: noise passes, a regression does not, and a slower machine is not one.
set -u
top=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

task() { # SYSTEM PATTERN MEDIAN MIN LOW HIGH [RUNS]
  echo "{\"bench\": \"task_overhead\", \"system\": \"$1\", \"pattern\": \"$2\", \"workers\": 2, \"tasks\": 100000," \
    "\"ns_per_task\": $3, \"runs\": ${7:-7}, \"median\": $3, \"min\": $4, \"low\": $5, \"high\": $6}"
}
plain() { # WHAT MEDIAN MINIMUM
  echo "{\"bench\": \"mailbox\", \"what\": \"$1\", \"median_ns\": $2, \"minimum_ns\": $3, \"runs\": 7}"
}
rate() { # SHAPE MEDIAN FASTEST
  echo "{\"bench\": \"matmul\", \"shape\": \"$1\", \"median_gflops\": $2, \"fastest_gflops\": $3, \"runs\": 31}"
}
exact() { # PATTERN INSTRUCTIONS
  echo "{\"bench\": \"instructions\", \"system\": \"pto\", \"pattern\": \"$1\", \"workers\": 1, \"exact\": true," \
    "\"runs\": 1, \"median\": $2, \"min\": $2}"
}
expect() { # WHAT STATUS TEXT [OPTIONS]; compares $work/old with $work/new
  local what=$1 status=$2 text=$3 out got
  shift 3
  out=$("$top/scripts/bench_compare" "$@" "$work/old" "$work/new" 2>&1)
  got=$?
  if [ $got = "$status" ] && grep -qF -- "$text" <<<"$out"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s: expected "%s" and status %s, got status %s and\n%s\n' "$what" "$text" "$status" $got "$out"
  fi
}
old() { "$@" >"$work/old"; }
new() { "$@" >"$work/new"; }
both() { "$@" | tee -a "$work/old" >>"$work/new"; }

old task pto chain 100 98 98 104
new task pto chain 100 98 98 104
expect 'the same file' 0 '1 lines compared: 0 worse, 0 better, 0 changed within noise, 1 the same'
new task pto chain 103 101 101 106
expect 'a change within the limit' 0 '0 worse, 0 better, 0 changed within noise, 1 the same'
new task pto chain 120 115 115 125
expect 'a regression' 1 'worse  task_overhead, pto, chain, workers 2, tasks 100000: 100 -> 120 (+20.0 %, best +17.3 %)'
expect 'a wider limit' 0 '0 worse, 0 better, 0 changed within noise, 1 the same' --percent 25
new task pto chain 80 78 78 83
expect 'an improvement' 0 '0 worse, 1 better'
new task pto chain 150 103 103 190
expect 'intervals that overlap' 0 'noise  task_overhead, pto, chain'
new task pto chain 150 99 120 190
expect 'a best run as good as before' 0 'noise  task_overhead, pto, chain'
new task pto chain 150 140 140 190 3
expect 'too few runs' 0 '1 changed within noise'
expect 'that they say nothing' 0 '1 of them have fewer than 5 runs and say nothing'

cpu() { # WORKERS MEDIAN CPU_MEDIAN CPU_MIN CPU_LOW CPU_HIGH
  echo "{\"bench\": \"task_overhead\", \"system\": \"pto\", \"pattern\": \"chain\", \"workers\": $1, \"cpu_ns_per_task\": $3," \
    "\"cpu_min\": $4, \"cpu_low\": $5, \"cpu_high\": $6, \"runs\": 7, \"median\": $2, \"min\": 50, \"low\": 50, \"high\": 400}"
}
# On a machine that others use: the clock says nothing, processor time does.
old cpu 1 120 46 45 45 47.5
new cpu 1 110 51 49.5 49.6 53
expect 'of one thread processor time counts' 1 'worse  task_overhead, pto, chain, workers 1: 46 cpu -> 51 cpu (+10.9 %, best +10.0 %)'
new cpu 1 300 45 44 44.5 48
expect 'and a busy machine is none' 0 '0 worse, 0 better, 0 changed within noise, 1 the same'
new cpu 1 110 51 49.5 47 53
expect 'but for noise' 0 'noise  task_overhead'
old cpu 2 120 46 45 45 47.5
new cpu 2 110 51 49.5 49.6 53
expect 'of two threads, which spin while they wait, it does not count' 0 '0 worse'
old cpu 1 120 46 45 45 47.5
new eval 'cpu 1 110 51 49.5 49.6 53 | sed "s/.cpu_low.: [0-9.]*, //"'
expect 'nor where one file lacks it' 0 'noise  task_overhead, pto, chain, workers 1: 120 -> 110'

old plain pingpong 100 98
new plain pingpong 110 108
expect 'medians and minima alone' 1 'worse  mailbox, pingpong: 100 -> 110'
old plain pingpong 100 90
new plain pingpong 115 109
expect 'medians and minima alone, too far apart in one file' 0 'noise  mailbox, pingpong'
old rate 8x8x8 100 102
new rate 8x8x8 80 81
expect 'of a rate, less is worse' 1 'worse  matmul, 8x8x8: 100 -> 80'
new rate 8x8x8 120 122
expect 'and more is better' 0 '1 better'

old exact chain 3000
new exact chain 3040
expect 'of an exact figure, one run and one percent are enough' 1 'worse  instructions, pto, chain, workers 1: 3000 -> 3040 (+1.3 %'
new exact chain 2900
expect 'and less is better' 0 '0 worse, 1 better'
new exact chain 3020
expect 'less than that is the same' 0 '0 changed within noise, 1 the same'
old eval 'task pto chain 100 98 98 104 | sed "s/tasks/live_tiles/"; task pto chain 100 98 98 104 | sed "s/tasks\": 100000/live_tiles\": 64/"'
new eval 'task pto chain 100 98 98 104 | sed "s/tasks/live_tiles/"; task pto chain 150 148 148 154 | sed "s/tasks\": 100000/live_tiles\": 64/"'
expect 'sizes tell lines apart' 1 'worse  task_overhead, pto, chain, workers 2, live_tiles 64: 100 -> 150'

# A machine that is half as fast.
old eval 'task pto chain 100 98 98 104; task tbb chain 50 49 49 51; task starpu chain 5000 4900 4900 5100'
new eval 'task pto chain 200 196 196 206; task tbb chain 100 98 98 102; task starpu chain 10000 9800 9800 10200'
expect 'others took as much longer' 0 '0 worse, 0 better, 1 changed within noise'
expect 'which is told' 0 'task_overhead: the 2 lines of other systems take 2.00 times as long'
new eval 'task pto chain 300 296 296 306; task tbb chain 100 98 98 102; task starpu chain 10000 9800 9800 10200'
expect 'slower than the machine became' 1 '1 worse'
new eval 'task pto chain 100 98 98 104; task tbb chain 100 98 98 102; task starpu chain 5000 4900 4900 5100'
expect 'a slower peer is no regression' 0 '1 lines compared: 0 worse'

# A bench without other systems on that machine.
old eval 'plain pingpong 100 98; task tbb chain 50 49 49 51'
new eval 'plain pingpong 200 196; task tbb chain 100 98 98 102'
expect 'a bench without others goes by those of all' 0 '0 worse, 0 better, 1 changed within noise'
new eval 'plain pingpong 200 196; task tbb chain 50 49 49 51'
expect 'which does not hide what became slower' 1 'worse  mailbox, pingpong: 100 -> 200'

old task pto chain 100 98 98 104
new task pto stencil_1d 100 98 98 104
expect 'nothing in common' 2 '0 lines compared: 0 worse, 0 better, 0 changed within noise, 0 the same; 1 only old, 1 only new'
old eval 'plain same 10 9.9; plain same 20 19.9'
new eval 'plain same 10 9.9; plain same 30 29.9'
expect 'lines that nothing tells apart go by their order' 1 'worse  mailbox, same #2: 20 -> 30'
both plain more 5 4.9
expect 'one bad line of many' 1 '3 lines compared: 1 worse, 0 better, 0 changed within noise, 2 the same'
new echo 'make: *** no rule'
expect 'a new file of something else' 2 "$work/new holds no result, which is a line of JSON"
if "$top/scripts/bench_compare" "$work/old" "$work/new" 2>/dev/null | grep -q gone; then
  failed=$((failed + 1))
  echo 'of which no line is gone: not so'
fi
mv "$work/old" "$work/kept"
old echo '{"bench": "mailbox", "what": "unmeasured"}'
new cat "$work/kept"
expect 'an old file without figures' 2 "$work/old holds no result"
mv "$work/kept" "$work/old"
rm "$work/new"
expect 'a file that is not there' 2 'there is no file'
expect 'a limit that is no number' 2 'usage:' --percent some

echo "$passed passed, $failed failed"
[ $failed = 0 ]
