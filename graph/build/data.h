/* SPDX-License-Identifier: MIT */
/*
 * Numbers as the bytes that operands keep: dense, row-major, two 4-bit values a byte, the low half first.
 *
 * Owns nothing.  Floats are rounded once, to nearest, ties to even, from the double; integers are exact.  Any thread.
 */
#ifndef PTO_GRAPH_BUILD_DATA_H
#define PTO_GRAPH_BUILD_DATA_H

#include <pto/graph.h>

/* binary16 nearest to a double, ties to even, in one rounding. */
uint16_t pto_fp16_from_f64(double value);

/* Writes one element of `dtype` (of a 4-bit one, the low half).  False where the dtype cannot hold the number: beyond
 * its range, or with a fraction where it is one of integers; a float rounds, and takes NaN and ∞. */
bool pto_graph_data_from_number(uint32_t dtype, struct pto_number number, void *element);

/* The number that `text` is in files, where JSON has none for it: "NaN", "Infinity", "+Infinity", "-Infinity", and
 * whole ones from −2^63 to 2^64 − 1.  False, with `number` untouched, for any other text. */
bool pto_graph_data_parse_number(const char *text, struct pto_number *number);

#endif
