#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# scripts/profile on graphs and on programs that drive contexts of their own: valgrind's tools run them, and count what they do.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh
nm "$build/ptosim" | grep -qE '__(asan|tsan|ubsan)_' && { echo "a sanitizer is in the way of valgrind"; exit 77; }
command -v valgrind >/dev/null || { echo "valgrind is not installed"; exit 77; }

graph=(--model gpt2 --set layers=1 --set width=32 --set heads=4 --set window=8 --set vocabulary=50 --run --quiet)
profile() { scripts/profile "$@" >"$work/out" 2>"$work/err"; }
# What it writes goes beside a ptosim that is a link, and not into the build's folder.
mkdir "$work/build" && ln -s "$(realpath "$build")/ptosim" "$work/build/ptosim" || exit 1
export PTO_PROGRAM_PATH=${PTO_PROGRAM_PATH:-$(realpath "$build")/programs}

has_counted() { grep -q "$1" "$work/build/callgrind.out"; }
holds 'callgrind runs a graph' profile callgrind "$work/build" graph "${graph[@]}"
holds 'and counts its kernels' has_counted pto_move_run
holds 'and the dispatch of the graph' has_counted pto_executor_run
holds 'callgrind runs a program with contexts' profile callgrind "$work/build" kv_cache --case pingpong --quiet
holds 'and counts its context' has_counted pto_executor_run
holds 'a graph that is not there is wrong input' leaves_with 2 profile massif "$work/build" graph nothing.json
holds 'a tool that is none is told' leaves_with 2 profile gdb "$work/build" kv_cache
holds 'with those that are' grep -q 'memcheck, callgrind' "$work/err"
holds_total
