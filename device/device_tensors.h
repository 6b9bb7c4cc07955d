/* SPDX-License-Identifier: MIT */
/*
 * The tensors of a context: which handles mean which device memory.
 *
 * Owns the records and the device memory: address space, and the heap that says which of it is whose.  A record is in
 * use from create until its memory is given back; a handle is its index, a serial that no other tensor of the context
 * has, and the context: live ⇔  records[index of id].id = id and not is_destroyed
 *
 * Always true: records in use = live blocks of the heap; a tensor that has just been made is zeroed; memory beyond
 * touched_bytes is as the system gave it, zero and not resident.  is_undefined is of the state after everything that
 * has been queued: a queued write clears it, a failure sets it.
 *
 * One thread at a time; the context sees to that.
 */
#ifndef PTO_DEVICE_TENSORS_H
#define PTO_DEVICE_TENSORS_H

#include <device/device_heap.h>
#include <pto/device.h>
#include <runtime/base/error.h>

struct pto_device_record {
  uint64_t id; /* serial · 2^32 + index + 1; of a record that is not in use the last one, with its label */
  uint32_t dtype, ndims;
  uint64_t shape[PTO_MAX_DIMS];
  uint64_t size_bytes;
  const char *label; /* NULL: none */
  uint32_t block;    /* of the heap */
  uint32_t flags;    /* enum pto_device_tensor_flags */
  bool is_constant, is_destroyed, is_undefined;
  bool is_consumed;   /* by the dispatch that named it last */
  bool has_values;    /* something has been asked to write it */
  bool is_read_early; /* a dispatch had it as an input before that: that one's call and outer_call follow */
  const void *reader[2];
  uint32_t bound_serial; /* of the dispatch that named it last: finds what is bound twice */
  uint32_t next_unused;
};

struct pto_device_tensors {
  struct pto_reserve memory;
  struct pto_device_heap heap;
  uint64_t touched_bytes;
  struct pto_reserve records_memory;
  struct pto_device_record *records;
  uint32_t capacity, used, unused, bound_serial;
  uint64_t context; /* of every handle */
  uint64_t serial;  /* of the last tensor made */
};

bool pto_device_tensors_init(struct pto_device_tensors *tensors, uint64_t memory_bytes, uint32_t tensor_count,
                             uint64_t context);
/* A zeroed struct is allowed. */
void pto_device_tensors_fini(struct pto_device_tensors *tensors);

/* A zeroed tensor.  PTO_OK, or PTO_EINVAL, PTO_ENOMEM with the sentence. */
PTO_MUST_CHECK int pto_device_tensors_insert(struct pto_device_tensors *tensors,
                                             const struct pto_device_tensor_desc *desc,
                                             struct pto_device_record **record_out, struct pto_error *error);
/* Gives the memory back; no command uses it any more. */
void pto_device_tensors_remove(struct pto_device_tensors *tensors, struct pto_device_record *record);
/* The live record of a handle; PTO_ESTALE with the sentence, which begins with `what`. */
PTO_MUST_CHECK int pto_device_tensors_lookup(struct pto_device_tensors *tensors, struct pto_device_tensor tensor,
                                             const char *what, struct pto_device_record **record_out,
                                             struct pto_error *error);

static inline struct pto_device_tensor pto_device_record_handle(const struct pto_device_tensors *tensors,
                                                                const struct pto_device_record *record) {
  return (struct pto_device_tensor){record->id, tensors->context};
}
static inline char *pto_device_record_addr(const struct pto_device_tensors *tensors,
                                           const struct pto_device_record *record) {
  return (char *)tensors->memory.addr + pto_device_heap_offset(&tensors->heap, record->block);
}
/* A tensor as sentences name it: "tensor 5", or "tensor 5 (weights)". */
struct pto_device_name {
  char text[96];
};
struct pto_device_name pto_device_record_name(const struct pto_device_record *record);

#endif
