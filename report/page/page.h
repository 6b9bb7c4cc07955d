/* SPDX-License-Identifier: MIT */
/*
 * A page for a browser: one HTML file with documents, which its scripts draw.
 *
 * A document is a JSON object of a verb's --json.  Scripts know it by its id: "result" and "found" are drawn by
 * page.js, any other one by the part that has pushed itself into PARTS under that id (report/page/parts.js says how).
 *
 * To show something new: a document where the page is written, a script report/page/NAME.js with its part, and a line
 * in page_files.c.  Threads: any.
 */
#ifndef PTO_REPORT_PAGE_PAGE_H
#define PTO_REPORT_PAGE_PAGE_H

#include <stdint.h>

#include <formats/json_writer.h>
#include <report/export/trace_events.h>
#include <report/page/run_page.h>

struct pto_report_page_document {
  const char *id;
  void (*put)(struct pto_json_writer *w, const void *about); /* its members */
  const void *about;
};

/* What a page shows. */
struct pto_report_page {
  const struct pto_report_page_document *documents;
  uint32_t document_count;
  const struct pto_trace *trace; /* of a run: what was recorded; NULL: there is none */
  const struct pto_export_info *info;
  const struct pto_run_page *runs[2]; /* of compare: those of A and B; NULL: there is none */
  const struct pto_trace_part *parts; /* of several ranks: blocks of each, and of links (report/page/run_blocks.h) */
  size_t part_count;
};

/* PTO_OK, or PTO_ESYSTEM with the sentence: this build has no pages, or the file cannot be written.  NULL is fine. */
PTO_MUST_CHECK int pto_report_page_probe(const char *path, struct pto_error *error);
/* PTO_OK, PTO_ESYSTEM or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_report_page_write(const char *path, const struct pto_report_page *page, struct pto_error *error);

#endif
