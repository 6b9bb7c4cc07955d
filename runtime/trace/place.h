/* SPDX-License-Identifier: MIT */
/*
 * Where a call was made, in one pointer: the address that it returns to, or a struct pto_place with the top bit set,
 * which no address of a program has.
 */
#ifndef PTO_TRACE_PLACE_H
#define PTO_TRACE_PLACE_H

#include <pto/runtime.h>

#define PTO_PLACE_BIT (UINT64_C(1) << 63)
_Static_assert(sizeof(uintptr_t) == 8, "addresses leave the top bit free");

/* NULL for NULL. */
static inline const void *pto_place_call(const struct pto_place *place) {
  return place ? (const void *)((uintptr_t)place | PTO_PLACE_BIT) : NULL; // NOLINT(performance-no-int-to-ptr)
}
/* NULL where it is an address. */
static inline const struct pto_place *pto_place_of(const void *call) {
  const uintptr_t bits = (uintptr_t)call;
  return bits & PTO_PLACE_BIT ? (const struct pto_place *)(bits & ~PTO_PLACE_BIT)
                              : NULL; // NOLINT(performance-no-int-to-ptr)
}

#endif
