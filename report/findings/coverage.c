/* SPDX-License-Identifier: MIT */
#include <report/findings/coverage.h>

#include <inttypes.h>
#include <string.h>

#define COMMAND_SIZE 1024u

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

static struct pto_coverage_row *leave(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t count) {
  struct pto_coverage_row *row = &coverage->rows[kind];
  const bool is_counted = count != PTO_COVERAGE_UNCOUNTED && row->not_judged != PTO_COVERAGE_UNCOUNTED;
  coverage->is_known = true;
  row->not_judged = is_counted ? row->not_judged + count : PTO_COVERAGE_UNCOUNTED;
  return row;
}

void pto_coverage_leave(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t count,
                        const char *command) {
  struct pto_coverage_row *row = leave(coverage, kind, count);
  if (count == 0) return;
  row->command = command;
  row->reason = NULL;
}

void pto_coverage_leave_because(struct pto_coverage *coverage, enum pto_coverage_kind kind, uint64_t count,
                                const char *reason) {
  struct pto_coverage_row *row = leave(coverage, kind, count);
  if (count && !row->command) row->reason = reason;
}

/* The subject stands behind the verb; in general, where there is no room for it.  NULL: there is no command. */
static const char *format_command(const struct pto_coverage *coverage, const struct pto_coverage_row *row, char *text,
                                  size_t size) {
  static const char form[] = "ptosim %.*s %s%s", general[] = "PROGRAM";
  if (!row->command) return NULL;
  const int verb = (int)strcspn(row->command, " ");
  const char *subject = coverage->subject ? coverage->subject : general;
  if ((size_t)snprintf(text, size, form, verb, row->command, subject, row->command + verb) >= size)
    snprintf(text, size, form, verb, row->command, general, row->command + verb);
  return text;
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

/* What follows is judged by the same, or cannot be for the same reason: both are constants. */
static bool is_alike(const struct pto_coverage_row *a, const struct pto_coverage_row *b) {
  const char *first = a->command ? a->command : a->reason, *second = b->command ? b->command : b->reason;
  return first && second && strcmp(first, second) == 0;
}

/* Rows that follow each other with one command or reason have it once. */
static void print_left(const struct pto_coverage *coverage, FILE *stream) {
  const char *separator = "  not judged: ";
  char command[COMMAND_SIZE];
  uint32_t kind = next_left(coverage, 0), next;
  if (kind == PTO_COVERAGE_COUNT) return;
  for (; kind < PTO_COVERAGE_COUNT; kind = next) {
    const struct pto_coverage_row *row = &coverage->rows[kind];
    next = next_left(coverage, kind + 1);
    const char *by = row->command ? format_command(coverage, row, command, sizeof command) : row->reason;
    const bool is_last = next == PTO_COVERAGE_COUNT || !is_alike(row, &coverage->rows[next]);
    fputs(separator, stream);
    if (row->not_judged == PTO_COVERAGE_UNCOUNTED)
      fprintf(stream, "%s%s%s", kinds[kind].before, row->judged ? "other " : "", kinds[kind].many);
    else
      print_count(kind, row->not_judged, stream);
    if (by && is_last) fprintf(stream, " (%s)", by);
    separator = is_last ? "; " : ", ";
  }
  fputc('\n', stream);
}

void pto_coverage_print(const struct pto_coverage *coverage, FILE *stream) {
  print_judged(coverage, stream);
  print_left(coverage, stream);
}

/* ---- as JSON ---- */

static void put_row(const struct pto_coverage *coverage, const struct pto_coverage_row *row, const char *key,
                    struct pto_json_writer *w) {
  char command[COMMAND_SIZE];
  pto_json_put_object(w, key);
  pto_json_put_u64(w, "judged", row->judged);
  if (pto_json_try_key(w, "not_judged", row->not_judged != PTO_COVERAGE_UNCOUNTED)) pto_json_u64(w, row->not_judged);
  pto_json_put_string(w, "command", format_command(coverage, row, command, sizeof command));
  pto_json_put_string(w, "reason", row->reason);
  pto_json_object_end(w);
}

void pto_coverage_put_json(const struct pto_coverage *coverage, struct pto_json_writer *w) {
  if (!pto_json_try_key(w, "coverage", coverage->is_known)) return;
  pto_json_object_begin(w);
  for (uint32_t kind = 0; kind < PTO_COVERAGE_COUNT; kind++) {
    const struct pto_coverage_row *row = &coverage->rows[kind];
    if (row->judged || row->not_judged) put_row(coverage, row, kinds[kind].key, w);
  }
  pto_json_object_end(w);
}
