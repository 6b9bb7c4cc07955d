#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# ptosim check on programs with one mistake between ranks, and on their clean twins: each mistake is found, with what it is and who makes it,
# with and without kernels, or by --observe; no twin is accused by run, by check or by --observe.  Prints one line.  A word as argument takes
# the mistakes that contain it.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
ptosim=$build/ptosim
[ -x "$ptosim" ] || { echo "there is no $ptosim"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ways=("" --no-compute)
programs=0 mistakes=0 found=0 accused=0

# finds SENTENCE OPTION…: check ends with exit status 1, or 3 where the run fails, and says so, also where kernels are only priced.
finds() {
  local sentence=$1 how
  shift
  for how in "${ways[@]}"; do
    "$ptosim" check "$@" $how --json "$work/json" >"$work/text" 2>&1
    case $? in 1 | 3) ;; *) return 1 ;; esac
    tr '\n' ' ' <"$work/text" | grep -Eq -- "$sentence" && is_complete || return 1
  done
}

# What was found has a remedy and a command.
is_complete() { ! grep -Eq '"(remedy|decided)":null|"command":null,"more"' "$work/json"; }

is_clean() {
  local how
  for how in "${ways[@]}"; do "$ptosim" check "$@" $how >"$work/text" 2>&1 || return 1; done
  "$ptosim" run "$@" >"$work/text" 2>&1 && "$ptosim" check "$@" --deps pto >"$work/text" 2>&1 && "$ptosim" check "$@" --observe >"$work/text" 2>&1
}

# notes SENTENCE OPTION…: the same of a note, which makes no verdict.
notes() {
  local sentence=$1
  shift
  "$ptosim" check "$@" --json "$work/json" >"$work/text" 2>&1 && tr '\n' ' ' <"$work/text" | grep -Eq -- "$sentence" && is_complete
}

# observes SENTENCE OPTION…: the same of --observe; where a sanitizer does the looking, what it says is its own.
observes() {
  local sentence=$1 code
  shift
  "$ptosim" check "$@" --observe --json "$work/json" >"$work/text" 2>&1
  code=$?
  grep -Eq 'not compared|Sanitizer' "$work/text" && return
  [ $code = 1 ] && tr '\n' ' ' <"$work/text" | grep -Eq -- "$sentence" && is_complete
}

# pair HOW NAME SENTENCE BUGGY CLEAN OPTION…: the sentence is an extended regular expression of what check has to say.
pair() {
  local how=$1 name=$2 sentence=$3 buggy=$4 clean=$5
  shift 5
  case $name in *"$only"*) ;; *) return ;; esac
  programs=$((programs + 1)) mistakes=$((mistakes + 1))
  if $how "$sentence" "$@" --set "$buggy"; then found=$((found + 1)); else echo "$name is not found:"; cut -c1-600 "$work/text"; fi
  if [ "$clean" ]; then programs=$((programs + 1)); fi
  if [ "$clean" ] && ! is_clean "$@" --set "$clean"; then
    accused=$((accused + 1))
    echo "$name: its clean twin is accused:"
    cut -c1-600 "$work/text"
  fi
}
window() { pair finds "$1" "$2" bug=1 bug=0 "$build/planted/planted_windows.so" --case "$1"; }
exchange() { pair finds "$1" "$2" bug=1 bug=0 "$build/planted/planted_exchange.so" --case "$1"; }
touches() { pair observes "$1" "$2" bug=1 bug=0 "$build/planted/planted_touches.so" --case "$1"; }
# Of a program whose host reads: without kernels there is nothing to read.
window_that_reads() {
  local ways=("")
  window "$@"
}
hang() { pair finds "$1" "$2" "mistake=$1" "${3-}" "$build/planted/planted_moe_hang.so" --chip a2a3; }

only=${1-}
# Where lines are not read, as with PLAIN=1, a place is a file and an offset.
line='(planted_(windows\.c|talk\.h):[0-9]+( \(planted_talk\.h:[0-9]+\))?|[^ ]+\+0x[0-9a-f]+( \([^ ]+\))?)'
owes='has returned without notifying it, and has put into the window; add `pto_core_notify\(args, comm, 0, 0, PTO_NOTIFY_ADD, 1\)` to task 0 of rank 3, behind its put'
window notify_missing "^waits: rank 0 task 0 \(talk \"exchange\"\) .* signal 0 >= 1 .*: task 0 of rank 3, of the same group, submitted at $line, $owes"
window notify_before_data "RAW: rank 3 task 0 \(talk \"exchange\"\) puts bytes 0:64 of the window of rank 0 in comm 0; rank 0 task 1 \(digest\) param 0 reads .*$line.*; rank 3 task 0 notifies signal 0 of rank 0 before it puts; let rank 3 notify signal 0 of rank 0 behind its put"
window wrong_epoch 'RAW: rank 0 task 2 \(talk "exchange"\) puts bytes 128:192 of the window of rank 1 in comm 0; rank 1 task 3 \(digest\) param 0 reads .*the wait of rank 1 task 2 for signal 0 >= 1 is over at once: an earlier wait has seen that value already.*left over'
of_none='the wait of rank 0 task 0 for signal 0 >= 0 needs no notify: it is over before anybody notifies; let rank 0 wait for the value that'
window wait_for_none "RAW: rank 3 task 0 \(talk \"exchange\"\) puts bytes 0:64 of the window of rank 0 in comm 0; rank 0 task 1 .*; $of_none"
window set_by_two "RAW: rank ([0-3]) task 0 .*; rank \1 task 0 sets signal 0 of rank [0-3], .*: a set does not count; let rank \1 notify with PTO_NOTIFY_ADD"
window other_peer 'RAW: rank ([0-3]) task 0 .*; rank \1 task 0 notifies signal 0 of rank ([0-3]), and none of rank ([0-3]); let rank \1 notify rank \3 instead'
window polls_for_less 'RAW: rank 3 task 0 \(talk "give"\) puts bytes 192:256 of the window of rank 0 in comm 0; rank 0 task 3 \(digest\) param 0 reads.*; rank 3 task 0 notifies signal 0 of rank 0, and the wait for it is over with what others notify; let rank 0 wait for it too, or others add less: `pto_core_wait_signal\(args, comm, 0, PTO_IF_GE, value\)`'
window tests_for_more 'RAW: rank 1 task 0 \(talk "give"\) puts bytes 64:128 of the window of rank 0 in comm 0; rank 0 task 1 \(digest\) param 0 reads .*and 2 more'
window polls_again 'RAW: rank 0 task 2 \(talk "exchange"\) puts .*the wait of rank 1 task 2 for signal 0 >= 1 is over at once: an earlier wait has seen that value already.*left over'
window other_signal 'rank 3 task 0 notifies signal 1 of rank 0, and no wait of that rank was for it; let rank 3 notify a signal that rank 0 waits for'
window reads_beside 'rank ([0-3]) waits for that in task 0 \(talk "exchange"\), and nothing orders its task 1 behind it; of rank \1, add `after` task 0 to task 1: `.after = &task_0, .after_count = 1`'
window set_for_add 'waits: rank 0 task 0 \(talk "gather"\) .* signal 0 >= 3 of comm 0, which is 1.* has returned, and notified it 1 time in all; so have 2 other ranks; let the ranks notify with PTO_NOTIFY_ADD'
pair notes one_signal_for_two 'left over: rank [0-3] task 0 .*: its wait in task 0 for >= 1 is over at once: an earlier wait has seen that value already; let rank [0-3] wait for the value that the signal has behind this' bug=1 bug=0 "$build/planted/planted_windows.so" --case one_signal_for_two
window counts_itself 'waits: rank 0 task 0 .* signal 0 >= 4 of comm 0, which is 3.*; let signal 0 of rank 0 be notified as often as the wait is for, or wait for less'
window counts_all 'waits: rank 0 task 0 .* signal 0 >= 3 .*; so has 1 other rank; add `pto_core_notify\(args, comm, 0, 0, PTO_NOTIFY_ADD, 1\)` to that of these .*, or wait for less'
window same_place 'WAW: rank [23] task 0 \(talk "give"\) puts bytes 128:192 of the window of rank 0 in comm 0; rank [23] task 0 \(talk "give"\) puts bytes 128:192 of it; .*; let each put have bytes of its own; or, if one is to replace the other, let rank [23] wait before that for a signal that rank [23] notifies behind its own: `pto_core_notify\(args, comm, [23], [0-9]+, PTO_NOTIFY_ADD, 1\)`'
# In one direction alone: the sender is to wait.
give='puts bytes 0:64 of it; submitted at [^;]*'
of_zero='window reused before rank 1 is done with what rank 0 put there in task 0; let rank 0 wait before that for a signal that rank 1 notifies'
too_early="WAR: rank 1 task 1 \(digest\) param 0 reads bytes 0:64 of the window of rank 1 in comm 0; rank 0 task 1 \(talk \"give\"\) $give"
window window_reused "$too_early; $of_zero"
window reused_later "$too_early; $of_zero.*and 2 more"
window reused_at_once "$too_early; the wait of rank 0 task 1 for signal 1 >= 0 needs no notify.*; let rank 0 wait for the value that the signal has behind .* of rank 1"
window late_zeroing 'WAW: rank 1 task 0 \(fill\) param 0 writes bytes 0:1024 of the window of rank 1 in comm 0; rank 0 task 1 \(talk "exchange"\) puts'
window get_unwritten 'RAW: rank 0 task 0 \(fill\) param 0 writes bytes 0:64 of the window of rank 0 in comm 0; rank 1 task 0 \(talk "fetch"\) gets'
window participation 'participation: collective 0 of comm 0 is rank 0 task 0 \(all_reduce_one_phase\), but on rank 3 it is task 0 \(all_reduce_two_phase\); submitted at .*; submit the collectives of a communicator in one order'
same='participation: collective [01] of comm 0 is rank 0 task [0-9] \([a-z_]+\), but on rank 3 it is task [0-9] \([a-z_]+\)'
places="; submitted at $line.* and $line"
window reduction "$same, a sum, not a maximum$places"
window root "$same, from place 1, not 0$places"
window dtype "$same, of i32, not u32$places"
window count "$same, of 8 elements, not 16$places"
window capacity "$same, param 1 of 16 elements, not 32$places"
window false_edge "waits: rank 0 task 0 .* of comm 1, .*: task 1 of rank 1, of the same group, submitted at $line, has not begun, as 1 before it is not done; let rank 1's task of this group come after none that waits for rank 0"
window ring_off_by_one 'waits: rank 0 task 0 \(talk "ring"\) .*; let task 0 of rank 3 notify rank 0, not rank 1.*left over: rank 3 task 0 \(talk "ring"\).* notifies signal 0 of rank 1'
window group_split "waits: rank 0 .*; the next group of rank 3, task 1, submitted at $line, begins only after its own of this one; let rank 3 notify in its task of this group, before that waits"
window wait_without_group 'failed: rank 0: .*pto_core_wait_signal: signal 0 of comm 0: the task is of no group of it'
window barrier_twice 'WAR: rank 1 task 3 \(digest\) param 0 reads bytes 192:256 of the window of rank 1 in comm 0; rank 3 task 40 \(talk "barrier"\) puts.*; rank 3 task 40 notifies signal 0 of rank 1, and the wait for it is over with what others notify; let rank 1 wait for it too, or others add less'
window_that_reads count_by_data "participation: collective 2 of comm 0 is rank 0 task 6 \(all_reduce_one_phase\), but on rank 3 there is none behind the host's read at [^,]*, which may decide how many there are; submitted at [^;]*; let all ranks decide by a value that they have alike.*\[this order\]"
window_that_reads read_waits "^waits: rank 0 task 0 .*, $owes.*; mend first what keeps rank 0 waiting"
window not_created '^waits: rank 0 waits in pto_comm_create .* first rank 3 .*; let rank 3 come to `pto_comm_create`, too'
window barrier_within 'waits: rank 0 task 0 \(meet_blocks\) block 1 AIV0 on core 2 waits at barrier 1 with 1 of 2, [^;]*; mend first what other cores of that task wait for'
window other_order '^waits: rank 0 waits in pto_comm_create .*: it has come to one of ranks 3, 2, 1, 0, not 0, 1, 2, 3; let all ranks give `pto_comm_create` the same ranks in the same order'
window_that_reads skipped "^waits: rank 0 task 1 .*: task 1 of rank 3, .* was skipped, .*; let predicates skip the tasks of a group on all of its ranks, or on none"
window passed '^waits: rank 0 task 40 .* signal 0 = 2 of comm 0, which is 3.*; wait with PTO_IF_GE, or notify it no further than that'
window get_beyond "write outside: rank 1 task 0 \(talk \"fetch\"\), submitted at $line.*, writes bytes 64:128 of the window of rank 1 in comm 0, which it does not declare; declare them"
window put_beyond "write outside: rank 0 task 0 \(talk \"give\"\), submitted at $line.*, puts bytes 64:128 of the window of rank 1 in comm 0, which it does not declare; declare them"
window source_beyond "read outside: rank 0 task 0 \(talk \"exchange\"\), submitted at $line.*, reads bytes 32:64 of buffer [0-9]+ \(x\) for a put, which it does not declare; declare them as an INPUT"
window target_beyond "write outside: rank 0 task 1 \(fetch \"bring\"\), submitted at $line.*, writes bytes 32:64 of buffer [0-9]+ by a get, which it does not declare; declare them as an OUTPUT"
# Signals that are set, and added to.
lost='; no notify and wait orders the two: what is added before the set is lost; let the signal count on, .*; or let rank 3 notify it behind a wait for a signal that rank 0 notifies behind the set'
exchange set_back "WAW: rank 0 task 0 \(talk \"exchange\"\) sets signal 0 of rank 0 in comm 0 to 0; rank 3 task 2 \(talk \"exchange\"\) adds 1 to it.*$lost"
exchange set_behind "WAW: rank 0 task 0 \(talk \"exchange\"\) sets signal 0 of rank 0 in comm 0 to 0; rank 3 task 2 \(talk \"exchange\"\) adds 1 to it.*$lost"
exchange tell_beside 'RAW: rank 3 task 0 \(tell\) puts .*; rank 3 tells of that in task 1 \(tell "flag"\), and nothing orders that behind its task 0; of rank 3, add `after` task 0 to task 1: `.after = &task_0, .after_count = 1`'
exchange told_before 'RAW: rank 1 task 1 \(fill\) param 0 writes .*; rank 1 tells of that in task 0 \(tell "ready"\), which it submits before its task 1; let rank 1 submit its task 0 behind task 1, and that be in its `after` \(and 11 more like it\) \[this order\]   again: [^;]* check: '
exchange early_relay 'RAW: rank 0 task 0 \(talk "give"\) puts bytes 0:64 of the window of rank 2 in comm 0; .*; rank 0 task 0 notifies signal 0 of rank 1 before it puts; let rank 0 notify signal 0 of rank 1 behind its put'
exchange counted_self 'RAW: rank ([0-3]) task 0 \(talk "all"\) puts bytes 0:64 .*; rank \1 task 0 notifies signal 0 of rank [0-3], and the wait for it is over with what others notify'
exchange few_by_weight 'RAW: rank 1 task 0 \(talk "give"\) puts bytes 64:128 of the window of rank 0 in comm 0; .*; rank 1 task 0 notifies signal 0 of rank 0, and the wait for it is over with what others notify; let rank 0 wait for it too, or others add less'
exchange one_answer_more 'waits: rank 0 task 3 .* signal 1 >= 4 of comm 0, which is 3, .*: task 9 of rank 1, of the same group, .* has returned, and notified it 3 times in all; let signal 1 of rank 0 be notified as often as the wait is for, or wait for less'
window_that_reads() {
  local ways=("")
  exchange "$@"
}
window_that_reads host_beside 'WAR: rank 1 host reads bytes 12:16 .*; rank 0 task 0 .*; rank 1 waits for that in task 0 \(talk "exchange"\), and its host does not wait for that; let task 0 of rank 1 declare these bytes too, as `pto_inout`'
for name in peer_by_rank window_before; do
  pair notes $name 'left over: rank [0-3] task [02] .* puts bytes 64:128 of the window of rank [01] in comm [01], and nothing reads them there; rank [01] task [13] \(digest\) param 0 reads bytes .* in comm 0, and nothing has written them; submitted at .*; let what is put and what is read be the same bytes of one window' bug=1 bug=0 "$build/planted/planted_exchange.so" --case $name
done
# What kernels touch of windows and of other ranks' memory, and their tasks do not declare.
of_window='of the window of rank [0-3] in comm 0'
touches peer_slot "read outside: rank [0-3] task 1 \(digest_more\) reads bytes \[128, 192\) $of_window, which it does not declare: right behind param 0 x .*and 3 more"
touches whole_window "read outside: rank [0-3] task 1 \(digest_more\) reads bytes \[128, 1024\) $of_window.*and 3 more"
touches beyond_part "write outside: rank ([0-3]) task 0 \(fill_count\) writes bytes .* of the window of rank \1 in comm 0, .*: right behind param 0 z .*and 3 more"
touches through_input "write input: rank [0-3] task 1 \(sum\) writes bytes .* $of_window, through param 0 x \(input\).*; declare param 0 INOUT"
touches left_part "not written: rank [0-3] task 0 \(fill_count\) does not write bytes \[128, 192\) $of_window, which param 0 z \(output\) declares.*and 3 more"
touches left_for_reader "read unwritten: rank [0-3] task 1 \(digest\) reads bytes \[64, 128\) $of_window, which task 0 declares to write and leaves"
touches old_sum "read output: rank [0-3] task 1 \(add\) reads bytes \[512, 576\) $of_window, as they were before"
touches other_rank 'read outside: rank 1 task 1 \(follow\) reads bytes \[64, 68\) of array x \(buffer [0-9]+\) of rank 0 \(element \[1,0\] of u32\[16,16\]\), which it does not declare'
touches beyond_array 'beyond array: rank [0-3]: task 0 \(follow\) param 0 .* has 64 bytes behind the end of array x, which has 1024;.*and 3 more'
# Sixteen ranks that stall in the first exchange: what rank 7 did.
# The orchestration's own line, and that of its helper.
line='(planted_moe_hang\.c:1[01][0-9] \(planted_moe_hang\.c:[0-9]+\)|[^ ]+\+0x[0-9a-f]+( \([^ ]+\))?)'
waits='16 of 16 ranks wait for ever; rank 0 task 1 \(dispatch_meta "moe.dispatch_meta"\)'
hang not_submitted "let rank 7 wait for it before that: .pto_core_wait_signal\(args, comm, 0, PTO_IF_GE, value\).*$waits[^;]*: rank 7 has not submitted its task of group 0 \(its orchestration has returned after 5 tasks; it has submitted task 4 last, at $line\)" mistake=none
hang not_dispatched "$waits[^;]*: task 2 of rank 7, of the same group, submitted at $line, has not begun, as 1 before it is not done"
hang blocked "$waits[^;]*, which none notified of rank 7: task 1 of rank 7, of the same group, submitted at $line, has begun, and waits itself.*; rank 7 .* signal 2"
hang lost "16 of 16 ranks wait for ever; rank 3 task 1 [^;]*: task 1 of rank 7, of the same group, submitted at $line, has returned without notifying it"

for mistake in not_dispatched blocked lost; do
  case $mistake in *"$only"*) ;; *) continue ;; esac
  "$ptosim" run "$build/planted/planted_moe_hang.so" --chip a2a3 --set mistake=$mistake >"$work/text" 2>&1
  grep -Eq "^ptosim: rank 0: .* of rank 7, of the same group, submitted at $line, has" "$work/text" && continue
  echo "$mistake: run names another line:"
  tail -1 "$work/text"
  found=$((found - 1))
done

# draws NAME COUNTS LINE…: the picture of that mistake (of 16 ranks: in the exchange) has so many ranks and arrows, and these parts of
# lines, and Graphviz takes it.
draws() {
  local name=$1 counts=$2 line lacks=
  local program=("$build/planted/planted_windows.so" --case "$name" --set bug=1)
  [ "$counts" = '16 16' ] && program=("$build/planted/planted_moe_hang.so" --set "mistake=$name")
  case $name in *"$only"*) ;; *) return ;; esac
  shift 2
  "$ptosim" run "${program[@]}" --chip a2a3 --waits-dot "$work/dot" >"$work/text" 2>&1
  for line; do grep -Fq -- "$line" "$work/dot" <(sed 's/\\n/ /g' "$work/dot") || lacks+=" $line"; done
  [ "$(grep -c '^  rank[0-9]* \[' "$work/dot") $(grep -c -- '->' "$work/dot")" = "$counts" ] || lacks+=" $counts"
  if command -v dot >/dev/null; then dot -Tsvg -o "$work/svg" "$work/dot" || lacks+=' what dot takes'; fi
  [ "$lacks" ] || return
  echo "$name: the picture lacks$lacks:"
  cut -c1-200 "$work/dot"
  found=$((found - 1))
}
draws lost '16 16' '  rank3 -> rank7 [label="signal 0 >= 15, which is 14", penwidth=2];' '  rank0 -> rank3 [label="signal 1 >= 15, which is 14", penwidth=2];' \
  '  rank15 -> rank3 [label="signal 1 >= 15, which is 14"];' \
  '  rank3 [label="rank 3 task 1 (dispatch_meta \"moe.dispatch_meta\") block 0\nAIV0 on core 1 waits for signal 0 >= 15 of comm 0, which is\n14, in' \
  ', shape=box, penwidth=2];'
draws not_created '4 3' '  rank0 -> rank3 [label="pto_comm_create", penwidth=2];' '  rank3 [label="rank 3", shape=ellipse, penwidth=2];'
# Three cores wait, each for a signal that another rank has notified before; or two for one rank.
draws participation '4 3' '  rank3 -> rank0 [label="signal 0 >= 258, which is 257", penwidth=2];' '  rank3 -> rank1 [label="signal 1 >= 258, which is 257"];' \
  '  rank3 -> rank2 [label="signal 2 >= 258, which is 257"];'
draws root '2 1' 'and 1 wait more", shape=box];'
draws blocked '16 16' '  rank7 -> rank0 [label="signal 2 >= 1, which is 0", color=red, penwidth=2];' \
  '  rank0 -> rank7 [label="signal 0 >= 15, which is 14", color=red, penwidth=2];' '  rank1 -> rank7 [label="signal 0 >= 15, which is 14"];'

# says_nothing NAME WHAT: of the mistake something would be wrong to say.
says_nothing() {
  case $1 in *"$only"*) ;; *) return ;; esac
  "$ptosim" check "$build/planted/planted_windows.so" --case "$1" --set bug=1 >"$work/text" 2>&1
  grep -q "$2" "$work/text" || return
  echo "$1: says $2"
  found=$((found - 1))
}
# What blocks of a task tell each other, and what a kernel touches between its waits, check does not judge; explore has these late.
late_core() { # NAME BUG
  "$ptosim" explore "$build/planted/planted_exchange.so" --case "$1" --set bug="$2" --schedules 20 >"$work/text" 2>&1
}
# finds_late NAME SENTENCE
finds_late() {
  case $1 in *"$only"*) ;; *) return ;; esac
  programs=$((programs + 2)) mistakes=$((mistakes + 1))
  late_core "$1" 1
  grep -Eq "order: where on rank 0 $2.*\\(and 3 more like it\\)" "$work/text" && found=$((found + 1)) ||
    { echo "$1 is not found:"; cut -c1-600 "$work/text"; }
  late_core "$1" 0 && is_clean "$build/planted/planted_exchange.so" --case "$1" --set bug=0 ||
    { echo "$1: its clean twin is accused:"; accused=$((accused + 1)); cut -c1-600 "$work/text"; }
}
others='the outputs are others: .*'
behind="a signal that is waited for does not come behind that put; let it be notified behind that put, .*\`pto_core_barrier\\(args\\)\`"
for name in one_of_blocks block_for_both; do
  finds_late $name "each put of a core but the first of a task is .* late $others; $behind"
done
finds_late ring_again "what follows a wait is .* late $others; order what ranks touch with"
for name in window_reused reused_later reused_at_once; do says_nothing $name 'let rank 1 wait'; done
for name in root participation; do says_nothing $name 'add `pto_core_notify'; done # the kernels are not the program's
says_nothing read_waits 'participation:' # rank 0 has not come to it

# Which wait took which notify is of this run.
case notify_before_data in *"$only"*)
  "$ptosim" check "$build/planted/planted_windows.so" --case notify_before_data --set bug=1 --quiet --json "$work/json" >"$work/text" 2>&1
  grep -q '"kind":"RAW","note":false,"decided":"this order"' "$work/json" || { echo "notify_before_data: decided otherwise"; found=$((found - 1)); }
  ;;
esac

# ptosim explore lets ranks be late: outputs of these depend on that, those of their twins do not.
late() { "$ptosim" explore "$build/planted/planted_windows.so" --case "$1" --set bug="$2" --schedules 8 >"$work/text" 2>&1; }
for name in wrong_epoch late_zeroing barrier_twice; do
  case $name in *"$only"*) ;; *) continue ;; esac
  late $name 1 && { echo "$name does not differ where ranks are late"; found=$((found - 1)); }
  grep -q 'is .* late.*order what ranks touch with `pto_core_notify`' "$work/text" || { echo "$name: explore says something else"; found=$((found - 1)); }
done
for name in wrong_epoch late_zeroing barrier_twice window_reused reused_later; do
  case $name in *"$only"*) ;; *) continue ;; esac
  late $name 0 || { echo "$name: its clean twin differs where ranks are late"; accused=$((accused + 1)); cut -c1-600 "$work/text"; }
done

echo
echo "$programs programs: $found of $mistakes found, $accused clean accused"
[ $found = $mistakes ] && [ $accused = 0 ]
