/* SPDX-License-Identifier: MIT */
/*
 * Captures of the existing runtime, as it and its tools write them, as one pto_capture: docs/captures.md has the forms.
 *
 * Dependencies come from one file, times from one, in either order.  A file is known by its keys, since few of them
 * have a version.  Times without dependencies give the tasks in the order in which they were dispatched.
 *
 * Owns nothing after the call.  Files are untrusted.  One thread.  To add a form: a line in `forms` of import.c.
 */
#ifndef PTO_CHECK_CAPTURE_IMPORT_H
#define PTO_CHECK_CAPTURE_IMPORT_H

#include <check/capture/capture.h>
#include <formats/json_read.h>

/* PTO_OK; PTO_EINVAL, PTO_ESYSTEM, PTO_ENOMEM with a sentence that names file and record.  fini of `capture` is due in
 * any case. */
PTO_MUST_CHECK int pto_capture_import(const char *const *paths, uint32_t count, struct pto_capture *capture,
                                      struct pto_error *error);

/* ---- for the readers of forms ---- */

/* What a span says of its task besides: which function, and what it is called. */
struct pto_import_label {
  uint64_t task;
  uint32_t core;
  int64_t func_id; /* -1: not known */
  char *name;      /* NULL: not known */
};

struct pto_import {
  struct pto_capture *capture;
  struct pto_error *error;
  uint32_t file; /* that is read now */
  bool has_graph, has_times;
  struct pto_import_label *labels;
  size_t label_count, label_capacity;
};

/* A reader: `root` is the document; the reader's status says how it ended. */
typedef void pto_import_read(struct pto_import *import, struct pto_json_reader *reader, json_t *root);
pto_import_read pto_import_deps;    /* deps.json */
pto_import_read pto_import_records; /* swimlane records with counters */
pto_import_read pto_import_joined;  /* those with microseconds, before June 2026 */
pto_import_read pto_import_trace;   /* merged_swimlane.json */
/* block_table_swimlane.csv; a status. */
PTO_MUST_CHECK int pto_import_table(struct pto_import *import, const char *path, struct pto_error *error);

/* A number of 64 bits, which some write as a string. */
uint64_t pto_import_id(struct pto_json_reader *reader, json_t *object, const char *key);
bool pto_import_value_id(json_t *value, uint64_t *id);
/* "r2t7" or "t7" at the beginning of `text`; false where there is none. */
bool pto_import_parse_id(const char *text, uint64_t *id);
/* Microseconds as nanoseconds; refused where that is no time. */
uint64_t pto_import_us(struct pto_json_reader *reader, json_t *object, const char *key);
/* A span with its label; NULL, refused, where memory is short.  `name` is copied, up to its parenthesis. */
struct pto_capture_span *pto_import_span(struct pto_import *import, struct pto_json_reader *reader, uint64_t task,
                                         uint32_t core, int64_t func_id, const char *name,
                                         const struct pto_capture_place *place);
int pto_import_no_memory(struct pto_json_reader *reader);

#endif
