/* SPDX-License-Identifier: MIT */
#include <graph/build/outside.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <graph/build/op_options.h>
#include <runtime/base/base.h>

struct entry {
  const struct pto_operation *operation;
  struct pto_op_info info;
  struct pto_op_parameter parameters[PTO_OPERATION_MOST];
  struct pto_op_attribute attributes[PTO_OPERATION_MOST];
};

static struct {
  pthread_mutex_t lock; /* of those who add */
  struct entry *entries[PTO_OUTSIDE_OPERATIONS];
  atomic_uint count; /* adder → reader: entries below it are whole (release: publish; acquire: entry_at) */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what is there ---- */

uint32_t pto_outside_count(void) { return atomic_load_explicit(&table.count, memory_order_acquire); /* publish */ }

static const struct entry *entry_at(uint32_t op) {
  const uint32_t index = op - PTO_GRAPH_OP_COUNT - 1;
  return op > PTO_GRAPH_OP_COUNT && index < pto_outside_count() ? table.entries[index] : NULL;
}

const struct pto_operation *pto_outside_operation(uint32_t op) {
  const struct entry *entry = entry_at(op);
  return entry ? entry->operation : NULL;
}

const struct pto_op_info *pto_outside_info(uint32_t op) {
  const struct entry *entry = entry_at(op);
  return entry ? &entry->info : NULL;
}

uint32_t pto_outside_find(const char *name) {
  const uint32_t count = pto_outside_count();
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(table.entries[i]->info.name, name) == 0) return PTO_GRAPH_OP_COUNT + 1 + i;
  return PTO_GRAPH_OP_COUNT;
}

void pto_outside_numbers(const struct pto_operation *operation, const void *options,
                         double numbers[PTO_OPERATION_MOST]) {
  const struct pto_outside_options *given = options;
  for (uint32_t i = 0; i < operation->option_count; i++)
    numbers[i] = pto_option_f64(given->numbers[i], operation->options[i].default_value);
}

/* ---- inference ---- */

static int infer(struct pto_inference *inference) {
  const struct pto_operation *operation = pto_outside_operation(inference->op);
  double numbers[PTO_OPERATION_MOST];
  char sentence[200] = "";
  struct pto_graph_desc results[PTO_OPERATION_RESULTS] = {0};
  struct pto_operation_inference call = {.operands = inference->operands,
                                         .options = numbers,
                                         .results = results,
                                         .sentence = sentence,
                                         .sentence_size = sizeof sentence};
  pto_outside_numbers(operation, inference->options, numbers);
  const int status = operation->infer(&call);
  sentence[sizeof sentence - 1] = '\0';
  if (status)
    return pto_error_set(inference->error, PTO_EINVAL, "%s",
                         sentence[0] ? sentence : "its inference refuses the operands");
  for (uint32_t i = 0; i < operation->result_count; i++) {
    for (uint32_t d = results[i].ndims; d < PTO_MAX_DIMS; d++) results[i].shape[d] = 0;
    inference->results[inference->result_count++] = results[i];
  }
  return PTO_OK;
}

/* ---- adding one ---- */

static void fill(struct entry *entry, const struct pto_operation *o, uint32_t dtypes) {
  for (uint32_t i = 0; i < o->operand_count; i++) {
    const struct pto_operation_operand *operand = &o->operands[i];
    entry->parameters[i] = (struct pto_op_parameter){.name = operand->name,
                                                     .dtypes = operand->dtypes ? operand->dtypes : dtypes,
                                                     .same_dtype = i > 0 && operand->is_of_first_dtype,
                                                     .min_rank = operand->min_rank,
                                                     .max_rank = operand->max_rank ? operand->max_rank : PTO_MAX_DIMS};
  }
  for (uint32_t i = 0; i < o->option_count; i++)
    entry->attributes[i] =
        (struct pto_op_attribute){.name = o->options[i].name,
                                  .kind = PTO_ATTRIBUTE_NUMBER,
                                  .offset = (uint32_t)offsetof(struct pto_outside_options, numbers[i]),
                                  .number_class = PTO_NUMBERS_FINITE};
  entry->operation = o;
  entry->info = (struct pto_op_info){.name = o->name,
                                     .parameters = entry->parameters,
                                     .attributes = entry->attributes,
                                     .parameter_count = o->operand_count,
                                     .attribute_count = o->option_count,
                                     .options_size = sizeof(struct pto_outside_options),
                                     .infer = infer};
}

/* Under the lock. */
static int add(const struct pto_operation *o, uint32_t dtypes, struct pto_error *error) {
  const uint32_t count = pto_outside_count(), taken = pto_outside_find(o->name);
  if (taken != PTO_GRAPH_OP_COUNT && pto_outside_operation(taken) == o) return PTO_OK;
  if (taken != PTO_GRAPH_OP_COUNT)
    return pto_error_set(error, PTO_EINVAL, "there is an operation \"%.60s\" already", o->name);
  if (count == PTO_OUTSIDE_OPERATIONS)
    return pto_error_set(error, PTO_EINVAL, "there are %u operations from outside, and room for no more", count);
  struct entry *entry = calloc(1, sizeof *entry);
  if (!entry) return pto_error_set(error, PTO_ENOMEM, "no memory for operation \"%.60s\"", o->name);
  fill(entry, o, dtypes);
  table.entries[count] = entry;
  atomic_store_explicit(&table.count, count + 1, memory_order_release); /* publish → entry_at: the entry is whole */
  return PTO_OK;
}

int pto_outside_add(const struct pto_operation *operation, uint32_t dtypes, struct pto_error *error) {
  pthread_mutex_lock(&table.lock);
  const int status = add(operation, dtypes, error);
  pthread_mutex_unlock(&table.lock);
  return status;
}
