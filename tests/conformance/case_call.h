/* SPDX-License-Identifier: MIT */
/*
 * One operation of a case as a call of the builder: operands and attributes by the specification's names.
 *
 * Owns nothing.  The caller says what stands for an operand: the name of an earlier result, or a descriptor.
 */
#ifndef PTO_CASE_CALL_H
#define PTO_CASE_CALL_H

#include <jansson.h>

#include <graph/build/operation.h>

/* The operand that `json` stands for.  PTO_OK, or the refusal with its sentence. */
typedef int pto_case_operand(void *context, const char *parameter, json_t *json, struct pto_graph_operand *operand,
                             struct pto_error *error);

/* Makes the call.  `operands` and `attrs` are objects, or NULL.  PTO_EINVAL is the specification's TypeError;
 * PTO_ENOTSUP: there is no such operation or parameter. */
int pto_case_call(struct pto_graph_builder *builder, const char *op, json_t *operands, json_t *attrs,
                  pto_case_operand *operand, void *context, struct pto_graph_operand *results, uint32_t result_room,
                  uint32_t *result_count_out, struct pto_error *error);

#endif
