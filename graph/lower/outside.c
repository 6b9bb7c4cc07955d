/* SPDX-License-Identifier: MIT */
/*
 * Operations from outside as tasks: results with memory, then the operation's own submits.
 *
 * Owns nothing.  One thread, as of every lowering.
 */
#include <graph/lower/lowering.h>

#include <stdio.h>

#include <graph/build/outside.h>
#include <runtime/base/base.h>

void pto_lower_outside(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_operation *operation = pto_outside_operation(node->op);
  struct pto_tensor operands[PTO_OPERATION_MOST], results[PTO_OPERATION_RESULTS];
  double numbers[PTO_OPERATION_MOST];
  for (uint32_t i = 0; i < node->operand_count; i++) operands[i] = *pto_graph_lowering_operand(l, node, i);
  for (uint32_t i = 0; i < node->result_count; i++)
    results[i] = pto_graph_lowering_result(l, node, i, PTO_IN_PLACE_NONE);
  for (uint32_t i = 0; i < node->result_count; i++) pto_graph_lowering_allocate(l, &results[i]);
  pto_outside_numbers(operation, node->options, numbers);
  const struct pto_operation_lowering call = {
      .operands = operands, .results = results, .options = numbers, .rt = l->rt, .lowering = l};
  if (l->status != PTO_OK) return;
  const int status = operation->lower(&call);
  if (status == PTO_OK || l->status != PTO_OK) return;
  char sentence[128];
  snprintf(sentence, sizeof sentence, "operation \"%.60s\": its lowering returned %d", operation->name, status);
  l->status = pto_report_error(l->rt, sentence);
}

int pto_operation_submit(const struct pto_operation_lowering *call, const struct pto_kernel *kernel,
                         const struct pto_param *params, uint32_t param_count) {
  pto_graph_lowering_submit(call->lowering, kernel, params, param_count);
  return call->lowering->status;
}

struct pto_tensor pto_operation_temporary(const struct pto_operation_lowering *call, uint32_t dtype, uint32_t ndims,
                                          const uint64_t *shape) {
  const struct pto_tensor t = pto_graph_lowering_temporary(call->lowering, dtype, ndims, shape);
  pto_graph_lowering_allocate(call->lowering, &t);
  return t;
}
