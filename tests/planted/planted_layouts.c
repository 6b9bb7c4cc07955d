/* SPDX-License-Identifier: MIT */
/*
 * Kernels that take the layout of a tensor, or the size of its elements, for another one.
 */
#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(broadcast_dense, "a row that is broadcast is walked as if each row were there")                                    \
  X(transposed_dense, "a tile of a transposed tensor is filled as if its columns were neighbours")                     \
  X(step_pairs, "every other column is written, and its neighbour too")                                                \
  X(byte_strides, "a stride of elements is taken for one of bytes")                                                    \
  X(offset_twice, "the first row of a view is added once more")                                                        \
  X(short_elements, "elements of 16 bits are stored as bytes")                                                         \
  X(shared_nibbles, "blocks of 7 elements of 4 bits each share bytes with the next one")

/* z[0] = a digest of x, whose rows are so many elements apart; from the row on that the scalar says. */
static int digest_rows(const struct pto_kernel_args *a, uint64_t stride, uint64_t first) {
  const struct pto_kernel_tensor *x = &a->tensors[0];
  const uint32_t *from = x->addr;
  uint32_t hash = 2166136261u;
  for (uint64_t i = first; i < first + x->shape[0]; i++)
    for (uint64_t j = 0; j < x->shape[1]; j++) hash = (hash ^ from[i * stride + j * x->strides[1]]) * 16777619u;
  memcpy(a->tensors[1].addr, &hash, sizeof hash);
  return 0;
}
static int digest_dense_run(const struct pto_kernel_args *a) {
  return digest_rows(a, a->scalars[0].u64 ? a->tensors[0].shape[1] : a->tensors[0].strides[0], 0);
}
static int digest_column_run(const struct pto_kernel_args *a) {
  return digest_rows(a, a->tensors[0].strides[0] / (a->scalars[0].u64 ? 4 : 1), 0);
}
static int digest_from_run(const struct pto_kernel_args *a) {
  return digest_rows(a, a->tensors[0].strides[0], a->scalars[0].u64);
}
static const struct pto_kernel_param of_in_out_value[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("value")};
static const struct pto_kernel digest_dense = AIV_KERNEL("digest_dense", of_in_out_value, digest_dense_run);
static const struct pto_kernel digest_column = AIV_KERNEL("digest_column", of_in_out_value, digest_column_run);
static const struct pto_kernel digest_from = AIV_KERNEL("digest_from", of_in_out_value, digest_from_run);

static void put_layout(struct planted *p, const struct pto_kernel *kernel, const struct pto_tensor *x, uint64_t value) {
  struct pto_tensor z = slot(p, 0);
  put(p, PLAIN(*kernel), PARAMS(pto_input(x), pto_output(&z), pto_scalar_u64(value)));
}

static void broadcast_dense(struct planted *p) {
  const uint64_t shape[] = {4, PLANTED_COLUMNS};
  struct pto_tensor x = array_x(p), row = row_of(&x, 3), rows = pto_tensor_broadcast(&row, 2, shape);
  put_layout(p, &digest_dense, &rows, p->is_buggy);
}
static void byte_strides(struct planted *p) {
  struct pto_tensor x = array_x(p), columns = box(&x, 0, 4, PLANTED_ROWS, 4);
  put_layout(p, &digest_column, &columns, p->is_buggy);
}
static void offset_twice(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 5);
  put_layout(p, &digest_from, &row, p->is_buggy ? 5 : 0);
}

/* z[i, j] = 16 i + j; with 1 as if z were dense, with 2 what is behind each element too. */
static int number_run(const struct pto_kernel_args *a) {
  const struct pto_kernel_tensor *z = &a->tensors[0];
  const uint64_t way = a->scalars[0].u64;
  uint32_t *to = z->addr;
  for (uint64_t i = 0; i < z->shape[0]; i++)
    for (uint64_t j = 0; j < z->shape[1]; j++) {
      const uint64_t at = way == 1 ? i * z->shape[1] + j : i * z->strides[0] + j * z->strides[1];
      for (uint64_t k = 0; k < (way == 2 ? 2 : 1); k++) to[at + k] = (uint32_t)(16 * i + j);
    }
  return 0;
}
static const struct pto_kernel number = AIV_KERNEL("number", of_out_value, number_run);

static void transposed_dense(struct planted *p) {
  struct pto_tensor x = array_x(p), turned = pto_tensor_transpose(&x, 0, 1), tile = box(&turned, 0, 0, 2, 8);
  put(p, PLAIN(number), PARAMS(pto_output(&tile), pto_scalar_u64(p->is_buggy)));
}
static void step_pairs(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 2), even = pto_tensor_slice(&row, 1, 0, PLANTED_COLUMNS, 2);
  put(p, PLAIN(number), PARAMS(pto_output(&even), pto_scalar_u64(p->is_buggy ? 2 : 0)));
}

/* 1 to n, in elements of 16 bits or of 8. */
static int count_up_run(const struct pto_kernel_args *a) {
  uint16_t *words = a->tensors[0].addr;
  uint8_t *bytes = a->tensors[0].addr;
  for (uint64_t i = 0; i < element_count(&a->tensors[0]); i++)
    if (a->scalars[0].u64)
      bytes[i] = (uint8_t)(i + 1);
    else
      words[i] = (uint16_t)(i + 1);
  return 0;
}
static const struct pto_kernel count_up = AIV_KERNEL("count_up", of_out_value, count_up_run);

static void short_elements(struct planted *p) {
  struct pto_tensor stage = fresh(p, 1, 16), words = pto_tensor_reinterpret(&stage, PTO_UINT16);
  put(p, PLAIN(count_up), PARAMS(pto_output(&words), pto_scalar_u64(p->is_buggy)));
  put_digest(p, &words, 0);
}

/* So many elements of 4 bits a block, the first of a byte in its low half. */
static int fill_nibbles_run(const struct pto_kernel_args *a) {
  uint8_t *z = a->tensors[0].addr;
  const uint64_t count = a->scalars[0].u64, first = a->core->block_index * count;
  for (uint64_t i = first; i < first + count; i++) {
    const unsigned value = i % 15 + 1;
    z[i / 2] = (uint8_t)(i % 2 ? (z[i / 2] & 0x0f) | value << 4 : (z[i / 2] & 0xf0) | value);
  }
  return 0;
}
static const struct pto_kernel fill_nibbles = AIV_KERNEL("fill_nibbles", of_out_value, fill_nibbles_run);

static void shared_nibbles(struct planted *p) {
  const uint64_t count = p->is_buggy ? 7 : 8, elements = 4 * count;
  struct pto_tensor z = pto_managed_tensor(p->rt, pto_create_buffer(p->rt, elements / 2), PTO_INT4, 1, &elements);
  const struct pto_launch launch = {.aiv0 = &fill_nibbles, .block_count = 4};
  put(p, launch, PARAMS(pto_output(&z), pto_scalar_u64(count)));
  struct pto_tensor bytes = pto_tensor_reinterpret(&z, PTO_UINT8);
  put_digest(p, &bytes, 0);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_layouts", .summary = "kernels that take the layout of a tensor for another one");
