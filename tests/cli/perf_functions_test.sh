#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The functions by which `ptosim perf` tells kinds of control work apart are there: a renamed one would silently count as
# something else.
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0
while read -r pattern; do
  case $pattern in
    *clock_gettime) continue ;; # the C library's and the kernel's
    *'*') word="${pattern%\*}[a-z]" ;;
    *) word="$pattern\\b" ;;
  esac
  if grep -rqE "\\b$word" --include='*.c' --include='*.h' runtime sim; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "cli/measure/perf_join.c: nothing in runtime/ or sim/ is called $pattern"
  fi
done < <(sed -n '/^} functions\[\]/,/^};/s/[^"]*"\([^"]*\)".*/\1/p' cli/measure/perf_join.c | tr -s ' ' '\n')
[ $((passed + failed)) -ge 20 ] || {
  failed=$((failed + 1))
  echo "cli/measure/perf_join.c: the table of functions was not found"
}
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
