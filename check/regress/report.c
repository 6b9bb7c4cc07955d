/* SPDX-License-Identifier: MIT */
#include <check/regress/report.h>

#include <string.h>

#include <report/file/output_file.h>

const char *pto_regress_verdict_name(enum pto_regress_verdict verdict) {
  static const char *const names[] = {"not run", "same", "new", "changed", "failed"};
  return names[verdict];
}

/* "ptosim run bgemm": what is typed to do the case alone. */
static void print_command(FILE *to, const char *program, const struct pto_regress_case *c) {
  const bool is_run = strcmp(c->words[0], "run") == 0;
  fprintf(to, "%s %s%s", program, is_run ? "run " : "", c->text);
}

void pto_regress_print_row(FILE *to, const char *program, const struct pto_regress_case *c,
                           const struct pto_regress_result *result) {
  fprintf(to, "%-8s %s\n", pto_regress_verdict_name(result->verdict), c->text);
  if (result->sentence) fprintf(to, "         %s\n", result->sentence);
  if (result->verdict == PTO_REGRESS_NEW) return;
  fputs("         ", to);
  print_command(to, program, c);
  fputc('\n', to);
}

/* ---- JUnit ---- */

/* Text between quotes or tags.  XML has no control characters but blanks. */
static void put_text(FILE *out, const char *text) {
  for (; *text; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c == '&')
      fputs("&amp;", out);
    else if (c == '<')
      fputs("&lt;", out);
    else if (c == '>')
      fputs("&gt;", out);
    else if (c == '"')
      fputs("&quot;", out);
    else if (c == '\n')
      fputs("&#10;", out);
    else
      fputc(c < 0x20 && c != '\t' ? '?' : c, out);
  }
}

static bool is_failure(const struct pto_regress_result *result, bool is_new_wrong) {
  return result->verdict == PTO_REGRESS_FAILED || result->verdict == PTO_REGRESS_CHANGED ||
         (result->verdict == PTO_REGRESS_NEW && is_new_wrong);
}

static void put_case(FILE *out, const struct pto_regress_case *c, const struct pto_regress_result *result,
                     bool is_new_wrong) {
  const bool is_run = strcmp(c->words[0], "run") == 0;
  fputs("  <testcase classname=\"", out);
  put_text(out, is_run && c->words[1] ? c->words[1] : c->words[0]);
  fputs("\" name=\"", out);
  put_text(out, c->text);
  fprintf(out, "\" time=\"%.3f\"", result->seconds);
  if (!is_failure(result, is_new_wrong)) {
    fputs("/>\n", out);
    return;
  }
  fprintf(out, ">\n    <failure type=\"%s\" message=\"", pto_regress_verdict_name(result->verdict));
  put_text(out, result->sentence ? result->sentence : "");
  fputs("\">", out);
  put_text(out, "ptosim ");
  if (strcmp(c->words[0], "run") == 0) fputs("run ", out);
  put_text(out, c->text);
  fputs("</failure>\n  </testcase>\n", out);
}

int pto_regress_write_junit(const char *path, const char *name, const struct pto_regress_list *list,
                            const struct pto_regress_result *results, bool is_new_wrong, struct pto_error *error) {
  size_t failures = 0;
  double seconds = 0;
  FILE *out;
  int status = pto_output_open_stream(path, &out, error);
  if (status) return status;
  for (size_t i = 0; i < list->count; i++) {
    failures += is_failure(&results[i], is_new_wrong);
    seconds += results[i].seconds;
  }
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"", out);
  put_text(out, name);
  fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" time=\"%.3f\">\n", list->count, failures, seconds);
  for (size_t i = 0; i < list->count; i++) put_case(out, &list->cases[i], &results[i], is_new_wrong);
  fputs("</testsuite>\n", out);
  return pto_output_close_stream(path, out, error);
}
