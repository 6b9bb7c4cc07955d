/* SPDX-License-Identifier: MIT */
/*
 * What every general kernel should compute: one plain double-precision function each, and the shapes that it takes.
 *
 * Independent of the kernels: elements are read one at a time by index, in double, and nothing of the loops is used.
 * For tests, and for callers that want to know how far a result is off.  Constants; any thread; allocates nothing.
 *
 * To add one, see kernels/api/list.h.
 */
#ifndef PTO_KERNELS_REFERENCE_REFERENCE_H
#define PTO_KERNELS_REFERENCE_REFERENCE_H

#include <kernels/api/list.h>

/* The dtype of a tensor of doubles, for who computes with these between kernels (graph/reference). */
#define PTO_REFERENCE_DOUBLE PTO_DTYPE_COUNT

/* The right contents of one written tensor, in row-major order; all three come in as zeros.  A float result r is right
 * where |r − value| ≤ slack + the reference's ulps in units of the last place of the tensor's dtype.  An integer is
 * right where it is whole + value modulo 2 to its bits: a reference fills the one in which its results are exact. */
struct pto_golden {
  double *value;
  double *slack;
  uint64_t *whole;
};

/* Free sizes from which a kernel's shapes follow, and a random number for its scalars. */
struct pto_reference_sizes {
  uint32_t rank;
  uint64_t extents[PTO_MAX_DIMS];
  uint64_t draw;
};
struct pto_reference_shape {
  uint32_t ndims;
  uint64_t shape[PTO_MAX_DIMS];
};

enum pto_reference_values {
  PTO_VALUES_ANY,   /* NaN, ±∞, ±0 and subnormals among them */
  PTO_VALUES_FINITE /* of moderate size */
};

enum pto_reference_flags {
  PTO_REFERENCE_LEVELS_DIFFER = 1, /* instruction sets may give different bits, each within `ulps` and slack */
  PTO_REFERENCE_ANY_ZERO = 2,      /* results of 0 may have either sign */
  PTO_REFERENCE_MOVES_LESS = 4     /* the kernel does not move every byte of its tensors, as gather does not */
};

struct pto_rng;

struct pto_kernel_reference {
  /* Shapes of the tensor parameters and values of the scalars, in order; false where these sizes are no case of it. */
  bool (*shapes)(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                 union pto_scalar *scalars);
  /* Fills golden[i] for each tensor i that is written, from the tensors as they are before the kernel runs. */
  void (*golden)(const struct pto_kernel_args *args, const struct pto_golden *golden);
  double ulps;
  uint32_t values; /* enum pto_reference_values */
  uint32_t flags;  /* enum pto_reference_flags */
  /* NULL, or sets the elements of tensor i where they must be of a kind (indices within a range) and returns true;
   * where it returns false they are drawn at random.  Called for each tensor that is read, in order; elements of a
   * broadcast tensor share bytes, so what counts is what pto_reference_element then reads. */
  bool (*fill)(const struct pto_kernel_args *args, uint32_t i, struct pto_rng *rng);
  /* For people: what the slack is, where `golden` gives any ("(k + 2)·2⁻²⁴·Σ|aᵢbᵢ|"). */
  const char *slack;
};

/* One for each kernel: one that is forgotten does not link. */
#define X(name, ...) extern const struct pto_kernel_reference pto_reference_##name;
PTO_KERNEL_LIST(X)
#undef X
/* The reference of pto_kernel_at(index), or NULL. */
const struct pto_kernel_reference *pto_kernel_reference_at(uint32_t index);

/* Element `index` of `t` in row-major order. */
double pto_reference_element(const struct pto_kernel_tensor *t, uint64_t index);
/* The same of an integer dtype, exactly: the element modulo 2^64, negative ones as their two's complement. */
uint64_t pto_reference_whole(const struct pto_kernel_tensor *t, uint64_t index);
/* `value`, a whole number, modulo 2^64. */
uint64_t pto_reference_modulo(double value);
/* `value` rounded to f32 and then to `dtype`, as a kernel's store does. */
double pto_reference_round(uint32_t dtype, double value);
/* What a small float makes of `value` before it rounds: its largest number for what is beyond, and for NaN and numbers
 * below 0 what it has instead; of other dtypes the value. */
double pto_reference_within(uint32_t dtype, double value);
/* The element's bits, whatever its dtype. */
uint64_t pto_reference_bits(const struct pto_kernel_tensor *t, uint64_t index);
/* Sets an element: floats rounded, integers modulo 2 to their bits. */
void pto_reference_set(const struct pto_kernel_tensor *t, uint64_t index, double value);
/* The same from the bits of the element: of what is no float, the value. */
void pto_reference_set_whole(const struct pto_kernel_tensor *t, uint64_t index, uint64_t value);
/* One unit in the last place of a float dtype at `value`. */
double pto_reference_ulp(uint32_t dtype, double value);

#endif
