/* SPDX-License-Identifier: MIT */
/*
 * Cores of one task that know of each other by words in memory, and do it wrong: by atomic operations that come too
 * early or too late, or by a word that one raises and another one polls, without an answer.
 *
 * All kernels run on the AIC, AIV0 and AIV1 of a block, and have the same parameters: x (inout), a row a core; z
 * (output), 16 elements that one core writes; and whether the mistake is made.  The mistake is the one line that asks
 * BUG.
 */
#include <tests/planted/planted.h>

#define COLUMNS PLANTED_COLUMNS
#define CORES 3u
#define BUG (a->scalars[0].u64 != 0)
#define TRY(call) (status = status == 0 ? (call) : status)

#define BUGS(X)                                                                                                        \
  X(early_rise, "each core raises a count and writes its row then; who raises it last sums all rows")                  \
  X(early_sum, "each core sums all rows before it raises a count; the sum of who raises it last is taken")             \
  X(half_ready, "AIV0 sets the word that AIV1 polls before it has written the second half of each row")                \
  X(unanswered, "AIV0 writes the next row over the one that AIV1 still reads, which a word has told of")               \
  X(two_rows, "the same with two rows in turn, and a reader that works between")                                       \
  X(word_of_row, "AIV0 writes the second half of a row behind the word that AIV1 polls")                               \
  X(raised_early, "AIV0 raises the word that AIV1 polls before it writes the row")                                     \
  X(behind_lock, "each core adds to a number behind its lock's end")

static const struct pto_cost some = {.vector_elems = 16};

static uint32_t role_of(const struct pto_kernel_args *a) { return a->core->role; }
static uint32_t *row(const struct pto_kernel_args *a, uint64_t index) {
  return (uint32_t *)a->tensors[0].addr + index * COLUMNS;
}
static void write_row(const struct pto_kernel_args *a) {
  for (uint32_t j = 0; j < COLUMNS; j++) row(a, role_of(a))[j] = 5 * role_of(a) + j;
}
static uint32_t sum_rows(const struct pto_kernel_args *a) {
  uint32_t sum = 0;
  for (uint32_t j = 0; j < CORES * COLUMNS; j++) sum = 3 * sum + row(a, 0)[j];
  return sum;
}
/* The whole of z. */
static int say(const struct pto_kernel_args *a, uint32_t value) {
  uint32_t *z = a->tensors[1].addr;
  for (uint32_t j = 0; j < PLANTED_SLOTS; j++) z[j] = value + j;
  return 0;
}
static int find_words(const struct pto_kernel_args *a, uint32_t **words) {
  return pto_core_shared(a, 1, 2 * sizeof **words, (void **)words);
}

/* ---- counts ---- */

static int early_rise_run(const struct pto_kernel_args *a) {
  uint32_t *count, before = 0;
  int status = find_words(a, &count);
  if (BUG && status == 0) before = __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
  TRY(pto_core_work(a, &some));
  if (status != 0) return status;
  write_row(a);
  if (!BUG) before = __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
  return before == CORES - 1 ? say(a, sum_rows(a)) : 0;
}

static int early_sum_run(const struct pto_kernel_args *a) {
  uint32_t *count;
  int status = find_words(a, &count);
  TRY(pto_core_work(a, &some));
  if (status != 0) return status;
  write_row(a);
  uint32_t sum = BUG ? sum_rows(a) : 0;
  if (__atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL) != CORES - 1) return 0;
  if (!BUG) sum = sum_rows(a);
  return say(a, sum);
}

/* ---- a word that is polled ---- */

static int half_ready_run(const struct pto_kernel_args *a) {
  uint32_t *ready, sum = 0;
  int status = find_words(a, &ready);
  for (uint32_t i = 0; status == 0 && role_of(a) == PTO_ROLE_AIV0 && i < CORES; i++) {
    for (uint32_t j = 0; j < COLUMNS / 2; j++) row(a, i)[j] = 7 * i + j;
    if (BUG) __atomic_store_n(ready, i + 1, __ATOMIC_RELEASE);
    TRY(pto_core_work(a, &some));
    for (uint32_t j = COLUMNS / 2; status == 0 && j < COLUMNS; j++) row(a, i)[j] = 7 * i + j;
    if (!BUG) __atomic_store_n(ready, i + 1, __ATOMIC_RELEASE);
  }
  for (uint32_t i = 0; status == 0 && role_of(a) == PTO_ROLE_AIV1 && i < CORES; i++) {
    while (status == 0 && __atomic_load_n(ready, __ATOMIC_ACQUIRE) <= i) status = pto_core_yield(a, false);
    for (uint32_t j = 0; status == 0 && j < COLUMNS; j++) sum = 3 * sum + row(a, i)[j];
    if (status == 0) row(a, 4 + i)[0] = sum;
  }
  return role_of(a) == PTO_ROLE_AIV1 && status == 0 ? say(a, sum) : status;
}

/* AIV0 writes row i % `rows` and raises a word, AIV1 polls that.  The twin is what the remedy says: signals back. */
static int give_rows(const struct pto_kernel_args *a, uint32_t rows, bool works) {
  enum { COUNT = 5 };
  uint32_t *given, sum = 0;
  int status = find_words(a, &given);
  for (uint32_t i = 0; status == 0 && role_of(a) == PTO_ROLE_AIV0 && i < COUNT; i++) {
    if (!BUG && i >= rows) TRY(pto_core_wait(a, 0));
    for (uint32_t j = 0; status == 0 && j < COLUMNS; j++) row(a, i % rows)[j] = 9 * i + j;
    *given = i + 1;
    TRY(pto_core_work(a, &some));
  }
  for (uint32_t i = 0; status == 0 && role_of(a) == PTO_ROLE_AIV1 && i < COUNT; i++) {
    while (status == 0 && *given <= i) status = pto_core_yield(a, false);
    for (uint32_t j = 0; status == 0 && j < COLUMNS; j++) sum = 3 * sum + row(a, i % rows)[j];
    if (!BUG && i + rows < COUNT) TRY(pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0));
    if (works) TRY(pto_core_work(a, &some));
  }
  return role_of(a) == PTO_ROLE_AIV1 && status == 0 ? say(a, sum) : status;
}
static int unanswered_run(const struct pto_kernel_args *a) { return give_rows(a, 1, false); }
static int two_rows_run(const struct pto_kernel_args *a) { return give_rows(a, 2, true); }

/* The word lies in another row.  The twin calls nothing of pto/core.h but in its poll, and nothing at all where AIV1
 * comes last. */
static int word_of_row_run(const struct pto_kernel_args *a) {
  uint32_t *own = row(a, 0);
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIC) return 0;
  if (role_of(a) == PTO_ROLE_AIV0) {
    for (uint32_t j = 0; j < (BUG ? COLUMNS / 2 : COLUMNS); j++) own[j] = 3 * j;
    row(a, 4)[0] = 7;
    if (BUG) TRY(pto_core_work(a, &some));
    for (uint32_t j = COLUMNS / 2; status == 0 && BUG && j < COLUMNS; j++) own[j] = 3 * j;
    return status;
  }
  while (status == 0 && row(a, 4)[0] != 7) status = pto_core_yield(a, false);
  for (uint32_t j = 1; j < COLUMNS; j++) own[0] = 3 * own[0] + own[j];
  return status == 0 ? say(a, own[0]) : status;
}

/* The twin is what the remedy says: a signal a row, beside the word. */
static int raised_early_run(const struct pto_kernel_args *a) {
  uint32_t *given, sum = 0;
  int status = find_words(a, &given);
  for (uint32_t i = 0; status == 0 && role_of(a) == PTO_ROLE_AIV0 && i < CORES; i++) {
    *given = i + 1;
    TRY(pto_core_work(a, &some));
    for (uint32_t j = 0; status == 0 && j < COLUMNS; j++) row(a, i)[j] = 9 * i + j;
    if (!BUG) TRY(pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIV1), 0));
  }
  for (uint32_t i = 0; status == 0 && role_of(a) == PTO_ROLE_AIV1 && i < CORES; i++) {
    while (status == 0 && *given <= i) status = pto_core_yield(a, false);
    if (!BUG) TRY(pto_core_wait(a, 0));
    for (uint32_t j = 0; status == 0 && j < COLUMNS; j++) sum = 3 * sum + row(a, i)[j];
  }
  return role_of(a) == PTO_ROLE_AIV1 && status == 0 ? say(a, sum) : status;
}

/* ---- a lock ---- */

static int behind_lock_run(const struct pto_kernel_args *a) {
  uint32_t *lock;
  int status = find_words(a, &lock);
  while (status == 0 && __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) != 0) status = pto_core_yield(a, false);
  if (status != 0) return status;
  if (!BUG) lock[1] += 1;
  __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
  if (BUG) lock[1] += 1;
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, 1) : 0;
}

/* ---- submits ---- */

static const struct pto_kernel_param of_rows[] = {ANY("x", PTO_INOUT), ANY("z", PTO_OUTPUT), U64("mistake")};

#define OF_CLUSTER(name_)                                                                                              \
  static const struct pto_kernel name_##_kernel = {.name = #name_,                                                     \
                                                   .cores = PTO_AIC | PTO_AIV,                                         \
                                                   .flags = PTO_KERNEL_WAITS,                                          \
                                                   .params = of_rows,                                                  \
                                                   .param_count = sizeof of_rows / sizeof *of_rows,                    \
                                                   .run = name_##_run};                                                \
  static void name_(struct planted *p) {                                                                               \
    struct pto_tensor x = array_x(p), z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));                      \
    const struct pto_launch launch = {.aic = &name_##_kernel, .aiv0 = &name_##_kernel, .aiv1 = &name_##_kernel};       \
    put(p, launch, PARAMS(pto_inout(&x), pto_output(&z), pto_scalar_u64(p->is_buggy)));                                \
  }

OF_CLUSTER(early_rise)
OF_CLUSTER(early_sum)
OF_CLUSTER(half_ready)
OF_CLUSTER(unanswered)
OF_CLUSTER(two_rows)
OF_CLUSTER(word_of_row)
OF_CLUSTER(raised_early)
OF_CLUSTER(behind_lock)

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_words", .summary = "cores of one task that know of each other by words in memory, wrongly");
