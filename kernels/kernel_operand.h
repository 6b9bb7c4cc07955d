/* SPDX-License-Identifier: MIT */
/*
 * An operand: a tensor as a stream of contiguous elements of a class, in the order in which a cursor visits it.
 *
 * What lies that way already is worked on in place; anything else, strided, converted or two to a byte, goes through a
 * chunk in the core's local memory, of whole rows where these are shorter than it: rows without gaps by kernel_rows.h,
 * others by kernel_move.h, which transposes.  An output too large for the caches is written past them, by the loop that
 * computes it where that can, so that it waits for memory while it computes: see PTO_STREAM_FROM_BYTES.  Always true:
 * all operands of a kernel have one shape and one order, and advance by the same counts.  A value of the kernel that
 * runs; one thread.
 *
 *   pto_operand_init … for each; then until nothing is left:
 *   count = pto_operands_next(…); pto_operand_read(…); to = pto_operand_begin(…); compute; pto_operand_end(…);
 *   and pto_operand_finish for the output.
 */
#ifndef PTO_KERNEL_OPERAND_H
#define PTO_KERNEL_OPERAND_H

#include <kernels/kernel_cursor.h>
#include <kernels/kernel_local.h>
#include <kernels/kernel_loops.h>
#include <kernels/kernel_rows.h>

/* What each operand has in local memory at a time, in bytes of its class: four operands stay in a first-level cache of
 * 32 KiB.  Half as much makes rows of a few bytes 1.15 times as slow, for what a chunk costs beside its elements.  A
 * count of elements is even, for two elements a byte. */
#define PTO_OPERAND_BYTES 8192

/* An output from this size on is written past the caches, which saves reading it first.  A next task that reads it
 * must find little of it in a cache anyway: on a machine with 32 MiB of third-level cache, a sum and a relu of it take
 * together 0.75 times as long at 16 MiB, as long at 8, and 5 times as long at 4. */
#define PTO_STREAM_FROM_BYTES (UINT64_C(16) << 20)

/* An input from this size on, more than a second-level cache keeps, is asked for that far ahead of the chunk that is
 * computed: the processor's own look-ahead stops while it works in local memory.  Out of cache that is 1.05 to 1.2
 * times as fast, and costs nothing measurable elsewhere. */
#define PTO_FETCH_FROM_BYTES (UINT64_C(1) << 20)
#define PTO_FETCH_AHEAD_BYTES 4096

struct pto_operand {
  struct pto_cursor cursor;
  const struct pto_loops *loops;
  pto_rows_loop *rows; /* NULL where it is one run in place */
  pto_load_loop *load;
  pto_store_loop *store;
  uint32_t dtype;
  uint64_t elem_bytes; /* of the class */
  uint64_t unit_bytes; /* of the dtype */
  bool is_in_class;    /* its elements are those of the class, wherever they lie */
  bool is_direct;      /* and lie side by side within a run */
  bool is_nibbles;
  bool is_streamed;
  bool is_in_loop_streamed; /* by the loop that computes it, and not from a chunk */
  bool is_fetched;          /* ahead of its chunk */
  uint64_t chunk_elems;     /* PTO_OPERAND_BYTES of the class, or as many as there are */
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
/* Says that `o` is written and never read, so that it may be streamed: by the loop that computes it, where that can and
 * the elements lie as the class wants them. */
void pto_operand_is_output(struct pto_operand *o, uint64_t numel, bool can_loop_stream);

/* How many elements to do next, of `left`.  An output is the last of the operands. */
uint64_t pto_operands_next(const struct pto_operand *operands, uint32_t count, uint64_t left);
/* The next `count` elements. */
const void *pto_operand_read(struct pto_operand *o, uint64_t count);
/* Where to write the next `count` elements, and that it is done. */
void *pto_operand_begin(struct pto_operand *o, uint64_t count);
/* Whether the loop is to write the next elements past the caches: then they begin with a cache line. */
bool pto_operand_is_past_caches(const struct pto_operand *o);
void pto_operand_end(struct pto_operand *o, uint64_t count);
/* After the last element. */
void pto_operand_finish(const struct pto_operand *o);

#endif
