/* SPDX-License-Identifier: MIT */
/*
 * The page that `ptosim validate` makes of measurements and predictions, docs/fidelity.md for one: Markdown, failures
 * first, the same bytes on every machine.
 *
 * Borrows all that it is given.  Writing only; any thread.
 */
#ifndef PTO_CHECK_VALIDATE_PAGE_H
#define PTO_CHECK_VALIDATE_PAGE_H

#include <stdio.h>

#include <check/validate/kernels.h>
#include <check/validate/parameters.h>
#include <check/validate/verdict.h>
#include <formats/json_writer.h>

struct pto_page {
  const char *rows_path;
  const struct pto_validated *items; /* in the order of the file */
  size_t count;
  const struct pto_validated_kernels *kernels;
  const struct pto_parameters *parameters;
  uint32_t runs, jitter_ppm;
};

/* Rows that failed, rows without a prediction, changes that failed, means that are too large, kernels that failed. */
struct pto_page_counts {
  size_t failed, unknown, changes_failed, means_failed, kernels_failed;
};
struct pto_page_counts pto_page_count(const struct pto_page *page);
/* None of them counts anything. */
bool pto_page_is_good(const struct pto_page_counts *counts);

void pto_page_write(const struct pto_page *page, FILE *to);
/* The members of the object of --json. */
void pto_page_put(const struct pto_page *page, struct pto_json_writer *w);

#endif
