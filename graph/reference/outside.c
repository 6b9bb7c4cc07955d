/* SPDX-License-Identifier: MIT */
/* Operations from outside: the reference that each brings. */
#include <graph/reference/reference.h>

#include <graph/build/outside.h>

int pto_graph_reference_outside(const struct pto_graph_node *node, const struct pto_reference_tensor *const *operands,
                                struct pto_reference_tensor *results) {
  const struct pto_operation *operation = pto_outside_operation(node->op);
  struct pto_operation_tensor given[PTO_OPERATION_MOST], made[PTO_OPERATION_RESULTS];
  double numbers[PTO_OPERATION_MOST];
  for (uint32_t i = 0; i < node->operand_count; i++)
    given[i] = (struct pto_operation_tensor){operands[i]->desc, operands[i]->values, operands[i]->whole};
  for (uint32_t i = 0; i < node->result_count; i++)
    made[i] = (struct pto_operation_tensor){results[i].desc, results[i].values, results[i].whole};
  pto_outside_numbers(operation, node->options, numbers);
  return operation->reference(&(struct pto_operation_reference){given, numbers, made}) ? PTO_ENOMEM : PTO_OK;
}
