/* SPDX-License-Identifier: MIT */
/*
 * Collectives of the oracle, as pto/collectives.h says: loops over the memory of all ranks.  Those that no program with
 * the project asks for are refused.  Part of oracle_world.h.
 */
#include <tests/oracle/oracle_world.h>

#include <stdlib.h>
#include <string.h>

#include <pto/collectives.h>
#include <runtime/base/dtype.h>

int pto_comm_create_for_collectives(struct pto_runtime *rt, const uint32_t *ranks, uint32_t count, uint64_t max_bytes,
                                    struct pto_comm *comm_out) {
  return pto_comm_create(rt, ranks, count, 0, 0, comm_out);
}

static uint64_t numel(const struct pto_kernel_tensor *t) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < t->ndims; d++) count *= t->shape[d];
  return count;
}

#define COMM(args) oracle_comm_at((args)->scalars[0].u64)

/* ---- all-reduce ---- */

enum { IN, OUT };

/* Elements from `begin` up to `end` of all ranks, from place `first` on and on by `step`, into out of all. */
static int reduce(struct oracle_comm *comm, const struct pto_kernel_args *const *args, uint64_t begin, uint64_t end,
                  uint32_t first, uint32_t step) {
  static const char *const names[] = {"add", "mul", "maximum", "minimum"};
  const struct pto_kernel *operation = pto_kernel_find(names[args[0]->scalars[1].u64]);
  const uint32_t dtype = args[0]->tensors[IN].dtype;
  const uint64_t count = end - begin, stride = 1, bytes = pto_dtype_size(dtype);
  struct pto_core core = *args[0]->core;
  core.block_index = 0;
  core.block_count = 1;
  if (count == 0) return 0;
  char *sum = malloc(count * bytes);
  if (!sum) return pto_kernel_error(args[0], "no memory");
  int status = 0;
  for (uint32_t i = 0, at = first; i < comm->size && status == 0; i++, at = (at + step) % comm->size) {
    char *next = (char *)args[at]->tensors[IN].addr + begin * bytes;
    const struct pto_kernel_tensor tensors[] = {
        {sum, &count, &stride, 1, dtype}, {next, &count, &stride, 1, dtype}, {sum, &count, &stride, 1, dtype}};
    const struct pto_kernel_args its = {.tensors = tensors, .core = &core, .tensor_count = 3};
    if (i == 0)
      memcpy(sum, next, count * bytes);
    else
      status = operation->run(&its);
  }
  for (uint32_t i = 0; i < comm->size && status == 0; i++)
    memcpy((char *)args[i]->tensors[OUT].addr + begin * bytes, sum, count * bytes);
  free(sum);
  return status;
}

/* Part i from rank i + step on; in may be out, but no part is another's. */
static int reduce_ring(struct oracle_comm *comm, const struct pto_kernel_args *const *args, uint64_t begin,
                       uint64_t end, uint32_t step) {
  const uint64_t count = end - begin, size = comm->size;
  int status = 0;
  for (uint32_t i = 0; i < size && status == 0; i++)
    status = reduce(comm, args, begin + count * i / size, begin + count * (i + 1) / size, (uint32_t)((i + step) % size),
                    step);
  return status;
}

static int all_reduce(struct oracle_comm *comm, const struct pto_kernel_args *const *args) {
  const uint64_t count = numel(&args[0]->tensors[IN]), half = count / 2;
  const uint64_t algorithm = args[0]->scalars[2].u64;
  if (algorithm < PTO_ALL_REDUCE_RING || comm->size == 1) return reduce(comm, args, 0, count, 0, 1);
  if (algorithm == PTO_ALL_REDUCE_RING || comm->size == 2) return reduce_ring(comm, args, 0, count, 1);
  const int status = reduce_ring(comm, args, 0, half, 1);
  return status ? status : reduce_ring(comm, args, half, count, comm->size - 1);
}

/* ---- mixture of experts ---- */

enum { X, IDX, RECV, COUNT, EXPERT, ROW };
enum { Y, WEIGHTS, OF_EXPERT, OF_ROW, SUM };

static int dispatch(struct oracle_comm *comm, const struct pto_kernel_args *const *args) {
  const uint64_t local = args[0]->tensors[RECV].shape[0], capacity = args[0]->tensors[RECV].shape[1];
  const uint64_t row_bytes = args[0]->tensors[X].shape[1] * pto_dtype_bits(args[0]->tensors[X].dtype) / 8;
  for (uint32_t p = 0; p < comm->size; p++) memset(args[p]->tensors[COUNT].addr, 0, local * sizeof(int32_t));
  for (uint32_t p = 0; p < comm->size; p++) {
    const struct pto_kernel_tensor *t = args[p]->tensors;
    for (uint64_t i = 0; i < numel(&t[IDX]); i++) {
      const uint64_t expert = (uint64_t)((const int32_t *)t[IDX].addr)[i];
      if (expert >= local * comm->size) return pto_kernel_error(args[p], "there is no expert");
      const struct pto_kernel_tensor *its = args[expert / local]->tensors;
      const int32_t row = ((int32_t *)its[COUNT].addr)[expert % local]++;
      if ((uint64_t)row == capacity) return pto_kernel_error(args[p], "an expert gets more than its capacity");
      ((int32_t *)t[EXPERT].addr)[i] = (int32_t)expert;
      ((int32_t *)t[ROW].addr)[i] = row;
      memcpy((char *)its[RECV].addr + (expert % local * capacity + (uint64_t)row) * row_bytes,
             (const char *)t[X].addr + i / t[IDX].shape[1] * row_bytes, row_bytes);
    }
  }
  return 0;
}

static float get(const struct pto_kernel_tensor *t, uint64_t i) {
  if (t->dtype == PTO_FLOAT32) return ((const float *)t->addr)[i];
  const uint16_t bits = ((const uint16_t *)t->addr)[i];
  return t->dtype == PTO_FLOAT16 ? pto_fp16_to_f32(bits) : pto_bf16_to_f32(bits);
}
static void set(const struct pto_kernel_tensor *t, uint64_t i, float value) {
  if (t->dtype == PTO_FLOAT32)
    ((float *)t->addr)[i] = value;
  else
    ((uint16_t *)t->addr)[i] = t->dtype == PTO_FLOAT16 ? pto_fp16_from_f32(value) : pto_bf16_from_f32(value);
}

static int combine(struct oracle_comm *comm, const struct pto_kernel_args *const *args) {
  const uint64_t local = args[0]->tensors[Y].shape[0], capacity = args[0]->tensors[Y].shape[1];
  const uint64_t row_elems = args[0]->tensors[Y].shape[2];
  for (uint32_t p = 0; p < comm->size; p++) {
    const struct pto_kernel_tensor *t = args[p]->tensors;
    const uint64_t topk = t[WEIGHTS].shape[1];
    for (uint64_t i = 0; i < numel(&t[SUM]); i++) {
      float sum = 0;
      for (uint64_t k = 0; k < topk; k++) {
        const uint64_t at = i / row_elems * topk + k, expert = (uint64_t)((const int32_t *)t[OF_EXPERT].addr)[at];
        const uint64_t row = expert % local * capacity + (uint64_t)((const int32_t *)t[OF_ROW].addr)[at];
        const float term = ((const float *)t[WEIGHTS].addr)[at] *
                           get(&args[expert / local]->tensors[Y], row * row_elems + i % row_elems);
        sum = k ? sum + term : term;
      }
      set(&t[SUM], i, sum);
    }
  }
  return 0;
}

/* ---- tasks ---- */

static int run_all_reduce(const struct pto_kernel_args *args) { return oracle_comm_meet(COMM(args), args, all_reduce); }
static int run_dispatch(const struct pto_kernel_args *args) { return oracle_comm_meet(COMM(args), args, dispatch); }
static int run_combine(const struct pto_kernel_args *args) { return oracle_comm_meet(COMM(args), args, combine); }

#define TENSOR(name_, mode_)                                                                                           \
  { .name = name_, .mode = mode_ }
#define U64(name_)                                                                                                     \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
#define KERNEL(name_, params_, run_)                                                                                   \
  {                                                                                                                    \
    .name = name_, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE, .params = params_,                                  \
    .param_count = sizeof(params_) / sizeof *(params_), .run = run_                                                    \
  }
static const struct pto_kernel_param reduce_params[] = {TENSOR("in", PTO_INPUT), TENSOR("out", PTO_OUTPUT), U64("comm"),
                                                        U64("reduction"), U64("algorithm")};
static const struct pto_kernel_param dispatch_params[] = {TENSOR("x", PTO_INPUT),
                                                          TENSOR("topk_idx", PTO_INPUT),
                                                          TENSOR("recv_x", PTO_INOUT),
                                                          TENSOR("recv_count", PTO_OUTPUT),
                                                          TENSOR("expert", PTO_OUTPUT),
                                                          TENSOR("row", PTO_OUTPUT),
                                                          U64("comm")};
static const struct pto_kernel_param combine_params[] = {TENSOR("y", PTO_INPUT),      TENSOR("topk_weights", PTO_INPUT),
                                                         TENSOR("expert", PTO_INPUT), TENSOR("row", PTO_INPUT),
                                                         TENSOR("out", PTO_OUTPUT),   U64("comm")};
static const struct pto_kernel reduce_kernel = KERNEL("all_reduce", reduce_params, run_all_reduce);
static const struct pto_kernel dispatch_kernel = KERNEL("moe_dispatch", dispatch_params, run_dispatch);
static const struct pto_kernel combine_kernel = KERNEL("moe_combine", combine_params, run_combine);

int pto_submit_all_reduce(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *in,
                          const struct pto_tensor *out, enum pto_reduction reduction, enum pto_all_reduce algorithm) {
  const struct pto_param params[] = {pto_input(in), pto_output(out), pto_scalar_u64(comm.id), pto_scalar_u64(reduction),
                                     pto_scalar_u64(algorithm)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &reduce_kernel};
  return pto_submit_group(rt, comm, &launch, params, 5, NULL);
}

static struct pto_tensor make_i32(struct pto_runtime *rt, const struct pto_tensor *like) {
  return pto_managed_tensor(rt, pto_create_buffer(rt, pto_tensor_numel(like) * sizeof(int32_t)), PTO_INT32, like->ndims,
                            like->shape);
}

/* Of a handle, `counts` is the expert of each row here, and `order` where it stands among that one's. */
int pto_submit_moe_dispatch(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *x,
                            const struct pto_tensor *topk_idx, const struct pto_tensor *recv_x,
                            const struct pto_tensor *recv_count, struct pto_moe_handle *handle) {
  handle->counts = make_i32(rt, topk_idx);
  handle->order = make_i32(rt, topk_idx);
  const struct pto_param params[] = {pto_input(x),           pto_input(topk_idx),         pto_inout(recv_x),
                                     pto_output(recv_count), pto_output(&handle->counts), pto_output(&handle->order),
                                     pto_scalar_u64(comm.id)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &dispatch_kernel};
  return pto_submit_group(rt, comm, &launch, params, 7, &handle->dispatch);
}

int pto_submit_moe_combine(struct pto_runtime *rt, struct pto_comm comm, const struct pto_tensor *y,
                           const struct pto_tensor *topk_weights, const struct pto_moe_handle *handle,
                           const struct pto_tensor *out) {
  const struct pto_param params[] = {
      pto_input(y),    pto_input(topk_weights), pto_input(&handle->counts), pto_input(&handle->order),
      pto_output(out), pto_scalar_u64(comm.id)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &combine_kernel};
  return pto_submit_group(rt, comm, &launch, params, 6, NULL);
}

/* ---- what no program with the project asks for ---- */

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
int pto_submit_comm_barrier(struct pto_runtime *rt, struct pto_comm comm, struct pto_task *task_out) {
  return PTO_ENOTSUP;
}
