/* SPDX-License-Identifier: MIT */
/*
 * Reference: quantizeLinear, dequantizeLinear and cast.
 *
 * Integers cast to integers keep their low bits, as the specification has it.  Floats cast to integers are truncated;
 * it leaves open what becomes of those out of range: here they are saturated, and NaN is 0.  Constants; any thread.
 */
#include <graph/reference/support.h>

/* The element of a scale or zero point that belongs to element `index` of `desc`: aligned at the innermost dimension,
 * each of its elements counts for a block of extent / its extent. */
static uint64_t block_of(const struct pto_graph_desc *block, const struct pto_graph_desc *desc, uint64_t index) {
  uint64_t at[PTO_MAX_DIMS], element = 0;
  pto_reference_locate(desc, index, at);
  for (uint32_t b = 0; b < block->ndims; b++) {
    const uint32_t d = desc->ndims - block->ndims + b;
    element = element * block->shape[b] + at[d] / (desc->shape[d] / block->shape[b]);
  }
  return element;
}

static int64_t zero_point_at(const struct pto_reference_tensor *zero_point, const struct pto_graph_desc *desc,
                             uint64_t index) {
  return zero_point ? zero_point->whole[block_of(&zero_point->desc, desc, index)] : 0;
}

/* The nearest whole number to x / scale, ties to even, plus the zero point, saturated.  A quotient that is NaN counts
 * as 0. */
PTO_REFERENCE_OPERATION(quantize_linear) {
  const struct pto_reference_tensor *scale = operands[1];
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    const double quotient = operands[0]->values[i] / scale->values[block_of(&scale->desc, &results->desc, i)],
                 rounded = isnan(quotient) ? 0 : nearbyint(quotient);
    results->whole[i] =
        pto_reference_saturate_to(results->desc.dtype, rounded + (double)zero_point_at(operands[2], &results->desc, i));
  }
  return PTO_OK;
}

/* (x − zero point) · scale */
PTO_REFERENCE_OPERATION(dequantize_linear) {
  const struct pto_reference_tensor *scale = operands[1];
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    const int64_t distance = operands[0]->whole[i] - zero_point_at(operands[2], &results->desc, i);
    results->values[i] = (double)distance * scale->values[block_of(&scale->desc, &results->desc, i)];
  }
  return PTO_OK;
}

/* An integer as a double that rounds to every float dtype as the integer itself does: where 53 bits are too few, the
 * last one says whether anything was cut off. */
static double sticky(uint32_t dtype, int64_t x) {
  const bool is_negative = dtype != PTO_UINT64 && x < 0;
  const uint64_t magnitude = is_negative ? 0 - (uint64_t)x : (uint64_t)x;
  if (magnitude >> 53 == 0) return is_negative ? -(double)magnitude : (double)magnitude;
  const uint32_t cut = pto_log2_floor(magnitude) - 52;
  const uint64_t kept = magnitude >> cut, lost = magnitude & ((UINT64_C(1) << cut) - 1);
  const double rounded = ldexp((double)(lost ? kept | 1 : kept), (int)cut);
  return is_negative ? -rounded : rounded;
}

PTO_REFERENCE_OPERATION(cast) {
  const struct pto_reference_tensor *input = operands[0];
  const uint32_t from = input->desc.dtype, to = results->desc.dtype;
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    if (pto_reference_is_float(input) && pto_reference_is_float(results))
      results->values[i] = input->values[i];
    else if (pto_reference_is_float(input))
      results->whole[i] =
          to == PTO_BOOL ? input->values[i] != 0 : pto_reference_saturate_to(to, trunc(input->values[i]));
    else if (pto_reference_is_float(results))
      results->values[i] = sticky(from, input->whole[i]);
    else
      results->whole[i] = input->whole[i];
  }
  return PTO_OK;
}
