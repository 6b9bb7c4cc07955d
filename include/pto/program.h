/* SPDX-License-Identifier: MIT */
/*
 * A program: an orchestration with its inputs and its golden, as one shared object with one symbol, `pto_program`.
 *
 * Life of a program run:  prepare (declare arrays, fill inputs) → orchestrate, on the control thread, in a run of its
 * own → expect (fill the golden of each output) → comparison |a − g| ≤ atol + rtol·|g|, bit-wise where both are 0.
 * Both sides are doubles: whole numbers beyond 2^53 are compared as the nearest double.
 *
 * Everything that these functions hand out belongs to the program run and is freed with it; nothing has to be released.
 * A program keeps no state of its own in statics: what passes from prepare to the others goes through `*_state` memory.
 */
#ifndef PTO_PROGRAM_H
#define PTO_PROGRAM_H

#include <pto/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The layout of what a program file has as constants: pto_program with its options and cases, pto_kernel with its
 * parameters.  A file of another number is not loaded (pto/version.h says what else may grow).  1 was that of
 * pto_launch without a size, 5 had no ranks, in 6 the
 * 4-bit dtypes had other values. */
#define PTO_PROGRAM_ABI 7u

struct pto_program_run;

enum pto_option_type { PTO_OPTION_INT = 1, PTO_OPTION_FLOAT, PTO_OPTION_BOOL, PTO_OPTION_TEXT };

/* What --set accepts.  A list ends with a zeroed entry. */
struct pto_option {
  const char *name;
  uint32_t type;             /* enum pto_option_type */
  const char *default_value; /* as text */
  const char *meaning;
};

/* A named set of option values.  A list ends with a zeroed entry. */
struct pto_case {
  const char *name;
  const char *settings;  /* "task_num=500 tile=128 grid_k=2" */
  const char *summary;   /* may be NULL */
  uint64_t tasks, edges; /* what a run must report; 0: not stated */
  bool is_long;          /* left out of quick tables and of make test */
};

struct pto_program {
  uint32_t abi; /* PTO_PROGRAM_ABI */
  const char *name, *summary;
  uint32_t min_clusters; /* chips with fewer are refused; 0: any */
  double rtol, atol;
  const struct pto_config *config;  /* ring sizes and the like that it wants; flags override; may be NULL */
  const struct pto_option *options; /* may be NULL */
  const struct pto_case *cases;     /* may be NULL */
  int (*prepare)(struct pto_program_run *run);
  int (*orchestrate)(struct pto_runtime *rt, struct pto_program_run *run);
  int (*host)(struct pto_program_run *run);   /* instead of orchestrate: drives contexts of its own */
  int (*expect)(struct pto_program_run *run); /* independent golden; NULL: `verified` is null */
  int expected_status;                        /* PTO_OK, or the error that this program is there to provoke */
  uint32_t ranks;        /* chips that it runs on (pto/world.h), where --ranks says no other number; 0: one, alone */
  bool expects_refusals; /* some submits, or calls on contexts, are meant to be refused, or to fail; else ptosim finds
                            fault */
};

/* The symbol that a program's shared object exports. */
extern PTO_API const struct pto_program pto_program;

/* ---- for prepare, orchestrate and expect ---- */

/* The value of an option: --set, else the case's, else its default.  Asking for an option that the program does not
 * list, or by another type, is a bug of the program: the run fails with a sentence that names it, and 0 / "" is
 * returned. */
PTO_API int64_t pto_option_int(struct pto_program_run *run, const char *name);
PTO_API double pto_option_float(struct pto_program_run *run, const char *name);
PTO_API bool pto_option_bool(struct pto_program_run *run, const char *name);
PTO_API const char *pto_option_text(struct pto_program_run *run, const char *name);
PTO_API uint64_t pto_program_seed(struct pto_program_run *run);

/* The rank that this run is of, and how many there are: 0 of 1 where the chip is alone. */
PTO_API uint32_t pto_program_rank(struct pto_program_run *run);
PTO_API uint32_t pto_program_rank_count(struct pto_program_run *run);

enum pto_array_role { PTO_ARRAY_INPUT = 1, PTO_ARRAY_OUTPUT = 2, PTO_ARRAY_INOUT = 3, PTO_ARRAY_SCRATCH = 4 };

/* Named dense host memory of the program run, zeroed, 64-byte aligned.  Inputs can be replaced from files, outputs are
 * digested in order of declaration and compared with their golden. */
struct pto_array {
  const char *name;
  uint32_t role, dtype, ndims;
  uint64_t shape[PTO_MAX_DIMS];
  uint64_t numel, size_bytes;
  void *data;
  double *golden; /* outputs: numel elements for expect to fill, allocated by pto_array_golden */
};

/* Declares an array; NULL (and the run fails with a sentence) where that is impossible. */
PTO_API struct pto_array *pto_program_array(struct pto_program_run *run, const char *name, uint32_t role,
                                            uint32_t dtype, uint32_t ndims, const uint64_t *shape);
/* The array declared as `name`, or NULL. */
PTO_API struct pto_array *pto_program_find(struct pto_program_run *run, const char *name);
/* The golden of an output, zeroed at the first call: numel doubles in row-major order. */
PTO_API double *pto_array_golden(struct pto_program_run *run, struct pto_array *array);
/* The array as an external tensor of `rt`, in the current scope; for NULL an invalid one, which the submit refuses. */
PTO_API struct pto_tensor pto_array_tensor(struct pto_runtime *rt, const struct pto_array *array);

/* Element `index` (row-major) as a double, and back (rounded to nearest even, integers saturated). */
PTO_API double pto_array_get(const struct pto_array *array, uint64_t index);
PTO_API void pto_array_set(struct pto_array *array, uint64_t index, double value);
/* Fills from the seed and the array's name: the same numbers on every machine.  Integers: lo ≤ x < hi.  Both fills and
 * pto_array_golden take NULL too, so that a declaration that failed is noticed once, after prepare. */
PTO_API void pto_array_fill_uniform(struct pto_program_run *run, struct pto_array *array, double lo, double hi);
PTO_API void pto_array_fill(struct pto_array *array, double value);

/* Zeroed memory that lives as long as the program run; `state` is one such block, made at the first call. */
PTO_API void *pto_program_alloc(struct pto_program_run *run, uint64_t size_bytes);
PTO_API void *pto_program_state(struct pto_program_run *run, uint64_t size_bytes);

/* Judges this run's outputs by a tolerance of its own instead of the program's: where an option decides how exact they
 * can be, such as a dtype.  --rtol and --atol stand above it. */
PTO_API void pto_program_tolerance(struct pto_program_run *run, double rtol, double atol);

/* A text that lives as long as the program run: labels.  "" where memory is short, and then the run fails. */
PTO_API const char *pto_program_text(struct pto_program_run *run, const char *format, ...) PTO_PRINTF(2, 3);

/* For host: what the command line asked for (engine, chip, workers, policy, sizes, …), for the `runtime` of the
 * options of a context.  Borrowed for the program run. */
PTO_API const struct pto_config *pto_program_config(struct pto_program_run *run);
/* For host: adds what a context has done to the report of the run.  Before it is destroyed; not for one that only
 * checks. */
PTO_API void pto_program_report(struct pto_program_run *run, struct pto_context *context);

/* For host: a number of the program's own for the report of the run, such as "tokens_per_second".  The name, which is
 * copied, has at most PTO_FIGURE_NAME_BYTES − 1 characters; the last value of a name counts.  Beyond PTO_FIGURES of
 * them the run fails. */
#define PTO_FIGURES 16
#define PTO_FIGURE_NAME_BYTES 32
PTO_API void pto_program_figure(struct pto_program_run *run, const char *name, double value);

/* The program run fails with this sentence (bad input, exit 2); returns PTO_EINVAL for `return pto_program_fail(…)`. */
PTO_API int pto_program_fail(struct pto_program_run *run, const char *format, ...) PTO_PRINTF(2, 3);
/* The same with the exit status of what has failed: 2 for PTO_EINVAL, else 3.  Returns `status`.
 */
PTO_API int pto_program_fail_as(struct pto_program_run *run, int status, const char *format, ...) PTO_PRINTF(3, 4);
/* Text of the program's own, to standard output at once; what is said of the run then goes to standard error.  Where
 * standard output is taken (--json -), the text goes there as well. */
PTO_API void pto_program_print(struct pto_program_run *run, const char *format, ...) PTO_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
