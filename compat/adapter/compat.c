/* SPDX-License-Identifier: MIT */
#include <compat/adapter/compat.h>

#include <stdlib.h>
#include <string.h>

#include <compat/adapter/state.h>

#define DEFAULT_WINDOW 16384u /* as pto_config.window says */

/* ---- creation ---- */

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

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

static void forget_places(struct pto_compat *compat) {
  for (uint32_t i = 0; i < PTO_COMPAT_LINE_BUCKETS; i++)
    while (compat->lines[i]) {
      struct pto_compat_line *line = compat->lines[i];
      compat->lines[i] = line->next;
      free(line);
    }
}

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
  free(compat->patches);
  free(compat->boundary.after);
  free(compat);
}

int pto_compat_orchestrate(struct pto_compat *compat, struct pto_runtime *rt) {
  const struct pto_compat_place place = {.file = compat->orchestration->source};
  forget_run(compat);
  compat->rt = rt;
  struct pto_compat *outer = pto_compat_enter(compat);
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
  (void)pto_compat_enter(outer);
  return compat->has_failed ? PTO_EUSER : PTO_OK;
}

uint64_t pto_compat_task_id(const struct pto_compat *compat, uint64_t number) {
  return number < compat->id_count ? compat->ids[number] : PTO_COMPAT_NO_TASK;
}
