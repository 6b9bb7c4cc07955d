/* SPDX-License-Identifier: MIT */
/* Graphs: a function and numbers, a key, a scalar of the boundary, and one that is frozen. */
#include "kernels.h"

static void double_it(const GraphTaskArgs &args, int32_t times) {
  const ChipTensor &in = args.tensor(0).ref(), &out = args.tensor(1).ref();
  for (int32_t i = 0; i < times; i++) plus(in, out);
}
static void fill_it(const GraphTaskArgs &args) {
  CoreTaskArgs task;
  task.add_output(args.tensor(0).ref());
  task.add_scalar(args.scalar(0));
  rt_submit_aiv_task(FILL, task);
}
static void fill_more(const GraphTaskArgs &args) {
  CoreTaskArgs task;
  task.add_output(args.tensor(0).ref());
  task.add_scalar(from_u64<float>(args.scalar(0)) + 1);
  rt_submit_aiv_task(FILL, task);
}

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const ChipTensor from = part(in, 0, 4), places[] = {part(out, 0, 4),  part(out, 4, 4),  part(out, 8, 4),
                                                      part(out, 12, 4), part(out, 16, 4), part(out, 20, 4)};
  for (int32_t times = 1; times <= 2; times++) {
    GraphTaskArgs args;
    args.add_input(from);
    args.add_inout(places[times - 1]);
    const GraphSubmitResult result = rt_submit_graph(&double_it, args, times);
    always_assert(result.task_id.is_valid());
    CoreTaskArgs after; /* the graph stands for its tasks */
    after.set_dependencies(&result.task_id, 1);
    rt_submit_dummy_task(after);
  }
  for (int i = 0; i < 2; i++) {
    GraphTaskArgs args;
    args.add_output(places[2 + i]);
    args.add_scalar(5.0f + static_cast<float>(i));
    rt_submit_graph(GRAPH_KEY("fill"), &fill_it, args);
  }
  for (int i = 0; orch.scalar(0) == 1 && i < 2; i++) {
    GraphTaskArgs args;
    args.add_output(places[4 + i]);
    args.add_scalar(5.0f + static_cast<float>(i));
    rt_submit_graph(&fill_more, args);
  }
}
