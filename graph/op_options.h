/* SPDX-License-Identifier: MIT */
/*
 * Options as they count: what is given, else the specification's default.
 *
 * Owns nothing.  For inference, lowering and reference alike.  Any thread.
 */
#ifndef PTO_OP_OPTIONS_H
#define PTO_OP_OPTIONS_H

#include <pto/graph.h>

/* The number as a double; integers beyond 2^53 are rounded. */
static inline double pto_number_or(struct pto_number number, double absent) {
  switch (number.kind) {
  case PTO_NUMBER_F64:
    return number.value.f64;
  case PTO_NUMBER_I64:
    return (double)number.value.i64;
  case PTO_NUMBER_U64:
    return (double)number.value.u64;
  default:
    return absent;
  }
}

static inline bool pto_flag_or(uint32_t flag, bool absent) {
  return flag == PTO_FLAG_DEFAULT ? absent : flag == PTO_FLAG_YES;
}

/* Value `index` of a list that may be absent. */
static inline uint32_t pto_list_or(struct pto_u32_list list, uint32_t index, uint32_t absent) {
  return list.values == NULL ? absent : list.values[index];
}

#endif
