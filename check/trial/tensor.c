/* SPDX-License-Identifier: MIT */
#include <check/trial/tensor.h>

#include <math.h>
#include <string.h>

#define GAP 0xa5
#define GAPS_BELOW                                                                                                     \
  2000 /* elements of the inner dimensions, beyond which outer ones get no gaps: eight would be huge                   \
        */

static const char *const layout_names[] = {
#define X(constant, name) name,
    PTO_LAYOUT_LIST(X)
#undef X
};

const char *pto_layout_name(uint32_t layout) { return layout < PTO_LAYOUT_COUNT ? layout_names[layout] : "?"; }

int pto_layout_from_name(const char *name) {
  for (int i = 0; i < PTO_LAYOUT_COUNT; i++)
    if (strcmp(layout_names[i], name) == 0) return i;
  return -1;
}

uint64_t pto_trial_numel(const struct pto_trial_tensor *tensor) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < tensor->t.ndims; d++) numel *= tensor->shape[d];
  return numel;
}

/* ---- layouts ---- */

/* dims[i] is the dimension that lies i-th from outside in memory. */
static void draw_order(uint32_t layout, uint32_t count, uint32_t *dims, struct pto_rng *rng) {
  for (uint32_t i = 0; i < count; i++) dims[i] = layout == PTO_LAYOUT_TRANSPOSED ? count - 1 - i : i;
  if (layout != PTO_LAYOUT_PERMUTED && layout != PTO_LAYOUT_MIXED) return;
  for (uint32_t i = count; i > 1; i--) {
    const uint64_t other = pto_rng_below(rng, i);
    const uint32_t swapped = dims[i - 1];
    dims[i - 1] = dims[other];
    dims[other] = swapped;
  }
}

/* Between the elements of one dimension, before the first and after the last, in elements of it. */
struct gaps {
  uint64_t step, before, after;
};

static struct gaps draw_gaps(uint32_t layout, bool is_innermost, struct pto_rng *rng) {
  struct gaps gaps = {1, 0, 0};
  if (layout == PTO_LAYOUT_STEPPED || layout == PTO_LAYOUT_MIXED)
    gaps.step = 1 + pto_rng_below(rng, 3) + (layout == PTO_LAYOUT_STEPPED && is_innermost ? 1 : 0);
  if (layout == PTO_LAYOUT_SUB_BOX || layout == PTO_LAYOUT_MIXED) {
    gaps.before = pto_rng_below(rng, 4);
    gaps.after = pto_rng_below(rng, 4);
  }
  return gaps;
}

int pto_trial_tensor_init(struct pto_trial_tensor *tensor, uint32_t dtype, const struct pto_reference_shape *shape,
                          uint32_t layout, bool is_written, struct pto_rng *rng) {
  uint32_t dims[PTO_MAX_DIMS];
  uint64_t offset = 0, elems = 1;
  if (pto_dtype_bits(dtype) < 8 || (layout == PTO_LAYOUT_BROADCAST && is_written)) layout = PTO_LAYOUT_CONTIGUOUS;
  memset(tensor, 0, sizeof *tensor);
  tensor->t = (struct pto_kernel_tensor){
      .shape = tensor->shape, .strides = tensor->strides, .ndims = shape->ndims, .dtype = dtype};
  memcpy(tensor->shape, shape->shape, sizeof tensor->shape);
  draw_order(layout, shape->ndims, dims, rng);
  for (uint32_t i = shape->ndims; i-- > 0;) {
    const uint32_t d = dims[i];
    const uint64_t extent = tensor->shape[d];
    if (layout == PTO_LAYOUT_BROADCAST && pto_rng_below(rng, 2) == 0) continue; /* stride 0 */
    const struct gaps gaps =
        elems < GAPS_BELOW ? draw_gaps(layout, i + 1 == shape->ndims, rng) : (struct gaps){1, 0, 0};
    tensor->strides[d] = elems * gaps.step;
    offset += gaps.before * elems;
    elems *= gaps.before + (extent == 0 ? 0 : (extent - 1) * gaps.step + 1) + gaps.after;
  }
  tensor->memory_bytes = (elems * pto_dtype_bits(dtype) + 7) / 8;
  void *memory;
  if (posix_memalign(&memory, PTO_CACHE_LINE, tensor->memory_bytes + 1) != 0) return PTO_ENOMEM;
  tensor->memory = memory;
  memset(tensor->memory, GAP, tensor->memory_bytes + 1);
  tensor->t.addr = tensor->memory + offset * pto_dtype_size(dtype);
  return PTO_OK;
}

void pto_trial_tensor_fini(struct pto_trial_tensor *tensor) {
  free(tensor->memory);
  free(tensor->before);
  tensor->memory = tensor->before = NULL;
}

/* ---- contents ---- */

static double random_float(bool has_specials, struct pto_rng *rng) {
  static const double specials[] = {NAN,     INFINITY, -INFINITY, 0.0,      -0.0,    1.0,     -1.0,   0x1p-149,
                                    0x1p-24, 1e-40,    -1e-40,    3.4e38,   -3.4e38, 65504.0, 88.75,  -103.5,
                                    1e-5,    -87.5,    0x1p-126,  0.999999, 1.00001, 4097.0,  -1e-30, 65519.996};
  const double value = pto_rng_unit(rng) * 8 - 4;
  if (!has_specials || pto_rng_below(rng, 4) != 0) return value;
  return specials[pto_rng_below(rng, PTO_ARRAY_LENGTH(specials))];
}

static uint64_t random_whole(bool has_specials, struct pto_rng *rng) {
  const uint64_t choice = has_specials ? pto_rng_below(rng, 4) : 0;
  if (choice == 2) return pto_rng_next(rng);
  if (choice != 3) return pto_rng_below(rng, 200) - 100;
  return (pto_rng_below(rng, 2) << (8 * (1 + pto_rng_below(rng, 8)) - 1)) + pto_rng_below(rng, 5) - 2;
}

void pto_trial_fill(const struct pto_trial_tensor *tensor, bool has_specials, struct pto_rng *rng) {
  const uint64_t value_bits = tensor->t.dtype == PTO_BOOL ? 1 : UINT64_MAX;
  for (uint64_t i = 0; i < pto_trial_numel(tensor); i++)
    if (pto_trial_is_float(tensor->t.dtype))
      pto_reference_set(&tensor->t, i, random_float(has_specials, rng));
    else
      pto_reference_set_whole(&tensor->t, i, random_whole(has_specials, rng) & value_bits);
}

int pto_trial_tensor_snapshot(struct pto_trial_tensor *tensor) {
  if (tensor->before == NULL) tensor->before = malloc(tensor->memory_bytes + 1);
  if (tensor->before == NULL) return PTO_ENOMEM;
  memcpy(tensor->before, tensor->memory, tensor->memory_bytes + 1);
  return PTO_OK;
}

/* Element `index` is put back in memory, and what it held is returned: the rest can then be compared at once. */
static uint64_t swap_element(struct pto_kernel_tensor *to, const struct pto_kernel_tensor *from, uint64_t index) {
  const uint64_t held = pto_reference_bits(to, index);
  pto_reference_set_whole(to, index, pto_reference_bits(from, index));
  return held;
}

bool pto_trial_tensor_is_unchanged(const struct pto_trial_tensor *tensor, bool is_written) {
  if (!is_written) return memcmp(tensor->before, tensor->memory, tensor->memory_bytes + 1) == 0;
  /* The byte of an odd last element of 4 bits is the tensor's as a whole. */
  const uint64_t numel =
      pto_dtype_bits(tensor->t.dtype) < 8 ? pto_align_up(pto_trial_numel(tensor), 2) : pto_trial_numel(tensor);
  struct pto_kernel_tensor now = tensor->t, before = tensor->t;
  before.addr = tensor->before + ((const unsigned char *)tensor->t.addr - tensor->memory);
  uint64_t *results = malloc((numel + 1) * sizeof *results);
  if (results == NULL) return false;
  for (uint64_t i = 0; i < numel; i++) results[i] = swap_element(&now, &before, i);
  const bool is_unchanged = memcmp(tensor->before, tensor->memory, tensor->memory_bytes + 1) == 0;
  for (uint64_t i = 0; i < numel; i++) pto_reference_set_whole(&now, i, results[i]);
  free(results);
  return is_unchanged;
}
