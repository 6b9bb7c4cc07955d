/* SPDX-License-Identifier: MIT */
/*
 * A program run: one program with its option values, its arrays and their goldens; the caller's side of pto/program.h.
 *
 * Life:  create → prepare → (files may replace inputs) → orchestrate, once or more → expect → compare, digest →
 * destroy.
 *
 * Owns every array, golden and memory block that it hands out to the program; all are freed by destroy.  The program
 * stays the caller's and outlives the run.
 *
 * Always true: the first failure is kept; after it every step refuses with the same status and sentence.  An option's
 * value is that of the last --set that names it, else of the case, else its default; all three are checked at create.
 *
 * Threads: the one that created it (the program's functions are called on it).  Two runs share nothing.
 *
 * To add an option type: one line in option_types of program_option.c and one accessor.
 */
#ifndef PTO_PROGRAM_RUN_H
#define PTO_PROGRAM_RUN_H

#include <stdio.h>

#include <pto/program.h>
#include <runtime/base/error.h>

/* What the caller asks for.  Zeroed: the defaults, seed 0. */
struct pto_program_request {
  const char *case_name;       /* NULL: no case */
  const char *const *settings; /* "key=value" each, as of --set; a later one wins */
  uint32_t setting_count;
  uint64_t seed;
  uint32_t rank, rank_count; /* 0: the chip is alone */
  /* A power of two, at least a page: each array has whole units of so many bytes for itself, and one more in front of
   * it and behind, so that a tool that watches pages sees who runs off it.  0: it is guarded (array_memory.h). */
  uint64_t margin_bytes;
  bool no_compute;                 /* arrays are address space, and fills do nothing */
  bool small_inputs;               /* but those of pto_program_run_fills */
  const struct pto_config *config; /* for pto_program_config; borrowed for the life of the run; NULL: all defaults */
  FILE *text;                      /* where pto_program_print goes; borrowed likewise; NULL: standard output */
  /* Called by pto_program_report with each context, before its counters are added to those of the run; NULL: no
   * call.  PTO_OK, or a failure with its sentence, which the run then keeps. */
  int (*on_report)(void *argument, struct pto_context *context, struct pto_error *error);
  void *on_report_argument;
};

/* Checks the request against the program's options and cases.  PTO_OK, or PTO_EINVAL with a sentence that names the
 * option, its value and what it accepts, or PTO_ENOMEM.  `program` and its strings are borrowed for the life of the
 * run, the request for the call. */
PTO_MUST_CHECK int pto_program_run_create(const struct pto_program *program, const struct pto_program_request *request,
                                          struct pto_program_run **run_out, struct pto_error *error);
/* NULL is allowed. */
void pto_program_run_destroy(struct pto_program_run *run);

/* Calls the program's prepare (none is fine).  PTO_OK, or the run's failure. */
PTO_MUST_CHECK int pto_program_run_prepare(struct pto_program_run *run);

/* Runs the program's orchestrate on `rt` within a pto_run of its own, or its host function (rt may then be NULL:
 * pto_program_run_is_host). Returns what the run came to: PTO_OK, or the run's first error with its sentence, for the
 * caller to hold against program->expected_status.  A failure of the program itself (pto_program_fail, a wrong option)
 * is PTO_EINVAL, bytes written beside an array are PTO_EKERNEL. */
PTO_MUST_CHECK int pto_program_run_orchestrate(struct pto_program_run *run, struct pto_runtime *rt);
bool pto_program_run_is_host(const struct pto_program_run *run);
/* What the contexts that the host function reported have done since the last orchestrate began, and the workers of the
 * last of them; NULL where it reported none. */
const struct pto_context_counters *pto_program_run_counters(const struct pto_program_run *run, uint32_t *workers_out);

/* The figures of the last orchestrate, in the order in which they came; NULL past the end.  Until the next one. */
struct pto_figure {
  char name[PTO_FIGURE_NAME_BYTES];
  double value;
};
const struct pto_figure *pto_program_run_figure(const struct pto_program_run *run, uint32_t index);
/* Whether the program has printed text of its own. */
bool pto_program_run_has_printed(const struct pto_program_run *run);
/* Whether the last of it had no line end. */
bool pto_program_run_has_open_line(const struct pto_program_run *run);

/* For several rounds: remember (after prepare and the replacement of inputs) keeps a copy of every array that is no
 * input and of the program's own memory; rewind puts them back before a further round. */
PTO_MUST_CHECK int pto_program_run_remember(struct pto_program_run *run);
void pto_program_run_rewind(struct pto_program_run *run);
/* After an orchestrate that failed: rewinds, and the failure is forgotten, so that another order can be tried. */
void pto_program_run_retry(struct pto_program_run *run);

/* Calls the program's expect (none is fine).  The caller may then fill further goldens through pto_array_golden. */
PTO_MUST_CHECK int pto_program_run_expect(struct pto_program_run *run);

/* The outputs against their goldens. */
struct pto_comparison {
  bool has_golden;      /* some output has one; where none has, `verified` is null for users */
  bool is_verified;     /* every element of every output that has a golden is within tolerance */
  double max_abs_error; /* largest |a − g|; INFINITY where one of the two is NaN and the other not, or they are
                           infinitely apart */
  uint64_t compared, mismatches; /* elements */
  uint64_t nans;                 /* of those that match: both are NaN */
  /* The first mismatch, in order of declaration, then row-major. */
  const struct pto_array *array;
  uint64_t index; /* row-major */
  double actual, golden;
  char sentence[256]; /* "output f[3,17]: 46 instead of 47 (4 of 16384 elements differ, …)"; "" where there is none */
};

/* The tolerance that the outputs are to be compared with: what the program asked for through pto_program_tolerance,
 * else the program's own. */
void pto_program_run_tolerance(const struct pto_program_run *run, double *rtol, double *atol);

/* |a − g| ≤ atol + rtol·|g|.  Where both are 0 the element's bits must be those of the golden rounded to the dtype.  A
 * NaN matches a NaN, an infinity itself. */
void pto_program_run_compare(const struct pto_program_run *run, double rtol, double atol,
                             struct pto_comparison *comparison);

/* Whether all outputs are of integer types, so that two runs that are right have the same bytes. */
bool pto_program_run_is_exact(const struct pto_program_run *run);

/* Digest of the bytes of all outputs (OUTPUT and INOUT) in order of declaration: XXH64, the digest so far being the
 * seed of the next array's, 0 that of the first.  Shown to users as 16 lower-case hexadecimal digits. */
uint64_t pto_program_run_digest(const struct pto_program_run *run);
/* XXH64 of `size` bytes, after its published specification. */
uint64_t pto_xxh64(const void *data, uint64_t size, uint64_t seed);

/* Whether fills work on this array: with no_compute those of inputs of whole numbers, of up to 2^20 elements, where the
 * request has small_inputs, and no others. */
bool pto_program_run_fills(const struct pto_program_run *run, const struct pto_array *array);
/* Whether the program has asked for its seed, or filled an array from it: else another seed changes nothing. */
bool pto_program_run_has_used_seed(const struct pto_program_run *run);
/* Arrays in order of declaration; NULL past the end. */
struct pto_array *pto_program_run_array(struct pto_program_run *run, uint32_t index);
/* Blocks of pto_program_alloc as arrays, the last one first: the one that comes after `block`, first that of NULL;
 * NULL: there are no more. */
const struct pto_array *pto_program_run_block(const struct pto_program_run *run, const struct pto_array *block);
/* The nearest array, or block, that the address is right before or behind, in what was put there to notice it; NULL:
 * none is. */
const struct pto_array *pto_program_run_array_beside(const struct pto_program_run *run, uint64_t address);

/* The case in force (NULL: none) and the program. */
const struct pto_case *pto_program_run_case(const struct pto_program_run *run);
const struct pto_program *pto_program_run_program(const struct pto_program_run *run);
/* The first failure, or the status PTO_OK and "". */
const struct pto_error *pto_program_run_error(const struct pto_program_run *run);

/* "integer", "number", "true or false", "text". */
const char *pto_option_type_name(uint32_t type);
/* The case called `name`, or NULL. */
const struct pto_case *pto_program_case(const struct pto_program *program, const char *name);

#endif
