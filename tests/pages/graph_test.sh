#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/tables/operations.txt is the table that the build gives: every operation of the list, with its operands and the
# kernels that it becomes.  Its worst ULP are measured elsewhere, and are only there.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
. tests/support/holds.sh

printed_is_kept() {
  scripts/update_graph_ops --print "$build" >"$work/printed" &&
    grep -v '^#' docs/tables/operations.txt >"$work/kept" &&
    { diff "$work/kept" "$work/printed" || { echo 'scripts/update_graph_ops writes it'; return 1; }; }
}
every_operation() { [ "$(grep -c '^| `' "$work/printed")" = "$("$build/ptosim" list ops | wc -l)" ]; }
each_becomes_something() { ! awk -F ' *[|] *' '$2 ~ /^`/ && $5 == "" { print; found = 1 } END { exit !found }' "$work/printed"; }

holds 'docs/tables/operations.txt is what scripts/update_graph_ops makes' printed_is_kept
holds 'it has every operation' every_operation
holds 'every operation becomes tasks' each_becomes_something
holds_total
