#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# A kernel that has become 3 % slower is named by `ptosim compare` and by `ptosim regress`: between recorded runs, programs and
# baselines.  What regress allows, and what its baseline has.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${PTO_BUILD_DIR:-build}
[ -x "$build/ptosim" ] || { echo "there is no $build/ptosim"; exit 77; }
# shellcheck source=tests/support/holds.sh
. tests/support/holds.sh
ptosim=$build/ptosim

# Three kernels in a chain, of which SLOW percent are added to what the second takes.
cat >"${work:?}/three.c" <<'EOC'
#include <pto/program.h>

static int copy(const struct pto_kernel_args *args) {
  for (int i = 0; i < 256; i++) ((float *)args->tensors[1].addr)[i] = ((const float *)args->tensors[0].addr)[i] + 1;
  return 0;
}
/* On threads it is slower by SLOW percent, too. */
static int copy_long(const struct pto_kernel_args *args) {
  for (volatile int i = 0; i < 1000 * (100 + SLOW); i++) {}
  return copy(args);
}
static struct pto_cost first_cost(const struct pto_kernel_args *args) {
  return (struct pto_cost){.bytes_in = 1024, .bytes_out = 1024, .vector_elems = 50000000};
}
static struct pto_cost second_cost(const struct pto_kernel_args *args) {
  return (struct pto_cost){.bytes_in = 1024, .bytes_out = 1024, .vector_elems = 100000000 + SLOW * 1000000};
}
static const struct pto_kernel_param params[] = {{"x", PTO_INPUT}, {"y", PTO_OUTPUT}};
static const struct pto_kernel first = {"first", PTO_AIV, .params = params, .param_count = 2, .run = copy, .cost = first_cost},
                               second = {"second", PTO_AIV, .params = params, .param_count = 2, .run = copy_long, .cost = second_cost},
                               third = {"third", PTO_AIV, .params = params, .param_count = 2, .run = copy, .cost = first_cost};

static int prepare(struct pto_program_run *run) {
  const uint64_t n = 256;
  return pto_program_array(run, "x", PTO_ARRAY_INPUT, PTO_FLOAT32, 1, &n) &&
                 pto_program_array(run, "y", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, &n)
             ? PTO_OK
             : PTO_EINVAL;
}
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const uint64_t n = 256;
  struct pto_tensor at = pto_array_tensor(rt, pto_program_find(run, "x")), y = pto_array_tensor(rt, pto_program_find(run, "y"));
  for (int i = 0; i < 9; i++) {
    const struct pto_kernel *kernels[] = {&first, &second, &third};
    struct pto_tensor next = i == 8 ? y : pto_managed_tensor(rt, pto_create_buffer(rt, 1024), PTO_FLOAT32, 1, &n);
    const struct pto_param p[] = {pto_input(&at), pto_output(&next)};
    const int status = pto_submit_aiv(rt, kernels[i % 3], p, 2);
    if (status < 0) return status;
    at = next;
  }
  return PTO_OK;
}
const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI, .name = "three", .summary = "three kernels", .prepare = prepare, .orchestrate = orchestrate};
EOC
compile() { ${CC:-cc} -std=c17 -O1 -g -fPIC -shared -Iinclude -DSLOW="$1" -o "$work/$2" "$work/three.c"; }
compile 0 fast.so && compile 3 slow.so && compile 15 slower.so && mkdir -p "$work/now" && cp "$work/fast.so" "$work/now/three.so" || exit 1
says() { # STATUS PATTERN WORDS…
  leaves_with "$1" "$ptosim" "${@:3}" && grep -qE -- "$2" "$work/out"
}
has_intervals() { # on threads the two may or may not be told apart
  "$ptosim" compare --repeats 8 vector_example vector_example >"$work/out"
  [ $? -le 1 ] && grep -qE '^  makespan .* [+-][0-9.]+ to [+-][0-9.]+' "$work/out"
}
is_named_on_threads() { # where more wants to run than there are CPUs, noise may be as large as the change
  local repeats
  for repeats in 9 20 40; do
    "$ptosim" compare --repeats $repeats "$work/fast.so" "$work/slower.so" >"$work/out"
    [ $? = 1 ] && grep -qE '^(B takes .* longer|neither takes longer)[^;]*; kernel second \+' "$work/out" && return 0
    [ "$(cut -d. -f1 /proc/loadavg)" -lt "$(nproc)" ] || return 0
  done
  return 1
}
is_silent_of_looks() { # more looks alone: the run takes as long, and nothing itself has changed
  "$ptosim" compare "bgemm $on" "bgemm $on --chip-set look=100001" >"$work/out"
  [ $? = 1 ] && ! head -1 "$work/out" | grep -qE '^both take as long.*looks'
}
on='--engine virtual --chip a2a3'
named='kernel second \+[0-9.]+ us of core time \(\+3\.0 %\)'

holds 'programs: the kernel is named' says 1 "^B takes [0-9.]+ us longer \(.*; $named" compare "$work/fast.so $on" "$work/slow.so $on"
holds 'the other way it takes less' says 1 '^B takes [0-9.]+ us less .*kernel second -' compare "$work/slow.so $on" "$work/fast.so $on"
holds 'a program and itself: nothing' says 0 '^the same' compare "$work/fast.so $on" "$work/fast.so $on"
for which in fast slow; do "$ptosim" run "$work/$which.so" $on --stats --quiet --json "$work/$which.json"; done
holds 'recorded runs' says 1 "$named" compare "$work/fast.json" "$work/slow.json"
holds 'a recorded run and a program' says 1 "$named" compare "$work/fast.json" "$work/slow.so $on"
holds 'submits that take longer are named' says 1 '^B takes .* longer [^;]*; orchestrator, submits \+' compare "bgemm $on" "bgemm $on --chip-set submit=155530"
holds 'and a slower link to the host' says 1 '^B takes .* longer [^;]*; host link, transfers to the device \+' \
  compare "llm $on --quiet" "llm $on --quiet --chip-set host_latency_ps=68938486"
holds 'and tasks that are new' says 1 '^B takes .* longer [^;]*; 4 tasks more: 2 add_inplace, 2 matmul;' compare "bgemm $on" "bgemm $on --set task_num=66"
holds 'what the orchestrator waits for, where nothing itself takes longer' says 1 '; orchestrator, waiting for a task slot \+' \
  compare "bgemm $on" "bgemm $on --window 16"
holds 'changes on threads have intervals' has_intervals
holds 'a kernel that is 15 % slower is named on threads' is_named_on_threads
holds 'too few runs tell nothing, and how many would' says 0 'of fewer than [0-9]+ runs a side: that tells nothing' \
  compare --repeats 2 "$work/fast.so" "$work/slower.so"
holds 'looks are no change where the run takes as long' is_silent_of_looks
cause_is_first() {
  says 1 . compare "$work/fast.so $on" "$work/slow.so $on" && [ "$(grep -nE -m1 '^kernels, us' "$work/out" | cut -d: -f1)" -lt \
    "$(grep -n -m1 '^the critical path, us' "$work/out" | cut -d: -f1)" ]
}
holds 'the table with the cause stands first' cause_is_first
# Graphs and ranks are compared as programs are, in every form.
graph="--model llama --set layers=1 --set width=64 --set hidden=128 --set window=16 --set vocabulary=64 $on"
"$ptosim" graph $graph --run --stats --quiet --json "$work/graph.json" --report "$work/graph.html"
if [ -s "$work/graph.html" ]; then
  holds 'the page of a graph is its JSON' says 0 '^the same' compare "$work/graph.json" "$work/graph.html"
fi
holds 'the words of a graph, and their JSON' says 0 '^the same' compare "graph $graph" "$work/graph.json"
holds 'tasks of graphs are matched' says 1 '^B takes .* longer.*; [0-9]+ tasks more:' compare "$work/graph.json" "graph ${graph/layers=1/layers=2}"
holds 'a model needs no word before it' says 1 'kernel matmul -' compare "$graph" "$graph --chip-set half_kernel=matmul"
ranks="run expert_parallel_moe --ranks 2 $on"
for half in '' '--chip-set half_kernel=matmul'; do
  "$ptosim" $ranks $half --stats --quiet --json "$work/ranks$half.json" --report "$work/ranks$half.html"
done
if [ -s "$work/ranks.html" ]; then
  holds 'the page of ranks is their JSON' says 0 '^the same' compare "$work/ranks.html" "$work/ranks.json"
  holds 'the page of two sides of ranks' says 0 '^the same' compare "$ranks" "$ranks" --report "$work/sides.html"
fi
holds 'of ranks the kernel is named that takes half as long, and not what follows from it' says 1 '; kernel matmul -[0-9.]+ us of core time \(-5[0-9.]+ %\)' \
  compare "$work/ranks.json" "$work/ranks--chip-set half_kernel=matmul.json"
holds 'two clocks are refused' says 2 'two clocks' compare "$work/fast.json" vector_example --repeats 1
holds 'a run that is none' says 2 'no program "no_such_program"' compare no_such_program "bgemm $on"
holds "a file that is none, by its name once" says 2 "^ptosim: compare: README.md: a program.s path ends" compare README.md "bgemm $on"
holds 'a baseline and a run' says 2 'is a baseline, and' compare tests/regress/examples.list.baseline "$work/fast.json"
holds 'three runs' says 2 'two runs are compared, not 3' compare a b c

# Timed cases: on this machine's clock.
echo "$work/now/three.so => timed" >"$work/timed"
is_named_by_regress() { # as is_named_on_threads
  local repeats
  for repeats in 9 20 40; do
    cp "$work/fast.so" "$work/now/three.so"
    "$ptosim" regress "$work/timed" --update --repeats $repeats --quiet || return 1
    cp "$work/slower.so" "$work/now/three.so"
    "$ptosim" regress "$work/timed" --repeats $repeats >"$work/out"
    [ $? = 1 ] && grep -qE '^ *kernel second \+[0-9.]+ us a call \(\+[0-9.]+ %\) on the clock, from \+' "$work/out" && return 0
    [ "$(cut -d. -f1 /proc/loadavg)" -lt "$(nproc)" ] || return 0
  done
  return 1
}
holds 'regress names a kernel that is 15 % slower on threads' is_named_by_regress
cp "$work/timed.baseline" "$work/timed-before.baseline"
sed -i -E 's/("second": \[)[^]]*/\1100, 110, 120, 130, 140, 150, 160, 170, 180/' "$work/timed.baseline"
holds 'and one that took next to nothing in the baseline' says 1 '^ *kernel second \+' regress "$work/timed"
holds 'which may be told of two baselines, too' says 1 '^ *kernel second -[0-9.]+ us a call' \
  compare "$work/timed-before.baseline" "$work/timed.baseline"
sed -i -E 's/, "clock_ns": \{[^}]*\}//' "$work/timed.baseline"
holds 'a baseline without times is told' says 1 'no times of it \(--update' regress "$work/timed" --repeats 1
holds 'one machine alone times' says 2 'line 1 is timed' regress "$work/timed" --shard 1/2
echo "$work/now/three.so $on => timed" >"$work/exact"
holds 'in virtual time there is nothing to time' says 1 'in virtual time, which one run tells' regress "$work/exact" --update
cp "$work/fast.so" "$work/now/three.so"
echo "$work/now/three.so $on" >"$work/list"
echo "bgemm $on" >>"$work/list"
holds 'a baseline is made' says 0 '2 cases written' regress "$work/list" --update
holds 'with memory and parts' grep -qE '"window": [0-9]+, "heap_bytes": [0-9]+, "parts": \{"kernel ' "$work/list.baseline"
cp "$work/list.baseline" "$work/before.baseline"
holds 'nothing changed' says 0 '2 as in' regress "$work/list"
sed -i "s/^bgemm .*/& --chip-set submit=155530/" "$work/list"
sed "s/^\"bgemm $on/& --chip-set submit=155530/" "$work/before.baseline" >"$work/submits.baseline"
holds 'regress names submits that take longer' says 1 'slower\); orchestrator, submits \+[0-9.]+ us \(\+[0-9.]+ %\)$' \
  regress "$work/list" --baseline "$work/submits.baseline"
sed -i 's/ --chip-set.*//' "$work/list"
cp "$work/slow.so" "$work/now/three.so"
holds 'regress names the kernel' says 1 "\(\+[0-9.]+ %, slower\); $named" regress "$work/list"
holds 'within a tolerance nothing is changed' says 0 '2 as in' regress "$work/list" --tolerance 3%
holds 'and not within a smaller one' says 1 '1 changed' regress "$work/list" --tolerance 0.1
holds 'a tolerance is a number' says 2 '"3%x" is no finite number' regress "$work/list" --tolerance 3%x
holds 'slower is not less' says 1 '1 changed' regress "$work/list" --less-is-fine
"$ptosim" regress "$work/list" --update >/dev/null
holds 'baselines: the case and its kernel' says 1 "$named" compare "$work/before.baseline" "$work/list.baseline"
cp "$work/fast.so" "$work/now/three.so"
# Of two chains side by side the shorter one becomes slower: the run takes as long, but for when a scheduler looks.
sed -e 's/i % 3\]/i == 4 ? 1 : 2 * (i % 2)]/' -e 's/100000000 + SLOW/10000000 + SLOW/' -e 's/SLOW \* 1000000/SLOW * 300000/' \
  -e 's/at = next/if (i != 4) at = next/' "$work/three.c" >"$work/hidden.c"
compile_hidden() { ${CC:-cc} -std=c17 -O1 -g -fPIC -shared -Iinclude -DSLOW="$1" -o "$work/now/hidden.so" "$work/hidden.c"; }
echo "$work/now/hidden.so $on" >"$work/hidden"
compile_hidden 0 && "$ptosim" regress "$work/hidden" --update >/dev/null && compile_hidden 1
holds 'regress names a slower kernel where the run takes as long but for what is allowed' says 1 \
  ', which is allowed; what a kernel takes is not; kernel second \+[0-9.]+ us of core time \(\+3\.0 %\)' regress "$work/hidden" --tolerance 1
holds 'which a tolerance allows' says 0 '1 as in' regress "$work/hidden" --tolerance 4
cp "$work/hidden.baseline" "$work/hidden-before.baseline"
"$ptosim" regress "$work/hidden" --update >/dev/null
holds 'compare of the baselines names it' says 1 'kernel second \+[0-9.]+ us of core time \(\+3\.0 %\)' \
  compare "$work/hidden-before.baseline" "$work/hidden.baseline"
holds 'faster is a change' says 1 'faster' regress "$work/list"
holds 'unless that is fine' says 0 '2 as in' regress "$work/list" --less-is-fine
sed -i 's/, "window": [0-9]*, "heap_bytes": [0-9]*, "parts": {[^}]*}//' "$work/before.baseline"
holds 'a baseline of before has no memory and no parts, and holds' says 0 '2 as in' regress "$work/list" --baseline "$work/before.baseline"
holds_total
