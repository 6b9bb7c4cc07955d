/* SPDX-License-Identifier: MIT */
/*
 * Tensors of orchestrations as tensors of the runtime.
 *
 * A descriptor names memory by address, and the task that created it.  So its buffer is found in three ways: among what
 * that task created; by the address and size of memory of the caller's, which is registered at first use in a scope;
 * and, for a descriptor made by hand over a part of a created buffer, by the address alone.
 */
#include <compat/adapter/state.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t pto_compat_numel(uint32_t ndims, const uint32_t *shape) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < ndims; d++) count *= shape[d];
  return count;
}

struct pto_compat_task *pto_compat_find_task(struct pto_compat *compat, uint64_t id) {
  if (id & PTO_COMPAT_INNER_BIT) {
    const struct pto_compat_definition *definition = compat->definition;
    const uint64_t step = id & ~PTO_COMPAT_INNER_BIT;
    return compat->graph == PTO_COMPAT_GRAPH_RECORDED && step < definition->count ? &definition->steps[step].task
                                                                                  : NULL;
  }
  const uint32_t local = (uint32_t)id;
  if (id >> 32 >= PTO_COMPAT_RINGS || local >= compat->rings[id >> 32].count) return NULL;
  return &compat->rings[id >> 32].tasks[local];
}

/* ---- memory of the caller's ---- */

static uint32_t bucket_of(const struct pto_compat *compat, uint64_t addr, uint64_t size_bytes) {
  uint64_t hash = (addr ^ size_bytes << 7) * UINT64_C(0x9e3779b97f4a7c15);
  return (uint32_t)(hash >> 32) & (compat->bucket_count - 1);
}

static bool rehash(struct pto_compat *compat) {
  if (compat->external_count < compat->bucket_count) return true;
  const uint32_t count = compat->bucket_count ? compat->bucket_count * 2 : 256;
  uint32_t *buckets = malloc(count * sizeof *buckets);
  if (!buckets) return false;
  memset(buckets, 0xff, count * sizeof *buckets);
  free(compat->buckets);
  compat->buckets = buckets;
  compat->bucket_count = count;
  for (uint32_t i = 0; i < compat->external_count; i++) {
    struct pto_compat_external *external = &compat->externals[i];
    uint32_t *bucket = &buckets[bucket_of(compat, external->addr, external->size_bytes)];
    external->next = *bucket;
    *bucket = i;
  }
  return true;
}

static const struct pto_compat_external *find_external(struct pto_compat *compat, uint64_t addr, uint64_t size_bytes) {
  if (!rehash(compat)) return NULL;
  uint32_t *bucket = &compat->buckets[bucket_of(compat, addr, size_bytes)];
  for (uint32_t i = *bucket; i != PTO_COMPAT_NONE; i = compat->externals[i].next)
    if (compat->externals[i].addr == addr && compat->externals[i].size_bytes == size_bytes)
      return &compat->externals[i];
  if (!pto_compat_grow((void **)&compat->externals, compat->external_count, &compat->external_capacity,
                       sizeof *compat->externals))
    return NULL;
  const struct pto_tensor bytes = pto_external_tensor(compat->rt, (void *)(uintptr_t)addr, PTO_UINT8, 1,
                                                      &size_bytes); // NOLINT(performance-no-int-to-ptr)
  struct pto_compat_external *external = &compat->externals[compat->external_count];
  *external = (struct pto_compat_external){.addr = addr,
                                           .size_bytes = size_bytes,
                                           .buffer = bytes.buffer,
                                           .status = bytes.status,
                                           .depth = compat->depth,
                                           .next = *bucket};
  *bucket = compat->external_count++;
  return external;
}

void pto_compat_end_scope(struct pto_compat *compat, uint32_t depth) {
  while (compat->external_count && compat->externals[compat->external_count - 1].depth > depth) {
    const struct pto_compat_external *external = &compat->externals[--compat->external_count];
    compat->buckets[bucket_of(compat, external->addr, external->size_bytes)] = external->next;
  }
  while (compat->creation_count && compat->creations[compat->creation_count - 1].depth > depth)
    compat->creation_count--;
}

/* ---- a descriptor ---- */

/* The buffer that the named owner created at the address. */
static const struct pto_buffer *find_created(struct pto_compat *compat, const struct pto_compat_tensor *tensor) {
  if (tensor->owner == PTO_COMPAT_NO_TASK) return NULL;
  const struct pto_compat_task *task = pto_compat_find_task(compat, tensor->owner);
  if (!task || !task->record) return NULL;
  for (uint32_t i = 0; i < task->record->created_count; i++)
    if (task->record->created[i].tensor.addr == tensor->addr) return &task->record->created[i].buffer;
  return NULL;
}

/* The newest creation of an open scope that has the address, and how far from its begin that is. */
static const struct pto_compat_creation *find_creation(const struct pto_compat *compat, uint64_t addr) {
  for (uint32_t i = compat->creation_count; i-- > 0;) {
    const struct pto_compat_creation *creation = &compat->creations[i];
    if (addr >= creation->addr && addr - creation->addr < creation->size_bytes) return creation;
  }
  return NULL;
}

/* Its scope has ended, and other tasks have its memory by now. */
static void explain_stale(struct pto_compat *compat, const struct pto_compat_tensor *tensor, char *sentence,
                          size_t sentence_size) {
  const struct pto_compat_record *record = pto_compat_find_task(compat, tensor->owner)->record;
  const char *file = record->place->file;
  const char *slash = strrchr(file, '/');
  snprintf(
      sentence, sentence_size,
      "a tensor that task %llu (%s:%u) created is used after its scope has ended, and its memory was given to later "
      "tasks",
      (unsigned long long)record->number, slash ? slash + 1 : file, record->place->line);
}

static bool find_buffer(struct pto_compat *compat, const struct pto_compat_tensor *tensor, struct pto_buffer *buffer,
                        uint64_t *offset_bytes, uint64_t *owner_out) {
  const struct pto_buffer *created = find_created(compat, tensor);
  *offset_bytes = 0;
  *owner_out = PTO_COMPAT_NO_TASK;
  if (created) {
    *buffer = *created;
    return true;
  }
  const struct pto_compat_external *external =
      tensor->owner == PTO_COMPAT_NO_TASK ? find_external(compat, tensor->addr, tensor->size_bytes) : NULL;
  const struct pto_compat_creation *creation =
      external && !external->status ? NULL : find_creation(compat, tensor->addr);
  if (creation) {
    *buffer = creation->buffer;
    *offset_bytes = tensor->addr - creation->addr;
    if (tensor->owner != creation->owner) *owner_out = tensor->owner;
    return true;
  }
  if (!external) external = find_external(compat, tensor->addr, tensor->size_bytes);
  if (!external || external->status) return false;
  *buffer = external->buffer;
  *owner_out = tensor->owner;
  return true;
}

int pto_compat_resolve(struct pto_compat *compat, const struct pto_compat_tensor *tensor, struct pto_tensor *result,
                       bool *is_empty, uint64_t *owner_out, char *sentence, size_t sentence_size) {
  const int dtype = pto_compat_dtype(tensor->dtype);
  *is_empty = false;
  *owner_out = PTO_COMPAT_NO_TASK;
  if (dtype < 0 || tensor->ndims == 0 || tensor->ndims > PTO_COMPAT_DIMS) {
    snprintf(sentence, sentence_size, "a descriptor of dtype %u and %u dimensions is none", tensor->dtype,
             tensor->ndims);
    return PTO_EINVAL;
  }
  *is_empty = pto_compat_numel(tensor->ndims, tensor->shape) == 0;
  if (*is_empty) return PTO_OK;
  if (tensor->addr == 0) {
    snprintf(sentence, sentence_size, "a descriptor without memory (its address is 0)");
    return PTO_EINVAL;
  }
  if (tensor->owner != PTO_COMPAT_NO_TASK && (tensor->owner & PTO_COMPAT_INNER_BIT) &&
      !pto_compat_find_task(compat, tensor->owner)) {
    snprintf(sentence, sentence_size, "a descriptor that was created in a graph lasts as long as the graph's function");
    return PTO_EINVAL;
  }
  uint64_t offset_bytes;
  memset(result, 0, sizeof *result);
  if (!find_buffer(compat, tensor, &result->buffer, &offset_bytes, owner_out)) {
    snprintf(sentence, sentence_size,
             "%llu bytes at a descriptor's address are neither the caller's memory nor a buffer of an open scope",
             (unsigned long long)tensor->size_bytes);
    return PTO_EINVAL;
  }
  if (result->buffer.base == 0 && pto_get_buffer_addr(compat->rt, result->buffer) == 0) {
    explain_stale(compat, tensor, sentence, sentence_size);
    return PTO_ESTALE;
  }
  const uint64_t element_bytes = pto_dtype_size((uint32_t)dtype);
  if (offset_bytes % element_bytes) {
    snprintf(sentence, sentence_size, "a descriptor begins %llu bytes into a buffer, not at an element",
             (unsigned long long)offset_bytes);
    return PTO_EINVAL;
  }
  result->start_offset = offset_bytes / element_bytes + tensor->start_offset;
  result->ndims = tensor->ndims;
  result->dtype = (uint32_t)dtype;
  for (uint32_t d = 0; d < tensor->ndims; d++) {
    result->shape[d] = tensor->shape[d];
    result->strides[d] = tensor->strides[d];
  }
  const int status = pto_tensor_status(result);
  if (status) pto_tensor_explain(result, sentence, sentence_size);
  return status;
}
