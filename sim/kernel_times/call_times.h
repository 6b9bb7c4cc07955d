/* SPDX-License-Identifier: MIT */
/*
 * Where the time of each kernel call of a run comes from: the chip's table, its stages or its rates (kernel_times.h has
 * the order), asked once for calls that are alike.
 *
 * A time of the table was measured with others busy, so it is one of two things:
 *   where its bytes, at the share that active_cores cores have, take three quarters of it or more, the memory is what
 * it waits for: all of it is a stream, of as many bytes as that share gives in that time; else it is a time of the
 * core, with the bytes of the cost moved beside it. So with as many cores busy it takes what was measured, with more of
 * them longer, and only a call of the first kind takes less where it is alone.
 *
 * Calls are alike where kernel, core kind and cost are and, of a kernel with a key, block_count and the tensors' shapes
 * and dtypes.  What is kept never changes an answer.  Kernels may go between runs, so reset forgets all.  One thread;
 * owns its memory.
 */
#ifndef PTO_SIM_KERNEL_TIMES_CALL_TIMES_H
#define PTO_SIM_KERNEL_TIMES_CALL_TIMES_H

#include <sim/kernel_times/kernel_times.h>
#include <sim/kernel_times/stages.h>

#define PTO_CALL_TIMES_PLACES 256u /* a power of two */
#define PTO_CALL_TIMES_WORDS 32u

/* Of a kernel's flags, beside those of kernel.h: what its cost says is a time that was measured, as of a captured task.
 */
#define PTO_KERNEL_COST_IS_MEASURED (UINT32_C(1) << 31)

/* What a call takes. */
struct pto_call_time {
  struct pto_timing_load load; /* of origins measured and interpolated, compute_ps is the whole of the time */
  uint32_t active_cores;       /* of these: as measured; 0: not known */
  uint32_t origin;             /* enum pto_origin */
  uint32_t halvings;           /* of what the call takes, once its bytes are split (half_kernel); not yet in `load` */
};

struct pto_call_place {
  const struct pto_kernel *kernel; /* NULL: free */
  struct pto_cost cost;
  uint32_t core_kind;
  uint32_t block_count, tensor_count;   /* these and the words: of a kernel with a key */
  uint64_t words[PTO_CALL_TIMES_WORDS]; /* of each tensor dtype and rank, then its extents */
  struct pto_call_time time;
};

struct pto_call_times {
  const struct pto_timing *timing;
  const struct pto_chip_stages *stages; /* NULL: the chip has none */
  const struct pto_chip *chip;
  struct pto_kernel_table table;
  struct pto_call_place *places; /* NULL: the chip has neither table nor stages, and no kernel that takes half */
};

/* How often `name` is among the names of the chip's half_kernel: twice is a quarter of the time. */
uint32_t pto_half_kernel_times(const struct pto_chip *chip, const char *name);
/* `chip` and `timing` are borrowed.  PTO_OK, or the table's fault. */
PTO_MUST_CHECK int pto_call_times_init(struct pto_call_times *times, const struct pto_chip *chip,
                                       const struct pto_timing *timing, struct pto_error *error);
void pto_call_times_fini(struct pto_call_times *times); /* a zeroed one is allowed */
void pto_call_times_reset(struct pto_call_times *times);

/* Only where there are places. */
struct pto_call_time pto_call_times_find(struct pto_call_times *times, const struct pto_kernel *kernel,
                                         const struct pto_kernel_args *args, const struct pto_cost *cost);

/* Where the time of a call comes from that has no row in a table; `otherwise`: of a kernel like any other. */
static inline uint32_t pto_kernel_cost_origin(const struct pto_kernel *kernel, uint32_t otherwise) {
  return kernel->flags & PTO_KERNEL_COST_IS_MEASURED ? (uint32_t)PTO_ORIGIN_MEASURED : otherwise;
}

/* Of a time of the table whose bytes take `shared_ps` at the share that it was measured with, which is known: whether
 * all of it is a stream. */
static inline bool pto_call_time_is_stream(const struct pto_call_time *time, uint64_t shared_ps) {
  PTO_ASSERT(time->origin <= PTO_ORIGIN_INTERPOLATED && time->active_cores > 0);
  return shared_ps / 3 >= time->load.compute_ps / 4;
}

#endif
