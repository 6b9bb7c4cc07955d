/* SPDX-License-Identifier: MIT */
/*
 * An array that grows by one item at a time, for tools and reports; the runtime itself never allocates in a run.
 *
 * Owns nothing: the caller keeps the array, its count and its capacity, zeroed at first, and frees the array.  Any
 * thread, one at a time for one array.
 */
#ifndef PTO_GROW_H
#define PTO_GROW_H

#include <stddef.h>

/* Adds a zeroed item and returns it.  `items` is the address of the array's pointer; items may move.  NULL where there
 * is no memory: then nothing has changed. */
void *pto_grow(void *items, size_t *count, size_t *capacity, size_t item_bytes);

#endif
