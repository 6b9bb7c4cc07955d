/* SPDX-License-Identifier: MIT */
/* Outputs that are not as expected, though each kernel keeps to what it declares and the tasks are ordered by that. */
#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(slot_twice, "the last task writes the slot of the one before it")                                                  \
  X(slot_missed, "the last slot has no task")                                                                          \
  X(set_between, "the orchestration sets a variable between two submits, which kernels read when they run")

static void fill_slots(struct planted *p, uint64_t count, uint64_t last) {
  for (uint64_t i = 0; i < count; i++) {
    struct pto_tensor z = slot(p, i < last ? i : last);
    put_fill(p, &z, 100 + i);
  }
}
static void slot_twice(struct planted *p) { fill_slots(p, PLANTED_SLOTS, PLANTED_SLOTS - 1 - p->is_buggy); }
static void slot_missed(struct planted *p) { fill_slots(p, PLANTED_SLOTS - p->is_buggy, PLANTED_SLOTS); }

static uint64_t said;
static int say_run(const struct pto_kernel_args *a) {
  const uint32_t word = (uint32_t)(a->scalars[0].u64 ? a->scalars[0].u64 : said);
  memcpy(a->tensors[0].addr, &word, sizeof word);
  return 0;
}
static const struct pto_kernel say = AIV_KERNEL("say", of_out_value, say_run);

static void set_between(struct planted *p) {
  for (uint64_t i = 0; i < PLANTED_SLOTS; i++) {
    struct pto_tensor z = slot(p, i);
    said = 100 + i;
    put(p, PLAIN(say), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? 0 : said)));
  }
}

static int expect(struct pto_program_run *run) {
  double *golden = pto_array_golden(run, pto_program_find(run, "z"));
  for (uint64_t i = 0; golden && i < PLANTED_SLOTS; i++) golden[i] = (double)(100 + i);
  return PTO_OK;
}
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_wrong", .summary = "outputs that are not as expected", .expect = expect);
