/* SPDX-License-Identifier: MIT */
#include <report/page/page.h>

#include <string.h>

#include <report/file/output_file.h>
#include <report/findings/findings.h>
#include <report/page/escaped_json.h>
#include <report/page/page_files.h>
#include <report/page/run_blocks.h>
#include <report/run/result.h>
#include <report/run/run_path.h>

int pto_report_page_probe(const char *path, struct pto_error *error) {
  if (path && !pto_page_is_built())
    return pto_error_set(error, PTO_ESYSTEM,
                         "--report: this build has no pages; scripts/deps --report and make bring them");
  const char *name = path ? strrchr(path, '/') : NULL, *ending = strrchr(name ? name : path ? path : "", '.');
  if (ending && strcmp(ending, ".html") != 0 && strcmp(ending, ".htm") != 0)
    return pto_error_set(error, PTO_EINVAL, "--report: %s: a page is HTML, and its name ends in .html", path);
  return pto_output_probe(path, error);
}

/* The words of activities and of their groups, by their names in JSON, in the order of their lists. */
static void put_words(struct pto_json_writer *w, const void *unused) {
  (void)unused;
  pto_json_put_object(w, "activities");
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++) pto_json_put_string(w, pto_activity_name(i), pto_activity_text(i));
  pto_json_object_end(w);
  pto_json_put_object(w, "groups");
  for (uint32_t i = 0; i < PTO_GROUP_COUNT; i++)
    pto_json_put_string(w, pto_activity_group_name(i), pto_activity_group_text(i));
  pto_json_object_end(w);
}

int pto_report_page_write(const char *path, const struct pto_report_page *page, struct pto_error *error) {
  static const char *const prefixes[] = {"a-", "b-"};
  FILE *to;
  const int status = pto_output_open_stream(path, &to, error);
  if (status) return status;
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>report</title>\n<style>\n",
        to);
  pto_page_put_style(to);
  fputs("</style>\n</head>\n<body>\n", to);
  pto_page_put_body(to);
  int written = pto_escaped_json_write("words", put_words, NULL, to);
  for (uint32_t i = 0; i < page->document_count && written == PTO_OK; i++)
    written = pto_escaped_json_write(page->documents[i].id, page->documents[i].put, page->documents[i].about, to);
  if (written == PTO_OK && page->trace) written = pto_run_blocks_write(page->trace, page->info, to);
  for (size_t i = 0; i < page->part_count; i++) fwrite(page->parts[i].bytes, 1, page->parts[i].size, to);
  for (int side = 0; side < 2; side++)
    if (page->runs[side]) pto_run_page_put(page->runs[side], prefixes[side], to);
  pto_page_put_scripts(to);
  fputs("</body>\n</html>\n", to);
  return pto_output_close_stream(path, to, written, error);
}

/* ---- of a run ---- */

static void put_result(struct pto_json_writer *w, const void *context) { pto_run_result_put(context, w); }
static void put_findings(struct pto_json_writer *w, const void *context) { pto_findings_put_json(context, w); }

int pto_export_page(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                    struct pto_error *error) {
  struct pto_report_page_document documents[2];
  uint32_t count = 0;
  if (info->result) documents[count++] = (struct pto_report_page_document){"result", put_result, info->result};
  if (info->findings) documents[count++] = (struct pto_report_page_document){"found", put_findings, info->findings};
  const struct pto_report_page page = {.documents = documents, .document_count = count, .trace = trace, .info = info};
  return pto_report_page_write(path, &page, error);
}
