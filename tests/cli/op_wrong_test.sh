#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `ptosim op test` of an operation whose lowering is wrong: ptosim linked with a lowering that has one mistake, and what
# it says of it, as text and as JSON.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread* | *coverage*) echo 'what is linked here has no instrumentation'; exit 77 ;; esac
[ -e "$build/libptosim.a" ] || { echo "there is no $build/libptosim.a"; exit 77; }
. tests/support/holds.sh
cc=${CC:-cc}
call='conv2d --shape 1x3x8x8,4x3x3x3,4 --dtype f32 --seed 1'

plants() { # FILE OLD NEW: ptosim with that file changed
  local libraries
  libraries=$(readelf -d "$build/libpto.so" "$build/ptosim" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/-l:\1/p' | sort -u)
  grep -qF -- "$2" "$1" || { echo "$1 has no $2"; return 1; }
  awk -v old="$2" -v new="$3" '{ at = index($0, old); if (at) $0 = substr($0, 1, at - 1) new substr($0, at + length(old)); print }' \
    "$1" >"$work/wrong.c"
  $cc -std=c17 -D_GNU_SOURCE -O1 -ffp-contract=off -fno-math-errno -Iinclude -I. -c "$work/wrong.c" -o "$work/wrong.o" || return 1
  # shellcheck disable=SC2086
  $cc -pthread -o "$work/ptosim" "$work/wrong.o" -Wl,--whole-archive "$build/libptosim.a" "$build/libptotools.a" -Wl,--no-whole-archive "$build/libpto.a" $libraries -lm
}
# Whether `op test` ends with STATUS and says TEXT, a regular expression.
says() { # STATUS TEXT WORDS...
  local status=$1 text=$2
  shift 2
  leaves_with "$status" "$work/ptosim" op test "$@" && grep -qE -- "$text" "$work/out"
}
is_quiet() { [ "$("$work/ptosim" op test $call 2>/dev/null | grep -vc '^  ')" = 1 ]; } # without what was judged

holds 'ptosim links with a lowering of our own' plants graph/lower/convolution.c 'conv->has_bias ? &bias : NULL' 'conv->has_bias ? &bias : NULL'
holds 'without a mistake nothing is wrong' says 0 'of what is allowed; [0-9]+ tasks' $call
holds 'with a product that adds no bias' plants graph/lower/convolution.c 'conv->has_bias ? &bias : NULL' 'NULL'
holds 'every element is wrong, and the worst is told with what is allowed' \
  says 1 'float32\[1,4,6,6\]  WRONG: 1[0-9][0-9] elements, the worst of result 0 at [0-9]+: [-0-9.e]+ for [-0-9.e]+, [-0-9.e]+ allowed$' $call
holds 'the verb says so' says 1 '^ptosim: op: conv2d is wrong$' $call
holds 'one row alone' is_quiet
holds 'JSON has the count' says 1 '"wrong": ?1[0-9][0-9]' $call --json -
holds 'and the status' says 1 '"exit": ?1' $call --json -
holds 'without a bias it is right' says 0 'of what is allowed' conv2d --shape 1x3x8x8,4x3x3x3 --dtype f32
holds_total
