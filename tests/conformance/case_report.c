/* SPDX-License-Identifier: MIT */
#include <tests/conformance/case_report.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void pto_case_report_pass(struct pto_case_report *report) {
  report->counts.cases++;
  report->counts.passed++;
}

void pto_case_report_skip(struct pto_case_report *report, const char *name, const char *reason) {
  report->counts.cases++;
  report->counts.skipped++;
  snprintf(report->skip_reason, sizeof report->skip_reason, "%.80s: %s", name, reason);
}

void pto_case_report_fail(struct pto_case_report *report, const char *name, const char *format, ...) {
  uint32_t index = report->counts.failed++;
  report->counts.cases++;
  if (index >= PTO_CASE_FAILURES_TOLD) return;
  char *text = report->failures[index];
  int used = snprintf(text, sizeof report->failures[0], "%.140s: ", name);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + used, sizeof report->failures[0] - (size_t)used, format, arguments);
  va_end(arguments);
}

void pto_case_report_difference(struct pto_case_worst *worst, double difference, double allowed) {
  double part = allowed > 0 ? difference / allowed : difference > 0 ? INFINITY : 0;
  if (worst->is_known && part <= worst->part) return;
  *worst = (struct pto_case_worst){difference, allowed, part, true};
}

void pto_case_report_print(const struct pto_case_report *report, FILE *to, struct pto_case_counts *total) {
  const struct pto_case_counts *counts = &report->counts;
  fprintf(to, "| %-22s %5u cases %5u passed %3u failed %2u skipped", report->operation, counts->cases, counts->passed,
          counts->failed, counts->skipped);
  if (report->ulp.is_known) fprintf(to, "  worst %g of %g ULP", report->ulp.difference, report->ulp.allowed);
  if (report->atol.is_known) fprintf(to, "  worst %.2g of %g", report->atol.difference, report->atol.allowed);
  if (counts->skipped) fprintf(to, "  (%s)", report->skip_reason);
  fprintf(to, "\n");
  for (uint32_t i = 0; i < counts->failed && i < PTO_CASE_FAILURES_TOLD; i++)
    fprintf(to, "|     %s\n", report->failures[i]);
  if (counts->failed > PTO_CASE_FAILURES_TOLD)
    fprintf(to, "|     and %u more\n", counts->failed - PTO_CASE_FAILURES_TOLD);
  total->cases += counts->cases;
  total->passed += counts->passed;
  total->failed += counts->failed;
  total->skipped += counts->skipped;
  for (uint32_t i = 0; i < PTO_CASE_PATHS; i++) total->on_path[i] += counts->on_path[i];
}
