/* SPDX-License-Identifier: MIT */
/*
 * A block of a collective's task at work: where it stands, how it signals, and how it moves elements.
 *
 * Static functions for the kernels of this folder alone, each of which begins with begin_work and ends with end_work.
 * What they take of the chip's time they state themselves.
 */
#ifndef PTO_KERNELS_COLLECTIVE_WORK_H
#define PTO_KERNELS_COLLECTIVE_WORK_H

#include <kernels/collective/collective.h>

#include <string.h>

#include <pto/remote.h>
#include <runtime/base/dtype.h>

#define PTO_SLOT_ALIGN 64u

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

static inline uint64_t scalar(const struct pto_kernel_args *args, enum pto_collective_scalar which) {
  return args->scalars[which].u64;
}

static inline uint64_t bytes_of(const struct work *work, uint64_t count) {
  return pto_dtype_is_four_bit(work->dtype) ? (count + 1) / 2 : count * pto_dtype_size(work->dtype);
}

static inline struct piece sub_piece(const struct work *work, struct piece piece, uint64_t begin, uint64_t end) {
  return (struct piece){piece.addr + bytes_of(work, begin), end - begin};
}

/* Part `index` of `count` of it. */
static inline struct piece part_of(const struct work *work, struct piece piece, uint64_t index, uint64_t count) {
  return sub_piece(work, piece, pto_collective_part(piece.count, work->dtype, index, count),
                   pto_collective_part(piece.count, work->dtype, index + 1, count));
}

static inline struct piece piece_of(const struct pto_kernel_tensor *tensor) {
  struct piece piece = {tensor->addr, 1};
  for (uint32_t i = 0; i < tensor->ndims; i++) piece.count *= tensor->shape[i];
  return piece;
}

/* Slot `index` of those that hold `count` elements each, in the half of this collective of the window of `peer`. */
static inline int slot_of(const struct work *work, uint64_t peer, uint64_t index, uint64_t count, struct piece *slot) {
  void *window;
  const int status = pto_core_window(work->args, work->comm, (uint32_t)peer, &window);
  if (status != 0) return status;
  const uint64_t spread = pto_align_up(bytes_of(work, count), PTO_SLOT_ALIGN);
  *slot = (struct piece){(char *)window + work->half_offset + index * spread, count};
  return 0;
}

static inline struct work begin_work(const struct pto_kernel_args *args) {
  const bool has_data = args->tensor_count >= 3;
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

static inline uint32_t signal_at(const struct work *work, enum pto_collective_signals set, uint64_t peer) {
  return (uint32_t)(set * work->size + peer);
}

static inline int notify_data(const struct work *work, uint64_t peer, uint32_t step) {
  const int32_t value = (int32_t)(work->epoch * PTO_COLLECTIVE_STEPS + step);
  return pto_core_notify(work->args, work->comm, (uint32_t)peer, signal_at(work, PTO_COLLECTIVE_DATA, work->place),
                         PTO_NOTIFY_SET, value);
}

static inline int wait_data(const struct work *work, uint64_t peer, uint32_t step) {
  const int32_t value = (int32_t)(work->epoch * PTO_COLLECTIVE_STEPS + step);
  return pto_core_wait_signal(work->args, work->comm, signal_at(work, PTO_COLLECTIVE_DATA, peer), PTO_IF_GE, value);
}

static inline int wait_data_of_all(const struct work *work, uint32_t step) {
  int status = 0;
  for (uint64_t peer = 0; peer < work->size && status == 0; peer++)
    if (peer != work->place) status = wait_data(work, peer, step);
  return status;
}

/* Until that peer has finished the collective before the last. */
static inline int wait_free(const struct work *work, uint64_t peer) {
  if (work->epoch <= 2) return 0;
  return pto_core_wait_signal(work->args, work->comm, signal_at(work, PTO_COLLECTIVE_DONE, peer), PTO_IF_GE,
                              (int32_t)(work->epoch - 2));
}

/* The peers of this block, the nearest first. */
#define PTO_FOR_EACH_PEER(peer, work)                                                                                  \
  for (uint64_t distance_ = (work)->block + 1, peer = ((work)->place + distance_) % (work)->size;                      \
       distance_ < (work)->size; distance_ += (work)->blocks, peer = ((work)->place + distance_) % (work)->size)

/* All blocks have done what they do: says so. */
static inline int end_work(const struct work *work) {
  int status = work->blocks > 1 ? pto_core_barrier(work->args) : 0;
  PTO_FOR_EACH_PEER(peer, work) {
    if (status == 0)
      status = pto_core_notify(work->args, work->comm, (uint32_t)peer,
                               signal_at(work, PTO_COLLECTIVE_DONE, work->place), PTO_NOTIFY_SET, (int32_t)work->epoch);
  }
  return status;
}

/* ---- moving and reducing ---- */

static inline struct pto_kernel_tensor tensor_of(const struct work *work, struct piece piece, uint64_t *shape) {
  static const uint64_t stride = 1;
  *shape = piece.count;
  return (struct pto_kernel_tensor){piece.addr, shape, &stride, 1, work->dtype};
}

static inline int put(const struct work *work, struct piece to, struct piece from) {
  uint64_t to_shape, from_shape;
  const struct pto_kernel_tensor target = tensor_of(work, to, &to_shape), source = tensor_of(work, from, &from_shape);
  return pto_core_put(work->args, &target, &source);
}

static inline int copy(const struct work *work, struct piece to, struct piece from) {
  const uint64_t bytes = bytes_of(work, from.count);
  if (bytes == 0 || to.addr == from.addr) return 0;
  if (pto_core_computes(work->args)) memcpy(to.addr, from.addr, bytes);
  return pto_core_work(work->args, &(struct pto_cost){.bytes_in = bytes, .bytes_out = bytes});
}

/* Puts a piece for each peer of the block into slot `slot` of it, of `count` elements. */
static inline int put_to_peer(const struct work *work, uint64_t peer, uint64_t slot, struct piece from, uint32_t step) {
  struct piece to;
  int status = slot_of(work, peer, slot, from.count, &to);
  if (status == 0) status = put(work, to, from);
  return status == 0 ? notify_data(work, peer, step) : status;
}

static inline int barrier_of_blocks(const struct work *work) {
  return work->blocks > 1 ? pto_core_barrier(work->args) : 0;
}

static inline bool is_dense(const struct pto_kernel_tensor *tensor) {
  uint64_t stride = 1;
  for (uint32_t i = tensor->ndims; i-- > 0; stride *= tensor->shape[i])
    if (tensor->shape[i] > 1 && tensor->strides[i] != stride) return false;
  return true;
}

#endif
