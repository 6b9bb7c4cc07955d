/* SPDX-License-Identifier: MIT */
/*
 * The canonical form of a tensor's byte set, and what follows from the form alone.
 *
 * Strides that descend take one pass; transposed and folding ones the general way, which sorts.  Both give the same
 * form.
 *
 * Values only, any thread.
 */
#include <runtime/tensor/region.h>

#include <runtime/base/base.h>
#include <runtime/tensor/linear_form.h>
#include <runtime/tensor/tensor_make.h>

static void set_empty(struct pto_region *r) {
  r->end = r->start;
  r->run_bytes = 0;
  r->ndims = 0;
}

/* Dimensions of more than one index with a stride, ascending by stride; bytes. */
static uint32_t collect_ascending(const struct pto_tensor *t, uint32_t shift, uint64_t *extents, uint64_t *strides) {
  uint32_t count = 0;
  for (uint32_t i = t->ndims; i-- > 0;) {
    uint64_t stride = t->strides[i] << shift;
    if (t->shape[i] == 1 || stride == 0) continue;
    uint32_t k = count++;
    for (; k > 0 && strides[k - 1] > stride; k--) {
      strides[k] = strides[k - 1];
      extents[k] = extents[k - 1];
    }
    strides[k] = stride;
    extents[k] = t->shape[i];
  }
  return count;
}

/* Any order of strides, folding ones too.  A stride within the run makes the run longer; a multiple of the next inner
 * stride that does not step over its end makes that dimension longer: both are the same bytes in fewer dimensions. */
static PTO_NOINLINE void set_sorted(const struct pto_tensor *t, uint32_t shift, struct pto_region *r) {
  uint64_t extents[PTO_MAX_DIMS], strides[PTO_MAX_DIMS], run = UINT64_C(1) << shift;
  uint32_t count = collect_ascending(t, shift, extents, strides), kept = 0;
  for (uint32_t k = 0; k < count; k++) {
    uint64_t extent = extents[k], stride = strides[k];
    if (kept == 0 && stride <= run) {
      run += (extent - 1) * stride;
    } else if (kept > 0 && stride % strides[kept - 1] == 0 && stride / strides[kept - 1] <= extents[kept - 1]) {
      extents[kept - 1] += stride / strides[kept - 1] * (extent - 1);
    } else {
      extents[kept] = extent;
      strides[kept++] = stride;
    }
  }
  r->run_bytes = run;
  r->ndims = kept;
  r->end = r->start + run;
  for (uint32_t k = 0; k < kept; k++) {
    r->extents[kept - 1 - k] = extents[k];
    r->strides[kept - 1 - k] = strides[k];
    r->end += (extents[k] - 1) * strides[k];
  }
}

static PTO_NOINLINE void set_four_bit(const struct pto_tensor *t, uint64_t base, struct pto_region *r) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < t->ndims; i++) count *= t->shape[i];
  r->start = base + t->start_offset / 2;
  r->run_bytes = count / 2 + count % 2;
  r->end = r->start + r->run_bytes;
  r->ndims = 0;
}

/* One pass from the outermost dimension inwards.  False where the strides do not descend far enough to be seen as
 * nested here. */
static inline bool set_descending(const struct pto_tensor *t, uint32_t shift, struct pto_region *r) {
  uint64_t size = UINT64_C(1) << shift, run = size, span = 0, extent = 0, stride = 0;
  uint32_t kept = 0; /* the last one kept is in extent and stride, not yet stored */
  for (uint32_t i = 0; i < t->ndims; i++) {
    uint64_t n = t->shape[i], s = t->strides[i] << shift;
    if (n == 1 || s == 0) continue;
    span += (n - 1) * s;
    if (kept > 0 && stride == n * s) {
      extent *= n;
    } else {
      if (kept > 0) {
        if (stride < n * s) return false;
        r->extents[kept - 1] = extent;
        r->strides[kept - 1] = stride;
      }
      kept++;
      extent = n;
    }
    stride = s;
  }
  r->end = r->start + span + size;
  if (kept > 0) {
    if (stride == size) {
      run = extent * size;
      kept--;
    } else {
      r->extents[kept - 1] = extent;
      r->strides[kept - 1] = stride;
    }
  }
  r->run_bytes = run;
  r->ndims = kept;
  return true;
}

void pto_region_from_tensor(const struct pto_tensor *t, uint64_t base, struct pto_region *r) {
  const uint32_t shift = pto_dtype_shift(t->dtype);
  r->is_fuzzy = t->overlap;
  r->start = base + (t->start_offset << shift);
  if (pto_tensor_is_empty(t))
    set_empty(r);
  else if (pto_dtype_is_four_bit(t->dtype))
    set_four_bit(t, base, r);
  else if (!set_descending(t, shift, r))
    set_sorted(t, shift, r);
}

uint64_t pto_region_bytes(const struct pto_region *region) {
  uint64_t bytes = region->run_bytes;
  for (uint32_t k = 0; k < region->ndims; k++) bytes *= region->extents[k];
  return bytes;
}

/* Two different index vectors give the same element where Σ s[k]·d[k] = 0 for some d ≠ 0, |d[k]| < n[k].  With d's
 * first non-zero part positive that is a question for each k: does s[k] + s[k]·x + Σ (s[l]·y − s[l]·(n[l] − 1)), l > k,
 * 0 ≤ y ≤ 2·(n[l] − 1), take the value 0? */
static bool folds(uint32_t count, const uint64_t *extents, const uint64_t *strides) {
  struct pto_step_budget budget = {0, PTO_REGION_STEP_LIMIT};
  for (uint32_t k = 1; k < count; k++) {
    struct pto_linear_form form = {0};
    int64_t inner = 0;
    pto_linear_form_add(&form, strides[k], extents[k] - 2);
    for (uint32_t l = 0; l < k; l++) {
      pto_linear_form_add(&form, strides[l], 2 * (extents[l] - 1));
      inner += (int64_t)(strides[l] * (extents[l] - 1));
    }
    form.lo = form.hi = inner - (int64_t)strides[k];
    /* Where the budget is gone the safe answer is that bytes are shared. */
    if (pto_linear_form_reaches(&form, &budget) != PTO_ANSWER_NO) return true;
  }
  return false;
}

/* Strides that do not descend with steps over all that lies inside. */
static PTO_NOINLINE bool shares_bytes_unsorted(const struct pto_tensor *t) {
  uint64_t extents[PTO_MAX_DIMS], strides[PTO_MAX_DIMS], span = 0;
  if (pto_tensor_is_empty(t)) return false;
  for (uint32_t i = 0; i < t->ndims; i++)
    if (t->strides[i] == 0 && t->shape[i] > 1) return true;
  uint32_t count = collect_ascending(t, 0, extents, strides);
  bool is_nested = true;
  for (uint32_t k = 0; k < count; k++) {
    is_nested &= strides[k] > span;
    span += (extents[k] - 1) * strides[k];
  }
  return !is_nested && folds(count, extents, strides);
}

bool pto_tensor_shares_bytes(const struct pto_tensor *t) {
  uint64_t span = 0;
  for (uint32_t i = t->ndims; i-- > 0;) {
    uint64_t extent = t->shape[i], stride = t->strides[i];
    if (extent == 1) continue;
    if (PTO_UNLIKELY(extent == 0 || stride <= span)) return shares_bytes_unsorted(t);
    span += (extent - 1) * stride;
  }
  return false;
}
