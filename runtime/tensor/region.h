/* SPDX-License-Identifier: MIT */
/*
 * A region: the byte set of a tensor in canonical form, at absolute addresses, whatever dtype or rank described it.
 *
 * Bytes  start + Σ index[i]·strides[i] + k,  0 ≤ index[i] < extents[i],  0 ≤ k < run_bytes.
 * Always true after pto_region_from_tensor: run_bytes ≥ 1 unless the region is empty (run_bytes 0, ndims 0); extents ≥
 * 2; strides in bytes and descending; dimensions that continue the next inner one without a gap are merged with it,
 * stride-0 dimensions and extents of 1 are gone.  So equal canonical fields mean equal byte sets, and a dense tensor is
 * one run. (The other direction does not hold: two forms may denote the same bytes.  pto_region_overlap decides
 * exactly.)
 *
 * A value; no allocation; any thread.
 */
#ifndef PTO_REGION_H
#define PTO_REGION_H

#include <pto/tensor.h>

struct pto_region {
  uint64_t start;     /* address of the first byte */
  uint64_t end;       /* one past the last byte; start where empty */
  uint64_t run_bytes; /* contiguous bytes of the innermost run */
  uint32_t ndims;     /* strided dimensions outside the run, 0 … PTO_MAX_DIMS */
  uint32_t is_fuzzy;  /* the tensor asked for PTO_OVERLAP_FUZZY */
  uint64_t extents[PTO_MAX_DIMS];
  uint64_t strides[PTO_MAX_DIMS]; /* bytes */
};

/* Work that one question may cost before it answers "partial": steps of linear_form.h, about a tenth of a second in
 * all.  What views can make stays below a tenth of it (overlap_property_test.c, overlap_scale_test.c; a hill climb over
 * root shapes and slices of 2^40 bytes came to 4000). */
#define PTO_REGION_STEP_LIMIT UINT64_C(100000)

/* The region of a valid tensor whose buffer's first byte is at `base`. */
void pto_region_from_tensor(const struct pto_tensor *t, uint64_t base, struct pto_region *region);

/* Exact relation of two regions (bounding ranges where either is fuzzy), as pto_tensor_overlap.  Adds 1 to
 * *budget_exhausted (may be NULL) where hand-made strides made it give up and answer PTO_PARTIAL. */
enum pto_overlap pto_region_overlap(const struct pto_region *a, const struct pto_region *b, uint64_t *budget_exhausted);

/* The same, with the work laid open: adds the steps that it took to *steps (0 for the closed forms). */
enum pto_overlap pto_region_overlap_steps(const struct pto_region *a, const struct pto_region *b,
                                          uint64_t *budget_exhausted, uint64_t *steps);

/* Whether the two byte sets share a byte: pto_region_overlap(…) != PTO_DISJOINT, at less cost. */
bool pto_region_intersects(const struct pto_region *a, const struct pto_region *b, uint64_t *budget_exhausted);

static inline bool pto_region_is_empty(const struct pto_region *r) { return r->run_bytes == 0; }
/* Bounding ranges share a byte: necessary for an intersection, and enough where both are one run. */
static inline bool pto_region_ranges_overlap(const struct pto_region *a, const struct pto_region *b) {
  return a->start < b->end && b->start < a->end;
}
/* Bytes in the region (each byte once; well-formed regions, whose dimensions do not fold onto each other). */
uint64_t pto_region_bytes(const struct pto_region *region);
/* True where two index vectors denote the same byte: a tensor that may be read but not written. */
bool pto_tensor_shares_bytes(const struct pto_tensor *t);

#endif
