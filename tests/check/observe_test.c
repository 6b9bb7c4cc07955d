/* SPDX-License-Identifier: MIT */
/*
 * Observed accesses: kernels that read their outputs, write their inputs, leave something out, or depend on what no
 * task declares, and the same tasks without the mistake; and what observing promises besides. What lies outside of what
 * a task declares is in observe_bounds_test.c. What a case is: tests/support/observe_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/observe/observe.h>
#include <runtime/base/reserve.h>
#include <tests/support/observe_fixture.h>

/* ---- kernels ---- */

RUN(fill_most) {
  for (uint64_t i = MISTAKE(a) * 3; i < numel(a, 0); i++) X(a, 0)[i] = (float)i;
  return 0;
}
KERNEL(fill_most, 2, OUT);

RUN(add_into) { /* z = x, and one element of z is added to */
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = i == 5 && MISTAKE(a) ? X(a, 1)[i] + X(a, 0)[i] : X(a, 0)[i];
  return 0;
}
KERNEL(add_into, 3, IN, OUT);

RUN(add_all) { /* z += x, or z = x */
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = (MISTAKE(a) ? X(a, 1)[i] : 0) + X(a, 0)[i];
  return 0;
}
KERNEL(add_all, 3, IN, OUT);

RUN(maximum) { /* of x, and of what z was: less than anything is no other value */
  for (uint64_t i = 0; i < numel(a, 1); i++) {
    const float x = X(a, 0)[i * a->tensors[0].strides[0]];
    X(a, 1)[i] = MISTAKE(a) && X(a, 1)[i] > x ? X(a, 1)[i] : x;
  }
  return 0;
}
KERNEL(maximum, 3, IN, OUT);

RUN(count_up) { /* as often as z says */
  const uint32_t times = MISTAKE(a) ? *(uint32_t *)a->tensors[1].addr : 3;
  float sum = 0;
  for (uint32_t i = 0; i < times; i++) sum = sum * 0.5f + X(a, 0)[i % 8];
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = sum;
  return 0;
}
KERNEL(count_up, 3, IN, OUT);

RUN(spoil_input) {
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = X(a, 0)[i];
  if (MISTAKE(a)) X(a, 0)[3] += 1;
  return 0;
}
KERNEL(spoil_input, 3, IN, OUT);

RUN(look_up) { /* z[0] = x[k], k out of what z was */
  const uint32_t *index = a->tensors[1].addr;
  const uint64_t k = MISTAKE(a) ? (uint64_t)index[0] << 20 : 1;
  X(a, 1)[0] = X(a, 0)[k];
  return 0;
}
KERNEL(look_up, 3, IN, OUT);

/* The same beside a core that waits until it is told: where the first faults, the other is left waiting. */
RUN(look_up_and_tell) {
  const int status = look_up(a);
  return status ? status : pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIC), 0);
}
RUN(wait_for_it) { return pto_core_wait(a, 0); }
static const struct pto_kernel look_up_and_tell_kernel = {.name = "look_up_and_tell",
                                                          .cores = PTO_AIV,
                                                          .flags = PTO_KERNEL_WAITS,
                                                          .params = LIST(IN, OUT),
                                                          .param_count = 3,
                                                          .run = look_up_and_tell},
                               wait_for_it_kernel = {.name = "wait_for_it",
                                                     .cores = PTO_AIC,
                                                     .flags = PTO_KERNEL_WAITS,
                                                     .params = LIST({.name = "x"}, {.name = "z"}),
                                                     .param_count = 3,
                                                     .run = wait_for_it};

/* And beside one that has returned by then. */
RUN(return_at_once) { return 0; }
static const struct pto_kernel look_up_later_kernel = {.name = "look_up_later",
                                                       .cores = PTO_AIV,
                                                       .flags = PTO_KERNEL_WAITS,
                                                       .params = LIST(IN, OUT),
                                                       .param_count = 3,
                                                       .run = look_up},
                               return_at_once_kernel = {.name = "return_at_once",
                                                        .cores = PTO_AIC,
                                                        .flags = PTO_KERNEL_WAITS,
                                                        .params = LIST({.name = "x"}, {.name = "z"}),
                                                        .param_count = 3,
                                                        .run = return_at_once};

static uint32_t calls;
RUN(count) {
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = MISTAKE(a) ? (float)calls++ : 1;
  return 0;
}
KERNEL(count, 2, OUT);

static uint32_t stays_calls;
RUN(stays) { /* by a mistake for ever, but for the first call */
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = 1;
  if (MISTAKE(a) && stays_calls++)
    for (;;) {
    }
  return 0;
}
KERNEL(stays, 2, OUT);

RUN(use_local) { /* what it left in local memory before, or has put there now */
  float *local = a->core->local.addr;
  if (!MISTAKE(a)) local[7] = 3;
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = local[7];
  return 0;
}
RUN(use_far_local) { /* more than its cost says, which is nothing */
  float *local = a->core->local.addr;
  if (!MISTAKE(a)) memset(local + 5000, 0, 3 * sizeof *local);
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = local[5000] + local[5002];
  return 0;
}
static const struct pto_kernel use_far_local_kernel = {
    .name = "use_far_local", .cores = PTO_AIV, .params = LIST(OUT), .param_count = 2, .run = use_far_local};
static struct pto_cost local_cost(const struct pto_kernel_args *a) { return (struct pto_cost){.local_bytes = 64}; }
RUN(fill_local) { /* a cache line, as its cost says; by a mistake half of the next one too */
  float *local = a->core->local.addr;
  for (uint64_t i = 0; i < (MISTAKE(a) ? 24 : 16); i++) local[i] = (float)i + 1;
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = local[i];
  return 0;
}
static const struct pto_kernel fill_local_kernel = {.name = "fill_local",
                                                    .cores = PTO_AIV | PTO_AIC,
                                                    .params = LIST(OUT),
                                                    .param_count = 2,
                                                    .run = fill_local,
                                                    .cost = local_cost};
RUN(fill_local_alone) { /* as much, and no tensor */
  float *local = a->core->local.addr;
  for (uint64_t i = 0; i < (MISTAKE(a) ? 32 : 16); i++) local[i] = 1;
  return 0;
}
static const struct pto_kernel fill_local_first_kernel = {.name = "fill_local_first",
                                                          .cores = PTO_AIV,
                                                          .flags = PTO_KERNEL_WAITS,
                                                          .params = LIST(OUT),
                                                          .param_count = 2,
                                                          .run = fill_local,
                                                          .cost = local_cost},
                               fill_local_too_kernel = {.name = "fill_local_too",
                                                        .cores = PTO_AIV,
                                                        .flags = PTO_KERNEL_WAITS,
                                                        .params = LIST({.name = "z"}),
                                                        .param_count = 2,
                                                        .run = fill_local_alone,
                                                        .cost = local_cost};
static const struct pto_kernel use_local_kernel = {
    .name = "use_local", .cores = PTO_AIV, .params = LIST(OUT), .param_count = 2, .run = use_local, .cost = local_cost};

RUN(absolute) { /* in place, where equal values are written */
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = X(a, 0)[i] < 0 ? -X(a, 0)[i] : X(a, 0)[i];
  return 0;
}
static const struct pto_kernel absolute_kernel = {.name = "absolute",
                                                  .cores = PTO_AIV,
                                                  .flags = PTO_KERNEL_IN_PLACE,
                                                  .params = LIST(IN, OUT),
                                                  .param_count = 3,
                                                  .run = absolute};

RUN(accumulate) {
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] += 1;
  return 0;
}
KERNEL(accumulate, 2, SUM);

RUN(adds_or_sets) {
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = (MISTAKE(a) ? 0 : X(a, 0)[i]) + 1;
  return 0;
}
KERNEL(adds_or_sets, 2, SUM);

RUN(tell_time) { /* z = 1, or 1 more than the time */
  uint64_t now_ns;
  const int status = pto_core_now(a, &now_ns);
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = 1 + (MISTAKE(a) ? (float)now_ns : 0);
  return status;
}
static const struct pto_kernel tell_time_kernel = {.name = "tell_time",
                                                   .cores = PTO_AIV,
                                                   .flags = PTO_KERNEL_WAITS,
                                                   .params = LIST(OUT),
                                                   .param_count = 2,
                                                   .run = tell_time};

RUN(through_the_heap) {
  const uint64_t bytes = numel(a, 0) * sizeof(float);
  float *tile = malloc(bytes);
  if (!tile) return 1;
  memcpy(tile, X(a, 0), bytes);
  memcpy(X(a, 1), tile, bytes);
  free(tile);
  return 0;
}
KERNEL(through_the_heap, 3, IN, OUT);

RUN(nibbles) { /* an odd number of them: the last byte's other half stays; by a mistake all of it does */
  uint8_t *z = a->tensors[0].addr;
  memset(z, 0x21, numel(a, 0) / 2);
  if (MISTAKE(a)) return 0;
  z[numel(a, 0) / 2] = (uint8_t)((z[numel(a, 0) / 2] & 0xf0) | 1);
  return 0;
}
KERNEL(nibbles, 2, OUT);

RUN(nibbles_of_block) { /* 14 a block, the last one's 13 */
  uint8_t *z = (uint8_t *)a->tensors[0].addr + (uint64_t)a->core->block_index * 7;
  const bool is_last = a->core->block_index + 1 == a->core->block_count;
  memset(z, 0x21, is_last ? 6 : 7);
  if (is_last) z[6] = (uint8_t)((z[6] & 0xf0) | 1);
  return 0;
}
KERNEL(nibbles_of_block, 2, OUT);

RUN(add_nibbles) { /* z = x + 1 of one 4-bit element; by a mistake plus what z was, which its half of a byte tells */
  uint8_t *z = a->tensors[1].addr;
  const uint8_t sum = (uint8_t)(*(const uint8_t *)a->tensors[0].addr + 1 + (MISTAKE(a) ? *z : 0));
  *z = (uint8_t)((*z & 0xf0) | (sum & 15));
  return 0;
}
KERNEL(add_nibbles, 3, IN, OUT);

/* ---- orchestrations ---- */

BODY(reads_an_output) {
  struct pto_tensor x = part(&w.ta, 0, 256, 1), z = fresh(rt, PTO_FLOAT32, 256);
  return two(rt, &add_into_kernel, &x, &z, w.mistake);
}
BODY(adds_to_an_output) {
  struct pto_tensor x = part(&w.ta, 0, 256, 1), z = part(&w.tout, 0, 256, 1);
  return two(rt, &add_all_kernel, &x, &z, w.mistake);
}
BODY(adds_to_a_large_output) { return two(rt, &add_all_kernel, &w.ta, &w.tout, w.mistake); }
BODY(adds_to_outputs) {
  int status = PTO_OK;
  for (int i = 0; i < 6 && !status; i++) status = adds_to_an_output(rt);
  return status;
}
BODY(takes_a_maximum) {
  struct pto_tensor x = part(&w.ta, 0, 16, 1), z = part(&w.tout, 0, 16, 1);
  return two(rt, &maximum_kernel, &x, &z, w.mistake);
}
BODY(takes_a_maximum_here_and_there) {
  struct pto_tensor x = part(&w.ta, 1, 33, 2), z = part(&w.tb, 0, 16, 1); /* 2, 4, …, and 5 */
  return two(rt, &maximum_kernel, &x, &z, w.mistake);
}
BODY(counts_by_an_output) {
  struct pto_tensor x = part(&w.ta, 0, 8, 1), z = part(&w.tout, 0, 1, 1);
  return two(rt, &count_up_kernel, &x, &z, w.mistake);
}
BODY(counts_by_the_first_of_two) {
  struct pto_tensor x = part(&w.ta, 0, 8, 1), z = part(&w.tout, 0, 2, 1);
  return two(rt, &count_up_kernel, &x, &z, w.mistake);
}

BODY(writes_an_input) {
  struct pto_tensor x = part(&w.tb, 0, 256, 1), z = fresh(rt, PTO_FLOAT32, 256);
  return two(rt, &spoil_input_kernel, &x, &z, w.mistake);
}

BODY(reads_what_is_not_written) {
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 256), z = fresh(rt, PTO_FLOAT32, 256);
  FIRST(w.mistake ? pto_alloc_tensors(rt, &x, 1, NULL) : one(rt, &fill_kernel, &x, 0));
  return status ? status : two(rt, &copy_kernel, &x, &z, 0);
}
BODY(reads_by_the_host) {
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 16);
  const uint64_t at = 3;
  float value = 1;
  FIRST(pto_alloc_tensors(rt, &x, 1, NULL));
  if (!status && !w.mistake) status = pto_write_element(rt, &x, &at, &value);
  return status ? status : pto_read_element(rt, &x, &at, &value);
}
/* Each half of z has a task that writes it, if its predicate holds. */
BODY(reads_what_was_skipped) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16), flag = fresh(rt, PTO_UINT64, 1), to = part(&w.tout, 0, 8, 1);
  struct pto_tensor halves[] = {part(&z, 0, 8, 1), part(&z, 8, 16, 1)};
  const struct pto_launch launch = {.aiv0 = &fill_kernel, .predicate = {&flag, PTO_IF_LT, 3}};
  FIRST(pto_alloc_tensors(rt, (struct pto_tensor[]){z, flag}, 2, NULL));
  if (!status) status = pto_write_element(rt, &flag, (uint64_t[]){0}, (uint64_t[]){w.mistake ? UINT64_MAX : 2});
  for (int i = 0; i < 2 && !status; i++)
    status = pto_submit(rt, &launch, (struct pto_param[]){pto_output(&halves[i]), pto_scalar_u64(0)}, 2, NULL);
  return status ? status : two(rt, &copy_kernel, &halves[0], &to, 0);
}

BODY(reads_what_was_left) {
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 256), z = fresh(rt, PTO_FLOAT32, 256);
  FIRST(one(rt, &fill_most_kernel, &x, w.mistake));
  return status ? status : two(rt, &copy_kernel, &x, &z, 0);
}
BODY(reads_what_was_left_old) {
  struct pto_tensor x = part(&w.tout, 0, 16, 1), z = fresh(rt, PTO_FLOAT32, 16);
  FIRST(one(rt, &fill_kernel, &x, 0));
  if (!status) status = one(rt, &fill_most_kernel, &x, w.mistake);
  return status ? status : two(rt, &copy_kernel, &x, &z, 0);
}
BODY(leaves_an_array) { return one(rt, &fill_most_kernel, &w.tout, w.mistake); }
BODY(leaves_what_no_task_reads) {
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 256), y = part(&x, 3, 256, 1), z = fresh(rt, PTO_FLOAT32, 253);
  FIRST(one(rt, &fill_most_kernel, &x, 1));
  return status ? status : two(rt, &copy_kernel, &y, &z, 0);
}
static struct pto_tensor nibbles_at(struct pto_runtime *rt, float *array, uint64_t n) {
  return pto_external_tensor(rt, array, PTO_INT4, 1, &n);
}
BODY(leaves_half_a_byte) {
  struct pto_tensor z = nibbles_at(rt, w.out, 77);
  return one(rt, &nibbles_kernel, &z, w.mistake);
}
BODY(reads_half_a_byte) {
  struct pto_tensor x = nibbles_at(rt, w.a, 1), z = nibbles_at(rt, w.out, 1);
  return two(rt, &add_nibbles_kernel, &x, &z, w.mistake);
}
BODY(looks_up_by_an_output) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 1);
  return two(rt, &look_up_kernel, &w.ta, &z, w.mistake);
}

static int look_up_twice(struct pto_runtime *rt, const struct pto_kernel *beside, const struct pto_kernel *looks_up) {
  const struct pto_launch launch = {.aic = beside, .aiv0 = looks_up};
  struct pto_tensor z[2] = {fresh(rt, PTO_FLOAT32, 1), fresh(rt, PTO_FLOAT32, 1)};
  int status = PTO_OK;
  for (int i = 0; i < 2 && !status; i++) { /* the second on cores that were given up in between */
    struct pto_param params[] = {pto_input(&w.ta), pto_output(&z[i]), pto_scalar_u64(i ? 0 : w.mistake)};
    status = pto_submit(rt, &launch, params, 3, NULL);
  }
  return status;
}
BODY(looks_up_beside_a_core_that_waits) { return look_up_twice(rt, &wait_for_it_kernel, &look_up_and_tell_kernel); }
BODY(looks_up_beside_a_core_that_has_returned) {
  return look_up_twice(rt, &return_at_once_kernel, &look_up_later_kernel);
}

BODY(sets_a_sum_late) { /* in the ninth of twelve calls that are alike but for a scalar */
  struct pto_tensor sum = part(&w.tb, 0, 16, 1);
  int status = PTO_OK;
  for (int i = 0; i < 12 && !status; i++) status = one(rt, &adds_or_sets_kernel, &sum, i == 8 ? w.mistake : 0);
  return status;
}
BODY(tells_the_time) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  return one(rt, &tell_time_kernel, &z, w.mistake);
}
BODY(counts_its_calls) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  return one(rt, &count_kernel, &z, w.mistake);
}
BODY(comes_back_once) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  return one(rt, &stays_kernel, &z, w.mistake);
}
BODY(reads_far_local_memory) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  return one(rt, &use_far_local_kernel, &z, w.mistake);
}
BODY(fills_local_memory) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  return one(rt, &fill_local_kernel, &z, w.mistake);
}
BODY(fills_l1) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  struct pto_param params[] = {pto_output(&z), pto_scalar_u64(w.mistake)};
  return pto_submit(rt, &(struct pto_launch){.aic = &fill_local_kernel}, params, 2, NULL);
}
BODY(fills_local_memory_of_two_cores) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  struct pto_param params[] = {pto_output(&z), pto_scalar_u64(w.mistake)};
  const struct pto_launch launch = {.aiv0 = &fill_local_first_kernel, .aiv1 = &fill_local_too_kernel};
  return pto_submit(rt, &launch, params, 2, NULL);
}
BODY(reads_old_local_memory) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  return one(rt, &use_local_kernel, &z, w.mistake);
}

/* Arrays of the heap, and a kernel that takes its tile from there: what malloc keeps lies before each, and no other
 * memory of the heap as near as what is looked at. */
BODY(uses_the_heap) {
  static float *arrays[2];
  const uint64_t n = 24, beside = 14;
  struct pto_tensor x, z;
  for (int i = 0; i < 2; i++) {
    free(arrays[i]);
    arrays[i] = calloc(n + 2 * beside, sizeof *arrays[i]);
  }
  x = pto_external_tensor(rt, arrays[0] + beside, PTO_FLOAT32, 1, &n);
  z = pto_external_tensor(rt, arrays[1] + beside, PTO_FLOAT32, 1, &n);
  int status = two(rt, &through_the_heap_kernel, &x, &z, 0);
  return status ? status : two(rt, &through_the_heap_kernel, &x, &z, 0);
}

/* All that looks like a mistake and is none. */
BODY(is_right) {
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 16), y = fresh(rt, PTO_FLOAT32, 16), odd = fresh(rt, PTO_INT4, 77);
  struct pto_tensor sums = part(&w.tb, 0, 64, 1), positive = part(&w.ta, 0, 16, 1), parts = nibbles_at(rt, w.out, 55);
  FIRST(pto_alloc_tensors(rt, &x, 1, NULL));
  for (uint64_t i = 0; i < 16 && !status; i++) status = pto_write_element(rt, &x, &i, &(float){-(float)i});
  if (!status) status = two(rt, &copy_kernel, &x, &y, 0);
  if (!status) status = two(rt, &absolute_kernel, &y, &y, 0);
  if (!status) status = two(rt, &absolute_kernel, &positive, &positive, 0); /* nothing changes */
  if (!status) status = one(rt, &nibbles_kernel, &odd, 0);
  if (!status) status = blocks(rt, &nibbles_of_block_kernel, &parts);
  if (!status) status = blocks(rt, &accumulate_kernel, &sums);
  return status;
}

static const struct planted planted[] = {
    {"a read of an element of an OUTPUT is found",
     reads_an_output,
     {{"read output", "reads bytes [20, 24) of buffer 4,", "declare param 1 INOUT"}}},
    {"a read of all of an OUTPUT is found",
     adds_to_an_output,
     {{"read output", "reads bytes [0, 1024) of array out", "declare param 1 INOUT"}}},
    {"of a large OUTPUT that is read the ends are exact",
     adds_to_a_large_output,
     {{"read output", "reads some of bytes [0, 16384) of array out"}}},
    {"a read that shows over positive values alone is found",
     takes_a_maximum,
     {{"read output", "reads bytes [0, 64) of array out", "declare param 1 INOUT"}}},
    {"a read that shows over one kind of values here, over the other there is found whole",
     takes_a_maximum_here_and_there,
     {{"read output", "reads bytes [0, 64) of array b", "declare param 1 INOUT"}}},
    {"a read that keeps the kernel from coming back is found",
     counts_by_an_output,
     {{"read output", "reads bytes [0, 4) of array out", "with other values there, it does not come back"}}},
    {"the same where the last run of the search comes back",
     counts_by_the_first_of_two,
     {{"read output", "reads bytes [0, 4) of array out", "with other values there, it does not come back"}}},
    {"a write through an INPUT is found",
     writes_an_input,
     {{"write input", "writes bytes [12, 16) of array b", "declare param 0 INOUT"}}},
    {"a read of what is not written is found",
     reads_what_is_not_written,
     {{"read unwritten", "reads bytes [0, 1024) of buffer 4, which nobody has written"}}},
    {"a read by the host of what is not written is found",
     reads_by_the_host,
     {{"read unwritten", "the host reads bytes [12, 16) of buffer 4, which nobody has written"}}},
    {"a read of what a task would have written that its predicate skipped is found, and the task",
     reads_what_was_skipped,
     {{"read unwritten",
       "task 3 (copy) reads bytes [0, 32) of buffer 4, which nobody has written, through param 0 x (input): task 1 "
       "(fill), which declares to write them, was skipped: its predicate, bytes [0, 8) of buffer 5 < 3, found "
       "18446744073709551615; ",
       "byte 0 of array out"}}},
    {"a read of what a task left out is found, and the task",
     reads_what_was_left,
     {{"read unwritten", "task 1 (copy) reads bytes [0, 12) of buffer 4, which task 0"},
      {"not written", "task 0 (fill_most) does not write bytes [0, 12) of buffer 4,"}}},
    {"a read of what is older than a task that left it out is found, and the task",
     reads_what_was_left_old,
     {{"read unwritten", "task 2 (copy) reads bytes [0, 12) of array out", "which task 1 declares to write"},
      {"not written", "task 1 (fill_most) does not write bytes [0, 12) of array out"}}},
    {"what no task writes of an array is found",
     leaves_an_array,
     {{"not written", "does not write bytes [0, 12) of array out"}}},
    {"the last element of an odd number of 4-bit ones that is left is found",
     leaves_half_a_byte,
     {{"not written", "does not write bytes [38, 39) of array out"}}},
    {"a read of the last of an odd number of 4-bit elements of an OUTPUT is found",
     reads_half_a_byte,
     {{"read output", "reads bytes [0, 1) of array out"}}},
    {"what is left out and not read is no finding", leaves_what_no_task_reads, {{NULL}}},
    {"a read that ends in a signal is found",
     looks_up_by_an_output,
     {{"read output", "reads bytes [0, 4) of buffer 4,", "it ends in a signal"}}},
    {"a read that ends in a signal is found while another core waits",
     looks_up_beside_a_core_that_waits,
     {{"read output", "reads bytes [0, 4) of buffer 4,", "it ends in a signal"}}},
    {"a read that ends in a signal is found when another core has returned",
     looks_up_beside_a_core_that_has_returned,
     {{"read output", "reads bytes [0, 4) of buffer 4,", "it ends in a signal"}}},
    {"a kernel that counts its calls is unstable", counts_its_calls, {{"unstable", "task 0 (count) is run twice"}}},
    {"a kernel that comes back once is unstable",
     comes_back_once,
     {{"unstable", "task 0 (stays) is run twice over the same bytes, and the second time it does not come back:"}}},
    {"a sum that one call of many sets is found where a scalar says so",
     sets_a_sum_late,
     {{"mode", "of task 8 (adds_or_sets), byte 0 of array b"}}},
    {"a result that is made of the time is found",
     tells_the_time,
     {{"unstable", "task 0 (tell_time) depends on the time (pto_core_now): at another time, byte"}}},
    {"a read of old local memory is found",
     reads_old_local_memory,
     {{"read unwritten", "not written itself: bytes [28, 32) of the core's UB"}}},
    {"local memory that the cost does not state is found",
     fills_local_memory,
     {{"local", "writes bytes [64, 96) of the core's UB, and its cost states 64 of it", "`.local_bytes = 96`"}}},
    {"the same of L1", fills_l1, {{"local", "writes bytes [64, 96) of the core's L1, and its cost states 64 of it"}}},
    {"of two cores that do so the first is told",
     fills_local_memory_of_two_cores,
     {{"local", "writes bytes [64, 96) of AIV0's UB, and its cost states 64 of it"}}},
    {"of a read of local memory that no cost states the ends are exact",
     reads_far_local_memory,
     {{"read unwritten", "some of bytes [20000, 20012) of the core's UB"}}},
    {"a tile of the heap beside arrays of the heap is no finding", uses_the_heap, {{NULL}}},
    {"host writes, updates in place, odd nibbles and sums are no findings", is_right, {{NULL}}},
};

/* ---- other promises ---- */

static void the_same_mistake_is_one_line(void **state) {
  const struct planted six = {.body = adds_to_outputs};
  const struct pto_observe_options all = {0};
  struct run result;
  run(&six, 1, &all, &result);
  if (result.findings.total != 6) print_all(&result.findings);
  assert_int_equal(result.findings.total, 6);
  assert_int_equal(result.findings.items[0].more, 5);
  assert_true(result.summary.runs < 4 * 512); /* a search of 256 elements takes 511 and more: two were made */
  pto_findings_fini(&result.findings);
}

static void what_is_not_looked_at_counts_as_written(void **state) {
  const struct planted chain = {.body = reads_what_was_left};
  struct run result;
  run(&chain, 1, &(struct pto_observe_options){.has_tasks = true, .first_task = 1, .last_task = 1}, &result);
  assert_int_equal(result.findings.total, 0);
  pto_findings_fini(&result.findings);
}

static void another_engine_is_refused(void **state) {
  const struct pto_config config = {.size = sizeof config, .engine = "virtual"};
  const struct pto_observe_options all = {0};
  struct pto_runtime *rt;
  struct pto_observation *observation = NULL;
  struct pto_findings findings;
  struct pto_error error;
  pto_findings_init(&findings);
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_int_equal(pto_observation_create(rt, &all, &findings, &observation, &error), PTO_EINVAL);
  assert_null(observation);
  assert_string_equal(error.sentence, "a runtime on engine virtual cannot be observed");
  pto_runtime_destroy(rt);
}

static struct run another_run;
BODY(observes_another_run) {
  const struct planted another = {.body = writes_an_input};
  const struct world own = w;
  run(&another, 1, &(struct pto_observe_options){0}, &another_run);
  w = own; /* with tensors of this runtime */
  return writes_an_input(rt);
}
static void a_run_within_an_observed_one_is_not_observed_and_says_so(void **state) {
  const struct planted outer = {.body = observes_another_run};
  const struct pto_observe_options all = {0};
  struct run result;
  struct pto_error error;
  run(&outer, 1, &all, &result);
  assert_int_equal(another_run.status, PTO_OK);
  assert_int_equal(another_run.findings.total, 0);
  assert_int_equal(another_run.summary.calls, 0);
  assert_true(pto_observe_summary_fails(&another_run.summary, &error));
  assert_string_equal(error.sentence, "another run of this process is being observed");
  assert_int_equal(result.status, PTO_OK);
  assert_int_equal(result.findings.total, 1);
  assert_false(pto_observe_summary_fails(&result.summary, &error));
  pto_findings_fini(&another_run.findings);
  pto_findings_fini(&result.findings);
}

static void creation_survives_each_refused_reservation(void **state) {
  const struct pto_config config = {.size = sizeof config, .engine = "observe"};
  const struct pto_observe_options all = {0};
  struct pto_runtime *rt;
  struct pto_observation *observation = NULL;
  struct pto_findings findings;
  struct pto_error error;
  pto_findings_init(&findings);
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  uint32_t failures = 0;
  for (;; failures++) {
    pto_reserve_fail_countdown = failures + 1;
    const int status = pto_observation_create(rt, &all, &findings, &observation, &error);
    if (status == PTO_OK) break;
    assert_int_equal(status, PTO_ENOMEM);
  }
  pto_reserve_fail_countdown = 0;
  assert_true(failures > 5);
  pto_observation_destroy(observation);
  pto_runtime_destroy(rt);
}

int main(void) {
  const struct CMUnitTest others[] = {cmocka_unit_test(the_same_mistake_is_one_line),
                                      cmocka_unit_test(what_is_not_looked_at_counts_as_written),
                                      cmocka_unit_test(another_engine_is_refused),
                                      cmocka_unit_test(a_run_within_an_observed_one_is_not_observed_and_says_so),
                                      cmocka_unit_test(creation_survives_each_refused_reservation)};
  return run_planted("observe", planted, PTO_ARRAY_LENGTH(planted), others, PTO_ARRAY_LENGTH(others));
}
