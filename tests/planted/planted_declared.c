/* SPDX-License-Identifier: MIT */
/*
 * Kernels that declare more than they do: modes and a flag that none of their calls needs, sums to which nothing is
 * added; memory of the program behind the address in a scalar; elements of an output that no task declares to write.
 *
 * A mode is constant, so a twin has a kernel of its own: the one that declares what it does.
 */
#include <stdlib.h>

#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(only_written, "a kernel declares an INOUT and writes all of it in each call")                                      \
  X(often_written, "the same in 300 calls")                                                                            \
  X(copied_over, "two blocks write half of an INOUT each, by what another input says")                                 \
  X(only_read, "a kernel declares an INOUT and only reads it")                                                         \
  X(table_read, "a kernel declares an INOUT for a table of indices and only reads it")                                 \
  X(sum_left, "a kernel declares ACCUMULATE and leaves the sum as it is")                                              \
  X(sum_looked_at, "a kernel declares ACCUMULATE for a sum that it only reads")                                        \
  X(sum_set, "a kernel declares ACCUMULATE and writes over the sum")                                                   \
  X(never_waits, "a kernel declares PTO_KERNEL_WAITS and makes no call of pto/core.h")                                 \
  X(turns_untaken, "a kernel declares PTO_KERNEL_TURNS and makes no call of pto/core.h")                               \
  X(heap_read, "a kernel reads a table on the heap, of which it gets the address as a scalar")                         \
  X(heap_counted, "a kernel counts its calls on the heap, at an address that it gets as a scalar")                     \
  X(static_read, "a kernel reads a variable of the program, of which it gets the address as a scalar")                 \
  X(part_filled, "tasks write all elements of an output but the last one")                                             \
  X(rows_filled, "tasks write every second row of an output")

#define WORDS(a, i) ((uint32_t *)(a)->tensors[i].addr)
#define COUNT(a, i) element_count(&(a)->tensors[i])
#define MODE(name_, mode_, function)                                                                                   \
  static const struct pto_kernel name_ = {.name = #name_,                                                              \
                                          .cores = PTO_AIV,                                                            \
                                          .params =                                                                    \
                                              (const struct pto_kernel_param[]){ANY("x", PTO_INPUT), ANY("y", mode_)}, \
                                          .param_count = 2,                                                            \
                                          .run = function}

/* ---- modes ---- */

/* y = 2x */
static int twice_run(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < COUNT(a, 1); i++) WORDS(a, 1)[i] = 2 * WORDS(a, 0)[i];
  return 0;
}
MODE(twice, PTO_OUTPUT, twice_run);
MODE(twice_inout, PTO_INOUT, twice_run);
MODE(twice_sum, PTO_ACCUMULATE, twice_run);

/* The block's half of y becomes that of x. */
static int halves_run(const struct pto_kernel_args *a) {
  const uint64_t half = COUNT(a, 1) / 2, first = a->core->block_index * half;
  for (uint64_t i = first; i < first + half; i++) WORDS(a, 1)[i] = WORDS(a, 0)[i];
  return 0;
}
MODE(halves, PTO_OUTPUT, halves_run);
MODE(halves_inout, PTO_INOUT, halves_run);

/* y += x in one element: the others stay. */
static int bump_run(const struct pto_kernel_args *a) {
  WORDS(a, 1)[3] += WORDS(a, 0)[3];
  return 0;
}
MODE(bump_inout, PTO_INOUT, bump_run);
MODE(bump_sum, PTO_ACCUMULATE, bump_run);
/* y = x in the first call, which the scalar marks, and y += x in others. */
static int begin_run(const struct pto_kernel_args *a) {
  if (a->scalars[0].u64) return twice_run(a);
  return bump_run(a);
}
static const struct pto_kernel begin_inout = {
    .name = "begin_inout",
    .cores = PTO_AIV,
    .params = (const struct pto_kernel_param[]){ANY("x", PTO_INPUT), ANY("y", PTO_INOUT), U64("is_first")},
    .param_count = 3,
    .run = begin_run};
/* y = x in one element: what is in the others is still wanted, so it is no OUTPUT. */
static int poke_run(const struct pto_kernel_args *a) {
  WORDS(a, 1)[3] = WORDS(a, 0)[3];
  return 0;
}
MODE(poke_inout, PTO_INOUT, poke_run);

static int nothing_run(const struct pto_kernel_args *a) {
  (void)a;
  return 0;
}
MODE(leave_sum, PTO_ACCUMULATE, nothing_run);
/* An INOUT that no call touches stands for an order. */
MODE(token_inout, PTO_INOUT, nothing_run);

static void put_mode(struct planted *p, const struct pto_kernel *kernel, uint32_t blocks, uint64_t index) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), y = fresh(p, 1, 16);
  put_fill(p, &y, 5);
  put(p, (struct pto_launch){.aiv0 = kernel, .block_count = blocks},
      PARAMS(pto_input(&row), pto_param_tensor(kernel->params[1].mode, &y)));
  put_digest(p, &y, index);
}
static void only_written(struct planted *p) {
  put_mode(p, p->is_buggy ? &twice_inout : &twice, 1, 0);
  if (p->is_buggy) return;
  put_mode(p, &poke_inout, 1, 1);
  put_mode(p, &token_inout, 1, 2);
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), y = fresh(p, 1, 16);
  put_fill(p, &y, 5);
  put(p, PLAIN(begin_inout), PARAMS(pto_input(&row), pto_inout(&y), pto_scalar_u64(1)));
  put_digest(p, &y, 3);
}
static void often_written(struct planted *p) {
  const struct pto_kernel *kernel = p->is_buggy ? &twice_inout : &twice;
  struct pto_tensor x = array_x(p), row = row_of(&x, 3);
  for (uint32_t i = 0; i < 300; i++) {
    struct pto_tensor y = fresh(p, 1, 16);
    put_fill(p, &y, 5);
    put(p, PLAIN(*kernel), PARAMS(pto_input(&row), pto_param_tensor(kernel->params[1].mode, &y)));
  }
}
static void copied_over(struct planted *p) { put_mode(p, p->is_buggy ? &halves_inout : &halves, 2, 0); }
static void sum_left(struct planted *p) { put_mode(p, p->is_buggy ? &leave_sum : &bump_sum, 1, 0); }
static void sum_set(struct planted *p) { put_mode(p, p->is_buggy ? &twice_sum : &twice, 1, 0); }

/* z[0] = the sum of what is in y; by the twin's kernels y grows. */
#define LOOK(name_, mode_, function)                                                                                   \
  static const struct pto_kernel name_ = {                                                                             \
      .name = #name_,                                                                                                  \
      .cores = PTO_AIV,                                                                                                \
      .params = (const struct pto_kernel_param[]){ANY("y", mode_), ANY("z", PTO_OUTPUT)},                              \
      .param_count = 2,                                                                                                \
      .run = function}
static int look_run(const struct pto_kernel_args *a) {
  WORDS(a, 1)[0] = 0;
  for (uint64_t i = 0; i < COUNT(a, 0); i++) WORDS(a, 1)[0] += WORDS(a, 0)[i];
  return 0;
}
LOOK(look, PTO_INPUT, look_run);
LOOK(look_inout, PTO_INOUT, look_run);
LOOK(look_sum, PTO_ACCUMULATE, look_run);

/* z[0] = y[y[0]]: an index that is out of range ends the run. */
static int follow_run(const struct pto_kernel_args *a) {
  WORDS(a, 1)[0] = WORDS(a, 0)[WORDS(a, 0)[0]];
  return 0;
}
LOOK(follow, PTO_INPUT, follow_run);
LOOK(follow_inout, PTO_INOUT, follow_run);

static void put_look(struct planted *p, const struct pto_kernel *kernel) {
  struct pto_tensor y = fresh(p, 1, 16), z = slot(p, 0);
  put_fill(p, &y, 5);
  put(p, PLAIN(*kernel), PARAMS(pto_param_tensor(kernel->params[0].mode, &y), pto_output(&z)));
}
static void only_read(struct planted *p) {
  put_look(p, p->is_buggy ? &look_inout : &look);
  if (!p->is_buggy) put_mode(p, &bump_inout, 1, 1);
}
static void table_read(struct planted *p) { put_look(p, p->is_buggy ? &follow_inout : &follow); }
static void sum_looked_at(struct planted *p) { put_look(p, p->is_buggy ? &look_sum : &look); }

/* ---- flags ---- */

static int greet_run(const struct pto_kernel_args *a) {
  const int status = pto_core_signal(a, PTO_ROLE_BIT(a->core->role), 0);
  return status || pto_core_wait(a, 0) ? PTO_EINVAL : twice_run(a);
}
static int in_turn_run(const struct pto_kernel_args *a) {
  const int status = pto_core_turn(a);
  return status ? status : bump_run(a);
}
#define FLAG(name_, flags_, mode_, function)                                                                           \
  static const struct pto_kernel name_ = {.name = #name_,                                                              \
                                          .cores = PTO_AIV,                                                            \
                                          .flags = flags_,                                                             \
                                          .params =                                                                    \
                                              (const struct pto_kernel_param[]){ANY("x", PTO_INPUT), ANY("y", mode_)}, \
                                          .param_count = 2,                                                            \
                                          .run = function}
FLAG(greet, PTO_KERNEL_WAITS, PTO_OUTPUT, greet_run);
FLAG(twice_waiting, PTO_KERNEL_WAITS, PTO_OUTPUT, twice_run);
FLAG(bump_in_turn, PTO_KERNEL_TURNS, PTO_ACCUMULATE, in_turn_run);
FLAG(bump_untaken, PTO_KERNEL_TURNS, PTO_ACCUMULATE, bump_run);

static void never_waits(struct planted *p) { put_mode(p, p->is_buggy ? &twice_waiting : &greet, 1, 0); }
static void turns_untaken(struct planted *p) { put_mode(p, p->is_buggy ? &bump_untaken : &bump_in_turn, 1, 0); }

/* ---- addresses ---- */

/* z[0] = the scalar, or the words that lie where it says. */
static int load_run(const struct pto_kernel_args *a) {
  const uint64_t scalar = a->scalars[0].u64;
  const uint32_t *words = (const uint32_t *)(uintptr_t)scalar;
  WORDS(a, 0)[0] = scalar > UINT32_MAX ? words[0] + words[5] : (uint32_t)scalar;
  return 0;
}
static int count_run(const struct pto_kernel_args *a) {
  const uint64_t scalar = a->scalars[0].u64;
  if (scalar > UINT32_MAX) ++*(uint32_t *)(uintptr_t)scalar;
  WORDS(a, 0)[0] = 1;
  return 0;
}
/* A number that may be an address, and is none for the kernel. */
static int number_run(const struct pto_kernel_args *a) {
  WORDS(a, 0)[0] = (uint32_t)(a->scalars[0].u64 >> 32 != 0);
  return 0;
}
static const struct pto_kernel load = AIV_KERNEL("load", of_out_value, load_run),
                               count = AIV_KERNEL("count", of_out_value, count_run),
                               number = AIV_KERNEL("number", of_out_value, number_run);

/* A word of the table, or its address. */
static void put_word(struct planted *p, const struct pto_kernel *kernel, const uint32_t *table) {
  static const uint32_t constants[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  struct pto_tensor z = slot(p, 0), z1 = slot(p, 1), z2 = slot(p, 2);
  put(p, PLAIN(*kernel), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? (uintptr_t)table : 3)));
  if (p->is_buggy) return;
  put(p, PLAIN(number), PARAMS(pto_output(&z1), pto_scalar_u64((uintptr_t)table)));
  put(p, PLAIN(load), PARAMS(pto_output(&z2), pto_scalar_u64((uintptr_t)constants)));
}
static void put_heap(struct planted *p, const struct pto_kernel *kernel) {
  static uint32_t *table; /* of all runs of the process */
  if (!table) table = calloc(16, sizeof *table);
  if (!table) note(p, PTO_ENOMEM);
  put_word(p, kernel, table);
}
static void heap_read(struct planted *p) { put_heap(p, &load); }
static void heap_counted(struct planted *p) { put_heap(p, &count); }
static void static_read(struct planted *p) {
  static uint32_t table[16] = {1};
  put_word(p, &load, table);
}

/* ---- outputs ---- */

static void part_filled(struct planted *p) {
  struct pto_tensor w = pto_array_tensor(p->rt, pto_program_find(p->run, "w"));
  for (uint64_t row = 0; row < 4; row++) {
    struct pto_tensor part = box(&w, row, 0, 1, row == 3 && p->is_buggy ? 15 : 16);
    put_fill(p, &part, 5);
  }
  put_digest(p, &w, 0); /* the other slots of z have a value from the beginning */
}
static void rows_filled(struct planted *p) {
  struct pto_tensor w = pto_array_tensor(p->rt, pto_program_find(p->run, "w"));
  struct pto_tensor rows = pto_tensor_slice(&w, 0, 0, 4, p->is_buggy ? 2 : 1);
  put_fill(p, &rows, 5);
}

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {4, 16};
  const int status = planted_prepare(run);
  pto_program_array(run, "w", PTO_ARRAY_OUTPUT, PTO_UINT32, 2, shape);
  return status;
}
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }

const struct planted_bug planted_bugs[] = {BUGS(PLANTED_BUG){0}};
static const struct pto_case cases[] = {BUGS(PLANTED_CASE){0}};
PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,
                                                .name = "planted_declared",
                                                .summary = "kernels that declare more than they do",
                                                .options = planted_options,
                                                .cases = cases,
                                                .prepare = prepare,
                                                .orchestrate = orchestrate};
