/* SPDX-License-Identifier: MIT */
/*
 * Two chains of views of one buffer, as the input spells them: their overlap is what their bytes, marked one by one,
 * say.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <pto/tensor.h>

#define BUFFER_BYTES 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
  const uint8_t *data;
  size_t left;
};

/* The input's next byte, below `bound`; 0 once there is none. */
static uint64_t take(struct input *in, uint64_t bound) {
  if (in->left == 0 || bound == 0) return 0;
  in->left--;
  return *in->data++ % bound;
}

static struct pto_tensor dense(uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  struct pto_tensor t = {.buffer = {.id = 1, .generation = 1, .base = 1 << 20, .size_bytes = BUFFER_BYTES}};
  t.dtype = dtype;
  t.ndims = ndims;
  uint64_t stride = 1;
  for (uint32_t i = ndims; i-- > 0;) {
    t.shape[i] = shape[i];
    t.strides[i] = stride;
    stride *= shape[i];
  }
  return t;
}

static struct pto_tensor one_view(const struct pto_tensor *t, struct input *in) {
  uint64_t offsets[PTO_MAX_DIMS], shape[PTO_MAX_DIMS];
  uint32_t dim = (uint32_t)take(in, t->ndims);
  switch (take(in, 6)) {
  case 0:
    for (uint32_t i = 0; i < t->ndims; i++) {
      offsets[i] = take(in, t->shape[i] + 1);
      shape[i] = take(in, t->shape[i] - offsets[i] + 1);
    }
    return pto_tensor_view(t, offsets, shape);
  case 1: {
    uint64_t start = take(in, t->shape[dim] + 1);
    return pto_tensor_slice(t, dim, start, start + take(in, t->shape[dim] - start + 1), 1 + take(in, 5));
  }
  case 2:
    return pto_tensor_transpose(t, dim, (uint32_t)take(in, t->ndims));
  case 3:
    return pto_tensor_reinterpret(t, (uint32_t)take(in, PTO_INT4));
  case 4:
    shape[0] = take(in, 16);
    shape[1] = shape[0] ? pto_tensor_numel(t) / shape[0] : 0;
    return pto_tensor_reshape(t, 2, shape);
  default:
    shape[0] = 1 + take(in, 3);
    memcpy(&shape[1], t->shape, sizeof shape - sizeof shape[0]);
    return pto_tensor_broadcast(t, t->ndims < PTO_MAX_DIMS ? t->ndims + 1 : t->ndims, shape);
  }
}

static struct pto_tensor take_tensor(struct input *in) {
  static const uint32_t dtypes[] = {PTO_FLOAT32, PTO_FLOAT16, PTO_INT8, PTO_INT64};
  uint64_t shape[3] = {1 + take(in, 8), 1 + take(in, 8), 1 + take(in, 8)};
  struct pto_tensor t = dense(dtypes[take(in, 4)], 3, shape);
  for (uint64_t i = take(in, 5); i > 0; i--) {
    struct pto_tensor view = one_view(&t, in);
    if (pto_tensor_status(&view) == PTO_OK && pto_tensor_numel(&view) <= 65536 && view.ndims > 0) t = view;
  }
  return t;
}

/* Marks each byte of `t` with `bit`; returns how many different ones there are. */
static uint32_t mark(const struct pto_tensor *t, uint8_t *bytes, uint8_t bit) {
  uint64_t size = pto_dtype_size(t->dtype), numel = pto_tensor_numel(t);
  uint32_t count = 0;
  for (uint64_t n = 0; n < numel; n++) {
    uint64_t at = t->start_offset, rest = n;
    for (uint32_t i = t->ndims; i-- > 0;) {
      at += rest % t->shape[i] * t->strides[i];
      rest /= t->shape[i];
    }
    for (uint64_t k = at * size; k < (at + 1) * size; k++) {
      FUZZ_HOLDS(k < BUFFER_BYTES);
      count += !(bytes[k] & bit);
      bytes[k] |= bit;
    }
  }
  return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct input in = {data, size};
  struct pto_tensor a = take_tensor(&in), b = take_tensor(&in);
  uint8_t bytes[BUFFER_BYTES] = {0};
  uint32_t in_a = mark(&a, bytes, 1), in_b = mark(&b, bytes, 2), in_both = 0;
  for (uint32_t i = 0; i < BUFFER_BYTES; i++) in_both += bytes[i] == 3;
  enum pto_overlap truth = in_both == 0                      ? PTO_DISJOINT
                           : in_both == in_a && in_a == in_b ? PTO_EQUAL
                           : in_both == in_b                 ? PTO_COVERS
                           : in_both == in_a                 ? PTO_COVERED
                                                             : PTO_PARTIAL;
  FUZZ_HOLDS(pto_tensor_overlap(&a, &b) == truth);
  return 0;
}
