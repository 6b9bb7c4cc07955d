/* SPDX-License-Identifier: MIT */
/*
 * Tensor descriptors: the dense constructor, views, and what makes a descriptor valid.
 *
 * Every view has the same form: refuse an invalid source with the source's own reason, refuse impossible arguments with
 * a reason and its values, compute the result from a copy.  A view of a valid tensor needs no second validation unless
 * it changes the element size or the element count: its bytes are a subset of the source's.
 *
 * Values only, no allocation, any thread.  A new view: a word in PTO_TENSOR_MAKER_LIST, its reasons, one function.
 */
#include <pto/tensor.h>

#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>

static const int reason_status[] = {
#define X(constant, status, sentence) status,
    PTO_TENSOR_REASON_LIST(X)
#undef X
};

struct pto_tensor pto_tensor_invalid_values(enum pto_tensor_maker maker, enum pto_tensor_reason reason, uint32_t count,
                                            const uint64_t *values) {
  struct pto_tensor t = {.start_offset = reason, .version = (int32_t)maker, .status = reason_status[reason]};
  PTO_ASSERT(count <= PTO_TENSOR_REASON_VALUES);
  for (uint32_t i = 0; i < count; i++) {
    if (i < PTO_MAX_DIMS)
      t.shape[i] = values[i];
    else
      t.strides[i - PTO_MAX_DIMS] = values[i];
  }
  return t;
}

/* ---- lists as values of a reason ---- */

/* Values for a sentence with lists in it: one list of rank 8 and some numbers fit. */
struct values {
  uint32_t count;
  uint64_t items[PTO_TENSOR_REASON_VALUES];
};

static void add_value(struct values *v, uint64_t value) {
  PTO_ASSERT(v->count < PTO_TENSOR_REASON_VALUES);
  v->items[v->count++] = value;
}

static void add_list(struct values *v, uint32_t count, const uint64_t *list) {
  add_value(v, count);
  for (uint32_t i = 0; i < count; i++) add_value(v, list[i]);
}

static struct pto_tensor invalid_with(enum pto_tensor_maker maker, enum pto_tensor_reason reason,
                                      const struct values *v) {
  return pto_tensor_invalid_values(maker, reason, v->count, v->items);
}

/* ---- shapes ---- */

static bool has_empty_extent(uint32_t ndims, const uint64_t *shape) {
  for (uint32_t i = 0; i < ndims; i++)
    if (shape[i] == 0) return true;
  return false;
}

/* Product of the shape; false where it does not fit.  A 0 anywhere makes it 0, whatever the others are. */
static bool count_elements(uint32_t ndims, const uint64_t *shape, uint64_t *count) {
  uint64_t product = 1;
  if (has_empty_extent(ndims, shape)) {
    *count = 0;
    return true;
  }
  for (uint32_t i = 0; i < ndims; i++)
    if (__builtin_mul_overflow(product, shape[i], &product)) return false;
  *count = product;
  return true;
}

/* Sets rank, shape and row-major strides.  The element count fits 64 bits, so every stride of a non-empty shape does;
 * with an empty one the strides are those of its extents of 1 at least, and 0 where even that does not fit. */
static void set_row_major(struct pto_tensor *t, uint32_t ndims, const uint64_t *shape) {
  uint64_t stride = 1;
  t->ndims = ndims;
  for (uint32_t i = ndims; i-- > 0;) {
    t->shape[i] = shape[i];
    t->strides[i] = stride;
    if (__builtin_mul_overflow(stride, shape[i] ? shape[i] : 1, &stride)) stride = 0;
  }
  for (uint32_t i = ndims; i < PTO_MAX_DIMS; i++) t->shape[i] = t->strides[i] = 0;
}

/* Where it answers false, dimension *dim has not the stride *expected. */
static bool is_row_major(const struct pto_tensor *t, uint32_t *dim, uint64_t *expected) {
  uint64_t stride = 1;
  if (has_empty_extent(t->ndims, t->shape)) return true;
  for (uint32_t i = t->ndims; i-- > 0;) {
    *dim = i;
    *expected = stride;
    if (t->shape[i] != 1 && t->strides[i] != stride) return false;
    stride *= t->shape[i];
  }
  return true;
}

static bool bytes_of_count(uint32_t dtype, uint64_t count, uint64_t *bytes) {
  if (pto_dtype_is_four_bit(dtype)) {
    *bytes = count / 2 + count % 2;
    return *bytes < PTO_ADDRESS_LIMIT;
  }
  return !__builtin_mul_overflow(count, pto_dtype_size(dtype), bytes) && *bytes < PTO_ADDRESS_LIMIT;
}

bool pto_tensor_dense_bytes(uint32_t dtype, uint32_t ndims, const uint64_t *shape, uint64_t *bytes) {
  uint64_t count;
  if (dtype >= PTO_DTYPE_COUNT || ndims > PTO_MAX_DIMS || (ndims > 0 && shape == NULL)) return false;
  return count_elements(ndims, shape, &count) && bytes_of_count(dtype, count, bytes);
}

/* ---- validity ---- */

static struct pto_tensor refuse_placement(const struct pto_tensor *t, enum pto_tensor_maker maker) {
  const struct pto_buffer *b = &t->buffer;
  uint64_t size = pto_dtype_size(t->dtype);
  if ((b->base | b->size_bytes) >= PTO_ADDRESS_LIMIT)
    return pto_tensor_invalid(maker, PTO_REASON_ADDRESS, b->size_bytes, b->base);
  if (b->base % size != 0) return pto_tensor_invalid(maker, PTO_REASON_MISALIGNED, b->base, size, t->dtype);
  return *t;
}

/* The tensor itself where its elements lie inside its buffer, else invalid. */
static struct pto_tensor refuse_extent(const struct pto_tensor *t, enum pto_tensor_maker maker) {
  uint64_t capacity = t->buffer.size_bytes / pto_dtype_size(t->dtype);
  uint64_t end = t->start_offset, step;
  if (pto_dtype_is_four_bit(t->dtype)) capacity = t->buffer.size_bytes * 2;
  if (end >= capacity) {
    if (end == 0) return pto_tensor_invalid(maker, PTO_REASON_OUTSIDE, pto_dtype_size(t->dtype), t->buffer.size_bytes);
    return pto_tensor_invalid(maker, PTO_REASON_OFFSET, end, t->dtype, t->buffer.size_bytes);
  }
  end++;
  for (uint32_t i = 0; i < t->ndims; i++)
    if (__builtin_mul_overflow(t->shape[i] - 1, t->strides[i], &step) || __builtin_add_overflow(end, step, &end) ||
        end > UINT64_MAX / pto_dtype_size(t->dtype))
      return pto_tensor_invalid(maker, PTO_REASON_EXTENT, i, t->shape[i], t->strides[i]);
  if (end > capacity) {
    uint64_t needed = pto_dtype_is_four_bit(t->dtype) ? end / 2 + end % 2 : end * pto_dtype_size(t->dtype);
    return pto_tensor_invalid(maker, PTO_REASON_OUTSIDE, needed, t->buffer.size_bytes);
  }
  return *t;
}

/* The tensor itself where every rule holds, else an invalid one with the first rule that does not.  status is PTO_OK.
 */
static PTO_COLD struct pto_tensor refuse_fields(const struct pto_tensor *t, enum pto_tensor_maker maker) {
  uint64_t count;
  struct pto_tensor result;
  if (t->ndims > PTO_MAX_DIMS) return pto_tensor_invalid(maker, PTO_REASON_RANK, t->ndims, PTO_MAX_DIMS);
  if (t->dtype >= PTO_DTYPE_COUNT) return pto_tensor_invalid(maker, PTO_REASON_DTYPE, t->dtype);
  if (t->overlap > PTO_OVERLAP_FUZZY) return pto_tensor_invalid(maker, PTO_REASON_OVERLAP_MODE, t->overlap);
  if (!count_elements(t->ndims, t->shape, &count)) {
    struct values v = {0};
    add_list(&v, t->ndims, t->shape);
    return invalid_with(maker, PTO_REASON_COUNT, &v);
  }
  result = refuse_placement(t, maker);
  if (result.status != PTO_OK || count == 0) return result;
  uint32_t dim;
  uint64_t expected;
  if (pto_dtype_is_four_bit(t->dtype) && (!is_row_major(t, &dim, &expected) || t->start_offset % 2 != 0)) {
    struct values v = {0};
    add_value(&v, t->dtype);
    add_list(&v, t->ndims, t->shape);
    return invalid_with(maker, PTO_REASON_FOUR_BIT, &v);
  }
  return refuse_extent(t, maker);
}

int pto_tensor_check_rare(const struct pto_tensor *t) {
  if (t->status != PTO_OK) return t->status < 0 ? t->status : PTO_EINVAL;
  return refuse_fields(t, PTO_MAKER_TENSOR).status;
}

int pto_tensor_status(const struct pto_tensor *t) { return t == NULL ? PTO_EINVAL : pto_tensor_check(t); }

/* The invalid tensor that stands for `t`, which pto_tensor_check refuses: itself if it was made invalid. */
PTO_COLD struct pto_tensor pto_tensor_refused(const struct pto_tensor *t, enum pto_tensor_maker maker) {
  if (t == NULL) return pto_tensor_invalid(maker, PTO_REASON_NO_TENSOR, 0);
  if (t->status < 0) return *t;
  if (t->status > 0) return pto_tensor_invalid(PTO_MAKER_TENSOR, PTO_REASON_STATUS, (uint64_t)t->status);
  return refuse_fields(t, PTO_MAKER_TENSOR);
}

static inline bool is_refused(const struct pto_tensor *t) { return t == NULL || pto_tensor_check(t) != PTO_OK; }

/* ---- constructors ---- */

struct pto_tensor pto_tensor_dense(struct pto_buffer buffer, uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  enum pto_tensor_maker maker = buffer.base ? PTO_MAKER_EXTERNAL : PTO_MAKER_MANAGED;
  struct pto_tensor t = {.buffer = buffer, .dtype = dtype};
  uint64_t count;
  if (ndims > PTO_MAX_DIMS) return pto_tensor_invalid(maker, PTO_REASON_RANK, ndims, PTO_MAX_DIMS);
  if (ndims > 0 && shape == NULL) return pto_tensor_invalid(maker, PTO_REASON_NO_LIST, ndims);
  if (!count_elements(ndims, shape, &count)) {
    struct values v = {0};
    add_list(&v, ndims, shape);
    return invalid_with(maker, PTO_REASON_COUNT, &v);
  }
  if (dtype >= PTO_DTYPE_COUNT) return pto_tensor_invalid(maker, PTO_REASON_DTYPE, dtype);
  uint64_t bytes;
  if (!bytes_of_count(dtype, count, &bytes)) {
    struct values v = {0};
    add_list(&v, ndims, shape);
    add_value(&v, dtype);
    return invalid_with(maker, PTO_REASON_BYTES, &v);
  }
  set_row_major(&t, ndims, shape);
  return refuse_fields(&t, maker);
}

struct pto_tensor pto_tensor_with_version(const struct pto_tensor *t, int32_t version) {
  if (is_refused(t)) return pto_tensor_refused(t, PTO_MAKER_TENSOR);
  struct pto_tensor result = *t;
  result.version = version;
  return result;
}

struct pto_tensor pto_tensor_with_overlap(const struct pto_tensor *t, uint32_t overlap_mode) {
  if (is_refused(t)) return pto_tensor_refused(t, PTO_MAKER_WITH_OVERLAP);
  if (overlap_mode > PTO_OVERLAP_FUZZY)
    return pto_tensor_invalid(PTO_MAKER_WITH_OVERLAP, PTO_REASON_OVERLAP_MODE, overlap_mode);
  struct pto_tensor result = *t;
  result.overlap = overlap_mode;
  return result;
}

/* ---- views ---- */

/* 4-bit tensors have a rule of their own about layout, which a view may break. */
static struct pto_tensor checked_view(const struct pto_tensor *t, enum pto_tensor_maker maker) {
  return pto_dtype_is_four_bit(t->dtype) ? refuse_fields(t, maker) : *t;
}

struct pto_tensor pto_tensor_view(const struct pto_tensor *t, const uint64_t *offsets, const uint64_t *shape) {
  if (is_refused(t)) return pto_tensor_refused(t, PTO_MAKER_VIEW);
  if (t->ndims > 0 && (offsets == NULL || shape == NULL))
    return pto_tensor_invalid(PTO_MAKER_VIEW, PTO_REASON_NO_LIST, t->ndims);
  struct pto_tensor result = *t;
  uint64_t skipped = 0;
  for (uint32_t i = 0; i < t->ndims; i++) {
    if (offsets[i] > t->shape[i] || shape[i] > t->shape[i] - offsets[i])
      return pto_tensor_invalid(PTO_MAKER_VIEW, PTO_REASON_VIEW_RANGE, i, offsets[i], shape[i], t->shape[i]);
    result.shape[i] = shape[i];
    skipped += offsets[i] * t->strides[i];
  }
  /* An empty view has no first element: it stays where its source is, so that its offset cannot leave the buffer. */
  if (!has_empty_extent(t->ndims, shape)) result.start_offset += skipped;
  return checked_view(&result, PTO_MAKER_VIEW);
}

struct pto_tensor pto_tensor_slice(const struct pto_tensor *t, uint32_t dim, uint64_t start, uint64_t end,
                                   uint64_t step) {
  if (is_refused(t)) return pto_tensor_refused(t, PTO_MAKER_SLICE);
  if (dim >= t->ndims) return pto_tensor_invalid(PTO_MAKER_SLICE, PTO_REASON_DIMENSION, dim, t->ndims);
  if (step == 0) return pto_tensor_invalid(PTO_MAKER_SLICE, PTO_REASON_STEP, dim);
  if (start > end || end > t->shape[dim])
    return pto_tensor_invalid(PTO_MAKER_SLICE, PTO_REASON_SLICE_RANGE, dim, start, end, t->shape[dim]);
  struct pto_tensor result = *t;
  uint64_t count = (end - start) / step + ((end - start) % step != 0);
  result.shape[dim] = count;
  if (!has_empty_extent(t->ndims, result.shape)) result.start_offset += start * t->strides[dim];
  /* With at most one index the stride is never used, and a huge step may not fit it. */
  uint64_t stride;
  if (!__builtin_mul_overflow(t->strides[dim], step, &stride)) result.strides[dim] = stride;
  return checked_view(&result, PTO_MAKER_SLICE);
}

struct pto_tensor pto_tensor_permute(const struct pto_tensor *t, const uint32_t *order) {
  if (is_refused(t)) return pto_tensor_refused(t, PTO_MAKER_PERMUTE);
  if (t->ndims > 0 && order == NULL) return pto_tensor_invalid(PTO_MAKER_PERMUTE, PTO_REASON_NO_LIST, t->ndims);
  struct pto_tensor result = *t;
  uint32_t seen = 0;
  for (uint32_t i = 0; i < t->ndims; i++) {
    if (order[i] >= t->ndims || (seen >> order[i] & 1u)) {
      struct values v = {0};
      add_value(&v, t->ndims);
      for (uint32_t j = 0; j < t->ndims; j++) add_value(&v, order[j]);
      return invalid_with(PTO_MAKER_PERMUTE, PTO_REASON_ORDER, &v);
    }
    seen |= 1u << order[i];
    result.shape[i] = t->shape[order[i]];
    result.strides[i] = t->strides[order[i]];
  }
  return checked_view(&result, PTO_MAKER_PERMUTE);
}

struct pto_tensor pto_tensor_transpose(const struct pto_tensor *t, uint32_t dim_a, uint32_t dim_b) {
  if (is_refused(t)) return pto_tensor_refused(t, PTO_MAKER_TRANSPOSE);
  uint32_t larger = dim_a > dim_b ? dim_a : dim_b;
  if (larger >= t->ndims) return pto_tensor_invalid(PTO_MAKER_TRANSPOSE, PTO_REASON_DIMENSION, larger, t->ndims);
  struct pto_tensor result = *t;
  result.shape[dim_a] = t->shape[dim_b];
  result.shape[dim_b] = t->shape[dim_a];
  result.strides[dim_a] = t->strides[dim_b];
  result.strides[dim_b] = t->strides[dim_a];
  return checked_view(&result, PTO_MAKER_TRANSPOSE);
}

struct pto_tensor pto_tensor_reshape(const struct pto_tensor *t, uint32_t ndims, const uint64_t *shape) {
  if (is_refused(t)) return pto_tensor_refused(t, PTO_MAKER_RESHAPE);
  if (ndims > PTO_MAX_DIMS) return pto_tensor_invalid(PTO_MAKER_RESHAPE, PTO_REASON_RANK, ndims, PTO_MAX_DIMS);
  if (ndims > 0 && shape == NULL) return pto_tensor_invalid(PTO_MAKER_RESHAPE, PTO_REASON_NO_LIST, ndims);
  uint64_t count, wanted = pto_tensor_numel(t);
  struct values v = {0};
  if (!count_elements(ndims, shape, &count)) {
    add_list(&v, ndims, shape);
    return invalid_with(PTO_MAKER_RESHAPE, PTO_REASON_COUNT, &v);
  }
  if (count != wanted) {
    add_list(&v, ndims, shape);
    add_value(&v, count);
    add_value(&v, wanted);
    return invalid_with(PTO_MAKER_RESHAPE, PTO_REASON_RESHAPE_COUNT, &v);
  }
  uint32_t dim;
  uint64_t expected;
  if (!is_row_major(t, &dim, &expected)) {
    add_list(&v, t->ndims, t->shape);
    add_value(&v, dim);
    add_value(&v, t->strides[dim]);
    add_value(&v, expected);
    return invalid_with(PTO_MAKER_RESHAPE, PTO_REASON_RESHAPE_GAPS, &v);
  }
  struct pto_tensor result = *t;
  set_row_major(&result, ndims, shape);
  return result;
}

struct pto_tensor pto_tensor_broadcast(const struct pto_tensor *t, uint32_t ndims, const uint64_t *shape) {
  if (is_refused(t)) return pto_tensor_refused(t, PTO_MAKER_BROADCAST);
  if (ndims > PTO_MAX_DIMS) return pto_tensor_invalid(PTO_MAKER_BROADCAST, PTO_REASON_RANK, ndims, PTO_MAX_DIMS);
  if (ndims < t->ndims) return pto_tensor_invalid(PTO_MAKER_BROADCAST, PTO_REASON_BROADCAST_RANK, ndims, t->ndims);
  if (ndims > 0 && shape == NULL) return pto_tensor_invalid(PTO_MAKER_BROADCAST, PTO_REASON_NO_LIST, ndims);
  struct pto_tensor result = *t;
  uint32_t added = ndims - t->ndims;
  result.ndims = ndims;
  for (uint32_t i = 0; i < ndims; i++) {
    uint64_t extent = i < added ? 1 : t->shape[i - added];
    uint64_t stride = i < added ? 0 : t->strides[i - added];
    if (extent != shape[i] && extent != 1)
      return pto_tensor_invalid(PTO_MAKER_BROADCAST, PTO_REASON_BROADCAST_EXTENT, i, extent, shape[i]);
    result.shape[i] = shape[i];
    result.strides[i] = extent == shape[i] ? stride : 0;
  }
  uint64_t count;
  if (!count_elements(ndims, shape, &count)) {
    struct values v = {0};
    add_list(&v, ndims, shape);
    return invalid_with(PTO_MAKER_BROADCAST, PTO_REASON_COUNT, &v);
  }
  return checked_view(&result, PTO_MAKER_BROADCAST);
}

/* count · from bits as a whole number of `to` bits; false where it is none.  Bits are powers of two. */
static bool convert_count(uint64_t count, uint64_t from, uint64_t to, uint64_t *result) {
  if (from >= to) return !__builtin_mul_overflow(count, from / to, result);
  *result = count / (to / from);
  return count % (to / from) == 0;
}

struct pto_tensor pto_tensor_reinterpret(const struct pto_tensor *t, uint32_t dtype) {
  enum pto_tensor_maker maker = PTO_MAKER_REINTERPRET;
  if (is_refused(t)) return pto_tensor_refused(t, maker);
  if (dtype >= PTO_DTYPE_COUNT) return pto_tensor_invalid(maker, PTO_REASON_DTYPE, dtype);
  uint64_t from = pto_dtype_bits(t->dtype), to = pto_dtype_bits(dtype);
  struct pto_tensor result = *t;
  result.dtype = dtype;
  if (from != to) {
    if (t->ndims == 0) return pto_tensor_invalid(maker, PTO_REASON_SCALAR_SIZE, t->dtype, from, dtype, to);
    uint32_t inner = t->ndims - 1;
    if (t->shape[inner] > 1 && t->strides[inner] != 1)
      return pto_tensor_invalid(maker, PTO_REASON_INNERMOST, t->strides[inner]);
    if (!convert_count(t->shape[inner], from, to, &result.shape[inner]))
      return pto_tensor_invalid(maker, PTO_REASON_INNERMOST_BYTES, t->shape[inner], t->dtype, dtype);
    result.strides[inner] = 1;
    for (uint32_t i = 0; i < inner; i++) {
      /* A dimension with one index takes no steps: its stride means nothing, and becomes 0 where it cannot be
       * expressed. */
      if (convert_count(t->strides[i], from, to, &result.strides[i])) continue;
      if (t->shape[i] > 1) return pto_tensor_invalid(maker, PTO_REASON_STRIDE_BYTES, i, t->strides[i], t->dtype, dtype);
      result.strides[i] = 0;
    }
    if (!convert_count(t->start_offset, from, to, &result.start_offset))
      return pto_tensor_invalid(maker, PTO_REASON_OFFSET_BYTES, t->start_offset, t->dtype, dtype);
  }
  return refuse_fields(&result, maker);
}

/* ---- questions ---- */

uint64_t pto_tensor_numel(const struct pto_tensor *t) {
  uint64_t count;
  return is_refused(t) || !count_elements(t->ndims, t->shape, &count) ? 0 : count;
}

bool pto_tensor_is_contiguous(const struct pto_tensor *t) {
  uint32_t dim;
  uint64_t expected;
  return !is_refused(t) && is_row_major(t, &dim, &expected);
}

enum pto_overlap pto_tensor_overlap(const struct pto_tensor *a, const struct pto_tensor *b) {
  struct pto_region ra, rb;
  if (is_refused(a) || is_refused(b)) return PTO_DISJOINT;
  /* Managed buffers are told apart by identity, external memory by address; the one never lies in the other. */
  if ((a->buffer.base == 0) != (b->buffer.base == 0)) return PTO_DISJOINT;
  if (a->buffer.base == 0 && (a->buffer.id != b->buffer.id || a->buffer.generation != b->buffer.generation))
    return PTO_DISJOINT;
  pto_region_from_tensor(a, a->buffer.base, &ra);
  pto_region_from_tensor(b, b->buffer.base, &rb);
  return pto_region_overlap(&ra, &rb, NULL);
}
