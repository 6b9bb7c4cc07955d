/* SPDX-License-Identifier: MIT */
#include <cli/adopt/cases.h>

#include <inttypes.h>
#include <string.h>

#include <cli/main/interrupt.h>
#include <formats/units.h>
#include <report/file/output_file.h>
#include <report/file/xml_text.h>
#include <report/run/exit.h>
#include <runtime/base/base.h>

enum verdict { VERIFIED = 0, BY_LUCK, UNJUDGED, WRONG, FAILED, NOT_BUILT, LEFT_OUT, VERDICT_COUNT };
static const char *const verdicts[] = {"verified", "by luck", "unjudged", "wrong", "failed", "not built", "left out"};
_Static_assert(PTO_ARRAY_LENGTH(verdicts) == VERDICT_COUNT, "a name each");

bool pto_adopt_cases_init(struct pto_adopt_cases *cases) { return (cases->array = json_array()) != NULL; }

void pto_adopt_cases_fini(struct pto_adopt_cases *cases) {
  json_decref(cases->array);
  cases->array = NULL;
}

/* ---- one ---- */

static bool is_true(json_t *one, const char *key) { return json_is_true(json_object_get(one, key)); }

static const char *text_of(json_t *one, const char *key) {
  const char *text = json_string_value(json_object_get(one, key));
  return text ? text : "";
}

static enum verdict verdict_of(json_t *one) {
  if (is_true(one, "left_out")) return LEFT_OUT;
  if (!is_true(one, "built")) return NOT_BUILT;
  if (!is_true(one, "run")) return FAILED;
  if (json_is_false(json_object_get(one, "verified"))) return WRONG;
  if (text_of(one, "reason")[0]) return FAILED;
  if (json_array_size(json_object_get(one, "findings"))) return BY_LUCK;
  return is_true(one, "verified") ? VERIFIED : UNJUDGED;
}

const char *pto_adopt_case_verdict(json_t *one) { return verdicts[verdict_of(one)]; }

void pto_adopt_case_print(json_t *one, FILE *to) {
  const char *reason = text_of(one, "reason");
  const uint64_t tasks = (uint64_t)json_integer_value(json_object_get(one, "tasks")),
                 edges = (uint64_t)json_integer_value(json_object_get(one, "edges"));
  json_t *findings = json_object_get(one, "findings"), *finding;
  json_t *substitutes = json_object_get(one, "substitutes"), *substitute;
  size_t i;
  fprintf(to, "%-9s  %-4s  %-7s  %s", pto_adopt_case_verdict(one), text_of(one, "architecture"), text_of(one, "engine"),
          text_of(one, "name"));
  if (json_object_get(one, "tasks"))
    fprintf(to, "  %" PRIu64 " task%s, %" PRIu64 " edge%s", tasks, pto_plural(tasks), edges, pto_plural(edges));
  if (json_object_get(one, "seconds")) fprintf(to, "  %.3f s", json_number_value(json_object_get(one, "seconds")));
  fputc('\n', to);
  if (reason[0]) fprintf(to, "    %s\n", reason);
  json_array_foreach(substitutes, i, substitute) fprintf(to, "    not built: %s\n", json_string_value(substitute));
  json_array_foreach(findings, i, finding) fprintf(to, "    %s\n", json_string_value(finding));
  if (json_integer_value(json_object_get(one, "manual_conflicts")))
    fprintf(to, "    not judged: %" PRId64 " conflicts of manual scopes, as declared, which nothing orders\n",
            (int64_t)json_integer_value(json_object_get(one, "manual_conflicts")));
}

/* ---- all ---- */

static void count(const struct pto_adopt_cases *cases, size_t counts[VERDICT_COUNT]) {
  json_t *one;
  size_t i;
  memset(counts, 0, VERDICT_COUNT * sizeof *counts);
  json_array_foreach(cases->array, i, one) counts[verdict_of(one)]++;
}

void pto_adopt_cases_print_sum(const struct pto_adopt_cases *cases, FILE *to) {
  size_t counts[VERDICT_COUNT];
  count(cases, counts);
  const size_t all = json_array_size(cases->array) - counts[LEFT_OUT], built = all - counts[NOT_BUILT];
  fprintf(to, "adopt: %zu cases, %zu built, %zu run, %zu verified", all, built, built - counts[FAILED],
          counts[VERIFIED] + counts[BY_LUCK]);
  if (counts[BY_LUCK]) fprintf(to, " (%zu by luck)", counts[BY_LUCK]);
  if (counts[UNJUDGED]) fprintf(to, ", %zu unjudged", counts[UNJUDGED]);
  if (counts[WRONG]) fprintf(to, ", %zu wrong", counts[WRONG]);
  if (counts[LEFT_OUT]) fprintf(to, "; %zu left out", counts[LEFT_OUT]);
  fputc('\n', to);
}

int pto_adopt_cases_exit(const struct pto_adopt_cases *cases) {
  size_t counts[VERDICT_COUNT];
  if (pto_interrupted()) return PTO_EXIT_INTERRUPTED;
  count(cases, counts);
  if (counts[FAILED] || counts[NOT_BUILT]) return PTO_EXIT_FAILED;
  return counts[WRONG] || counts[BY_LUCK] ? PTO_EXIT_FINDINGS : PTO_EXIT_OK;
}

const char *pto_adopt_cases_reason(const struct pto_adopt_cases *cases) {
  json_t *one;
  size_t i;
  json_array_foreach(cases->array, i, one) {
    const enum verdict verdict = verdict_of(one);
    if ((verdict == FAILED || verdict == NOT_BUILT) && text_of(one, "reason")[0]) return text_of(one, "reason");
  }
  return NULL;
}

/* ---- JSON ---- */

static void put_value(struct pto_json_writer *w, json_t *value);

static void put_members(struct pto_json_writer *w, json_t *object) {
  const char *key;
  json_t *item;
  json_object_foreach(object, key, item) {
    pto_json_key(w, key);
    put_value(w, item);
  }
}

static void put_value(struct pto_json_writer *w, json_t *value) {
  json_t *item;
  size_t i;
  if (json_is_string(value))
    pto_json_string(w, json_string_value(value));
  else if (json_is_integer(value))
    pto_json_i64(w, json_integer_value(value));
  else if (json_is_real(value))
    pto_json_double(w, json_real_value(value));
  else if (json_is_boolean(value))
    pto_json_bool(w, json_is_true(value));
  else if (json_is_array(value)) {
    pto_json_array_begin(w);
    json_array_foreach(value, i, item) put_value(w, item);
    pto_json_array_end(w);
  } else if (json_is_object(value)) {
    pto_json_object_begin(w);
    put_members(w, value);
    pto_json_object_end(w);
  } else
    pto_json_null(w);
}

static void put(struct pto_json_writer *w, const void *context) {
  const struct pto_adopt_cases *cases = context;
  json_t *one;
  size_t i;
  pto_json_put_format(w, "pto-adopt", 1);
  pto_json_put_array(w, "cases");
  json_array_foreach(cases->array, i, one) {
    pto_json_newline(w);
    pto_json_object_begin(w);
    put_members(w, one);
    pto_json_put_string(w, "verdict", pto_adopt_case_verdict(one));
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_put_u64(w, "exit", (uint64_t)pto_adopt_cases_exit(cases));
}

int pto_adopt_cases_write_json(const struct pto_adopt_cases *cases, const char *path, struct pto_error *error) {
  if (!path) return PTO_OK;
  return pto_output_json(path, put, cases, error);
}

/* ---- JUnit ---- */

static void put_case(FILE *out, json_t *one) {
  const enum verdict verdict = verdict_of(one);
  json_t *findings = json_object_get(one, "findings"), *finding;
  size_t i;
  fputs("  <testcase classname=\"", out);
  pto_xml_put_text(out, text_of(one, "scene"));
  fputs("\" name=\"", out);
  pto_xml_put_text(out, text_of(one, "name"));
  fprintf(out, " (%s %s)\" time=\"%.3f\"", text_of(one, "architecture"), text_of(one, "engine"),
          json_number_value(json_object_get(one, "seconds")));
  if (verdict == VERIFIED || verdict == UNJUDGED) {
    fputs("/>\n", out);
    return;
  }
  fprintf(out, ">\n    <%s message=\"", verdict == LEFT_OUT ? "skipped" : "failure");
  pto_xml_put_text(out, verdicts[verdict]);
  if (text_of(one, "reason")[0]) fputs(": ", out);
  pto_xml_put_text(out, text_of(one, "reason"));
  fputs("\">", out);
  json_array_foreach(findings, i, finding) {
    pto_xml_put_text(out, json_string_value(finding));
    fputc('\n', out);
  }
  fprintf(out, "</%s>\n  </testcase>\n", verdict == LEFT_OUT ? "skipped" : "failure");
}

int pto_adopt_cases_write_junit(const struct pto_adopt_cases *cases, const char *suite, const char *path,
                                struct pto_error *error) {
  size_t counts[VERDICT_COUNT], i;
  double seconds = 0;
  json_t *one;
  FILE *out;
  if (!path) return PTO_OK;
  const int status = pto_output_open_stream(path, &out, error);
  if (status) return status;
  count(cases, counts);
  json_array_foreach(cases->array, i, one) seconds += json_number_value(json_object_get(one, "seconds"));
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"", out);
  pto_xml_put_text(out, suite);
  fprintf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\" time=\"%.3f\">\n",
          json_array_size(cases->array), counts[WRONG] + counts[FAILED] + counts[NOT_BUILT] + counts[BY_LUCK],
          counts[LEFT_OUT], seconds);
  json_array_foreach(cases->array, i, one) put_case(out, one);
  fputs("</testsuite>\n", out);
  return pto_output_close_stream(path, out, PTO_OK, error);
}
