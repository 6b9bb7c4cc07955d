#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A kernel that crashes, or does not come back, in some orders alone: explore names the schedule and ends with exit status 1.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
nm "$build/ptosim" | grep -qE '__(asan|tsan|ubsan)_' && { echo "a sanitizer reports crashes by itself"; exit 77; }
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh
${CC:-cc} -std=c17 -O1 -g -fPIC -shared -Wall -Wextra -Wno-unused-parameter -Iinclude -o "${work:?}/order.so" \
  tests/planted/planted_order.c || exit 1

explores() { # STATUS PATTERN OPTIONS…
  leaves_with "$1" "$build/ptosim" explore "$work/order.so" --schedules 20 "${@:3}" && grep -qE "$2" "$work/out"
}
holds 'a crash in one order names schedule and task' \
  explores 1 '^ptosim: schedule [a-z]+(:[0-9]+)?: PTO_EKERNEL: SIGSEGV .* in task 1 \(follow\)'
holds 'it says that the sequential run came back' explores 1 'the sequential run came back$'
holds 'a kernel that hangs in one order names schedule and task' \
  explores 1 '^ptosim: schedule [a-z]+(:[0-9]+)?: PTO_ETIMEOUT: .* task 1 \(hang\)' --set hangs=true --timeout 1
holds 'with the edge there is nothing to say' explores 0 ', 0 differ$' --set edge=true
holds 'nor where it would hang' explores 0 ', 0 differ$' --set edge=true --set hangs=true
holds_total
