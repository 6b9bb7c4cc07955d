/* SPDX-License-Identifier: MIT */
/*
 * A page of a run, read back: its result, and what was recorded, for a page that shows two runs.  Of a run on several
 * ranks the result alone.
 *
 * Owns the file's bytes until fini.  Any thread.
 */
#ifndef PTO_REPORT_PAGE_RUN_PAGE_H
#define PTO_REPORT_PAGE_RUN_PAGE_H

#include <stdbool.h>
#include <stdio.h>

#include <formats/mapped_file.h>
#include <runtime/base/error.h>

struct pto_run_page {
  struct pto_mapped_file file;
  bool is_of_ranks;
};

/* PTO_OK, PTO_ESYSTEM, or PTO_EINVAL where it is no page of a run with --stats. */
PTO_MUST_CHECK int pto_run_page_open(const char *path, struct pto_run_page *page, struct pto_error *error);
/* A zeroed one is allowed. */
void pto_run_page_fini(struct pto_run_page *page);
/* The document of --json, `size` bytes of it, in the file. */
const char *pto_run_page_result(const struct pto_run_page *page, size_t *size);
/* Writes what the timeline needs, the ids with `prefix` before them; not of ranks. */
void pto_run_page_put(const struct pto_run_page *page, const char *prefix, FILE *to);

#endif
