/* SPDX-License-Identifier: MIT */
#include <sim/host/current.h>

#include <sim/host/local_memory.h>

#define GUARD_BYTES PTO_LOCAL_GUARD_BYTES

_Thread_local struct pto_engine_current pto_engine_current;

/* Text that grows to the end of a buffer and no further; always terminated. */
struct text {
  char *at, *end; /* *end is the last byte, kept for the terminator */
};

static void text_string(struct text *text, const char *string) {
  while (*string && text->at < text->end) *text->at++ = *string++;
  *text->at = '\0';
}

static void text_number(struct text *text, uint64_t value, uint32_t base) {
  char digits[21];
  char *digit = &digits[sizeof digits - 1];
  *digit = '\0';
  do {
    *--digit = "0123456789abcdef"[value % base];
    value /= base;
  } while (value);
  if (base == 16) text_string(text, "0x");
  text_string(text, digit);
}

static void text_extents(struct text *text, const uint64_t *extents, uint32_t count) {
  text_string(text, "[");
  for (uint32_t i = 0; i < count; i++) {
    if (i) text_string(text, ",");
    text_number(text, extents[i], 10);
  }
  text_string(text, "]");
}

static void text_tensor(struct text *text, uint32_t index, const struct pto_kernel_tensor *tensor) {
  text_string(text, "tensor ");
  text_number(text, index, 10);
  text_string(text, " at ");
  text_number(text, (uintptr_t)tensor->addr, 16);
  text_string(text, " ");
  text_string(text, pto_dtype_name(tensor->dtype));
  if (tensor->ndims > PTO_MAX_DIMS) { /* the crash being reported may have damaged it */
    text_string(text, " of impossible rank");
    return;
  }
  text_extents(text, tensor->shape, tensor->ndims);
  text_string(text, " strides ");
  text_extents(text, tensor->strides, tensor->ndims);
}

static void text_params(struct text *text, const struct pto_message *message) {
  const struct pto_payload *payload = message->payload;
  const union pto_scalar *scalars = (const union pto_scalar *)(const void *)&payload->tensors[message->tensor_count];
  const char *separator = ": ";
  for (uint32_t i = 0; i < message->tensor_count && i < PTO_MAX_TENSORS; i++) {
    text_string(text, separator);
    text_tensor(text, i, &payload->tensors[i]);
    separator = "; ";
  }
  for (uint32_t i = 0; i < message->scalar_count && i < PTO_MAX_SCALARS; i++) {
    text_string(text, separator);
    text_string(text, "scalar ");
    text_number(text, i, 10);
    text_string(text, " ");
    text_number(text, scalars[i].u64, 16);
    separator = "; ";
  }
}

void pto_engine_describe_message(const struct pto_message *message, char *text_out, size_t size) {
  static const char *const lanes[] = {"AIC", "AIV0", "AIV1"};
  const struct pto_payload *payload = message->payload;
  const struct pto_kernel *kernel = message->role < 3 ? payload->kernels[message->role] : NULL;
  struct text text = {text_out, text_out + size - 1};
  *text.at = '\0';
  text_string(&text, "task ");
  text_number(&text, payload->task_number, 10);
  text_string(&text, " (");
  text_string(&text, kernel && kernel->name ? kernel->name : "kernel without a name");
  text_string(&text, ") block ");
  text_number(&text, message->block_index, 10);
  text_string(&text, " on core ");
  text_number(&text, message->core, 10);
  text_string(&text, " (cluster ");
  text_number(&text, message->core / 3, 10);
  text_string(&text, " ");
  text_string(&text, lanes[message->core % 3]);
  text_string(&text, ")");
  text_params(&text, message);
}

void pto_engine_describe_local(const void *address, char *text_out, size_t size) {
  static const char *const aic_names[] = {"L1", "L0A", "L0B", "L0C"};
  const struct pto_core *core = pto_engine_current.core;
  struct text text = {text_out, text_out + size - 1};
  *text.at = '\0';
  if (!pto_engine_current.message || !core || !address) return;
  const struct pto_local_memory *const memories[] = {&core->local, &core->l0a, &core->l0b, &core->l0c};
  for (uint32_t i = 0; i < (core->kind == PTO_AIC ? 4u : 1u); i++) {
    const uintptr_t at = (uintptr_t)address, begin = (uintptr_t)memories[i]->addr,
                    end = begin + memories[i]->size_bytes;
    const bool is_behind = at - end < GUARD_BYTES;
    if (!memories[i]->size_bytes || (!is_behind && begin - 1 - at >= GUARD_BYTES)) continue;
    text_string(&text, ", ");
    text_number(&text, is_behind ? at - end : begin - at, 10);
    text_string(&text, is_behind ? " bytes behind the end of its " : " bytes before its ");
    text_string(&text, core->kind == PTO_AIC ? aic_names[i] : "UB");
    text_string(&text, " (");
    text_number(&text, memories[i]->size_bytes, 10);
    text_string(&text, " bytes of local memory),");
    return;
  }
}

bool pto_engine_describe_current(char *text, size_t size) {
  const struct pto_message *message = pto_engine_current.message;
  if (!message || size == 0) return false;
  pto_engine_describe_message(message, text, size);
  return true;
}
