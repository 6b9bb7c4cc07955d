#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/orchestrations.md is true: the C in it, put together, compiles without warnings with the command given there, verifies
# on both engines and in the oracle, has no finding, and without its `after` has the finding that the page promises.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/orchestrations.md >"$work/lesson.c"
cat tests/pages/orchestrations_program.c >>"$work/lesson.c"
compile() { ${CC:-cc} -std=c17 -O2 -g -fPIC -shared -Wall -Wextra -Werror -Iinclude -o "$work/$2" "$work/$1"; }
holds 'the page compiles' compile lesson.c lesson.so
holds 'it verifies on threads' "$build/ptosim" run "$work/lesson.so"
holds 'it verifies on three threads under another policy' "$build/ptosim" run "$work/lesson.so" --workers 3 --policy lifo
holds 'it verifies in virtual time' "$build/ptosim" run "$work/lesson.so" --engine virtual --chip a2a3
[ -x "$build/oracle" ] && holds 'it verifies one task at a time' "$build/oracle" "$work/lesson.so"
holds 'its order is right under exact rules' "$build/ptosim" check "$work/lesson.so"
holds 'and under those of the existing runtime' "$build/ptosim" check "$work/lesson.so" --deps pto
holds 'its kernels touch what they declare' "$build/ptosim" check "$work/lesson.so" --observe

sed 's/, \.after = &filled, \.after_count = 1//' "$work/lesson.c" >"$work/missing.c"
finds() {
  "$build/ptosim" check "$work/missing.so" >"$work/found"
  [ $? = 1 ] && grep -q '^RAW: task .*add `after` task' "$work/found" || { cat "$work/found"; return 1; }
}
holds 'without its dependency it compiles' compile missing.c missing.so
holds 'and check names the pair and what to add' finds

holds_total
