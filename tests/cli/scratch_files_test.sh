#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Tests that write files do so where TMPDIR says and leave nothing there: they pass in a working folder in which no file
# can be made, which here is one that has been removed (permissions mean nothing to root).
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${PTO_BUILD_DIR:-build}")
. tests/support/holds.sh

passes_nowhere() { # TEST
  mkdir -p "$work/gone" "$work/files"
  (cd "$work/gone" && rmdir "$work/gone" && ! touch file 2>/dev/null && TMPDIR=$work/files "$1") || return 1
  [ -z "$(ls -A "$work/files")" ] || { ls -l "$work/files"; return 1; }
}
found=0
for test in "$build"/tests/formats/*_test "$build"/tests/formats/llm/*_test "$build"/tests/tests/device/model_files_test; do
  [ -x "$test" ] || continue
  found=$((found + 1))
  holds "${test##*/} writes nothing into its working folder" passes_nowhere "$test"
done
[ $found != 0 ] || { echo "there are no tests in $build"; exit 77; }
holds_total
