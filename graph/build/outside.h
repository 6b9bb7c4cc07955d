/* SPDX-License-Identifier: MIT */
/*
 * Operations from outside (pto/operation.h): the table of those that were registered, in the terms of
 * graph/build/operation.h.
 *
 * Owns an entry for each, which lasts as long as the process: files and nodes name operations by number.  The one table
 * that a process has, as it has one of the specification's.
 *
 * Always true: entries are only added; the operation of entry i is number PTO_GRAPH_OP_COUNT + 1 + i, so that
 * PTO_GRAPH_OP_COUNT stays the number of none; names differ from one another and from the specification's.
 *
 * Any thread: entries are published by their count.  To lower and to compute one: graph/lower/outside.c,
 * graph/reference/outside.c.
 */
#ifndef PTO_GRAPH_BUILD_OUTSIDE_H
#define PTO_GRAPH_BUILD_OUTSIDE_H

#include <graph/build/operation.h>
#include <pto/operation.h>

#define PTO_OUTSIDE_OPERATIONS 256u
/* Numbers of operations are below this. */
#define PTO_OP_NUMBERS (PTO_GRAPH_OP_COUNT + 1u + PTO_OUTSIDE_OPERATIONS)

/* The options of a node, as pto_op_info says. */
struct pto_outside_options {
  const char *label;
  struct pto_number numbers[PTO_OPERATION_MOST];
};

/* NULL where `op` is none of these. */
const struct pto_operation *pto_outside_operation(uint32_t op);
const struct pto_op_info *pto_outside_info(uint32_t op);
/* Its number, or PTO_GRAPH_OP_COUNT. */
uint32_t pto_outside_find(const char *name);
uint32_t pto_outside_count(void);
/* Adds one that is whole (graph/build/outside_calls.c checks that); operands that say no dtypes have `dtypes`.  PTO_OK,
 * also where it is there; PTO_EINVAL for a name that another has, or no room; PTO_ENOMEM. */
PTO_MUST_CHECK int pto_outside_add(const struct pto_operation *operation, uint32_t dtypes, struct pto_error *error);
/* The numbers of a node's options, with defaults. */
void pto_outside_numbers(const struct pto_operation *operation, const void *options,
                         double numbers[PTO_OPERATION_MOST]);

#endif
