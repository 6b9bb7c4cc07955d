/* SPDX-License-Identifier: MIT */
#include <graph/build/builder_state.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <device/context_state.h>
#include <graph/build/data.h>
#include <graph/infer/infer.h>
#include <runtime/base/utf8.h>

/* Data of constants is aligned as a cache line, for kernels that read it in place. */
#define DATA_ALIGN 64u

/* Tells handles of one builder from those of another.  The one thing that builders share. */
static uint32_t next_builder_id(void) {
  static atomic_uint_least32_t last;
  uint32_t id;
  /* relaxed: only distinctness matters; 0 is none */
  do id = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  while (id == 0);
  return id;
}

int pto_graph_builder_create(struct pto_context *context, struct pto_graph_builder **builder_out) {
  struct pto_graph_builder *builder = calloc(1, sizeof *builder);
  if (!builder) return PTO_ENOMEM;
  builder->context = context;
  builder->id = next_builder_id();
  builder->max_rank = PTO_MAX_DIMS;
  builder->max_tensor_bytes = PTO_GRAPH_MAX_TENSOR_BYTES;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    if (pto_graph_dtype_name(dtype)) builder->dtypes |= PTO_DTYPE_BIT(dtype);
  if (context) {
    struct pto_context_info info = pto_context_info(context);
    builder->dtypes &= info.dtypes;
    builder->max_rank = (uint32_t)pto_min_u64(builder->max_rank, info.max_rank);
    builder->max_tensor_bytes = pto_min_u64(builder->max_tensor_bytes, info.max_tensor_bytes);
  }
  if (!pto_builder_grow((void **)&builder->values, &builder->value_capacity, 0, 1, sizeof *builder->values)) {
    pto_graph_builder_destroy(builder);
    return PTO_ENOMEM;
  }
  builder->values[0] = (struct pto_graph_value){0};
  builder->value_count = 1;
  *builder_out = builder;
  return PTO_OK;
}

void pto_graph_builder_destroy(struct pto_graph_builder *builder) {
  if (!builder) return;
  for (uint32_t i = 0; i < builder->value_count; i++) pto_graph_value_fini(&builder->values[i]);
  pto_name_table_fini(&builder->names);
  pto_graph_sizes_fini(&builder->sizes);
  pto_graph_arena_fini(&builder->arena);
  free(builder->values);
  free(builder->nodes);
  free(builder->inputs);
  free(builder);
}

/* ---- errors ---- */

int pto_graph_builder_status(const struct pto_graph_builder *builder) {
  return builder ? builder->error.status : PTO_EINVAL;
}
const char *pto_graph_builder_error(const struct pto_graph_builder *builder) {
  return builder ? builder->error.sentence : "there is no builder";
}
void pto_graph_builder_clear_error(struct pto_graph_builder *builder) {
  if (builder) pto_error_clear(&builder->error);
}

int pto_builder_refuse(struct pto_graph_builder *builder, int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(builder->error.sentence, sizeof builder->error.sentence, format, arguments);
  va_end(arguments);
  pto_utf8_make_printable(builder->error.sentence);
  return builder->error.status = status;
}

int pto_builder_begin_call(struct pto_graph_builder *builder, const char *call) {
  if (!builder) return PTO_EINVAL;
  if (builder->error.status) return builder->error.status;
  if (builder->has_built) return pto_builder_refuse(builder, PTO_ESTALE, "%s: the builder has built its graph", call);
  return PTO_OK;
}

/* ---- descriptors ---- */

bool pto_builder_grow(void **items, uint32_t *capacity, uint32_t count, uint32_t more, size_t item_bytes) {
  if (*capacity - count >= more) return true;
  uint64_t wanted = pto_max_u64(2 * (uint64_t)*capacity, pto_max_u64((uint64_t)count + more, 16));
  void *larger = wanted > UINT32_MAX ? NULL : realloc(*items, wanted * item_bytes);
  if (!larger) return false;
  *items = larger;
  *capacity = (uint32_t)wanted;
  return true;
}

int pto_builder_check_desc(const struct pto_graph_builder *builder, const struct pto_graph_desc *desc,
                           uint64_t *size_bytes_out, struct pto_error *error) {
  const char *dtype = pto_graph_dtype_name(desc->dtype);
  if (!dtype || !(builder->dtypes & PTO_DTYPE_BIT(desc->dtype)))
    return pto_error_set(error, PTO_EINVAL, "data type %s is not supported%s", pto_dtype_name(desc->dtype),
                         dtype ? " by the context" : "");
  if (desc->ndims > builder->max_rank)
    return pto_error_set(error, PTO_EINVAL, "%u dimensions are more than %u", desc->ndims, builder->max_rank);
  uint64_t bits = pto_dtype_bits(desc->dtype), numel = 1;
  for (uint32_t d = 0; d < desc->ndims; d++) {
    if (desc->shape[d] == 0 || desc->shape[d] > PTO_DIM_MAX)
      return pto_error_set(error, PTO_EINVAL, "dimension %u of %s is not within 1 to 4294967295", d,
                           PTO_SHAPE_TEXT(desc));
    /* A product of two factors below 2^32 does not overflow, and more than the limit ends the loop. */
    numel *= desc->shape[d];
    if (numel > 2 * builder->max_tensor_bytes) break;
  }
  uint64_t size_bytes = numel > 2 * builder->max_tensor_bytes ? UINT64_MAX : (numel * bits + 7) / 8;
  if (size_bytes > builder->max_tensor_bytes)
    return pto_error_set(error, PTO_EINVAL, "%s%s has more bytes than the limit of %" PRIu64, dtype,
                         PTO_SHAPE_TEXT(desc), builder->max_tensor_bytes);
  *size_bytes_out = size_bytes;
  return PTO_OK;
}

int pto_builder_value(const struct pto_graph_builder *builder, struct pto_graph_operand operand, uint32_t *value_out,
                      struct pto_error *error) {
  if (operand.index == 0 && operand.builder == 0) return pto_error_set(error, PTO_EINVAL, "is missing");
  if (operand.builder != builder->id) return pto_error_set(error, PTO_EINVAL, "is of another builder");
  if (operand.index == 0) return pto_error_set(error, PTO_EINVAL, "comes from a call that was refused");
  if (operand.index >= builder->value_count)
    return pto_error_set(error, PTO_EINVAL, "is %u, and there are %u operands", operand.index,
                         builder->value_count - 1);
  *value_out = operand.index;
  return PTO_OK;
}

struct pto_graph_desc pto_graph_builder_desc(const struct pto_graph_builder *builder,
                                             struct pto_graph_operand operand) {
  bool is_known = builder && operand.builder == builder->id && operand.index < builder->value_count;
  return is_known ? builder->values[operand.index].desc : (struct pto_graph_desc){0};
}

/* ---- inputs and constants ---- */

static struct pto_graph_operand none(const struct pto_graph_builder *builder) {
  return (struct pto_graph_operand){0, builder ? builder->id : 0};
}

/* A descriptor that is at fault leaves the sentence in the builder. */
static bool accepts_desc(struct pto_graph_builder *builder, const char *call, const struct pto_graph_desc *desc,
                         uint64_t *size_bytes) {
  struct pto_error error;
  int status = desc ? pto_builder_check_desc(builder, desc, size_bytes, &error)
                    : pto_error_set(&error, PTO_EINVAL, "there is no descriptor");
  if (status) (void)pto_builder_refuse(builder, status, "%s: %s", call, error.sentence);
  return status == PTO_OK;
}

/* Room for one value more. */
static bool reserve_value(struct pto_graph_builder *builder, const char *call) {
  if (builder->value_count >= PTO_GRAPH_MAX_VALUES) {
    (void)pto_builder_refuse(builder, PTO_EINVAL, "%s: a graph has at most %u operands", call, PTO_GRAPH_MAX_VALUES);
    return false;
  }
  if (pto_builder_grow((void **)&builder->values, &builder->value_capacity, builder->value_count, 1,
                       sizeof *builder->values))
    return true;
  (void)pto_builder_refuse(builder, PTO_ENOMEM, "%s: no memory for %u operands", call, builder->value_count + 1);
  return false;
}

static struct pto_graph_operand add_value(struct pto_graph_builder *builder, const struct pto_graph_value *value) {
  struct pto_graph_value *added = &builder->values[builder->value_count];
  *added = *value;
  for (uint32_t d = added->desc.ndims; d < PTO_MAX_DIMS; d++) added->desc.shape[d] = 0;
  return (struct pto_graph_operand){builder->value_count++, builder->id};
}

static bool accepts_name(struct pto_graph_builder *builder, const char *call, const char *name) {
  uint32_t number;
  if (!name || !name[0]) {
    (void)pto_builder_refuse(builder, PTO_EINVAL, "%s: the name is empty", call);
    return false;
  }
  if (!pto_utf8_is_valid(name)) {
    (void)pto_builder_refuse(builder, PTO_EINVAL, "%s: the name \"%.60s\" is no UTF-8", call, name);
    return false;
  }
  if (pto_name_table_lookup(&builder->names, name, &number)) {
    (void)pto_builder_refuse(builder, PTO_EINVAL, "%s: the name \"%.60s\" is used twice", call, name);
    return false;
  }
  return true;
}

/* The builder's copy of the name of `value`; NULL, and nothing kept, without memory. */
static const char *keep_name(struct pto_graph_builder *builder, const char *name, uint32_t value) {
  const struct pto_graph_arena_mark mark = pto_graph_arena_mark(&builder->arena);
  const char *copy = pto_graph_arena_string(&builder->arena, name);
  if (copy && pto_name_table_insert(&builder->names, copy, value)) return copy;
  pto_graph_arena_release(&builder->arena, mark);
  return NULL;
}

struct pto_graph_operand pto_graph_builder_input(struct pto_graph_builder *builder, const char *name,
                                                 const struct pto_graph_desc *desc) {
  struct pto_graph_value value = {.kind = PTO_VALUE_INPUT};
  if (pto_builder_begin_call(builder, "input") || !accepts_name(builder, "input", name) ||
      !accepts_desc(builder, "input", desc, &value.size_bytes) || !reserve_value(builder, "input"))
    return none(builder);
  bool has_room = pto_builder_grow((void **)&builder->inputs, &builder->input_capacity, builder->input_count, 1,
                                   sizeof *builder->inputs);
  value.desc = *desc;
  value.name = has_room ? keep_name(builder, name, builder->value_count) : NULL;
  if (!value.name) {
    (void)pto_builder_refuse(builder, PTO_ENOMEM, "input: no memory for one input more");
    return none(builder);
  }
  builder->inputs[builder->input_count++] = builder->value_count;
  return add_value(builder, &value);
}

int pto_graph_builder_set_name(struct pto_graph_builder *builder, struct pto_graph_operand operand, const char *name) {
  struct pto_error error;
  uint32_t index = 0;
  int status = pto_builder_begin_call(builder, "set_name");
  if (status) return status;
  status = pto_builder_value(builder, operand, &index, &error);
  if (status) return pto_builder_refuse(builder, status, "set_name: the operand %s", error.sentence);
  struct pto_graph_value *value = &builder->values[index];
  if (value->name) return pto_builder_refuse(builder, PTO_EINVAL, "set_name: operand %u has a name already", index);
  if (!accepts_name(builder, "set_name", name)) return builder->error.status;
  value->name = keep_name(builder, name, index);
  return value->name ? PTO_OK : pto_builder_refuse(builder, PTO_ENOMEM, "set_name: no memory for a name");
}

/* A constant of these bytes, all checked. */
static struct pto_graph_operand add_constant(struct pto_graph_builder *builder, const struct pto_graph_desc *desc,
                                             const void *data, uint64_t size_bytes) {
  if (!reserve_value(builder, "constant")) return none(builder);
  void *copy = aligned_alloc(DATA_ALIGN, pto_align_up(size_bytes, DATA_ALIGN));
  if (!copy) {
    (void)pto_builder_refuse(builder, PTO_ENOMEM, "constant: no memory for %" PRIu64 " bytes", size_bytes);
    return none(builder);
  }
  memcpy(copy, data, size_bytes);
  struct pto_graph_value value = {.desc = *desc, .kind = PTO_VALUE_CONSTANT, .data = copy, .size_bytes = size_bytes};
  return add_value(builder, &value);
}

struct pto_graph_operand pto_graph_builder_constant(struct pto_graph_builder *builder,
                                                    const struct pto_graph_desc *desc, const void *data,
                                                    uint64_t size_bytes) {
  uint64_t wanted = 0;
  if (pto_builder_begin_call(builder, "constant") || !accepts_desc(builder, "constant", desc, &wanted))
    return none(builder);
  if (size_bytes != wanted || !data) {
    (void)pto_builder_refuse(builder, PTO_EINVAL, "constant: %s%s has %" PRIu64 " bytes, and %" PRIu64 " are given%s",
                             pto_graph_dtype_name(desc->dtype), PTO_SHAPE_TEXT(desc), wanted, size_bytes,
                             data ? "" : " at NULL");
    return none(builder);
  }
  return add_constant(builder, desc, data, size_bytes);
}

struct pto_graph_operand pto_graph_builder_scalar(struct pto_graph_builder *builder, uint32_t dtype,
                                                  struct pto_number value) {
  struct pto_graph_desc desc = {.dtype = dtype};
  uint64_t size_bytes = 0;
  unsigned char bytes[8];
  if (pto_builder_begin_call(builder, "constant") || !accepts_desc(builder, "constant", &desc, &size_bytes))
    return none(builder);
  if (!pto_graph_data_from_number(dtype, value, bytes)) {
    (void)pto_builder_refuse(builder, PTO_EINVAL, "constant: %s cannot hold %.17g", pto_graph_dtype_name(dtype),
                             pto_option_f64(value, 0));
    return none(builder);
  }
  return add_constant(builder, &desc, bytes, size_bytes);
}

struct pto_graph_operand pto_builder_borrow_constant(struct pto_graph_builder *builder,
                                                     const struct pto_graph_value *lender) {
  struct pto_graph_value value = *lender;
  value.is_borrowed = true;
  return pto_builder_begin_call(builder, "constant") || !reserve_value(builder, "constant")
             ? none(builder)
             : add_value(builder, &value);
}

/* Dtype, shape and whether it is a constant, of a tensor of the context.  PTO_OK, PTO_ESTALE. */
static int tensor_desc(struct pto_context *context, struct pto_device_tensor tensor, struct pto_graph_desc *desc_out,
                       bool *is_constant_out, struct pto_error *error) {
  struct pto_device_record *record = NULL;
  pto_context_lock(context);
  int status = pto_device_tensors_lookup(&context->tensors, tensor, "tensor", &record, error);
  if (status == PTO_OK) {
    *desc_out = (struct pto_graph_desc){.dtype = record->dtype, .ndims = record->ndims};
    memcpy(desc_out->shape, record->shape, sizeof record->shape);
    *is_constant_out = record->is_constant;
  }
  pto_context_unlock(context);
  return status;
}

struct pto_graph_operand pto_graph_builder_constant_tensor(struct pto_graph_builder *builder,
                                                           struct pto_device_tensor tensor) {
  struct pto_graph_value value = {.kind = PTO_VALUE_CONSTANT, .tensor = tensor};
  struct pto_error error = {0};
  bool is_constant = false;
  if (pto_builder_begin_call(builder, "constant")) return none(builder);
  int status = builder->context ? tensor_desc(builder->context, tensor, &value.desc, &is_constant, &error)
                                : pto_error_set(&error, PTO_EINVAL, "the builder has no context");
  if (status == PTO_OK && !is_constant) status = pto_error_set(&error, PTO_EINVAL, "the tensor is no constant one");
  if (status) {
    (void)pto_builder_refuse(builder, PTO_EINVAL, "constant: %s", error.sentence);
    return none(builder);
  }
  if (!accepts_desc(builder, "constant", &value.desc, &value.size_bytes) || !reserve_value(builder, "constant"))
    return none(builder);
  return add_value(builder, &value);
}
