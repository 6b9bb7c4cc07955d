/* SPDX-License-Identifier: MIT */
/*
 * --report: one HTML file that any browser opens from its path, without a network.
 *
 * In it: the document of --json, findings where a judge has any, what was recorded as blocks
 * (report/page/run_blocks.h), and the scripts that draw them. Each number of the page is read from these.
 */
#include <report/export/export.h>

#include <report/file/output_file.h>
#include <report/findings/findings.h>
#include <report/page/escaped_json.h>
#include <report/page/page_files.h>
#include <report/page/run_blocks.h>
#include <report/run/result.h>

static void put_result(struct pto_json_writer *w, const void *context) { pto_run_result_put(context, w); }

static void put_findings(struct pto_json_writer *w, const void *context) { pto_findings_put_json(context, w); }

int pto_export_page(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                    struct pto_error *error) {
  FILE *to;
  int status = pto_output_open_stream(path, &to, error);
  if (status) return status;
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>report</title>\n<style>\n",
        to);
  pto_page_put_style(to);
  fputs("</style>\n</head>\n<body>\n", to);
  pto_page_put_body(to);
  int written = info->result ? pto_escaped_json_write("result", put_result, info->result, to) : PTO_OK;
  if (written == PTO_OK && info->findings) written = pto_escaped_json_write("found", put_findings, info->findings, to);
  if (written == PTO_OK) written = pto_run_blocks_write(trace, info, to);
  pto_page_put_scripts(to);
  fputs("</body>\n</html>\n", to);
  status = pto_output_close_stream(path, to, error);
  return status == PTO_OK && written ? pto_error_set(error, written, "%s: %s", path, pto_strerror(written)) : status;
}
