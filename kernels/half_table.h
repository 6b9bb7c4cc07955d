/* SPDX-License-Identifier: MIT */
/*
 * Results of the longer operations of one fp16 or bf16 number, for each of its 65536 values: once a large tensor has
 * been asked for, an element is one load, whatever the function (docs/decisions/tables-of-16-bit-results.md).
 *
 * Owns the tables, 128 KiB an operation and dtype, which take no memory until they are made.  A table is made once, by
 * the first kernel that wants it, by the loops that it then saves, so that it has their bits; from then on it is
 * constant.  Nobody waits for one: while it is being made, others do without, and get the same bits.
 *
 * Any thread.
 */
#ifndef PTO_HALF_TABLE_H
#define PTO_HALF_TABLE_H

#include <kernels/kernel_list.h>

#include <stdint.h>

#define PTO_HALF_VALUES 65536

/* A table is used, and made where there is none, for twice as many elements as it has values. */
#define PTO_HALF_TABLE_FROM_ELEMS (2 * PTO_HALF_VALUES)

/* The results of `op` by the argument's bits, both of `dtype`, for a tensor of `elems` elements; or NULL: the dtype is
 * neither fp16 nor bf16, the operation is not of one number, or so short that it is no slower, the tensor is small, or
 * another thread is making the table. */
const uint16_t *pto_half_table(enum pto_op op, uint32_t dtype, uint64_t elems);

#endif
