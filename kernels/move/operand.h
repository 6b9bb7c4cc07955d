/* SPDX-License-Identifier: MIT */
/*
 * An operand: a tensor as a stream of contiguous elements of a class, in the order in which a cursor visits it.
 *
 * What lies that way already is worked on in place; anything else, strided, converted or two to a byte, goes through a
 * chunk in the core's local memory, of whole rows where these are shorter than it: rows without gaps by
 * kernels/move/strided.h, others by kernels/move/move.h, which transposes.
 * Always true: all operands of a kernel have one shape and one order, and advance by the same
 * counts.  A value of the kernel that runs; one thread.
 *
 *   pto_operand_init … for each; then until nothing is left:
 *   count = pto_operands_next(…); pto_operand_read(…); to = pto_operand_begin(…); compute; pto_operand_end(…)
 */
#ifndef PTO_KERNELS_MOVE_OPERAND_H
#define PTO_KERNELS_MOVE_OPERAND_H

#include <kernels/move/cursor.h>
#include <kernels/api/local.h>
#include <kernels/levels/loops.h>

/* What each operand has in local memory at a time, in bytes of its class: four operands stay in a first-level cache of
 * 32 KiB.  Half as much makes rows of a few bytes 1.15 times as slow, for what a chunk costs beside its elements.  A
 * count of elements is even, for two elements a byte. */
#define PTO_OPERAND_BYTES 8192

struct pto_operand {
  struct pto_cursor cursor;
  pto_load_loop *load;
  pto_store_loop *store;
  uint32_t dtype;
  uint64_t elem_bytes; /* of the class */
  uint64_t unit_bytes; /* of the dtype */
  bool is_direct;      /* its elements are those of the class, and lie side by side within a run */
  bool is_nibbles;
  uint64_t chunk_elems; /* PTO_OPERAND_BYTES of the class, or as many as there are */
  char *chunk;
  char *stage; /* the same of the dtype, where an output is converted */
};

/* The order in which to visit all operands of a kernel with output `y`: as y lies in memory, or row-major where one of
 * the tensors is of 4 bits. */
const uint32_t *pto_operand_order(const struct pto_kernel_args *args, const struct pto_kernel_tensor *y,
                                  uint32_t order[PTO_MAX_DIMS]);
/* At the first element of `t`, which is not empty. */
void pto_operand_init(struct pto_operand *o, const struct pto_kernel_tensor *t, enum pto_class class_,
                      const uint32_t *order, struct pto_local *local);
/* What init takes of local memory for it. */
uint64_t pto_operand_local_bytes(const struct pto_kernel_tensor *t, enum pto_class class_);
/* How many elements to do next, of `left`.  An output is the last of the operands. */
uint64_t pto_operands_next(const struct pto_operand *operands, uint32_t count, uint64_t left);
/* The next `count` elements. */
const void *pto_operand_read(struct pto_operand *o, uint64_t count);
/* Where to write the next `count` elements, and that it is done. */
void *pto_operand_begin(struct pto_operand *o, uint64_t count);
void pto_operand_end(struct pto_operand *o, uint64_t count);

#endif
