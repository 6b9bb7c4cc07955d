#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What make bench does with its programs: scripts/run_benches and scripts/bench_table on programs that are stood in for.
set -u
top=$(realpath "$(dirname "$0")/../..")
. "$top/tests/support/holds.sh"

program() { # NAME SCRIPT
  printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
  chmod +x "$work/$1"
}
run() { "$top/scripts/run_benches" "$work/results" "$@" >"$work/printed" 2>"$work/said"; }
shows() { grep -qF -- "$1" "$work/printed"; }
says() { grep -qF -- "$1" "$work/said"; }
has_lines() { [ "$(wc -l <"$work/results")" = "$1" ]; }

echo 'of a run before' >"$work/results"
line() { # BENCH KEYS: a command that prints a line
  echo "echo '{\"bench\": \"$1\", \"system\": \"pto\", $2, \"runs\": 7, \"median\": 2, \"min\": 1}';"
}
program bench_one "$(line one '"what": "a", "ns": 1.5') echo noise; echo without that >&2"
program bench_two "$(line two '"lines": 1') exit 1"
program bench_three "$(line two '"lines": 300') $(line two '"lines": 2')"
holds 'benches that succeed succeed' run "$work/bench_one" "$work/bench_three"
holds 'the results are made afresh and have lines of JSON alone' has_lines 3
holds 'each is an object' bash -c "! grep -v '^{.*}\$' $work/results"
holds 'the last line counts them' shows "3 results in $work/results"
holds 'a row of a table' shows 'one    pto     a     1.5'
holds 'what a bench says is passed on' says 'without that'
holds 'the time of each is told' grep -qE 'one [0-9]+ s, three' "$work/said"
holds 'one that fails fails' leaves_with 1 run "$work/bench_two" "$work/bench_three"
holds 'what it had printed stays, and the others run' has_lines 3
holds 'it is named' says 'bench_two failed'
holds 'one that is not there fails' leaves_with 1 run "$work/bench_four" "$work/bench_one"
holds 'and is named' says 'there is no bench bench_four'
holds 'while the others run' has_lines 1

program bench_five "$(line five '"lines": 1') exec tail -f /dev/null"
holds 'one that does not end is ended' env PTO_BENCH_SECONDS=1 bash -c "! $top/scripts/run_benches $work/results $work/bench_five $work/bench_one >$work/printed 2>$work/said"
holds 'which is told' says 'bench_five took longer than 1 s'
holds 'and what it had printed stays, and the others run' has_lines 2

holds 'where none of them is there that is wrong usage' leaves_with 2 run "$work/bench_for" "$work/bench_fiv"
holds 'and what there is of results is kept' has_lines 2

for key in bench system runs median min; do
  program bench_six "$(line six '"lines": 1' | sed "s/\"$key\": [^,}]*/\"other\": 1/")"
  holds "a line without $key fails" leaves_with 1 run "$work/bench_six"
  holds 'which is told' says "bench_six: a line without $key"
done
program bench_seven "echo '{\"bench\": \"seven\", \"system\": \"pto\", \"mean\": 1.5, \"summary\": true}'"
holds 'a line of what follows from others has no runs' run "$work/bench_seven"

task() { # SYSTEM PATTERN MEDIAN MIN
  echo "{\"bench\": \"task_overhead\", \"system\": \"$1\", \"pattern\": \"$2\", \"workers\": 2, \"median\": $3, \"min\": $4}"
}
lookup() { # TILES GROWTH
  echo "{\"bench\": \"lookup\", \"tiles\": \"$1\", \"order\": \"in_turn\", \"step\": \"hit\", \"live_tiles\": 65536, \"median\": 9," \
    "\"growth\": $2, \"candidates\": 1, \"growth_aim\": 2, \"candidates_aim\": 2}"
}
{
  task pto chain 60.25 55.75
  task pto bgemm 104.6 99.5
  task tbb chain 104 100
  echo '{"bench": "task_overhead_mean", "workers": 2, "mean_ns": 100.4, "mean_aim": 110, "most_ns": 231, "most_aim": 230, "most_pattern": "bgemm"}'
  echo '{"bench": "task_overhead_ratio", "peer": "tbb", "workers": 2, "mean": 0.99, "mean_aim": 1, "least": 0.5, "least_aim": 0, "least_pattern": "chain"}'
  lookup 1d 1.9
  lookup 2d 2.4
  lookup column_strips 2.2
} >"$work/results"
table() { "$top/scripts/bench_table" "$work/results" >"$work/printed"; }
matches() { grep -qE -- "$1" "$work/printed"; }
holds 'a table is made' table
holds 'patterns are columns' matches '^workers +system +chain +bgemm$'
holds 'a system is a row with all its cells' matches '^2 +pto +60.2/55.8 +105/99.5$'
holds 'a cell that was not measured stays empty' matches '^2 +tbb +104/100$'
holds 'an aim that is met' matches '^met +ns an empty task, mean of patterns, W=2 +100 +aim <= 110$'
holds 'one that is not' matches '^NOT MET ns an empty task, most \(bgemm\), W=2 +231 +aim <= 230$'
holds 'more is better of a ratio' matches '^NOT MET times the tasks/s of tbb, mean +0.99 +aim >= 1$'
holds 'an aim of 0 is none' bash -c "! grep -q 'least (chain)' $work/printed"
holds 'of lookups with one aim, the worst counts' matches '^NOT MET growth of a lookup at 65536 live tiles: hit, in_turn \(2d\) +2.4 +aim <= 2$'
holds 'the aims are counted' matches '^2 of 5 aims met$'
holds 'a file that is not there is told' leaves_with 2 "$top/scripts/bench_table" "$work/none"

holds_total
