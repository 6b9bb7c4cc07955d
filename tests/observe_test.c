/* SPDX-License-Identifier: MIT */
/*
 * Observed accesses: kernels that make one mistake each in what they touch, and the same tasks without it.
 *
 * A case is an orchestration; its kernels get the scalar `mistake`, 0 or 1.  With 1 its findings are exactly those
 * stated, with the bytes in the sentence; with 0 there are none.  Truth is what the kernel's source says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <pto/pto.h>

#include <check/observe.h>
#include <runtime/base/reserve.h>
#include <runtime/base/sanitizer.h>

#define PAGE 4096u
#define MARGIN PAGE
#define ARRAY_BYTES (4 * PAGE)

/* Three arrays with pages of their own, a page of margin around each, as ptosim gives them; and one beside other data.
 */
static struct world {
  char *pages;
  float *a, *b, *out;
  struct {
    uint32_t before[64], array[64], behind[64];
  } beside;
  uint64_t mistake;
  struct pto_tensor ta, tb, tout;
} w;

#define X(a, i) (((float *)(a)->tensors[i].addr))
#define MISTAKE(a) ((a)->scalars[0].u64)
#define RUN(name) static int name(const struct pto_kernel_args *a)
#define LIST(...)                                                                                                      \
  (const struct pto_kernel_param[]) {                                                                                  \
    __VA_ARGS__, { .name = "mistake", .mode = PTO_SCALAR }                                                             \
  }
#define IN                                                                                                             \
  { .name = "x", .mode = PTO_INPUT }
#define OUT                                                                                                            \
  { .name = "z", .mode = PTO_OUTPUT }
#define BOTH                                                                                                           \
  { .name = "y", .mode = PTO_INOUT }
#define SUM                                                                                                            \
  { .name = "s", .mode = PTO_ACCUMULATE }
#define KERNEL(function, count, ...)                                                                                   \
  static const struct pto_kernel function##_kernel = {.name = #function,                                               \
                                                      .cores = PTO_AIV | PTO_AIC,                                      \
                                                      .params = LIST(__VA_ARGS__),                                     \
                                                      .param_count = count,                                            \
                                                      .run = function}

static uint64_t numel(const struct pto_kernel_args *a, uint32_t i) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < a->tensors[i].ndims; d++) n *= a->tensors[i].shape[d];
  return n;
}

/* ---- kernels ---- */

RUN(fill) { /* writes z, and of what follows it what a mistake is long */
  const uint64_t size = pto_dtype_size(a->tensors[0].dtype);
  memset(a->tensors[0].addr, 0x11, (numel(a, 0) + MISTAKE(a)) * size);
  return 0;
}
KERNEL(fill, 2, OUT);

RUN(fill_most) {
  for (uint64_t i = MISTAKE(a) * 3; i < numel(a, 0); i++) X(a, 0)[i] = (float)i;
  return 0;
}
KERNEL(fill_most, 2, OUT);

RUN(copy) { /* z = x, in the dtype's bytes */
  const uint64_t size = pto_dtype_size(a->tensors[0].dtype);
  memcpy(a->tensors[1].addr, (char *)a->tensors[0].addr + MISTAKE(a) * size, numel(a, 1) * size);
  return 0;
}
KERNEL(copy, 3, IN, OUT);

RUN(sum_grid) { /* rows of x, each too long by a mistake, with the strides that x states */
  const struct pto_kernel_tensor *x = &a->tensors[0];
  float sum = 0;
  for (uint64_t i = 0; i < x->shape[0]; i++)
    for (uint64_t k = 0; k < x->shape[1] + MISTAKE(a); k++) sum += X(a, 0)[i * x->strides[0] + k * x->strides[1]];
  X(a, 1)[0] = sum;
  return 0;
}
KERNEL(sum_grid, 3, IN, OUT);

RUN(sum_dense) { /* forgets the stride of x, or does not */
  const uint64_t stride = MISTAKE(a) ? 1 : a->tensors[0].strides[0];
  float sum = 0;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) sum += X(a, 0)[i * stride];
  X(a, 1)[0] = sum;
  return 0;
}
KERNEL(sum_dense, 3, IN, OUT);

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
  X(a, 1)[0] = sum;
  return 0;
}
KERNEL(count_up, 3, IN, OUT);

RUN(stranger) { /* z is the other core's */
  if (MISTAKE(a)) X(a, 0)[1] = 1;
  return 0;
}
KERNEL(stranger, 2, {.name = "z", .mode = PTO_UNUSED});

RUN(spoil_input) {
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = X(a, 0)[i];
  if (MISTAKE(a)) X(a, 0)[3] += 1;
  return 0;
}
KERNEL(spoil_input, 3, IN, OUT);

RUN(scatter) { /* behind z, and behind x */
  const uint64_t n = numel(a, 1);
  for (uint64_t i = 0; i < n; i++) X(a, 1)[i] = X(a, 0)[0];
  if (MISTAKE(a)) X(a, 1)[n] = X(a, 0)[8] = 77;
  return 0;
}
KERNEL(scatter, 3, IN, OUT);

RUN(look_up) { /* z[0] = x[k], k out of what z was */
  const uint32_t *index = a->tensors[1].addr;
  const uint64_t k = MISTAKE(a) ? (uint64_t)index[0] << 20 : 1;
  X(a, 1)[0] = X(a, 0)[k];
  return 0;
}
KERNEL(look_up, 3, IN, OUT);

RUN(mask) { /* loads more than it has, and drops it */
  const float x[2] = {X(a, 0)[numel(a, 0) - 1], X(a, 0)[numel(a, 0)]};
  const uint64_t lane = MISTAKE(a);
  for (uint64_t i = 0; i < numel(a, 1); i++) X(a, 1)[i] = x[lane];
  return 0;
}
KERNEL(mask, 3, IN, OUT);

static uint32_t calls;
RUN(count) {
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = MISTAKE(a) ? (float)calls++ : 1;
  return 0;
}
KERNEL(count, 2, OUT);

RUN(use_local) { /* what it left in local memory before, or has put there now */
  float *local = a->core->local.addr;
  if (!MISTAKE(a)) local[7] = 3;
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] = local[7];
  return 0;
}
static struct pto_cost local_cost(const struct pto_kernel_args *a) { return (struct pto_cost){.local_bytes = 64}; }
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

RUN(own_part) { /* each block a quarter of z; by a mistake one element of its neighbour's too */
  const uint64_t part = numel(a, 0) / a->core->block_count, first = a->core->block_index * part;
  const uint64_t end = first + part + (a->core->block_index == 1 ? MISTAKE(a) : 0);
  for (uint64_t i = first; i < end; i++) X(a, 0)[i] = (float)i;
  return 0;
}
KERNEL(own_part, 2, OUT);

RUN(neighbour) { /* y of its own part; by a mistake, plus what the next block has */
  const uint64_t part = numel(a, 0) / a->core->block_count, first = a->core->block_index * part;
  const float more = MISTAKE(a) && a->core->block_index == 2 ? X(a, 0)[first + part] : 0;
  for (uint64_t i = first; i < first + part; i++) X(a, 0)[i] += 1 + more;
  return 0;
}
KERNEL(neighbour, 2, BOTH);

RUN(accumulate) {
  for (uint64_t i = 0; i < numel(a, 0); i++) X(a, 0)[i] += 1;
  return 0;
}
KERNEL(accumulate, 2, SUM);

RUN(half_of_lane) { /* an AIC's and an AIV's half; by a mistake both the same */
  const uint64_t half = numel(a, 0) / 2, first = a->core->lane && !MISTAKE(a) ? half : 0;
  for (uint64_t i = first; i < first + half; i++) X(a, 0)[i] = 2;
  for (uint64_t i = half; MISTAKE(a) && i < numel(a, 0); i++) X(a, 0)[i] = (float)i;
  return 0;
}
KERNEL(half_of_lane, 2, OUT);

RUN(nibbles) { /* an odd number of them: the last byte's other half stays */
  uint8_t *z = a->tensors[0].addr;
  memset(z, 0x21, numel(a, 0) / 2);
  z[numel(a, 0) / 2] = (uint8_t)((z[numel(a, 0) / 2] & 0xf0) | 1);
  return 0;
}
KERNEL(nibbles, 2, OUT);

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

/* ---- orchestrations ---- */

static struct pto_tensor fresh(struct pto_runtime *rt, uint32_t dtype, uint64_t n) {
  return pto_managed_tensor(rt, pto_create_buffer(rt, (n * pto_dtype_bits(dtype) + 7) / 8), dtype, 1, &n);
}
static struct pto_tensor part(const struct pto_tensor *t, uint64_t first, uint64_t end, uint64_t step) {
  return pto_tensor_slice(t, 0, first, end, step);
}
static int one(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *z, uint64_t mistake) {
  struct pto_param params[] = {pto_param_tensor(kernel->params[0].mode, z), pto_scalar_u64(mistake)};
  return pto_submit_aiv(rt, kernel, params, 2);
}
static int two(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *x,
               const struct pto_tensor *z, uint64_t mistake) {
  struct pto_param params[] = {pto_input(x), pto_output(z), pto_scalar_u64(mistake)};
  return pto_submit_aiv(rt, kernel, params, 3);
}
static int blocks(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *z) {
  struct pto_param params[] = {pto_param_tensor(kernel->params[0].mode, z), pto_scalar_u64(w.mistake)};
  return pto_submit(rt, &(struct pto_launch){.aiv0 = kernel, .block_count = 4}, params, 2, NULL);
}

#define BODY(name) static int name(struct pto_runtime *rt)
#define FIRST(call)                                                                                                    \
  int status = (call);                                                                                                 \
  (void)status

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
BODY(reads_past_a_tile) {
  const uint64_t grid[] = {64, 64};
  struct pto_tensor g = pto_tensor_reshape(&w.ta, 2, grid), z = part(&w.tout, 0, 1, 1);
  struct pto_tensor tile = pto_tensor_view(&g, (uint64_t[]){4, 8}, (uint64_t[]){2, 8});
  return two(rt, &sum_grid_kernel, &tile, &z, w.mistake);
}
BODY(reads_past_a_transposed_tile) {
  const uint64_t grid[] = {64, 64};
  struct pto_tensor g = pto_tensor_reshape(&w.ta, 2, grid), z = part(&w.tout, 0, 1, 1);
  struct pto_tensor tile = pto_tensor_view(&g, (uint64_t[]){4, 8}, (uint64_t[]){2, 2});
  tile = pto_tensor_transpose(&tile, 0, 1);
  return two(rt, &sum_grid_kernel, &tile, &z, w.mistake);
}
BODY(forgets_a_step) {
  struct pto_tensor x = part(&w.ta, 0, 16, 4), z = part(&w.tout, 0, 1, 1);
  return two(rt, &sum_dense_kernel, &x, &z, w.mistake);
}
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
BODY(writes_what_is_the_others) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 256);
  struct pto_param params[] = {pto_output(&z), pto_scalar_u64(w.mistake ? UINT64_MAX : 0)}; /* one element less */
  return pto_submit(rt, &(struct pto_launch){.aic = &fill_kernel, .aiv0 = &stranger_kernel}, params, 2, NULL);
}
BODY(writes_an_input) {
  struct pto_tensor x = part(&w.tb, 0, 256, 1), z = fresh(rt, PTO_FLOAT32, 256);
  return two(rt, &spoil_input_kernel, &x, &z, w.mistake);
}
BODY(writes_in_two_places) { /* array b lies behind array a */
  struct pto_tensor x = part(&w.tb, 0, 4, 1);
  return two(rt, &scatter_kernel, &x, &w.ta, w.mistake);
}
BODY(reads_what_nobody_wrote) {
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 256), z = fresh(rt, PTO_FLOAT32, 256);
  FIRST(w.mistake ? pto_alloc_tensors(rt, &x, 1, NULL) : one(rt, &fill_kernel, &x, 0));
  return status ? status : two(rt, &copy_kernel, &x, &z, 0);
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
BODY(leaves_what_nobody_reads) {
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 256), y = part(&x, 3, 256, 1), z = fresh(rt, PTO_FLOAT32, 253);
  FIRST(one(rt, &fill_most_kernel, &x, 1));
  return status ? status : two(rt, &copy_kernel, &y, &z, 0);
}
BODY(looks_up_by_an_output) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 1);
  return two(rt, &look_up_kernel, &w.ta, &z, w.mistake);
}
BODY(drops_what_it_loads) {
  struct pto_tensor x = part(&w.ta, 0, 16, 1), z = fresh(rt, PTO_FLOAT32, 16);
  return two(rt, &mask_kernel, &x, &z, w.mistake);
}
BODY(counts_its_calls) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  return one(rt, &count_kernel, &z, w.mistake);
}
BODY(reads_old_local_memory) {
  struct pto_tensor z = fresh(rt, PTO_FLOAT32, 16);
  return one(rt, &use_local_kernel, &z, w.mistake);
}
BODY(overlaps_a_block) {
  struct pto_tensor z = part(&w.tout, 0, 256, 1);
  FIRST(blocks(rt, &own_part_kernel, &z));
  struct pto_tensor rest = part(&w.tout, 256, 4096, 1);
  return status ? status : one(rt, &fill_kernel, &rest, 0);
}
BODY(reads_another_block) { return blocks(rt, &neighbour_kernel, &w.tb); }
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
/* All that looks like a mistake and is none. */
BODY(is_right) {
  struct pto_tensor x = fresh(rt, PTO_FLOAT32, 16), y = fresh(rt, PTO_FLOAT32, 16), odd = fresh(rt, PTO_INT4, 77);
  struct pto_tensor sums = part(&w.tb, 0, 64, 1), positive = part(&w.ta, 0, 16, 1);
  FIRST(pto_alloc_tensors(rt, &x, 1, NULL));
  for (uint64_t i = 0; i < 16 && !status; i++) status = pto_write_element(rt, &x, &i, &(float){-(float)i});
  if (!status) status = two(rt, &copy_kernel, &x, &y, 0);
  if (!status) status = two(rt, &absolute_kernel, &y, &y, 0);
  if (!status) status = two(rt, &absolute_kernel, &positive, &positive, 0); /* nothing changes */
  if (!status) status = one(rt, &nibbles_kernel, &odd, 0);
  if (!status) status = blocks(rt, &accumulate_kernel, &sums);
  return status;
}

/* ---- running ---- */

struct planted {
  const char *sentence; /* what holds */
  int (*body)(struct pto_runtime *rt);
  const char *found[4][3]; /* kind, and two parts of the sentence; those that there must be, and no more */
};

static int orchestrate(struct pto_runtime *rt, void *context) {
  const struct planted *planted = context;
  const uint64_t n[] = {ARRAY_BYTES / sizeof(float)};
  w.ta = pto_external_tensor(rt, w.a, PTO_FLOAT32, 1, n);
  w.tb = pto_external_tensor(rt, w.b, PTO_FLOAT32, 1, n);
  w.tout = pto_external_tensor(rt, w.out, PTO_FLOAT32, 1, n);
  return planted->body(rt);
}

static void prepare_world(void) {
  for (uint64_t i = 0; i < ARRAY_BYTES / sizeof(float); i++) {
    w.a[i] = (float)(i % 97) + 1;
    w.b[i] = 5;
    w.out[i] = 0;
  }
}

struct run {
  struct pto_findings findings;
  struct pto_observe_summary summary;
  int status;
};

static void run(const struct planted *planted, uint64_t mistake, const struct pto_observe_options *options,
                struct run *result) {
  const struct pto_config config = {
      .size = sizeof config, .engine = "observe", .chip = "tiny", .heap_bytes = 1 << 20, .window = 64};
  struct pto_runtime *rt;
  struct pto_observation *observation;
  struct pto_error error;
  prepare_world();
  w.mistake = mistake;
  pto_findings_init(&result->findings);
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_int_equal(pto_observation_create(rt, options, &result->findings, &observation, &error), PTO_OK);
  const struct {
    void *addr;
    const char *name;
  } arrays[] = {{w.a, "a"}, {w.b, "b"}, {w.out, "out"}};
  for (int i = 0; i < 3; i++)
    pto_observation_add_array(observation, (char *)arrays[i].addr - MARGIN, ARRAY_BYTES + 2 * MARGIN, arrays[i].name);
  result->status = pto_run(rt, orchestrate, (void *)(uintptr_t)planted);
  if (result->status) print_error("%s\n", pto_last_error(rt));
  result->summary = pto_observation_summary(observation);
  pto_observation_destroy(observation);
  pto_runtime_destroy(rt);
}

static bool is_told(const struct pto_findings *findings, const char *const expected[3]) {
  for (uint32_t i = 0; i < findings->count; i++) {
    const struct pto_finding *f = &findings->items[i];
    if (strcmp(pto_finding_kind_name(f->kind), expected[0]) == 0 && strstr(f->sentence, expected[1]) &&
        (!expected[2] || strstr(f->sentence, expected[2])))
      return true;
  }
  return false;
}

static void print_all(const struct pto_findings *findings) {
  for (uint32_t i = 0; i < findings->count; i++)
    print_error("%s: %s\n", pto_finding_kind_name(findings->items[i].kind), findings->items[i].sentence);
}

static void check_planted(void **state) {
  const struct planted *planted = *state;
  const struct pto_observe_options all = {0};
  struct run result;
  uint32_t expected = 0;
  run(planted, 0, &all, &result);
  if (result.findings.count) print_all(&result.findings);
  assert_int_equal(result.status, PTO_OK);
  assert_int_equal(result.findings.total, 0);
  pto_findings_fini(&result.findings);
  if (!planted->found[0][0]) return;
  run(planted, 1, &all, &result);
  assert_int_equal(result.status, PTO_OK);
  for (; expected < 4 && planted->found[expected][0]; expected++)
    if (!is_told(&result.findings, planted->found[expected])) {
      print_all(&result.findings);
      fail_msg("it does not say %s: %s", planted->found[expected][0], planted->found[expected][1]);
    }
  if (result.findings.total != expected) print_all(&result.findings);
  assert_int_equal(result.findings.total, expected);
  pto_findings_fini(&result.findings);
}

static const struct planted planted[] = {
    {"a write behind an output is found, f32",
     writes_past_f32,
     {{"write outside", "task 0 (fill) writes bytes [0, 4) of buffer 5,", "right behind param 0 z"}}},
    {"a write behind an output is found, fp16",
     writes_past_f16,
     {{"write outside", "writes bytes [0, 2) of buffer 5,"}}},
    {"a write behind an output is found, i8", writes_past_i8, {{"write outside", "writes bytes [0, 1) of buffer 5,"}}},
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
    {"reads between the rows of a tile are found",
     reads_past_a_tile,
     {{"read outside", "reads bytes [1088, 1092), [1344, 1348) of array a"}}},
    {"reads beside a transposed tile are found",
     reads_past_a_transposed_tile,
     {{"read outside", "reads bytes [1568, 1576) of array a"}}},
    {"reads between the elements of a stepped view are found",
     forgets_a_step,
     {{"read outside", "reads bytes [4, 16) of array a", "between the rows of param 0 x"}}},
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
     {{"read output", "reads bytes [0, 4) of array out", "it does not come back"}}},
    {"a write to what the other core of a MIX declares is found",
     writes_what_is_the_others,
     {{"write outside", "AIV0 writes bytes [4, 8) of buffer 4"}, {"blocks", "[4, 8) of buffer 4"}}},
    {"a write through an INPUT is found",
     writes_an_input,
     {{"write input", "writes bytes [12, 16) of array b", "declare param 0 INOUT"}}},
    {"writes behind one array and into another are told of both",
     writes_in_two_places,
     {{"write outside", "writes bytes [16384, 16388) of array a (buffer", "right behind param 1 z"},
      {"write outside", "writes bytes [32, 36) of array b (buffer", "16 bytes behind param 0 x"}}},
    {"a read of what nobody wrote is found",
     reads_what_nobody_wrote,
     {{"read unwritten", "reads bytes [0, 1024) of buffer 4, which nobody has written"}}},
    {"a read of what a task left out is found, and the task",
     reads_what_was_left,
     {{"read unwritten", "task 1 (copy) reads bytes [0, 12) of buffer 4, which task 0"},
      {"not written", "task 0 (fill_most) does not write bytes [0, 12) of buffer 4,"}}},
    {"a read of what is older than a task that left it out is found, and the task",
     reads_what_was_left_old,
     {{"read unwritten", "task 2 (copy) reads bytes [0, 12) of array out", "which task 1 declares to write"},
      {"not written", "task 1 (fill_most) does not write bytes [0, 12) of array out"}}},
    {"what nobody writes of an array is found",
     leaves_an_array,
     {{"not written", "does not write bytes [0, 12) of array out"}}},
    {"what is left out and not read is no finding", leaves_what_nobody_reads, {{NULL}}},
    {"a read that ends in a signal is found",
     looks_up_by_an_output,
     {{"read output", "reads bytes [0, 4) of buffer 4,", "it ends in a signal"}}},
    {"what is loaded and dropped is no finding",
     drops_what_it_loads,
     {{"read outside", "reads bytes [64, 68) of array a"}}},
    {"a kernel that counts its calls is unstable", counts_its_calls, {{"unstable", "task 0 (count) is run twice"}}},
    {"a read of old local memory is found", reads_old_local_memory, {{"read unwritten", "reads local memory"}}},
    {"blocks that write the same bytes are found",
     overlaps_a_block,
     {{"blocks", "block 1 writes bytes [512, 516) of array out", "which its block 2 writes too"}}},
    {"a block that reads what the next one writes is found",
     reads_another_block,
     {{"blocks", "block 3 writes bytes [12288, 12292) of array b", "which its block 2 reads"}}},
    {"cores of a task that write the same bytes are found",
     overlaps_a_core,
     {{"blocks", "AIC writes bytes [0, 1024) of buffer 4", "its core AIV0 writes too"}}},
    {"a core that waits and writes behind its output is found",
     waits_and_writes_past,
     {{"write outside", "writes bytes [128, 132) of array b", "right behind param 1 z"}}},
    {"host writes, updates in place, odd nibbles and sums are no findings", is_right, {{NULL}}},
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

static void only_what_is_asked_for_is_looked_at(void **state) {
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

static int make_world(void **state) {
  const size_t bytes = 3 * (ARRAY_BYTES + 2 * MARGIN);
  w.pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (w.pages == MAP_FAILED) return -1;
  float **const arrays[] = {&w.a, &w.b, &w.out};
  for (size_t i = 0; i < 3; i++) *arrays[i] = (float *)(void *)(w.pages + MARGIN + i * (ARRAY_BYTES + 2 * MARGIN));
  return 0;
}

#define PLANTED_COUNT (sizeof planted / sizeof planted[0])
int main(void) {
  struct CMUnitTest tests[PLANTED_COUNT + 6] = {cmocka_unit_test(the_first_run_is_the_one_that_counts),
                                                cmocka_unit_test(the_same_mistake_is_one_line),
                                                cmocka_unit_test(only_what_is_asked_for_is_looked_at),
                                                cmocka_unit_test(what_is_not_looked_at_counts_as_written),
                                                cmocka_unit_test(another_engine_is_refused),
                                                cmocka_unit_test(creation_survives_each_refused_reservation)};
  for (size_t i = 0; i < PLANTED_COUNT; i++)
    tests[i + 6] = (struct CMUnitTest){
        .name = planted[i].sentence, .test_func = check_planted, .initial_state = (void *)(uintptr_t)&planted[i]};
  if (PTO_HAS_SANITIZER) { /* nothing is compared then: tests/memory_checkers_test.sh */
    print_message("skipped: a sanitizer watches\n");
    return 77;
  }
  return cmocka_run_group_tests_name("observe", tests, make_world, NULL);
}
