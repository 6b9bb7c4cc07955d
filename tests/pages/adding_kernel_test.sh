#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The kernel that docs/examples/kernel.md adds: its pieces, put where the page says into a copy of kernels/, compile without a
# warning, and the tests of every kernel of the list hold for it without naming it.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread* | *coverage*) echo 'what is linked here has no instrumentation'; exit 77 ;; esac
[ -e "$build/libpto.a" ] || { echo "there is no $build/libpto.a"; exit 77; }
. tests/support/holds.sh
. tests/support/page_pieces.sh
cc=${CC:-cc}

mkdir -p "$work/objects"
cp -r kernels "$work/kernels"
take_pieces docs/examples/kernel.md 'A kernel'

# What is made of the list, and what the page adds; the rest is the library's.
parts="api/registry move/rearrange reference/reference reference/moving"
compile_all() {
  local part
  for part in $parts; do
    $cc -std=c17 -D_GNU_SOURCE -O1 -ffp-contract=off -fno-math-errno -Wall -Wextra -Werror -Wno-unused-parameter -I"$work" -Iinclude -I. \
      -c "$work/kernels/$part.c" -o "$work/objects/${part//\//-}.o" || return 1
  done
}
# link NAME: a test of all kernels, whose object is there.
link() {
  local libraries
  libraries=$(readelf -d "$build/libpto.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/-l:\1/p')
  # shellcheck disable=SC2086
  $cc -pthread -o "$work/$1" "$build/obj/kernels/api/$1.o" "$work"/objects/*.o "$build/libsupport.a" "$build/libptotools.a" "$build/libpto.a" $libraries -lcmocka -lm
}
prints_a_row() {
  "$work/registry_test" diagonal >"$work/rows" 2>&1 || { tail -n 5 "$work/rows"; return 1; }
  grep -q '^diagonal\.y .*exact' "$work/rows" || { cat "$work/rows"; return 1; }
}
# A kernel that moves another element is found: the test above can fail.
finds_a_mistake() {
  sed -i 's/x->strides\[0\] + x->strides\[1\])/x->strides[0])/' "$work/kernels/move/rearrange.c"
  compile_all && link registry_test || return 1
  ! "$work/registry_test" diagonal >"$work/rows" 2>&1 && grep -q 'diagonal' "$work/rows"
}

holds 'docs/examples/kernel.md has four pieces' has_pieces 4
holds 'each has its place' put_pieces
holds 'they compile without a warning' compile_all
holds 'nothing of the kernel is missing' link registry_test
holds 'it is right on every dtype, layout and size' prints_a_row
holds 'the test of refusals links' link refusal_test
holds 'it refuses what every kernel refuses' "$work/refusal_test"
holds 'the test of costs links' link cost_test
holds 'its cost is what it moves' "$work/cost_test"
holds 'a mistake in it is found' finds_a_mistake
holds_total
