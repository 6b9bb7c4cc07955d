/* SPDX-License-Identifier: MIT */
/*
 * The calls that submit nothing: scopes, elements that the host reads and writes, core counts, polls.
 */
#include <compat/adapter/state.h>

#include <string.h>

/* ---- scopes ---- */

/* There a manual scope within a manual one is legal, an automatic one is not: as here. */
void pto_compat_scope_begin(bool is_manual, const struct pto_compat_place *place) {
  struct pto_compat *compat = pto_compat_current();
  if (!compat || compat->graph == PTO_COMPAT_GRAPH_COMPARED) return;
  const int status = pto_scope_begin(compat->rt, is_manual ? PTO_SCOPE_MANUAL : PTO_SCOPE_AUTO);
  if (status) {
    pto_compat_fail_as(compat, status, place, "rt_scope_begin");
    return;
  }
  compat->depth++;
  if (is_manual && !compat->manual_depth) compat->manual_depth = compat->depth;
}

void pto_compat_scope_end(const struct pto_compat_place *place) {
  struct pto_compat *compat = pto_compat_current();
  if (!compat || compat->graph == PTO_COMPAT_GRAPH_COMPARED) return;
  if (!compat->depth) {
    pto_compat_fail(compat, INVALID_ARGS, place, "rt_scope_end: no scope is open");
    return;
  }
  const int status = pto_scope_end(compat->rt);
  if (status) {
    pto_compat_fail_as(compat, status, place, "rt_scope_end");
    return;
  }
  if (compat->manual_depth == compat->depth) compat->manual_depth = 0;
  compat->depth--;
  pto_compat_end_scope(compat, compat->depth);
}

/* ---- elements ---- */

static bool is_written(const struct pto_compat *compat, const struct pto_tensor *tensor) {
  for (uint32_t i = 0; i < compat->written_count; i++)
    if (pto_tensor_overlap(&compat->written[i], tensor) != PTO_DISJOINT) return true;
  return false;
}

/* The tensor and its index for the runtime; false: refused. */
static bool find_element(struct pto_compat *compat, const char *what, const struct pto_compat_tensor *tensor,
                         uint32_t ndims, const uint32_t *index, const struct pto_compat_place *place,
                         struct pto_tensor *found, uint64_t *position) {
  char sentence[512];
  bool is_empty;
  uint64_t owner;
  if (ndims != tensor->ndims) {
    pto_compat_fail(compat, INVALID_ARGS, place, "%s: %u indices for %u dimensions", what, ndims, tensor->ndims);
    return false;
  }
  for (uint32_t d = 0; d < ndims && d < PTO_COMPAT_DIMS; d++) {
    position[d] = index[d];
    if (index[d] < tensor->shape[d]) continue;
    pto_compat_fail(compat, INVALID_ARGS, place, "%s: index %u of dimension %u is not below %u", what, index[d], d,
                    tensor->shape[d]);
    return false;
  }
  if (pto_compat_resolve(compat, tensor, found, &is_empty, &owner, sentence, sizeof sentence)) {
    pto_compat_fail(compat, INVALID_ARGS, place, "%s: %s", what, sentence);
    return false;
  }
  if (compat->orchestration->mode != PTO_COMPAT_HBG) return true;
  struct pto_tensor element = *found;
  for (uint32_t d = 0; d < ndims; d++) {
    element.start_offset += position[d] * element.strides[d];
    element.shape[d] = 1;
  }
  if (tensor->owner == PTO_COMPAT_NO_TASK && !is_written(compat, &element)) return true;
  pto_compat_fail(compat, INVALID_ARGS, place,
                  "%s: under host_build_graph no task has run yet, and this element is one that a task writes", what);
  return false;
}

uint64_t pto_compat_read(const struct pto_compat_tensor *tensor, uint32_t ndims, const uint32_t *index,
                         const struct pto_compat_place *place) {
  struct pto_compat *compat = pto_compat_current();
  struct pto_tensor found;
  uint64_t position[PTO_COMPAT_DIMS], bits = 0;
  if (!compat || !find_element(compat, "get_tensor_data", tensor, ndims, index, place, &found, position)) return 0;
  if (!pto_compat_tell_place(compat, place, "get_tensor_data")) return 0;
  const int status = pto_read_element(compat->rt, &found, position, &bits);
  if (status) pto_compat_fail_as(compat, status, place, "get_tensor_data");
  return status ? 0 : bits;
}

void pto_compat_write(const struct pto_compat_tensor *tensor, uint32_t ndims, const uint32_t *index, uint64_t bits,
                      const struct pto_compat_place *place) {
  struct pto_compat *compat = pto_compat_current();
  struct pto_tensor found;
  uint64_t position[PTO_COMPAT_DIMS];
  if (!compat || !find_element(compat, "set_tensor_data", tensor, ndims, index, place, &found, position)) return;
  if (!pto_compat_tell_place(compat, place, "set_tensor_data")) return;
  const int status = pto_write_element(compat->rt, &found, position, &bits);
  if (status) pto_compat_fail_as(compat, status, place, "set_tensor_data");
}

/* ---- the chip ---- */

int32_t pto_compat_clusters(void) {
  struct pto_compat *compat = pto_compat_current();
  return compat ? (int32_t)pto_core_count(compat->rt, PTO_CLUSTER) : 0;
}

int32_t pto_compat_aivs(void) {
  struct pto_compat *compat = pto_compat_current();
  return compat ? (int32_t)pto_core_count(compat->rt, PTO_AIV) : 0;
}

void pto_compat_poll(const struct pto_compat_place *place) {
  struct pto_compat *compat = pto_compat_current();
  if (!compat) return;
  const int status = pto_poll(compat->rt);
  if (status) pto_compat_fail_as(compat, status, place, "SPIN_WAIT_HINT");
}
