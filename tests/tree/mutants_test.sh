#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `make mutants` works: each named mutant still changes its source, two of them are killed, and on a small tree of its own every
# outcome, score and exit status is what it should be.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/support/holds.sh
top=$PWD

holds 'each named mutant changes its source' scripts/mutants --build "$work/check" --check

# ---- a small tree -------------------------------------------------------------------------------------------------------------
tree=$work/tree
mkdir -p "$tree"/{runtime/{tensor,memory,task,deps,sched},sim,tests/mutants,build/{obj,tests}/{runtime/task,sim}}
cd "$tree" || exit 1
cat >sim/most.h <<'END'
#define TIMES \
  2
static inline int twice(int x) {
  return x * TIMES;
}
static inline int half(int x) { return x / 2; }
END
cat >sim/copied_test.c <<'END'
#include <sim/most.h>
int main(void) { return half(2) != 1; }
END
echo 'static inline int none(int x) { return x * 2; }' >sim/alone.h
cat >runtime/task/most.c <<'END'
#include <sim/most.h>
int most(const int *x, int count);
int most(const int *x, int count) {
  int best = x[0];
  for (int i = 1; i < count; i++)
    if (x[i] > best) best = x[i]; /* > is no operator */
  return twice(best);
}
int never(void);
int never(void) { return 1; }
int half_of(int x);
int half_of(int x) { return half(x); }
END
cat >runtime/task/most_test.c <<'END'
#include <stdio.h>
int most(const int *x, int count);
int main(void) {
  static const int padded[] = {0, 3, 9, 4, 0}, *const x = padded + 1; /* a mutant that reads beyond the ends reads the same each time */
  int passed = most(x, 3) == 18;
#ifdef CHECKED
  static const int negative[] = {-5, -7};
  passed &= most(negative, 2) == -10;
#endif
  printf(passed ? "[       OK ] test_the_most_is_found\n" : "[  FAILED  ] test_the_most_is_found\n");
  return !passed;
}
END
echo 'int main(void) { return 0; }' >runtime/task/other_test.c
# What scripts/coverage --reach says of it, but for another test, of which it says that it runs a macro, and a line that leaves no counters.
mkdir build/reach
printf '%s 0.01\n' runtime/task/other_test runtime/task/most_test sim/copied_test >build/reach/tests
printf 'runtime/task/most.c %s\n' '3 2' '4 2' '5 2' '6 2' '7' '8 2' '10' '12' >build/reach/lines
printf 'sim/most.h %s\n' '2 1' '3 2' '4 2' '5 2' '6 3' >>build/reach/lines
echo 'task/most.c relational :: if (x[i] > best) best = x[i]; :: an equal one is as good' >tests/mutants/equivalent.list
cat >tests/mutants/named.list <<'END'
# A comment.
smallest: finds the smallest
  runtime/task/most.c
  s/x\[i\] > best/x[i] < best/
same-code: changes nothing that matters
  runtime/task/most.c
  s/x\[i\] > best/best < x[i]/
no-program: does not compile
  runtime/task/most.c
  s/int best/float best(/
endless: never comes back
  runtime/task/most.c
  s/i\+\+/i += 0 * count/
thrice: in a header
  sim/most.h
  s/^  2/  3/
copied: in a function of a header of which a test has a copy
  sim/most.h
  s/x \/ 2/x \/ 3/
alone: in a header that nothing includes
  sim/alone.h
  s/x \* 2/x * 3/
unseen: what no test looks at, "\" and all
  runtime/task/most.c
  s/int best = x\[0\]/int best = -1/
unreached: what no test runs
  runtime/task/most.c
  s/return 1/return 2/
uncounted: what a test runs in a process that leaves no counters
  runtime/task/most.c
  s/twice\(best\)/twice(best) + 1/
END
has_lld() { command -v ld.lld >/dev/null; } # here another linker does too
export AR=ar MUTANT_REACH=build/reach
printf '%s\n' MUTANT_CC=cc "MUTANT_FLAGS='-I. -O1 -g0'" "MUTANT_LINK='cc $(has_lld && echo -fuse-ld=lld)'" "MUTANT_LIBS=''" >build/mutant-commands
compiled() { cc -I. -O1 -MMD -MP -c -o "build/obj/${1%.c}.o" "$1"; }
compiled runtime/task/most.c && compiled runtime/task/most_test.c && compiled runtime/task/other_test.c && compiled sim/copied_test.c && ar rcsP build/libpto.a build/obj/runtime/task/most.o &&
  ar rcs build/libsupport.a && ar rcs build/libptotools.a && ar rcs build/libptosim.a && touch build/flags &&
  cc -o build/tests/runtime/task/most_test build/obj/runtime/task/most_test.o build/libpto.a &&
  cc -o build/tests/runtime/task/other_test build/obj/runtime/task/other_test.o && cc -o build/tests/sim/copied_test build/obj/sim/copied_test.o || exit 1
mutants() { "$top/scripts/mutants" --top "$tree" "$@"; }
has_outcome() { # OUTCOME-AND-MORE, a line of the last run
  grep -qE "^$1" "$work/out"
}

# Which take a second of processor time at most: that is what an endless one costs.
mkdir -p build/mutants/usual && echo '1 60' >build/mutants/usual/runtime-task-most_test
mutants --only 'smallest same-code no-program endless thrice task/most.c:5:constant task/most.c:5:negate' >"$work/out" 2>&1
holds 'a mutant that a test notices is killed by it' has_outcome 'killed +smallest +most_test: test_the_most_is_found'
holds 'the same machine code is no mutant' has_outcome 'same code +same-code'
holds 'what does not compile is no mutant' has_outcome 'no program +no-program'
holds 'an endless loop is noticed' has_outcome 'killed +endless +most_test: takes too long'
holds 'a macro of a header changes all that includes it' has_outcome 'killed +thrice +most_test: test_the_most_is_found'
holds 'a generated mutant is made again by its name' has_outcome '(killed|survived|same code) +task/most.c:5:constant'
holds 'its line is changed as the name says' has_outcome 'killed +task/most.c:5:negate'
holds "a function of a header changes a test's own copy too" leaves_with 0 mutants --only copied
rm build/mutants/usual/* # what it takes is measured from here on
sed -i '/^endless:/,+2d' tests/mutants/named.list
holds 'a named survivor is an error' leaves_with 1 mutants --only unseen
holds 'one that no test notices survives' has_outcome 'survived +unseen'
holds 'a survivor is shown' has_outcome '    what no test looks at'
cp -r build checked && sed -i 's/-I\./-I. -DCHECKED/' checked/mutant-commands && rm -r checked/mutants && cc -I. -O1 -DCHECKED -c -o checked/obj/runtime/task/most_test.o runtime/task/most_test.c &&
  cc -o checked/tests/runtime/task/most_test checked/obj/runtime/task/most_test.o checked/libpto.a || exit 1
holds 'a checked build notices one that survives' leaves_with 0 mutants --checked checked --only unseen
holds 'and it is told that the checked one did' has_outcome 'killed +unseen +most_test: checked, test_the_most_is_found'
holds 'what it does not notice survives' leaves_with 1 mutants --checked checked --only unreached
holds 'a line that no test runs survives' leaves_with 1 mutants --only unreached
holds 'and it is told that none does' has_outcome 'survived +unreached +no test runs the line'
holds 'a line whose runs leave no counters is tried with the tests of its file' leaves_with 0 mutants --only uncounted
holds 'one that no source has is an error' leaves_with 2 mutants --only alone
holds 'and is told' has_outcome 'untried +alone +alone.h: no source has it'
holds 'a named one that does not compile is an error' leaves_with 1 mutants --only no-program
holds 'a killed one is none' leaves_with 0 mutants --only smallest
holds 'an unknown name is an error' leaves_with 2 mutants --only task/most.c:99:negate
holds 'a comment holds no operator' leaves_with 2 mutants --only task/most.c:6:relational.2

mutants --count all --list >"$work/all"
mutants --count 40 --list >"$work/first"
mutants --count 40 --list >"$work/again"
mutants --count 40 --seed 2 --list >"$work/other"
holds 'a sample is the same each time' cmp "$work/first" "$work/again"
differs() { ! cmp -s "$1" "$2"; }
holds 'another seed takes others' differs "$work/first" "$work/other"
all_in() { ! grep -vxFf "$2" "$1"; }
holds 'a sample is part of all' all_in "$work/first" "$work/all"

# One that is known to be equivalent is not run, and printed with its reason; named ones run with any count.
few='--count 40 --seed 8'
mutants $few >"$work/run" 2>&1
holds 'what is equivalent is told with its reason' grep -q '^    an equal one is as good' "$work/run"
is_absent() { ! grep -q "^killed.*$1\|^survived.*$1" "$work/run"; }
holds 'what is equivalent is not run' is_absent task/most.c:6:relational
holds 'each folder has a score' grep -qE '^task .* %$' "$work/run"
holds 'a mutant that survives is shown before and after' grep -qE '^    int best = x\[1\];' "$work/run"

# In shards: each mutant in one of them, and the whole told by merge as one run tells it, but for times.
timeless() { sed -E 's/[0-9]+\.[0-9]+ s$//' "$1" | sort; }
same_but_times() { cmp <(timeless "$1") <(timeless "$2") && cmp <(sed -n '/^$/,$p' "$1") <(sed -n '/^$/,$p' "$2"); }
for shard in 1/3 2/3 3/3; do mutants $few --shard $shard >"$work/shard" 2>&1; done
ln -sf "$top/${PTO_BUILD_DIR:-build}/ptosim" build/ptosim
if [ -x build/ptosim ]; then
  mutants $few --merge build/mutants/*-of-3.jsonl >"$work/merged" 2>&1
  holds 'three shards tell what one run tells' same_but_times "$work/run" "$work/merged"
  holds 'a shard that is missing is an error' leaves_with 2 mutants $few --merge build/mutants/[12]-of-3.jsonl
  holds 'it is told which' grep -q 'no file has shard 3/3' "$work/out"
  holds 'shards of other mutants are an error' leaves_with 2 mutants --count 40 --seed 2 --merge build/mutants/*-of-3.jsonl
fi
shared() { mutants --count all --list "$@"; }
for shard in 1/3 2/3 3/3; do shared --shard $shard; done >"$work/shares"
holds 'each mutant is in one shard' cmp <(sort "$work/all") <(sort "$work/shares")
holds 'a shard that is none is an error' leaves_with 2 mutants --shard 4/3 --list
# Which share of the items is that of a launcher, as ptosim and as this script have it.
echo 'errors/user' >"$work/one.list"
of_ptosim() {
  env "$@" build/ptosim regress "$work/one.list" --row-timeout 1 2>/dev/null | sed -n '1s/.*"shard":\([0-9]*\),"of":\([0-9]*\).*/\1\/\2/p'
}
of_mutants() { env "$@" "$top/scripts/mutants" --top "$tree" --list 2>&1 | sed -n 's/^mutants: shard \([^,]*\),.*/\1/p'; }
same_shard() {
  local share
  share=$(of_mutants "$@")
  [ -n "$share" ] && [ "$(of_ptosim "$@")" = "$share" ]
}
# With 2, and the sentence of ptosim.
same_refusal() {
  local said
  said=$(env "$@" build/ptosim regress "$work/one.list" 2>&1 >/dev/null) || [ $? = 2 ] || return
  [ "$(env "$@" "$top/scripts/mutants" --top "$tree" --list 2>&1 >/dev/null; echo $?)" = "${said/ptosim: regress:/mutants:}"$'\n2' ]
}
if [ -x build/ptosim ]; then
  holds 'a rank that is no number' same_refusal PMI_RANK=x PMI_SIZE=4
  holds 'a rank that is none of them' same_refusal SLURM_PROCID=9 SLURM_NTASKS=4
  holds 'a rank of OpenMPI has the share that ptosim has' same_shard OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4
  holds 'a rank of PMI' same_shard PMI_RANK=0 PMI_SIZE=2
  holds 'a rank of Slurm' same_shard SLURM_PROCID=2 SLURM_NTASKS=3
  holds 'a task of an array' same_shard SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=2
  holds 'a rank in a task of an array' same_shard SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2 SLURM_PROCID=1 SLURM_NTASKS=3
fi
sed -i 's/most(x, 3) == 18/most(x, 3) == 19/' runtime/task/most_test.c
compiled runtime/task/most_test.c && cc -o build/tests/runtime/task/most_test build/obj/runtime/task/most_test.o build/libpto.a
holds 'a test that fails without a mutant kills none' leaves_with 2 mutants --only smallest
sed -i 's/most(x, 3) == 19/most(x, 3) == 18/' runtime/task/most_test.c
compiled runtime/task/most_test.c && cc -o build/tests/runtime/task/most_test build/obj/runtime/task/most_test.o build/libpto.a
echo 'int elsewhere(void); int there(void); int there(void) { return elsewhere(); }' >>runtime/task/most_test.c
compiled runtime/task/most_test.c
holds 'a test that does not link without a mutant kills none' leaves_with 2 mutants --only smallest
sed -i 's/x\\\[i\\\] > best/x\\[i\\] >= best/' tests/mutants/named.list
holds 'a rule that changes nothing is an error' leaves_with 1 mutants --check
# What a coverage build says of the tree is what stands above, without the other test.
if command -v clang >/dev/null && clang -fprofile-instr-generate -x c -o /dev/null - <<<'int main(void) { return 0; }' 2>/dev/null; then
  mkdir -p scripts build-cover/tests/runtime/task
  cp "$top"/scripts/{coverage,run_tests} scripts
  program=build-cover/tests/runtime/task/most_test
  sed -i '/^int elsewhere/d' runtime/task/most_test.c
  clang -I. -fprofile-instr-generate -fcoverage-mapping -o $program runtime/task/most.c runtime/task/most_test.c || exit 1
  touch -d '1 minute ago' build-cover/ptosim $program
  holds 'a coverage build says which test runs which line' scripts/coverage --reach build-cover $program
  holds 'of each line that is code' cmp <(sed 's/\.c 7$/.c 7 1/; s/ 2$/ 1/; s/ 3$//' build/reach/lines) build-cover/reach/lines
  touch build-cover/before
  scripts/coverage --reach build-cover $program
  holds 'what is not newer is not run again' test ! build-cover/profiles/runtime-task-most_test/time -nt build-cover/before
fi
cd "$top" || exit 1
unset AR MUTANT_REACH

# ---- the runtime itself, with the objects that are there already ------------------------------------------------------------------
if [ "${PTO_BUILD_DIR:-build}" = build ] && has_lld && [ -x build/tests/runtime/memory/heap_ring_test ]; then
  printf "%s 0.1\n" runtime/{memory/heap_ring,task/task_ring}_test >"$work/tests"
  printf "%s 1 1 2\n" runtime/{memory/heap_ring,task/task_ring}.c >"$work/lines" # of changes of any line
  make --no-print-directory run-mutants MUTANT='free-heap-early retire-out-of-order' REACH="$work" >"$work/run" 2>&1
  holds 'a heap that frees early is noticed' grep -qE '^killed +free-heap-early ' "$work/run"
  holds 'retirement out of order is noticed' grep -qE '^killed +retire-out-of-order ' "$work/run"
fi
holds_total
