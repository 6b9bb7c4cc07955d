#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The table of docs/finding-bugs.md has each kind of finding once, and a note where `ptosim check --help` has one.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh

# "near note", "cores"
"$build/ptosim" check --help | sed -n '/^Findings/,/^Exit/s/^  \(.\{16\}\) \(note\)\{0,1\}.*/\1 \2/p' | sed -E 's/ +/ /g; s/ $//' | sort >"$work/kinds"
sed -n '/^| finding | means/,/^$/p' docs/finding-bugs.md | sed '1,2d; /^$/d' |
  awk -F' [|] ' '{ sub(/^[|] /, "", $1); sub(/ [|]$/, "", $5); print $1 ($5 == 0 ? " note" : "") }' | sort >"$work/rows"
holds 'the verb lists kinds' test "$(wc -l <"$work/kinds")" -gt 30
holds 'the table has them all, and notes as notes' diff "$work/kinds" "$work/rows"

holds_total
