/* SPDX-License-Identifier: MIT */
/*
 * Recorded tasks in the oracle: the submits are kept as they were made, unchecked, and a launch makes them again, with
 * other buffers in their tensors.  Part of oracle_runtime.h.
 */
#include <tests/oracle/oracle_runtime.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

/* One submit; pointers are set anew at each launch. */
struct kept {
  struct pto_launch launch;
  struct pto_initial initial[PTO_MAX_TENSORS];
  struct pto_param params[PTO_MAX_PARAMS];
  struct pto_tensor tensors[PTO_MAX_PARAMS], predicate;
  uint32_t count;
};
struct pto_recorded {
  struct pto_param boundary[PTO_MAX_TENSORS];
  struct pto_tensor tensors[PTO_MAX_TENSORS];
  uint32_t count;
  struct kept *kept;
  uint32_t kept_count;
};
/* Temporaries of a launch, by the handles of the recording. */
struct fresh {
  struct pto_buffer *was, *is;
  uint32_t count;
};

int pto_recorded_begin(struct pto_runtime *rt, const struct pto_param *boundary, uint32_t count) {
  int status = oracle_enter(rt);
  if (status != PTO_OK) return status;
  if (rt->recorded || count >= PTO_MAX_TENSORS) return oracle_refuse(rt, PTO_EINVAL, "recorded_begin");
  rt->recorded = calloc(1, sizeof *rt->recorded);
  if (!rt->recorded) return oracle_refuse(rt, PTO_ENOMEM, "recorded_begin");
  rt->recorded->count = count;
  for (uint32_t i = 0; i < count; i++) {
    rt->recorded->boundary[i] = boundary[i];
    rt->recorded->tensors[i] = *boundary[i].value.tensor;
  }
  return PTO_OK;
}

int oracle_recorded_keep(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                         uint32_t count, struct pto_task *task_out) {
  struct pto_recorded *recorded = rt->recorded;
  struct kept *all = realloc(recorded->kept, (recorded->kept_count + 1) * sizeof *all);
  if (!all || count > PTO_MAX_PARAMS) return oracle_refuse(rt, PTO_ENOMEM, "recorded submit");
  recorded->kept = all;
  struct kept *kept = &all[recorded->kept_count++];
  *kept = (struct kept){.launch = *launch, .count = count};
  for (uint32_t i = 0; i < count; i++) {
    kept->params[i] = params[i];
    if (params[i].mode != PTO_SCALAR) kept->tensors[i] = *params[i].value.tensor;
  }
  for (uint32_t i = 0; i < launch->initial_count; i++) kept->initial[i] = launch->initial[i];
  if (launch->predicate.tensor) kept->predicate = *launch->predicate.tensor;
  if (task_out) *task_out = (struct pto_task){0, rt->serial << 32 | rt->run_number};
  return PTO_OK;
}

int pto_recorded_end(struct pto_runtime *rt, struct pto_recorded **recorded_out) {
  int status = oracle_enter(rt);
  if (status != PTO_OK) return status;
  if (!rt->recorded) return oracle_refuse(rt, PTO_EINVAL, "recorded_end: none has begun");
  *recorded_out = rt->recorded;
  rt->recorded = NULL;
  return PTO_OK;
}

void pto_recorded_destroy(struct pto_recorded *recorded) {
  if (recorded) free(recorded->kept);
  free(recorded);
}

/* The tensor with the memory of this launch. */
static bool replace(struct pto_runtime *rt, const struct pto_recorded *recorded, const struct pto_param *given,
                    struct fresh *fresh, struct pto_tensor *t) {
  for (uint32_t i = 0; i < recorded->count; i++) {
    const struct pto_tensor *was = &recorded->tensors[i], *is = given[i].value.tensor;
    struct pto_tensor left = pto_tensor_with_overlap(was, PTO_OVERLAP_EXACT);
    struct pto_tensor right = pto_tensor_with_overlap(t, PTO_OVERLAP_EXACT);
    if (was->buffer.id != t->buffer.id || was->buffer.generation != t->buffer.generation) continue;
    const enum pto_overlap relation = pto_tensor_overlap(&left, &right);
    if (relation != PTO_EQUAL && relation != PTO_COVERS) continue;
    const uint64_t bits = pto_dtype_bits(t->dtype), of_boundary = pto_dtype_bits(was->dtype);
    t->start_offset = t->start_offset + is->start_offset * of_boundary / bits - was->start_offset * of_boundary / bits;
    t->buffer = is->buffer;
    t->version = is->version;
    return true;
  }
  uint32_t at = 0;
  while (at < fresh->count && fresh->was[at].generation != t->buffer.generation) at++;
  if (at == fresh->count) {
    fresh->was[at] = t->buffer;
    fresh->is[at] = pto_create_buffer(rt, t->buffer.size_bytes);
    fresh->count++;
  }
  t->buffer = fresh->is[at];
  return t->buffer.generation != 0;
}

static int submit(struct pto_runtime *rt, const struct pto_recorded *recorded, const struct kept *recorded_kept,
                  const struct pto_recorded_launch *launch, struct fresh *fresh) {
  struct kept kept = *recorded_kept;
  const uint32_t number = (uint32_t)(recorded_kept - recorded->kept);
  uint32_t scalar = 0;
  kept.launch.after_count = 0;
  kept.launch.initial = kept.initial;
  for (uint32_t i = 0; i < kept.count; i++) {
    if (kept.params[i].mode != PTO_SCALAR) {
      if (!replace(rt, recorded, launch->params, fresh, &kept.tensors[i])) return PTO_ENOMEM;
      kept.params[i].value.tensor = &kept.tensors[i];
      continue;
    }
    for (uint32_t k = 0; k < launch->scalar_count; k++)
      if (launch->scalars[k].task == number && launch->scalars[k].scalar == scalar)
        kept.params[i].value.scalar = launch->scalars[k].value;
    scalar++;
  }
  if (kept.launch.predicate.tensor) {
    if (!replace(rt, recorded, launch->params, fresh, &kept.predicate)) return PTO_ENOMEM;
    kept.launch.predicate.tensor = &kept.predicate;
  }
  return pto_submit(rt, &kept.launch, kept.params, kept.count, NULL);
}

int pto_submit_recorded(struct pto_runtime *rt, struct pto_recorded *recorded, const struct pto_recorded_launch *launch,
                        struct pto_task *task_out) {
  int status = oracle_enter(rt);
  if (status != PTO_OK) return status;
  if (rt->recorded || launch->count != recorded->count) return oracle_refuse(rt, PTO_EINVAL, "submit_recorded");
  struct fresh fresh = {.was = calloc(recorded->kept_count * PTO_MAX_PARAMS + 1, sizeof *fresh.was),
                        .is = calloc(recorded->kept_count * PTO_MAX_PARAMS + 1, sizeof *fresh.is)};
  status = fresh.was && fresh.is ? pto_scope_begin(rt, PTO_SCOPE_MANUAL) : PTO_ENOMEM;
  for (uint32_t i = 0; i < recorded->kept_count && status == PTO_OK; i++)
    status = submit(rt, recorded, &recorded->kept[i], launch, &fresh);
  if (status == PTO_OK) status = pto_scope_end(rt);
  free(fresh.was);
  free(fresh.is);
  return status == PTO_OK ? pto_submit_barrier(rt, NULL, 0, task_out) : status;
}
