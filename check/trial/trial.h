/* SPDX-License-Identifier: MIT */
/*
 * One call of a kernel tried against its reference: what the registry test, `ptosim op` and the bench have in common.
 *
 *   pto_trial_init      a kernel of the list
 *   pto_trial_check     do the kernel's parameters and its own check take this case?  no memory yet
 *   pto_trial_make      tensors in the case's layout, inputs drawn from its seed
 *   pto_trial_expect    the reference's results, from the tensors as they are
 *   pto_trial_run       with exactly the local memory that its cost states, and a guard behind it
 *   pto_trial_judge     how far an output is off, and whether that is allowed
 *   pto_trial_fini
 *
 * Always true: a case is all that a trial depends on, so the same case gives the same bytes anywhere.  Owns the tensors
 * and goldens between make and fini; a trial must not be moved, its arguments point into it.  One thread a trial; needs
 * neither runtime nor test library.  Statuses are PTO_OK, PTO_ENOMEM, or the kernel's, with a sentence in `message`.
 */
#ifndef PTO_CHECK_TRIAL_TRIAL_H
#define PTO_CHECK_TRIAL_TRIAL_H

#include <check/trial/tensor.h>

/* What one call is made of. */
struct pto_trial_case {
  struct pto_reference_shape shapes[PTO_MAX_TENSORS];
  union pto_scalar scalars[PTO_MAX_SCALARS];
  uint32_t dtypes[PTO_MAX_TENSORS];
  uint32_t layout; /* enum pto_layout, of all tensors */
  uint64_t seed;
  bool is_plain; /* no NaN, ∞, subnormal or limit among the inputs, whatever the reference allows */
};

struct pto_trial {
  const struct pto_kernel *kernel;
  const struct pto_kernel_reference *reference;
  const struct pto_kernel_param *params[PTO_MAX_TENSORS]; /* of the tensors */
  struct pto_trial_tensor tensors[PTO_MAX_TENSORS];
  struct pto_golden golden[PTO_MAX_TENSORS];
  struct pto_kernel_args args; /* points to the three below */
  struct pto_kernel_tensor views[PTO_MAX_TENSORS];
  union pto_scalar scalars[PTO_MAX_SCALARS];
  struct pto_core core;
  char message[256];
};

static inline bool pto_trial_is_read(const struct pto_kernel_param *p) { return (p->mode & PTO_INPUT) != 0; }
static inline bool pto_trial_is_written(const struct pto_kernel_param *p) { return (p->mode & PTO_OUTPUT) != 0; }
/* The set of dtypes that a tensor parameter may have. */
static inline uint32_t pto_trial_dtypes(const struct pto_kernel_param *p) {
  return p->dtypes == 0 ? PTO_DTYPES_ALL : p->dtypes;
}

/* For pto_kernel_at(index). */
void pto_trial_init(struct pto_trial *trial, uint32_t index);
void pto_trial_fini(struct pto_trial *trial);

/* Shapes and scalars of the case as the reference makes them of free sizes; false where these are no case of it. */
bool pto_trial_sizes(const struct pto_trial *trial, const struct pto_reference_sizes *sizes, struct pto_trial_case *c);

int pto_trial_check(struct pto_trial *trial, const struct pto_trial_case *c);
int pto_trial_make(struct pto_trial *trial, const struct pto_trial_case *c);
/* The same with whatever was there in the inputs: for who looks at the descriptors alone. */
int pto_trial_alloc(struct pto_trial *trial, const struct pto_trial_case *c);
/* Remembers the tensors' memory too; for pto_trial_stray. */
int pto_trial_expect(struct pto_trial *trial);
int pto_trial_run(struct pto_trial *trial);
/* The first tensor of which the run has changed a byte that is none of an output's elements, or −1. */
int pto_trial_stray(const struct pto_trial *trial);

/* How far one output is off, at the element that comes closest to what is allowed; at the first wrong one where there
 * is any. */
struct pto_trial_error {
  double ulps;    /* in units of its last place; ∞ where one is no number */
  double allowed; /* in the same unit */
  uint64_t index;
  double got, value;
  uint64_t wrong_count; /* of the output */
};
/* Whether `a` uses up more of what is allowed. */
bool pto_trial_error_is_worse(const struct pto_trial_error *a, const struct pto_trial_error *b);
/* Floats: see pto_golden.  A result of 0 has its sign too, unless the reference's flags let it go. */
void pto_trial_judge(const struct pto_trial *trial, uint32_t output, struct pto_trial_error *error);

/* One element, of which `got` and `value` are given: fills `ulps` and `allowed`, and says whether it is right. */
bool pto_trial_judge_float(const struct pto_kernel_reference *reference, uint32_t dtype, double slack,
                           struct pto_trial_error *e);

/* ---- dtypes ---- */

struct pto_dtype_tuple {
  uint8_t dtypes[PTO_MAX_TENSORS];
};
/* The combinations of dtypes that the kernel takes with the shapes of `c`: first those that are as uniform as its
 * parameters let them be, *uniform_count of them, then others; all, or as many as there is room for, drawn evenly. */
uint32_t pto_trial_dtype_tuples(struct pto_trial *trial, const struct pto_trial_case *c, struct pto_dtype_tuple *tuples,
                                uint32_t capacity, uint32_t *uniform_count);

/* ---- a core ---- */

/* A core with exactly the local memory that the kernel's cost asks for, and as much of L0A, L0B and L0C as the smallest
 * chip has, each with a guard behind it. */
struct pto_trial_core {
  struct pto_core core;
  unsigned char *blocks[4];
};
int pto_trial_core_init(struct pto_trial_core *core, const struct pto_kernel *kernel,
                        const struct pto_kernel_args *args);
/* False where a guard was written to. */
bool pto_trial_core_fini(struct pto_trial_core *core);

/* ---- time ---- */

#define PTO_TRIAL_MAX_BATCHES 101

/* Nanoseconds a call over `calls` ≥ 1 calls; a negative status of the kernel as it is. */
double pto_trial_batch_ns(struct pto_trial *trial, uint64_t calls);

struct pto_trial_time {
  double median_ns, minimum_ns; /* a call */
  uint64_t calls;               /* a batch */
};
/* `batches` ≤ PTO_TRIAL_MAX_BATCHES batches of about batch_ns each, after one that warms up.  PTO_OK or the kernel's
 * status. */
int pto_trial_time(struct pto_trial *trial, uint32_t batches, double batch_ns, struct pto_trial_time *time);

/* The middle of `count` numbers, which it sorts. */
double pto_trial_median(double *values, uint32_t count);

#endif
