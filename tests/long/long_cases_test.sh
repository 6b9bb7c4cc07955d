#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `make test-long` alone: every case of every program, the long ones too, on both engines of the a2a3.  A row of ptosim's table is
# a test; the last line counts them.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
out=$("$build/ptosim" suite --long --chip a2a3 --row-timeout 1200 2>&1)
printf '%s\n' "$out"
# "144 right, 46 failed as expected, 0 skipped, 0 not as expected"
read -r right _ expected _ _ _ skipped _ wrong _ <<<"$(tail -n 1 <<<"$out")"
if ! [[ $right$expected$skipped$wrong =~ ^[0-9]+$ ]]; then
  echo "ptosim suite left no total"
  exit 1
fi
total="$((right + expected)) passed, $wrong failed"
[ "$skipped" != 0 ] && total+=", $skipped skipped"
echo "$total"
[ "$wrong" = 0 ]
