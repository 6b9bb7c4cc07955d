/* SPDX-License-Identifier: MIT */
#include <report/findings/coverage.h>

#include <inttypes.h>
#include <string.h>

static const struct {
  const char *key, *before, *one, *many;
} kinds[] = {
#define X(constant, key, before, one, many) {#key, before, one, many},
    PTO_COVERAGE_LIST(X)
#undef X
};

void pto_coverage_add(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t judged) {
  coverage->is_known = true;
  coverage->rows[kind].judged += judged;
}

void pto_coverage_leave(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t count,
                        const char *command) {
  struct pto_coverage_row *row = &coverage->rows[kind];
  coverage->is_known = true;
  if (count == 0) return;
  const bool is_counted = count != PTO_COVERAGE_UNCOUNTED && row->not_judged != PTO_COVERAGE_UNCOUNTED;
  row->not_judged = is_counted ? row->not_judged + count : PTO_COVERAGE_UNCOUNTED;
  if (command) row->command = command;
}

/* ---- for people ---- */

static void print_count(enum pto_coverage_kind kind, uint64_t count, FILE *stream) {
  fprintf(stream, "%s%" PRIu64 " %s", kinds[kind].before, count, count == 1 ? kinds[kind].one : kinds[kind].many);
}

static void print_judged(const struct pto_coverage *coverage, FILE *stream) {
  const char *separator = "  judged: ";
  bool has_any = false;
  for (uint32_t kind = 0; kind < PTO_COVERAGE_COUNT; kind++) {
    const struct pto_coverage_row *row = &coverage->rows[kind];
    if (!row->judged) continue;
    fputs(separator, stream);
    print_count(kind, row->judged, stream);
    separator = ", ";
    has_any = true;
  }
  if (has_any) fputc('\n', stream);
}

/* The next row that has something which was not judged; PTO_COVERAGE_COUNT: none. */
static uint32_t next_left(const struct pto_coverage *coverage, uint32_t kind) {
  while (kind < PTO_COVERAGE_COUNT && !coverage->rows[kind].not_judged) kind++;
  return kind;
}

/* Rows that follow each other with one command have it once. */
static void print_left(const struct pto_coverage *coverage, FILE *stream) {
  const char *separator = "  not judged: ";
  uint32_t kind = next_left(coverage, 0), next;
  if (kind == PTO_COVERAGE_COUNT) return;
  for (; kind < PTO_COVERAGE_COUNT; kind = next) {
    const struct pto_coverage_row *row = &coverage->rows[kind];
    next = next_left(coverage, kind + 1);
    const char *command = row->command, *after = next < PTO_COVERAGE_COUNT ? coverage->rows[next].command : NULL;
    const bool is_last = !command || !after || strcmp(command, after) != 0;
    fputs(separator, stream);
    if (row->not_judged == PTO_COVERAGE_UNCOUNTED)
      fprintf(stream, "%s%s%s", kinds[kind].before, row->judged ? "other " : "", kinds[kind].many);
    else
      print_count(kind, row->not_judged, stream);
    if (command && is_last) fprintf(stream, " (%s)", command);
    separator = is_last ? "; " : ", ";
  }
  fputc('\n', stream);
}

void pto_coverage_print(const struct pto_coverage *coverage, FILE *stream) {
  print_judged(coverage, stream);
  print_left(coverage, stream);
}

/* ---- as JSON ---- */

static void put_row(const struct pto_coverage_row *row, const char *key, struct pto_json_writer *w) {
  pto_json_put_object(w, key);
  pto_json_put_u64(w, "judged", row->judged);
  if (pto_json_try_key(w, "not_judged", row->not_judged != PTO_COVERAGE_UNCOUNTED)) pto_json_u64(w, row->not_judged);
  pto_json_put_string(w, "command", row->command);
  pto_json_object_end(w);
}

void pto_coverage_put_json(const struct pto_coverage *coverage, struct pto_json_writer *w) {
  if (!pto_json_try_key(w, "coverage", coverage->is_known)) return;
  pto_json_object_begin(w);
  for (uint32_t kind = 0; kind < PTO_COVERAGE_COUNT; kind++) {
    const struct pto_coverage_row *row = &coverage->rows[kind];
    if (row->judged || row->not_judged) put_row(row, kinds[kind].key, w);
  }
  pto_json_object_end(w);
}
