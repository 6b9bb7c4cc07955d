/* SPDX-License-Identifier: MIT */
/*
 * Every conformance and validation case of the folder that WEBNN_DATA names, or the first argument: a line an
 * operation, and at last "N passed, N failed, N skipped".  Skips as a whole where neither is given.
 *
 *   build/tests/tests/conformance/conformance_test [FOLDER]
 */
#include <stdio.h>
#include <stdlib.h>

#include <tests/conformance/case_folder.h>
#include <tests/conformance/conformance_run.h>
#include <tests/conformance/validation_run.h>

int main(int argument_count, char **arguments) {
  const char *data = argument_count > 1 ? arguments[1] : getenv("WEBNN_DATA");
  struct pto_case_counts total = {0};
  char folder[4000];
  if (!data || !data[0]) {
    printf("| conformance: skipped, as WEBNN_DATA names no folder\n");
    return 77;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  snprintf(folder, sizeof folder, "%s/validation", data);
  pto_case_folder_run(folder, "validation", pto_validation_run, &total);
  snprintf(folder, sizeof folder, "%s/conformance", data);
  pto_case_folder_run(folder, "conformance", pto_conformance_run, &total);
  printf("%u passed, %u failed, %u skipped\n", total.passed, total.failed, total.skipped);
  return total.failed ? 1 : 0;
}
