/* SPDX-License-Identifier: MIT */
/*
 * For tests of descriptors: lists of numbers written down in a call.
 *
 * SHAPE gives two arguments, how many and where; LIST and ORDER one.  Each lives as long as the block around it.
 */
#ifndef PTO_SHAPE_LIST_H
#define PTO_SHAPE_LIST_H

#include <stdint.h>

#include <runtime/base/base.h>

#define SHAPE(...)                                                                                                     \
  (uint32_t) PTO_ARRAY_LENGTH(((const uint64_t[]){__VA_ARGS__})), (const uint64_t[]) { __VA_ARGS__ }
#define LIST(...)                                                                                                      \
  (const uint64_t[]) { __VA_ARGS__ }
#define ORDER(...)                                                                                                     \
  (const uint32_t[]) { __VA_ARGS__ }

#endif
