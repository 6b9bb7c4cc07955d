/* SPDX-License-Identifier: MIT */
/*
 * What a kernel's calls reach of what the chip permits: a point under its roofs (Williams, Waterman, Patterson 2009).
 *
 *   intensity = operations / bytes      reached = operations / time      share = least / time
 *
 * least: what the calls would take at the chip's rates, each on a core that has the memory to itself: the longer one of
 * its bytes and its operations.  A multiply-add of the cube is two operations, an element of the vector unit one; on an
 * AIV, which has no cube, a multiply-add is an element (sim/chips/timing.h).  Bytes count at the L2 cache's rate where
 * that is higher.  A share may exceed 1 where a time was measured on a chip that does better than its description.
 *
 * Of virtual time, where segments were recorded; else nothing is known.  Plain values; any thread.
 */
#ifndef PTO_REPORT_RUN_ROOFLINE_H
#define PTO_REPORT_RUN_ROOFLINE_H

#include <stdbool.h>

#include <formats/json_writer.h>
#include <runtime/trace/trace.h>

/* Of one kernel: all that its calls cost. */
struct pto_roofline {
  uint64_t bytes, operations;
  uint64_t memory_ps, compute_ps, least_ps;
  uint64_t unit_ps; /* the compute_ps of the unit and dtype that most of it is of */
  bool is_cube;     /* that unit */
  uint32_t dtype;
  bool is_l2; /* the bytes are counted at the rate of the L2 */
};

/* `rates`: of the trace that the cost is of. */
void pto_roofline_add(struct pto_roofline *all, const struct pto_trace_cost *cost, const struct pto_trace_rates *rates);
/* The roof that bounds it: "memory", "L2", "cube fp16", "vector f32"; NULL: it costs nothing. */
const char *pto_roofline_bound(const struct pto_roofline *all, char *text, size_t size);
/* Operations a byte; 0 where no bytes are moved. */
double pto_roofline_intensity(const struct pto_roofline *all);
/* Thousand millions a second, of a core, in `time_ps`. */
double pto_roofline_gops(const struct pto_roofline *all, uint64_t time_ps);
/* The keys of a kernel in JSON: null where `is_known` is false. */
void pto_roofline_put(const struct pto_roofline *all, uint64_t time_ps, bool is_known, struct pto_json_writer *w);

/* What one core can reach. */
struct pto_roof {
  char name[32];  /* "memory", "cube fp16" */
  bool is_memory; /* then `most` is in GB/s, else in thousand millions of operations a second */
  double most;
};
#define PTO_ROOFS_MAX (4 + 2 * PTO_DTYPE_COUNT)
struct pto_roofs {
  struct pto_roof items[PTO_ROOFS_MAX];
  uint32_t count; /* those of memory first; 0: nothing was recorded */
};

/* Those of the memory and of the units that kernels use. */
void pto_roofs_init(struct pto_roofs *roofs, const struct pto_trace *trace, uint32_t core_count);
/* The key "roofs". */
void pto_roofs_put(const struct pto_roofs *roofs, struct pto_json_writer *w);

#endif
