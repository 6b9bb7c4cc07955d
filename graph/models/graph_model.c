/* SPDX-License-Identifier: MIT */
#include <graph/models/graph_model.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/closest.h>

static const struct pto_graph_model_info models[] = {
#define X(name, summary) {#name, summary, pto_graph_model_options_##name, pto_graph_model_build_##name},
    PTO_GRAPH_MODEL_LIST(X)
#undef X
};

const struct pto_graph_model_info *pto_graph_model_at(uint32_t index) {
  return index < PTO_ARRAY_LENGTH(models) ? &models[index] : NULL;
}

const struct pto_graph_model_info *pto_graph_model_find(const char *name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(models); i++)
    if (strcmp(models[i].name, name) == 0) return &models[i];
  return NULL;
}

/* ---- settings ---- */

static struct pto_graph_model_option *find_option(struct pto_graph_model_option *options, const char *name,
                                                  size_t length) {
  for (; options->name; options++)
    if (strlen(options->name) == length && strncmp(options->name, name, length) == 0) return options;
  return NULL;
}

static int refuse_setting(const struct pto_graph_model_info *info, const char *setting, size_t length,
                          struct pto_error *error) {
  char name[64], question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  snprintf(name, sizeof name, "%.*s", (int)length, setting);
  pto_closest_begin(&closest, name);
  for (const struct pto_graph_model_option *o = info->options; o->name; o++) pto_closest_consider(&closest, o->name);
  (void)pto_error_set(error, PTO_EINVAL, "model %s has no option \"%s\"; it has", info->name, name);
  for (const struct pto_graph_model_option *o = info->options; o->name; o++)
    pto_error_append(error, "%s %s", o == info->options ? "" : ",", o->name);
  pto_error_append(error, "%s", pto_closest_question(&closest, question));
  return PTO_EINVAL;
}

static int apply_setting(const struct pto_graph_model_info *info, struct pto_graph_model_option *options,
                         const char *setting, struct pto_error *error) {
  const size_t length = strcspn(setting, "=");
  struct pto_graph_model_option *option = find_option(options, setting, length);
  if (!option) return refuse_setting(info, setting, length, error);
  const char *text = setting[length] ? setting + length + 1 : "";
  char *end;
  if (option->text) {
    option->text = text;
    return PTO_OK;
  }
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end || errno || value < option->least || value > option->most)
    return pto_error_set(error, PTO_EINVAL, "model %s: %s is no number from %" PRIu64 " to %" PRIu64 ": \"%.40s\"",
                         info->name, option->name, option->least, option->most, text);
  option->value = value;
  return PTO_OK;
}

static const struct pto_graph_model_option *option_of(const struct pto_graph_model *model, const char *name) {
  const struct pto_graph_model_option *option = model->options;
  while (strcmp(option->name, name) != 0) option++;
  return option;
}
uint64_t pto_graph_model_option(const struct pto_graph_model *model, const char *name) {
  return option_of(model, name)->value;
}
const char *pto_graph_model_text(const struct pto_graph_model *model, const char *name) {
  return option_of(model, name)->text;
}

/* ---- building ---- */

static int build(const struct pto_graph_model_info *info, struct pto_graph_model *model, struct pto_graph **graph_out,
                 struct pto_error *error) {
  int status = pto_graph_builder_create(NULL, &model->builder);
  if (status) return pto_error_set(error, status, "model %s: %s", info->name, pto_strerror(status));
  info->build(model);
  if (model->error.status)
    return pto_error_set(error, model->error.status, "model %s: %s", info->name, model->error.sentence);
  status = pto_graph_builder_build(model->builder, model->outputs, model->output_count, graph_out);
  return status ? pto_error_set(error, status, "model %s: %s", info->name, pto_graph_builder_error(model->builder))
                : PTO_OK;
}

static void free_names(struct pto_graph_model *model) {
  while (model->names) {
    struct pto_graph_model_made_name *next = model->names->next;
    free(model->names);
    model->names = next;
  }
}

int pto_graph_model_create(const struct pto_graph_model_info *info, const char *const *settings, uint32_t count,
                           uint64_t seed, struct pto_graph **graph_out, struct pto_error *error) {
  struct pto_graph_model_option options[PTO_GRAPH_MODEL_MAX_OPTIONS + 1] = {{0}};
  struct pto_graph_model *model = calloc(1, sizeof *model);
  if (!model) return pto_error_set(error, PTO_ENOMEM, "model %s: out of memory", info->name);
  for (size_t i = 0; info->options[i].name && i < PTO_GRAPH_MODEL_MAX_OPTIONS; i++) options[i] = info->options[i];
  int status = PTO_OK;
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) status = apply_setting(info, options, settings[i], error);
  model->seed = seed;
  model->options = options;
  if (status == PTO_OK) status = build(info, model, graph_out, error);
  pto_graph_builder_destroy(model->builder);
  free_names(model);
  free(model);
  return status;
}

/* ---- for the files of models ---- */

void pto_graph_model_refuse(struct pto_graph_model *model, int status, const char *reason) {
  if (!model->error.status) (void)pto_error_set(&model->error, status, "%s", reason);
}

static const char *make_name(struct pto_graph_model *model, const char *format, va_list arguments) {
  struct pto_graph_model_made_name *name = malloc(sizeof *name);
  if (!name) {
    pto_graph_model_refuse(model, PTO_ENOMEM, "out of memory");
    return "";
  }
  vsnprintf(name->text, sizeof name->text, format, arguments);
  name->next = model->names;
  model->names = name;
  return name->text;
}

const char *pto_graph_model_name(struct pto_graph_model *model, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *name = make_name(model, format, arguments);
  va_end(arguments);
  return name;
}

void pto_graph_model_output(struct pto_graph_model *model, struct pto_graph_operand operand, const char *format, ...) {
  va_list arguments;
  PTO_ASSERT(model->output_count < PTO_ARRAY_LENGTH(model->outputs));
  va_start(arguments, format);
  const char *name = make_name(model, format, arguments);
  va_end(arguments);
  model->outputs[model->output_count++] = (struct pto_graph_output){name, operand};
}

struct pto_graph_operand pto_graph_model_constant(struct pto_graph_model *model, const char *name, uint32_t dtype,
                                                  uint32_t ndims, const uint64_t *shape, const void *data) {
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  uint64_t numel = 1;
  for (uint32_t d = 0; d < ndims; d++) numel *= desc.shape[d] = shape[d];
  struct pto_graph_operand operand =
      pto_graph_builder_constant(model->builder, &desc, data, numel * pto_dtype_size(dtype));
  (void)pto_graph_builder_set_name(model->builder, operand, name);
  return operand;
}

struct pto_graph_operand pto_graph_model_scalar(struct pto_graph_model *model, double value) {
  return pto_graph_builder_scalar(model->builder, PTO_FLOAT32, pto_number_f64(value));
}

double pto_graph_model_scale(uint64_t fan_in, double gain) { return sqrt(3 * gain / (double)fan_in); }

static struct pto_graph_operand draw(struct pto_graph_model *model, const char *name, uint32_t ndims,
                                     const uint64_t *shape, double middle, double scale) {
  uint64_t numel = 1, state = model->seed;
  const struct pto_graph_operand none = {0};
  if (pto_graph_builder_status(model->builder) || model->error.status) return none;
  for (uint32_t d = 0; d < ndims; d++)
    if (__builtin_mul_overflow(numel, shape[d], &numel) || numel > UINT64_C(1) << 30) {
      pto_graph_model_refuse(model, PTO_EINVAL, "its settings ask for weights of more than 2^30 elements");
      return none;
    }
  for (const char *c = name; *c; c++) state = pto_mix64(state ^ (unsigned char)*c);
  struct pto_rng rng = {state};
  float *data = malloc(pto_max_u64(numel, 1) * sizeof *data);
  if (!data) {
    pto_graph_model_refuse(model, PTO_ENOMEM, "out of memory");
    return none;
  }
  for (uint64_t i = 0; i < numel; i++) data[i] = (float)(middle + (2 * pto_rng_unit(&rng) - 1) * scale);
  const struct pto_graph_operand operand = pto_graph_model_constant(model, name, PTO_FLOAT32, ndims, shape, data);
  free(data);
  return operand;
}

struct pto_graph_operand pto_graph_model_weights(struct pto_graph_model *model, const char *name, uint32_t ndims,
                                                 const uint64_t *shape, double scale) {
  return draw(model, name, ndims, shape, 0, scale);
}

struct pto_graph_operand pto_graph_model_vector(struct pto_graph_model *model, const char *name, uint64_t size,
                                                double middle, double scale) {
  return draw(model, name, 1, &size, middle, scale);
}
