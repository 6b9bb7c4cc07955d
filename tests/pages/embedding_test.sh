#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/embedding.md, docs/device.md and docs/graph.md are true: the C in them, put together, compiles without warnings against the headers and libpto.so alone, and says what
# the page says.  The page's installed form is the subject of install_test.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
case $build in *address* | *thread* | *coverage*) echo 'users link no instrumented library'; exit 77 ;; esac
[ -e "$build/libpto.so" ] || { echo "there is no $build/libpto.so"; exit 77; }
. tests/support/holds.sh
export LD_LIBRARY_PATH=$build
compile() { ${CC:-cc} -std=c17 -Wall -Wextra -Werror -Iinclude -o "$work/$1" "$work/$1.c" -L"$build" -lpto; }
says() { # FILE WORDS
  "$work/$1" >"$work/said" 2>&1
  grep -qF "$2" "$work/said" || { cat "$work/said"; return 1; }
}

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/embedding.md >"$work/squares.c"
holds 'the page compiles' compile squares
holds 'it says what the page says' says squares 'y[3] = 12; 2 tasks, 1 edge, '
holds 'exit status 0' "$work/squares"

sed 's/sizeof arrays->x)/4)/' "$work/squares.c" >"$work/small.c"
holds 'a buffer that is too small compiles' compile small
holds 'and is refused at the submit with its sentence' says small 'PTO_EUSER: the orchestration returned -1 (PTO_EINVAL): mul: param 2'
sed 's/"a2a3"/"a2a4"/' "$work/squares.c" >"$work/unknown.c"
holds 'an unknown chip compiles' compile unknown
holds 'and is refused with its sentence' says unknown "chip 'a2a4' is neither shipped"

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/device.md >"$work/twice.c"
holds 'the page about devices compiles' compile twice
holds 'and doubles on the device' says twice 42

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/graph.md >"$work/stem.c"
holds 'the page about graphs compiles' compile stem
holds 'and says what the page says' says stem 'y: 8 x 16 x 16'
sed 's/PTO_U32_LIST(0, 1, 0, 1)/PTO_U32_LIST(0, 1, 0)/' "$work/stem.c" >"$work/three.c"
holds 'a padding of three values compiles' compile three
holds 'and is refused by build with the sentence of the page' says three 'conv2d "stem": padding has 3 values, not 4'

holds_total
