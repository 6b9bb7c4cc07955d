# SPDX-License-Identifier: MIT
#
# For test scripts, which source it: statements that hold or do not, each counted once, and a folder for scratch files.
#
#   . tests/support/holds.sh          makes $work, removed at exit
#   holds 'what is so' COMMAND…       so if the command succeeds; its output is shown where it does not
#   leaves_with STATUS COMMAND…       whether it leaves with that status; its output goes to standard output
#   holds_total [SKIPPED]             the last line of the script: prints the count; fails if anything did not hold
work=$(mktemp -d) || exit 1
# A copy of the shell that a signal ends before it has become its command runs this too.
trap '[ $BASHPID = $$ ] && rm -rf "$work"' EXIT
passed=0 failed=0

holds() {
  local what=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$what: not so"
    tail -n 20 "$work/log"
  fi
}

leaves_with() {
  local want=$1
  shift
  "$@" >"$work/out" 2>&1
  local got=$?
  cat "$work/out"
  [ $got = "$want" ]
}

holds_total() {
  echo
  echo "$passed passed, $failed failed${1:+, $1 skipped}"
  [ $failed = 0 ]
}
