/* SPDX-License-Identifier: MIT */
/*
 * The oracle has no devices: programs that drive contexts load, and are said to be beyond it.  Graphs can be built
 * there, for no context, and not dispatched.
 */
#include <device/device_tensors.h>
#include <pto/graph.h>

int pto_context_create(const struct pto_context_options *options, struct pto_context **context_out, char *sentence,
                       size_t sentence_size) {
  return PTO_ENOTSUP;
}
void pto_context_destroy(struct pto_context *context) {}
struct pto_context_info pto_context_info(struct pto_context *context) {
  return (struct pto_context_info){0};
}
int pto_context_sync(struct pto_context *context) { return PTO_ENOTSUP; }
const char *pto_context_error(struct pto_context *context) { return ""; }
int pto_context_clear_error(struct pto_context *context) { return PTO_ENOTSUP; }
void pto_context_counters(struct pto_context *context, struct pto_context_counters *counters) {}
int pto_device_tensor_create(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                             struct pto_device_tensor *tensor_out) {
  return PTO_ENOTSUP;
}
int pto_device_tensor_create_host(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                                  struct pto_device_tensor *tensor_out) {
  return PTO_ENOTSUP;
}
int pto_device_tensor_create_constant(struct pto_context *context, const struct pto_device_tensor_desc *desc,
                                      const void *data, uint64_t size_bytes, struct pto_device_tensor *tensor_out) {
  return PTO_ENOTSUP;
}
uint64_t pto_device_tensor_size(struct pto_context *context, struct pto_device_tensor tensor) { return 0; }
int pto_device_tensor_write(struct pto_context *context, struct pto_device_tensor tensor, const void *data,
                            uint64_t size_bytes) {
  return PTO_ENOTSUP;
}
int pto_device_tensor_read(struct pto_context *context, struct pto_device_tensor tensor, void *data,
                           uint64_t size_bytes) {
  return PTO_ENOTSUP;
}
int pto_device_tensor_copy(struct pto_context *context, struct pto_device_tensor from, struct pto_device_tensor to) {
  return PTO_ENOTSUP;
}
int pto_device_tensor_destroy(struct pto_context *context, struct pto_device_tensor tensor) { return PTO_ENOTSUP; }
int pto_context_dispatch(struct pto_context *context, const struct pto_device_program *program,
                         const struct pto_dispatch_bindings *bindings) {
  return PTO_ENOTSUP;
}
int pto_context_compute(struct pto_context *context, const struct pto_device_program *program,
                        const struct pto_compute_arrays *arrays) {
  return PTO_ENOTSUP;
}
int pto_context_forget_program(struct pto_context *context, const struct pto_device_program *program) {
  return PTO_ENOTSUP;
}
uint64_t pto_device_program_serial(void) { return 0; }

int pto_device_tensors_lookup(struct pto_device_tensors *tensors, struct pto_device_tensor tensor, const char *what,
                              struct pto_device_record **record_out, struct pto_error *error) {
  return PTO_ENOTSUP;
}
int pto_graph_dispatch(struct pto_graph *graph, struct pto_context *context,
                       const struct pto_dispatch_bindings *bindings) {
  return PTO_ENOTSUP;
}
int pto_graph_compute(struct pto_graph *graph, struct pto_context *context, const struct pto_compute_arrays *arrays) {
  return PTO_ENOTSUP;
}
