/* SPDX-License-Identifier: MIT */
/*
 * A JSON document inside a page: <script type="application/json" id="…">.  "<" is written as <, so that no text in
 * it ends the element.  Any thread.
 */
#ifndef PTO_REPORT_PAGE_ESCAPED_JSON_H
#define PTO_REPORT_PAGE_ESCAPED_JSON_H

#include <stdio.h>

#include <formats/json_writer.h>

/* One object, whose members `put` writes.  PTO_OK, or PTO_ESYSTEM where there is no room for a temporary file. */
int pto_escaped_json_write(const char *id, void (*put)(struct pto_json_writer *w, const void *context),
                           const void *context, FILE *to);

#endif
