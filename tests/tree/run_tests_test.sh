#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The test runner counts right: what cmocka announces and what becomes of it, crashes, time-outs, totals of one's own.
# Programs here are small scripts that print what a test program would.
set -u
top=$(realpath "$(dirname "$0")/../..")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

program() { # NAME LINES-OF-BASH
  { echo '#!/usr/bin/env bash'; printf '%s\n' "$2"; } >"$work/$1"
  chmod +x "$work/$1"
}
# The last line and the exit status of a run of these programs.
expect() { # WHAT LAST-LINE STATUS OPTIONS-AND-PROGRAMS…
  local what=$1 line=$2 status=$3 out got
  shift 3
  out=$("$top/scripts/run_tests" --build "$work/out" "$@" 2>&1)
  got=$?
  if [ "$(tail -n 1 <<<"$out")" = "$line" ] && [ $got = "$status" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s: expected "%s" and status %s, got status %s and\n%s\n' "$what" "$line" "$status" $got "$out"
  fi
}
says() { # WHAT TEXT OPTIONS-AND-PROGRAMS…
  local what=$1 text=$2 out
  shift 2
  out=$("$top/scripts/run_tests" --build "$work/out" "$@" 2>&1)
  if grep -qF -- "$text" <<<"$out"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf '%s: "%s" is not in\n%s\n' "$what" "$text" "$out"
  fi
}

run='[==========] Running'
program two_good "echo '$run 2 test(s).'
for t in test_a test_b; do echo \"[ RUN      ] \$t\"; echo \"[       OK ] \$t\"; done; echo '[==========] 2 test(s) run.'"
program one_bad "echo '$run 2 test(s).'
echo '[ RUN      ] test_a'; echo '[       OK ] test_a'
echo '[ RUN      ] test_b'; echo '[  ERROR   ] --- 0x1 != 0x2'; echo '[  FAILED  ] test_b'
echo '[==========] 2 test(s) run.'; echo '[  FAILED  ] 1 test(s), listed below:'; echo '[  FAILED  ] test_b'; exit 1"
program one_skipped "echo '$run 2 test(s).'
echo '[ RUN      ] test_a'; echo '[       OK ] test_a'; echo '[ RUN      ] test_b'; echo '[  SKIPPED ] test_b'
echo '[  SKIPPED ] 1 test(s), listed below:'; echo '[  SKIPPED ] test_b'"
program crashes "echo '$run 3 test(s).'
echo '[ RUN      ] test_a'; echo '[       OK ] test_a'; echo '[ RUN      ] test_that_crashes'; kill -SEGV \$\$"
program setup_fails "echo '$run 4 test(s).'; echo '[  FAILED  ] GROUP SETUP'; echo '[==========] 0 test(s) run.'; exit 1"
program leaks "echo '$run 1 test(s).'; echo '[ RUN      ] test_a'; echo '[       OK ] test_a'; exit 23"
program two_groups "echo '$run 1 test(s).'; echo '[ RUN      ] test_a'; echo '[       OK ] test_a'
echo '$run 1 test(s).'; echo '[ RUN      ] test_b'; printf 'half a line[       OK ] test_b\n'"
program own_total "echo 'about 7 passed'; echo '30 passed, 1 failed, 4 skipped'; exit 1"
program plain_good 'exit 0'
program plain_bad 'exit 1'
program plain_skipped 'exit 77'
program has_table "echo '| found by | runs |'; echo 'and something else'"
program sleeps 'exec sleep 60'
program naps 'exec sleep 2'
program spins 'while :; do :; done'

expect 'good tests count' '2 passed, 0 failed' 0 "$work/two_good"
says 'a table is shown where all went well' '| found by | runs |' "$work/has_table"
expect 'a failed test counts once' '1 passed, 1 failed' 1 "$work/one_bad"
expect 'a skipped test is no failure' '1 passed, 0 failed, 1 skipped' 0 "$work/one_skipped"
expect 'after a crash the rest has failed' '1 passed, 2 failed' 1 "$work/crashes"
says 'a crash names its test' 'test_that_crashes' "$work/crashes"
says 'what failed stands by name before the total' "FAILED $work/one_bad: test_b" "$work/two_good" "$work/one_bad" "$work/two_groups"
says 'so does what crashed' "FAILED $work/crashes" "$work/crashes"
says 'a crash names its signal' 'killed by signal 11' "$work/crashes"
expect 'a group that could not begin has failed' '0 passed, 4 failed' 1 "$work/setup_fails"
expect 'an error after the last test is a failure' '1 passed, 1 failed' 1 "$work/leaks"
expect 'groups add up' '2 passed, 0 failed' 0 "$work/two_groups"
expect 'a total of its own is believed' '30 passed, 1 failed, 4 skipped' 1 "$work/own_total"
expect 'a plain program is one test' '1 passed, 1 failed, 1 skipped' 1 "$work/plain_good" "$work/plain_bad" "$work/plain_skipped"
PTO_TEST_PATIENCE=1 expect 'a program that does not end has failed' '0 passed, 1 failed' 1 --timeout 1 "$work/sleeps"
PTO_TEST_PATIENCE=600 expect 'time of others is no limit' '1 passed, 0 failed' 0 --timeout 1 "$work/naps"
PTO_TEST_PATIENCE=600 says 'a program that computes for ever has failed' 'took more than 1 s of processor time' --timeout 1 "$work/spins"
expect 'a program that is not there has failed' '0 passed, 1 failed' 1 "$work/missing"
expect 'programs add up' '5 passed, 3 failed, 1 skipped' 1 "$work/two_good" "$work/one_bad" "$work/crashes" "$work/one_skipped"
expect 'a pattern selects' '2 passed, 0 failed' 0 --only two_good "$work/two_good" "$work/one_bad"
expect 'nothing is not success' '0 passed, 0 failed' 1 --only nothing "$work/two_good"
says 'what failed is printed' '--- 0x1 != 0x2' "$work/one_bad"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
