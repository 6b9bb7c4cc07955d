/* SPDX-License-Identifier: MIT */
/* out = a + b, and then b is overwritten: nothing orders the write after the read, since the runtime has no such edges.
 */
#include "pto_orchestration_api.h"

extern "C" void luck_entry(const ChipTaskArgs &orch) {
  const ChipTensor &a = orch.tensor(0).ref(), &b = orch.tensor(1).ref(), &out = orch.tensor(2).ref();
  CoreTaskArgs args;
  args.add_input(a, b);
  args.add_output(out);
  rt_submit_aiv_task(0, args);
  args.reset();
  args.add_input(a, a);
  args.add_output(b); /* here */
  rt_submit_aiv_task(0, args);
}
