/* SPDX-License-Identifier: MIT */
#include <tests/conformance/case_folder.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>
#include <tests/conformance/case_json.h>
#include <tests/conformance/conformance_run.h>

static bool is_index(const char *path) {
  const size_t length = strlen(path);
  return length >= 11 && strcmp(path + length - 11, "/index.json") == 0;
}

static bool add_file(struct pto_case_list *list, const char *folder, const char *path, const char *title,
                     pto_case_run *run) {
  struct pto_case_file *file = pto_grow(&list->files, &list->count, &list->capacity, sizeof *file);
  if (!file) return false;
  *file = (struct pto_case_file){title, strdup(folder), path ? strdup(path) : NULL, run};
  return file->folder && (!path || file->path);
}

int pto_case_list_add(struct pto_case_list *list, const char *folder, const char *title, pto_case_run *run) {
  char pattern[4096];
  glob_t found = {0};
  const size_t before = list->count;
  bool is_kept = true;
  snprintf(pattern, sizeof pattern, "%s/*.json", folder);
  if (glob(pattern, 0, NULL, &found) != 0) found.gl_pathc = 0;
  for (size_t i = 0; i < found.gl_pathc && is_kept; i++)
    if (!is_index(found.gl_pathv[i]))
      is_kept = add_file(list, folder, found.gl_pathv[i], list->count == before ? title : NULL, run);
  globfree(&found);
  if (list->count == before) is_kept = add_file(list, folder, NULL, title, run);
  return is_kept ? PTO_OK : PTO_ENOMEM;
}

void pto_case_list_fini(struct pto_case_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    free(list->files[i].folder);
    free(list->files[i].path);
  }
  free(list->files);
  *list = (struct pto_case_list){0};
}

static void run_document(const struct pto_case_file *file, struct pto_case_report *report) {
  struct pto_error error = {0};
  json_t *document = pto_case_json_load(file->path, &error);
  json_t *op = json_object_get(document, "op");
  if (json_is_string(op)) snprintf(report->operation, sizeof report->operation, "%s", json_string_value(op));
  if (document)
    file->run(document, report);
  else
    pto_case_report_fail(report, report->operation, "%s", error.sentence);
  json_decref(document);
}

void pto_case_file_run(const struct pto_case_file *file, FILE *to, struct pto_case_counts *total) {
  struct pto_case_report report = {0};
  const char *slash = file->path ? strrchr(file->path, '/') : NULL;
  snprintf(report.operation, sizeof report.operation, "%s", slash ? slash + 1 : file->title ? file->title : "");
  if (file->title) fprintf(to, "| %s: %s\n", file->title, file->folder);
  if (file->path)
    run_document(file, &report);
  else
    pto_case_report_fail(&report, file->folder, "there are no cases");
  pto_case_report_print(&report, to, total);
}

static void print_paths(const struct pto_case_counts *total) {
  for (uint32_t i = 0; i < PTO_CASE_PATHS; i++)
    printf("%s%u %s", i ? ", " : "| passed by path: ", total->on_path[i], pto_conformance_paths[i].name);
  putchar('\n');
}

int pto_case_list_run(struct pto_case_list *list) {
  struct pto_case_counts total = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < list->count; i++) pto_case_file_run(&list->files[i], stdout, &total);
  print_paths(&total);
  printf("%u passed, %u failed, %u skipped\n", total.passed, total.failed, total.skipped);
  pto_case_list_fini(list);
  return total.failed ? 1 : 0;
}
