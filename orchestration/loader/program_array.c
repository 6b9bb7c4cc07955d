/* SPDX-License-Identifier: MIT */
/*
 * Arrays of a program: declaration, elements of every dtype, reproducible fills.  Part of pto/program.h.
 */
#include <orchestration/loader/program_state.h>

#include <math.h>
#include <string.h>

#include <runtime/base/base.h>

#define ARRAY_ALIGN 64u

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

static bool grow(struct pto_program_run *run) {
  if (run->array_count < run->array_capacity) return true;
  uint32_t capacity = run->array_capacity ? 2 * run->array_capacity : 16;
  struct pto_array_slot **arrays = realloc(run->arrays, capacity * sizeof(struct pto_array_slot *));
  if (!arrays) return false;
  run->arrays = arrays;
  run->array_capacity = capacity;
  return true;
}

static void slot_destroy(struct pto_array_slot *slot) {
  if (!slot) return;
  free(slot->block);
  free(slot->array.golden);
  free(slot->remembered);
  free(slot);
}

/* Zeroed memory for the array; false where there is none. */
static bool allocate(const struct pto_program_run *run, struct pto_array_slot *slot) {
  const uint64_t margin = run->margin_bytes, bytes = slot->array.size_bytes;
  /* Not a byte more than the array has, so that checkers see who runs off its end. */
  const uint64_t all = margin ? pto_align_up(bytes, margin) + 2 * margin : pto_max_u64(bytes, 1);
  if (posix_memalign(&slot->block, margin ? margin : ARRAY_ALIGN, all) != 0) {
    slot->block = NULL;
    return false;
  }
  memset(slot->block, 0, margin ? all : bytes);
  slot->array.data = (char *)slot->block + margin;
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
  struct pto_array_slot *slot = calloc(1, sizeof *slot + strlen(name) + 1);
  if (!slot || !grow(run)) goto no_memory;
  struct pto_array *array = &slot->array;
  array->name = strcpy((char *)(slot + 1), name);
  array->role = role;
  array->dtype = dtype;
  array->ndims = ndims;
  for (uint32_t i = 0; i < ndims; i++) array->shape[i] = shape[i];
  if (!array_size(array)) {
    (void)pto_program_fail(run, "%s: array %s: its size overflows", run->program->name, name);
    slot_destroy(slot);
    return NULL;
  }
  if (!allocate(run, slot)) goto no_memory;
  run->arrays[run->array_count++] = slot;
  return array;

no_memory:
  slot_destroy(slot);
  pto_program_out_of_memory(run, name);
  return NULL;
}

void pto_program_arrays_fini(struct pto_program_run *run) {
  for (uint32_t i = 0; i < run->array_count; i++) slot_destroy(run->arrays[i]);
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
    array->golden = calloc(array->numel + 1, sizeof *array->golden);
    if (!array->golden) pto_program_out_of_memory(run, array->name);
  }
  return array ? array->golden : NULL;
}

struct pto_tensor pto_array_tensor(struct pto_runtime *rt, const struct pto_array *array) {
  if (!array) return pto_external_tensor(rt, NULL, PTO_UINT8, 0, NULL); /* invalid, and says that there is no address */
  return pto_external_tensor(rt, array->data, array->dtype, array->ndims, array->shape);
}

/* ---- elements ---- */

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
  if (bits & 1) return near;
  /* The magnitude's neighbour on the side of the exact value is odd. */
  bits += fabs(value) > fabs((double)near) ? 1u : -1u;
  if (near == 0) bits = 1u | (signbit(value) ? UINT32_C(0x80000000) : 0);
  memcpy(&near, &bits, sizeof near);
  return near;
}

static int64_t to_signed(double value, uint32_t bits) {
  if (isnan(value)) return 0;
  double limit = ldexp(1.0, (int)bits - 1), rounded = nearbyint(value);
  if (rounded >= limit) return bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - 1)) - 1;
  if (rounded < -limit) return bits == 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1));
  return (int64_t)rounded;
}

static uint64_t to_unsigned(double value, uint32_t bits) {
  if (isnan(value)) return 0;
  double limit = ldexp(1.0, (int)bits), rounded = nearbyint(value);
  if (rounded >= limit) return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  return rounded <= 0 ? 0 : (uint64_t)rounded;
}

_Static_assert(PTO_DTYPE_COUNT == 14, "a dtype more: how it is read and set goes here");

double pto_array_get(const struct pto_array *array, uint64_t index) {
  const void *data = array->data;
  switch (array->dtype) {
  case PTO_FLOAT32:
    return ((const float *)data)[index];
  case PTO_FLOAT16:
    return pto_fp16_to_f32(((const uint16_t *)data)[index]);
  case PTO_BFLOAT16:
    return pto_bf16_to_f32(((const uint16_t *)data)[index]);
  case PTO_INT64:
    return (double)((const int64_t *)data)[index];
  case PTO_INT32:
    return ((const int32_t *)data)[index];
  case PTO_INT16:
    return ((const int16_t *)data)[index];
  case PTO_INT8:
    return ((const int8_t *)data)[index];
  case PTO_UINT64:
    return (double)((const uint64_t *)data)[index];
  case PTO_UINT32:
    return ((const uint32_t *)data)[index];
  case PTO_UINT16:
    return ((const uint16_t *)data)[index];
  case PTO_UINT8:
    return ((const uint8_t *)data)[index];
  case PTO_BOOL:
    return ((const uint8_t *)data)[index] != 0;
  default:
    break;
  }
  uint32_t nibble = ((const uint8_t *)data)[index / 2] >> (index % 2 * 4) & 15u;
  return array->dtype == PTO_INT4 && nibble >= 8 ? (double)nibble - 16 : nibble;
}

static void set_nibble(uint8_t *byte, uint64_t index, uint32_t nibble) {
  uint32_t shift = (uint32_t)(index % 2) * 4;
  *byte = (uint8_t)((*byte & ~(15u << shift)) | (nibble & 15u) << shift);
}

void pto_array_set(struct pto_array *array, uint64_t index, double value) {
  void *data = array->data;
  switch (array->dtype) {
  case PTO_FLOAT32:
    ((float *)data)[index] = (float)value;
    break;
  case PTO_FLOAT16:
    ((uint16_t *)data)[index] = pto_fp16_from_f32(float_to_odd(value));
    break;
  case PTO_BFLOAT16:
    ((uint16_t *)data)[index] = pto_bf16_from_f32(float_to_odd(value));
    break;
  case PTO_INT64:
    ((int64_t *)data)[index] = to_signed(value, 64);
    break;
  case PTO_INT32:
    ((int32_t *)data)[index] = (int32_t)to_signed(value, 32);
    break;
  case PTO_INT16:
    ((int16_t *)data)[index] = (int16_t)to_signed(value, 16);
    break;
  case PTO_INT8:
    ((int8_t *)data)[index] = (int8_t)to_signed(value, 8);
    break;
  case PTO_UINT64:
    ((uint64_t *)data)[index] = to_unsigned(value, 64);
    break;
  case PTO_UINT32:
    ((uint32_t *)data)[index] = (uint32_t)to_unsigned(value, 32);
    break;
  case PTO_UINT16:
    ((uint16_t *)data)[index] = (uint16_t)to_unsigned(value, 16);
    break;
  case PTO_UINT8:
    ((uint8_t *)data)[index] = (uint8_t)to_unsigned(value, 8);
    break;
  case PTO_BOOL:
    ((uint8_t *)data)[index] = value != 0;
    break;
  case PTO_INT4:
    set_nibble((uint8_t *)data + index / 2, index, (uint32_t)to_signed(value, 4));
    break;
  default:
    set_nibble((uint8_t *)data + index / 2, index, (uint32_t)to_unsigned(value, 4));
    break;
  }
}

void pto_array_fill(struct pto_array *array, double value) {
  if (!array) return;
  for (uint64_t i = 0; i < array->numel; i++) pto_array_set(array, i, value);
}

/* One stream of SplitMix64 an array, started from the seed and the array's name: adding an array changes no other. */
void pto_array_fill_uniform(struct pto_program_run *run, struct pto_array *array, double lo, double hi) {
  if (!array) return;
  struct pto_rng rng = {pto_xxh64(array->name, strlen(array->name), run->seed)};
  bool is_float = (PTO_DTYPE_BIT(array->dtype) & PTO_DTYPES_FLOAT) != 0;
  double first = ceil(lo), span = ceil(hi) - first;
  uint64_t choices = span >= 1 ? to_unsigned(span, 64) : 1;
  for (uint64_t i = 0; i < array->numel; i++) {
    double value = is_float ? lo + (hi - lo) * pto_rng_unit(&rng) : first + (double)pto_rng_below(&rng, choices);
    pto_array_set(array, i, value);
  }
}
