/* SPDX-License-Identifier: MIT */
/*
 * Kernels of adopted programs as kernels of the runtime.
 *
 * A struct pto_kernel says what its parameters are for, and an orchestration says it anew at each submit: so there is
 * one for each binding and list of modes, found by hash.  Its last parameter is a scalar, the address of the task's
 * record; the role of the core says which of the record's kernels is meant.
 */
#include <compat/adapter/state.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pto/core.h>

struct pto_compat_use {
  struct pto_kernel kernel;
  const struct pto_compat_kernel *binding;
  uint64_t hash;
  uint32_t mode_count;
  char name[24];
  uint8_t modes[PTO_COMPAT_TENSORS];
  struct pto_kernel_param params[];
};

/* ---- a call ---- */

static int run_kernel(const struct pto_kernel_args *args) {
  const struct pto_compat_record *record =
      (const struct pto_compat_record *)(uintptr_t)args->scalars[args->scalar_count - 1]
          .u64; // NOLINT(performance-no-int-to-ptr)
  const struct pto_compat_kernel *kernel = record->kernels[args->core->role];
  if (!kernel || (!kernel->entry && !kernel->call)) return PTO_OK;
  struct pto_compat_tensor tensors[PTO_COMPAT_TENSORS];
  struct pto_compat_local_context local = {.block_index = (int32_t)args->core->block_index,
                                           .block_count = (int32_t)args->core->block_count};
  struct pto_compat_global_context global = {.sub_block = args->core->role == PTO_ROLE_AIV1};
  int64_t list[PTO_COMPAT_ARGS] = {0};
  for (uint32_t i = 0; i < record->tensor_count; i++) {
    tensors[i] = record->tensors[i];
    if (record->param_of[i] != UINT8_MAX)
      tensors[i].addr = (uintptr_t)args->tensors[record->param_of[i]].addr + record->distance[i];
    list[i] = (int64_t)(uintptr_t)&tensors[i];
  }
  for (uint32_t i = 0; i < record->scalar_count; i++) list[record->tensor_count + i] = (int64_t)record->scalars[i];
  list[PTO_COMPAT_LOCAL_CONTEXT] = (int64_t)(uintptr_t)&local;
  list[PTO_COMPAT_GLOBAL_CONTEXT] = (int64_t)(uintptr_t)&global;
  const struct pto_compat_call call = {.kernel = kernel,
                                       .args = list,
                                       .local = &local,
                                       .global = &global,
                                       .core_args = args,
                                       .task = record->number,
                                       .roles = record->roles};
  if (kernel->call) return kernel->call(kernel->context, &call);
  kernel->entry(list);
  return PTO_OK;
}

/* ---- bindings ---- */

const struct pto_compat_kernel *pto_compat_find_kernel(const struct pto_compat *compat, int32_t func_id,
                                                       uint32_t core) {
  for (uint32_t i = 0; i < compat->kernel_count; i++)
    if (compat->kernels[i].func_id == func_id && compat->kernels[i].core == core) return &compat->kernels[i];
  return NULL;
}

/* ---- uses ---- */

static uint64_t hash_of(const struct pto_compat_kernel *binding, const uint8_t *modes, uint32_t count) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uintptr_t)binding;
  for (uint32_t i = 0; i < count; i++) hash = (hash ^ modes[i]) * UINT64_C(0x100000001b3);
  return hash ^ hash >> 29;
}

static struct pto_compat_use *make_use(const struct pto_compat_kernel *binding, const uint8_t *modes, uint32_t count,
                                       uint64_t hash) {
  struct pto_compat_use *use = calloc(1, sizeof *use + (count + 1) * sizeof use->params[0]);
  if (!use) return NULL;
  use->binding = binding;
  use->hash = hash;
  use->mode_count = count;
  memcpy(use->modes, modes, count);
  for (uint32_t i = 0; i < count; i++) use->params[i].mode = modes[i];
  use->params[count] = (struct pto_kernel_param){.name = "record", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64};
  snprintf(use->name, sizeof use->name, "func %d", binding->func_id);
  use->kernel = (struct pto_kernel){.name = binding->name ? binding->name : use->name,
                                    .cores = binding->core,
                                    .flags = binding->flags,
                                    .params = use->params,
                                    .param_count = count + 1,
                                    .run = run_kernel,
                                    .cost = binding->cost};
  return use;
}

static void place_use(struct pto_compat_uses *uses, struct pto_compat_use *use) {
  uint32_t at = (uint32_t)use->hash & (uses->capacity - 1);
  while (uses->table[at]) at = (at + 1) & (uses->capacity - 1);
  uses->table[at] = use;
}

static bool make_room(struct pto_compat_uses *uses) {
  if (uses->count * 2 < uses->capacity) return true;
  struct pto_compat_uses larger = {.count = uses->count, .capacity = uses->capacity ? uses->capacity * 2 : 64};
  larger.table = calloc(larger.capacity, sizeof *larger.table);
  if (!larger.table) return false;
  for (uint32_t i = 0; i < uses->capacity; i++)
    if (uses->table[i]) place_use(&larger, uses->table[i]);
  free(uses->table);
  *uses = larger;
  return true;
}

const struct pto_kernel *pto_compat_kernel_for(struct pto_compat *compat, const struct pto_compat_kernel *kernel,
                                               const uint8_t *modes, uint32_t mode_count) {
  struct pto_compat_uses *uses = &compat->uses;
  const uint64_t hash = hash_of(kernel, modes, mode_count);
  if (!make_room(uses)) return NULL;
  for (uint32_t at = (uint32_t)hash & (uses->capacity - 1); uses->table[at]; at = (at + 1) & (uses->capacity - 1)) {
    struct pto_compat_use *use = uses->table[at];
    if (use->hash == hash && use->binding == kernel && use->mode_count == mode_count &&
        memcmp(use->modes, modes, mode_count) == 0)
      return &use->kernel;
  }
  struct pto_compat_use *use = make_use(kernel, modes, mode_count, hash);
  if (!use) return NULL;
  place_use(uses, use);
  uses->count++;
  return &use->kernel;
}

void pto_compat_uses_fini(struct pto_compat_uses *uses) {
  for (uint32_t i = 0; i < uses->capacity; i++) free(uses->table[i]);
  free(uses->table);
}
