/* SPDX-License-Identifier: MIT */
#include <report/findings/findings.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pto/tools.h>
#include <report/file/colour.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>
#include <runtime/base/text.h>
#include <runtime/trace/trace_words.h>

static const struct kind {
  const char *name, *meaning, *remedy;
  bool is_note;
  enum pto_decided decided;
} kinds[] = {
#define X(kind, name, is_note, decided, meaning, remedy) {name, meaning, remedy, is_note, PTO_DECIDED_##decided},
    PTO_FINDING_LIST(X)
#undef X
};
_Static_assert(PTO_ARRAY_LENGTH(kinds) == PTO_FINDING_COUNT, "a line a kind");

const char *pto_finding_kind_name(uint32_t kind) { return kind < PTO_FINDING_COUNT ? kinds[kind].name : "unknown"; }
const char *pto_finding_kind_meaning(uint32_t kind) { return kind < PTO_FINDING_COUNT ? kinds[kind].meaning : ""; }
bool pto_finding_kind_is_note(uint32_t kind) { return kind < PTO_FINDING_COUNT && kinds[kind].is_note; }

enum pto_decided pto_finding_kind_decided(uint32_t kind) {
  return kind < PTO_FINDING_COUNT ? kinds[kind].decided : PTO_DECIDED_THIS_ORDER;
}
enum pto_decided pto_finding_decided(const struct pto_finding *finding) {
  return finding->decided ? finding->decided : pto_finding_kind_decided(finding->kind);
}

static const struct {
  const char *name, *meaning;
} decided_texts[PTO_DECIDED_COUNT] = {
#define X(constant, name, meaning) [PTO_DECIDED_##constant] = {name, meaning},
    PTO_DECIDED_LIST(X)
#undef X
};
const char *pto_decided_name(enum pto_decided decided) { return decided_texts[decided].name; }
const char *pto_decided_meaning(enum pto_decided decided) { return decided_texts[decided].meaning; }

void pto_findings_init(struct pto_findings *findings) { memset(findings, 0, sizeof *findings); }

void pto_findings_fini(struct pto_findings *findings) {
  for (uint32_t i = 0; i < findings->count; i++) {
    free(findings->items[i].sentence);
    free(findings->items[i].remedy);
  }
  free(findings->items);
  memset(findings, 0, sizeof *findings);
}

bool pto_findings_give(struct pto_findings *from, struct pto_findings **findings_out) {
  struct pto_findings *findings = from->is_short ? NULL : malloc(sizeof *findings);
  if (!findings) return false;
  *findings = *from;
  pto_findings_init(from);
  *findings_out = findings;
  return true;
}

void pto_findings_destroy(struct pto_findings *findings) {
  if (!findings) return;
  pto_findings_fini(findings);
  free(findings);
}

/* Groups are few where findings are many: the first of each stands early. */
static struct pto_finding *find_group(const struct pto_findings *findings, const struct pto_finding *finding) {
  for (size_t i = 0; i < findings->count; i++)
    if (findings->items[i].group == finding->group && findings->items[i].kind == finding->kind)
      return &findings->items[i];
  return NULL;
}

bool pto_findings_counts_alone(const struct pto_findings *findings, const struct pto_finding *finding) {
  return findings->count >= PTO_FINDINGS_MAX && find_group(findings, finding);
}

static char *make_sentence(const char *remedy, const char *format, va_list args) {
  char text[2 * PTO_SENTENCE_SIZE];
  int length = vsnprintf(text, PTO_SENTENCE_SIZE, format, args);
  if (length < 0) return NULL;
  size_t used = strnlen(text, PTO_SENTENCE_SIZE);
  if (remedy) snprintf(text + used, sizeof text - used, "; %s", remedy);
  return strdup(text);
}

/* Both are of one task, of which one place is said. */
static bool is_within_task(const struct pto_finding *finding) {
  const uint64_t task = finding->tasks[0];
  return task != PTO_FINDING_NONE && task == finding->tasks[1] && finding->ranks[0] == finding->ranks[1];
}

const char *pto_finding_say_places(const struct pto_finding *finding, char *text, size_t size) {
  const bool is_one = is_within_task(finding), has_two = finding->places[1].own.file[0] && !is_one;
  char first[2 * PTO_SOURCE_FILE_SIZE], second[2 * PTO_SOURCE_FILE_SIZE];
  text[0] = '\0';
  if (!finding->places[0].own.file[0] || (!has_two && !is_one && finding->tasks[1] != PTO_FINDING_NONE)) return text;
  pto_source_call_name(&finding->places[0], first, sizeof first);
  if (has_two) pto_source_call_name(&finding->places[1], second, sizeof second);
  snprintf(text, size, "; submitted at %s%s%s", first, has_two ? " and " : "", has_two ? second : "");
  return text;
}

struct pto_finding_after pto_finding_after_of(const struct pto_trace *trace, const uint64_t tasks[2],
                                              const char *file) {
  struct pto_finding_after after = {.tasks = {tasks[0], tasks[1]}, .file = file};
  for (int i = 0; i < 2; i++) after.launches[i] = pto_trace_task_at(trace, tasks[i])->part_of;
  const struct pto_trace_task *later = pto_trace_task_at(trace, tasks[1]);
  for (uint64_t i = later->first_edge; i < later->first_edge + later->edge_count && i < trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, i);
    if (edge->reason != PTO_EDGE_EXPLICIT) continue;
    if (after.given_count < PTO_FINDING_GIVEN) after.given[after.given_count] = edge->producer;
    after.given_count++;
  }
  return after;
}

/* The tasks of the line: those that are given, and the one to add. */
static void say_list(const struct pto_finding_after *after, uint64_t first, char *text, size_t size) {
  for (uint32_t i = 0; i < after->given_count; i++) pto_text_append(text, size, "task_%" PRIu64 ", ", after->given[i]);
  pto_text_append(text, size, "task_%" PRIu64, first);
}

/* Also of what is no file: "<stdin>". */
static bool is_python(const char *file) { return file[0] == '<' || pto_text_ends_with(file, ".py"); }

static void say_line(const struct pto_finding_after *after, uint64_t first, char *text, size_t size) {
  if (is_python(after->file)) {
    pto_text_append(text, size, ": `after=[");
    say_list(after, first, text, size);
    pto_text_append(text, size, "]`");
  } else if (!after->given_count) {
    pto_text_append(text, size, ": `.after = &task_%" PRIu64 ", .after_count = 1`", first);
  } else {
    pto_text_append(text, size, ": `.after = (const struct pto_task[]){");
    say_list(after, first, text, size);
    pto_text_append(text, size, "}, .after_count = %" PRIu32 "`", after->given_count + 1);
  }
}

const char *pto_finding_say_after(const struct pto_finding_after *after, char *text, size_t size) {
  const uint64_t *tasks = after->tasks, *launches = after->launches;
  const bool is_within = launches[0] && launches[0] == launches[1], is_launch = launches[1] && !is_within;
  const uint64_t first = launches[0] && !is_within ? launches[0] : tasks[0];
  /* Edges of recorded tasks are explicit, found or given: the list is known where it is empty. */
  const bool is_known = launches[1] ? !after->given_count : after->given_count <= PTO_FINDING_GIVEN;
  const char *dot = strrchr(after->file, '.');
  snprintf(text, size, "add `after` task %" PRIu64 " to ", first);
  if (is_launch)
    pto_text_append(text, size, "the launch of the recording, which is task %" PRIu64, launches[1]);
  else
    pto_text_append(text, size, "task %" PRIu64 "%s", tasks[1], is_within ? " in the recording" : "");
  if (is_known && (!dot || !strcmp(dot, ".c") || !strcmp(dot, ".h") || is_python(after->file)))
    say_line(after, first, text, size);
  return text;
}

void pto_findings_add(struct pto_findings *findings, const struct pto_finding *finding, const char *remedy,
                      const char *format, ...) {
  va_list args;
  if (!remedy) remedy = kinds[finding->kind].remedy;
  findings->by_kind[finding->kind]++;
  if (!pto_finding_kind_is_note(finding->kind)) {
    findings->total++;
    findings->of_manual += finding->is_manual;
  }
  struct pto_finding *first = find_group(findings, finding);
  if (first) first->more++;
  if (first && findings->count >= PTO_FINDINGS_MAX) return;
  va_start(args, format);
  struct pto_finding kept = *finding;
  kept.more = 0;
  kept.sentence = make_sentence(remedy, format, args);
  kept.remedy = remedy ? strdup(remedy) : NULL;
  va_end(args);
  struct pto_finding *item = NULL;
  if (kept.sentence && (kept.remedy || !remedy))
    item = pto_grow(&findings->items, &findings->count, &findings->capacity, sizeof *item);
  if (item) {
    *item = kept;
    return;
  }
  free(kept.sentence);
  free(kept.remedy);
  findings->is_short = true;
}

/* ---- the command that shows it again ---- */

static const char check_verb[] = "ptosim check ";

/* A word of the command, whole. */
static bool has_word(const char *command, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = strstr(command, word); at; at = strstr(at + 1, word))
    if (at > command && at[-1] == ' ' && (at[length] == ' ' || !at[length])) return true;
  return false;
}

/* Whether a kernel is found by its own task alone: what other tasks leave, unwritten or in memory that outlives their
 * calls, is known where they are observed, and so is what no call needs. */
static bool is_of_its_task(const struct pto_finding *finding) {
  return finding->tasks[0] != PTO_FINDING_NONE && !finding->is_of_calls_before &&
         finding->kind != PTO_FINDING_READ_UNWRITTEN && finding->kind != PTO_FINDING_NOT_WRITTEN &&
         finding->kind != PTO_FINDING_UNNEEDED;
}

static bool is_between_tasks(const struct pto_finding *finding) {
  switch (finding->kind) {
  case PTO_FINDING_RAW:
  case PTO_FINDING_WAW:
  case PTO_FINDING_WAR:
  case PTO_FINDING_REDUNDANT:
    return finding->tasks[0] != PTO_FINDING_NONE && finding->tasks[1] != PTO_FINDING_NONE;
  default:
    return false;
  }
}

/* Whether `text` is another command than the one that was given: not where it is too long. */
static bool narrow(const struct pto_findings *findings, const struct pto_finding *finding, char *text, size_t size) {
  const char *command = findings->command;
  const uint64_t *tasks = finding->tasks;
  int length;
  if (strncmp(command, check_verb, strlen(check_verb)) != 0) return false;
  if (has_word(command, "--observe")) {
    if (!is_of_its_task(finding) || has_word(command, "--observe-tasks")) return false;
    const uint64_t other = tasks[1] == PTO_FINDING_NONE ? tasks[0] : tasks[1];
    const uint64_t first = pto_min_u64(tasks[0], other), last = pto_max_u64(tasks[0], other);
    length = snprintf(text, size, "%s --observe-tasks %" PRIu64, command, first);
    if (last > first && length > 0 && (size_t)length < size)
      length += snprintf(text + length, size - (size_t)length, "-%" PRIu64, last);
  } else {
    const char *rest = command + strlen(check_verb);
    if (!is_between_tasks(finding)) return false;
    length = finding->has_ranks ? snprintf(text, size, "ptosim why %s %" PRIu64 ".%" PRIu64 " %" PRIu64 ".%" PRIu64,
                                           rest, finding->ranks[0], tasks[0], finding->ranks[1], tasks[1])
                                : snprintf(text, size, "ptosim why %s %" PRIu64 " %" PRIu64, rest, tasks[0], tasks[1]);
  }
  return length > 0 && (size_t)length < size;
}

const char *pto_finding_again(const struct pto_findings *findings, const struct pto_finding *finding, char *text,
                              size_t size) {
  return findings->command && narrow(findings, finding, text, size) ? text : findings->command;
}

/* ---- for people, and as JSON ---- */

/* The others of a group follow its first and have no count of their own. */
bool pto_findings_is_first(const struct pto_findings *findings, size_t index) {
  const struct pto_finding *finding = &findings->items[index];
  for (size_t i = 0; i < index; i++)
    if (findings->items[i].group == finding->group && findings->items[i].kind == finding->kind) return false;
  return true;
}

static void print_line(const struct pto_findings *findings, const struct pto_finding *finding, FILE *stream) {
  char again[PTO_FINDING_COMMAND];
  pto_colour_put(stream, pto_finding_kind_is_note(finding->kind) ? PTO_COLOUR_NOTE : PTO_COLOUR_BAD,
                 pto_finding_kind_name(finding->kind));
  fprintf(stream, ": %s", finding->sentence);
  if (finding->more) fprintf(stream, " (and %" PRIu64 " more like it)", finding->more);
  fprintf(stream, " [%s]\n", pto_decided_name(pto_finding_decided(finding)));
  if (findings->command && narrow(findings, finding, again, sizeof again)) fprintf(stream, "  again: %s\n", again);
}

void pto_findings_print(const struct pto_findings *findings, FILE *stream, uint32_t max_lines) {
  uint32_t lines = 0, left_out = 0;
  for (int notes = 0; notes <= 1; notes++)
    for (uint32_t i = 0; i < findings->count; i++) {
      const struct pto_finding *finding = &findings->items[i];
      if (pto_finding_kind_is_note(finding->kind) != notes || !pto_findings_is_first(findings, i)) continue;
      if (max_lines && lines == max_lines) {
        left_out++;
        continue;
      }
      print_line(findings, finding, stream);
      lines++;
    }
  if (left_out) fprintf(stream, "and %" PRIu32 " more lines: --json has them\n", left_out);
  if (findings->is_short) fputs(PTO_FINDINGS_LOST "\n", stream);
}

static void put_number(struct pto_json_writer *w, const char *key, uint64_t value) {
  pto_json_key(w, key);
  if (value == PTO_FINDING_NONE)
    pto_json_null(w);
  else
    pto_json_u64(w, value);
}

static void put_numbers(struct pto_json_writer *w, const char *key, const uint64_t values[2]) {
  pto_json_put_array(w, key);
  for (int i = 0; i < 2; i++) {
    if (values[i] == PTO_FINDING_NONE)
      pto_json_null(w);
    else
      pto_json_u64(w, values[i]);
  }
  pto_json_array_end(w);
}

/* NULL: without a key. */
static void put_place(struct pto_json_writer *w, const char *key, const struct pto_source_place *place,
                      const struct pto_source_place *callee) {
  if (key) pto_json_key(w, key);
  if (!place->file[0]) {
    pto_json_null(w);
    return;
  }
  pto_json_object_begin(w);
  pto_json_put_string(w, "file", place->file);
  pto_json_put_string(w, "function", place->function[0] ? place->function : NULL);
  put_number(w, "line", place->line ? place->line : PTO_FINDING_NONE);
  put_number(w, "offset", place->line ? PTO_FINDING_NONE : place->offset);
  if (callee) put_place(w, "callee", callee, NULL);
  pto_json_object_end(w);
}

static void put_texts(struct pto_json_writer *w, const char *key, const char *first, const char *second) {
  pto_json_put_array(w, key);
  pto_json_string(w, first[0] ? first : NULL);
  pto_json_string(w, second[0] ? second : NULL);
  pto_json_array_end(w);
}

void pto_finding_put_accesses(const struct pto_finding *finding, struct pto_json_writer *w) {
  if (finding->has_ranks) put_numbers(w, "ranks", finding->ranks);
  put_numbers(w, "tasks", finding->tasks);
  put_numbers(w, "params", finding->params);
  put_texts(w, "kernels", finding->kernels[0], finding->kernels[1]);
  put_texts(w, "arrays", finding->arrays[0], finding->arrays[1]);
  put_texts(w, "extents", finding->extents[0], finding->extents[1]);
}

void pto_findings_put_json(const struct pto_findings *findings, struct pto_json_writer *w) {
  char again[PTO_FINDING_COMMAND];
  pto_json_put_u64(w, "finding_count", findings->total);
  pto_json_put_bool(w, "findings_lost", findings->is_short);
  pto_json_put_array(w, "findings");
  for (uint32_t i = 0; i < findings->count; i++) {
    const struct pto_finding *finding = &findings->items[i];
    pto_json_newline(w);
    pto_json_object_begin(w);
    pto_json_put_string(w, "kind", pto_finding_kind_name(finding->kind));
    pto_json_put_bool(w, "note", pto_finding_kind_is_note(finding->kind));
    pto_json_put_string(w, "decided", pto_decided_name(pto_finding_decided(finding)));
    pto_finding_put_accesses(finding, w);
    pto_json_put_array(w, "places");
    for (int k = 0; k < 2; k++) put_place(w, NULL, &finding->places[k].own, &finding->places[k].callee);
    pto_json_array_end(w);
    pto_json_put_string(w, "rule", finding->rule);
    pto_json_put_string(w, "sentence", finding->sentence);
    pto_json_put_string(w, "remedy", finding->remedy);
    pto_json_put_string(w, "command", pto_finding_again(findings, finding, again, sizeof again));
    pto_json_put_u64(w, "more", finding->more);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}
