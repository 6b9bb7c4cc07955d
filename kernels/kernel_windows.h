/* SPDX-License-Identifier: MIT */
/*
 * Windows: elementwise operations on short rows where they lie, 64 bytes at a time under a mask.
 *
 * A window is one load an input, the operation on a whole vector, and one store; bytes that the mask leaves out are
 * neither read nor written, for they may be another core's at that moment, and count as 0 in the operation.  Several
 * rows share a window where all operands have them at one step; a longer row takes several.  What that saves is the way
 * of every operand through a chunk (kernel_operand.h): a load, a store and a second load each.
 *
 * Always true: the same expressions as the loops of kernel_loops.h, thus the same bytes.  AVX-512 alone has such masks
 * of bytes; elsewhere there is no loop, and operands go through chunks.  The forms are those that PTO_WINDOW_LOOP_…
 * of kernel_windows_avx512.c names, of operands that have elements of one size.  Owns constant tables; any thread.
 */
#ifndef PTO_KERNEL_WINDOWS_H
#define PTO_KERNEL_WINDOWS_H

#include <kernels/kernel_operand.h>

/* Bytes of a window, one for each bit of a mask. */
#define PTO_WINDOW_BYTES 64

/* out = the operation on a and b, on each byte that a mask has.  A line is `whole` windows step_bytes apart, under
 * `mask`, and one more under last_mask unless that is 0; lines are *_line bytes apart. */
struct pto_windows {
  const char *a, *b; /* b is a where the operation has one input */
  char *out;         /* may be a or b, and else overlaps neither */
  uint64_t a_line, b_line, out_line;
  uint64_t lines, whole, step_bytes;
  uint64_t mask, last_mask;
  union pto_scalar scalar, scalar2;
};
typedef void pto_window_loop(const struct pto_windows *windows);

/* The loop of an operation in a class, or NULL. */
pto_window_loop *pto_window_loop_best(enum pto_op op, enum pto_class class_);

/* The next whole rows of the inputs and of the output, the last of `count` operands, as windows: how many elements they
 * have, past which the operands then are.  0: nothing was done, and the next elements are for pto_operands_next.
 * Scalars are the caller's to set. */
uint64_t pto_windows_next(struct pto_operand *operands, uint32_t count, struct pto_windows *windows);

#endif
