/* SPDX-License-Identifier: MIT */
/* Collectives from the orchestration's side: sizes, the next epoch, and a group. */
#include <world/world_state.h>

#include <inttypes.h>

#include <kernels/collective/collective.h>
#include <pto/collectives.h>
#include <runtime/base/dtype.h>
#include <runtime/control/runtime_state.h>

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
  const struct pto_tensor *in, *out; /* NULL: it has no data */
  uint64_t reduction, root;
  const void *call; /* where the program asks for it */
};

static int submit(struct pto_runtime *rt, struct pto_comm comm, const struct request *request,
                  struct pto_task *task_out) {
  struct pto_rank_comm *its = pto_rank_comm_at(rt->config.rank, comm.id);
  if (!its) return PTO_REFUSE(rt, PTO_EINVAL, "there is no comm %" PRIu64, comm.id);
  const uint64_t half = its->window_bytes / 2, epoch = its->collective_count + 1;
  if (its->collective_count >= MOST_EPOCHS)
    return PTO_REFUSE(rt, PTO_ECAPACITY, "comm %" PRIu64 " has done %d collectives, and can do no more", comm.id,
                      MOST_EPOCHS);
  uint64_t bytes = request->in ? bytes_of(request->in) : 0;
  if (request->out) bytes = pto_max_u64(bytes, bytes_of(request->out));
  if (its->signal_count < PTO_COLLECTIVE_SIGNAL_SETS * its->size || pto_collective_half_bytes(bytes, its->size) > half)
    return PTO_REFUSE(rt, PTO_EINVAL,
                      "a collective of %" PRIu64 " bytes on comm %" PRIu64
                      ", which was not made for it (pto_comm_create_for_collectives)",
                      bytes, comm.id);
  if (request->in && pto_dtype_is_four_bit(request->in->dtype) && (numel(request->in) % 2 || numel(request->out) % 2))
    return PTO_REFUSE(rt, PTO_EINVAL, "a collective of an odd number of 4-bit elements, %" PRIu64, numel(request->in));
  const uint64_t shape[] = {its->window_bytes};
  const struct pto_tensor window = pto_comm_window(rt, comm, PTO_UINT8, 1, shape);
  const uint64_t scalars[PTO_COLLECTIVE_SCALARS] = {[PTO_COLLECTIVE_KIND] = request->kind,
                                                    [PTO_COLLECTIVE_COMM] = comm.id,
                                                    [PTO_COLLECTIVE_SIZE] = its->size,
                                                    [PTO_COLLECTIVE_PLACE] = its->place,
                                                    [PTO_COLLECTIVE_EPOCH] = epoch,
                                                    [PTO_COLLECTIVE_HALF] = half,
                                                    [PTO_COLLECTIVE_REDUCTION] = request->reduction,
                                                    [PTO_COLLECTIVE_ROOT] = request->root};
  struct pto_param params[3 + PTO_COLLECTIVE_SCALARS];
  uint32_t count = 0;
  if (request->in) params[count++] = pto_input(request->in);
  if (request->out) params[count++] = pto_output(request->out);
  params[count++] = pto_inout(&window);
  for (uint32_t i = 0; i < PTO_COLLECTIVE_SCALARS; i++) params[count++] = pto_scalar_u64(scalars[i]);
  const struct pto_launch launch = {.size = sizeof launch,
                                    .aiv0 = pto_collective_kernels[request->kind],
                                    .block_count = block_count_of(rt, request->kind, its->size)};
  const void *const place = rt->place;
  rt->place = request->call;
  const int status = pto_submit_group(rt, comm, &launch, params, count, task_out);
  rt->place = place;
  if (status == PTO_OK) its->collective_count++;
  return status;
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
      .in = in,
      .out = out,
      .reduction = reduction,
      .call = PTO_CALLER(rt)};
  return submit(rt, comm, &request, NULL);
}

int pto_submit_reduce_scatter(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                              const struct pto_tensor *out, enum pto_reduction reduction) {
  const uint64_t size = pto_comm_size(rt, comm), place = pto_comm_place(rt, comm);
  const uint64_t count = size ? pto_collective_part(numel(in), in->dtype, place + 1, size) -
                                    pto_collective_part(numel(in), in->dtype, place, size)
                              : 0;
  const int status = check_sizes(rt, "a reduce-scatter", in, count, out);
  if (status) return status;
  return submit(rt, comm, &(struct request){PTO_COLLECTIVE_REDUCE_SCATTER, in, out, reduction, 0, PTO_CALLER(rt)},
                NULL);
}

int pto_submit_all_gather(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out) {
  const int status = check_sizes(rt, "an all-gather", in, numel(in) * pto_comm_size(rt, comm), out);
  if (status) return status;
  return submit(rt, comm, &(struct request){PTO_COLLECTIVE_ALL_GATHER, in, out, 0, 0, PTO_CALLER(rt)}, NULL);
}

int pto_submit_broadcast(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                         const struct pto_tensor *out, uint32_t root) {
  const int status = check_sizes(rt, "a broadcast", in, numel(in), out);
  if (status) return status;
  if (root >= pto_comm_size(rt, comm))
    return PTO_REFUSE(rt, PTO_EINVAL, "a broadcast from place %" PRIu32 " of %" PRIu32, root, pto_comm_size(rt, comm));
  return submit(rt, comm, &(struct request){PTO_COLLECTIVE_BROADCAST, in, out, 0, root, PTO_CALLER(rt)}, NULL);
}

int pto_submit_all_to_all(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out) {
  const uint64_t size = pto_comm_size(rt, comm);
  const int status = check_sizes(rt, "an all-to-all", in, numel(in), out);
  if (status) return status;
  if (size && (numel(in) % size || (pto_dtype_is_four_bit(in->dtype) && numel(in) % (2 * size))))
    return PTO_REFUSE(rt, PTO_EINVAL, "an all-to-all of %" PRIu64 " elements on %" PRIu64 " ranks: parts are equal",
                      numel(in), size);
  return submit(rt, comm, &(struct request){PTO_COLLECTIVE_ALL_TO_ALL, in, out, 0, 0, PTO_CALLER(rt)}, NULL);
}

int pto_submit_comm_barrier(struct pto_runtime *rt, struct pto_comm comm, struct pto_task *task_out) {
  return submit(rt, comm, &(struct request){.kind = PTO_COLLECTIVE_BARRIER, .call = PTO_CALLER(rt)}, task_out);
}
