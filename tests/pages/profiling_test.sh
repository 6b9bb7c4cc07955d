#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The verdict that docs/profiling.md shows is what its command prints: sentences whole, of the table the numbers that it has.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh

command=$(grep -m1 '^build/ptosim run bgemm .*--stats' docs/profiling.md)
awk '/^  bound / { on = 1 } /^```/ { on = 0 } on' docs/profiling.md >"$work/shown"
# shellcheck disable=SC2086 # its words
"$build/ptosim" ${command#build/ptosim } >"$work/told"

sentences_are_told() {
  sed '/of which %:$/q' "$work/shown" >"$work/sentences"
  [ "$(wc -l <"$work/sentences")" -ge 9 ] && ! grep -vxFf "$work/told" "$work/sentences"
}
numbers_are_told() { # in this order, in the row of that name
  sed '1,/of which %:$/d' "$work/shown" | grep '[0-9]$' | sed -E 's/\./\\./g; s/ +/ +(.* )?/g; s/^/^/' >"$work/rows"
  [ "$(wc -l <"$work/rows")" -ge 4 ] && while read -r row; do grep -qE "$row( |\$)" "$work/told" || { echo "$row"; return 1; }; done <"$work/rows"
}
holds 'what bounds the run, and what would help' sentences_are_told
holds 'where the time went' numbers_are_told
holds_total
