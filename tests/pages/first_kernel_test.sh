#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/first-kernel.md is true: the C in it, put together, compiles without warnings with the command given there, and the program
# runs and verifies on both engines.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh
refuses() { ! "$@"; }

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/first-kernel.md >"$work/axpy.c"
compile() { ${CC:-cc} -std=c17 -O2 -fPIC -shared -Wall -Wextra -Werror -Iinclude -o "$work/$2" "$work/$1"; }
holds 'the page compiles' compile axpy.c axpy.so
holds 'it verifies on threads' "$build/ptosim" run "$work/axpy.so" --set n=5000
holds 'it verifies in virtual time' "$build/ptosim" run "$work/axpy.so" --engine virtual --chip a2a3
holds 'it verifies with a last piece that is short' "$build/ptosim" run "$work/axpy.so" --set n=7 --set piece=3

# What the page says of mistakes.
sed 's/start += piece) {/start += piece \/ 2) {/' "$work/axpy.c" >"$work/twice.c"
holds 'overlapping pieces compile' compile twice.c twice.so
holds 'and do not verify' refuses "$build/ptosim" run "$work/twice.so"
sed 's/&y, 0, start, end, 1)/\&y, 0, start, end + 1, 1)/' "$work/axpy.c" >"$work/beyond.c"
holds 'a slice beyond the end compiles' compile beyond.c beyond.so
holds 'and is refused' refuses "$build/ptosim" run "$work/beyond.so"

holds_total
