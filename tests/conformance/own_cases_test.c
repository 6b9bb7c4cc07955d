/* SPDX-License-Identifier: MIT */
/*
 * The cases that come with the project, of operations that the published data has none of: a line an operation, and at
 * last "N passed, N failed, N skipped".  Runs in the top folder.
 *
 *   build/tests/tests/conformance/own_cases_test
 */
#include <stdio.h>

#include <tests/conformance/case_folder.h>
#include <tests/conformance/conformance_run.h>
#include <tests/conformance/validation_run.h>

int main(void) {
  struct pto_case_counts total = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  pto_case_folder_run("tests/conformance/cases/validation", "validation", pto_validation_run, &total);
  pto_case_folder_run("tests/conformance/cases/conformance", "conformance", pto_conformance_run, &total);
  printf("%u passed, %u failed, %u skipped\n", total.passed, total.failed, total.skipped);
  return total.failed ? 1 : 0;
}
