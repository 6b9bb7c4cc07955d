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
holds 'a report of a graph is written' "$build/ptosim" run --model mobilenet_v2 --engine virtual --chip a2a3 --report "$work/graph.html" --quiet
holds 'it shows what the run was' look graph
holds 'a report of several ranks is written' "$build/ptosim" run all_reduce --ranks 3 --chip a2a3 --comm-stats --report "$work/ranks.html" --quiet
holds 'it shows each rank, and what went between them' look ranks
holds 'check of several ranks writes a page with what is wrong' bash -c \
  "'$build/ptosim' check '$build/planted/planted_windows.so' --case barrier_twice --set bug=1 --chip a2a3 --report '$work/found.html' --quiet; test \$? = 1"
holds 'it shows the findings, and each rank' look found
holds 'check of one chip writes a page' bash -c \
  "'$build/ptosim' check inplace_update --deps pto --report '$work/check.html' --quiet; test \$? = 1"
holds 'it shows the run that was judged' look check
holds 'explore of several ranks writes a page' bash -c \
  "'$build/ptosim' explore '$build/planted/planted_windows.so' --case barrier_twice --set bug=1 --schedules 8 --report '$work/late.html' --quiet; test \$? = 1"
holds 'it shows in which runs a rank is late' look late
holds 'explore writes a page of what differs' bash -c \
  "'$build/ptosim' explore inplace_update --deps pto --report '$work/explore.html' --quiet; test \$? = 1"
holds 'it shows the schedules' look explore
holds 'explore writes a page where nothing differs' \
  "$build/ptosim" explore paged_attention --all --report "$work/all.html" --quiet
holds 'it says so' look all

list=$work/cases.list
printf '%s --engine virtual --chip a2a3\n' bgemm paged_attention vector_example moe >"$list"
holds 'a baseline is written' "$build/ptosim" regress "$list" --update --quiet
set_time() { sed -i -E "/\"$1 /s/(\"virtual_ps\": )[0-9]+/\1$2/" "$list.baseline"; }
set_time bgemm 78000000
set_time vector_example 47078000
set_time moe 100000000
holds 'regress writes a page of what changed' bash -c \
  "'$build/ptosim' regress '$list' --report '$work/regress.html' --quiet; test \$? = 1"
holds 'it shows the cases' look regress

differ() { # NAME A B: a page of what changed
  "$build/ptosim" compare "$2" "$3" --report "$work/$1.html" --quiet
  test $? = 1
}
on='--engine virtual --chip a2a3'
holds 'compare writes a page of two programs' differ compare "bgemm $on" "bgemm $on --clusters 2"
holds 'it shows both runs, and what changed' look compare
for side in a b; do
  "$build/ptosim" run moe $on $([ $side = b ] && echo --window 8) --report "$work/moe-$side.html" --json "$work/moe-$side.json" --stats --quiet
done
holds 'and of two pages' differ pages "$work/moe-a.html" "$work/moe-b.html"
holds 'it shows both runs, and what changed' look pages
holds 'and of two results' differ results "$work/moe-a.json" "$work/moe-b.json"
holds 'it says that they have no timeline' look results
"$build/ptosim" compare vector_example vector_example --repeats 3 --report "$work/threads.html" --quiet
holds 'it shows both of the first runs on threads' look threads

holds 'what-if writes a page' "$build/ptosim" what-if bgemm --report "$work/what_if.html" --quiet
holds 'it shows what changes the time' look what_if

holds 'a report of a program with labels is written' "$build/ptosim" run "$build/planted/planted_names.so" --set mistake=none \
  --engine virtual --chip a2a3 --report "$work/names.html" --quiet
holds 'its labels are in the page' grep -q '"labels":.*row 0' "$work/names.html"
holds 'it shows what the run was' look names
holds_total
