/* SPDX-License-Identifier: MIT */
#include <graph/graph_lowering.h>

int pto_lower_conv2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  (void)node;
  return pto_report_error(l->rt, "conv2d is not lowered yet");
}
int pto_lower_conv_transpose2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  (void)node;
  return pto_report_error(l->rt, "conv_transpose2d is not lowered yet");
}
int pto_lower_average_pool2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  (void)node;
  return pto_report_error(l->rt, "average_pool2d is not lowered yet");
}
int pto_lower_l2_pool2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  (void)node;
  return pto_report_error(l->rt, "l2_pool2d is not lowered yet");
}
int pto_lower_max_pool2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  (void)node;
  return pto_report_error(l->rt, "max_pool2d is not lowered yet");
}
int pto_lower_global_average_pool(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  (void)node;
  return pto_report_error(l->rt, "global_average_pool is not lowered yet");
}
int pto_lower_global_max_pool(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  (void)node;
  return pto_report_error(l->rt, "global_max_pool is not lowered yet");
}
int pto_lower_resample2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  (void)node;
  return pto_report_error(l->rt, "resample2d is not lowered yet");
}
