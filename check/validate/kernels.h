/* SPDX-License-Identifier: MIT */
/*
 * Measured kernels beside what the [stages] of a chip file say of them, without their rows in its table of kernel
 * times: so that a page tells how far a kernel without a row may be off.
 *
 * The kernels are those of the list in check/calibrate/stages.c that the chip's table has.  One that two chip files say
 * the same of stands there once.  A measurement with the launch of a program in it is left out: no chip file says that.
 *
 * Owns its list until fini; borrows names of constants.  One thread.
 */
#ifndef PTO_CHECK_VALIDATE_KERNELS_H
#define PTO_CHECK_VALIDATE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <runtime/base/error.h>
#include <sim/chips/chip.h>

struct pto_validated_kernel {
  const char *set, *name; /* constants */
  uint64_t measured_ps, predicted_ps;
};
struct pto_validated_kernels {
  struct pto_validated_kernel *items;
  size_t count, capacity;
};

/* Adds those of a chip file; none where it has no stages or no table.  PTO_OK, or PTO_ENOMEM or what loading the table
 * gives, with the sentence. */
PTO_MUST_CHECK int pto_validated_kernels_add(struct pto_validated_kernels *kernels, const struct pto_chip *chip,
                                             struct pto_error *error);
/* Of the prediction against the measurement, in percent of it, signed. */
double pto_validated_kernel_error(const struct pto_validated_kernel *kernel);
/* What the error may be, in percent: 10 for the kernels of paged attention whose runs were measured too; 0: there is no
 * limit. */
double pto_validated_kernel_limit(const struct pto_validated_kernel *kernel);
bool pto_validated_kernel_is_bad(const struct pto_validated_kernel *kernel);
/* A zeroed one is allowed. */
void pto_validated_kernels_fini(struct pto_validated_kernels *kernels);

#endif
