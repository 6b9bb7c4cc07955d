#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The Makefile builds what has to be built again and nothing else: after changed headers, flags, chip files and lists of
# sources; in folders that share nothing.  Works on a tree of a few lines with the real Makefile and scripts.
set -u
top=$(realpath "$(dirname "$0")/../..")
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL CC CFLAGS SAN BUILD WERROR TESTS COVERAGE PTO_BUILD_DIR
passed=0 failed=0

holds() { # WHAT COMMAND…
  local what=$1
  shift
  if "$@" >"$tree/check.log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$what: not so ($*)"
    tail -n 20 "$tree/check.log" "$tree/make.log"
  fi
}
build() { make -j2 "$@" >"$tree/make.log" 2>&1; }
compiled() { grep -qE "^  CC +$1\$" "$tree/make.log"; }
linked() { grep -qE "^  LINK +$1\$" "$tree/make.log"; }
nothing_made() { ! grep -qE '^  (CC|LINK) ' "$tree/make.log"; }
exports() { nm -D --defined-only "$1" | grep -qE " $2(@@PTO_0)?\$"; }
hides() { ! exports "$@"; }

cp -r "$top/Makefile" "$top/scripts" "$tree"
cd "$tree" || exit 1
mkdir -p include/pto runtime/base sim/chips orchestration/basics orchestration/errors orchestration/loader sim/engine cli/main tests/oracle runtime/task
cat >include/pto/small.h <<'EOT'
#ifndef PTO_SMALL_H
#define PTO_SMALL_H
#define PTO_API __attribute__((visibility("default")))
PTO_API int pto_small(void);
int pto_inner(void);
#endif
EOT
echo '#define PTO_VERSION "0.1.0"' >include/pto/version.h
echo '#define VALUE 1' >runtime/task/value.h
cat >runtime/task/small.c <<'EOT'
#include <pto/small.h>
#include <runtime/task/value.h>
int pto_small(void) { return pto_inner() + VALUE; }
EOT
printf '#include <pto/small.h>\nint pto_inner(void) { return 1; }\n' >runtime/base/inner.c
printf '#include <pto/small.h>\nint pto_sim(void);\nint pto_sim(void) { return pto_small(); }\n' >sim/engine/sim.c
printf '[chip]\n' >sim/chips/tiny.ini
printf 'const char *pto_chips(void);\n__asm__(".incbin \\"sim/chips/tiny.ini\\"");\nconst char *pto_chips(void) { return 0; }\n' >sim/chips/chip_files.c
printf '#include <pto/small.h>\nPTO_API int pto_program;\nint pto_program = 1;\nint f(void);\nint f(void) { return pto_small(); }\n' |
  tee orchestration/basics/one.c >orchestration/errors/two.c
printf '#include <pto/small.h>\nint main(void) { return pto_small() - 2; }\n' | tee cli/main/main.c >runtime/base/small_test.c
printf '#include <pto/small.h>\nint pto_small(void) { return 7; }\nint main(void) { return 0; }\n' >tests/oracle/oracle.c

holds 'everything builds' build all tests
holds 'the program is there' test -x build/ptosim
holds 'programs are shared objects' test -f build/programs/one.so -a -f build/programs/errors/two.so
holds 'tests lie as their sources do' test -x build/tests/runtime/base/small_test
holds 'the library shows the public name' exports build/libpto.so pto_small
holds 'the library hides the internal name' hides build/libpto.so pto_inner
holds 'ptosim shows the public name to programs' exports build/ptosim pto_small
holds 'the oracle shows its own' exports build/oracle pto_small
holds 'no path of this machine in the binaries' bash -c '! readelf -d build/ptosim build/libpto.so | grep -qE "RPATH|RUNPATH"'
build all tests
holds 'a second make makes nothing' nothing_made
rm build/tests/runtime/base/small_test
build TESTS=another tests
holds 'where tests are named, no others are built' nothing_made
build TESTS=small tests
holds 'but these' linked build/tests/runtime/base/small_test

touch runtime/task/value.h
build all
holds 'a header makes again what includes it' compiled runtime/task/small.c
holds 'and nothing else' bash -c "! grep -qE 'CC +(runtime/base/inner|cli/main/main)' make.log"
touch sim/chips/tiny.ini
build all
holds 'a chip file makes again what embeds it' compiled sim/chips/chip_files.c
build all
holds 'and then nothing' nothing_made

build CFLAGS=-O1 all
holds 'other flags make everything again' compiled runtime/base/inner.c
build CFLAGS=-O1 all
holds 'the same flags make nothing' nothing_made
build all

printf 'int pto_more(void);\nint pto_more(void) { return 3; }\n' >runtime/base/more.c
build all
holds 'a new file is found' compiled runtime/base/more.c
rm runtime/base/more.c
build all tests
holds 'a file that goes away links again' linked build/libpto.so
holds 'and leaves the archive' bash -c '! ar t build/libpto.a | grep -q more.o'

build BUILD=debug all
holds 'a debug build has its own folder' test -x build-debug/ptosim
build all
holds 'and leaves the release alone' nothing_made
build SAN=address,undefined all
holds 'a sanitizer build has its own folder' test -x build-address-undefined/ptosim
holds 'and is one' bash -c 'nm build-address-undefined/ptosim | grep -q __asan_init'

printf 'int pto_warns(void);\nint pto_warns(void) { int x; return 0; }\n' >runtime/base/warns.c
holds 'a warning is one' build all
touch runtime/base/warns.c
holds 'and an error for CI' bash -c '! make WERROR=1 all >make.log 2>&1'
rm runtime/base/warns.c

echo 'int main(void) { return 1; }' >runtime/base/bad_test.c
holds 'a failed test fails make test' bash -c '! make test >make.log 2>&1'
holds 'and the last line but make'"'"'s counts' grep -qx '1 passed, 1 failed' make.log
rm runtime/base/bad_test.c

build clean
holds 'clean leaves no build folder' bash -c '! ls -d build* 2>/dev/null'

echo "$passed passed, $failed failed"
[ $failed = 0 ]
