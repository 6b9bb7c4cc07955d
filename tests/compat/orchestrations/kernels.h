/* SPDX-License-Identifier: MIT */
/*
 * What the orchestrations of this folder have in common: the func_ids of tests/compat/scenes.h, and their arguments.
 *
 * tensor(0) is f32[64] with 0, 1, 2, …; tensor(1) is f32[64] of zeros, which the test looks at; tensor(2) is i32[8] of
 * zeros.  scalar(0) chooses among variants.
 */
#ifndef PTO_TESTS_COMPAT_KERNELS_H
#define PTO_TESTS_COMPAT_KERNELS_H

#include "pto_orchestration_api.h"

enum Kernel : int32_t {
  FILL = 0,    /* out; bits of a scalar: each element is that */
  ADD = 1,     /* a, b, out: out = a + b */
  PLUS = 2,    /* a, io: io += a */
  COPY = 3,    /* a, out */
  BLOCKS = 4,  /* out: element block_index is 100 · block_count + block_index */
  ROLE = 5,    /* out: element 0, 1 or 2 of AIC, AIV0, AIV1 is 1 more than that */
  SCALARS = 6, /* out; nine scalars: element i is scalar i */
  CORES = 7    /* cells; what, a number: tests/compat/kernels/cores.cpp */
};

/* Elements [begin, begin + count) of a vector. */
inline ChipTensor part(const ChipTensor &t, uint32_t begin, uint32_t count) {
  const uint32_t shape[1] = {count}, offset[1] = {begin};
  return t.view(shape, offset);
}
inline TaskOutputTensors fill(const ChipTensor &t, float value) {
  CoreTaskArgs args;
  args.add_output(t);
  args.add_scalar(value);
  return rt_submit_aiv_task(FILL, args);
}
inline TaskOutputTensors copy(const ChipTensor &from, const ChipTensor &to) {
  CoreTaskArgs args;
  args.add_input(from);
  args.add_output(to);
  return rt_submit_aiv_task(COPY, args);
}
inline TaskOutputTensors plus(const ChipTensor &from, const ChipTensor &to) {
  CoreTaskArgs args;
  args.add_input(from);
  args.add_inout(to);
  return rt_submit_aiv_task(PLUS, args);
}

#endif
