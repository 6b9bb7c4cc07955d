/* SPDX-License-Identifier: MIT */
#include <tests/conformance/case_folder.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tests/conformance/case_json.h>

static void run_file(const char *path, pto_case_run *run, struct pto_case_counts *total) {
  struct pto_case_report report = {0};
  struct pto_error error = {0};
  const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
  report.operation = file;
  json_t *document = pto_case_json_load(path, &error);
  json_t *op = json_object_get(document, "op");
  if (json_is_string(op)) report.operation = json_string_value(op);
  if (document)
    run(document, &report);
  else
    pto_case_report_fail(&report, file, "%s", error.sentence);
  pto_case_report_print(&report, total);
  json_decref(document);
}

void pto_case_folder_run(const char *folder, const char *title, pto_case_run *run, struct pto_case_counts *total) {
  char pattern[4096];
  glob_t found = {0};
  struct pto_case_counts before = *total;
  snprintf(pattern, sizeof pattern, "%s/*.json", folder);
  printf("| %s: %s\n", title, folder);
  if (glob(pattern, 0, NULL, &found) != 0) found.gl_pathc = 0;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    size_t length = strlen(found.gl_pathv[i]);
    bool is_index = length >= 11 && strcmp(found.gl_pathv[i] + length - 11, "/index.json") == 0;
    if (!is_index) run_file(found.gl_pathv[i], run, total);
  }
  if (total->cases == before.cases) {
    struct pto_case_report report = {.operation = title};
    pto_case_report_fail(&report, folder, "there are no cases");
    pto_case_report_print(&report, total);
  }
  globfree(&found);
  printf("| %s: %u passed, %u failed, %u skipped\n", title, total->passed - before.passed,
         total->failed - before.failed, total->skipped - before.skipped);
}
