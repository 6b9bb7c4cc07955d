/* SPDX-License-Identifier: MIT */
#include <device/device_tensors.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <runtime/tensor/tensor_make.h>

/* What has small pages: a context with little in it stays small, and weights are read 1.2 times as fast from large ones
 * (docs/performance.md). */
#define SMALL_BYTES (UINT64_C(1) << 20)

bool pto_device_tensors_init(struct pto_device_tensors *tensors, uint64_t memory_bytes, uint32_t tensor_count,
                             uint64_t context) {
  memset(tensors, 0, sizeof *tensors);
  tensors->unused = UINT32_MAX;
  tensors->capacity = tensor_count;
  tensors->context = context;
  if (!pto_device_heap_init(&tensors->heap, memory_bytes, tensor_count) ||
      !pto_reserve_init_large(&tensors->memory, memory_bytes, SMALL_BYTES) ||
      !pto_reserve_init(&tensors->records_memory, tensor_count * sizeof *tensors->records)) {
    pto_device_tensors_fini(tensors);
    return false;
  }
  tensors->records = tensors->records_memory.addr;
  return true;
}

void pto_device_tensors_fini(struct pto_device_tensors *tensors) {
  pto_reserve_fini(&tensors->records_memory);
  pto_reserve_fini(&tensors->memory);
  pto_device_heap_fini(&tensors->heap);
  memset(tensors, 0, sizeof *tensors);
}

static int refuse_memory(const struct pto_device_tensors *tensors, uint64_t size_bytes, struct pto_error *error) {
  const struct pto_device_heap *heap = &tensors->heap;
  return pto_error_set(error, PTO_ENOMEM,
                       "a tensor of %" PRIu64 " bytes: %" PRIu64 " of %" PRIu64 " bytes of device memory are free, the "
                       "largest piece has %" PRIu64 "; %" PRIu64 " of %" PRIu32 " tensors are in use",
                       size_bytes, heap->capacity_bytes - heap->live_bytes, heap->capacity_bytes,
                       pto_device_heap_largest_free(heap), heap->live_count, tensors->capacity);
}

/* A zeroed block of the heap; PTO_DEVICE_NO_BLOCK where none is large enough. */
static uint32_t take_block(struct pto_device_tensors *tensors, uint64_t size_bytes) {
  const uint32_t block = pto_device_heap_alloc(&tensors->heap, size_bytes);
  if (block == PTO_DEVICE_NO_BLOCK) return block;
  const uint64_t begin = pto_device_heap_offset(&tensors->heap, block), end = begin + size_bytes;
  if (begin < tensors->touched_bytes)
    memset((char *)tensors->memory.addr + begin, 0, pto_min_u64(end, tensors->touched_bytes) - begin);
  tensors->touched_bytes = pto_max_u64(tensors->touched_bytes, end);
  return block;
}

int pto_device_tensors_insert(struct pto_device_tensors *tensors, const struct pto_device_tensor_desc *desc,
                              struct pto_device_record **record_out, struct pto_error *error) {
  uint64_t size_bytes;
  if (desc->flags & ~(uint32_t)(PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE))
    return pto_error_set(error, PTO_EINVAL, "tensor: flags 0x%" PRIx32 " have bits that mean nothing", desc->flags);
  if (!pto_tensor_dense_bytes(desc->dtype, desc->ndims, desc->shape, &size_bytes)) {
    const struct pto_tensor wrong =
        pto_tensor_dense((struct pto_buffer){1, 0, PTO_CACHE_LINE, 0}, desc->dtype, desc->ndims, desc->shape);
    pto_error_set(error, PTO_EINVAL, "tensor: ");
    char text[256];
    pto_tensor_explain(&wrong, text, sizeof text);
    pto_error_append(error, "%s", text);
    return PTO_EINVAL;
  }
  if (size_bytes > tensors->heap.capacity_bytes) return refuse_memory(tensors, size_bytes, error);
  if (tensors->unused == UINT32_MAX && tensors->used == tensors->capacity)
    return refuse_memory(tensors, size_bytes, error);
  uint32_t block = take_block(tensors, size_bytes);
  if (block == PTO_DEVICE_NO_BLOCK) return refuse_memory(tensors, size_bytes, error);
  uint32_t index = tensors->unused != UINT32_MAX ? tensors->unused : tensors->used++;
  struct pto_device_record *record = &tensors->records[index];
  if (index == tensors->unused) tensors->unused = record->next_unused;
  *record = (struct pto_device_record){.id = ++tensors->serial << 32 | (index + 1),
                                       .dtype = desc->dtype,
                                       .ndims = desc->ndims,
                                       .size_bytes = size_bytes,
                                       .label = desc->label,
                                       .block = block,
                                       .flags = desc->flags};
  memcpy(record->shape, desc->shape, desc->ndims * sizeof *desc->shape);
  *record_out = record;
  return PTO_OK;
}

void pto_device_tensors_remove(struct pto_device_tensors *tensors, struct pto_device_record *record) {
  pto_device_heap_free(&tensors->heap, record->block);
  *record = (struct pto_device_record){
      .id = record->id, .label = record->label, .is_destroyed = true, .next_unused = tensors->unused};
  tensors->unused = (uint32_t)(record - tensors->records);
}

int pto_device_tensors_lookup(struct pto_device_tensors *tensors, struct pto_device_tensor tensor, const char *what,
                              struct pto_device_record **record_out, struct pto_error *error) {
  uint32_t index = (uint32_t)tensor.id - 1;
  if (tensor.id == 0) return pto_error_set(error, PTO_ESTALE, "%s: no tensor", what);
  if (tensor.context != tensors->context)
    return pto_error_set(error, PTO_ESTALE, "%s: the tensor is of another context", what);
  struct pto_device_record *record = index < tensors->used ? &tensors->records[index] : NULL;
  const struct pto_device_record gone = {.id = tensor.id};
  if (!record || record->id != tensor.id || record->is_destroyed)
    return pto_error_set(error, PTO_ESTALE, "%s: %s has been destroyed", what,
                         pto_device_record_name(record && record->id == tensor.id ? record : &gone).text);
  *record_out = record;
  return PTO_OK;
}

struct pto_device_name pto_device_record_name(const struct pto_device_record *record) {
  struct pto_device_name name;
  snprintf(name.text, sizeof name.text, "tensor %" PRIu32 "%s%s%s", (uint32_t)record->id, record->label ? " (" : "",
           record->label ? record->label : "", record->label ? ")" : "");
  return name;
}
