/* SPDX-License-Identifier: MIT */
/*
 * What a kernel call takes by stages: the chip file's [stages] and the kernel's cost.
 *
 *   serial  = start, where it moves bytes, + trips · trip                              and on an AIV + vector time
 *   beside  = AIC: max(in / gm_to_l1, to L0A / l1_to_l0a, to L0B / l1_to_l0b, out / l0c_to_gm, cube, vector time)
 *             AIV: in / gm_to_ub + out / ub_to_gm
 *   work    = max(beside, time of its bytes at the memory that it shares) + serial
 *
 * A cube core's stages go on beside each other; a vector core loads, computes and stores in turn.  Bytes are those of
 * the cost, and the bytes at the shared memory are the same ones: a core has a port, and the memory behind it is
 * everybody's.  The cube reaches cube_percent of its rate.  A cost that says no trips has one to read and one to write,
 * as far as it does; one that says no bytes to L0 has those of a product in tiles of 128 x 256.
 *
 * Always true: as in timing.h, each quotient is rounded up once.  Values and pure functions; any thread.
 */
#ifndef PTO_SIM_KERNEL_TIMES_STAGES_H
#define PTO_SIM_KERNEL_TIMES_STAGES_H

#include <sim/chips/timing.h>

/* The load of a call with this cost on a core of the chip, which has stages; `timing` is the chip's. */
struct pto_timing_load pto_stages_load(const struct pto_chip_stages *stages, const struct pto_timing *timing,
                                       const struct pto_cost *cost, uint32_t core_kind);

#endif
