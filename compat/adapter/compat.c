/* SPDX-License-Identifier: MIT */
#include <compat/adapter/compat.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <compat/adapter/state.h>

#define DEFAULT_WINDOW 16384u /* as pto_config.window says */

/* Calls of an orchestration name no run. */
static _Thread_local struct pto_compat *current;

struct pto_compat *pto_compat_current(void) {
  return current && !current->has_failed ? current : NULL;
}

/* ---- errors ---- */

/* The numbers of pto_runtime_status.h. */
static const struct {
  int32_t code;
  const char *name;
} codes[] = {{1, "SCOPE_DEADLOCK"},        {2, "HEAP_RING_DEADLOCK"},
             {3, "FLOW_CONTROL_DEADLOCK"}, {4, "DEP_POOL_OVERFLOW"},
             {5, "INVALID_ARGS"},          {7, "REQUIRE_SYNC_START_INVALID"},
             {8, "TENSOR_WAIT_TIMEOUT"},   {9, "EXPLICIT_ORCH_FATAL"},
             {10, "SCOPE_TASKS_OVERFLOW"}, {11, "TENSORMAP_OVERFLOW"},
             {100, "SCHEDULER_TIMEOUT"},   {101, "ASYNC_COMPLETION_INVALID"},
             {102, "ASYNC_WAIT_OVERFLOW"}, {103, "ASYNC_REGISTRATION_FAILED"}};

static const char *code_name(int32_t code) {
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
    if (codes[i].code == code) return codes[i].name;
  return "of the orchestration";
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void fail(struct pto_compat *compat, int32_t code, const struct pto_compat_place *place, const char *sentence) {
  char text[PTO_SENTENCE_SIZE], line[16] = "";
  if (compat->has_failed) return;
  compat->has_failed = true;
  compat->code = code;
  if (place->line) snprintf(line, sizeof line, ":%u", place->line);
  snprintf(text, sizeof text, "error %d (%s): %s%s: %s", code, code_name(code), last_part(place->file), line, sentence);
  (void)pto_report_error(compat->rt, text);
}

void pto_compat_fail(struct pto_compat *compat, int32_t code, const struct pto_compat_place *place, const char *format,
                     ...) {
  char sentence[PTO_SENTENCE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  fail(compat, code, place, sentence);
}

static int32_t code_of_status(int status) {
  switch (status) {
#define X(name, value, number, ends_run, text)                                                                         \
  case value:                                                                                                          \
    return number;
    PTO_STATUS_LIST(X)
#undef X
  default:
    return 0;
  }
}

static bool ends_run(int status) {
  switch (status) {
#define X(name, value, number, ends, text)                                                                             \
  case value:                                                                                                          \
    return ends;
    PTO_STATUS_LIST(X)
#undef X
  default:
    return true;
  }
}

void pto_compat_fail_as(struct pto_compat *compat, int status, const struct pto_compat_place *place, const char *what) {
  if (ends_run(status)) { /* the run has its sentence */
    compat->has_failed = true;
    return;
  }
  const bool is_ours = status == PTO_ENOMEM;
  const int32_t code = status == PTO_EFIT ? 7 : is_ours ? 9 : 5;
  pto_compat_fail(compat, code, place, "%s: %s", what, is_ours ? "out of memory" : pto_last_error(compat->rt));
}

int32_t pto_compat_error_code(const struct pto_compat *compat, int status) {
  if (status == PTO_OK) return 0;
  return compat->code ? compat->code : code_of_status(status);
}

/* ---- places ---- */

/* A place that cannot be kept is none. */
void pto_compat_tell_place(struct pto_compat *compat, const struct pto_compat_place *place) {
  const uint64_t hash = ((uintptr_t)place->file ^ place->line) * UINT64_C(0x9e3779b97f4a7c15);
  struct pto_compat_line **bucket = &compat->lines[hash >> 32 & (PTO_COMPAT_LINE_BUCKETS - 1)], *line = *bucket;
  while (line && (line->place.line != place->line || line->place.file != place->file)) line = line->next;
  if (!line && (line = malloc(sizeof *line)) != NULL) {
    *line = (struct pto_compat_line){{place->file, place->line}, *bucket};
    *bucket = line;
  }
  pto_call_from(compat->rt, line ? &line->place : NULL);
}

static void forget_places(struct pto_compat *compat) {
  for (uint32_t i = 0; i < PTO_COMPAT_LINE_BUCKETS; i++)
    while (compat->lines[i]) {
      struct pto_compat_line *line = compat->lines[i];
      compat->lines[i] = line->next;
      free(line);
    }
}

/* ---- logging ---- */

void pto_compat_say(struct pto_compat *compat, uint32_t level, const struct pto_compat_place *place, const char *format,
                    ...) {
  char text[PTO_SENTENCE_SIZE];
  if (!compat->log) return;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  compat->log(compat->log_context, level, place, text);
}

void pto_compat_log(uint32_t level, const struct pto_compat_place *place, const char *format, ...) {
  char text[PTO_SENTENCE_SIZE];
  if (!current || !current->log) return;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  current->log(current->log_context, level, place, text);
}

/* ---- creation ---- */

static int take_kernels(struct pto_compat *compat, const struct pto_compat_binding *binding, struct pto_error *error) {
  for (uint32_t i = 0; i < binding->kernel_count; i++) {
    const struct pto_compat_kernel *kernel = &binding->kernels[i];
    if (kernel->core != PTO_AIC && kernel->core != PTO_AIV)
      return pto_error_set(error, PTO_EINVAL, "func_id %d: a kernel is for an AIC or for an AIV", kernel->func_id);
    for (uint32_t k = 0; k < i; k++)
      if (binding->kernels[k].func_id == kernel->func_id && binding->kernels[k].core == kernel->core)
        return pto_error_set(error, PTO_EINVAL, "func_id %d stands twice for an %s", kernel->func_id,
                             kernel->core == PTO_AIC ? "AIC" : "AIV");
  }
  compat->kernels = calloc(binding->kernel_count + 1, sizeof *compat->kernels);
  if (!compat->kernels) return pto_error_set(error, PTO_ENOMEM, "out of memory for the kernels of an orchestration");
  if (binding->kernel_count) memcpy(compat->kernels, binding->kernels, binding->kernel_count * sizeof *compat->kernels);
  compat->kernel_count = binding->kernel_count;
  return PTO_OK;
}

static int take_tensor(struct pto_compat_tensor *tensor, const struct pto_compat_argument *argument, uint32_t index,
                       struct pto_error *error) {
  const int dtype = pto_compat_dtype(argument->dtype);
  if (dtype < 0) return pto_error_set(error, PTO_EINVAL, "argument %u: %u is no dtype", index, argument->dtype);
  if (argument->ndims == 0 || argument->ndims > PTO_COMPAT_DIMS)
    return pto_error_set(error, PTO_EINVAL, "argument %u has %u dimensions; there are 1 to %d", index, argument->ndims,
                         PTO_COMPAT_DIMS);
  *tensor = (struct pto_compat_tensor){.addr = (uintptr_t)argument->data,
                                       .owner = PTO_COMPAT_NO_TASK,
                                       .ndims = argument->ndims,
                                       .dtype = (uint8_t)argument->dtype,
                                       .is_contiguous = true};
  uint64_t count = 1;
  for (uint32_t d = argument->ndims; d-- > 0; count *= argument->shape[d]) {
    tensor->shape[d] = argument->shape[d];
    tensor->strides[d] = (uint32_t)count;
  }
  tensor->extent = count;
  tensor->size_bytes = count * pto_dtype_size((uint32_t)dtype);
  if (count && !argument->data) return pto_error_set(error, PTO_EINVAL, "argument %u has no memory", index);
  return PTO_OK;
}

static int take_arguments(struct pto_compat *compat, const struct pto_compat_binding *binding,
                          struct pto_error *error) {
  compat->arguments = aligned_alloc(64, (PTO_COMPAT_CHIP_TENSORS + 1) * sizeof *compat->arguments);
  compat->argument_scalars = calloc(PTO_COMPAT_CHIP_SCALARS, sizeof *compat->argument_scalars);
  if (!compat->arguments || !compat->argument_scalars)
    return pto_error_set(error, PTO_ENOMEM, "out of memory for the arguments of an orchestration");
  for (uint32_t i = 0; i < binding->argument_count; i++) {
    const struct pto_compat_argument *argument = &binding->arguments[i];
    if (argument->is_scalar ? compat->argument_scalar_count == PTO_COMPAT_CHIP_SCALARS
                            : compat->argument_count == PTO_COMPAT_CHIP_TENSORS)
      return pto_error_set(error, PTO_EINVAL, "argument %u: an orchestration takes at most %d tensors and %d scalars",
                           i, PTO_COMPAT_CHIP_TENSORS, PTO_COMPAT_CHIP_SCALARS);
    if (argument->is_scalar) {
      compat->argument_scalars[compat->argument_scalar_count++] = argument->scalar;
      continue;
    }
    if (compat->argument_scalar_count)
      return pto_error_set(error, PTO_EINVAL, "argument %u is a tensor behind a scalar; tensors stand first", i);
    const int status = take_tensor(&compat->arguments[compat->argument_count], argument, i, error);
    if (status) return status;
    compat->argument_count++;
  }
  return PTO_OK;
}

static int check_expected(const struct pto_compat *compat, struct pto_error *error) {
  const int32_t expected = compat->orchestration->expected_arguments(
      compat->arguments, compat->argument_count, compat->argument_scalars, compat->argument_scalar_count);
  const uint32_t given = compat->argument_count + compat->argument_scalar_count;
  if (expected < 0 || given >= (uint32_t)expected) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "%s says that it needs %d arguments; %u tensors and %u scalars are given",
                       last_part(compat->orchestration->source), expected, compat->argument_count,
                       compat->argument_scalar_count);
}

int pto_compat_create(const struct pto_compat_orchestration *orchestration, const struct pto_compat_binding *binding,
                      struct pto_compat **compat_out, struct pto_error *error) {
  if (orchestration->abi != PTO_COMPAT_ABI)
    return pto_error_set(error, PTO_EINVAL, "the orchestration was compiled with headers of number %u; this is %u",
                         orchestration->abi, PTO_COMPAT_ABI);
  struct pto_compat *compat = calloc(1, sizeof *compat);
  if (!compat) return pto_error_set(error, PTO_ENOMEM, "out of memory for an orchestration");
  compat->orchestration = orchestration;
  compat->window = binding->window ? binding->window : DEFAULT_WINDOW;
  compat->log = binding->log;
  compat->log_context = binding->log_context;
  int status = take_kernels(compat, binding, error);
  if (!status) status = take_arguments(compat, binding, error);
  if (!status) status = check_expected(compat, error);
  if (status) {
    pto_compat_destroy(compat);
    return status;
  }
  *compat_out = compat;
  return PTO_OK;
}

/* ---- a run ---- */

static void forget_run(struct pto_compat *compat) {
  pto_compat_arena_clear(&compat->arena);
  pto_compat_graph_clear(compat);
  for (uint32_t i = 0; i < PTO_COMPAT_RINGS; i++) compat->rings[i].count = 0;
  compat->external_count = compat->creation_count = compat->written_count = compat->id_count = 0;
  if (compat->bucket_count) memset(compat->buckets, 0xff, compat->bucket_count * sizeof *compat->buckets);
  compat->depth = compat->manual_depth = 0;
  compat->has_failed = false;
  compat->code = 0;
}

void pto_compat_destroy(struct pto_compat *compat) {
  if (!compat) return;
  forget_run(compat);
  for (uint32_t i = 0; i < PTO_COMPAT_RINGS; i++) free(compat->rings[i].tasks);
  pto_compat_uses_fini(&compat->uses);
  forget_places(compat);
  free(compat->kernels);
  free(compat->arguments);
  free(compat->argument_scalars);
  free(compat->ids);
  free(compat->externals);
  free(compat->buckets);
  free(compat->creations);
  free(compat->written);
  free(compat->after);
  free(compat->definitions);
  free(compat->launches);
  free(compat);
}

int pto_compat_orchestrate(struct pto_compat *compat, struct pto_runtime *rt) {
  const struct pto_compat_place place = {.file = compat->orchestration->source};
  forget_run(compat);
  compat->rt = rt;
  compat->outer = current;
  current = compat;
  /* known for the whole run, wherever they are first used */
  for (uint32_t i = 0; i < compat->argument_count; i++) {
    struct pto_tensor tensor;
    bool is_empty;
    uint64_t owner;
    char sentence[PTO_SENTENCE_SIZE / 2];
    if (pto_compat_resolve(compat, &compat->arguments[i], &tensor, &is_empty, &owner, sentence, sizeof sentence))
      pto_compat_fail(compat, 5, &place, "argument %u: %s", i, sentence);
  }
  if (!compat->has_failed)
    compat->orchestration->enter(compat->arguments, compat->argument_count, compat->argument_scalars,
                                 compat->argument_scalar_count);
  while (!compat->has_failed && compat->depth) pto_compat_scope_end(&place);
  current = compat->outer;
  return compat->has_failed ? PTO_EUSER : PTO_OK;
}

uint64_t pto_compat_task_id(const struct pto_compat *compat, uint64_t number) {
  return number < compat->id_count ? compat->ids[number] : PTO_COMPAT_NO_TASK;
}

/* ---- what orchestrations report ---- */

bool pto_compat_is_fatal(void) { return !current || current->has_failed; }

void pto_compat_fatal(int32_t code, const struct pto_compat_place *place, const char *format, ...) {
  char sentence[PTO_SENTENCE_SIZE];
  if (!pto_compat_current()) return;
  va_list args;
  va_start(args, format);
  vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  fail(current, code, place, sentence);
}

void pto_compat_mistake(const struct pto_compat_place *place, const char *sentence) {
  if (pto_compat_current()) fail(current, 5, place, sentence);
}
