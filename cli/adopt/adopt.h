/* SPDX-License-Identifier: MIT */
/*
 * The two ways of `ptosim adopt`, a file each: a manifest, which runs in this process, and a folder of scene tests,
 * which pytest runs with the plugin python/pto/adopt.py; that calls this program for each case.
 *
 * Both add cases, and return PTO_EXIT_OK, or the exit of what could not be done at all, having said why.  The main
 * thread.
 */
#ifndef PTO_CLI_ADOPT_ADOPT_H
#define PTO_CLI_ADOPT_ADOPT_H

#include <cli/adopt/cases.h>
#include <cli/run/options.h>

struct pto_adopt_options {
  struct pto_run_options run; /* its first word is what is adopted */
  const char *platform, *junit_path;
  bool is_list;
};

/* Builds, runs, verifies, and tells pairs of accesses that the rules of the run do not order. */
int pto_adopt_manifest(const struct pto_run_options *options, struct pto_adopt_cases *cases);

/* Prints a line a case as they end; `has_text`: whether to print.  After ^C the cases are those that had begun. */
int pto_adopt_folder(const struct pto_adopt_options *options, const char *platform, bool has_text,
                     struct pto_adopt_cases *cases);

#endif
