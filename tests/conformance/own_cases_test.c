/* SPDX-License-Identifier: MIT */
/*
 * The cases that come with the project, of operations that the published data has none of: a line an operation, and at
 * last "N passed, N failed, N skipped".  Runs in the top folder.
 *
 *   build/tests/tests/conformance/own_cases_test
 */
#include <tests/conformance/case_folder.h>
#include <tests/conformance/conformance_run.h>
#include <tests/conformance/validation_run.h>

int main(void) {
  struct pto_case_list list = {0};
  if (pto_case_list_add(&list, "tests/conformance/cases/validation", "validation", pto_validation_run) ||
      pto_case_list_add(&list, "tests/conformance/cases/conformance", "conformance", pto_conformance_run))
    return 2;
  return pto_case_list_run(&list);
}
