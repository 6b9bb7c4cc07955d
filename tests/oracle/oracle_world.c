/* SPDX-License-Identifier: MIT */
/*
 * What programs of several ranks call, so that they load: the oracle runs none of them, and refuses each call.  Part of
 * oracle_runtime.h.
 */
#include <pto/collectives.h>
#include <pto/remote.h>
#include <pto/world.h>

uint32_t pto_runtime_rank(const struct pto_runtime *rt) { return 0; }
uint32_t pto_runtime_rank_count(const struct pto_runtime *rt) { return 1; }
int pto_comm_create(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count, uint64_t window_bytes,
                    uint32_t signal_count, struct pto_comm *comm_out) {
  return PTO_ENOTSUP;
}
uint32_t pto_comm_place(const struct pto_runtime *rt, struct pto_comm comm) { return 0; }
uint32_t pto_comm_size(const struct pto_runtime *rt, struct pto_comm comm) { return 0; }
struct pto_tensor pto_comm_window(struct pto_runtime *rt, struct pto_comm comm, uint32_t dtype, uint32_t ndims,
                                  const uint64_t *shape) {
  return (struct pto_tensor){0};
}
struct pto_tensor pto_comm_peer(struct pto_runtime *rt, struct pto_comm comm, uint32_t peer, uint32_t dtype,
                                uint32_t ndims, const uint64_t *shape) {
  return (struct pto_tensor){0};
}
int pto_submit_group(struct pto_runtime *rt, struct pto_comm comm, const struct pto_launch *launch,
                     const struct pto_param *params, uint32_t count, struct pto_task *task_out) {
  return PTO_ENOTSUP;
}
int pto_core_put(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to,
                 const struct pto_kernel_tensor *from) {
  return PTO_ENOTSUP;
}
int pto_core_get(const struct pto_kernel_args *args, const struct pto_kernel_tensor *to,
                 const struct pto_kernel_tensor *from) {
  return PTO_ENOTSUP;
}
int pto_core_window(const struct pto_kernel_args *args, uint64_t comm, uint32_t peer, void **window) {
  return PTO_ENOTSUP;
}
bool pto_core_computes(const struct pto_kernel_args *args) { return false; }
int pto_core_notify(const struct pto_kernel_args *args, uint64_t comm, uint32_t peer, uint32_t signal,
                    enum pto_notify notify, int32_t value) {
  return PTO_ENOTSUP;
}
int pto_core_test_signal(const struct pto_kernel_args *args, uint64_t comm, uint32_t signal, int32_t *value) {
  return PTO_ENOTSUP;
}
int pto_core_wait_signal(const struct pto_kernel_args *args, uint64_t comm, uint32_t signal, enum pto_compare compare,
                         int32_t value) {
  return PTO_ENOTSUP;
}
int pto_comm_create_for_collectives(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count, uint64_t max_bytes,
                                    struct pto_comm *comm_out) {
  return PTO_ENOTSUP;
}
int pto_submit_all_reduce(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out, enum pto_reduction reduction, enum pto_all_reduce algorithm) {
  return PTO_ENOTSUP;
}
int pto_submit_reduce_scatter(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                              const struct pto_tensor *out, enum pto_reduction reduction) {
  return PTO_ENOTSUP;
}
int pto_submit_all_gather(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out) {
  return PTO_ENOTSUP;
}
int pto_submit_broadcast(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                         const struct pto_tensor *out, uint32_t root) {
  return PTO_ENOTSUP;
}
int pto_submit_all_to_all(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out) {
  return PTO_ENOTSUP;
}
int pto_submit_moe_dispatch(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *x,
                            const struct pto_tensor *topk_idx, const struct pto_tensor *recv_x,
                            const struct pto_tensor *recv_count, struct pto_moe_handle *handle) {
  return PTO_ENOTSUP;
}
int pto_submit_moe_combine(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *y,
                           const struct pto_tensor *topk_weights, const struct pto_moe_handle *handle,
                           const struct pto_tensor *out) {
  return PTO_ENOTSUP;
}
int pto_submit_comm_barrier(struct pto_runtime *rt, struct pto_comm comm, struct pto_task *task_out) {
  return PTO_ENOTSUP;
}
