/* SPDX-License-Identifier: MIT */
#include <graph/build/outside.h>

uint32_t pto_graph_operation_count(void) { return PTO_GRAPH_OP_COUNT + pto_outside_count(); }
const char *pto_graph_operation_name(uint32_t index) {
  const uint32_t op = index < PTO_GRAPH_OP_COUNT ? index : index + 1; /* those from outside stand behind none */
  return pto_op_is_known(op) ? pto_op_info(op)->name : NULL;
}

uint32_t pto_graph_operation_limits(struct pto_context *context, const char *operation, struct pto_graph_limit *limits,
                                    uint32_t capacity) {
  const uint32_t op = operation ? pto_op_find(operation) : PTO_GRAPH_OP_COUNT;
  const uint32_t dtypes = context ? pto_context_info(context).dtypes : PTO_DTYPES_ALL;
  if (op == PTO_GRAPH_OP_COUNT) return 0;
  const struct pto_op_info *info = pto_op_info(op);
  for (uint32_t i = 0; i < info->parameter_count && i < capacity; i++) {
    const struct pto_op_parameter *parameter = &info->parameters[i];
    limits[i] = (struct pto_graph_limit){.name = parameter->name,
                                         .dtypes = parameter->dtypes & dtypes,
                                         .min_rank = parameter->min_rank,
                                         .max_rank = parameter->max_rank,
                                         .is_optional = parameter->is_optional,
                                         .is_list = parameter->is_list};
  }
  return info->parameter_count;
}
