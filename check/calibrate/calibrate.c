/* SPDX-License-Identifier: MIT */
#include <check/calibrate/calibrate.h>

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <check/calibrate/map.h>

int pto_calibration_init(const char *chip, struct pto_calibration *c, struct pto_error *error) {
  memset(c, 0, sizeof *c);
  c->path = chip;
  return pto_chip_load_sheet(chip, &c->chip, &c->sheet, error);
}

uint64_t pto_calibration_number(const struct pto_calibration *c, const char *key) {
  const struct pto_chip_note *note = pto_chip_sheet_find(&c->sheet, key);
  return note ? strtoull(note->value, NULL, 10) : 0;
}

void pto_calibration_warn(struct pto_calibration *c, const char *format, ...) {
  const size_t used = strlen(c->warnings);
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(c->warnings + used, sizeof c->warnings - used, format, arguments);
  va_end(arguments);
  if (length > 0 && used + (size_t)length + 2 < sizeof c->warnings)
    memcpy(c->warnings + used + (size_t)length, "\n", 2);
  else
    c->warnings[used] = '\0'; /* no room for one more */
}

void pto_calibration_check(struct pto_calibration *c, const struct pto_calibration_check *check) {
  if (c->check_count < PTO_MAX_CHECKS) c->checks[c->check_count++] = *check;
}

int pto_calibration_set(struct pto_calibration *c, const struct pto_fit *fit, struct pto_error *error) {
  struct pto_chip_note note = {.key = fit->key, .tag = fit->tag};
  const struct pto_chip_note *const before = pto_chip_sheet_find(&c->sheet, fit->key);
  struct pto_fit made = *fit;
  snprintf(note.value, sizeof note.value, "%s", fit->value);
  snprintf(note.source, sizeof note.source, "%s", fit->source);
  snprintf(made.before, sizeof made.before, "%.31s", before ? before->value : "");
  const int status = pto_chip_sheet_set(&c->sheet, &note, error);
  if (status) return status;
  for (uint32_t i = 0; i < c->fit_count; i++) {
    if (strcmp(c->fits[i].key, fit->key) != 0) continue;
    snprintf(made.before, sizeof made.before, "%s", c->fits[i].before);
    c->fits[i] = made;
    return PTO_OK;
  }
  if (c->fit_count < PTO_MAX_FITS) c->fits[c->fit_count++] = made;
  return PTO_OK;
}

/* ---- single figures ---- */

static bool is_found(const struct pto_calibration *c, const char *key) {
  for (uint32_t i = 0; i < c->fit_count; i++)
    if (strcmp(c->fits[i].key, key) == 0) return true;
  return false;
}

/* The sum of a rule's figures; false where one of them is not there. */
static bool sum_terms(const struct pto_map_rule *rule, const struct pto_measurements *m, double *sum, uint32_t *rows,
                      struct pto_fit *fit) {
  size_t used = 0;
  *sum = 0;
  for (*rows = 0; *rows < PTO_ARRAY_LENGTH(rule->terms) && rule->terms[*rows].figure; ++*rows) {
    const struct pto_map_term *term = &rule->terms[*rows];
    const char *source = "";
    double number;
    if (!pto_micro_find(m, term->figure, term->take, term->note, &number, &source)) return false;
    if (term->bytes != 0) number = term->bytes * 1e6 / number; /* 10⁶ bytes/s: ps for so many bytes */
    *sum += number * term->factor;
    const char *const which = term->take == PTO_MICRO_LOW ? "least " : "";
    const int length = *rows == 0
                           ? snprintf(fit->source, sizeof fit->source, "%.100s; %s%s", source, which, term->figure)
                           : snprintf(fit->source + used, sizeof fit->source - used, " %c %s%s",
                                      term->factor < 0 ? '-' : '+', which, term->figure);
    used = pto_min_u64(used + (size_t)length, sizeof fit->source - 1);
  }
  return *rows > 0;
}

static int apply_rule(struct pto_calibration *c, const struct pto_map_rule *rule, const struct pto_measurements *m,
                      struct pto_error *error) {
  struct pto_fit fit = {.component = rule->component, .tag = rule->tag};
  double sum;
  if (rule->era && strcmp(rule->era, c->chip.era) != 0) return PTO_OK;
  if (!sum_terms(rule, m, &sum, &fit.rows, &fit)) return PTO_OK;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(rule->less) && rule->less[i]; i++)
    sum -= (double)pto_calibration_number(c, rule->less[i]);
  if (sum < 0) {
    pto_calibration_warn(c, "%s comes out below 0 and is 0", rule->key);
    sum = 0;
  }
  snprintf(fit.key, sizeof fit.key, "%s", rule->key);
  snprintf(fit.value, sizeof fit.value, "%.0f", floor(sum + 0.5));
  return pto_calibration_set(c, &fit, error);
}

/* Warns of rows of another era than the chip file's, each era once; a row of a prebuilt graph is of its own. */
static void warn_of_eras(struct pto_calibration *c, const struct pto_measurements *m) {
  struct pto_measured_row row, earlier;
  for (size_t i = 0; pto_measured_row_at(m, i, &row); i++) {
    bool is_told = !row.era[0] || strcmp(row.era, c->chip.era) == 0 || strcmp(row.set, "calibrate") != 0;
    for (size_t k = 0; k < i && !is_told && pto_measured_row_at(m, k, &earlier); k++)
      is_told = strcmp(earlier.era, row.era) == 0 && strcmp(earlier.set, "calibrate") == 0;
    if (!is_told)
      pto_calibration_warn(c, "rows of era \"%.60s\" and a chip file of era \"%s\": %.60s and others", row.era,
                           c->chip.era[0] ? c->chip.era : "not said", row.row);
  }
}

int pto_calibration_from_figures(struct pto_calibration *c, const struct pto_measurements *m, struct pto_error *error) {
  const struct pto_map_rule *rule;
  int status = PTO_OK;
  warn_of_eras(c, m);
  for (uint32_t i = 0; !status && (rule = pto_map_rule_at(i)) != NULL; i++)
    if (strcmp(rule->component, PTO_MAP_RECORDER) != 0) status = apply_rule(c, rule, m, error);
  return status;
}

int pto_calibration_recorder_figures(struct pto_calibration *c, const struct pto_measurements *m,
                                     struct pto_error *error) {
  const struct pto_map_rule *rule;
  int status = PTO_OK;
  for (uint32_t i = 0; !status && (rule = pto_map_rule_at(i)) != NULL; i++)
    if (strcmp(rule->component, PTO_MAP_RECORDER) == 0 && !is_found(c, rule->key))
      status = apply_rule(c, rule, m, error);
  return status;
}

/* ---- the report ---- */

static void print_kept(const struct pto_calibration *c, FILE *to) {
  fputs("\nNothing was measured for these; they keep value and tag:\n", to);
  for (uint32_t i = 0; i < c->sheet.count; i++) {
    const struct pto_chip_note *note = &c->sheet.notes[i];
    if (strcmp(note->section, "chip") == 0 || is_found(c, note->key)) continue;
    fprintf(to, "  %-28s %12s  %s\n", note->key, note->value, pto_chip_tag_name(note->tag));
  }
}

static void print_check(const struct pto_calibration_check *check, FILE *to) {
  fprintf(to, "  %-44s %10.1f %s", check->what, check->found, check->unit);
  if (check->most > 0) {
    fprintf(to, " (at most %.0f: %s)\n", check->most, check->found <= check->most ? "yes" : "NO");
    return;
  }
  const double off = check->measured > 0 ? check->found / check->measured - 1 : 0;
  fprintf(to, ", measured %10.1f, %+6.1f %%", check->measured, 100 * off);
  if (check->limit > 0)
    fprintf(to, " (within %.0f %%: %s)", 100 * check->limit, fabs(off) <= check->limit ? "yes" : "NO");
  fputc('\n', to);
}

static void print_checks(const struct pto_calibration *c, FILE *to) {
  if (c->check_count) fputs("\nWhat comes out with these numbers:\n", to);
  for (uint32_t i = 0; i < c->check_count; i++) print_check(&c->checks[i], to);
}

void pto_calibration_print(const struct pto_calibration *c, FILE *to) {
  const char *component = "";
  for (uint32_t i = 0; i < c->fit_count; i++) {
    const struct pto_fit *fit = &c->fits[i];
    if (strcmp(component, fit->component) != 0) fprintf(to, "%s\n", fit->component);
    component = fit->component;
    fprintf(to, "  %-28s %12s  %-9s %" PRIu32 " %s", fit->key, fit->value, pto_chip_tag_name(fit->tag), fit->rows,
            fit->rows == 1 ? "row " : "rows");
    if (fit->residual > 0) fprintf(to, ", residual %.1f %%", 100 * fit->residual);
    if (fit->is_joint) fputs(", not told from the others by these rows", to);
    if (strcmp(fit->before, fit->value) != 0) fprintf(to, "  (was %s)", fit->before[0] ? fit->before : "absent");
    fputc('\n', to);
  }
  print_kept(c, to);
  print_checks(c, to);
  const char *at = c->warnings;
  for (size_t length; *at; at += length + 1) {
    length = strcspn(at, "\n");
    fprintf(to, "warning: %.*s\n", (int)length, at);
  }
}
