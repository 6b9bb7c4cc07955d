/* SPDX-License-Identifier: MIT */
#include <device/context_calls.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/sized.h>

/* ---- what calls ask first ---- */

static int check_size(struct pto_context *context, const char *what, const struct pto_device_record *record,
                      const void *data, uint64_t size_bytes) {
  if (size_bytes != record->size_bytes)
    return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "%s: %" PRIu64 " bytes given, %s has %" PRIu64, what, size_bytes,
                              pto_device_record_name(record).text, record->size_bytes);
  if (!data && size_bytes) return PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "%s: no data", what);
  return PTO_OK;
}

/* Begins a call about a tensor, `what` it is for its refusals, which are counted. */
static int begin_about(struct pto_context *context, struct pto_device_tensor tensor, const char *what,
                       struct pto_device_record **record_out) {
  const int status = pto_context_begin_call(context, what);
  return status ? status : pto_device_tensors_lookup(&context->tensors, tensor, what, record_out, &context->refusal);
}

/* ---- create ---- */

/* Memory whose destruction is queued comes back when that has been carried out. */
static int insert(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                  struct pto_device_record **record_out) {
  int status = pto_device_tensors_insert(&context->tensors, desc, record_out, &context->refusal);
  if (status != PTO_ENOMEM || context->queued == context->done) return status;
  pto_context_unlock(context);
  status = pto_context_wait(context);
  pto_context_lock(context);
  pto_error_clear(&context->refusal); /* the call may yet not be refused */
  return status ? status : pto_device_tensors_insert(&context->tensors, desc, record_out, &context->refusal);
}

static int create(struct pto_context *context, const struct pto_device_tensor_desc *desc, uint32_t more_flags,
                  struct pto_device_tensor *tensor_out) {
  struct pto_device_record *record = NULL;
  struct pto_device_tensor_desc wanted;
  int status = pto_context_begin_call(context, NULL);
  if (status == PTO_OK && (!desc || !tensor_out))
    status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "tensor: no description");
  if (status == PTO_OK) {
    wanted = *desc;
    wanted.flags |= more_flags;
    status = insert(context, &wanted, &record);
  }
  if (status == PTO_OK) *tensor_out = pto_device_record_handle(&context->tensors, record);
  pto_context_unlock(context);
  return pto_context_end_call(context, status);
}

int pto_device_tensor_create(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                             struct pto_device_tensor *tensor_out) {
  return create(context, desc, 0, tensor_out);
}

int pto_device_tensor_create_host(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                                  struct pto_device_tensor *tensor_out) {
  return create(context, desc, PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE, tensor_out);
}

/* Under `lock`, which it gives up. */
static int queue_write(struct pto_context *context, struct pto_device_record *record, const void *data) {
  struct pto_command command = {.kind = PTO_COMMAND_WRITE, .record = record};
  command.data = malloc(record->size_bytes + 1);
  if (!command.data) {
    int status =
        PTO_CONTEXT_REFUSE(context, PTO_ENOMEM, "write: no memory for a copy of %" PRIu64 " bytes", record->size_bytes);
    pto_context_unlock(context);
    return status;
  }
  if (record->size_bytes) memcpy(command.data, data, record->size_bytes);
  pto_context_unlock(context);
  return pto_context_enqueue(context, &command);
}

int pto_device_tensor_create_constant(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                                      const void *data, uint64_t size_bytes, struct pto_device_tensor *tensor_out) {
  struct pto_device_record *record = NULL;
  int status = pto_context_begin_call(context, NULL);
  if (status == PTO_OK && (!desc || !tensor_out))
    status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "constant: no description");
  if (status == PTO_OK && desc->flags)
    status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL,
                                "constant: flags 0x%" PRIx32 "; the host neither reads nor writes it", desc->flags);
  if (status == PTO_OK) status = insert(context, desc, &record);
  if (status == PTO_OK) {
    status = check_size(context, "constant", record, data, size_bytes);
    if (status) pto_device_tensors_remove(&context->tensors, record);
  }
  if (status) {
    pto_context_unlock(context);
    return pto_context_end_call(context, status);
  }
  record->is_constant = true;
  const struct pto_device_tensor tensor = pto_device_record_handle(&context->tensors, record);
  status = queue_write(context, record, data);
  if (status == PTO_OK) {
    *tensor_out = tensor;
  } else {
    pto_context_lock(context);
    pto_device_tensors_remove(&context->tensors, record);
    pto_context_unlock(context);
  }
  return pto_context_end_call(context, status);
}

int pto_device_tensor_describe(struct pto_context *context, struct pto_device_tensor tensor,
                               struct pto_device_tensor_info *info) {
  struct pto_device_record *record;
  (void)pto_context_begin_call(context, NULL); /* as of any tensor, whatever has failed */
  const int status = pto_device_tensors_lookup(&context->tensors, tensor, "describe", &record, &context->refusal);
  if (status == PTO_OK) {
    struct pto_device_tensor_info all = {.size = sizeof all,
                                         .dtype = record->dtype,
                                         .ndims = record->ndims,
                                         .size_bytes = record->size_bytes,
                                         .is_readable = record->flags & PTO_TENSOR_READABLE,
                                         .is_writable = record->flags & PTO_TENSOR_WRITABLE,
                                         .is_constant = record->is_constant,
                                         .label = record->label};
    memcpy(all.shape, record->shape, sizeof all.shape);
    pto_sized_give(info, &all, sizeof all);
  }
  pto_context_unlock(context);
  return pto_context_end_call(context, status);
}

uint64_t pto_device_tensor_size(struct pto_context *context, struct pto_device_tensor tensor) {
  struct pto_device_record *record;
  (void)pto_context_begin_call(context, NULL);
  int status = pto_device_tensors_lookup(&context->tensors, tensor, "size", &record, &context->refusal);
  uint64_t size_bytes = status ? 0 : record->size_bytes;
  pto_context_unlock(context);
  (void)pto_context_end_call(context, status);
  return size_bytes;
}

/* ---- write, read, copy, destroy ---- */

int pto_device_tensor_write(struct pto_context *context, struct pto_device_tensor tensor, const void *data,
                            uint64_t size_bytes) {
  struct pto_device_record *record = NULL;
  int status = begin_about(context, tensor, "write", &record);
  if (status == PTO_OK && !(record->flags & PTO_TENSOR_WRITABLE))
    status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "write: %s is not writable by the host",
                                pto_device_record_name(record).text);
  if (status == PTO_OK) status = check_size(context, "write", record, data, size_bytes);
  if (status == PTO_OK)
    status = queue_write(context, record, data);
  else
    pto_context_unlock(context);
  return pto_context_end_call(context, status);
}

int pto_device_tensor_read(struct pto_context *context, struct pto_device_tensor tensor, void *data,
                           uint64_t size_bytes) {
  struct pto_device_record *record = NULL;
  int status = begin_about(context, tensor, "read", &record);
  if (status == PTO_OK && !(record->flags & PTO_TENSOR_READABLE))
    status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "read: %s is not readable by the host",
                                pto_device_record_name(record).text);
  if (status == PTO_OK) status = check_size(context, "read", record, data, size_bytes);
  if (status == PTO_OK) status = pto_context_check_defined(context, "read", record);
  pto_context_unlock(context);
  struct pto_command command = {.kind = PTO_COMMAND_READ, .record = record, .data = data};
  if (status == PTO_OK) status = pto_context_enqueue(context, &command);
  if (status == PTO_OK) status = pto_context_wait(context);
  return pto_context_end_call(context, status);
}

int pto_device_tensor_copy(struct pto_context *context, struct pto_device_tensor from, struct pto_device_tensor to) {
  struct pto_device_record *source = NULL, *target = NULL;
  int status = begin_about(context, from, "copy from", &source);
  context->call = "copy";
  if (status == PTO_OK)
    status = pto_device_tensors_lookup(&context->tensors, to, "copy to", &target, &context->refusal);
  if (status == PTO_OK) status = pto_context_check_defined(context, "copy from", source);
  if (status == PTO_OK && (source == target || target->is_constant))
    status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "copy: %s is %s", pto_device_record_name(target).text,
                                source == target ? "both source and target" : "constant");
  if (status == PTO_OK && (source->dtype != target->dtype || source->ndims != target->ndims ||
                           memcmp(source->shape, target->shape, source->ndims * sizeof *source->shape)))
    status = PTO_CONTEXT_REFUSE(context, PTO_EINVAL, "copy: %s and %s differ in dtype or shape",
                                pto_device_record_name(source).text, pto_device_record_name(target).text);
  pto_context_unlock(context);
  struct pto_command command = {.kind = PTO_COMMAND_COPY, .record = target, .from = source};
  if (status == PTO_OK) status = pto_context_enqueue(context, &command);
  return pto_context_end_call(context, status);
}

int pto_device_tensor_destroy(struct pto_context *context, struct pto_device_tensor tensor) {
  struct pto_device_record *record = NULL;
  const bool has_failed = pto_context_begin_call(context, NULL) != PTO_OK;
  int status = pto_device_tensors_lookup(&context->tensors, tensor, "destroy", &record, &context->refusal);
  if (status && tensor.id && tensor.context == context->tensors.context) {
    pto_error_clear(&context->refusal); /* a second time */
    pto_context_unlock(context);
    return pto_context_end_call(context, PTO_OK);
  }
  if (status == PTO_OK) record->is_destroyed = true;
  if (status == PTO_OK && has_failed) pto_executor_remove_tensor(context, record); /* nothing runs */
  pto_context_unlock(context);
  struct pto_command command = {.kind = PTO_COMMAND_DESTROY, .record = record};
  if (status == PTO_OK && !has_failed && pto_context_enqueue(context, &command)) {
    /* It failed in between, and what was queued has been dropped. */
    pto_context_lock(context);
    pto_executor_remove_tensor(context, record);
    pto_context_unlock(context);
  }
  return pto_context_end_call(context, status);
}
