/* SPDX-License-Identifier: MIT */
/*
 * An example program run in virtual time with its graph recorded, in rings that hold all of a case that is not long.
 *
 * A record owns program, run and runtime until close.
 */
#ifndef PTO_PROGRAM_RECORD_H
#define PTO_PROGRAM_RECORD_H

#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/control/control.h>

struct program_record {
  struct pto_loaded_program *loaded;
  struct pto_program_run *run;
  struct pto_runtime *rt;
  const struct pto_trace *trace; /* NULL: the program drives contexts of its own */
};

/* Runs a case (NULL: the defaults) under rules; fails the test where it does not end well. */
void program_record_open(struct program_record *record, const char *name, const char *case_name, uint32_t rules);
void program_record_close(struct program_record *record);
/* Calls `visit` for each case of each example program that is not long and not there for an error; for a program
 * without cases once, with NULL. */
void program_record_each(void (*visit)(const char *name, const char *case_name));

#endif
