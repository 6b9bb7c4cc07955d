#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Each call of the adopted API is in an orchestration of tests/compat, and docs/adopted-calls.md has the table of them.
set -u
cd "$(dirname "$0")/../.."
passed=0 failed=0
check() { # WHAT; judges the command before it
  if [ $? = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $1"; fi
}
table=$(scripts/adopted_calls)
check "each call has an orchestration"
[ "$(sed '1,/^<!-- scripts\/adopted_calls -->$/d' docs/adopted-calls.md | sed '1d')" = "$table" ]
check "the page's table is what scripts/adopted_calls prints"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
