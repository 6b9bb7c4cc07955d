#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/skeletons.md is true: each program in it compiles without warnings as the page says, verifies on its engines, and no verb that
# judges has anything to say against it.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh

# Into one file a block, of the name in its first line.
awk -v to="$work/" '/^```c$/ { getline; name = to $2; inside = 1 } /^```$/ { inside = 0 } inside { print >name }' docs/skeletons.md
compile() {
  ${CC:-cc} -std=c17 -O2 -g -fno-optimize-sibling-calls -fPIC -shared -Wall -Wextra -Werror -Iinclude -o "$work/$1.so" "$work/$1.c"
}
count=0
for program in "$work"/*.c; do
  name=$(basename "$program" .c)
  count=$((count + 1))
  holds "$name compiles" compile "$name"
  engines='threads virtual'
  [ "$name" = ranks ] && engines=virtual # which several ranks are for
  for engine in $engines; do
    holds "$name verifies on $engine" leaves_with 0 "$build/ptosim" run "$work/$name.so" --engine $engine
    holds "$name is compared on $engine" grep -q 'verified' "$work/out"
  done
  for verb in check 'check --deps pto' 'check --observe' 'explore --schedules 20'; do
    holds "$name has nothing that $verb finds" leaves_with 0 "$build/ptosim" $verb "$work/$name.so"
  done
done
holds 'the page has three programs' test $count -eq 3

holds_total
