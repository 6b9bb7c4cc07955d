/* SPDX-License-Identifier: MIT */
/* Each comparison of a predicate, against an element that a task writes. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref(), &flags = orch.tensor(2).ref();
  CoreTaskArgs set;
  set.add_output(flags);
  set.add_scalar(int32_t(-2));
  const PTO2TaskId writer = rt_submit_aiv_task(FILL, set).task_id();
  const PredicateOp ops[] = {PredicateOp::EQ, PredicateOp::NE, PredicateOp::GT,  PredicateOp::LT,
                             PredicateOp::GE, PredicateOp::LE, PredicateOp::NONE};
  for (uint32_t i = 0; i < 7; i++) {
    const ChipTensor place = part(out, i, 1);
    CoreTaskArgs args;
    args.add_output(place);
    args.add_scalar(1.0f);
    args.set_dependencies(&writer, 1);
    CoreTaskPredicate predicate;
    predicate.operand.tensor = &flags;
    predicate.operand.ndims = 1;
    predicate.operand.indices[0] = i;
    predicate.op = ops[i];
    predicate.target = -1;
    args.set_predicate(predicate);
    always_assert(args.predicate().target == -1);
    rt_submit_aiv_task(FILL, args); /* runs where −2 … −1 is true */
  }
}
