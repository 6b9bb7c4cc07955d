/* SPDX-License-Identifier: MIT */
/*
 * Kernels that do not keep what their declaration or the machine promises, though they touch nothing else: sums that
 * are no sums, results that depend on the core or on calls before, memory that no call has filled.
 */
#include <stdlib.h>
#include <threads.h>

#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(sum_scaled, "a kernel that declares ACCUMULATE doubles what is there before it adds")                              \
  X(sum_part, "a kernel that declares ACCUMULATE adds to the first half and writes over the second")                   \
  X(sum_first, "a kernel that declares ACCUMULATE takes one start value for empty and writes over it")                 \
  X(sum_late, "a kernel that declares ACCUMULATE doubles what is there in its ninth call, where a scalar says so")     \
  X(sum_decays, "a kernel that declares ACCUMULATE halves a sum of floats before it adds")                             \
  X(sum_of_steps, "many small steps are added to bfloat16, and not up in float32 before")                              \
  X(sum_of_bf16, "the same by a tenth, of bfloat16")                                                                   \
  X(sum_of_f8, "a kernel that declares ACCUMULATE adds to floats of 8 bits, and sets them")                            \
  X(core_number, "a block writes the number of its core in the place of its own")                                      \
  X(sum_saturates, "a kernel that declares ACCUMULATE adds to whole numbers that saturate, and doubles them")          \
  X(lane_number, "a kernel writes the number of its lane over zeros")                                                  \
  X(calls_of_thread, "a kernel counts its calls in a thread-local variable and writes the count")                      \
  X(left_by_other, "a kernel reads a thread-local variable that another kernel has left")                              \
  X(scratch_kept, "a kernel adds to scratch memory of the thread that it has not cleared")                             \
  X(local_over, "a kernel has two buffers in UB, and its cost states one")                                             \
  X(l0a_stale, "an AIC kernel sums a tile of L0A that it has not filled to its end")                                   \
  X(l0c_stale, "an AIC kernel adds to a tile of L0C that it has not cleared")                                          \
  X(written_back, "a kernel marks an element of its INPUT and puts back what was there")                               \
  X(half_left, "a kernel copies n / 2 bytes of n elements of 4 bits, and n is odd")                                    \
  X(by_clock, "a kernel draws its noise from the time")                                                                \
  X(by_core, "a kernel that waits takes the number of its core for that of its block")                                 \
  X(of_stack, "a kernel gets the address of a local variable of the orchestration")                                    \
  X(masked_in_place, "a kernel that may work in place writes the elements alone that change")

#define WORDS(tensor) ((uint32_t *)(tensor).addr)

/* ---- sums ---- */

static const struct pto_kernel_param of_sum_way[] = {ANY("x", PTO_INPUT), ANY("sum", PTO_ACCUMULATE), U64("way")};

enum { ADDS, SCALES, SETS_HALF, SETS_FIVE };

static int sum_run(const struct pto_kernel_args *a) {
  const uint32_t *x = WORDS(a->tensors[0]);
  uint32_t *sum = WORDS(a->tensors[1]);
  const uint64_t way = a->scalars[0].u64, count = element_count(&a->tensors[0]);
  for (uint64_t i = 0; i < count; i++) {
    const bool is_set = (way == SETS_HALF && i >= count / 2) || (way == SETS_FIVE && sum[i] == 5);
    sum[i] = x[i] + (is_set ? 0 : way == SCALES ? 2 * sum[i] : sum[i]);
  }
  return 0;
}
static const struct pto_kernel sum = AIV_KERNEL("sum", of_sum_way, sum_run);

static void put_sum(struct planted *p, uint64_t way) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), total = fresh(p, 1, 16);
  put_fill(p, &total, 5);
  put(p, PLAIN(sum), PARAMS(pto_input(&row), pto_accumulate(&total), pto_scalar_u64(p->is_buggy ? way : ADDS)));
  put_digest(p, &total, 0);
}
static void sum_late(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), total = fresh(p, 1, 16);
  put_fill(p, &total, 5);
  for (uint64_t i = 0; i < 12; i++)
    put(p, PLAIN(sum),
        PARAMS(pto_input(&row), pto_accumulate(&total), pto_scalar_u64(p->is_buggy && i == 8 ? SCALES : ADDS)));
  put_digest(p, &total, 0);
}
static void sum_scaled(struct planted *p) { put_sum(p, SCALES); }
static void sum_part(struct planted *p) { put_sum(p, SETS_HALF); }
static void sum_first(struct planted *p) { put_sum(p, SETS_FIVE); }

/* sum[i] = sum[i] · the scalar / 1000 + i / 7. */
static int sum_floats_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *t = &a->tensors[1];
  const float kept = (float)a->scalars[0].u64 / 1000;
  for (uint64_t i = 0; i < element_count(t); i++) {
    float value;
    if (t->dtype == PTO_BFLOAT16)
      value = pto_bf16_to_f32(((uint16_t *)t->addr)[i]);
    else
      value = ((float *)t->addr)[i];
    value = value * kept + (float)i / 7;
    if (t->dtype == PTO_BFLOAT16)
      ((uint16_t *)t->addr)[i] = pto_bf16_from_f32(value);
    else
      ((float *)t->addr)[i] = value;
  }
  return 0;
}
static const struct pto_kernel sum_floats = AIV_KERNEL("sum_floats", of_sum_way, sum_floats_run);

static void put_float_sum(struct planted *p, uint32_t dtype, uint64_t per_mille) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), bits = fresh(p, 1, 16);
  struct pto_tensor total = pto_tensor_reinterpret(&bits, dtype);
  put_fill(p, &bits, 0x41004100); /* 8 and some, as float32 and in both halves */
  put(p, PLAIN(sum_floats),
      PARAMS(pto_input(&row), pto_accumulate(&total), pto_scalar_u64(p->is_buggy ? per_mille : 1000)));
  put_digest(p, &bits, 0);
}
static void sum_decays(struct planted *p) { put_float_sum(p, PTO_FLOAT32, 990); }
static void sum_of_bf16(struct planted *p) { put_float_sum(p, PTO_BFLOAT16, 500); }

/* sum[i] += 400 · 1/64: one by one in bfloat16, where a step is lost in a large sum, or once. */
static int sum_steps_run(const struct pto_kernel_args *a) {
  uint16_t *total = a->tensors[1].addr;
  for (uint64_t i = 0; i < element_count(&a->tensors[1]); i++) {
    for (uint32_t k = 0; k < (a->scalars[0].u64 ? 400 : 0); k++)
      total[i] = pto_bf16_from_f32(pto_bf16_to_f32(total[i]) + 1.0f / 64);
    if (!a->scalars[0].u64) total[i] = pto_bf16_from_f32(pto_bf16_to_f32(total[i]) + 400.0f / 64);
  }
  return 0;
}
static const struct pto_kernel sum_steps = AIV_KERNEL("sum_steps", of_sum_way, sum_steps_run);

static void sum_of_steps(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), bits = fresh(p, 1, 16);
  struct pto_tensor total = pto_tensor_reinterpret(&bits, PTO_BFLOAT16);
  put_fill(p, &bits, 0x3f003f00); /* 1/2 */
  put(p, PLAIN(sum_steps), PARAMS(pto_input(&row), pto_accumulate(&total), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &bits, 0);
}

/* Adds 1, or leaves 5. */
static int sum_f8_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *t = &a->tensors[1];
  uint8_t *codes = t->addr;
  for (uint64_t i = 0; i < element_count(t); i++) {
    const float more = pto_small_float_to_f32(t->dtype, codes[i]) + 1;
    codes[i] = pto_small_float_from_f32(t->dtype, a->scalars[0].u64 ? 5 : more);
  }
  return 0;
}
static const struct pto_kernel sum_f8 = AIV_KERNEL("sum_f8", of_sum_way, sum_f8_run);

static void sum_of_f8(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), words = fresh(p, 1, 16);
  struct pto_tensor codes = pto_tensor_reinterpret(&words, PTO_FLOAT8_E4M3FN);
  put_fill(p, &words, 0x50505050); /* 8 */
  put(p, PLAIN(sum_f8), PARAMS(pto_input(&row), pto_accumulate(&codes), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &words, 0);
}

/* Adds 100 and 80: from where the sum begins to what has room, and from halfway there to the end of the range. */
static int8_t saturated(int value) {
  return (int8_t)(value > INT8_MAX ? INT8_MAX : value < INT8_MIN ? INT8_MIN : value);
}
static int sum_small_run(const struct pto_kernel_args *a) {
  int8_t *total = a->tensors[1].addr;
  const int times = a->scalars[0].u64 ? 2 : 1, steps[] = {a->scalars[0].u64 ? 10 : 100, a->scalars[0].u64 ? 8 : 80};
  for (uint64_t i = 0; i < element_count(&a->tensors[1]); i++)
    for (int k = 0; k < 2; k++) total[i] = saturated((k ? 1 : times) * total[i] + steps[k]);
  return 0;
}
static const struct pto_kernel sum_small = AIV_KERNEL("sum_small", of_sum_way, sum_small_run);

static void sum_saturates(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), words = fresh(p, 1, 16);
  struct pto_tensor bytes = pto_tensor_reinterpret(&words, PTO_INT8);
  put_fill(p, &words, p->is_buggy ? 0x14141414 : 0xa6a6a6a6); /* 20, −90 */
  put(p, PLAIN(sum_small), PARAMS(pto_input(&row), pto_accumulate(&bytes), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &words, 0);
}

/* ---- cores and calls ---- */

static int number_run(const struct pto_kernel_args *a) {
  const uint32_t value = a->scalars[0].u64 ? a->core->index : a->core->block_index;
  memcpy(element(&a->tensors[0], 8 * a->core->block_index), &value, sizeof value);
  for (uint64_t i = 1; i < 8; i++) memset(element(&a->tensors[0], 8 * a->core->block_index + i), 1, sizeof value);
  return 0;
}
static const struct pto_kernel number = AIV_KERNEL("number", of_out_value, number_run);

static void core_number(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, 16);
  put(p, (struct pto_launch){.aiv0 = &number, .block_count = 2}, PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}

/* Over zeros.  In the twin the lane is that of the kernel, as it has another beside it. */
static int write_lane_at(const struct pto_kernel_args *a, uint64_t first) {
  const uint32_t lane = a->core->lane - 1;
  for (uint64_t i = 0; i < 8; i++) memcpy(element(&a->tensors[0], first + i), &lane, sizeof lane);
  return 0;
}
static int low_run(const struct pto_kernel_args *a) { return write_lane_at(a, 0); }
static int high_run(const struct pto_kernel_args *a) { return write_lane_at(a, 8); }
static int no_work_run(const struct pto_kernel_args *a) {
  (void)a;
  return 0;
}
static const struct pto_kernel low = AIV_KERNEL("low", of_out_value, low_run),
                               high = AIV_KERNEL("high", of_out_value, high_run);
static const struct pto_kernel no_work = {
    .name = "no_work", .cores = PTO_AIC, .params = of_out_value, .param_count = 2, .run = no_work_run};

static void lane_number(struct planted *p) {
  const struct pto_launch pair = {.aic = &no_work, .aiv0 = &low, .aiv1 = &high};
  struct pto_tensor z = fresh(p, 1, 16);
  put_fill(p, &z, 0);
  put(p, p->is_buggy ? PLAIN(low) : pair, PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}

/* The twin has a variable of the thread too, which each call writes before it reads it. */
static int count_run(const struct pto_kernel_args *a) {
  static thread_local uint32_t calls;
  calls = a->scalars[0].u64 ? calls + 1 : 5;
  memcpy(a->tensors[0].addr, &calls, sizeof calls);
  return 0;
}
static const struct pto_kernel count = AIV_KERNEL("count", of_out_value, count_run);

static void calls_of_thread(struct planted *p) {
  for (uint64_t i = 0; i < 3; i++) {
    struct pto_tensor z = slot(p, i);
    put(p, PLAIN(count), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
  }
}

static thread_local uint32_t left;

static int leave_run(const struct pto_kernel_args *a) {
  left = (uint32_t)a->scalars[0].u64;
  memset(a->tensors[0].addr, 1, sizeof left);
  return 0;
}
static int read_left_run(const struct pto_kernel_args *a) {
  const uint32_t value = a->scalars[0].u64 ? left : 0;
  memcpy(a->tensors[0].addr, &value, sizeof value);
  return 0;
}
static const struct pto_kernel leave = AIV_KERNEL("leave", of_out_value, leave_run),
                               read_left = AIV_KERNEL("read_left", of_out_value, read_left_run);

static void left_by_other(struct planted *p) {
  struct pto_tensor z0 = slot(p, 0), z1 = slot(p, 1);
  put(p, PLAIN(leave), PARAMS(pto_output(&z0), pto_scalar_u64(7)));
  put(p, PLAIN(read_left), PARAMS(pto_output(&z1), pto_scalar_u64(p->is_buggy)));
}

/* Scratch memory grows from call to call: each frees what the one before has made. */
static int scratch_run(const struct pto_kernel_args *a) {
  static thread_local uint32_t *scratch;
  static thread_local uint64_t capacity;
  const uint64_t word_count = a->scalars[0].u64 >> 1, is_kept = a->scalars[0].u64 & 1;
  uint32_t total = 0;
  if (capacity < word_count) {
    uint32_t *grown = realloc(scratch, word_count * sizeof *grown);
    if (!grown) return PTO_ENOMEM;
    memset(grown + capacity, 0, (word_count - capacity) * sizeof *grown);
    scratch = grown;
    capacity = word_count;
  }
  for (uint64_t i = 0; i < word_count; i++) scratch[i] = (uint32_t)i + (is_kept ? scratch[i] : 0);
  for (uint64_t i = 0; i < word_count; i++) total += scratch[i];
  memcpy(a->tensors[0].addr, &total, sizeof total);
  return 0;
}
static const struct pto_kernel of_scratch = AIV_KERNEL("of_scratch", of_out_value, scratch_run);

static void scratch_kept(struct planted *p) {
  for (uint64_t i = 0; i < 4; i++) {
    struct pto_tensor z = slot(p, i);
    put(p, PLAIN(of_scratch), PARAMS(pto_output(&z), pto_scalar_u64(UINT64_C(200) << 2 * i | p->is_buggy)));
  }
}

/* ---- local memory ---- */

/* Fills as many of 16 words as the scalar's lower bits say, and sums them; bit 8: in L0C, else L0A. */
static int sum_tile_run(const struct pto_kernel_args *a) {
  uint32_t *tile = a->scalars[0].u64 & 256 ? a->core->l0c.addr : a->core->l0a.addr, total = 0;
  for (uint32_t i = 0; i < (a->scalars[0].u64 & 255); i++) tile[i] = i;
  for (uint32_t i = 0; i < 16; i++) total += tile[i];
  memcpy(a->tensors[0].addr, &total, sizeof total);
  return 0;
}
static const struct pto_kernel sum_tile = {
    .name = "sum_tile", .cores = PTO_AIC, .params = of_out_value, .param_count = 2, .run = sum_tile_run};

static void put_tile(struct planted *p, uint64_t filled, uint64_t where) {
  struct pto_tensor z = slot(p, 0);
  put(p, (struct pto_launch){.aic = &sum_tile},
      PARAMS(pto_output(&z), pto_scalar_u64(where | (p->is_buggy ? filled : 16))));
}
static void l0a_stale(struct planted *p) { put_tile(p, 15, 0); }
static void l0c_stale(struct planted *p) { put_tile(p, 0, 256); }

/* z = 2 x, by way of one buffer in UB, or of a second one behind it. */
static int double_local_run(const struct pto_kernel_args *a) {
  const uint64_t numel = element_count(&a->tensors[0]);
  uint32_t *from = a->core->local.addr, *to = from + (a->scalars[0].u64 ? numel : 0);
  memcpy(from, a->tensors[0].addr, numel * sizeof *from);
  for (uint64_t i = 0; i < numel; i++) to[i] = 2 * from[i];
  memcpy(a->tensors[1].addr, to, numel * sizeof *to);
  return 0;
}
static struct pto_cost cost_of_one_buffer(const struct pto_kernel_args *a) {
  const uint64_t size_bytes = element_count(&a->tensors[0]) * sizeof(uint32_t);
  return (struct pto_cost){.bytes_in = size_bytes, .bytes_out = size_bytes, .local_bytes = size_bytes};
}
static const struct pto_kernel_param of_double_local[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("way")};
static const struct pto_kernel double_local = {.name = "double_local",
                                               .cores = PTO_AIV,
                                               .params = of_double_local,
                                               .param_count = 3,
                                               .run = double_local_run,
                                               .cost = cost_of_one_buffer};

static void local_over(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), z = fresh(p, 1, 16);
  put(p, PLAIN(double_local), PARAMS(pto_input(&row), pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
}

/* ---- what is as it was ---- */

/* z = x, with a mark in x meanwhile.  The compiler must not see that the mark goes. */
static int mark_run(const struct pto_kernel_args *a) {
  uint32_t *x = WORDS(a->tensors[0]);
  const uint32_t first = x[0];
  if (a->scalars[0].u64) {
    memset(x, 0xff, sizeof first);
    __asm__("" : : "r"(x) : "memory");
  }
  memcpy(a->tensors[1].addr, &first, sizeof first);
  if (a->scalars[0].u64) memcpy(x, &first, sizeof first);
  return 0;
}
static const struct pto_kernel_param of_in_out_way[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("way")};
static const struct pto_kernel mark = AIV_KERNEL("mark", of_in_out_way, mark_run);

static void written_back(struct planted *p) {
  struct pto_tensor x = array_x(p), z = slot(p, 0);
  put(p, PLAIN(mark), PARAMS(pto_input(&x), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

/* z = x, of elements of 4 bits, two a byte. */
static int copy_nibbles_run(const struct pto_kernel_args *a) {
  memcpy(a->tensors[1].addr, a->tensors[0].addr, (element_count(&a->tensors[0]) + !a->scalars[0].u64) / 2);
  return 0;
}
static const struct pto_kernel copy_nibbles = AIV_KERNEL("copy_nibbles", of_in_out_way, copy_nibbles_run);

static struct pto_tensor nibbles_of(const struct pto_tensor *t, uint64_t numel) {
  const struct pto_tensor nibbles = pto_tensor_reinterpret(t, PTO_INT4);
  return pto_tensor_slice(&nibbles, 0, 0, numel, 1);
}
static void half_left(struct planted *p) {
  const struct pto_tensor x_array = array_x(p), z_array = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));
  const struct pto_tensor words = pto_tensor_reshape(&x_array, 1, (const uint64_t[]){PLANTED_ROWS * PLANTED_COLUMNS});
  const struct pto_tensor x = nibbles_of(&words, 13), z = nibbles_of(&z_array, 13);
  put(p, PLAIN(copy_nibbles), PARAMS(pto_input(&x), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

/* z = noise that begins with 77, or, where the scalar says so, with the time. */
static int draw_noise_run(const struct pto_kernel_args *a) {
  uint64_t now_ns;
  const int status = pto_core_now(a, &now_ns);
  if (status) return status;
  uint32_t noise = a->scalars[0].u64 ? (uint32_t)now_ns : 77;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++) {
    noise = noise * 1664525u + 1013904223u;
    memcpy(element(&a->tensors[0], i), &noise, sizeof noise);
  }
  return 0;
}
static const struct pto_kernel draw_noise = {.name = "draw_noise",
                                             .cores = PTO_AIV,
                                             .flags = PTO_KERNEL_WAITS,
                                             .params = of_out_value,
                                             .param_count = 2,
                                             .run = draw_noise_run};

static void by_clock(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(draw_noise), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

/* z = the number of the block, or of the core, behind a barrier. */
static int say_place_run(const struct pto_kernel_args *a) {
  const int status = pto_core_barrier(a);
  const uint32_t place = a->scalars[0].u64 ? a->core->index : a->core->block_index;
  if (status == 0) memcpy(a->tensors[0].addr, &place, sizeof place);
  return status;
}
static const struct pto_kernel say_place = {.name = "say_place",
                                            .cores = PTO_AIV,
                                            .flags = PTO_KERNEL_WAITS,
                                            .params = of_out_value,
                                            .param_count = 2,
                                            .run = say_place_run};

static void by_core(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(say_place), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

/* z = the scalar, or what lies where it says. */
static int load_run(const struct pto_kernel_args *a) {
  uint32_t word = (uint32_t)a->scalars[0].u64;
  if (a->scalars[0].u64 > UINT32_MAX) memcpy(&word, (const void *)(uintptr_t)a->scalars[0].u64, sizeof word);
  memcpy(a->tensors[0].addr, &word, sizeof word);
  return 0;
}
static const struct pto_kernel load = AIV_KERNEL("load", of_out_value, load_run);

static void of_stack(struct planted *p) {
  uint32_t value = 41;
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(load), PARAMS(pto_output(&z), pto_scalar_u64(p->is_buggy ? (uint64_t)(uintptr_t)&value : value)));
}

/* z = the even ones of x, and 0 for the odd ones; where the scalar says so, these alone are written. */
static int mask_run(const struct pto_kernel_args *a) {
  const uint32_t *x = WORDS(a->tensors[0]);
  uint32_t *z = WORDS(a->tensors[1]);
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++)
    if (x[i] % 2 || !a->scalars[0].u64) z[i] = x[i] % 2 ? 0 : x[i];
  return 0;
}
static const struct pto_kernel_param of_mask[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("way")};
static const struct pto_kernel mask = {.name = "mask",
                                       .cores = PTO_AIV,
                                       .flags = PTO_KERNEL_IN_PLACE,
                                       .params = of_mask,
                                       .param_count = 3,
                                       .run = mask_run};

/* In place; nothing reads the last of the columns, so that a twin may leave it. */
static void masked_in_place(struct planted *p) {
  struct pto_tensor z = fresh(p, 1, 16);
  put_fill(p, &z, 5);
  put(p, PLAIN(mask), PARAMS(pto_input(&z), pto_output(&z), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &z, 0);
  if (p->is_buggy) return;
  struct pto_tensor wide = fresh(p, 1, 16), part = box(&wide, 0, 0, 1, 1);
  put_fill(p, &wide, 2); /* which is even: nothing but the odd ones would be written */
  put(p, PLAIN(mask), PARAMS(pto_input(&wide), pto_output(&wide), pto_scalar_u64(0)));
  put_digest(p, &part, 1);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_promises", .summary = "kernels that do not do what they are declared to do");
