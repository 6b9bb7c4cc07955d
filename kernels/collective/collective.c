/* SPDX-License-Identifier: MIT */
#include <kernels/collective/collective.h>

#include <inttypes.h>

#include <kernels/collective/work.h>
#include <pto/collectives.h>

/* A ring has 4 slots a rank, each of 2 elements more than its part and filled up to PTO_SLOT_ALIGN. */
#define MOST_SLOT_WASTE (4u * (PTO_SLOT_ALIGN + 64u))

/* ---- parts ---- */

uint64_t pto_collective_part(uint64_t elements, uint32_t dtype, uint64_t index, uint64_t count) {
  const uint64_t unit = pto_dtype_is_four_bit(dtype) ? 2 : 1;
  if (index == count) return elements;
  return (uint64_t)((unsigned __int128)(elements / unit) * index / count) * unit;
}

uint64_t pto_collective_half_bytes(uint64_t max_bytes, uint32_t size) {
  return pto_align_up((max_bytes + MOST_SLOT_WASTE) * size, PTO_SLOT_ALIGN);
}

/* ---- reducing ---- */

static const struct pto_kernel *operation_of(const struct pto_kernel_args *args) {
  static const char *const names[] = {[PTO_REDUCE_SUM] = "add",
                                      [PTO_REDUCE_PRODUCT] = "mul",
                                      [PTO_REDUCE_MAXIMUM] = "maximum",
                                      [PTO_REDUCE_MINIMUM] = "minimum"};
  const uint64_t reduction = scalar(args, PTO_COLLECTIVE_REDUCTION);
  return pto_kernel_find(reduction < PTO_ARRAY_LENGTH(names) ? names[reduction] : NULL);
}

/* to = a (reduction) b, as the general kernel does. */
static int combine(const struct work *work, struct piece to, struct piece a, struct piece b) {
  const uint64_t bytes = bytes_of(work, to.count);
  uint64_t shapes[3];
  const struct pto_kernel_tensor tensors[] = {tensor_of(work, a, &shapes[0]), tensor_of(work, b, &shapes[1]),
                                              tensor_of(work, to, &shapes[2])};
  struct pto_core core = *work->args->core;
  core.block_index = 0;
  core.block_count = 1;
  const struct pto_kernel_args args = {.tensors = tensors, .core = &core, .tensor_count = 3};
  if (to.count == 0) return 0;
  const int status = pto_core_computes(work->args) ? operation_of(work->args)->run(&args) : 0;
  if (status != 0) return status;
  return pto_core_work(work->args,
                       &(struct pto_cost){.bytes_in = 2 * bytes, .bytes_out = bytes, .vector_elems = to.count});
}

/* The block's elements of `to` = those of `own` and of the slots, which hold as many, in order of ranks.  What comes
 * before the own ones is added up in slot 0, as `own` may be `to`. */
static int reduce_slots(const struct work *work, struct piece to, struct piece own) {
  const uint64_t begin = pto_collective_part(to.count, work->dtype, work->block, work->blocks);
  const uint64_t end = pto_collective_part(to.count, work->dtype, work->block + 1, work->blocks);
  struct piece sum = {0};
  int status = 0;
  for (uint64_t peer = 0; peer < work->size && status == 0; peer++) {
    struct piece next = own;
    if (peer != work->place) status = slot_of(work, work->place, peer, to.count, &next);
    next = sub_piece(work, next, begin, end);
    const struct piece target = peer < work->place ? sum : sub_piece(work, to, begin, end);
    if (status == 0 && peer > 0) status = combine(work, target, sum, next);
    sum = peer > 0 ? target : next;
  }
  return status == 0 && work->size == 1 ? copy(work, to, own) : status;
}

/* ---- the collectives: each block's share ---- */

static int one_phase(const struct work *work) {
  int status = 0;
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = put_to_peer(work, peer, work->place, work->in, 1);
  }
  if (status == 0) status = barrier_of_blocks(work); /* in may be out */
  if (status == 0) status = wait_data_of_all(work, 1);
  return status == 0 ? reduce_slots(work, work->out, work->in) : status;
}

/* Each part goes to its rank, which reduces it into `to`. */
static int scatter_and_reduce(const struct work *work, struct piece to) {
  int status = 0;
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = put_to_peer(work, peer, work->place, part_of(work, work->in, peer, work->size), 1);
  }
  if (status == 0) status = barrier_of_blocks(work);
  if (status == 0) status = wait_data_of_all(work, 1);
  return status == 0 ? reduce_slots(work, to, part_of(work, work->in, work->place, work->size)) : status;
}

/* The offset of what comes back in the second phase, behind the slots of the first, in elements of `all`. */
static int gathered_at(const struct work *work, uint64_t peer, struct piece *all) {
  const uint64_t largest = work->out.count / work->size + 2;
  struct piece slot;
  const int status = slot_of(work, peer, work->size, largest, &slot);
  *all = (struct piece){slot.addr, work->out.count};
  return status;
}

static int two_phase(const struct work *work) {
  const struct piece own = part_of(work, work->out, work->place, work->size);
  struct piece to, from;
  int status = scatter_and_reduce(work, own);
  if (status == 0) status = barrier_of_blocks(work);
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = gathered_at(work, peer, &to);
    if (status == 0) status = put(work, part_of(work, to, work->place, work->size), own);
    if (status == 0) status = notify_data(work, peer, 2);
  }
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_data(work, peer, 2);
    if (status == 0) status = gathered_at(work, work->place, &from);
    if (status == 0)
      status = copy(work, part_of(work, work->out, peer, work->size), part_of(work, from, peer, work->size));
  }
  return status;
}

/* Part i is added from rank i + 1 on and complete on rank i; then it goes on from there.  Back: from rank i - 1 on.
 * Slots: two a step, the first for forward. */
static int go_round(const struct work *work, struct piece in, struct piece out, bool is_back) {
  const uint64_t n = work->size, step_back = n - 1;
  const uint64_t right = (work->place + (is_back ? step_back : 1)) % n,
                 left = (work->place + (is_back ? 1 : step_back)) % n;
  const uint64_t largest = out.count / n + 2;
  int status = copy(work, out, in);
  if (n == 1) return status; /* there is no peer to wait for */
  if (status == 0) status = wait_free(work, right);
  for (uint64_t step = 0; step < 2 * (n - 1) && status == 0; step++) {
    const bool is_reducing = step < n - 1;
    const uint64_t sent_back = is_reducing ? step + 1 : step - (n - 1);
    const uint64_t sent = is_back ? (work->place + sent_back) % n : (work->place + n - sent_back % n) % n;
    const uint64_t came = is_back ? (work->place + sent_back + 1) % n : (work->place + 2 * n - sent_back % n - 1) % n;
    const struct piece mine = part_of(work, out, sent, n), target = part_of(work, out, came, n);
    struct piece to, slot;
    status = slot_of(work, right, 2 * step + is_back, largest, &to);
    if (status == 0) status = put(work, (struct piece){to.addr, mine.count}, mine);
    if (status == 0) status = notify_data(work, right, (uint32_t)step + 1);
    if (status == 0) status = wait_data(work, left, (uint32_t)step + 1);
    if (status == 0) status = slot_of(work, work->place, 2 * step + is_back, largest, &slot);
    slot.count = target.count;
    if (status == 0) status = is_reducing ? combine(work, target, slot, target) : copy(work, target, slot);
  }
  return status;
}

static int ring(const struct work *work) { return work->block ? 0 : go_round(work, work->in, work->out, false); }

/* The signals of both directions meet where there are two ranks alone: these go round one way. */
static int bidirectional_ring(const struct work *work) {
  const uint64_t half = pto_collective_part(work->in.count, work->dtype, 1, 2);
  if (work->size <= 2) return ring(work);
  if (work->block > 1) return 0;
  return work->block == 0
             ? go_round(work, sub_piece(work, work->in, 0, half), sub_piece(work, work->out, 0, half), false)
             : go_round(work, sub_piece(work, work->in, half, work->in.count),
                        sub_piece(work, work->out, half, work->out.count), true);
}

static int reduce_scatter(const struct work *work) { return scatter_and_reduce(work, work->out); }

static int all_gather(const struct work *work) {
  struct piece slot;
  int status = 0;
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = put_to_peer(work, peer, work->place, work->in, 1);
  }
  if (status == 0) status = barrier_of_blocks(work);
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_data(work, peer, 1);
    if (status == 0) status = slot_of(work, work->place, peer, work->in.count, &slot);
    if (status == 0) status = copy(work, part_of(work, work->out, peer, work->size), slot);
  }
  if (status == 0 && work->block == 0) status = copy(work, part_of(work, work->out, work->place, work->size), work->in);
  return status;
}

static int broadcast(const struct work *work) {
  const uint64_t root = scalar(work->args, PTO_COLLECTIVE_ROOT);
  struct piece slot;
  int status = 0;
  if (work->place != root) {
    if (work->block) return 0;
    status = wait_data(work, root, 1);
    if (status == 0) status = slot_of(work, work->place, 0, work->in.count, &slot);
    return status == 0 ? copy(work, work->out, slot) : status;
  }
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = put_to_peer(work, peer, 0, work->in, 1);
  }
  return status == 0 && work->block == 0 ? copy(work, work->out, work->in) : status;
}

static int all_to_all(const struct work *work) {
  struct piece slot;
  int status = 0;
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = put_to_peer(work, peer, work->place, part_of(work, work->in, peer, work->size), 1);
  }
  if (status == 0) status = barrier_of_blocks(work);
  PTO_FOR_EACH_PEER(peer, work) {
    const struct piece to = part_of(work, work->out, peer, work->size);
    if (status == 0) status = wait_data(work, peer, 1);
    if (status == 0) status = slot_of(work, work->place, peer, to.count, &slot);
    if (status == 0) status = copy(work, to, slot);
  }
  if (status == 0 && work->block == 0)
    status =
        copy(work, part_of(work, work->out, work->place, work->size), part_of(work, work->in, work->place, work->size));
  return status;
}

static int barrier(const struct work *work) {
  int status = 0;
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0) status = notify_data(work, peer, 1);
  }
  return status == 0 ? wait_data_of_all(work, 1) : status;
}

/* ---- the kernels ---- */

static const struct {
  int (*run)(const struct work *work);
} collectives[PTO_COLLECTIVE_COUNT] = {
    [PTO_COLLECTIVE_ALL_REDUCE_ONE_PHASE] = {one_phase},
    [PTO_COLLECTIVE_ALL_REDUCE_TWO_PHASE] = {two_phase},
    [PTO_COLLECTIVE_ALL_REDUCE_RING] = {ring},
    [PTO_COLLECTIVE_ALL_REDUCE_BIDIRECTIONAL_RING] = {bidirectional_ring},
    [PTO_COLLECTIVE_REDUCE_SCATTER] = {reduce_scatter},
    [PTO_COLLECTIVE_ALL_GATHER] = {all_gather},
    [PTO_COLLECTIVE_BROADCAST] = {broadcast},
    [PTO_COLLECTIVE_ALL_TO_ALL] = {all_to_all},
    [PTO_COLLECTIVE_BARRIER] = {barrier},
};

static int run(const struct pto_kernel_args *args) {
  const struct work work = begin_work(args);
  const int status = collectives[scalar(args, PTO_COLLECTIVE_KIND)].run(&work);
  return status == 0 ? end_work(&work) : status;
}

struct pto_cost pto_collective_cost(const struct pto_kernel_args *args) {
  (void)args;
  return (struct pto_cost){0};
}

static int check(const struct pto_kernel_args *args) {
  const struct pto_kernel *operation = operation_of(args);
  if (args->tensor_count < 3) return 0;
  const uint32_t dtype = args->tensors[0].dtype;
  if (!is_dense(&args->tensors[0]) || !is_dense(&args->tensors[1]))
    return pto_kernel_error(args, "a collective of a tensor that is not dense");
  if (args->tensors[1].dtype != dtype)
    return pto_kernel_error(args, "a collective of %s into %s", pto_dtype_name(dtype),
                            pto_dtype_name(args->tensors[1].dtype));
  if (scalar(args, PTO_COLLECTIVE_KIND) > PTO_COLLECTIVE_REDUCE_SCATTER) return 0; /* it moves alone */
  if (!operation)
    return pto_kernel_error(args, "reduction %" PRIu64 " is none", scalar(args, PTO_COLLECTIVE_REDUCTION));
  if (operation->params[0].dtypes && !(operation->params[0].dtypes & PTO_DTYPE_BIT(dtype)))
    return pto_kernel_error(args, "a reduction by %s of %s", operation->name, pto_dtype_name(dtype));
  return 0;
}

static const struct pto_kernel_param params[] = {{.name = "in", .mode = PTO_INPUT},
                                                 {.name = "out", .mode = PTO_OUTPUT},
                                                 {.name = "window", .mode = PTO_INOUT},
                                                 PTO_COLLECTIVE_SCALAR_PARAMS};

#define KERNEL(kind, name_)                                                                                            \
  static const struct pto_kernel kernel_##kind = {.name = name_,                                                       \
                                                  .cores = PTO_AIV,                                                    \
                                                  .flags = PTO_KERNEL_REMOTE | PTO_KERNEL_IN_PLACE,                    \
                                                  .params = (kind) == PTO_COLLECTIVE_BARRIER ? params + 2 : params,    \
                                                  .param_count = PTO_ARRAY_LENGTH(params) -                            \
                                                                 ((kind) == PTO_COLLECTIVE_BARRIER ? 2 : 0),           \
                                                  .run = run,                                                          \
                                                  .cost = pto_collective_cost,                                         \
                                                  .check = check};
PTO_COLLECTIVE_LIST(KERNEL)

const struct pto_kernel *const pto_collective_kernels[PTO_COLLECTIVE_COUNT] = {
#define X(kind, name) &kernel_##kind,
    PTO_COLLECTIVE_LIST(X)
#undef X
};
