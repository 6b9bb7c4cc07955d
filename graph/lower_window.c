/* SPDX-License-Identifier: MIT */
#include <graph/graph_lowering.h>

#define MISSING(id)                                                                                                    \
  int pto_lower_##id(struct pto_graph_lowering *l, const struct pto_graph_node *node) {                                \
    (void)node;                                                                                                        \
    return pto_report_error(l->rt, #id " is not lowered yet");                                                         \
  }
MISSING(conv2d)
MISSING(conv_transpose2d)
MISSING(average_pool2d)
MISSING(l2_pool2d)
MISSING(max_pool2d)
MISSING(global_average_pool)
MISSING(global_max_pool)
MISSING(resample2d)
