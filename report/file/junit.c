/* SPDX-License-Identifier: MIT */
#include <report/file/junit.h>

#include <stdio.h>

#include <report/file/output_file.h>
#include <report/file/xml_text.h>

static void put_attribute(FILE *out, const char *key, const char *text) {
  fprintf(out, " %s=\"", key);
  pto_xml_put_text(out, text ? text : "");
  fputc('"', out);
}

static void put_case(FILE *out, const struct pto_junit_case *one) {
  static const char *const tags[] = {"", "failure", "error", "skipped"};
  fputs("  <testcase", out);
  put_attribute(out, "classname", one->of);
  put_attribute(out, "name", one->name);
  fprintf(out, " time=\"%.3f\"", one->seconds);
  if (one->outcome == PTO_JUNIT_RIGHT) {
    fputs("/>\n", out);
    return;
  }
  fprintf(out, ">\n    <%s", tags[one->outcome]);
  if (one->outcome != PTO_JUNIT_SKIPPED) put_attribute(out, "type", one->type);
  put_attribute(out, "message", one->message);
  fputc('>', out);
  pto_xml_put_text(out, one->text);
  fprintf(out, "</%s>\n  </testcase>\n", tags[one->outcome]);
}

int pto_junit_write(const char *path, const char *name, size_t count,
                    void (*at)(const void *context, size_t index, struct pto_junit_case *one), const void *context,
                    struct pto_error *error) {
  size_t by_outcome[4] = {0};
  double seconds = 0;
  FILE *out;
  const int status = pto_output_open_stream(path, &out, error);
  if (status) return status;
  for (size_t i = 0; i < count; i++) {
    struct pto_junit_case one = {0};
    at(context, i, &one);
    by_outcome[one.outcome]++;
    seconds += one.seconds;
  }
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite", out);
  put_attribute(out, "name", name);
  fprintf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n", count,
          by_outcome[PTO_JUNIT_FAILURE], by_outcome[PTO_JUNIT_ERROR], by_outcome[PTO_JUNIT_SKIPPED], seconds);
  for (size_t i = 0; i < count; i++) {
    struct pto_junit_case one = {0};
    at(context, i, &one);
    put_case(out, &one);
  }
  fputs("</testsuite>\n", out);
  return pto_output_close_stream(path, out, PTO_OK, error);
}
