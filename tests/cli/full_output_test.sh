#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Where standard output cannot be written, ptosim says so and ends with exit status 3, whatever the verb found.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
[ -w /dev/full ] || { echo 'there is no /dev/full'; exit 77; }
. tests/support/holds.sh

is_told() {
  "$build/ptosim" "$@" >/dev/full 2>"$work/said"
  local got=$?
  cat "$work/said"
  [ $got = 3 ] && grep -q '^ptosim: standard output cannot be written$' "$work/said"
}
holds 'a list is not lost in silence' is_told list kernels
holds 'nor is a run' is_told run vector_example
holds 'nor are findings' is_told check inplace_update --deps pto
holds_total
