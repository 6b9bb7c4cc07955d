/* SPDX-License-Identifier: MIT */
/*
 * An adopted program as a program: a pto_program that is made of a manifest at run time, so that all that runs or
 * judges programs takes it.
 *
 * Its arrays are the manifest's tensors by their names; outputs begin with the bytes that the manifest gives, as the
 * existing runtime has it.  Without other orders it runs under --deps pto, on the chip, clusters, workers and rings
 * that the manifest asks for.
 *
 * Owns manifest, objects and adapter until destroy, which comes after the runtime.  One run at a time; the thread of
 * the session.
 */
#ifndef PTO_CHECK_ADOPT_PROGRAM_H
#define PTO_CHECK_ADOPT_PROGRAM_H

#include <check/adopt/build.h>
#include <check/adopt/manifest.h>
#include <pto/program.h>

struct pto_adopted_program {
  struct pto_program program; /* what a session runs */
  struct pto_config config;
  char *path; /* of the manifest, which borrows it */
  struct pto_adopted adopted;
  struct pto_adopted_build build;
  struct pto_array **arrays;             /* of the run that was prepared last, by tensor; NULL: it has no elements */
  struct pto_compat_argument *arguments; /* tensors, then scalars */
  struct pto_compat *compat;             /* of that run */
};

/* Reads the manifest and builds; without `has_kernels` the orchestration alone, for runs with no_compute.  PTO_OK;
 * PTO_EINVAL, PTO_ENOTSUP, PTO_ESYSTEM, PTO_ENOMEM with the sentence. */
PTO_MUST_CHECK int pto_adopted_program_load(const char *path, bool has_kernels,
                                            struct pto_adopted_program **program_out, struct pto_error *error);
/* NULL is allowed. */
void pto_adopted_program_destroy(struct pto_adopted_program *program);
/* Whether the manifest gives the bytes of a tensor. */
bool pto_adopted_program_has_bytes(const struct pto_adopted_program *program, const char *tensor);
/* The one that a program is the `program` of; NULL where it is none. */
struct pto_adopted_program *pto_adopted_program_of(const struct pto_program *program);

#endif
