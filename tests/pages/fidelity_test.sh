#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/fidelity.md is what `ptosim validate` makes of the measurements in the folder PTO_HW_DATA.  Not in sanitizer builds, where
# it takes a minute: tests/cli/validate_test.c runs the verb in them.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread*) echo 'the page is the same'; exit 77 ;; esac
. tests/support/holds.sh

[ -r "${PTO_HW_DATA:-}/rows.csv" ] || { echo "PTO_HW_DATA names no folder with rows.csv: docs/fidelity.md is not made again"; exit 77; }

makes_the_page() {
  "$build/ptosim" validate "$PTO_HW_DATA/rows.csv" -o "$work/page.md"
  [ $? -le 1 ] || return 1
  diff docs/fidelity.md "$work/page.md" && return
  echo "to make it again: $build/ptosim validate \$PTO_HW_DATA/rows.csv -o docs/fidelity.md"
  return 1
}
holds "docs/fidelity.md is the page of today" makes_the_page
holds_total
