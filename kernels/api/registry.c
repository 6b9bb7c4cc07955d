/* SPDX-License-Identifier: MIT */
/*
 * The general kernels by name and index, and the sentence that a kernel leaves when it fails.
 *
 * Owns a constant table, made from kernels/api/list.h.  Any thread.
 */
#include <kernels/api/list.h>

#include <runtime/base/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct pto_kernel *const kernels[] = {
#define X(name, ...) &pto_general_##name,
    PTO_KERNEL_LIST(X)
#undef X
};

uint32_t pto_kernel_count(void) { return PTO_ARRAY_LENGTH(kernels); }

const struct pto_kernel *pto_kernel_at(uint32_t index) {
  return index < PTO_ARRAY_LENGTH(kernels) ? kernels[index] : NULL;
}

const struct pto_kernel *pto_kernel_find(const char *name) {
  if (name == NULL) return NULL;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(kernels); i++)
    if (strcmp(kernels[i]->name, name) == 0) return kernels[i];
  return NULL;
}

int pto_kernel_error(const struct pto_kernel_args *args, const char *format, ...) {
  if (args->core == NULL || args->core->message == NULL || args->core->message_size == 0) return PTO_EKERNEL;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(args->core->message, args->core->message_size, format, arguments);
  va_end(arguments);
  return PTO_EKERNEL;
}
