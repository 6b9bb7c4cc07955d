/* SPDX-License-Identifier: MIT */
/*
 * Case files of folders: a list of them, each run by itself, and a line printed an operation.
 *
 * Files stand in the list as their folders were added, each folder's in the order of names; one that cannot be read is
 * a failed case, and so is a folder without any.
 *
 * The list owns its strings until fini.
 */
#ifndef PTO_CASE_FOLDER_H
#define PTO_CASE_FOLDER_H

#include <jansson.h>

#include <tests/conformance/case_report.h>

typedef void pto_case_run(json_t *document, struct pto_case_report *report);

struct pto_case_file {
  const char *title; /* of the folder; NULL but for its first file */
  char *folder;
  char *path; /* NULL: the folder has none */
  pto_case_run *run;
};

struct pto_case_list {
  struct pto_case_file *files;
  size_t count, capacity;
};

/* Adds every *.json of `folder` but index.json.  `title` is borrowed.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_case_list_add(struct pto_case_list *list, const char *folder, const char *title,
                                     pto_case_run *run);
void pto_case_list_fini(struct pto_case_list *list);

/* Runs one, prints what became of it to `to`, and adds to `total`. */
void pto_case_file_run(const struct pto_case_file *file, FILE *to, struct pto_case_counts *total);
/* Runs all, prints, with the count as the last line, and ends the list.  The exit status of a test. */
int pto_case_list_run(struct pto_case_list *list);

#endif
