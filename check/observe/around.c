/* SPDX-License-Identifier: MIT */
/*
 * What a run may leave changed beside memory: how its thread computes with floats, and what its kernels are told.  Both
 * are put back behind every run, so that a mistake of one call is not told of those behind it.
 */
#include <check/observe/state.h>

#include <string.h>

#include <sim/host/float_mode.h>

/* What the unit's kernels are told, of this many bytes from the payload's tensors on. */
static uint64_t descriptor_bytes(const struct pto_payload *payload) {
  uint64_t bytes =
      payload->tensor_count * sizeof payload->tensors[0] + payload->scalar_count * sizeof(union pto_scalar);
  for (uint32_t i = 0; i < payload->tensor_count; i++) bytes += 2 * sizeof(uint64_t) * payload->tensors[i].ndims;
  return bytes;
}

void pto_observe_around_begin(const struct pto_observation *o, struct pto_observe_around *around) {
  around->float_mode = pto_float_mode();
  around->bytes = descriptor_bytes(o->call.payload);
  memcpy(around->descriptors, o->call.payload->tensors, around->bytes);
}

void pto_observe_around_end(struct pto_observation *o, const struct pto_observe_around *around,
                            struct pto_observe_left_changed *left) {
  struct pto_kernel_tensor *tensors = ((struct pto_payload *)(uintptr_t)o->call.payload)->tensors;
  const uint8_t *now = (const void *)tensors;
  *left = (struct pto_observe_left_changed){.usual_float_mode = around->float_mode, .float_mode = pto_float_mode()};
  pto_float_mode_set(around->float_mode);
  if (memcmp(now, around->descriptors, around->bytes) == 0) return;
  while (now[left->descriptor_byte] == around->descriptors[left->descriptor_byte]) left->descriptor_byte++;
  left->has_descriptor = true;
  memcpy(tensors, around->descriptors, around->bytes);
}
