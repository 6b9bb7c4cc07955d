#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/stopped-runs.md is true: what it shows below each command is what the command prints.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh

# Files N.command and N.shown, one a command of the page.
awk -v work="$work" '
  match($0, /`build\/ptosim [^`]*`/) { n++; print substr($0, RSTART + 1, RLENGTH - 2) > (work "/" n ".command"); shown = work "/" n ".shown" }
  /^    / && n { print substr($0, 5) > shown }
' docs/stopped-runs.md
# ThreadSanitizer does not allow the runs that find which rings are enough.
nm "$build/ptosim" | grep -q '__tsan_' && sed -i 's/; enough for the whole run, .*//' "$work"/*.shown

prints_what_is_shown() {
  local words
  read -ra words <"$work/$1.command"
  "$build/ptosim" "${words[@]:1}" >"$work/$1.out" 2>&1
  while IFS= read -r line; do
    grep -qxF -- "$line" "$work/$1.out" || { echo "not printed: $line"; cat "$work/$1.out"; return 1; }
  done <"$work/$1.shown"
}

holds 'there are commands with output' test -s "$work/3.shown"
for command in "$work"/*.command; do
  holds "what is shown of: $(cat "$command")" prints_what_is_shown "$(basename "$command" .command)"
done
holds_total
