/* SPDX-License-Identifier: MIT */
#include <report/findings/report.h>

#include <stdlib.h>

#include <pto/tools.h>
#include <report/file/output_file.h>

int pto_report_give(struct pto_report *report, int status, struct pto_report **report_out, struct pto_error *error) {
  if (!status && report->findings.is_short) status = pto_error_set(error, PTO_ENOMEM, "no memory for a finding");
  if (status)
    pto_report_destroy(report);
  else
    *report_out = report;
  return status;
}

bool pto_report_is_clean(const struct pto_report *report) { return report->is_clean; }

const struct pto_findings *pto_report_findings(const struct pto_report *report) { return &report->findings; }

void pto_report_print(const struct pto_report *report, FILE *to) {
  report->print(report, to);
  pto_coverage_print(&report->coverage, to);
}

static void put(struct pto_json_writer *w, const void *context) {
  const struct pto_report *report = context;
  report->put(w, report);
  pto_coverage_put_json(&report->coverage, w);
}

int pto_report_write(const struct pto_report *report, const char *path, char *sentence, size_t sentence_size) {
  struct pto_error error;
  if (pto_output_json(path, put, report, &error) == PTO_OK) return PTO_OK;
  return pto_error_tell(&error, sentence, sentence_size);
}

void pto_report_destroy(struct pto_report *report) {
  if (!report) return;
  report->fini(report);
  pto_findings_fini(&report->findings);
  free(report);
}
