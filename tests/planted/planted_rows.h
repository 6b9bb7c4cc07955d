/* SPDX-License-Identifier: MIT */
/*
 * What kernels of cores that wait for each other are made of.  Their parameters: x (inout), a row a core; z (output),
 * 16 elements that one core writes; and whether the mistake is made, which is the one line that asks BUG.
 */
#ifndef PTO_PLANTED_ROWS_H
#define PTO_PLANTED_ROWS_H

#include <tests/planted/planted.h>

#define COLUMNS PLANTED_COLUMNS
#define BUG (a->scalars[0].u64 != 0)
#define TRY(call) (status = status == 0 ? (call) : status)
#define TELL(role, flag) pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_##role), flag)
#define TAKE(flag) pto_core_wait(a, flag)

static inline uint32_t role_of(const struct pto_kernel_args *a) { return a->core->role; }
static inline uint32_t *row(const struct pto_kernel_args *a, uint64_t index) {
  return (uint32_t *)a->tensors[0].addr + index * COLUMNS;
}
static inline void write_row(const struct pto_kernel_args *a, uint64_t index, uint32_t value) {
  for (uint32_t j = 0; j < COLUMNS; j++) row(a, index)[j] = value + j;
}
static inline uint32_t sum_row(const struct pto_kernel_args *a, uint64_t index) {
  uint32_t sum = 0;
  for (uint32_t j = 0; j < COLUMNS; j++) sum = 3 * sum + row(a, index)[j];
  return sum;
}
/* The whole of z. */
static inline int say(const struct pto_kernel_args *a, int status, uint32_t value) {
  uint32_t *z = a->tensors[1].addr;
  for (uint32_t j = 0; status == 0 && j < element_count(&a->tensors[1]); j++) z[j] = value + j;
  return status;
}

#endif
