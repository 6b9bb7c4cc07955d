/* SPDX-License-Identifier: MIT */
/*
 * The seam inside the matrix product: what one instruction set brings (tiles of sums, packing), and gemm.c uses.
 *
 * Operands are units of four bytes: an f32, or two int16 that are neighbours in k.  A micro-kernel adds `depth` units'
 * products to a tile of rows × vectors · lanes sums that it keeps in registers.  Packing converts to units: a into a
 * strip of any layout that the micro-kernel can walk, b into a panel [depth, width] without gaps.  Tables are
 * constants.
 */
#ifndef PTO_KERNELS_MATMUL_GEMM_BLOCK_H
#define PTO_KERNELS_MATMUL_GEMM_BLOCK_H

#include <kernels/levels/level.h>
#include <kernels/api/shape.h>

#define PTO_GEMM_UNIT 4       /* bytes of a unit, and of a sum */
#define PTO_GEMM_MAX_ROWS 14  /* of a tile, in any set */
#define PTO_GEMM_MAX_WIDTH 64 /* units of a panel, in any set */
#define PTO_GEMM_STRIP_GAP                                                                                             \
  16 /* units between the rows of a packed strip, so that they fall into different cache sets */
/* Units of L0A that a strip takes up at most. */
#define PTO_GEMM_STRIP_UNITS(depth) (PTO_GEMM_MAX_ROWS * ((depth) + PTO_GEMM_STRIP_GAP))

/* What a tile of floats does to its sums before it stores them: adds, then brings them between least and most, which
 * may be infinite. */
struct pto_gemm_finish {
  const float *added;            /* of the tile's first sum */
  uint64_t added_row, added_col; /* f32 between its rows and columns; between columns 0 or 1 */
  float least, most;
};

/* Steps and rows in bytes; step p of row i is at a + i · a_row + p · a_step; row p of the panel at b + p · b_step. */
struct pto_gemm_operands {
  uint64_t depth; /* units */
  const char *a, *b;
  char *sums;
  uint64_t a_row, a_step, b_step, sums_row;
  bool is_first;                        /* from 0, not from what sums holds */
  const struct pto_gemm_finish *finish; /* NULL: sums stay as they are, as integers do */
};
typedef void pto_gemm_micro(const struct pto_gemm_operands *operands);

struct pto_gemm_set {
  uint32_t rows;                   /* of a tile, at most */
  uint32_t wide_rows;              /* the same of tiles of four vectors */
  uint32_t lanes;                  /* sums in a vector */
  uint32_t unit_depth;             /* elements of k in a unit */
  pto_gemm_micro *const *micro[3]; /* [vectors / 2][rows] for 1, 2 and 4 vectors */
  /* Packs part.rows × part.cols of a to `to` and sets the operands' a, a_row and a_step. */
  void (*pack_a)(const struct pto_matrix *part, char *to, struct pto_gemm_operands *operands);
  /* Packs part.rows × part.cols of b, part.cols ≤ width; columns beyond are 0. */
  void (*pack_b)(const struct pto_matrix *part, uint64_t width, char *to);
};

/* NULL where this build or this processor has none. */
const struct pto_gemm_set *pto_gemm_float_set(uint32_t set);
const struct pto_gemm_set *pto_gemm_int8_set(uint32_t set);

/* Tables of micro-kernels by number of rows, from X(rows). */
#define PTO_GEMM_ROWS_2(X) X(1) X(2)
#define PTO_GEMM_ROWS_4(X) PTO_GEMM_ROWS_2(X) X(3) X(4)
#define PTO_GEMM_ROWS_6(X) PTO_GEMM_ROWS_4(X) X(5) X(6)
#define PTO_GEMM_ROWS_12(X) PTO_GEMM_ROWS_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#define PTO_GEMM_ROWS_14(X) PTO_GEMM_ROWS_12(X) X(13) X(14)

#endif
