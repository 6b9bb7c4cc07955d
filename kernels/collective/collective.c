/* SPDX-License-Identifier: MIT */
#include <kernels/collective/collective.h>

#include <inttypes.h>
#include <string.h>

#include <pto/collectives.h>
#include <pto/remote.h>
#include <runtime/base/dtype.h>

#define SLOT_ALIGN 64u
/* A ring has 4 slots a rank, each of 2 elements more than its part and filled up to SLOT_ALIGN. */
#define MOST_SLOT_WASTE (4u * (SLOT_ALIGN + 64u))

/* ---- parts ---- */

uint64_t pto_collective_part(uint64_t elements, uint32_t dtype, uint64_t index, uint64_t count) {
  const uint64_t unit = pto_dtype_is_four_bit(dtype) ? 2 : 1;
  if (index == count) return elements;
  return (uint64_t)((unsigned __int128)(elements / unit) * index / count) * unit;
}

uint64_t pto_collective_half_bytes(uint64_t max_bytes, uint32_t size) { return (max_bytes + MOST_SLOT_WASTE) * size; }

/* ---- a block at work ---- */

/* Elements side by side. */
struct piece {
  char *addr;
  uint64_t count;
};

struct work {
  const struct pto_kernel_args *args;
  uint64_t comm, size, place, epoch;
  uint64_t block, blocks;
  uint32_t dtype;
  struct piece in, out;
  uint64_t half_offset;
};

static uint64_t scalar(const struct pto_kernel_args *args, enum pto_collective_scalar which) {
  return args->scalars[which].u64;
}

static uint64_t bytes_of(const struct work *work, uint64_t count) {
  return pto_dtype_is_four_bit(work->dtype) ? (count + 1) / 2 : count * pto_dtype_size(work->dtype);
}

static struct piece sub_piece(const struct work *work, struct piece piece, uint64_t begin, uint64_t end) {
  return (struct piece){piece.addr + bytes_of(work, begin), end - begin};
}

/* Part `index` of `count` of it. */
static struct piece part_of(const struct work *work, struct piece piece, uint64_t index, uint64_t count) {
  return sub_piece(work, piece, pto_collective_part(piece.count, work->dtype, index, count),
                   pto_collective_part(piece.count, work->dtype, index + 1, count));
}

static struct piece piece_of(const struct pto_kernel_tensor *tensor) {
  struct piece piece = {tensor->addr, 1};
  for (uint32_t i = 0; i < tensor->ndims; i++) piece.count *= tensor->shape[i];
  return piece;
}

/* Slot `index` of those that hold `count` elements each, in the half of this collective of the window of `peer`. */
static int slot_of(const struct work *work, uint64_t peer, uint64_t index, uint64_t count, struct piece *slot) {
  void *window;
  const int status = pto_core_window(work->args, work->comm, (uint32_t)peer, &window);
  if (status != 0) return status;
  const uint64_t spread = pto_align_up(bytes_of(work, count), SLOT_ALIGN);
  *slot = (struct piece){(char *)window + work->half_offset + index * spread, count};
  return 0;
}

static struct work begin_work(const struct pto_kernel_args *args) {
  const bool has_data = args->tensor_count == 3;
  struct work work = {.args = args,
                      .comm = scalar(args, PTO_COLLECTIVE_COMM),
                      .size = scalar(args, PTO_COLLECTIVE_SIZE),
                      .place = scalar(args, PTO_COLLECTIVE_PLACE),
                      .epoch = scalar(args, PTO_COLLECTIVE_EPOCH),
                      .block = args->core->block_index,
                      .blocks = args->core->block_count,
                      .dtype = args->tensors[0].dtype};
  if (has_data) work.in = piece_of(&args->tensors[0]);
  if (has_data) work.out = piece_of(&args->tensors[1]);
  work.half_offset = work.epoch % 2 * scalar(args, PTO_COLLECTIVE_HALF);
  return work;
}

/* ---- signals ---- */

static uint32_t signal_at(const struct work *work, enum pto_collective_signals set, uint64_t peer) {
  return (uint32_t)(set * work->size + peer);
}

static int notify_data(const struct work *work, uint64_t peer, uint32_t step) {
  const int32_t value = (int32_t)(work->epoch * PTO_COLLECTIVE_STEPS + step);
  return pto_core_notify(work->args, work->comm, (uint32_t)peer, signal_at(work, PTO_COLLECTIVE_DATA, work->place),
                         PTO_NOTIFY_SET, value);
}

static int wait_data(const struct work *work, uint64_t peer, uint32_t step) {
  const int32_t value = (int32_t)(work->epoch * PTO_COLLECTIVE_STEPS + step);
  return pto_core_wait_signal(work->args, work->comm, signal_at(work, PTO_COLLECTIVE_DATA, peer), PTO_IF_GE, value);
}

static int wait_data_of_all(const struct work *work, uint32_t step) {
  int status = 0;
  for (uint64_t peer = 0; peer < work->size && status == 0; peer++)
    if (peer != work->place) status = wait_data(work, peer, step);
  return status;
}

/* Until that peer has finished the collective before the last. */
static int wait_free(const struct work *work, uint64_t peer) {
  if (work->epoch <= 2) return 0;
  return pto_core_wait_signal(work->args, work->comm, signal_at(work, PTO_COLLECTIVE_DONE, peer), PTO_IF_GE,
                              (int32_t)(work->epoch - 2));
}

/* The peers of this block, the nearest first. */
#define FOR_EACH_PEER(peer, work)                                                                                      \
  for (uint64_t distance_ = (work)->block + 1, peer = ((work)->place + distance_) % (work)->size;                      \
       distance_ < (work)->size; distance_ += (work)->blocks, peer = ((work)->place + distance_) % (work)->size)

/* All blocks have done what they do: says so. */
static int end_work(const struct work *work) {
  int status = work->blocks > 1 ? pto_core_barrier(work->args) : 0;
  FOR_EACH_PEER(peer, work) {
    if (status == 0)
      status = pto_core_notify(work->args, work->comm, (uint32_t)peer,
                               signal_at(work, PTO_COLLECTIVE_DONE, work->place), PTO_NOTIFY_SET, (int32_t)work->epoch);
  }
  return status;
}

/* ---- moving and reducing ---- */

static struct pto_kernel_tensor tensor_of(const struct work *work, struct piece piece, uint64_t *shape) {
  static const uint64_t stride = 1;
  *shape = piece.count;
  return (struct pto_kernel_tensor){piece.addr, shape, &stride, 1, work->dtype};
}

static int put(const struct work *work, struct piece to, struct piece from) {
  uint64_t to_shape, from_shape;
  const struct pto_kernel_tensor target = tensor_of(work, to, &to_shape), source = tensor_of(work, from, &from_shape);
  return pto_core_put(work->args, &target, &source);
}

static int copy(const struct work *work, struct piece to, struct piece from) {
  const uint64_t bytes = bytes_of(work, from.count);
  if (bytes == 0 || to.addr == from.addr) return 0;
  if (pto_core_computes(work->args)) memcpy(to.addr, from.addr, bytes);
  return pto_core_work(work->args, &(struct pto_cost){.bytes_in = bytes, .bytes_out = bytes});
}

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

/* Puts a piece for each peer of the block into slot `slot` of it, of `count` elements. */
static int put_to_peer(const struct work *work, uint64_t peer, uint64_t slot, struct piece from, uint32_t step) {
  struct piece to;
  int status = slot_of(work, peer, slot, from.count, &to);
  if (status == 0) status = put(work, to, from);
  return status == 0 ? notify_data(work, peer, step) : status;
}

static int barrier_of_blocks(const struct work *work) { return work->blocks > 1 ? pto_core_barrier(work->args) : 0; }

static int one_phase(const struct work *work) {
  int status = 0;
  FOR_EACH_PEER(peer, work) {
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
  FOR_EACH_PEER(peer, work) {
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
  FOR_EACH_PEER(peer, work) {
    if (status == 0) status = gathered_at(work, peer, &to);
    if (status == 0) status = put(work, part_of(work, to, work->place, work->size), own);
    if (status == 0) status = notify_data(work, peer, 2);
  }
  FOR_EACH_PEER(peer, work) {
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
  if (n == 1) return status; /* nobody is to be waited for */
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
  FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = put_to_peer(work, peer, work->place, work->in, 1);
  }
  if (status == 0) status = barrier_of_blocks(work);
  FOR_EACH_PEER(peer, work) {
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
  FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = put_to_peer(work, peer, 0, work->in, 1);
  }
  return status == 0 && work->block == 0 ? copy(work, work->out, work->in) : status;
}

static int all_to_all(const struct work *work) {
  struct piece slot;
  int status = 0;
  FOR_EACH_PEER(peer, work) {
    if (status == 0) status = wait_free(work, peer);
    if (status == 0) status = put_to_peer(work, peer, work->place, part_of(work, work->in, peer, work->size), 1);
  }
  if (status == 0) status = barrier_of_blocks(work);
  FOR_EACH_PEER(peer, work) {
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
  FOR_EACH_PEER(peer, work) {
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

/* What they do, they state as they do it. */
static struct pto_cost cost(const struct pto_kernel_args *args) {
  (void)args;
  return (struct pto_cost){0};
}

static bool is_dense(const struct pto_kernel_tensor *tensor) {
  uint64_t stride = 1;
  for (uint32_t i = tensor->ndims; i-- > 0; stride *= tensor->shape[i])
    if (tensor->shape[i] > 1 && tensor->strides[i] != stride) return false;
  return true;
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

#define SCALAR(name_)                                                                                                  \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
#define SCALARS                                                                                                        \
  SCALAR("kind"), SCALAR("comm"), SCALAR("size"), SCALAR("place"), SCALAR("epoch"), SCALAR("half"),                    \
      SCALAR("reduction"), SCALAR("root")
static const struct pto_kernel_param params[] = {{.name = "in", .mode = PTO_INPUT},
                                                 {.name = "out", .mode = PTO_OUTPUT},
                                                 {.name = "window", .mode = PTO_INOUT},
                                                 SCALARS};

#define KERNEL(kind, name_)                                                                                            \
  static const struct pto_kernel kernel_##kind = {.name = name_,                                                       \
                                                  .cores = PTO_AIV,                                                    \
                                                  .flags = PTO_KERNEL_REMOTE | PTO_KERNEL_IN_PLACE,                    \
                                                  .params = (kind) == PTO_COLLECTIVE_BARRIER ? params + 2 : params,    \
                                                  .param_count = PTO_ARRAY_LENGTH(params) -                            \
                                                                 ((kind) == PTO_COLLECTIVE_BARRIER ? 2 : 0),           \
                                                  .run = run,                                                          \
                                                  .cost = cost,                                                        \
                                                  .check = check};
PTO_COLLECTIVE_LIST(KERNEL)

const struct pto_kernel *const pto_collective_kernels[PTO_COLLECTIVE_COUNT] = {
#define X(kind, name) &kernel_##kind,
    PTO_COLLECTIVE_LIST(X)
#undef X
};
