/* SPDX-License-Identifier: MIT */
/*
 * The calls of <pto/operation.h> that graphs have no part in: an operation is checked and added to the table, and
 * called by its name.
 *
 * Owns nothing.  Any thread may add; builders are of one thread.
 */
#include <graph/build/builder_state.h>

#include <string.h>

#include <graph/build/op_attributes.h>
#include <graph/build/outside.h>
#include <runtime/base/closest.h>

/* ---- adding one ---- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/* A word of files in text form, which no other meaning has. */
static bool is_name(const char *name) {
  if (!name || !is_letter(name[0])) return false;
  for (const char *c = name + 1; *c; c++)
    if (!is_letter(*c) && !(*c >= '0' && *c <= '9') && *c != '_') return false;
  return true;
}

/* Options share their names with "label" in files. */
static bool is_taken(const struct pto_operation *o, uint32_t option) {
  const char *name = o->options[option].name;
  for (uint32_t i = 0; i < option; i++)
    if (strcmp(o->options[i].name, name) == 0) return true;
  return strcmp(name, "label") == 0;
}

static int check_lists(const struct pto_operation *o, struct pto_error *error) {
  if (o->operand_count < 1 || o->operand_count > PTO_OPERATION_MOST || !o->operands)
    return pto_error_set(error, PTO_EINVAL, "operation \"%.60s\" has %u operands, not 1 to %u", o->name,
                         o->operands ? o->operand_count : 0, PTO_OPERATION_MOST);
  if (o->option_count > PTO_OPERATION_MOST || (o->option_count && !o->options))
    return pto_error_set(error, PTO_EINVAL, "operation \"%.60s\" has %u options, not 0 to %u", o->name, o->option_count,
                         PTO_OPERATION_MOST);
  if (o->result_count < 1 || o->result_count > PTO_OPERATION_RESULTS)
    return pto_error_set(error, PTO_EINVAL, "operation \"%.60s\" has %u results, not 1 to %u", o->name, o->result_count,
                         PTO_OPERATION_RESULTS);
  for (uint32_t i = 0; i < o->operand_count; i++) {
    const struct pto_operation_operand *operand = &o->operands[i];
    if (!is_name(operand->name))
      return pto_error_set(error, PTO_EINVAL, "operation \"%.60s\": operand %u has no name of letters, digits and _",
                           o->name, i);
    if (operand->max_rank > PTO_MAX_DIMS || operand->min_rank > (operand->max_rank ? operand->max_rank : PTO_MAX_DIMS))
      return pto_error_set(error, PTO_EINVAL, "operation \"%.60s\": operand %u has ranks %u to %u, not of 0 to %d",
                           o->name, i, operand->min_rank, operand->max_rank, PTO_MAX_DIMS);
  }
  for (uint32_t i = 0; i < o->option_count; i++)
    if (!is_name(o->options[i].name) || is_taken(o, i))
      return pto_error_set(error, PTO_EINVAL,
                           "operation \"%.60s\": option %u has no name of its own, of letters, digits and _", o->name,
                           i);
  return PTO_OK;
}

static int check(const struct pto_operation *o, struct pto_error *error) {
  if (!o) return pto_error_set(error, PTO_EINVAL, "there is no operation");
  if (o->abi != PTO_OPERATION_ABI)
    return pto_error_set(error, PTO_EINVAL, "an operation has the interface %u, and this library %u", o->abi,
                         PTO_OPERATION_ABI);
  if (!is_name(o->name)) return pto_error_set(error, PTO_EINVAL, "an operation has no name of letters, digits and _");
  const char *missing = !o->infer ? "infer" : !o->lower ? "lower" : !o->reference ? "reference" : NULL;
  if (missing) return pto_error_set(error, PTO_EINVAL, "operation \"%.60s\" has no function `%s`", o->name, missing);
  return check_lists(o, error);
}

int pto_operation_register(const struct pto_operation *operation, char *sentence, size_t sentence_size) {
  struct pto_error error = {0};
  uint32_t dtypes = 0;
  int status = check(operation, &error);
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    if (pto_graph_dtype_name(dtype)) dtypes |= PTO_DTYPE_BIT(dtype);
  if (status == PTO_OK && pto_op_find(operation->name) < PTO_GRAPH_OP_COUNT)
    status = pto_error_set(&error, PTO_EINVAL, "there is an operation \"%.60s\" already, the specification's",
                           operation->name);
  if (status == PTO_OK) status = pto_outside_add(operation, dtypes, &error);
  return status ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

/* ---- calls by name ---- */

static int refuse_name(struct pto_graph_builder *builder, const char *name) {
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  pto_closest_begin(&closest, name);
  for (uint32_t i = 0; i < pto_graph_operation_count(); i++)
    pto_closest_consider(&closest, pto_graph_operation_name(i));
  return pto_builder_refuse(builder, PTO_EINVAL, "there is no operation \"%.60s\"%s", name,
                            pto_closest_question(&closest, question));
}

static int set_options(struct pto_op_attributes *attributes, const char *label,
                       const struct pto_operation_number *options, uint32_t count, struct pto_error *error) {
  const struct pto_attribute_value text = {.kind = PTO_VALUE_WORD, .as.word = label};
  int status = label ? pto_op_attributes_set(attributes, "label", &text, error) : PTO_OK;
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) {
    const struct pto_attribute_value value = {.kind = PTO_VALUE_NUMBER, .as.number = options[i].value};
    status = pto_op_attributes_set(attributes, options[i].name ? options[i].name : "", &value, error);
  }
  return status ? status : pto_op_attributes_finish(attributes, error);
}

int pto_graph_builder_operation(struct pto_graph_builder *builder, const char *name, const char *label,
                                const struct pto_graph_operand *operands, uint32_t operand_count,
                                const struct pto_operation_number *options, uint32_t option_count,
                                struct pto_graph_operand *results, uint32_t result_count) {
  for (uint32_t i = 0; i < result_count; i++) results[i] = (struct pto_graph_operand){0, builder ? builder->id : 0};
  int status = pto_builder_begin_call(builder, name ? name : "operation");
  if (status) return status;
  const uint32_t op = pto_op_find(name ? name : "");
  if (op == PTO_GRAPH_OP_COUNT) return refuse_name(builder, name ? name : "");
  if (result_count == 0) return pto_builder_refuse(builder, PTO_EINVAL, "%s: no results are asked for", name);
  struct pto_op_attributes attributes;
  struct pto_error error;
  pto_op_attributes_init(&attributes, op);
  status = set_options(&attributes, label, options, option_count, &error);
  if (status) {
    status = pto_builder_refuse(builder, status, "%s: %s", name, error.sentence);
  } else {
    const struct pto_graph_call call = {op, operands, operand_count, attributes.options, result_count};
    uint32_t count;
    status = pto_graph_builder_call(builder, &call, results, result_count, &count);
  }
  pto_op_attributes_fini(&attributes);
  return status;
}
