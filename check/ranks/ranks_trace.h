/* SPDX-License-Identifier: MIT */
/*
 * Files of several ranks.  Of --trace and --report there is a part a rank, which the process that has the rank writes,
 * and one of what is of all; the process that tells puts them in one file, or where the format wants it (Chakra's) in a
 * file a rank: "x.et" is "x.3.et" of rank 3.  Of --dot and --deps-json each process writes the files of its ranks.
 * --waits-dot is one file, of what the world found (ranks_waits.c).
 *
 * Owns nothing.  Each process calls it, after the run.
 */
#ifndef PTO_CHECK_RANKS_RANKS_TRACE_H
#define PTO_CHECK_RANKS_RANKS_TRACE_H

#include <check/ranks/ranks.h>
#include <report/export/export.h>

/* PTO_OK, PTO_ENOMEM, or PTO_ESYSTEM with the sentence. */
PTO_MUST_CHECK int pto_ranks_write_trace(const struct pto_ranks *ranks, const char *path, struct pto_error *error);

/* The task graph of each rank: --dot and --deps-json of `paths`, those of the others are not looked at. */
PTO_MUST_CHECK int pto_ranks_write_graphs(const struct pto_ranks *ranks, const char *const paths[PTO_EXPORT_COUNT],
                                          struct pto_error *error);

/* Who waits for whom, where ranks wait for ever; else an empty graph.  The process that tells writes it. */
PTO_MUST_CHECK int pto_ranks_write_waits(const struct pto_ranks *ranks, const char *path, struct pto_error *error);

/* A page of all, with the document of --json, and `findings` (NULL: none were looked for); pto_report_page_probe
 * says before the run whether there are any.
 */
PTO_MUST_CHECK int pto_ranks_write_page(const struct pto_ranks *ranks, const struct pto_findings *findings,
                                        const char *path, struct pto_error *error);

#endif
