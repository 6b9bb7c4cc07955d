/* SPDX-License-Identifier: MIT */
/* Bytes that a task names twice, once to write them: legal there, one INOUT here. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const ChipTensor a = part(out, 0, 8), b = part(out, 2, 8), first = part(out, 0, 4);
  copy(part(in, 0, 16), part(out, 0, 16));
  CoreTaskArgs args; /* equal bytes: doubles 0 to 7 */
  args.add_input(a, a);
  args.add_output(a);
  rt_submit_aiv_task(ADD, args);
  args.reset(); /* a part of them, and a written tensor that covers: adds 0 to 3 to themselves */
  args.add_input(first);
  args.add_inout(a);
  rt_submit_aiv_task(PLUS, args);
  args.reset(); /* neither covers the other; element i takes i + 2 while these are older */
  args.add_input(b);
  args.add_output(a);
  rt_submit_aiv_task(COPY, args);
}
