#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Findings say the command that shows them again: `why` of their two tasks, check --observe of their own, or the command that was
# given.  Each is run here, and shows the same.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh
planted=$build/planted

# The command of a finding, as a shell takes it apart: it begins with ptosim.
again() {
  local words
  eval "words=($1)"
  "$build/ptosim" "${words[@]:1}"
}

# Each order between two tasks that is missing, the first twelve: `why` names both tasks, and that nothing orders them.
of_order() { # OPTION…
  "$build/ptosim" check "$@" >"$work/found"
  [ $? = 1 ] || return 1
  sed -n 's/^  again: //p' "$work/found" | head -12 >"$work/commands"
  [ -s "$work/commands" ] || return 1
  while read -r command; do
    read -r -a words <<<"$command"
    again "$command" >"$work/why" || return 1
    grep -q "task ${words[-2]} .*task ${words[-1]} " "$work/why" && grep -q 'neither edge nor path' "$work/why" || return 1
  done <"$work/commands"
}
holds 'why shows an order that pto does not keep' of_order war_reuse --deps pto
holds 'why shows an order that a manual scope needs' of_order "$planted/planted_manual.so" --case raw --set bug=true
ln -s "$(realpath "$build/programs/war_reuse.so")" "$work/it's  one.so"
holds 'and with words in quotes' of_order "$work/it's  one.so" --deps pto --set 'rounds=40'

# The finding of a kernel, from its tasks alone: the sentence is the same, word for word.
of_kernel() { # OPTION…
  "$build/ptosim" check --observe "$@" >"$work/found"
  [ $? = 1 ] || return 1
  grep -B 1 '^  again: ' "$work/found" >"$work/pairs"
  [ -s "$work/pairs" ] || return 1
  while read -r sentence && read -r _ command; do
    again "$command" >"$work/alone"
    [ $? = 1 ] && grep -qF -- "${sentence%% (and *}" "$work/alone" || return 1
    read -r _ || true # the line between two pairs
  done < <(grep -v '^--$' "$work/pairs" | sed 'n;G')
}
if "$build/ptosim" check --observe vector_example | grep -q 'observed'; then
  for kind in narrow_view row_too_many_read before_array dense_read input_written output_read recycled undeclared \
    sum_lost not_in_place by_address static_tile hidden_state; do
    holds "the task of $kind alone" of_kernel "$planted/planted_kernels.so" --case $kind --set bug=true
  done
  unnarrowed() { ! "$build/ptosim" check --observe "$planted/planted_kernels.so" --case tail_left --set bug=true | grep -q again:; }
  holds 'what tasks leave to others is seen in all of them' unnarrowed
fi

# In JSON and SARIF each finding has its command, its remedy, and how it was decided; text has the last of them in brackets.
in_files() {
  "$build/ptosim" check "$@" --json "$work/found.json" --sarif "$work/found.sarif" --quiet
  local of_json of_sarif key
  for key in 'command":"ptosim ' 'remedy":"' 'decided":"'; do
    of_json=$(sed 's/"coverage":.*//' "$work/found.json" | grep -o "\"$key[^\"]*\"" | sort)
    of_sarif=$(grep -o "\"$key[^\"]*\"" "$work/found.sarif" | sort)
    [ "$of_json" ] && [ "$of_json" = "$of_sarif" ] && [ "$(grep -c '"kind":' "$work/found.json")" = "$(grep -c . <<<"$of_json")" ] || return 1
  done
  "$build/ptosim" check "$@" | grep -q "\[$(sed -n 's/.*"decided":"\([^"]*\)".*/\1/p;' "$work/found.json" | head -1)\]$"
}
holds 'files have the commands of orders' in_files "$planted/planted_manual.so" --case raw --set bug=true
holds 'and of several ranks, which is the one given' in_files "$planted/planted_windows.so" --case barrier_twice --set bug=1
holds_total
