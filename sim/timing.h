/* SPDX-License-Identifier: MIT */
/*
 * What a kernel call takes in virtual time: integer picoseconds from its cost and the chip description.
 *
 *   memory  = max(⌈bytes · 10⁶ / core_bandwidth_mbps⌉, ⌈bytes · 10⁶ · sharers / chip_bandwidth_mbps⌉)
 *   vector  = ⌈elems · 10⁹ / (vector_elems_per_cycle · aiv_clock_khz)⌉
 *   cube    = ⌈multiply_adds · 10⁹ / (cube_macs_per_cycle · aic_clock_khz)⌉
 *   work    = max(memory, vector, cube)
 *
 * bytes = bytes_in + bytes_out.  sharers: cores that move bytes at the moment of the start, this one counted; the share
 * is fixed then and not revised when others start or end.  An AIV has no cube: there, multiply-adds count as vector
 * elements. An AIC's vector elements cost what an AIV's do. Always true: each quotient is rounded up once, nothing is
 * floating-point, work ≤ PTO_TIMING_MAX_PS (saturating).
 *
 * Values and pure functions; any thread.
 */
#ifndef PTO_TIMING_H
#define PTO_TIMING_H

#include <sim/chip.h>

/* 2⁵⁸ ps, three days: what any one call takes at most, so that sums of dozens stay inside 64 bits. */
#define PTO_TIMING_MAX_PS (UINT64_C(1) << 58)

/* The chip's rates, prepared: a quantity times `scale` over `rate` is picoseconds. */
struct pto_timing {
  uint64_t core_bandwidth_mbps, chip_bandwidth_mbps; /* over bytes · 10⁶ */
  uint64_t vector_rate, cube_rate;                   /* over elements · 10⁹ */
  uint64_t fifo_bandwidth_mbps;                      /* over bytes · 10⁶ */
};

/* What a call is made of, before it is known with whom it shares the bandwidth. */
struct pto_timing_load {
  uint64_t bytes;
  uint64_t compute_ps; /* max(vector, cube) */
};

void pto_timing_init(struct pto_timing *timing, const struct pto_chip *chip);

/* The cost of one block of `kernel`: what its cost function says or, where it has none, the default of kernel.h: every
 * byte of its inputs and outputs moved once (INOUT both ways) and one vector operation an output element, divided by
 * the number of blocks and rounded up.  A kernel without a parameter list has no modes: each tensor is moved once, and
 * the largest is its output. */
struct pto_cost pto_timing_cost(const struct pto_kernel *kernel, const struct pto_kernel_args *args);

struct pto_timing_load pto_timing_load(const struct pto_timing *timing, const struct pto_cost *cost,
                                       uint32_t core_kind);

/* First to last instruction, `sharers` ≥ 1 cores at the memory (read only where the load has bytes). */
uint64_t pto_timing_work_ps(const struct pto_timing *timing, const struct pto_timing_load *load, uint32_t sharers);

/* An element's way into or out of a FIFO: ⌈bytes · 10⁶ / fifo_bandwidth_mbps⌉. */
uint64_t pto_timing_fifo_ps(const struct pto_timing *timing, uint64_t bytes);

/* What a call takes on a core that shares the memory with nobody, and the resource that it waits for. */
struct pto_timing_bound {
  const char *resource; /* "memory", "vector", "cube"; "nothing" of a cost of nothing */
  uint64_t ps;          /* pto_timing_work_ps with one sharer */
};
struct pto_timing_bound pto_timing_bound(const struct pto_timing *timing, const struct pto_cost *cost,
                                         uint32_t core_kind);

/* A transfer over the host link: latency + ⌈bytes · 10⁶ / host_bandwidth_mbps⌉. */
uint64_t pto_timing_transfer_ps(const struct pto_chip *chip, uint64_t bytes);

#endif
