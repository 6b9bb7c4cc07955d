/* SPDX-License-Identifier: MIT */
/* A small graph for tests of recorded tasks: three tasks with a temporary, recorded and launched.  Control thread. */
#ifndef PTO_RECORDED_FORK_H
#define PTO_RECORDED_FORK_H

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

/* in → temporary → out, and a second task that reads the temporary; labels 10, 11, 12. */
static inline void record_fork(struct pto_runtime *rt, const struct pto_tensor *in, const struct pto_tensor *out) {
  const struct pto_tensor t = fixture_managed(rt, in->buffer.size_bytes);
  FIXTURE_DO(rt, .label = 10, .modes = "io", .tensors = {in, &t});
  FIXTURE_DO(rt, .label = 11, .modes = "io", .tensors = {&t, out});
  FIXTURE_DO(rt, .label = 12, .modes = "i", .tensors = {&t});
}
static inline struct pto_recorded *fork_of(struct pto_runtime *rt, const struct pto_tensor *in,
                                           const struct pto_tensor *out) {
  const struct pto_param boundary[] = {pto_input(in), pto_output(out)};
  struct pto_recorded *recorded;
  fixture_expect(rt, pto_recorded_begin(rt, boundary, 2), PTO_OK);
  record_fork(rt, in, out);
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  return recorded;
}

/* Labels become `first`, `first` + 1, …; PTO_OK or what the launch answers. */
static inline int launch_fork(struct pto_runtime *rt, struct pto_recorded *recorded, const struct pto_tensor *in,
                              const struct pto_tensor *out, uint64_t first, struct pto_task *task_out) {
  const struct pto_param boundary[] = {pto_input(in), pto_output(out)};
  struct pto_recorded_scalar labels[3];
  for (uint32_t i = 0; i < 3; i++) labels[i] = (struct pto_recorded_scalar){.task = i, .value.u64 = first + i};
  const struct pto_recorded_launch launch = {
      .size = sizeof launch, .params = boundary, .count = 2, .scalars = labels, .scalar_count = 3};
  return pto_submit_recorded(rt, recorded, &launch, task_out);
}

#endif
