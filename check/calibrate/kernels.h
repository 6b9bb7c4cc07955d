/* SPDX-License-Identifier: MIT */
/*
 * A table of kernel times (sim/kernel_times) from kernels.csv of a folder of measurements, and the stages that follow
 * from it.
 *
 * The list of kernels.c says what a measured kernel is called in the table, and by which key.  To add one: a line
 * there.
 *
 * Owns nothing; any thread.
 */
#ifndef PTO_CHECK_CALIBRATE_KERNELS_H
#define PTO_CHECK_CALIBRATE_KERNELS_H

#include <check/calibrate/calibrate.h>
#include <sim/kernel_times/kernel_times.h>

/* Adds a row for each that the list has; others are warned of.  No file is no row.  PTO_OK, or a status with a
 * sentence. */
PTO_MUST_CHECK int pto_measured_kernels_read(const char *folder, struct pto_kernel_table *table,
                                             struct pto_calibration *c, struct pto_error *error);

/* [stages] of the chip, where its rates are known, by the table's rows. */
PTO_MUST_CHECK int pto_calibration_fit_stages(struct pto_calibration *c, const struct pto_kernel_table *table,
                                              struct pto_error *error);

#endif
