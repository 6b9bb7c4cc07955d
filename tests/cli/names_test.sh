#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Labels, and places in the source, in every text: refused submits, crashes, scopes left open, findings; and ^C.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh
source=tests/planted/planted_names.c
program=${work:?}/names.so
${CC:-cc} -std=c17 -O1 -g -fPIC -shared -Wall -Wextra -Wno-unused-parameter -Iinclude -o "$program" "$source" || exit 1
has_lines=false
readelf -d "$build/ptosim" "$build"/libpto*.so 2>/dev/null | grep -q 'NEEDED.*libdw' && has_lines=true
crashes=true
nm "$build/ptosim" | grep -qE '__(asan|tsan|ubsan)_' && crashes=false # they report crashes by themselves

line() { grep -n "HERE: $1 " "$source" | cut -d: -f1; }
at() { echo "planted_names\.c:$(line "$1")"; }
says() { # STATUS PATTERN WORDS…
  leaves_with "$1" "$build/ptosim" "${@:3}" && grep -qE "$2" "$work/out"
}
run() { says "$1" "$2" run "$program" --set mistake="$3" "${@:4}"; }

holds 'a right run has nothing to say of refusals' run 0 'verified' none
holds 'a refused submit that is ignored makes the exit status 1' run 1 '^  refused  1 submit; the first, task 3 \(add "wrong type"\)' refused
holds 'and its array is named' run 1 'on numbers: add: param 0' refused
holds 'without kernels too' run 1 '^  refused  1 submit' refused --no-compute
holds 'check finds it' says 1 '^refused: task 3 \(add "wrong type"\) ' check "$program" --set mistake=refused
holds 'explore too' says 1 '^refused: task 3 \(add "wrong type"\) ' explore "$program" --set mistake=refused --schedules 2
holds 'so does the JSON' run 1 '"refused": ?1' refused --quiet --json -
holds 'one that the orchestration returns is told with its task and array' run 3 'param 0 .*\(task 3, add, at .*, on numbers\)' error
holds 'where it has none, nothing stands in their place' run 3 '1000 blocks can never start together.* \(task 3, bare, at [^,]*\)$' bare
holds 'nor of one that is ignored' run 1 '^  refused  1 submit; the first, task 3 \(bare\) at [^,]*: sync_start' ignored
holds 'a wrong result says what to do next' run 1 '^  next     ptosim check .*names\.so --set mistake=wrong$' wrong
holds 'a time-out ends an orchestration that does not return' run 3 'the orchestration outlived the time-out of 1000 ms' loop --timeout 1
holds 'on several ranks with the rank' run 3 'ptosim: rank 0: the orchestration outlived the time-out of 1000 ms' loop --timeout 1 --ranks 2
holds 'so does one of a kernel' run 3 'ptosim: rank 1: a kernel outlived the time-out of 1000 ms: task 3 \(stays\)' hang --timeout 1 --ranks 2
holds 'dot has the labels' says 0 'label="scope 1 sweep"' run "$program" --dot - --quiet
holds 'and of tasks' says 0 'add \\"row 2\\"' run "$program" --dot - --quiet
holds 'why names task and buffer' says 0 'add "row 0".*' why "$program" 0 1
holds 'the trace has them' says 0 '"label": ?"row 1"' run "$program" --trace - --quiet
holds 'the list of dependencies too' says 0 '"label": ?"field"' run "$program" --deps-json - --quiet
if $has_lines; then
  holds 'the place of a refusal is the line of the orchestration, and that of the helper' \
    run 1 "at $(at refused) \($(at helper)\)" refused
  holds 'also of one that is returned' run 3 "at $(at returned) \($(at helper)\)" error
  holds 'a scope left open is told with where it was opened' run 3 "opened at $(at scope)" scope
  holds 'why names both lines' says 0 "$(at rows) \($(at helper)\)" why "$program" 0 1
fi
if $crashes; then
  holds 'a crash in a kernel names its label and its tensors' run 3 'SIGSEGV .*its label is "to crash"; its tensors are field' kernel
  of_rank() { "$build/ptosim" "$@" "$program" --set mistake=kernel --ranks 2 2>&1 | grep -q 'its rank is 0; its label is "to crash"; its tensors are field'; }
  holds 'on several ranks the rank too' of_rank run
  holds 'and where it is observed' of_rank check --observe
  holds 'of a crash in the orchestration too' run 3 'SIGSEGV .* outside of any kernel on rank 0' crash --ranks 2
  holds 'and of one that ends the process' run 3 'the program ended the process by exit\(7\) on rank 0, outside of any kernel' quit --ranks 2
  holds 'a crash in the orchestration is one outside of kernels' run 3 'SIGSEGV .* outside of any kernel' crash
  if $has_lines; then
    holds 'a crash in a kernel names function, file and line' run 3 "in crash \($(at crash)\)" kernel
    holds 'an assertion that fails names its line, not that of abort alone' run 3 "called by orchestrate \($(at assertion)\)" assertion
    holds 'so does one in the orchestration' run 3 "in orchestrate \($(at orchestration)\)" crash
  fi
fi

interrupted() { # WORDS…: ^C after half a second, or $after
  "$build/ptosim" "$@" >"$work/out" 2>&1 &
  local pid=$!
  sleep ${after:-0.5}
  kill -INT $pid
  wait $pid
  local got=$?
  cat "$work/out"
  [ $got = 130 ]
}
is_json() { python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1"; }
set -m # or children of a script ignore ^C
holds '^C ends an orchestration that does not return, with 130' interrupted run "$program" --set mistake=loop --json "$work/loop.json"
$crashes && holds 'and leaves JSON that says so' grep -q '"exit": *130' "$work/loop.json"
twice() { # another soon after the first, while the run has the time to end by itself, and does not
  local pid until=$((SECONDS + 60))
  echo old >"$work/twice.json"
  echo >"$work/out" # what stands there is of another run
  "$build/ptosim" run "$program" --set mistake=loop --json "$work/twice.json" >"$work/out" 2>&1 &
  pid=$!
  until grep -q 'goes round' "$work/out"; do
    [ $SECONDS -lt $until ] || return 1
    sleep 0.05
  done
  kill -INT $pid
  sleep 0.2
  kill -INT $pid
  wait $pid
  [ $? = 130 ] && [ "$(cat "$work/out")" = 'goes round' ] && grep -qx old "$work/twice.json"
}
holds 'a second one ends it at once, and leaves files as they were' twice
holds '^C ends a run between two tasks' interrupted run bgemm --set task_num=1000000 --set tile=1 --json "$work/run.json"
holds 'what it has done by then is there' grep -qE '"status": *"PTO_EINTERRUPTED"' "$work/run.json"
writes_a_page() {
  interrupted run bgemm --set task_num=1000000 --set tile=1 --engine virtual --chip a2a3 --report "$work/page.html"
  local got=$?
  grep -q 'this build has no pages' "$work/out" && return 0
  [ $got = 0 ] && tail -1 "$work/page.html" | grep -q '</html>' && grep -q '"status":"PTO_EINTERRUPTED"' "$work/page.html"
}
after=2 holds 'and its page is whole' writes_a_page
holds '^C ends explore with what it has found' interrupted explore bgemm --schedules 1000000 --json "$work/explore.json"
holds 'as JSON' is_json "$work/explore.json"
says_how_far() { # after the sequential run, which takes longer where all is counted or watched
  local after
  for after in 0.5 2 8; do
    interrupted explore bgemm --schedules 1000000 && grep -q 'distinct orders' "$work/out" && grep -q 'explore: interrupted' "$work/out" &&
      return
  done
  return 1
}
holds 'and in words' says_how_far
stops_delays() {
  interrupted explore all_reduce --schedules 1000000 && grep -q ' 0 differ' "$work/out" && grep -q 'interrupted after [0-9]* of 1000000 runs' "$work/out"
}
holds '^C ends delays of ranks, and accuses none of them' stops_delays
tells_of_runs() {
  local after
  for after in 0.5 2 8 30; do
    interrupted predict bgemm --runs 1000 --chip a2a3 --json "$work/predict.json" || return 1
    ! grep -qE '"runs": *[1-9]' "$work/predict.json" || return 0
  done
  return 1
}
holds '^C ends predict with the runs so far' tells_of_runs
holds '^C ends op with the rows so far' interrupted op perf all --layout all --json "$work/op.json"
holds 'as JSON too' is_json "$work/op.json"
leaves_with 0 "$build/ptosim" run bgemm --dump 3 "$work/kept" --quiet || exit 1
holds '^C ends the runs of one task' interrupted task "$work/kept/3" --repeat 1000000 --json "$work/task.json"
holds 'of which JSON says the number' grep -qE '"runs": *[1-9].*' "$work/task.json"
for i in {10..40}; do echo "bgemm --rounds $i"; done >"$work/cases.list"
holds '^C ends regress with the rows so far' interrupted regress "$work/cases.list" --junit "$work/rows.xml"
echo "bgemm --case 500x128x2 => timed" >"$work/timed.list"
after=3 holds 'and one that is being timed' interrupted regress "$work/timed.list" --repeats 64 --json "$work/timed.json"
# A program under a sanitizer takes long to begin; one that gets ^C then has failed.
$crashes && holds 'which has not run then' grep -qE '"counts": *\{"not_run": *1' "$work/timed.json"
holds 'no baseline is written then' test ! -e "$work/cases.list.baseline"
echo old >"$work/kept.json"
too_large() { (ulimit -f 1; trap '' XFSZ; "$build/ptosim" run bgemm --trace "$work/kept.json" --quiet); }
holds 'a trace that does not fit is a failure' leaves_with 3 too_large
holds 'and the file of before stays' grep -qx old "$work/kept.json"
on_terminal() { # PATTERN WORDS…: of three seconds
  script -qec "timeout -s INT 3 $build/ptosim ${*:2}" "$work/typescript" >/dev/null 2>&1
  grep -qE "$1" "$work/typescript" || { cat -v "$work/typescript"; return 1; }
}
if command -v script >/dev/null; then
  holds 'a terminal shows how far explore is, how fast, and how long for the rest' \
    on_terminal 'exploring [0-9]+ of 1000000, [0-9.]+/s, [0-9]+ s left' explore bgemm --schedules 1000000
  holds 'regress too' on_terminal 'running cases [0-9]+ of 31' regress "$work/cases.list"
fi
holds 'nothing is left beside' test -z "$(find "$work" -name '*.new')"
holds_total
