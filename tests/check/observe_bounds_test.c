/* SPDX-License-Identifier: MIT */
/*
 * Observed accesses: kernels that touch what lies outside of what their task, block or core declares, and the same
 * tasks without the mistake. What a case is: tests/support/observe_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <check/observe/observe.h>
#include <tests/support/observe_fixture.h>

/* ---- kernels ---- */

RUN(sum_grid) { /* rows of x, each too long by a mistake, with the strides that x states */
  const struct pto_kernel_tensor *x = &a->tensors[0];
  float sum = 0;
  for (uint64_t i = 0; i < x->shape[0]; i++)
    for (uint64_t k = 0; k < x->shape[1] + MISTAKE(a); k++) sum += X(a, 0)[i * x->strides[0] + k * x->strides[1]];
  X(a, 1)[0] = sum;
  return 0;
}
KERNEL(sum_grid, 3, IN, OUT);

RUN(sum_masked) { /* in vectors of 8, of which the last may have lanes times 0 */
  const uint64_t n = numel(a, 0), end = MISTAKE(a) ? pto_align_up(n, 8) : n;
  float sum = 0;
  for (uint64_t i = 0; i < end; i++) sum += X(a, 0)[i] * (i < n ? 1.0f : 0.0f);
  X(a, 1)[0] = sum;
  return 0;
}
KERNEL(sum_masked, 3, IN, OUT);

RUN(sum_dense) { /* forgets the stride of x, or does not */
  const uint64_t stride = MISTAKE(a) ? 1 : a->tensors[0].strides[0];
  float sum = 0;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) sum += X(a, 0)[i * stride];
  X(a, 1)[0] = sum;
  return 0;
}
KERNEL(sum_dense, 3, IN, OUT);

RUN(stranger) { /* z is the other core's */
  if (MISTAKE(a)) X(a, 0)[1] = 1;
  return 0;
}
KERNEL(stranger, 2, {.name = "z", .mode = PTO_UNUSED});

RUN(scatter) { /* behind z, and behind x */
  const uint64_t n = numel(a, 1);
  for (uint64_t i = 0; i < n; i++) X(a, 1)[i] = X(a, 0)[0];
  if (MISTAKE(a)) X(a, 1)[n] = X(a, 0)[8] = 77;
  return 0;
}
KERNEL(scatter, 3, IN, OUT);

static uint32_t beside_calls;
RUN(counts_beside) { /* z; by a mistake, how often it was called in the word behind it, which is another's */
  memset(a->tensors[0].addr, 0x11, numel(a, 0) * sizeof(uint32_t));
  if (MISTAKE(a)) ((uint32_t *)a->tensors[0].addr)[numel(a, 0)]++;
  if (a->tensors[0].addr == w.beside.array) beside_calls++; /* else z was moved */
  return 0;
}
KERNEL(counts_beside, 2, OUT);

RUN(counts_beside_each) { /* the same of two cores, each with its half of z */
  const uint64_t half = numel(a, 0) / 2, first = a->core->role == PTO_ROLE_AIC ? 0 : half;
  for (uint64_t i = first; i < first + half; i++) ((uint32_t *)a->tensors[0].addr)[i] = 5;
  if (MISTAKE(a)) ((uint32_t *)a->tensors[0].addr)[numel(a, 0)]++;
  beside_calls++;
  return 0;
}
static const struct pto_kernel counts_beside_each_kernel = {.name = "counts_beside_each",
                                                            .cores = PTO_AIV | PTO_AIC,
                                                            .flags = PTO_KERNEL_WAITS,
                                                            .params = LIST(OUT),
                                                            .param_count = 2,
                                                            .run = counts_beside_each};

RUN(by_address) { /* z = x; by a mistake of the array whose address it knows */
  const float *x = MISTAKE(a) ? w.b : X(a, 0);
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = x[i];
  return 0;
}
KERNEL(by_address, 3, IN, OUT);

RUN(here_and_there) { /* z = x, and by a mistake three elements of arrays that it knows */
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = X(a, 0)[i];
  if (MISTAKE(a)) X(a, 1)[0] += w.a[100] + w.a[3000] + w.b[2000];
  return 0;
}
KERNEL(here_and_there, 3, IN, OUT);

RUN(all_of_two) { /* the same, and most of the arrays */
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = X(a, 0)[i];
  for (uint64_t i = 500; MISTAKE(a) && i < 3500; i++) X(a, 1)[i % 16] += w.a[i] + w.b[i];
  return 0;
}
KERNEL(all_of_two, 3, IN, OUT);

RUN(mask) { /* loads more than it has, and drops it */
  const float x[2] = {X(a, 0)[numel(a, 0) - 1], X(a, 0)[numel(a, 0)]};
  const uint64_t lane = MISTAKE(a);
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = x[lane];
  return 0;
}
KERNEL(mask, 3, IN, OUT);

RUN(own_part) { /* each block a quarter of z; by a mistake one element of its neighbour's too */
  const uint64_t part = numel(a, 0) / a->core->block_count, first = a->core->block_index * part;
  const uint64_t end = first + part + (a->core->block_index == 1 ? MISTAKE(a) : 0);
  for (uint64_t i = first; i < end; i++) X(a, 0)[i] = (float)i;
  return 0;
}
KERNEL(own_part, 2, OUT);

RUN(own_part_and_sum) { /* the same, and adds to s */
  X(a, 1)[0] += 1;
  return own_part(a);
}
KERNEL(own_part_and_sum, 3, OUT, SUM);
static const struct pto_kernel beside_sum_kernel = {
    .name = "beside_sum",
    .cores = PTO_AIV,
    .params = LIST(OUT, {.name = "s", .mode = PTO_UNUSED}),
    .param_count = 3,
    .run = own_part,
};

RUN(neighbour) { /* y of its own part; by a mistake, plus what the next block has */
  const uint64_t part = numel(a, 0) / a->core->block_count, first = a->core->block_index * part;
  const float more = MISTAKE(a) && a->core->block_index == 2 ? X(a, 0)[first + part] : 0;
  for (uint64_t i = first; i < first + part; i++) X(a, 0)[i] += 1 + more;
  return 0;
}
KERNEL(neighbour, 2, BOTH);

RUN(after_next) { /* z of its own part; by a mistake the first as what the next block's was */
  const uint64_t part = numel(a, 0) / a->core->block_count, first = a->core->block_index * part;
  const uint32_t from = MISTAKE(a) && a->core->block_index == 0 ? part : 0;
  const float before = X(a, 0)[from];
  for (uint64_t i = first; i < first + part; i++) X(a, 0)[i] = (float)i;
  if (from) X(a, 0)[0] = before;
  return 0;
}
KERNEL(after_next, 2, OUT);

RUN(after_next_and_sum) { /* the same, and adds to s, so that blocks run one after another */
  X(a, 1)[0] += 1;
  return after_next(a);
}
KERNEL(after_next_and_sum, 3, OUT, SUM);

RUN(adds_and_fails) { /* the first block adds to an OUTPUT, the second fails */
  if (a->core->block_index) return pto_kernel_error(a, "as it should");
  for (uint64_t i = 0; i < 16; i++) X(a, 0)[i] += 1;
  return 0;
}
KERNEL(adds_and_fails, 2, OUT);

RUN(nibbles_of_part) { /* a quarter of z; where a quarter is an odd number, neighbours share a byte */
  const uint64_t part = numel(a, 0) / a->core->block_count, first = a->core->block_index * part;
  uint8_t *z = a->tensors[0].addr;
  for (uint64_t i = first; i < first + part; i++) z[i / 2] = i % 2 ? (z[i / 2] & 15) | 0x50 : (z[i / 2] & 240) | 5;
  return 0;
}
KERNEL(nibbles_of_part, 2, OUT);

RUN(read_half) { /* y = the first element of z; by a mistake of what the other core writes */
  const uint64_t half = numel(a, 0) / 2;
  X(a, 1)[0] = MISTAKE(a) ? X(a, 0)[half] : 3;
  return 0;
}
static const struct pto_kernel_param of_read_half[] = {BOTH, OUT, {.name = "mistake", .mode = PTO_SCALAR}};
static const struct pto_kernel read_half_kernel = {
    .name = "read_half", .cores = PTO_AIV, .params = of_read_half, .param_count = 3, .run = read_half};
RUN(write_half) {
  for (uint64_t i = numel(a, 0) / 2; i < numel(a, 0); i++) X(a, 0)[i] = 2;
  return 0;
}
static const struct pto_kernel write_half_kernel = {
    .name = "write_half", .cores = PTO_AIV, .params = LIST(BOTH, {.name = "z"}), .param_count = 3, .run = write_half};

RUN(half_of_lane) { /* an AIC's and an AIV's half; by a mistake both the same */
  const uint64_t half = numel(a, 0) / 2, first = a->core->lane && !MISTAKE(a) ? half : 0;
  for (uint64_t i = first; i < first + half; i++) X(a, 0)[i] = 2;
  for (uint64_t i = half; MISTAKE(a) && i < numel(a, 0); i++) X(a, 0)[i] = (float)i;
  return 0;
}
KERNEL(half_of_lane, 2, OUT);

RUN(sender) {
  const float x = X(a, 0)[0] + 1;
  return pto_core_push(a, PTO_ROLE_AIV0, &x, sizeof x);
}
RUN(receiver) {
  float x;
  int status = pto_core_pop(a, PTO_ROLE_AIC, &x, sizeof x);
  if (status) return status;
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = x;
  if (MISTAKE(a)) X(a, 1)[numel(a, 1)] = x;
  return 0;
}
#define FIFO(function)                                                                                                 \
  static const struct pto_kernel function##_kernel = {.name = #function,                                               \
                                                      .cores = PTO_AIV | PTO_AIC,                                      \
                                                      .flags = PTO_KERNEL_WAITS,                                       \
                                                      .params = LIST(IN, OUT),                                         \
                                                      .param_count = 3,                                                \
                                                      .run = function}
FIFO(sender);
FIFO(receiver);

RUN(add_two) { /* z = x + y; x from its second element on by a mistake */
  for (uint64_t i = 0; i < numel(a, 2); i++) X(a, 2)[i] = X(a, 0)[i + MISTAKE(a)] + X(a, 1)[i];
  return 0;
}
KERNEL(add_two, 4, IN, {.name = "y", .mode = PTO_INPUT}, OUT);

RUN(sum_bytes_and_words) { /* z = the first of each, and by a mistake a byte between their rows */
  const uint8_t *bytes = a->tensors[0].addr;
  X(a, 2)[0] = (float)bytes[0] + X(a, 1)[0] + (float)(MISTAKE(a) ? bytes[20] : 0);
  return 0;
}
KERNEL(sum_bytes_and_words, 4, IN, IN, OUT);

/* ---- orchestrations ---- */

static int past_of(struct pto_runtime *rt, uint32_t dtype, uint64_t n) {
  struct pto_tensor z = fresh(rt, dtype, n), y = fresh(rt, dtype, n);
  FIRST(one(rt, &fill_kernel, &z, w.mistake));
  return status ? status : one(rt, &fill_kernel, &y, 0);
}
BODY(writes_past_f32) { return past_of(rt, PTO_FLOAT32, 256); }
BODY(writes_past_f16) { return past_of(rt, PTO_FLOAT16, 512); }
BODY(writes_past_i8) { return past_of(rt, PTO_INT8, 1024); }
BODY(writes_past_odd) { return past_of(rt, PTO_INT8, 1000); }
BODY(writes_past_array) { return one(rt, &fill_kernel, &w.tout, w.mistake); }
BODY(writes_past_beside) {
  struct pto_tensor z = pto_external_tensor(rt, w.beside.array, PTO_UINT32, 1, (uint64_t[]){64});
  return one(rt, &fill_kernel, &z, w.mistake);
}
BODY(counts_beside_array) {
  struct pto_tensor z = pto_external_tensor(rt, w.beside.array, PTO_UINT32, 1, (uint64_t[]){64});
  return one(rt, &counts_beside_kernel, &z, w.mistake);
}
BODY(counts_beside_array_on_two_cores) {
  struct pto_tensor z = pto_external_tensor(rt, w.beside.array, PTO_UINT32, 1, (uint64_t[]){64});
  struct pto_param params[] = {pto_output(&z), pto_scalar_u64(w.mistake)};
  const struct pto_launch launch = {.aic = &counts_beside_each_kernel, .aiv0 = &counts_beside_each_kernel};
  return pto_submit(rt, &launch, params, 2, NULL);
}
BODY(writes_past_a_view) {
  struct pto_tensor z = part(&w.tout, 100, 200, 1), rest[] = {part(&w.tout, 0, 100, 1), part(&w.tout, 200, 4096, 1)};
  FIRST(one(rt, &fill_kernel, &z, w.mistake));
  if (!status) status = one(rt, &fill_kernel, &rest[0], 0);
  return status ? status : one(rt, &fill_kernel, &rest[1], 0);
}
static int reads_as(struct pto_runtime *rt, uint32_t dtype) {
  struct pto_tensor x = pto_tensor_reinterpret(&w.ta, dtype), view = part(&x, 8, 40, 1), z = fresh(rt, dtype, 32);
  return two(rt, &copy_kernel, &view, &z, w.mistake);
}
BODY(reads_past_f32) { return reads_as(rt, PTO_FLOAT32); }
BODY(reads_past_f16) { return reads_as(rt, PTO_FLOAT16); }
BODY(reads_past_i8) { return reads_as(rt, PTO_INT8); }
BODY(reads_past_array) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 4096);
  return two(rt, &copy_kernel, &w.ta, &z, w.mistake);
}
BODY(reads_past_times_0) {
  struct pto_tensor x = part(&w.ta, 0, 20, 1), z = part(&w.tout, 0, 1, 1);
  return two(rt, &sum_masked_kernel, &x, &z, w.mistake);
}
BODY(reads_past_a_tile) {
  const uint64_t grid[] = {64, 64};
  struct pto_tensor g = pto_tensor_reshape(&w.ta, 2, grid), z = part(&w.tout, 0, 1, 1);
  struct pto_tensor tile = pto_tensor_view(&g, (uint64_t[]){4, 8}, (uint64_t[]){2, 8});
  return two(rt, &sum_grid_kernel, &tile, &z, w.mistake);
}
BODY(reads_a_byte_between_rows_of_words) {
  struct pto_tensor bytes = pto_external_tensor(rt, w.a, PTO_UINT8, 2, (uint64_t[]){256, 64});
  struct pto_tensor words = pto_external_tensor(rt, w.a, PTO_FLOAT32, 2, (uint64_t[]){256, 16});
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 1);
  bytes = pto_tensor_view(&bytes, (uint64_t[]){0, 0}, (uint64_t[]){4, 8});
  words = pto_tensor_view(&words, (uint64_t[]){0, 8}, (uint64_t[]){4, 4});
  const struct pto_param params[] = {pto_input(&bytes), pto_input(&words), pto_output(&z), pto_scalar_u64(w.mistake)};
  return pto_submit_aiv(rt, &sum_bytes_and_words_kernel, params, 4);
}
BODY(reads_past_a_transposed_tile) {
  const uint64_t grid[] = {64, 64};
  struct pto_tensor g = pto_tensor_reshape(&w.ta, 2, grid), z = part(&w.tout, 0, 1, 1);
  struct pto_tensor tile = pto_tensor_view(&g, (uint64_t[]){4, 8}, (uint64_t[]){2, 2});
  tile = pto_tensor_transpose(&tile, 0, 1);
  return two(rt, &sum_grid_kernel, &tile, &z, w.mistake);
}
BODY(reads_past_an_input_towards_another) { /* y is made right behind x */
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 256), y = fresh(rt, PTO_FLOAT32, 256), z = fresh(rt, PTO_FLOAT32, 256);
  FIRST(one(rt, &fill_kernel, &x, 0));
  if (!status) status = one(rt, &fill_kernel, &y, 0);
  struct pto_param params[] = {pto_input(&x), pto_input(&y), pto_output(&z), pto_scalar_u64(w.mistake)};
  return status ? status : pto_submit_aiv(rt, &add_two_kernel, params, 4);
}
BODY(forgets_a_step) {
  struct pto_tensor x = part(&w.ta, 0, 16, 4), z = part(&w.tout, 0, 1, 1);
  return two(rt, &sum_dense_kernel, &x, &z, w.mistake);
}

BODY(writes_what_is_the_others) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 256);
  struct pto_param params[] = {pto_output(&z), pto_scalar_u64(w.mistake ? UINT64_MAX : 0)}; /* one element less */
  return pto_submit(rt, &(struct pto_launch){.aic = &fill_kernel, .aiv0 = &stranger_kernel}, params, 2, NULL);
}

BODY(writes_in_two_places) { /* array b lies behind array a */
  struct pto_tensor x = part(&w.tb, 0, 4, 1);
  return two(rt, &scatter_kernel, &x, &w.ta, w.mistake);
}

BODY(reads_an_array_of_its_own) { /* array b, 24 KiB and 20 KiB from what the task has */
  struct pto_tensor x = part(&w.ta, 0, 16, 1), z = part(&w.tout, 0, 16, 1);
  return two(rt, &by_address_kernel, &x, &z, w.mistake);
}
BODY(reads_here_and_there) { /* among 12000 elements of which none is the task's */
  struct pto_tensor x = part(&w.ta, 0, 16, 1), y = part(&w.tb, 0, 16, 1), z = part(&w.tout, 0, 16, 1);
  FIRST(two(rt, &copy_kernel, &y, &z, 0));
  return status ? status : two(rt, &here_and_there_kernel, &x, &z, w.mistake);
}
BODY(reads_all_of_two_arrays) {
  struct pto_tensor x = part(&w.ta, 0, 16, 1), y = part(&w.tb, 0, 16, 1), z = part(&w.tout, 0, 16, 1);
  FIRST(two(rt, &copy_kernel, &y, &z, 0));
  return status ? status : two(rt, &all_of_two_kernel, &x, &z, w.mistake);
}
BODY(drops_what_it_loads) {
  struct pto_tensor x = part(&w.ta, 0, 16, 1), z = fresh(rt, PTO_FLOAT32, 16);
  return two(rt, &mask_kernel, &x, &z, w.mistake);
}

BODY(overlaps_a_block) {
  struct pto_tensor z = part(&w.tout, 0, 256, 1);
  FIRST(blocks(rt, &own_part_kernel, &z));
  struct pto_tensor rest = part(&w.tout, 256, 4096, 1);
  return status ? status : one(rt, &fill_kernel, &rest, 0);
}
BODY(reads_another_block) { return blocks(rt, &neighbour_kernel, &w.tb); }
BODY(reads_the_next_block) { return blocks(rt, &after_next_kernel, &w.tout); }
BODY(reads_a_later_block) {
  struct pto_tensor s = part(&w.tb, 0, 1, 1);
  const struct pto_launch launch = {.aiv0 = &after_next_and_sum_kernel, .block_count = 4};
  struct pto_param params[] = {pto_output(&w.tout), pto_accumulate(&s), pto_scalar_u64(w.mistake)};
  return pto_submit(rt, &launch, params, 3, NULL);
}
BODY(fails_in_a_block) {
  struct pto_tensor z = part(&w.tout, 0, 64, 1);
  return blocks(rt, &adds_and_fails_kernel, &z);
}
BODY(shares_a_byte) {
  const uint64_t n = w.mistake ? 28 : 32;
  struct pto_tensor z = pto_external_tensor(rt, w.out, PTO_INT4, 1, &n);
  return blocks(rt, &nibbles_of_part_kernel, &z);
}
BODY(reads_what_a_core_writes) {
  struct pto_tensor x = part(&w.tb, 0, 256, 1), z = part(&w.tout, 0, 1, 1);
  struct pto_param params[] = {pto_inout(&x), pto_output(&z), pto_scalar_u64(w.mistake)};
  return pto_submit(rt, &(struct pto_launch){.aiv0 = &write_half_kernel, .aiv1 = &read_half_kernel}, params, 3, NULL);
}
BODY(overlaps_a_core) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 256);
  struct pto_param params[] = {pto_output(&z), pto_scalar_u64(w.mistake)};
  return pto_submit(rt, &(struct pto_launch){.aic = &half_of_lane_kernel, .aiv0 = &half_of_lane_kernel}, params, 2,
                    NULL);
}
BODY(waits_and_writes_past) {
  struct pto_tensor x = part(&w.ta, 0, 1, 1), z = part(&w.tb, 16, 32, 1);
  struct pto_param params[] = {pto_input(&x), pto_output(&z), pto_scalar_u64(w.mistake)};
  return pto_submit(rt, &(struct pto_launch){.aic = &sender_kernel, .aiv0 = &receiver_kernel}, params, 3, NULL);
}

static const struct planted planted[] = {
    {"a write behind an output is found, f32",
     writes_past_f32,
     {{"write outside", "task 0 (fill) writes bytes [1024, 1028) of the room behind buffer 4,",
       "right behind param 0 z"}}},
    {"a write behind an output is found, fp16",
     writes_past_f16,
     {{"write outside", "writes bytes [1024, 1026) of the room behind buffer 4,"}}},
    {"a write behind an output is found, i8",
     writes_past_i8,
     {{"write outside", "writes bytes [1024, 1025) of the room behind buffer 4,"}}},
    {"a write into what is left of an output's last KiB is found",
     writes_past_odd,
     {{"write outside", "writes bytes [1000, 1001) of buffer 4,"}}},
    {"a write behind an array is found",
     writes_past_array,
     {{"write outside", "writes bytes [16384, 16388) of array out"}}},
    {"a write behind an array among other data is found",
     writes_past_beside,
     {{"write outside", "writes bytes [256, 260) of external buffer 4,"}}},
    {"a write behind a view is found", writes_past_a_view, {{"write outside", "writes bytes [800, 804) of array out"}}},
    {"a read behind a view is found, f32",
     reads_past_f32,
     {{"read outside", "task 0 (copy) reads bytes [160, 164) of array a", "right behind param 0 x"}}},
    {"a read behind a view is found, fp16", reads_past_f16, {{"read outside", "reads bytes [80, 82) of array a"}}},
    {"a read behind a view is found, i8", reads_past_i8, {{"read outside", "reads bytes [40, 41) of array a"}}},
    {"a read behind an array is found", reads_past_array, {{"read outside", "reads bytes [16384, 16388) of array a"}}},
    {"each of the reads that are multiplied by 0 is found",
     reads_past_times_0,
     {{"read outside", "reads bytes [80, 96) of array a", "right behind param 0 x"}}},
    {"reads between the rows of a tile are found",
     reads_past_a_tile,
     {{"read outside", "reads bytes [1088, 1092), [1344, 1348) of array a"}}},
    {"a byte between rows of words and of bytes is found as a byte",
     reads_a_byte_between_rows_of_words,
     {{"read outside", "reads bytes [20, 21) of array a"}}},
    {"reads beside a transposed tile are found",
     reads_past_a_transposed_tile,
     {{"read outside", "reads bytes [1568, 1576) of array a"}}},
    {"a read behind an input is found where the next buffer is an input of the same task",
     reads_past_an_input_towards_another,
     {{"read outside", "task 2 (add_two) reads bytes [1024, 1028) of the room behind buffer 4,",
       "right behind param 0 x"}}},
    {"reads between the elements of a stepped view are found",
     forgets_a_step,
     {{"read outside", "reads bytes [4, 16) of array a", "between the rows of param 0 x"}}},
    {"a write to what the other core of a MIX declares is found",
     writes_what_is_the_others,
     {{"write outside", "AIV0 writes bytes [4, 8) of buffer 4", ": in param 0 z (unused)"},
      {"blocks", "[4, 8) of buffer 4"}}},
    {"writes behind one array and into another are told of both",
     writes_in_two_places,
     {{"write outside", "writes bytes [16384, 16388) of array a (buffer", "right behind param 1 z"},
      {"write outside", "writes bytes [32, 36) of array b (buffer", "16 bytes behind param 0 x"}}},
    {"of a read of an array that has nothing to do with the task no distance is told",
     reads_an_array_of_its_own,
     {{"read outside", "of array b (buffer 2) (elements [0] to [15] of f32[4096]), which it does not declare: far from "
                       "all of its parameters;"}}},
    {"of many bytes that are not declared the few that are read are found",
     reads_here_and_there,
     {{"read outside", "reads bytes [400, 404), [12000, 12004) of array a"},
      {"read outside", "reads bytes [8000, 8004) of array b"}}},
    {"of two arrays that are read in large the ends are exact",
     reads_all_of_two_arrays,
     {{"read outside", "reads some of bytes [2000, 14000) of array a"},
      {"read outside", "reads some of bytes [2000, 14000) of array b"}}},
    {"what is loaded and dropped is no finding",
     drops_what_it_loads,
     {{"read outside", "reads bytes [64, 68) of array a"}}},
    {"blocks that write the same bytes are found",
     overlaps_a_block,
     {{"blocks",
       "block 1 writes bytes [512, 516) of array out (buffer 3) (element [128] of f32[4096]), through param 0 z "
       "(output), which its block 2 "
       "writes too: nothing orders the two",
       "; let one of the two alone write them"}}},
    {"a block that reads what the next one writes is found",
     reads_another_block,
     {{"blocks", "block 3 writes bytes [12288, 12292) of array b", "which its block 2 reads"}}},
    {"a block that reads of an OUTPUT what the next one writes is told as that alone",
     reads_the_next_block,
     {{"blocks", "block 1 writes bytes [4096, 4100) of array out", "; let a second task read them, with `pto_input`"}}},
    {"a block that reads of an OUTPUT what a later one writes, which has not begun, is told of the OUTPUT",
     reads_a_later_block,
     {{"read output", "block 0 reads bytes [4096, 4100) of array out", "; declare param 0 INOUT"}}},
    {"blocks that share a byte of two elements are told as that alone",
     shares_a_byte,
     {{"blocks",
       "block 0 writes bytes [3, 4) of array out (buffer 3) (element [0] of f32[4096]), through param 0 z (output), "
       "which its block 1 "
       "writes too",
       "`part = (count + 2 * parts - 1) / (2 * parts) * 2`"},
      {"blocks", "block 2 writes bytes [10, 11) of array out"}}},
    {"a core that reads what the other one of its block writes is found",
     reads_what_a_core_writes,
     {{"blocks", "task 0 (write_half) AIV0 writes bytes [512, 516) of array b",
       ", which its core AIV1 (read_half) reads"}}},
    {"cores of a task that write the same bytes are found",
     overlaps_a_core,
     {{"blocks", "AIC writes bytes [0, 1024) of buffer 4", "its core AIV0 writes too"}}},
    {"a core that waits and writes behind its output is found",
     waits_and_writes_past,
     {{"write outside", "writes bytes [128, 132) of array b", "right behind param 1 z"}}},
};

/* ---- other promises ---- */

static void the_first_run_is_the_one_that_counts(void **state) {
  const struct planted sums = {.body = reads_another_block};
  const struct pto_observe_options all = {0};
  struct run result;
  run(&sums, 1, &all, &result);
  /* block 2 has added what block 3 had, before that ran */
  for (uint64_t i = 0; i < 4096; i++)
    if (w.b[i] != (i / 1024 == 2 ? 11 : 6)) fail_msg("%d %f", (int)i, w.b[i]);
  assert_int_equal(result.findings.total, 1);
  pto_findings_fini(&result.findings);
}

static void what_an_output_held_is_told_though_its_task_fails(void **state) {
  const struct planted fails = {.body = fails_in_a_block};
  const struct pto_observe_options all = {0};
  struct run result;
  run(&fails, 1, &all, &result);
  assert_int_equal(result.status, PTO_EKERNEL);
  assert_int_equal(result.findings.total, 1);
  assert_non_null(strstr(result.findings.items[0].sentence, "block 0 reads bytes [0, 64) of array out"));
  assert_string_equal(result.findings.items[0].remedy,
                      "declare param 0 INOUT: `.mode = PTO_INOUT` in the kernel's list, `pto_inout` in its submits");
  pto_findings_fini(&result.findings);
}

/* Each side of it, though both are of one task. */
static void two_cores_of_a_finding_have_their_kernels_and_parameters(void **state) {
  const struct planted reads = {.body = reads_what_a_core_writes};
  const struct pto_observe_options all = {0};
  struct run result;
  run(&reads, 1, &all, &result);
  assert_int_equal(result.findings.total, 1);
  assert_int_equal(result.findings.by_kind[PTO_FINDING_UNNEEDED], 1); /* of two INOUTs the one that is only read */
  const struct pto_finding *finding = &result.findings.items[0];
  assert_string_equal(finding->kernels[0], "write_half");
  assert_string_equal(finding->kernels[1], "read_half");
  for (int i = 0; i < 2; i++) {
    assert_int_equal(finding->tasks[i], 0);
    assert_int_equal(finding->params[i], 0);
    assert_string_equal(finding->arrays[i], "array b (buffer 2)");
  }
  assert_non_null(strstr(finding->remedy, "`pto_core_signal(args, PTO_ROLE_BIT(PTO_ROLE_AIV1), 0)` behind the write of "
                                          "AIV0 and `pto_core_wait(args, 0)` before the read of AIV1"));
  pto_findings_fini(&result.findings);
}

/* Memory beside an array may be the heap's own, which changes between two runs. */
static void bytes_beside_an_array_are_never_put_back(void **state) {
  const struct planted counts[] = {{.body = counts_beside_array}, {.body = counts_beside_array_on_two_cores}};
  const struct pto_observe_options all = {0};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(counts); i++) {
    struct run result;
    w.beside.behind[0] = beside_calls = 0;
    run(&counts[i], 1, &all, &result);
    assert_true(beside_calls > 1);
    assert_int_equal(w.beside.behind[0], beside_calls);
    assert_int_equal(result.findings.total, 1);
    pto_findings_fini(&result.findings);
  }
}

static void only_what_is_asked_for_is_observed(void **state) {
  const struct planted two_tasks = {.body = writes_past_f32};
  struct run result;
  run(&two_tasks, 1, &(struct pto_observe_options){.has_tasks = true, .first_task = 1, .last_task = 1}, &result);
  assert_int_equal(result.findings.total, 0);
  assert_int_equal(result.summary.calls, 1);
  assert_int_equal(result.summary.calls_left_out, 1);
  pto_findings_fini(&result.findings);
  run(&two_tasks, 1, &(struct pto_observe_options){.calls_a_form = 1}, &result);
  assert_int_equal(result.findings.total, 1);
  assert_int_equal(result.summary.calls, 1);
  assert_int_equal(result.summary.calls_left_out, 1);
  pto_findings_fini(&result.findings);
}

/* Four blocks write a part each of so many elements of 4 bytes. */
static uint64_t parts_elems;
BODY(writes_parts) {
  struct pto_tensor z = part(&w.tout, 0, parts_elems, 1);
  return blocks(rt, &own_part_kernel, &z);
}
static void blocks_that_share_a_store_are_noted(void **state) {
  const struct planted parts = {.body = writes_parts};
  const struct pto_observe_options all = {0};
  for (parts_elems = 16; parts_elems <= 32; parts_elems += 16) { /* parts of 16 bytes, and of 32 */
    struct run result;
    run(&parts, 0, &all, &result);
    assert_int_equal(result.findings.by_kind[PTO_FINDING_NEAR], parts_elems == 16);
    if (parts_elems == 16)
      assert_non_null(strstr(result.findings.items[0].sentence, "block 0 writes bytes [0, 16) of array out (buffer 3), "
                                                                "and its block 1 from byte 16 on: "));
    assert_int_equal(result.findings.total, 0); /* a note */
    pto_findings_fini(&result.findings);
  }
}

/* The same blocks one after another, which ACCUMULATE makes them; on one lane, or on both. */
static bool is_on_both_lanes;
BODY(writes_parts_in_order) {
  struct pto_tensor z = part(&w.tout, 0, 16, 1), s = part(&w.tb, 0, 1, 1);
  const struct pto_launch launch = {
      .aiv0 = &own_part_and_sum_kernel, .aiv1 = is_on_both_lanes ? &beside_sum_kernel : NULL, .block_count = 4};
  struct pto_param params[] = {pto_output(&z), pto_accumulate(&s), pto_scalar_u64(w.mistake)};
  return pto_submit(rt, &launch, params, 3, NULL);
}
static void blocks_that_run_one_after_another_may_touch_the_same_bytes_but_cores_of_one_may_not(void **state) {
  const struct planted parts = {.body = writes_parts_in_order};
  const struct pto_observe_options all = {0};
  for (int lanes = 1; lanes <= 2; lanes++) {
    struct run result;
    is_on_both_lanes = lanes == 2;
    run(&parts, 1, &all, &result); /* block 1 writes an element of block 2's too */
    assert_int_equal(result.status, PTO_OK);
    assert_int_equal(result.summary.calls, 4 * lanes);
    assert_int_equal(result.findings.by_kind[PTO_FINDING_BLOCKS], lanes == 1 ? 0 : 4); /* one a block */
    assert_int_equal(result.findings.by_kind[PTO_FINDING_NEAR], 0);
    for (uint32_t i = 0; i < result.findings.count; i++)
      assert_non_null(strstr(result.findings.items[i].sentence, "which its core AIV1 (beside_sum) writes too"));
    pto_findings_fini(&result.findings);
  }
}

/* AIV0 and AIV1 a half each of six elements. */
BODY(writes_halves) {
  struct pto_tensor z = part(&w.tout, 0, 6, 1);
  struct pto_param params[] = {pto_output(&z), pto_scalar_u64(0)};
  return pto_submit(rt, &(struct pto_launch){.aic = &half_of_lane_kernel, .aiv0 = &half_of_lane_kernel}, params, 2,
                    NULL);
}
static void cores_that_share_a_store_are_noted_as_cores(void **state) {
  const struct planted halves = {.body = writes_halves};
  const struct pto_observe_options all = {0};
  struct run result;
  run(&halves, 0, &all, &result);
  assert_int_equal(result.findings.by_kind[PTO_FINDING_NEAR], 1);
  assert_non_null(strstr(result.findings.items[0].sentence, "AIC writes bytes [0, 12) of array out (buffer 3), and its "
                                                            "core AIV0 from byte 12 on: "));
  pto_findings_fini(&result.findings);
}

int main(void) {
  const struct CMUnitTest others[] = {
      cmocka_unit_test(the_first_run_is_the_one_that_counts),
      cmocka_unit_test(bytes_beside_an_array_are_never_put_back),
      cmocka_unit_test(only_what_is_asked_for_is_observed),
      cmocka_unit_test(blocks_that_share_a_store_are_noted),
      cmocka_unit_test(cores_that_share_a_store_are_noted_as_cores),
      cmocka_unit_test(blocks_that_run_one_after_another_may_touch_the_same_bytes_but_cores_of_one_may_not),
      cmocka_unit_test(what_an_output_held_is_told_though_its_task_fails),
      cmocka_unit_test(two_cores_of_a_finding_have_their_kernels_and_parameters)};
  return run_planted("observe_bounds", planted, PTO_ARRAY_LENGTH(planted), others, PTO_ARRAY_LENGTH(others));
}
