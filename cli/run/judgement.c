/* SPDX-License-Identifier: MIT */
#include <cli/run/judgement.h>

#include <string.h>

#include <report/file/junit.h>
#include <report/findings/sarif.h>

static bool has_findings(const struct pto_judgement *judgement) {
  return judgement->findings && !pto_findings_is_clean(judgement->findings);
}

/* All findings that there is room for, a line each. */
static void list_findings(const struct pto_findings *findings, char *text, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < findings->count && used < size; i++) {
    const struct pto_finding *finding = &findings->items[i];
    if (!pto_finding_kind_is_note(finding->kind))
      used += (size_t)snprintf(text + used, size - used, "%s: %s\n", pto_finding_kind_name(finding->kind),
                               finding->sentence);
  }
}

static void at(const void *context, size_t index, struct pto_junit_case *one) {
  static char name[512]; /* the same each time */
  const struct pto_judgement *judgement = context;
  snprintf(name, sizeof name, "%s %s%s%s", judgement->verb, judgement->program, judgement->case_name ? " " : "",
           judgement->case_name ? judgement->case_name : "");
  one->of = judgement->program;
  one->name = name;
  one->seconds = judgement->seconds;
  if (judgement->exit_code == PTO_EXIT_OK) return;
  one->outcome = judgement->exit_code == PTO_EXIT_FINDINGS ? PTO_JUNIT_FAILURE : PTO_JUNIT_ERROR;
  one->type = one->outcome == PTO_JUNIT_ERROR ? "failed" : has_findings(judgement) ? "findings" : "wrong";
  one->message = judgement->error;
  if (!has_findings(judgement)) return;
  list_findings(judgement->findings, one->text, sizeof one->text);
  if (!judgement->error || !judgement->error[0]) one->message = judgement->findings->items[0].sentence;
}

int pto_write_judgement(const struct pto_run_options *options, const struct pto_judgement *judgement) {
  struct pto_error error;
  int status = PTO_OK;
  if (options->sarif_path && judgement->findings)
    status = pto_sarif_write(options->sarif_path, judgement->findings, judgement->program,
                             judgement->exit_code <= PTO_EXIT_FINDINGS, &error);
  if (status == PTO_OK && options->junit_path)
    status = pto_junit_write(options->junit_path, "ptosim", 1, at, judgement, &error);
  return status ? pto_complain(PTO_EXIT_FAILED, "%s", error.sentence) : judgement->exit_code;
}
