/* SPDX-License-Identifier: MIT */
/*
 * Stages from measured kernels: the numbers of [stages] that were measured nowhere alone, so that rows of a table of
 * kernel times come out best.
 *
 * The list of stages.c has the rows whose shape is known: what each moves and computes, and how many round trips its
 * kernel makes.  Other rows are predictable by nothing, and say nothing here.  Fitted are start_ps, trip_ps and
 * cube_percent; the rates are the chip file's.  Where a measurement has the launch of a program in it, that is fitted
 * too, and is no part of the chip.  What is made small is the sum of the squares of (predicted − measured) / measured,
 * a row each.  The search is over whole numbers, in one order: the same answer on every machine.
 *
 * Values; any thread.
 */
#ifndef PTO_CHECK_CALIBRATE_STAGES_H
#define PTO_CHECK_CALIBRATE_STAGES_H

#include <sim/kernel_times/kernel_times.h>
#include <sim/kernel_times/stages.h>

/* A row of a table.  One that was measured as the mean of several kernels stands there once for each, one after the
 * other. */
struct pto_stage_row {
  const char *set, *name;          /* in kernels.csv */
  const char *kernel, *core, *key; /* in a table */
  uint32_t active_cores;           /* that move bytes with it; where that was not said, 1 */
  bool has_launch;                 /* of a program; measured with it */
  uint64_t l2_bytes;               /* of the cost's, what tasks hand to each other */
  struct pto_cost cost;
};
/* NULL past the end. */
const struct pto_stage_row *pto_stage_row_at(uint32_t index);

struct pto_stage_fit {
  struct pto_chip_stages stages;
  uint64_t launch_ps;
  uint32_t row_count; /* fitted to */
};
/* Fits the stages of `chip`, which has rates for them, to all rows of the table but the one called `left_out` (kernel
 * and key; NULL: none is).  False where that leaves none. */
bool pto_stages_fit(const struct pto_chip *chip, const struct pto_kernel_table *table,
                    const struct pto_stage_row *left_out, struct pto_stage_fit *fit);

/* What a row comes to, in ps. */
uint64_t pto_stages_predict(const struct pto_chip *chip, const struct pto_stage_fit *fit,
                            const struct pto_stage_row *row);

/* What a row was measured at; 0: the table has it not. */
uint64_t pto_stages_measured(const struct pto_kernel_table *table, const struct pto_stage_row *row);

#endif
