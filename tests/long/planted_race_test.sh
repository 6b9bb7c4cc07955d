#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A dependency that is missing is reported by helgrind and by drd, with the line of a kernel that it is about, and the same tasks
# with it are not.  In the build that tells these tools of atomics, which is made here; it takes the place of `make test`'s.
set -u
cd "$(dirname "$0")/../.." || exit 1
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh
unset MAKEFLAGS MFLAGS MAKELEVEL

source=tests/planted/planted_race.c
judge() { scripts/profile "$1" build-annotate "$work/race.so" --quiet --set race="$2"; }
# The first report is of a planted line.
reports() { # TOOL
  local line frame
  judge "$1" true >"$work/report" 2>&1
  [ $? = 99 ] || return 1
  frame=$(grep -m1 -E '^==[0-9]+==    at 0x.*planted_race' "$work/report")
  line=${frame##*planted_race.c:}
  sed -n "${line%)}p" $source | grep 'planted: race'
}

holds 'the build with annotations' make -s -j"$(nproc)" WERROR=1 ANNOTATE=1 all
holds 'the planted program compiles' "${CC:-cc}" -std=c17 -O0 -g -fPIC -shared -Wall -Wextra -Wno-unused-parameter -Iinclude \
  -o "${work:?}/race.so" $source
for tool in helgrind drd; do
  holds "$tool reports the missing dependency" reports $tool
  holds "$tool reports nothing where it is there" judge $tool false
done

holds_total
