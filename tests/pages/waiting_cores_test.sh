#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# docs/waiting-cores.md is true: the C in it, put together, compiles without warnings with the command given there, the program runs
# and verifies on both engines and in the oracle, and the mistakes that it names end as it says.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
. tests/support/holds.sh

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' docs/waiting-cores.md >"$work/energy.c"
cat tests/pages/waiting_cores_program.c >>"$work/energy.c"
compile() { ${CC:-cc} -std=c17 -O2 -fPIC -shared -Wall -Wextra -Werror -Iinclude -o "$work/$2" "$work/$1"; }
holds 'the page compiles' compile energy.c energy.so
for workers in 1 2 3; do
  holds "it verifies on threads, $workers workers" "$build/ptosim" run "$work/energy.so" --workers $workers
done
holds 'it verifies in virtual time' "$build/ptosim" run "$work/energy.so" --engine virtual --chip a2a3
[ -x "$build/oracle" ] && holds 'it verifies in the oracle' "$build/oracle" "$work/energy.so"

# A producer that stops a row early: the sentence of the page.
sed '0,/i < x->shape\[0\]/s//i + 1 < x->shape[0]/' "$work/energy.c" >"$work/early.c"
holds 'a producer that stops early compiles' compile early.c early.so
sentence=$(sed -n 's/^    \(ptosim: cores wait for ever: .*\)/\1/p' docs/waiting-cores.md)
for engine in threads virtual; do
  holds "and ends the run, on $engine" leaves_with 3 "$build/ptosim" run "$work/early.so" --engine $engine
  holds "with the sentence of the page, on $engine" grep -qF "$sentence" "$work/out"
done

sed '0,/    *\.flags = PTO_KERNEL_WAITS,/s///' "$work/energy.c" >"$work/unsaid.c"
holds 'a kernel that does not say that it waits compiles' compile unsaid.c unsaid.so
holds 'and is refused when it calls' leaves_with 3 "$build/ptosim" run "$work/unsaid.so"
holds 'with the flag in the sentence' grep -q 'square_rows.*PTO_KERNEL_WAITS' "$work/out"

sed 's|x->shape\[1\] \* sizeof \*row|& - 4|' "$work/energy.c" >"$work/short.c"
holds 'a reader of another size compiles' compile short.c short.so
holds 'and fails' leaves_with 3 "$build/ptosim" run "$work/short.so"
holds 'with both sizes' grep -q '3996 bytes.*4000' "$work/out"

sed 's|MAX_COLUMNS = 1024|MAX_COLUMNS = 100000|' "$work/energy.c" >"$work/deep.c"
holds 'a row that is larger than the stack compiles' compile deep.c deep.so
if ! grep -qE '__[at]san_init' "$build/ptosim"; then # a sanitizer has a report of its own
  for engine in threads virtual; do
    holds "and ends the run, on $engine" leaves_with 3 "$build/ptosim" run "$work/deep.so" --engine $engine
    holds "with the stack in the sentence, on $engine" grep -q 'PTO_CORE_STACK_BYTES.*_rows' "$work/out"
  done
  # Which line an access that was merged with others is of, is the compiler's.
  placeless() { grep '^cores: task 0 (no_answer)' "$1" | sed -E 's/planted_cores\.(c:|so\+0x)[0-9a-f]+/planted_cores/g'; }
  holds 'a core that nothing answers is found' leaves_with 1 "$build/ptosim" check "$build/planted/planted_cores.so" --observe --case no_answer
  holds 'with the finding of the page' cmp <(placeless docs/waiting-cores.md) <(placeless "$work/out")
fi

holds_total
