/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose results depend on what was there before, in ways that few values show: what they weigh with 0 or ask
 * for as NaN, what their cores keep, and what they leave changed beside memory.
 */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <threads.h>

#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(weight_zero, "a kernel adds 0 times what its OUTPUT held")                                                         \
  X(asks_nan, "a kernel replaces what is NaN in its OUTPUT, in place of its INPUT")                                    \
  X(asks_infinite, "a kernel replaces what is infinite in its OUTPUT, in place of its INPUT")                          \
  X(halo_zero, "a kernel reads two elements behind its row and weighs them with 0")                                    \
  X(core_sum, "a kernel adds to a sum that its core keeps and that it has not cleared")                                \
  X(core_most, "a kernel's maximum begins with the one that the call before left on its core")                         \
  X(core_handed, "a task leaves a table on its core, for the next task to find")                                       \
  X(core_table, "a kernel keeps a table on its core and does not look whether it is for its scalar")                   \
  X(core_lane, "a kernel finds a table for another scalar where another core's memory lies")                           \
  X(core_scratch, "a kernel adds to scratch memory of its core that it has not cleared")                               \
  X(core_grown, "a kernel adds to scratch memory that moves and that it has not cleared")                              \
  X(stack_unset, "a kernel marks in a local variable which values it has met, and has not cleared the marks")          \
  X(stack_max, "a kernel takes the largest of a local array that it has not set to its end")                           \
  X(counted_beside, "a kernel counts its calls in a static variable, beside a table that is built once")               \
  X(rounds_up, "a kernel rounds upward and does not put the mode back")                                                \
  X(counts_in_shape, "a kernel counts down the shape that it is told")

#define WORDS(tensor) ((uint32_t *)(tensor).addr)
#define FLOATS(tensor) ((float *)(tensor).addr)

static struct pto_tensor floats_of(const struct pto_tensor *t) { return pto_tensor_reinterpret(t, PTO_FLOAT32); }

/* ---- special values ---- */

static const struct pto_kernel_param of_in_out_way[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("way")};

/* z = 2 x + 0 z, or 2 x. */
static int blend_run(const struct pto_kernel_args *a) {
  const float *x = FLOATS(a->tensors[0]), weight = 0;
  float *z = FLOATS(a->tensors[1]);
  for (uint64_t i = 0; i < element_count(&a->tensors[1]); i++)
    z[i] = 2 * x[i] + (a->scalars[0].u64 ? weight * z[i] : 0);
  return 0;
}
static const struct pto_kernel blend = AIV_KERNEL("blend", of_in_out_way, blend_run);

/* z = x, and 1 where x is NaN or infinite, or z was. */
enum { OF_INPUT, NAN_OF_OUTPUT, INFINITE_OF_OUTPUT };
static int replace_run(const struct pto_kernel_args *a) {
  const float *x = FLOATS(a->tensors[0]);
  float *z = FLOATS(a->tensors[1]);
  for (uint64_t i = 0; i < element_count(&a->tensors[1]); i++) {
    bool is_odd = !isfinite(x[i]);
    if (a->scalars[0].u64 == NAN_OF_OUTPUT) is_odd = isnan(z[i]);
    if (a->scalars[0].u64 == INFINITE_OF_OUTPUT) is_odd = isinf(z[i]);
    z[i] = is_odd ? 1 : x[i];
  }
  return 0;
}
static const struct pto_kernel replace = AIV_KERNEL("replace", of_in_out_way, replace_run);

/* To the array z, and to a buffer. */
static void put_floats(struct planted *p, const struct pto_kernel *kernel, uint64_t way) {
  const struct pto_tensor array = array_x(p), row = row_of(&array, 3), x = floats_of(&row), bits = fresh(p, 1, 16);
  const struct pto_tensor words = pto_array_tensor(p->rt, pto_program_find(p->run, "z")), z = floats_of(&words);
  const struct pto_tensor buffer = floats_of(&bits);
  put(p, PLAIN(*kernel), PARAMS(pto_input(&x), pto_output(&buffer), pto_scalar_u64(way)));
  put(p, PLAIN(*kernel), PARAMS(pto_input(&buffer), pto_output(&z), pto_scalar_u64(way)));
}
static void weight_zero(struct planted *p) { put_floats(p, &blend, p->is_buggy); }
static void asks_nan(struct planted *p) { put_floats(p, &replace, p->is_buggy ? NAN_OF_OUTPUT : OF_INPUT); }
static void asks_infinite(struct planted *p) { put_floats(p, &replace, p->is_buggy ? INFINITE_OF_OUTPUT : OF_INPUT); }

/* z[i] = x[i] + x[i + 1] + x[i + 2], with zeros behind the end; or what lies there, times 0. */
static int smooth_run(const struct pto_kernel_args *a) {
  const float *x = FLOATS(a->tensors[0]);
  const uint64_t count = element_count(&a->tensors[1]);
  for (uint64_t i = 0; i < count; i++) {
    float sum = 0;
    for (uint64_t k = i; k < i + 3 && (k < count || a->scalars[0].u64); k++) sum += x[k] * (k < count ? 1.0f : 0.0f);
    FLOATS(a->tensors[1])[i] = sum;
  }
  return 0;
}
static const struct pto_kernel smooth = AIV_KERNEL("smooth", of_in_out_way, smooth_run);

static void halo_zero(struct planted *p) {
  const struct pto_tensor array = array_x(p), row = box(&array, 3, 0, 1, 8), x = floats_of(&row), bits = fresh(p, 1, 8);
  const struct pto_tensor z = floats_of(&bits);
  put(p, PLAIN(smooth), PARAMS(pto_input(&x), pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &bits, 0);
}

/* ---- memory that cores keep ---- */

#define CORE_KERNEL(name_, list, function)                                                                             \
  {                                                                                                                    \
    .name = name_, .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .params = list,                                        \
    .param_count = sizeof(list) / sizeof *(list), .run = function                                                      \
  }

struct kept {
  uint32_t sum, most, key, is_built;
  uint32_t table[16];
};
static int find_kept(const struct pto_kernel_args *a, struct kept **kept) {
  void *memory;
  const int status = pto_core_private(a, sizeof **kept, NULL, &memory);
  if (status == 0) *kept = memory;
  return status;
}

/* z = the sum of x, or the largest, from what is kept on, or from 0. */
static int reduce_run(const struct pto_kernel_args *a) {
  struct kept *kept;
  const int status = find_kept(a, &kept);
  if (status) return status;
  if (!(a->scalars[0].u64 & 1)) kept->sum = kept->most = 0;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) {
    const uint32_t x = WORDS(a->tensors[0])[i];
    kept->sum += x;
    kept->most = x > kept->most ? x : kept->most;
  }
  memcpy(a->tensors[1].addr, a->scalars[0].u64 & 2 ? &kept->most : &kept->sum, sizeof kept->sum);
  return 0;
}
static const struct pto_kernel reduce = CORE_KERNEL("reduce", of_in_out_way, reduce_run);

static void core_sum(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = slot(p, 0);
  put(p, PLAIN(reduce), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}
static void core_most(struct planted *p) {
  struct pto_tensor large = fresh(p, 1, 16), small = fresh(p, 1, 16), first = slot(p, 0), second = slot(p, 1);
  put_fill(p, &large, 1000);
  put_fill(p, &small, 10);
  put(p, PLAIN(reduce), PARAMS(pto_input(&large), pto_output(&first), pto_scalar_u64(2 | p->is_buggy)));
  put(p, PLAIN(reduce), PARAMS(pto_input(&small), pto_output(&second), pto_scalar_u64(2 | p->is_buggy)));
}

/* Keeps a row, and says so. */
static int leave_run(const struct pto_kernel_args *a) {
  struct kept *kept;
  const int status = find_kept(a, &kept);
  if (status) return status;
  memcpy(kept->table, a->tensors[0].addr, sizeof kept->table);
  WORDS(a->tensors[1])[0] = 1;
  return 0;
}
/* z = the sum of the row that is kept, or of x. */
static int use_run(const struct pto_kernel_args *a) {
  struct kept *kept;
  uint32_t sum = 0;
  const int status = find_kept(a, &kept);
  if (status) return status;
  if (!a->scalars[0].u64) memcpy(kept->table, a->tensors[1].addr, sizeof kept->table);
  for (uint32_t i = 0; i < 16; i++) sum += kept->table[i];
  WORDS(a->tensors[2])[0] = sum;
  return 0;
}
static const struct pto_kernel_param of_use[] = {ANY("said", PTO_INPUT), ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT),
                                                 U64("way")};
static const struct pto_kernel leave = CORE_KERNEL("leave", of_in_out, leave_run);
static const struct pto_kernel use = CORE_KERNEL("use", of_use, use_run);

static void core_handed(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), said = slot(p, 0), z = slot(p, 1);
  put(p, PLAIN(leave), PARAMS(pto_input(&row), pto_output(&said)));
  put(p, PLAIN(use), PARAMS(pto_input(&said), pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

/* z = the sum of x by a table of powers of the key, which is made where there is none for it, or where there is none.
 */
static int weigh_run(const struct pto_kernel_args *a) {
  struct kept *kept;
  uint32_t sum = 0;
  const uint32_t key = (uint32_t)a->scalars[0].u64;
  const int status = find_kept(a, &kept);
  if (status) return status;
  if (!kept->is_built || (kept->key != key && !a->scalars[1].u64)) {
    for (uint32_t i = 0, power = 1; i < 16; i++, power *= key) kept->table[i] = power;
    kept->key = key;
    kept->is_built = 1;
  }
  for (uint32_t i = 0; i < 16; i++) sum += kept->table[i] * WORDS(a->tensors[0])[i];
  WORDS(a->tensors[1])[0] = sum;
  return 0;
}
static const struct pto_kernel_param of_weigh[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("key"), U64("way")};
static const struct pto_kernel weigh = CORE_KERNEL("weigh", of_weigh, weigh_run);

static void core_table(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3);
  for (uint64_t i = 0; i < 2; i++) {
    struct pto_tensor z = slot(p, i);
    put(p, PLAIN(weigh), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(3 + i), pto_scalar_u64(p->is_buggy)));
  }
}

static int no_work_run(const struct pto_kernel_args *a) {
  (void)a;
  return 0;
}
/* So that the third core of the task is one that no call before has run on. */
#define IDLE_KERNEL(list)                                                                                              \
  {                                                                                                                    \
    .name = "no_work", .cores = PTO_AIC | PTO_AIV, .params = list, .param_count = sizeof(list) / sizeof *(list),       \
    .run = no_work_run                                                                                                 \
  }
static const struct pto_kernel beside_weigh = IDLE_KERNEL(of_weigh), beside_gather = IDLE_KERNEL(of_out_value);

static void core_lane(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), first = slot(p, 0), second = slot(p, 1);
  const struct pto_launch lane = {.aic = &beside_weigh, .aiv0 = &beside_weigh, .aiv1 = &weigh};
  put(p, PLAIN(weigh), PARAMS(pto_input(&row), pto_output(&first), pto_scalar_u64(3), pto_scalar_u64(p->is_buggy)));
  put(p, lane, PARAMS(pto_input(&row), pto_output(&second), pto_scalar_u64(4), pto_scalar_u64(p->is_buggy)));
}

/* Scratch memory of as many words as the scalar says, a multiple of 4, which grows; bit 0: it is not cleared.  It knows
 * whose it is. */
struct scratch {
  uint32_t *words;
  uint32_t capacity, owner;
};
static void drop_scratch(void *memory) { free(((struct scratch *)memory)->words); }
static int gather_run(const struct pto_kernel_args *a) {
  const uint32_t count = (uint32_t)a->scalars[0].u64 & ~UINT32_C(3);
  uint32_t total = 0;
  void *memory;
  const int status = pto_core_private(a, sizeof(struct scratch), drop_scratch, &memory);
  if (status) return status;
  struct scratch *scratch = memory;
  if (scratch->words && scratch->owner != a->core->index) return PTO_ESTALE;
  if (scratch->capacity < count) {
    uint32_t *grown = realloc(scratch->words, count * sizeof *grown);
    if (!grown) return PTO_ENOMEM;
    memset(grown + scratch->capacity, 0, (count - scratch->capacity) * sizeof *grown);
    *scratch = (struct scratch){grown, count, a->core->index};
  }
  for (uint64_t i = 0; i < count; i++)
    scratch->words[i] = (uint32_t)i + (a->scalars[0].u64 & 1 ? scratch->words[i] : 0);
  for (uint32_t i = 0; i < count; i++) total += scratch->words[i];
  WORDS(a->tensors[0])[0] = total;
  return 0;
}
static const struct pto_kernel gather = CORE_KERNEL("gather", of_out_value, gather_run);

static void core_scratch(struct planted *p) {
  for (uint64_t i = 0; i < 4; i++) {
    struct pto_tensor z = slot(p, i);
    put(p, PLAIN(gather), PARAMS(pto_output(&z), pto_scalar_u64(UINT64_C(200) << 2 * i | p->is_buggy)));
  }
  const struct pto_launch lane = {.aic = &beside_gather, .aiv0 = &beside_gather, .aiv1 = &gather};
  struct pto_tensor z = slot(p, 4);
  put(p, lane, PARAMS(pto_output(&z), pto_scalar_u64(200)));
}
/* So large that the first memory is given back to the system. */
static void core_grown(struct planted *p) {
  struct pto_tensor first = slot(p, 0), second = slot(p, 1);
  put(p, PLAIN(gather), PARAMS(pto_output(&first), pto_scalar_u64(40000)));
  put(p, PLAIN(gather), PARAMS(pto_output(&second), pto_scalar_u64(80000 | p->is_buggy)));
}

/* ---- static variables ---- */

static uint32_t squares[16];
static once_flag has_squares = ONCE_FLAG_INIT;
static void build_squares(void) {
  for (uint32_t i = 0; i < 16; i++) squares[i] = i * i;
}
/* z = the sum of the squares, and the number of the call. */
static int sum_squares_run(const struct pto_kernel_args *a) {
  static uint32_t calls;
  uint32_t sum = 0;
  call_once(&has_squares, build_squares);
  for (uint32_t i = 0; i < 16; i++) sum += squares[i];
  WORDS(a->tensors[0])[0] = sum + (a->scalars[0].u64 ? ++calls : 0);
  return 0;
}
static const struct pto_kernel sum_squares = AIV_KERNEL("sum_squares", of_out_value, sum_squares_run);

static void counted_beside(struct planted *p) {
  for (uint64_t i = 0; i < 3; i++) {
    struct pto_tensor z = slot(p, i);
    put(p, PLAIN(sum_squares), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
  }
}

/* ---- beside memory ---- */

/* z = x / 3, rounded upward. */
static int third_run(const struct pto_kernel_args *a) {
  const int usual = fegetround();
  if (fesetround(FE_UPWARD) != 0) return PTO_ENOTSUP;
  for (uint64_t i = 0; i < element_count(&a->tensors[1]); i++)
    FLOATS(a->tensors[1])[i] = (float)WORDS(a->tensors[0])[i] / 3;
  return !a->scalars[0].u64 && fesetround(usual) != 0 ? PTO_ENOTSUP : 0;
}
static const struct pto_kernel third = AIV_KERNEL("third", of_in_out_way, third_run);

static void rounds_up(struct planted *p) {
  for (uint64_t i = 0; i < 2; i++) {
    struct pto_tensor x = array_x(p), row = row_of(&x, i), z = fresh(p, 1, 16);
    put(p, PLAIN(third), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
    put_digest(p, &z, i);
  }
}

/* z = x, from the end. */
static int copy_back_run(const struct pto_kernel_args *a) {
  const uint64_t *told = &a->tensors[1].shape[1];
  uint64_t own = *told, *left = a->scalars[0].u64 ? (uint64_t *)(uintptr_t)told : &own;
  while (*left) {
    --*left;
    WORDS(a->tensors[1])[*left] = WORDS(a->tensors[0])[*left];
  }
  return 0;
}
static const struct pto_kernel copy_back = AIV_KERNEL("copy_back", of_in_out_way, copy_back_run);

static void counts_in_shape(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = fresh(p, 1, 16);
  put(p, PLAIN(copy_back), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}

/* z = how many of the eight remainders x has. */
static int count_met_run(const struct pto_kernel_args *a) {
  uint32_t marks[8], count = 0;
  __asm__("" : : "r"(marks) : "memory"); /* the compiler does not know what is in them */
  if (!a->scalars[0].u64) memset(marks, 0, sizeof marks);
  for (uint64_t i = 0; i < 3; i++) marks[WORDS(a->tensors[0])[i] % 8] = UINT32_MAX;
  for (uint32_t i = 0; i < 8; i++) count += marks[i] == UINT32_MAX;
  WORDS(a->tensors[1])[0] = count;
  return 0;
}
static const struct pto_kernel count_met = AIV_KERNEL("count_met", of_in_out_way, count_met_run);

static void stack_unset(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = slot(p, 0);
  put(p, PLAIN(count_met), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

/* z = the largest of eight floats, of which the kernel has set all, or all but the last. */
static int max_of_marks_run(const struct pto_kernel_args *a) {
  float marks[8], most = 0;
  __asm__("" : : "r"(marks) : "memory"); /* as above */
  for (uint64_t i = 0; i < 8 - a->scalars[0].u64; i++) marks[i] = (float)WORDS(a->tensors[0])[i];
  for (uint32_t i = 0; i < 8; i++)
    if (marks[i] > most) most = marks[i];
  memcpy(a->tensors[1].addr, &most, sizeof most);
  return 0;
}
static const struct pto_kernel max_of_marks = AIV_KERNEL("max_of_marks", of_in_out_way, max_of_marks_run);

static void stack_max(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = slot(p, 0);
  put(p, PLAIN(max_of_marks), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_state", .summary = "kernels that depend on what was there before");
