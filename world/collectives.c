/* SPDX-License-Identifier: MIT */
/* Collectives from the orchestration's side: sizes, the next epoch, and a group. */
#include <world/world_state.h>

#include <inttypes.h>

#include <kernels/collective/collective.h>
#include <pto/collectives.h>
#include <runtime/base/dtype.h>
#include <runtime/control/runtime_state.h>

/* Of a collective: those of a combine, and the window. */
#define MOST_TENSORS 6u
/* As many as its signals can count. */
#define MOST_EPOCHS (INT32_MAX / (int32_t)PTO_COLLECTIVE_STEPS - 1)

int pto_comm_create_for_collectives(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count, uint64_t max_bytes,
                                    struct pto_comm *comm_out) {
  const uint32_t size = ranks ? count : pto_runtime_rank_count(rt);
  if (max_bytes > PTO_FABRIC_MAX_BYTES / PTO_MAX_RANKS / PTO_MAX_RANKS / 4)
    return PTO_REFUSE(rt, PTO_EINVAL, "collectives of %" PRIu64 " bytes are too large", max_bytes);
  return pto_comm_create(rt, ranks, count, 2 * pto_collective_half_bytes(max_bytes, size),
                         PTO_COLLECTIVE_SIGNAL_SETS * size, comm_out);
}

static uint64_t numel(const struct pto_tensor *tensor) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < tensor->ndims; i++) count *= tensor->shape[i];
  return count;
}

static uint64_t bytes_of(const struct pto_tensor *tensor) {
  const uint64_t count = numel(tensor);
  return pto_dtype_is_four_bit(tensor->dtype) ? (count + 1) / 2 : count * pto_dtype_size(tensor->dtype);
}

/* Blocks that share the peers: a core each, as far as there are cores. */
static uint32_t block_count_of(struct pto_runtime *rt, enum pto_collective kind, uint32_t size) {
  const uint32_t cores = pto_core_count(rt, PTO_AIV), peers = size > 1 ? size - 1 : 1;
  if (kind == PTO_COLLECTIVE_ALL_REDUCE_RING || kind == PTO_COLLECTIVE_BARRIER) return 1;
  const uint32_t wanted = kind == PTO_COLLECTIVE_ALL_REDUCE_BIDIRECTIONAL_RING ? 2 : peers;
  return (uint32_t)pto_min_u64(wanted, cores);
}

struct request {
  enum pto_collective kind;
  const struct pto_kernel *moe;                            /* NULL: that of `kind` */
  uint64_t bytes;                                          /* of the largest tensor */
  struct pto_param params[MOST_TENSORS + PTO_MOE_SCALARS]; /* the tensors; `submit` adds the window and scalars */
  uint32_t tensor_count, scalar_count;
  uint64_t scalars[PTO_MOE_SCALARS - PTO_COLLECTIVE_SCALARS]; /* behind those that all have */
  struct pto_comm_request asked;
};

static int submit(struct pto_runtime *rt, struct pto_comm comm, struct request *request, struct pto_task *task_out) {
  struct pto_rank_comm *its = pto_rank_comm_at(rt->config.rank, comm.id);
  if (!its) return PTO_REFUSE(rt, PTO_EINVAL, "there is no comm %" PRIu64, comm.id);
  const uint64_t half = its->window_bytes / 2, epoch = its->collective_count + 1;
  if (its->collective_count >= MOST_EPOCHS)
    return PTO_REFUSE(rt, PTO_ECAPACITY, "comm %" PRIu64 " has done %d collectives, and can do no more", comm.id,
                      MOST_EPOCHS);
  if (its->signal_count < PTO_COLLECTIVE_SIGNAL_SETS * its->size ||
      pto_collective_half_bytes(request->bytes, its->size) > half)
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "a collective of %" PRIu64 " bytes on comm %" PRIu64 ", whose window of %" PRIu64
                      " bytes and %" PRIu32 " signals was not made for it (pto_comm_create_for_collectives)",
                      request->bytes, comm.id, its->window_bytes, its->signal_count);
  const uint64_t shape[] = {its->window_bytes};
  const struct pto_tensor window = pto_comm_window(rt, comm, PTO_UINT8, 1, shape);
  const uint64_t scalars[PTO_COLLECTIVE_SCALARS] = {[PTO_COLLECTIVE_KIND] = request->kind,
                                                    [PTO_COLLECTIVE_COMM] = comm.id,
                                                    [PTO_COLLECTIVE_SIZE] = its->size,
                                                    [PTO_COLLECTIVE_PLACE] = its->place,
                                                    [PTO_COLLECTIVE_EPOCH] = epoch,
                                                    [PTO_COLLECTIVE_HALF] = half,
                                                    [PTO_COLLECTIVE_REDUCTION] = request->asked.reduction,
                                                    [PTO_COLLECTIVE_ROOT] = request->asked.root};
  struct pto_param *params = request->params;
  uint32_t count = request->tensor_count;
  params[count++] = pto_inout(&window);
  for (uint32_t i = 0; i < PTO_COLLECTIVE_SCALARS; i++) params[count++] = pto_scalar_u64(scalars[i]);
  for (uint32_t i = 0; i < request->scalar_count; i++) params[count++] = pto_scalar_u64(request->scalars[i]);
  const struct pto_launch launch = {.size = sizeof launch,
                                    .aiv0 = request->moe ? request->moe : pto_collective_kernels[request->kind],
                                    .block_count = block_count_of(rt, request->kind, its->size)};
  const int status = pto_comm_submit(rt, comm, &launch, params, count, &request->asked, task_out);
  if (status == PTO_OK) its->collective_count++;
  return status;
}

/* A collective of two tensors. */
static int submit_pair(struct pto_runtime *rt, struct pto_comm comm, struct request request,
                       const struct pto_tensor *in, const struct pto_tensor *out) {
  if (pto_dtype_is_four_bit(in->dtype) && (numel(in) % 2 || numel(out) % 2))
    return PTO_REFUSE(rt, PTO_EINVAL, "a collective of an odd number of 4-bit elements, %" PRIu64, numel(in));
  request.bytes = pto_max_u64(bytes_of(in), bytes_of(out));
  request.params[0] = pto_input(in);
  request.params[1] = pto_output(out);
  request.tensor_count = 2;
  return submit(rt, comm, &request, NULL);
}

static int check_sizes(struct pto_runtime *rt, const char *what, const struct pto_tensor *in, uint64_t expected,
                       const struct pto_tensor *out) {
  if (expected == numel(out)) return PTO_OK;
  return PTO_REFUSE(rt, PTO_EINVAL, "%s of %" PRIu64 " elements gives %" PRIu64 ", out has %" PRIu64, what, numel(in),
                    expected, numel(out));
}

int pto_submit_all_reduce(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out, enum pto_reduction reduction, enum pto_all_reduce algorithm) {
  if ((uint32_t)algorithm > PTO_ALL_REDUCE_BIDIRECTIONAL_RING)
    return PTO_REFUSE(rt, PTO_EINVAL, "all-reduce algorithm %u is none", (unsigned)algorithm);
  const int status = check_sizes(rt, "an all-reduce", in, numel(in), out);
  if (status) return status;
  const struct request request = {
      .kind = (enum pto_collective)((uint32_t)PTO_COLLECTIVE_ALL_REDUCE_ONE_PHASE + (uint32_t)algorithm),
      .asked = {.call = PTO_CALLER(rt), .reduction = reduction}};
  return submit_pair(rt, comm, request, in, out);
}

int pto_submit_reduce_scatter(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                              const struct pto_tensor *out, enum pto_reduction reduction) {
  const uint64_t size = pto_comm_size(rt, comm), place = pto_comm_place(rt, comm);
  const uint64_t count = size ? pto_collective_part(numel(in), in->dtype, place + 1, size) -
                                    pto_collective_part(numel(in), in->dtype, place, size)
                              : 0;
  const int status = check_sizes(rt, "a reduce-scatter", in, count, out);
  if (status) return status;
  const struct request request = {.kind = PTO_COLLECTIVE_REDUCE_SCATTER,
                                  .asked = {.call = PTO_CALLER(rt), .reduction = reduction}};
  return submit_pair(rt, comm, request, in, out);
}

int pto_submit_all_gather(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out) {
  const int status = check_sizes(rt, "an all-gather", in, numel(in) * pto_comm_size(rt, comm), out);
  if (status) return status;
  return submit_pair(rt, comm, (struct request){.kind = PTO_COLLECTIVE_ALL_GATHER, .asked.call = PTO_CALLER(rt)}, in,
                     out);
}

int pto_submit_broadcast(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                         const struct pto_tensor *out, uint32_t root) {
  const int status = check_sizes(rt, "a broadcast", in, numel(in), out);
  if (status) return status;
  if (root >= pto_comm_size(rt, comm))
    return PTO_REFUSE(rt, PTO_EINVAL, "a broadcast from place %" PRIu32 " of %" PRIu32, root, pto_comm_size(rt, comm));
  return submit_pair(
      rt, comm, (struct request){.kind = PTO_COLLECTIVE_BROADCAST, .asked = {.call = PTO_CALLER(rt), .root = root}}, in,
      out);
}

int pto_submit_all_to_all(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out) {
  const uint64_t size = pto_comm_size(rt, comm);
  const int status = check_sizes(rt, "an all-to-all", in, numel(in), out);
  if (status) return status;
  if (size && (numel(in) % size || (pto_dtype_is_four_bit(in->dtype) && numel(in) % (2 * size))))
    return PTO_REFUSE(rt, PTO_EINVAL, "an all-to-all of %" PRIu64 " elements on %" PRIu64 " ranks: parts are equal",
                      numel(in), size);
  return submit_pair(rt, comm, (struct request){.kind = PTO_COLLECTIVE_ALL_TO_ALL, .asked.call = PTO_CALLER(rt)}, in,
                     out);
}

int pto_submit_comm_barrier(struct pto_runtime *rt, struct pto_comm comm, struct pto_task *task_out) {
  return submit(rt, comm, &(struct request){.kind = PTO_COLLECTIVE_BARRIER, .asked.call = PTO_CALLER(rt)}, task_out);
}

/* ---- mixture of experts ---- */

static uint64_t elems_of(const struct pto_tensor *tensor, uint32_t dim) {
  return dim < tensor->ndims ? tensor->shape[dim] : 1;
}

static bool has_shape(const struct pto_tensor *tensor, uint32_t ndims, const uint64_t *shape) {
  bool is_it = tensor->ndims == ndims;
  for (uint32_t i = 0; i < ndims && is_it; i++) is_it = tensor->shape[i] == shape[i];
  return is_it;
}

static struct pto_tensor make_i32(struct pto_runtime *rt, uint64_t rows, uint64_t columns) {
  const uint64_t shape[] = {rows, columns};
  return pto_managed_tensor(rt, pto_create_buffer(rt, rows * columns * sizeof(int32_t)), PTO_INT32, 2, shape);
}

/* Bytes of all rows that a rank sends, of all that an expert's rank takes, and of a rank's counts. */
static uint64_t moe_bytes(const struct pto_tensor *experts_rows, uint64_t sent, uint64_t experts) {
  const uint64_t row_elems = elems_of(experts_rows, 2);
  const uint64_t rows = pto_max_u64(sent, experts_rows->shape[0] * experts_rows->shape[1]);
  const uint64_t bytes = rows * row_elems * pto_dtype_bits(experts_rows->dtype) / 8;
  return pto_max_u64(bytes, pto_collective_moe_meta_bytes(experts));
}

static int check_dispatch(struct pto_runtime *rt, uint32_t size, const struct pto_tensor *x,
                          const struct pto_tensor *topk_idx, const struct pto_tensor *recv_x,
                          const struct pto_tensor *recv_count) {
  const uint64_t tokens = elems_of(x, 0), row_elems = elems_of(x, 1);
  const uint64_t shape[] = {elems_of(recv_x, 0), elems_of(recv_x, 1), row_elems};
  if (x->ndims != 2 || topk_idx->ndims != 2 || topk_idx->shape[0] != tokens)
    return PTO_REFUSE(rt, PTO_EINVAL, "an MoE dispatch of %" PRIu64 " tokens, topk_idx has %" PRIu64 ": [T, H], [T, K]",
                      tokens, elems_of(topk_idx, 0));
  if (!has_shape(recv_x, 3, shape) || recv_x->dtype != x->dtype)
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "an MoE dispatch of rows of %" PRIu64 " %s, recv_x has such of %" PRIu64 " %s: [experts of a "
                      "rank, capacity, H]",
                      row_elems, pto_dtype_name(x->dtype), elems_of(recv_x, 2), pto_dtype_name(recv_x->dtype));
  if (!has_shape(recv_count, 1, shape))
    return PTO_REFUSE(rt, PTO_EINVAL, "an MoE dispatch to %" PRIu64 " experts of this rank, recv_count has %" PRIu64,
                      shape[0], elems_of(recv_count, 0));
  if (pto_dtype_is_four_bit(x->dtype) && row_elems % 2)
    return PTO_REFUSE(rt, PTO_EINVAL, "an MoE dispatch of rows of %" PRIu64 " 4-bit elements, an odd number",
                      row_elems);
  if (numel(topk_idx) > INT32_MAX / PTO_MAX_RANKS || shape[0] * size > INT32_MAX || shape[1] > INT32_MAX ||
      row_elems > INT32_MAX)
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "an MoE dispatch of %" PRIu64 " rows of %" PRIu64 " elements, %" PRIu64
                      " experts a rank of %" PRIu64 " rows: too many",
                      numel(topk_idx), row_elems, shape[0], shape[1]);
  return PTO_OK;
}

int pto_submit_moe_dispatch(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *x,
                            const struct pto_tensor *topk_idx, const struct pto_tensor *recv_x,
                            const struct pto_tensor *recv_count, struct pto_moe_handle *handle) {
  const uint32_t size = pto_comm_size(rt, comm);
  int status = check_dispatch(rt, size, x, topk_idx, recv_x, recv_count);
  if (status) return status;
  const uint64_t experts = recv_x->shape[0] * size, bytes = moe_bytes(recv_x, numel(topk_idx), experts);
  handle->counts = make_i32(rt, size, experts);
  handle->order = make_i32(rt, topk_idx->shape[0], topk_idx->shape[1]);
  handle->capacity = recv_x->shape[1];
  struct request meta = {
      .kind = PTO_COLLECTIVE_COUNT,
      .moe = &pto_moe_dispatch_meta_kernel,
      .bytes = bytes,
      .params = {pto_input(topk_idx), pto_output(&handle->counts), pto_output(&handle->order), pto_output(recv_count)},
      .tensor_count = 4,
      .scalar_count = PTO_MOE_SCALARS - PTO_COLLECTIVE_SCALARS,
      .scalars = {recv_x->shape[1], x->shape[1], x->dtype},
      .asked.call = PTO_CALLER(rt)};
  status = submit(rt, comm, &meta, NULL);
  if (status) return status;
  struct request data = {
      .kind = PTO_COLLECTIVE_COUNT,
      .moe = &pto_moe_dispatch_data_kernel,
      .bytes = bytes,
      .params = {pto_input(x), pto_inout(recv_x), pto_input(&handle->counts), pto_input(&handle->order)},
      .tensor_count = 4,
      .asked.call = PTO_CALLER(rt)};
  return submit(rt, comm, &data, &handle->dispatch);
}

int pto_submit_moe_combine(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *y,
                           const struct pto_tensor *topk_weights, const struct pto_moe_handle *handle,
                           const struct pto_tensor *out) {
  const uint64_t size = pto_comm_size(rt, comm), row_elems = elems_of(y, 2);
  const uint64_t tokens = elems_of(&handle->order, 0), experts = elems_of(&handle->counts, 1);
  const uint64_t y_shape[] = {size ? experts / size : 0, handle->capacity, row_elems},
                 out_shape[] = {tokens, row_elems};
  if (elems_of(&handle->counts, 0) != size || !has_shape(y, 3, y_shape))
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "an MoE combine of rows of %" PRIu64 " experts a rank, %" PRIu64 " each, y has %" PRIu64
                      " and %" PRIu64,
                      y_shape[0], y_shape[1], elems_of(y, 0), elems_of(y, 1));
  if (!has_shape(topk_weights, 2, handle->order.shape) || !has_shape(out, 2, out_shape))
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "an MoE combine of %" PRIu64 " tokens, of rows of %" PRIu64 ": topk_weights has %" PRIu64
                      " tokens, out %" PRIu64 ", of rows of %" PRIu64,
                      tokens, row_elems, elems_of(topk_weights, 0), elems_of(out, 0), elems_of(out, 1));
  if (out->dtype != PTO_FLOAT32 && out->dtype != y->dtype)
    return PTO_REFUSE(rt, PTO_EINVAL, "an MoE combine of %s into %s: f32, or the same", pto_dtype_name(y->dtype),
                      pto_dtype_name(out->dtype));
  struct request request = {.kind = PTO_COLLECTIVE_COUNT,
                            .moe = &pto_moe_combine_kernel,
                            .bytes = moe_bytes(y, numel(&handle->order), experts),
                            .params = {pto_input(y), pto_output(out), pto_input(topk_weights),
                                       pto_input(&handle->counts), pto_input(&handle->order)},
                            .tensor_count = 5,
                            .asked.call = PTO_CALLER(rt)};
  return submit(rt, comm, &request, NULL);
}
