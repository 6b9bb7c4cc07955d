/* SPDX-License-Identifier: MIT */
/*
 * What ACCUMULATE promises: the call adds to each element, and what it adds does not depend on what was there.
 *
 *   lost     with two other start values all of it comes out as it did: nothing was added to anything
 *   scaled   from another start value an element grows by another amount
 *
 * Of whole numbers the amount is exact, modulo 2^bits; those are left out that come near the ends of their range, where
 * a kernel may saturate.  Of floats it may differ by TOLERANCE of what was there, what came out, and what was added.
 * Dtypes of 8 bits and less that are floats, and 4-bit ones, are asked for `lost` alone.
 */
#include <check/observe/state.h>

#include <math.h>
#include <string.h>

#include <pto/tensor.h>
#include <runtime/base/dtype.h>

/* Wider than the error of a sum of thousands of rounded products. */
static const double tolerance_f32 = 1e-3, tolerance_f16 = 0.1;

/* ---- elements ---- */

/* A run's values of one element. */
struct element {
  uint64_t addr;
  uint32_t dtype, bits;
};

static uint8_t *byte_at(const struct pto_observe_memory *m, uint8_t *bytes, uint64_t addr) {
  const uint32_t slot = pto_observe_call_find(m, addr);
  return slot == PTO_OBSERVE_NO_SLOT ? NULL : pto_observe_at(m, bytes, slot) + (addr & (m->page_bytes - 1));
}

/* The element's bits in `bytes` of the call's pages; NULL: in memory. */
static uint64_t load(const struct pto_observe_memory *m, uint8_t *bytes, const struct element *e) {
  uint64_t raw = 0;
  for (uint32_t i = 0; i < e->bits / 8; i++) {
    const uint8_t *at = bytes ? byte_at(m, bytes, e->addr + i) : (const uint8_t *)(uintptr_t)(e->addr + i);
    raw |= (uint64_t)(at ? *at : 0) << 8 * i;
  }
  return raw;
}

static void store(const struct pto_observe_memory *m, uint8_t *bytes, const struct element *e, uint64_t raw) {
  for (uint32_t i = 0; i < e->bits / 8; i++) {
    uint8_t *at = byte_at(m, bytes, e->addr + i);
    if (at) *at = (uint8_t)(raw >> 8 * i);
  }
}

static double as_float(const struct element *e, uint64_t raw) {
  float value;
  if (e->dtype == PTO_FLOAT16) return (double)pto_fp16_to_f32((uint16_t)raw);
  if (e->dtype == PTO_BFLOAT16) return (double)pto_bf16_to_f32((uint16_t)raw);
  memcpy(&value, &raw, sizeof value);
  return (double)value;
}

static uint64_t from_float(const struct element *e, double value) {
  const float rounded = (float)value;
  uint32_t raw;
  if (e->dtype == PTO_FLOAT16) return pto_fp16_from_f32(rounded);
  if (e->dtype == PTO_BFLOAT16) return pto_bf16_from_f32(rounded);
  memcpy(&raw, &rounded, sizeof raw);
  return raw;
}

static bool is_narrow(uint32_t dtype) { return dtype == PTO_FLOAT16 || dtype == PTO_BFLOAT16; }
static bool is_float(uint32_t dtype) { return dtype == PTO_FLOAT32 || is_narrow(dtype); }

static bool is_judged(uint32_t dtype) {
  return is_float(dtype) || (!pto_dtype_is_real(dtype) && dtype != PTO_BOOL && pto_dtype_bits(dtype) >= 8);
}

/* Another start value: as large as what is there and what came out, so that a part of it is seen; of whole numbers
 * nearer to the middle of their range. */
static uint64_t other_start(const struct element *e, uint64_t before, uint64_t after) {
  if (!is_float(e->dtype)) {
    const uint64_t half =
        pto_dtype_is_signed(e->dtype) ? (uint64_t)((int64_t)(before << (64 - e->bits)) >> (65 - e->bits)) : before / 2;
    return half == before ? before + 1 : half;
  }
  const double was = as_float(e, before), is = as_float(e, after);
  const double size = fmax(1, fmax(fabs(was), fabs(is)));
  return from_float(e, was > 0 ? was + size : was - size);
}

/* Whole numbers nearer to an end of their range than an eighth of it may be there because the kernel saturates. */
static bool is_central(const struct element *e, uint64_t raw) {
  const uint64_t up = raw << (64 - e->bits);
  if (!pto_dtype_is_signed(e->dtype)) return up < UINT64_C(3) << 62;
  return (int64_t)up < INT64_C(3) << 61 && (int64_t)up > -(INT64_C(3) << 61);
}

static bool grows_alike(const struct element *e, uint64_t before, uint64_t after, uint64_t other, uint64_t then) {
  if (!is_float(e->dtype)) {
    if (!is_central(e, before) || !is_central(e, after) || !is_central(e, other) || !is_central(e, then)) return true;
    return ((after - before - (then - other)) << (64 - e->bits)) == 0;
  }
  const double a = as_float(e, before), b = as_float(e, after), c = as_float(e, other), d = as_float(e, then);
  const double most = fmax(fmax(fabs(a), fabs(b)), fmax(fabs(c), fabs(d)));
  if (!isfinite(a) || !isfinite(b) || !isfinite(c) || !isfinite(d)) return true;
  return fabs((b - a) - (d - c)) <= most * (is_narrow(e->dtype) ? tolerance_f16 : tolerance_f32);
}

/* ---- lost ---- */

static bool is_sum(uint8_t c) { return (c & PTO_OBSERVE_ACCUMULATE) != 0; }

static bool is_lost(struct pto_observation *o, const struct pto_observe_param *param) {
  bool is_same = true;
  for (uint32_t pattern = 0; pattern < 2 && is_same; pattern++) {
    uint64_t at;
    pto_observe_select(o, is_sum);
    is_same =
        !pto_observe_run_again(o, pattern, PTO_OBSERVE_NO_LOCAL).caught && pto_observe_is_as_first(o, param, 0, &at);
  }
  return is_same;
}

/* ---- scaled ---- */

/* Calls `take` for each element of the parameter, until it says false. */
static void each_element(struct pto_observation *o, const struct pto_observe_param *param, uint32_t dtype,
                         bool (*take)(struct pto_observation *o, const struct element *e, void *context),
                         void *context) {
  struct pto_region_runs runs = pto_region_runs(&param->region);
  struct element e = {.dtype = dtype, .bits = pto_dtype_bits(dtype)};
  bool goes_on = true;
  for (uint64_t lo; goes_on && pto_region_runs_next(&runs, &lo);)
    for (e.addr = lo; goes_on && e.addr < lo + param->region.run_bytes; e.addr += e.bits / 8)
      goes_on = take(o, &e, context);
}

static bool start_otherwise(struct pto_observation *o, const struct element *e, void *context) {
  const struct pto_observe_memory *m = o->memory;
  (void)context;
  store(m, m->before, e, other_start(e, load(m, m->before, e), load(m, m->after, e)));
  return true;
}

struct growth {
  struct pto_observe_kept kept;
  uint64_t first; /* the first element that grew otherwise; 0: none did */
};

static bool compare_growth(struct pto_observation *o, const struct element *e, void *context) {
  const struct pto_observe_memory *m = o->memory;
  struct growth *growth = context;
  const uint64_t before = load(m, growth->kept.before, e), other = load(m, m->before, e);
  if (grows_alike(e, before, load(m, m->after, e), other, load(m, NULL, e))) return true;
  growth->first = e->addr;
  return false;
}

static void judge_scaled(struct pto_observation *o, const struct pto_observe_param *param, uint32_t dtype) {
  struct growth growth = {.first = 0};
  if (!is_judged(dtype) || !pto_observe_keep(o, &growth.kept)) return;
  each_element(o, param, dtype, start_otherwise, NULL);
  pto_observe_select(o, NULL);
  if (!pto_observe_run_again(o, PTO_OBSERVE_NEGATIVE, PTO_OBSERVE_NO_LOCAL).caught)
    each_element(o, param, dtype, compare_growth, &growth);
  pto_observe_give_back(o, &growth.kept);
  if (!growth.first) return;
  struct pto_observe_text remedy = {.bytes = ""};
  if (is_narrow(dtype))
    PTO_OBSERVE_SAY(&remedy,
                    "if it adds in small steps, which %s loses, add these up in float32 first; if it does not add, ",
                    pto_dtype_name(dtype));
  pto_observe_say_mode(&remedy, param, PTO_INOUT);
  pto_observe_report_promise(
      o, PTO_FINDING_MODE, param, growth.first,
      "grows by another amount from another start value, though the kernel declares ACCUMULATE, which adds",
      remedy.bytes);
}

void pto_observe_judge_sums(struct pto_observation *o) {
  for (uint32_t i = 0; i < o->call.param_count; i++) {
    const struct pto_observe_param *param = &o->call.params[i];
    if (param->mode != PTO_ACCUMULATE || pto_region_is_empty(&param->region)) continue;
    if (is_lost(o, param)) {
      struct pto_observe_text remedy = {.bytes = "add with `+=`, or "};
      pto_observe_say_mode(&remedy, param, PTO_OUTPUT);
      pto_observe_report_promise(o, PTO_FINDING_MODE, param, param->region.start,
                                 "and all behind it come out the same whatever they begin with: what others have "
                                 "added is lost, though the kernel declares ACCUMULATE",
                                 remedy.bytes);
    } else {
      judge_scaled(o, param, o->call.payload->tensors[i].dtype);
    }
  }
}
