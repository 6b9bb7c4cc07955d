/* SPDX-License-Identifier: MIT */
/* Programs that cannot go on: handles past their life, cores that wait for each other, rings that scopes hold. */
#include <pto/core.h>

#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(after_scope, "an output is used when the scope that keeps it has ended")                                           \
  X(open_scope, "the orchestration returns before it ends a scope")                                                    \
  X(wait_cycle, "each of two cores takes from the other before it gives")                                              \
  X(barrier_left_out, "one core of the two does not come to the barrier")                                              \
  X(wrong_flag, "a core waits for another flag than the one that is signalled")                                        \
  X(fifo_sizes, "one core pushes 8 bytes where the other pops 4")                                                      \
  X(long_scope, "one scope around all rounds holds more tasks than the window")                                        \
  X(nested_window, "nested scopes that stay open hold the whole window")                                               \
  X(held_heap, "one scope around all rounds holds more outputs than the heap")                                         \
  X(large_output, "one output is larger than the heap")                                                                \
  X(stale_version, "the reader names a version of the buffer that is gone")

static void after_scope(struct planted *p) {
  begin_scope(p, PTO_SCOPE_AUTO);
  struct pto_tensor z = fresh(p, 1, 16);
  put_fill(p, &z, 1);
  if (!p->is_buggy) put_digest(p, &z, 0);
  end_scope(p);
  if (p->is_buggy) put_digest(p, &z, 0);
}

static void open_scope(struct planted *p) {
  begin_scope(p, PTO_SCOPE_AUTO);
  struct pto_tensor z = fresh(p, 1, 16);
  put_fill(p, &z, 1);
  put_digest(p, &z, 0);
  if (!p->is_buggy) end_scope(p);
}

/* ---- cores ---- */

/* The scalar says which way a core does it: 1 is the mistake. */
static int take_then_give_run(const struct pto_kernel_args *a) {
  uint32_t mine = 1, theirs = 0;
  const uint32_t other = a->core->role == PTO_ROLE_AIV0 ? PTO_ROLE_AIV1 : PTO_ROLE_AIV0;
  const bool takes_first = a->scalars[0].u64 == 1 || a->core->role == PTO_ROLE_AIV1;
  int status = takes_first ? pto_core_pop(a, other, &theirs, sizeof theirs) : 0;
  if (!status) status = pto_core_push(a, other, &mine, sizeof mine);
  if (!status && !takes_first) status = pto_core_pop(a, other, &theirs, sizeof theirs);
  if (!status && a->core->role == PTO_ROLE_AIV0) memcpy(a->tensors[0].addr, &theirs, sizeof theirs);
  return status;
}
static int meet_run(const struct pto_kernel_args *a) {
  const bool comes = a->scalars[0].u64 == 0 || a->core->role == PTO_ROLE_AIV0;
  int status = comes ? pto_core_barrier(a) : 0;
  if (!status && a->core->role == PTO_ROLE_AIV0) memset(a->tensors[0].addr, 1, 4);
  return status;
}
static int signal_run(const struct pto_kernel_args *a) {
  if (a->core->role == PTO_ROLE_AIV1) return pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIV0), 3);
  int status = pto_core_wait(a, a->scalars[0].u64 ? 4 : 3);
  if (!status) memset(a->tensors[0].addr, 1, 4);
  return status;
}
static int sizes_run(const struct pto_kernel_args *a) {
  uint64_t word = 1;
  if (a->core->role == PTO_ROLE_AIV1) return pto_core_push(a, PTO_ROLE_AIV0, &word, a->scalars[0].u64 ? 8 : 4);
  int status = pto_core_pop(a, PTO_ROLE_AIV1, &word, 4);
  if (!status) memcpy(a->tensors[0].addr, &word, 4);
  return status;
}

#define WAITING(name_, function)                                                                                       \
  {                                                                                                                    \
    .name = name_, .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .params = of_out_value, .param_count = 2,              \
    .run = function                                                                                                    \
  }
static const struct pto_kernel take_then_give = WAITING("take_then_give", take_then_give_run),
                               meet = WAITING("meet", meet_run), signal_wait = WAITING("signal_wait", signal_run),
                               push_pop = WAITING("push_pop", sizes_run);

static void put_pair(struct planted *p, const struct pto_kernel *kernel) {
  struct pto_tensor z = slot(p, 0);
  struct pto_launch launch = {.aiv0 = kernel, .aiv1 = kernel};
  put(p, launch, PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
}
static void wait_cycle(struct planted *p) { put_pair(p, &take_then_give); }
static void barrier_left_out(struct planted *p) { put_pair(p, &meet); }
static void wrong_flag(struct planted *p) { put_pair(p, &signal_wait); }
static void fifo_sizes(struct planted *p) { put_pair(p, &push_pop); }

/* ---- rings ---- */

#define WINDOW 16u
#define HEAP_BYTES (64u << 10)
static const struct pto_config config = {.size = sizeof config, .window = WINDOW, .heap_bytes = HEAP_BYTES};

/* 12 rounds of an output and its reader; one scope around them, or one a round. */
static void put_rounds(struct planted *p, uint64_t rows) {
  if (p->is_buggy) begin_scope(p, PTO_SCOPE_AUTO);
  for (uint64_t round = 0; round < 12; round++) {
    if (!p->is_buggy) begin_scope(p, PTO_SCOPE_AUTO);
    struct pto_tensor z = fresh(p, rows, 16);
    put_fill(p, &z, round);
    put_digest(p, &z, round);
    if (!p->is_buggy) end_scope(p);
  }
  if (p->is_buggy) end_scope(p);
}
static void long_scope(struct planted *p) { put_rounds(p, 1); }

static void nested_window(struct planted *p) {
  const int levels = 8;
  for (int i = 0; i < levels; i++) {
    begin_scope(p, PTO_SCOPE_AUTO);
    for (int k = 0; k < 4; k++) {
      struct pto_tensor z = fresh(p, 1, 16);
      put_fill(p, &z, 1);
    }
    if (!p->is_buggy) end_scope(p);
  }
  for (int i = 0; i < levels && p->is_buggy; i++) end_scope(p);
}

/* 5 of them, 16 KiB each. */
static void held_heap(struct planted *p) {
  if (p->is_buggy) begin_scope(p, PTO_SCOPE_AUTO);
  for (uint64_t round = 0; round < 5; round++) {
    if (!p->is_buggy) begin_scope(p, PTO_SCOPE_AUTO);
    struct pto_tensor z = fresh(p, 256, 16);
    put_fill(p, &z, round);
    put_digest(p, &z, round);
    if (!p->is_buggy) end_scope(p);
  }
  if (p->is_buggy) end_scope(p);
}

static void large_output(struct planted *p) {
  struct pto_tensor z = fresh(p, p->is_buggy ? 2048 : 512, 16);
  put_fill(p, &z, 1);
  put_digest(p, &z, 0);
}

static void stale_version(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, 16), next = pto_tensor_with_version(&z, 1);
  put_fill(p, &z, 1);
  put_fill(p, &next, 2);
  put_digest(p, p->is_buggy ? &z : &next, 0);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_stops", .summary = "programs that cannot go on", .config = &config);
