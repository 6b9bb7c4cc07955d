/* SPDX-License-Identifier: MIT */
/*
 * What a kernel call takes in virtual time: integer picoseconds from its cost and the chip description.
 *
 *   memory  = max(⌈bytes · 10⁶ / core_bandwidth_mbps⌉, ⌈bytes · 10⁶ · sharers / chip_bandwidth_mbps⌉)
 *   vector  = ⌈elems · 10⁹ / (vector_elems_per_cycle · aiv_clock_khz)⌉
 *   cube    = ⌈multiply_adds · 10⁹ / (cube_macs_per_cycle · aic_clock_khz)⌉     each unit at the rate of the cost's
 * dtype work    = max(memory, vector, cube)
 *
 * bytes = bytes_in + bytes_out.  sharers: cores that move bytes at the moment of the start, this one counted; the share
 * is fixed then and not revised when others start or end.  An AIV has no cube: there, multiply-adds count as vector
 * elements. An AIC's vector elements cost what an AIV's do. Always true: each quotient is rounded up once, nothing is
 * floating-point, work ≤ PTO_TIMING_MAX_PS (saturating).
 *
 * Values and pure functions; any thread.
 */
#ifndef PTO_SIM_CHIPS_TIMING_H
#define PTO_SIM_CHIPS_TIMING_H

#include <sim/chips/chip.h>

/* 2⁵⁸ ps, three days: what any one call takes at most, so that sums of dozens stay inside 64 bits. */
#define PTO_TIMING_MAX_PS (UINT64_C(1) << 58)

/* A divisor prepared for pto_timing_scale: reciprocal = ⌊(2⁶⁴ − 1) / divisor⌋, 1 ≤ divisor < 2⁶³. */
struct pto_timing_rate {
  uint64_t divisor, reciprocal;
};

/* Places of a table by dtype: a power of two, so that whatever a kernel's cost says is a place. */
#define PTO_TIMING_DTYPES 32u
_Static_assert(PTO_DTYPE_COUNT <= PTO_TIMING_DTYPES, "a dtype is a place");

/* The chip's rates, prepared: a quantity times `scale` over `rate` is picoseconds. */
struct pto_timing {
  struct pto_timing_rate core_bandwidth_mbps, chip_bandwidth_mbps; /* over bytes · 10⁶ */
  struct {
    struct pto_timing_rate vector, cube;
  } compute[PTO_TIMING_DTYPES];               /* by dtype; over elements · 10⁹ */
  struct pto_timing_rate fifo_bandwidth_mbps; /* over bytes · 10⁶ */
  uint32_t full_speed_sharers; /* up to this many, sharers · core_bandwidth ≤ chip_bandwidth: sharing costs nothing */
};

/* What a call is made of, before it is known with whom it shares the bandwidth. */
struct pto_timing_load {
  uint64_t bytes;
  uint64_t compute_ps; /* beside the bytes: max(vector, cube) */
  uint64_t serial_ps;  /* besides: nothing else of the call goes on (sim/kernel_times) */
};

void pto_timing_init(struct pto_timing *timing, const struct pto_chip *chip);

/* The default of kernel.h for one block of a kernel without a cost function: every byte of its inputs and outputs moved
 * once (INOUT both ways) and one vector operation an output element, divided by the number of blocks and rounded up.  A
 * kernel without a parameter list has no modes: each tensor is moved once, and the largest is its output. */
struct pto_cost pto_timing_default_cost(const struct pto_kernel *kernel, const struct pto_kernel_args *args);

/* The mode of the next tensor of `kernel`, from *param on, which is 0 before the first one: that of its list; past the
 * list, and without one, PTO_INPUT. */
static inline uint32_t pto_timing_next_mode(const struct pto_kernel *kernel, uint32_t *param) {
  while (*param < kernel->param_count && kernel->params[*param].mode == PTO_SCALAR) ++*param;
  return *param < kernel->param_count ? kernel->params[(*param)++].mode : PTO_INPUT;
}

/* The bytes of a tensor's elements, and those from its first to its last one, which are memory that there is. */
struct pto_timing_extent {
  uint64_t bytes, range_bytes;
};
extern const uint8_t pto_timing_dtype_bits[PTO_TIMING_DTYPES];
static inline struct pto_timing_extent pto_timing_extent(const struct pto_kernel_tensor *tensor) {
  const uint64_t bits = pto_timing_dtype_bits[tensor->dtype];
  uint64_t elems = 1, gaps = 0;
  bool is_too_large = false;
  for (uint32_t d = 0; d < tensor->ndims; d++) {
    is_too_large |= __builtin_mul_overflow(elems, tensor->shape[d], &elems);
    gaps += (tensor->shape[d] - 1) * tensor->strides[d];
  }
  if (PTO_UNLIKELY(is_too_large || elems >> 56)) elems = UINT64_C(1) << 56;
  return (struct pto_timing_extent){(elems * bits + 7) / 8, elems == 0 ? 0 : ((gaps + 1) * bits + 7) / 8};
}

/* What one block of `kernel` reads and writes of [lo, hi), as the default cost counts: each tensor that begins there
 * once for its mode. */
uint64_t pto_timing_bytes_within(const struct pto_kernel *kernel, const struct pto_kernel_args *args, uint64_t lo,
                                 uint64_t hi);

/* The cost of one block of `kernel`: what its cost function says or, where it has none, the default. */
static inline struct pto_cost pto_timing_cost(const struct pto_kernel *kernel, const struct pto_kernel_args *args) {
  return PTO_LIKELY(kernel->cost != NULL) ? kernel->cost(args) : pto_timing_default_cost(kernel, args);
}

/* ⌈a · b / rate⌉, at most PTO_TIMING_MAX_PS, where a · b does not fit into 64 bits. */
uint64_t pto_timing_scale_wide(uint64_t a, uint64_t b, uint64_t divisor);

/* ⌈a · b / rate⌉, at most PTO_TIMING_MAX_PS.  A product n of 64 bits is divided by multiplication: with d = divisor,
 * n / d − n · reciprocal / 2⁶⁴ < 1, so q = ⌊n · reciprocal / 2⁶⁴⌋ is the quotient or one less, and the remainder that
 * goes with it, 0 ≤ n − q · d < 2d, says by how much to round up. */
static inline uint64_t pto_timing_scale(uint64_t a, uint64_t b, const struct pto_timing_rate *rate) {
  uint64_t product;
  if (PTO_UNLIKELY(__builtin_mul_overflow(a, b, &product))) return pto_timing_scale_wide(a, b, rate->divisor);
  const uint64_t quotient = (uint64_t)(((unsigned __int128)product * rate->reciprocal) >> 64);
  const uint64_t remainder = product - quotient * rate->divisor;
  return pto_min_u64(quotient + (remainder > 0) + (remainder > rate->divisor), PTO_TIMING_MAX_PS);
}

static inline uint64_t pto_timing_add_saturating(uint64_t a, uint64_t b) {
  uint64_t sum;
  return PTO_UNLIKELY(__builtin_add_overflow(a, b, &sum)) ? UINT64_MAX : sum;
}

static inline struct pto_timing_load pto_timing_load(const struct pto_timing *timing, const struct pto_cost *cost,
                                                     uint32_t core_kind) {
  struct pto_timing_load load = {.bytes = pto_timing_add_saturating(cost->bytes_in, cost->bytes_out)};
  const uint32_t dtype = cost->dtype % PTO_TIMING_DTYPES;
  uint64_t elems = cost->vector_elems;
  if (cost->multiply_adds) {
    if (core_kind == PTO_AIV)
      elems = pto_timing_add_saturating(elems, cost->multiply_adds);
    else
      load.compute_ps = pto_timing_scale(cost->multiply_adds, UINT64_C(1000000000), &timing->compute[dtype].cube);
  }
  if (elems)
    load.compute_ps =
        pto_max_u64(load.compute_ps, pto_timing_scale(elems, UINT64_C(1000000000), &timing->compute[dtype].vector));
  return load;
}

/* First to last instruction, `sharers` ≥ 1 cores at the memory (read only where the load has bytes). */
static inline uint64_t pto_timing_work_ps(const struct pto_timing *timing, const struct pto_timing_load *load,
                                          uint32_t sharers) {
  if (load->bytes == 0) return load->compute_ps + load->serial_ps;
  PTO_ASSERT(sharers >= 1);
  /* The larger of the two quotients is that of the smaller rate. */
  const bool is_alone = sharers <= timing->full_speed_sharers;
  const uint64_t memory = pto_timing_scale(load->bytes, is_alone ? UINT64_C(1000000) : UINT64_C(1000000) * sharers,
                                           is_alone ? &timing->core_bandwidth_mbps : &timing->chip_bandwidth_mbps);
  return pto_max_u64(load->compute_ps, memory) + load->serial_ps;
}

/* An element's way into or out of a FIFO: ⌈bytes · 10⁶ / fifo_bandwidth_mbps⌉. */
uint64_t pto_timing_fifo_ps(const struct pto_timing *timing, uint64_t bytes);

/* What a call takes on a core that has the memory to itself, and the resource that it waits for. */
struct pto_timing_bound {
  const char *resource; /* "memory", "vector", "cube"; "nothing" of a cost of nothing */
  uint64_t ps;          /* pto_timing_work_ps with one sharer */
};
struct pto_timing_bound pto_timing_bound(const struct pto_timing *timing, const struct pto_cost *cost,
                                         uint32_t core_kind);

#endif
