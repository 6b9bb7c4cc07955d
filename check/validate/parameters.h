/* SPDX-License-Identifier: MIT */
/*
 * The files that predictions rest on, by name, each with the XXH64 of its bytes: so that a page says what it was made
 * of.
 *
 * Owns its list until fini.  One thread.
 */
#ifndef PTO_CHECK_VALIDATE_PARAMETERS_H
#define PTO_CHECK_VALIDATE_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

#include <runtime/base/error.h>
#include <sim/chips/chip.h>

struct pto_parameter_file {
  char *name; /* "a2a3.ini": the last part of its path */
  uint64_t hash;
};
struct pto_parameters {
  struct pto_parameter_file *files; /* each once */
  size_t count, capacity;
};

/* Adds the chip file, and what it refers to.  PTO_OK, or PTO_ESYSTEM or PTO_ENOMEM with the sentence. */
PTO_MUST_CHECK int pto_parameters_add(struct pto_parameters *parameters, const char *chip_name_or_path,
                                      const struct pto_chip *chip, struct pto_error *error);
/* The last part of a path: pages are the same wherever they are made. */
const char *pto_parameter_name(const char *path);
/* Of all of them together, in their order. */
uint64_t pto_parameters_hash(const struct pto_parameters *parameters);
void pto_parameters_fini(struct pto_parameters *parameters);

#endif
