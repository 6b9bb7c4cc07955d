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
#include <report/export/export.h>

struct pto_report_page_document {
  const char *id;
  void (*put)(struct pto_json_writer *w, const void *about); /* its members */
  const void *about;
};

/* PTO_OK, or PTO_ESYSTEM with the sentence: this build has no pages, or the file cannot be written.  NULL is fine. */
PTO_MUST_CHECK int pto_report_page_probe(const char *path, struct pto_error *error);
/* Writes the documents, and of a run (`trace`; NULL: there is none) what was recorded.  PTO_OK, PTO_ESYSTEM or
 * PTO_ENOMEM. */
PTO_MUST_CHECK int pto_report_page_write(const char *path, const struct pto_report_page_document *documents,
                                         uint32_t count, const struct pto_trace *trace,
                                         const struct pto_export_info *info, struct pto_error *error);

#endif
