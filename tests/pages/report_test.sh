#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Report pages (docs/report.md) as a browser shows them: bars as long as their times, controls that do what they say, in
# virtual time and on threads, of a program and of a graph.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread* | *coverage*) echo 'a browser sees the same page of every build'; exit 77 ;; esac
. tests/support/holds.sh
if ! "$build/ptosim" run vector_example --report "$work/probe.html" --quiet >"$work/probe" 2>&1; then
  grep -q 'this build has no pages' "$work/probe" && { cat "$work/probe"; exit 77; }
fi

# Debian's python: the first of the path may be another, without packages.
look() {
  /usr/bin/python3 tests/support/browser.py "$work/$1.html" >"$work/look" 2>&1
  local status=$?
  cat "$work/look"
  [ $status != 77 ] || { no_browser=yes; return 0; }
  return $status
}
no_browser=''

holds 'a report of bgemm in virtual time is written' \
  "$build/ptosim" run bgemm --engine virtual --chip a2a3 --report "$work/bgemm.html" --quiet
holds 'it shows what the run was' look bgemm
[ -z "$no_browser" ] || { cat "$work/look"; exit 77; }
holds 'a report of a run on threads is written' "$build/ptosim" run moe --report "$work/moe.html" --quiet
holds 'it shows what the run was' look moe
holds 'labels of tasks are in the page' bash -c \
  "'$build/ptosim' run '$build/planted/planted_names.so' --set mistake=none --report - --quiet | grep -q '\"labels\":.*row 0'"
holds_total
