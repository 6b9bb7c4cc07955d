/* SPDX-License-Identifier: MIT */
/*
 * ptosim from outside, for tests: runs the built executable as a child and keeps what it said.
 *
 * The executable is PTO_BUILD_DIR/ptosim, or the one two folders above the test.  Owns the last outcome, and a folder
 * for files between setup and teardown (group functions of cmocka).  One thread.  What is not as it should be fails the
 * test.
 */
#ifndef PTO_PTOSIM_CHILD_H
#define PTO_PTOSIM_CHILD_H

#include <stdbool.h>

#include <jansson.h>

struct pto_ptosim_outcome {
  int exit_code; /* -1: a signal */
  char *out, *err;
};
extern struct pto_ptosim_outcome pto_ptosim_last;

/* False in sanitizer builds, where faults are the sanitizer's to report. */
extern const bool pto_ptosim_reports_faults;

int pto_ptosim_setup(void **state);
int pto_ptosim_teardown(void **state);

/* Runs ptosim with the words of a line, parted by blanks; returns its exit code. */
__attribute__((format(printf, 1, 2))) int pto_ptosim_run(const char *format, ...);
/* The same with words as they are, ended by NULL. */
int pto_ptosim_run_words(char *const *words);

/* The folder that ptosim was built in, after setup: programs of tests are in its planted/. */
const char *pto_ptosim_build(void);
/* A path in the folder for files; valid for the next three calls. */
const char *pto_ptosim_path(const char *name);
/* The whole file; the caller frees it. */
char *pto_ptosim_read_file(const char *path);

/* JSON of a text or a file; duplicate keys fail. */
json_t *pto_ptosim_parse(const char *text);
json_t *pto_ptosim_load(const char *path);
json_int_t pto_json_integer(json_t *object, const char *key);
const char *pto_json_text(json_t *object, const char *key);

/* The last run left with this code, and standard error is one line that begins with "ptosim: " and holds this part. */
void pto_ptosim_assert_complaint(int exit_code, const char *part);
void pto_ptosim_assert_ok(void);

#endif
