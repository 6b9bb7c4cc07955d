/* SPDX-License-Identifier: MIT */
/* Graphs by every form of their key, and views and scalars at the boundary. */
#include "kernels.h"

static void add_parts(const GraphTaskArgs &args, int64_t begin, bool is_twice) {
  const ChipTensor &in = args.tensor(0).ref(), &out = args.tensor(1).ref();
  const ChipTensor from = part(in, static_cast<uint32_t>(begin), 4);
  plus(from, out);
  if (is_twice) plus(from, out);
}

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const GraphFunctionWithConfig<int64_t, bool> function = &add_parts;
  const GraphFunction none = nullptr;
  always_assert(rt_graph_function_id(function) != rt_graph_function_id(none));
  always_assert(rt_graph_make_key(GRAPH_KEY("a"), 1) != rt_graph_make_key(GRAPH_KEY("a"), 2));
  always_assert(rt_graph_make_key(1, 1.0f) != rt_graph_make_key(1, 1.0) && rt_graph_make_key(5) == 5);
  for (uint32_t i = 0; i < 4; i++) {
    const ChipTensor place = part(out, 4 * i, 4);
    GraphTaskArgs args;
    args.add_input(in);
    args.add_inout(place);
    if (i % 2)
      rt_submit_graph(GRAPH_KEY("parts"), function, args, 8, i == 3);
    else
      rt_submit_graph(function, args, 8, i == 2);
  }
}
