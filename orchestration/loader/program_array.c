/* SPDX-License-Identifier: MIT */
/*
 * Arrays of a program: declaration, elements of every dtype, reproducible fills.  Part of pto/program.h.
 */
#include <orchestration/loader/program_state.h>

#include <math.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/dtype.h>
#include <runtime/base/grow.h>
#include <runtime/base/memory_checker.h>

#define ARRAY_ALIGN 64u
#define MOST_SMALL_ELEMS (UINT64_C(1) << 20)

/* ---- declaration ---- */

/* Element count and bytes of the shape; false where they overflow or exceed what an allocation can be. */
static bool array_size(struct pto_array *array) {
  uint64_t numel = 1;
  bool is_empty = false;
  for (uint32_t i = 0; i < array->ndims; i++) {
    if (array->shape[i] == 0)
      is_empty = true;
    else if (__builtin_mul_overflow(numel, array->shape[i], &numel))
      return false;
  }
  if (is_empty) numel = 0;
  uint64_t bits;
  if (__builtin_mul_overflow(numel, (uint64_t)pto_dtype_bits(array->dtype), &bits)) return false;
  array->numel = numel;
  array->size_bytes = (bits + 7) / 8;
  return array->size_bytes < UINT64_C(1) << 47;
}

static void slot_destroy(struct pto_array_slot *slot) {
  if (!slot) return;
  pto_array_memory_fini(&slot->memory);
  free(slot->array.golden);
  free(slot->remembered);
  free(slot);
}

bool pto_program_run_fills(const struct pto_program_run *run, const struct pto_array *array) {
  const bool is_small = array->numel <= MOST_SMALL_ELEMS && !pto_dtype_is_real(array->dtype);
  return !run->no_compute || (run->small_inputs && is_small && array->role == PTO_ARRAY_INPUT);
}

enum pto_array_way pto_program_array_way(const struct pto_program_run *run) {
  if (run->no_compute) return PTO_ARRAY_PRICED;
  if (run->margin_bytes) return PTO_ARRAY_SPACED;
  return pto_memory_is_checked() ? PTO_ARRAY_PLAIN : PTO_ARRAY_GUARDED;
}

/* Zeroed memory for the array; false where there is none. */
static bool allocate(struct pto_program_run *run, struct pto_array_slot *slot) {
  if (!pto_array_memory_init(&slot->memory, pto_program_array_way(run), slot->array.size_bytes, run->margin_bytes,
                             &run->pool))
    return false;
  slot->array.data = slot->memory.data;
  slot->is_address_space = run->no_compute && !pto_program_run_fills(run, &slot->array);
  return true;
}

static bool is_wrong_declaration(struct pto_program_run *run, const char *name, uint32_t role, uint32_t dtype,
                                 uint32_t ndims) {
  const char *program = run->program->name;
  if (!name || !*name) return pto_program_fail(run, "%s: an array without a name", program) != PTO_OK;
  if (pto_program_find(run, name))
    return pto_program_fail(run, "%s: array %s is declared twice", program, name) != PTO_OK;
  if (role < PTO_ARRAY_INPUT || role > PTO_ARRAY_SCRATCH)
    return pto_program_fail(run, "%s: array %s: %u is no role", program, name, role) != PTO_OK;
  if (dtype >= PTO_DTYPE_COUNT)
    return pto_program_fail(run, "%s: array %s: %u is no dtype", program, name, dtype) != PTO_OK;
  if (ndims > PTO_MAX_DIMS)
    return pto_program_fail(run, "%s: array %s: rank %u exceeds %d", program, name, ndims, PTO_MAX_DIMS) != PTO_OK;
  return false;
}

struct pto_array *pto_program_array(struct pto_program_run *run, const char *name, uint32_t role, uint32_t dtype,
                                    uint32_t ndims, const uint64_t *shape) {
  if (run->error.status != PTO_OK || is_wrong_declaration(run, name, role, dtype, ndims)) return NULL;
  struct pto_array_slot *slot = calloc(1, sizeof *slot + strlen(name) + 1), **place = NULL;
  if (slot) {
    struct pto_array *array = &slot->array;
    *array = (struct pto_array){.name = strcpy((char *)(slot + 1), name), .role = role, .dtype = dtype, .ndims = ndims};
    if (ndims) memcpy(array->shape, shape, ndims * sizeof *shape);
    if (!array_size(array))
      (void)pto_program_fail(run, "%s: array %s: its size overflows", run->program->name, name);
    else if (allocate(run, slot))
      place = pto_grow(&run->arrays, &run->array_count, &run->array_capacity, sizeof *place);
  }
  if (place) {
    *place = slot;
    return &slot->array;
  }
  slot_destroy(slot);
  pto_program_out_of_memory(run, name); /* unless it has failed for another reason */
  return NULL;
}

void pto_program_arrays_fini(struct pto_program_run *run) {
  for (uint32_t i = 0; i < run->array_count; i++) slot_destroy(run->arrays[i]);
  pto_array_pool_fini(&run->pool);
  free(run->arrays);
}

struct pto_array *pto_program_find(struct pto_program_run *run, const char *name) {
  for (uint32_t i = 0; i < run->array_count; i++)
    if (strcmp(run->arrays[i]->array.name, name) == 0) return &run->arrays[i]->array;
  return NULL;
}

struct pto_array *pto_program_run_array(struct pto_program_run *run, uint32_t index) {
  return index < run->array_count ? &run->arrays[index]->array : NULL;
}

double *pto_array_golden(struct pto_program_run *run, struct pto_array *array) {
  if (array && !array->golden) {
    array->golden = pto_program_zeroed(ARRAY_ALIGN, (array->numel + 1) * sizeof *array->golden);
    if (!array->golden) pto_program_out_of_memory(run, array->name);
  }
  return array ? array->golden : NULL;
}

struct pto_tensor pto_array_tensor(struct pto_runtime *rt, const struct pto_array *array) {
  if (!array) return pto_external_tensor(rt, NULL, PTO_UINT8, 0, NULL); /* invalid, and says that there is no address */
  const struct pto_tensor tensor = pto_external_tensor(rt, array->data, array->dtype, array->ndims, array->shape);
  pto_buffer_label(rt, tensor.buffer, array->name);
  return tensor;
}

/* ---- rounding ---- */

/* A double as the float that a later rounding to fewer bits turns into what rounding the double itself would give:
 * rounded to odd, so that no tie appears which was none (Boldo and Melquiond 2008). */
static float float_to_odd(double value) {
  float near = (float)value;
  if (!isfinite(near) || (double)near == value) {
    if (isinf(near) && isfinite(value)) return value > 0 ? 0x1.fffffep127f : -0x1.fffffep127f;
    return near;
  }
  uint32_t bits;
  memcpy(&bits, &near, sizeof bits);
  bits = (bits - (fabs((double)near) > fabs(value))) | 1; /* cut off, and odd */
  memcpy(&near, &bits, sizeof near);
  return near;
}

/* What an integer of so many bits holds: rounded to even, saturated. */
static uint64_t to_integer(double value, uint32_t bits, bool is_signed) {
  if (isnan(value)) return 0;
  const double limit = ldexp(1.0, (int)bits - is_signed), rounded = nearbyint(value);
  const uint64_t largest = UINT64_MAX >> (64 - bits + is_signed);
  if (rounded >= limit) return largest;
  if (rounded <= (is_signed ? -limit : 0)) return is_signed ? ~largest : 0;
  return is_signed ? (uint64_t)(int64_t)rounded : (uint64_t)rounded;
}

/* ---- elements: by class and bits of the dtype ---- */

_Static_assert(PTO_FLOAT_DTYPE_COUNT == 3, "a float more: how it is read and set goes here");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low bytes of an element are its first");

double pto_array_get(const struct pto_array *array, uint64_t index) {
  const uint32_t dtype = array->dtype;
  if (dtype == PTO_FLOAT32) return ((const float *)array->data)[index];
  if (dtype == PTO_FLOAT16) return pto_fp16_to_f32(((const uint16_t *)array->data)[index]);
  if (dtype == PTO_BFLOAT16) return pto_bf16_to_f32(((const uint16_t *)array->data)[index]);
  const uint32_t bits = pto_dtype_bits(dtype);
  uint64_t raw = 0;
  if (bits < 8)
    raw = ((const uint8_t *)array->data)[index / 2] >> (index % 2 * 4) & 15u;
  else
    memcpy(&raw, (const char *)array->data + index * (bits / 8), bits / 8);
  if (pto_dtype_is_small_float(dtype)) return pto_small_float_to_f32(dtype, (uint8_t)raw);
  if (pto_dtype_is_signed(dtype)) return (double)((int64_t)(raw << (64 - bits)) >> (64 - bits));
  return dtype == PTO_BOOL ? raw != 0 : (double)raw;
}

void pto_array_set(struct pto_array *array, uint64_t index, double value) {
  const uint32_t dtype = array->dtype;
  if (dtype == PTO_FLOAT32) {
    ((float *)array->data)[index] = (float)value;
  } else if (pto_dtype_is_float(dtype)) {
    const float once = float_to_odd(value);
    ((uint16_t *)array->data)[index] = dtype == PTO_FLOAT16 ? pto_fp16_from_f32(once) : pto_bf16_from_f32(once);
  } else {
    const uint32_t bits = pto_dtype_bits(dtype);
    const uint64_t raw = dtype == PTO_BOOL                 ? value != 0
                         : pto_dtype_is_small_float(dtype) ? pto_small_float_from_f32(dtype, float_to_odd(value))
                                                           : to_integer(value, bits, pto_dtype_is_signed(dtype));
    uint8_t *at = (uint8_t *)array->data + index * bits / 8;
    if (bits < 8)
      *at = (uint8_t)((*at & ~(15u << index % 2 * 4)) | (raw & 15u) << index % 2 * 4);
    else
      memcpy(at, &raw, bits / 8);
  }
}

void pto_array_fill(struct pto_array *array, double value) {
  const struct pto_array_slot *slot = (const void *)array;
  if (!array || slot->is_address_space) return;
  for (uint64_t i = 0; i < array->numel; i++) pto_array_set(array, i, value);
}

/* One stream of SplitMix64 an array, started from the seed and the array's name: adding an array changes no other. */
void pto_array_fill_uniform(struct pto_program_run *run, struct pto_array *array, double lo, double hi) {
  if (!array || (run->no_compute && !pto_program_run_fills(run, array))) return;
  run->has_used_seed = true;
  struct pto_rng rng = {pto_xxh64(array->name, strlen(array->name), run->seed)};
  bool is_float = pto_dtype_is_real(array->dtype);
  double first = ceil(lo), span = ceil(hi) - first;
  uint64_t choices = span >= 1 ? to_integer(span, 64, false) : 1;
  for (uint64_t i = 0; i < array->numel; i++) {
    double value = is_float ? lo + (hi - lo) * pto_rng_unit(&rng) : first + (double)pto_rng_below(&rng, choices);
    pto_array_set(array, i, value);
  }
}
