#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ptosim why of tasks of several ranks: the way over notifies and waits is told where there is one, and what both touch of a window is
# ordered in clean twins and not in planted programs; what check tells to ask next says so; what there is not is refused.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
. tests/support/holds.sh
windows=$build/planted/planted_windows.so

# why STATUS TEXT WORD…: the exit status, and an extended regular expression of what it says, in one line.
why() {
  local wanted=$1 text=$2 status
  shift 2
  "$ptosim" why "$@" >"$work/out" 2>&1
  status=$?
  [ $status = "$wanted" ] && tr '\n' ' ' <"$work/out" | grep -Eq -- "$text"
}
message='rank 3 task 0 \(talk "exchange"\) → rank 0 task 0 \(talk "exchange"\)     notifies signal 0 of rank 0 in comm 0 \(add 1\), that waits until it is >= 1'
touched='rank 3 task 0 puts bytes 0:64 of the window of rank 0 in comm 0; rank 0 task 1 reads bytes 0:64'
for bug in 0 1; do
  holds "the way over a notify, bug $bug" why 0 "a part of rank 3 task 0 comes before a part of rank 0 task 1:   $message" \
    "$windows" --case notify_before_data --set bug=$bug 3.0 0.1
done
holds 'the put that comes behind its notify' why 0 "$touched: nothing orders these" "$windows" --case notify_before_data --set bug=1 3.0 0.1
holds 'the put before it' why 0 "$touched: ordered" "$windows" --case notify_before_data --set bug=0 3.0 0.1
holds 'the words in the other order' why 0 "rank 0 task 1 reads bytes 0:64 of the window of rank 0 in comm 0; rank 3 task 0 puts bytes 0:64: ordered" \
  "$windows" --case notify_before_data --set bug=0 0.1 3.0
holds 'whole tasks, over a barrier' why 0 'rank 1 task 0 comes before rank 0 task 2:   .*rank 0 task 1 \(talk "barrier"\) → rank 0 task 2 .* explicit' \
  "$windows" --case late_zeroing --set bug=0 1.0 0.2
holds 'no way' why 0 'no notify and wait orders the two   rank 1 task 0 writes bytes 0:1024 .*: nothing orders these' "$windows" --case late_zeroing --set bug=1 1.0 0.1
holds 'two tasks of one rank' why 0 '^rank 2: task 0 .* under either rules: an edge' "$windows" --case late_zeroing --set bug=0 2.0 2.1
holds 'of a ring, the other way round it is longer' why 0 'a part of rank 1 task 0 comes before a part of rank 0 task 0:.* rank 3 task 0 .* → rank 0 task 0' \
  all_reduce --ranks 4 --set algorithm=ring 0.0 1.0
holds 'of a program for one chip that ranks run' why 0 'no notify and wait orders the two' bgemm --ranks 2 0.0 1.0
holds 'a run that hangs: told, and status 3' why 3 'a part of rank 3 task 1 comes before a part of rank 7 task 1' \
  "$build/planted/planted_moe_hang.so" --chip a2a3 --set mistake=lost 7.1 3.1

# What check tells to ask next is about the same two tasks, and not ordered.
asks() {
  "$ptosim" check "$windows" --case "$1" --set bug=1 >"$work/check"
  sed -n 's/^  again: ptosim //p' "$work/check" >"$work/again"
  [ -s "$work/again" ] || return 1
  while read -r words; do
    eval "$ptosim $words" >"$work/out" && grep -q 'nothing orders these$' "$work/out" || return 1
  done <"$work/again"
}
for case in notify_before_data wrong_epoch window_reused late_zeroing get_unwritten; do holds "the next question: $case" asks $case; done

holds 'a rank that there is not' why 2 '^ptosim: why: there is no rank 9: they are 0 to 3 $' all_reduce 9.0 0.0
holds 'a task that there is not' why 2 '^ptosim: why: rank 1 has no task 5: it submitted 1 $' all_reduce 0.0 1.5
holds 'a rank of one chip' why 2 '^ptosim: why: there is one rank, 0, without --ranks, and no rank 1 $' bgemm 0 1.1
holds 'one task' why 2 '^ptosim: why: both are task 0 $' all_reduce 1.0 1.0
for word in x 1.x x.1 1. .1 1.2.3 -1.0; do holds "no task: $word" why 2 'no task number|no.* option' all_reduce 0.0 "$word"; done
holds 'a timeline' why 2 '^ptosim: why: with several ranks, a file of a run' all_reduce 0.0 1.0 --trace "$work/t.json"
holds_total
