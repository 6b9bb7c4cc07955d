/* SPDX-License-Identifier: MIT */
#include <check/validate/page.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <runtime/base/base.h>

#define MOST_SETS 32

/* ---- which rows ---- */

static bool is_bad(const struct pto_validated *v) { return pto_validated_verdict(v) != PTO_ROW_GOOD; }

/* The base of a change; NULL: it is none, or one of the two has no prediction. */
static const struct pto_validated *base_of(const struct pto_page *page, const struct pto_validated *v) {
  if (!v->row->base_row || !v->prediction || v->row->metric == PTO_ROW_edges) return NULL;
  for (size_t i = 0; i < page->count; i++)
    if (page->items[i].row == v->row->base_row && page->items[i].prediction) return &page->items[i];
  return NULL;
}

static bool is_change_bad(const struct pto_change *change) {
  return change->is_large && !(change->has_sign && change->has_size);
}

struct errors {
  size_t count;
  double sum, most;
  const struct pto_validated *worst;
};

/* Of the rows of a set and metric. */
static struct errors errors_of(const struct pto_page *page, const char *set, enum pto_row_metric metric) {
  struct errors errors = {0};
  for (size_t i = 0; i < page->count; i++) {
    const struct pto_validated *v = &page->items[i];
    if (strcmp(v->row->set, set) != 0 || v->row->metric != metric || !v->prediction) continue;
    const double error = fabs(pto_validated_error(v));
    errors.sum += error;
    if (!errors.count++ || error > errors.most) {
      errors.most = error;
      errors.worst = v;
    }
  }
  return errors;
}

/* Of the makespans of set check, in percent; 0 where there are none. */
static double mean_of_checks(const struct pto_page *page) {
  const struct errors errors = errors_of(page, "check", PTO_ROW_makespan);
  return errors.count ? errors.sum / (double)errors.count : 0;
}

struct pto_page_counts pto_page_count(const struct pto_page *page) {
  struct pto_page_counts counts = {.means_failed = mean_of_checks(page) > PTO_MEAN_LIMIT_PERCENT};
  for (size_t i = 0; i < page->count; i++) {
    const struct pto_validated *v = &page->items[i], *base = base_of(page, v);
    counts.failed += pto_validated_verdict(v) == PTO_ROW_FAILED;
    counts.unknown += pto_validated_verdict(v) == PTO_ROW_UNKNOWN;
    if (!base) continue;
    const struct pto_change change = pto_change_of(base, v);
    counts.changes_failed += is_change_bad(&change);
  }
  for (size_t i = 0; i < page->kernels->count; i++)
    counts.kernels_failed += pto_validated_kernel_is_bad(&page->kernels->items[i]);
  return counts;
}

bool pto_page_is_good(const struct pto_page_counts *counts) {
  return !counts->failed && !counts->unknown && !counts->changes_failed && !counts->means_failed &&
         !counts->kernels_failed;
}

/* The sets in the order in which they come up; how many. */
static size_t find_sets(const struct pto_page *page, const char *sets[MOST_SETS]) {
  size_t count = 0;
  for (size_t i = 0; i < page->count; i++) {
    size_t at = 0;
    while (at < count && strcmp(sets[at], page->items[i].row->set) != 0) at++;
    if (at == count && count < MOST_SETS) sets[count++] = page->items[i].row->set;
  }
  return count;
}

/* ---- texts ---- */

/* At most `most` characters of the text, without what would end a cell. */
static void put_cell(FILE *to, const char *text, int most) {
  int written = 0;
  for (; *text; text++) {
    const bool is_first = ((unsigned char)*text & 0xc0) != 0x80;
    if (is_first && written == most) {
      fputs("…", to);
      return;
    }
    written += is_first;
    putc(*text == '|' || *text == '\n' ? '/' : *text, to);
  }
}

/* Without a sign before 0.0. */
static double shown(double error) { return fabs(error) < 0.05 ? 0 : error; }

static void put_origins(FILE *to, const struct pto_forecast *forecast) {
  uint32_t permille[PTO_ORIGIN_COUNT];
  pto_origin_shares(forecast, permille);
  for (int i = 0; i < PTO_ORIGIN_COUNT; i++) fprintf(to, "%s%.0f", i ? "/" : "", permille[i] * 0.1);
}

static void put_predicted(FILE *to, const struct pto_validated *v) {
  const struct pto_prediction *p = v->prediction;
  if (v->row->metric == PTO_ROW_edges) {
    fprintf(to, "%" PRIu64 " edges", p->plain.edges);
    return;
  }
  fprintf(to, "%.1f", pto_validated_us(v));
  const struct pto_range *range = v->row->metric == PTO_ROW_orchestrator ? &p->window : &p->makespan;
  if (p->runs) fprintf(to, " (%.1f to %.1f)", (double)range->low_ps * 1e-6, (double)range->high_ps * 1e-6);
}

static void put_measured(FILE *to, const struct pto_row *row) {
  if (row->metric == PTO_ROW_edges)
    fprintf(to, "%" PRIu64 " edges", row->edges);
  else
    fprintf(to, "%.1f", row->value_us);
  if (row->has_spread && row->metric != PTO_ROW_edges) fprintf(to, " ± %g %%", row->spread_percent);
}

/* ---- parts ---- */

/* Why a row failed, in a sentence. */
static void put_failure(FILE *to, const struct pto_validated *v) {
  const struct pto_row *row = v->row;
  fputs("- ", to);
  put_cell(to, row->row, 40);
  fprintf(to, ", %s:", pto_row_metric_name(row->metric));
  if (!v->prediction) {
    putc(' ', to);
    put_cell(to, v->problem, 300);
    putc('\n', to);
    return;
  }
  const struct pto_forecast *plain = &v->prediction->plain;
  if (fabs(pto_validated_error(v)) > pto_row_limit(row))
    fprintf(to, " %+.1f %%, where %g %% is the limit.", pto_validated_error(v), pto_row_limit(row));
  const struct {
    bool is_there;
    uint64_t predicted, measured;
    const char *what;
  } counts[] = {{row->has_tasks, pto_validated_tasks(v), row->tasks, "tasks"},
                {row->has_kernel_tasks, plain->kernel_tasks, row->kernel_tasks, "tasks on cores"},
                {row->has_edges, plain->edges, row->edges, "edges"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(counts); i++)
    if (counts[i].is_there && counts[i].predicted != counts[i].measured)
      fprintf(to, " %" PRIu64 " %s instead of %" PRIu64 ".", counts[i].predicted, counts[i].what, counts[i].measured);
  putc('\n', to);
}

static void put_failures(FILE *to, const struct pto_page *page) {
  const struct pto_page_counts counts = pto_page_count(page);
  fputs("## Failures\n\n", to);
  for (size_t i = 0; i < page->count; i++)
    if (is_bad(&page->items[i])) put_failure(to, &page->items[i]);
  if (counts.means_failed)
    fprintf(to, "- Set check, makespan: %.1f %% in the mean, where %g %% is the limit.\n", mean_of_checks(page),
            PTO_MEAN_LIMIT_PERCENT);
  if (counts.changes_failed)
    fprintf(to, "- Changes: %zu of another sign or size than measured, in the table below.\n", counts.changes_failed);
  for (size_t i = 0; i < page->kernels->count; i++) {
    const struct pto_validated_kernel *kernel = &page->kernels->items[i];
    if (!pto_validated_kernel_is_bad(kernel)) continue;
    fprintf(to, "- Kernel %s of %s, by its stages: %+.1f %%, where %g %% is the limit.\n", kernel->name, kernel->set,
            pto_validated_kernel_error(kernel), pto_validated_kernel_limit(kernel));
  }
  if (pto_page_is_good(&counts)) fputs("None.\n", to);
  for (size_t i = 0, told = 0; i < page->count; i++) {
    const struct pto_validated *v = &page->items[i];
    if (!*v->place.warning) continue;
    if (!told++) fputs("\n## Warnings\n\n", to);
    fputs("- ", to);
    put_cell(to, v->row->row, 40);
    fprintf(to, ", %s: ", pto_row_metric_name(v->row->metric));
    put_cell(to, v->place.warning, 250);
    putc('\n', to);
  }
}

static void put_row(FILE *to, const struct pto_validated *v) {
  const struct pto_row *row = v->row;
  const bool is_failed = pto_validated_verdict(v) == PTO_ROW_FAILED;
  fputs("| ", to);
  put_cell(to, row->row, 20);
  fprintf(to, " | %s | ", pto_row_metric_name(row->metric));
  put_measured(to, row);
  fputs(" | ", to);
  if (v->prediction) {
    put_predicted(to, v);
    fprintf(to, " | %s%+.1f %%%s | ", is_failed ? "**" : "", shown(pto_validated_error(v)), is_failed ? "**" : "");
    fputs(row->metric == PTO_ROW_edges ? "" : pto_limit_name(v->prediction->bound), to);
    fputs(" | ", to);
    if (row->metric != PTO_ROW_edges) put_origins(to, &v->prediction->plain);
  } else {
    fputs("none | | |", to);
  }
  fputs(" | ", to);
  put_cell(to, row->era, 20);
  fputs(" | ", to);
  put_cell(to, row->source, 24);
  fputs(" |\n", to);
}

/* "makespan: 4 rows, 5.1 % in the mean, 9.8 % the worst (PAU C2)" of each metric. */
static void put_summary(FILE *to, const struct pto_page *page, const char *set) {
  for (enum pto_row_metric metric = 0; metric < PTO_ROW_METRIC_COUNT; metric++) {
    const struct errors errors = errors_of(page, set, metric);
    if (!errors.count) continue;
    fprintf(to, "- %s: %zu row%s, %.1f %% in the mean, %.1f %% the worst (", pto_row_metric_name(metric), errors.count,
            errors.count == 1 ? "" : "s", errors.sum / (double)errors.count, errors.most);
    put_cell(to, errors.worst->row->row, 40);
    fputs(")\n", to);
  }
}

static bool is_known_set(const char *set) { return strcmp(set, "calibrate") == 0 || strcmp(set, "check") == 0; }

static void put_set(FILE *to, const struct pto_page *page, const char *set) {
  fputs("\n## Rows of set ", to);
  put_cell(to, *set ? set : "(none)", 40);
  fputs("\n\n", to);
  if (strcmp(set, "calibrate") == 0)
    fputs("Components may be fitted to these. A makespan may not, but for the prebuilt graph's.\n\n", to);
  else if (strcmp(set, "check") == 0)
    fputs("These were looked at and never fitted.\n\n", to);
  else
    fputs("A set that the limits of calibrate and check do not know.\n\n", to);
  put_summary(to, page, set);
  fputs("\n| row | metric | measured, µs | predicted, µs | error | bound by | origin | era | source |\n"
        "|---|---|---|---|---|---|---|---|---|\n",
        to);
  for (int bad = 1; bad >= 0; bad--)
    for (size_t i = 0; i < page->count; i++)
      if (strcmp(page->items[i].row->set, set) == 0 && is_bad(&page->items[i]) == bad) put_row(to, &page->items[i]);
}

static void put_sets(FILE *to, const struct pto_page *page) {
  const char *sets[MOST_SETS];
  const size_t count = find_sets(page, sets);
  for (int is_known = 1; is_known >= 0; is_known--)
    for (size_t i = 0; i < count; i++)
      if (is_known_set(sets[i]) == is_known) put_set(to, page, sets[i]);
}

static void put_change(FILE *to, const struct pto_page *page, const struct pto_validated *v) {
  const struct pto_validated *base = base_of(page, v);
  const struct pto_change change = pto_change_of(base, v);
  fputs("| ", to);
  put_cell(to, v->row->row, 36);
  fputs(" | ", to);
  put_cell(to, base->row->row, 36);
  fprintf(to, " | %s | %+.1f %% | %+.1f %% | %s | %s |\n", pto_row_metric_name(v->row->metric), change.measured,
          change.predicted,
          !change.is_large  ? "too small"
          : change.has_sign ? "as measured"
                            : "**wrong**",
          !change.is_large  ? "too small"
          : change.has_size ? "as measured"
                            : "**off**");
}

static void put_changes(FILE *to, const struct pto_page *page) {
  size_t count = 0, large = 0, signs = 0, sizes = 0;
  for (size_t i = 0; i < page->count; i++) {
    const struct pto_validated *base = base_of(page, &page->items[i]);
    if (!base) continue;
    const struct pto_change change = pto_change_of(base, &page->items[i]);
    count++;
    large += change.is_large;
    signs += change.is_large && change.has_sign;
    sizes += change.is_large && change.has_size;
  }
  fputs("\n## Changes\n\n", to);
  if (!count) {
    fputs("No row is a change of another.\n", to);
    return;
  }
  fprintf(
      to,
      "Of %zu changes %zu are of %g %% or more. Of these %zu have the sign that was measured, and %zu the size within "
      "%g %% of it.\n\n",
      count, large, PTO_CHANGE_LEAST_PERCENT, signs, sizes, PTO_CHANGE_SIZE_PERCENT);
  fputs("| row | change of | metric | measured | predicted | sign | size |\n|---|---|---|---|---|---|---|\n", to);
  for (size_t i = 0; i < page->count; i++)
    if (base_of(page, &page->items[i])) put_change(to, page, &page->items[i]);
}

/* "1280 (1280)": predicted, and measured where that is known. */
static void put_count(FILE *to, uint64_t predicted, bool is_there, uint64_t measured) {
  fprintf(to, " | %" PRIu64, predicted);
  if (is_there) fprintf(to, " (%" PRIu64 ")", measured);
}

static void put_counts(FILE *to, const struct pto_page *page) {
  fputs("\n## Tasks and edges\n\n"
        "Counts under `--deps pto`, in brackets those of the rows. A graph that is built before the run has neither "
        "tasks "
        "without\nkernels nor edges from them.\n\n"
        "| row | program | tasks | on cores | edges |\n|---|---|---|---|---|\n",
        to);
  for (size_t i = 0; i < page->count; i++) {
    const struct pto_validated *v = &page->items[i];
    const struct pto_row *row = v->row;
    bool is_told = !v->prediction;
    for (size_t k = 0; k < i; k++) is_told |= page->items[k].prediction == v->prediction;
    if (is_told) continue;
    fputs("| ", to);
    put_cell(to, row->row, 20);
    fputs(" | `", to);
    put_cell(to, v->run, 72);
    putc('`', to);
    put_count(to, pto_validated_tasks(v), row->has_tasks, row->tasks);
    put_count(to, v->prediction->plain.kernel_tasks, row->has_kernel_tasks, row->kernel_tasks);
    put_count(to, v->prediction->plain.edges, row->has_edges, row->edges);
    fputs(" |\n", to);
  }
}

static void put_kernel(FILE *to, const struct pto_validated_kernel *kernel) {
  const char *mark = pto_validated_kernel_is_bad(kernel) ? "**" : "";
  fprintf(to, "| %s | %s | %.2f | %.2f | %s%+.1f %%%s | ", kernel->set, kernel->name,
          (double)kernel->measured_ps * 1e-6, (double)kernel->predicted_ps * 1e-6, mark,
          shown(pto_validated_kernel_error(kernel)), mark);
  if (pto_validated_kernel_limit(kernel) != 0) fprintf(to, "%g %%", pto_validated_kernel_limit(kernel));
  fputs(" |\n", to);
}

static void put_kernels(FILE *to, const struct pto_page *page) {
  if (!page->kernels->count) return;
  fputs("\n## Kernels by their stages\n\n"
        "What the stages of the chip files say of kernels whose time is known: their rows of the table are not looked "
        "at. Stages were\nfitted to these rows; [kernel times](kernel-times.md#how-far-stages-are-off) has each "
        "predicted by stages that were fitted to the others.\n\n"
        "| set | kernel | measured, µs | by stages, µs | error | limit |\n|---|---|---|---|---|---|\n",
        to);
  for (int bad = 1; bad >= 0; bad--)
    for (size_t i = 0; i < page->kernels->count; i++)
      if (pto_validated_kernel_is_bad(&page->kernels->items[i]) == bad) put_kernel(to, &page->kernels->items[i]);
}

static void put_parameters(FILE *to, const struct pto_page *page) {
  fprintf(to, "\n## Parameters\n\nXXH64 of all files together: `%016" PRIx64 "`.\n\n",
          pto_parameters_hash(page->parameters));
  fputs("| file | XXH64 |\n|---|---|\n", to);
  for (size_t i = 0; i < page->parameters->count; i++)
    fprintf(to, "| %s | `%016" PRIx64 "` |\n", page->parameters->files[i].name, page->parameters->files[i].hash);
}

static void put_head(FILE *to, const struct pto_page *page) {
  const struct pto_page_counts counts = pto_page_count(page);
  fprintf(
      to,
      "# Virtual time beside the hardware\n\n"
      "`ptosim validate %s` made this page: %zu measurements, each beside what virtual time predicts. %zu failed, %zu "
      "have no\nprediction, %zu changes failed, %zu kernels failed.\n\n",
      pto_parameter_name(page->rows_path), page->count, counts.failed, counts.unknown, counts.changes_failed,
      counts.kernels_failed);
  if (page->runs)
    fprintf(to,
            "A prediction is the median of %" PRIu32
            " runs whose kernel times vary by %g %% (standard deviation, by seed). In "
            "brackets\nis the range from 10 to 90 %% of them. ",
            page->runs, (double)page->jitter_ppm * 1e-4);
  else
    fputs("A prediction is one run without jitter. ", to);
  fputs("[How](predicting.md) it is made, what *bound by* means, and what a failure is, stands there.\n"
        "*Origin* is the share of core time whose kernel times are measured/interpolated/modelled/assumed, in "
        "percent.\n\n",
        to);
}

static void put_rest(FILE *to) {
  fputs("\n## What is not modelled\n\n"
        "- Caches but the L2, distance to memory, banks and channels of it, translation of addresses.\n"
        "- Contention of control threads for their own memory, and what the operating system does to them.\n"
        "- Clocks that change with load or heat, and arrival of instructions but for the first message of a core.\n"
        "- Other chips, hosts and programs on the same memory or link.\n"
        "- Kernels without a row in a table are told by stages or by the chip's rates: see *origin*.\n"
        "\n## One's own chip\n\n"
        "A capture and its dependencies become a chip file. Then rows of one's own, with `chip` naming it, show how "
        "far it "
        "is off.\n\n"
        "```\n"
        "ptosim import swimlane.json deps.json -o capture.json\n"
        "ptosim calibrate --chip a2a3 --capture capture.json -o mine.ini\n"
        "ptosim list chips mine.ini\n"
        "ptosim predict PROGRAM --chip mine.ini\n"
        "ptosim validate rows.csv -o page.md\n"
        "```\n",
        to);
}

void pto_page_write(const struct pto_page *page, FILE *to) {
  put_head(to, page);
  put_failures(to, page);
  put_sets(to, page);
  put_changes(to, page);
  put_counts(to, page);
  put_kernels(to, page);
  put_parameters(to, page);
  put_rest(to);
}

/* ---- JSON ---- */

static const char *const verdict_names[] = {"good", "failed", "unknown"};

static void put_item(struct pto_json_writer *w, const struct pto_page *page, const struct pto_validated *v) {
  const struct pto_validated *base = base_of(page, v);
  pto_json_object_begin(w);
  pto_json_put_string(w, "row", v->row->row);
  pto_json_put_string(w, "metric", pto_row_metric_name(v->row->metric));
  pto_json_put_string(w, "set", v->row->set);
  pto_json_put_string(w, "run", v->run);
  pto_json_put_string(w, "chip", pto_parameter_name(v->place.chip));
  pto_json_put_string(w, "verdict", verdict_names[pto_validated_verdict(v)]);
  pto_json_put_string(w, "warning", *v->place.warning ? v->place.warning : NULL);
  pto_json_put_string(w, "problem", v->prediction ? NULL : v->problem);
  pto_json_put_double(w, "measured_us", v->row->value_us);
  if (pto_json_try_key(w, "predicted_us", v->prediction != NULL)) pto_json_double(w, pto_validated_us(v));
  if (pto_json_try_key(w, "error_percent", v->prediction != NULL)) pto_json_double(w, pto_validated_error(v));
  if (pto_json_try_key(w, "change", base != NULL)) {
    const struct pto_change change = pto_change_of(base, v);
    pto_json_object_begin(w);
    pto_json_put_string(w, "base", base->row->row);
    pto_json_put_double(w, "measured_percent", change.measured);
    pto_json_put_double(w, "predicted_percent", change.predicted);
    pto_json_put_bool(w, "is_large", change.is_large);
    pto_json_put_bool(w, "has_sign", change.has_sign);
    pto_json_put_bool(w, "has_size", change.has_size);
    pto_json_object_end(w);
  }
  if (pto_json_try_key(w, "prediction", v->prediction != NULL)) {
    pto_json_object_begin(w);
    pto_prediction_put(v->prediction, w);
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
}

static void put_kernel_item(struct pto_json_writer *w, const struct pto_validated_kernel *kernel) {
  const double limit = pto_validated_kernel_limit(kernel);
  pto_json_object_begin(w);
  pto_json_put_string(w, "set", kernel->set);
  pto_json_put_string(w, "kernel", kernel->name);
  pto_json_put_double(w, "measured_us", (double)kernel->measured_ps * 1e-6);
  pto_json_put_double(w, "predicted_us", (double)kernel->predicted_ps * 1e-6);
  pto_json_put_double(w, "error_percent", pto_validated_kernel_error(kernel));
  if (pto_json_try_key(w, "limit_percent", limit != 0)) pto_json_double(w, limit);
  pto_json_object_end(w);
}

void pto_page_put(const struct pto_page *page, struct pto_json_writer *w) {
  const struct pto_page_counts counts = pto_page_count(page);
  pto_json_put_string(w, "file", pto_parameter_name(page->rows_path));
  pto_json_put_u64(w, "failed", counts.failed);
  pto_json_put_u64(w, "unknown", counts.unknown);
  pto_json_put_u64(w, "changes_failed", counts.changes_failed);
  pto_json_put_u64(w, "means_failed", counts.means_failed);
  pto_json_put_u64(w, "kernels_failed", counts.kernels_failed);
  pto_json_key(w, "parameters_hash"), pto_json_hex(w, pto_parameters_hash(page->parameters));
  pto_json_put_array(w, "rows");
  for (size_t i = 0; i < page->count; i++) put_item(w, page, &page->items[i]);
  pto_json_array_end(w);
  pto_json_put_array(w, "kernels");
  for (size_t i = 0; i < page->kernels->count; i++) put_kernel_item(w, &page->kernels->items[i]);
  pto_json_array_end(w);
}
