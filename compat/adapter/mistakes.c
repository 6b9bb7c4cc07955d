/* SPDX-License-Identifier: MIT */
/*
 * The orchestration of this thread, the first mistake of its run, the lines that its calls are made at, and what it
 * logs.
 */
#include <compat/adapter/state.h>

#include <runtime/base/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls of an orchestration name no run.  initial-exec: compat/kernel/seam.c says why. */
static _Thread_local struct pto_compat *current __attribute__((tls_model("initial-exec")));

struct pto_compat *pto_compat_current(void) {
  return current && !current->has_failed ? current : NULL;
}

struct pto_compat *pto_compat_enter(struct pto_compat *compat) {
  struct pto_compat *outer = current;
  current = compat;
  return outer;
}

/* ---- errors ---- */

/* The numbers of pto_runtime_status.h. */
static const struct {
  int32_t code;
  const char *name;
} codes[] = {{1, "SCOPE_DEADLOCK"},        {2, "HEAP_RING_DEADLOCK"},
             {3, "FLOW_CONTROL_DEADLOCK"}, {4, "DEP_POOL_OVERFLOW"},
             {5, "INVALID_ARGS"},          {7, "REQUIRE_SYNC_START_INVALID"},
             {8, "TENSOR_WAIT_TIMEOUT"},   {9, "EXPLICIT_ORCH_FATAL"},
             {10, "SCOPE_TASKS_OVERFLOW"}, {11, "TENSORMAP_OVERFLOW"},
             {100, "SCHEDULER_TIMEOUT"},   {101, "ASYNC_COMPLETION_INVALID"},
             {102, "ASYNC_WAIT_OVERFLOW"}, {103, "ASYNC_REGISTRATION_FAILED"}};

static const char *code_name(int32_t code) {
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
    if (codes[i].code == code) return codes[i].name;
  return "of the orchestration";
}

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void fail(struct pto_compat *compat, int32_t code, const struct pto_compat_place *place, const char *sentence) {
  char text[PTO_SENTENCE_SIZE], line[16] = "";
  if (compat->has_failed) return;
  compat->has_failed = true;
  compat->code = code;
  if (place->line) snprintf(line, sizeof line, ":%u", place->line);
  snprintf(text, sizeof text, "error %d (%s): %s%s: %s", code, code_name(code), last_part(place->file), line, sentence);
  (void)pto_report_error(compat->rt, text);
}

void pto_compat_fail(struct pto_compat *compat, int32_t code, const struct pto_compat_place *place, const char *format,
                     ...) {
  char sentence[PTO_SENTENCE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  fail(compat, code, place, sentence);
}

static const struct status {
  int value;
  int32_t number;
  bool ends_run;
} statuses[] = {
#define X(name, value, number, ends_run, text) {value, number, ends_run},
    PTO_STATUS_LIST(X)
#undef X
};

/* NULL: no status of the list. */
static const struct status *find_status(int value) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(statuses); i++)
    if (statuses[i].value == value) return &statuses[i];
  return NULL;
}

void pto_compat_fail_as(struct pto_compat *compat, int status, const struct pto_compat_place *place, const char *what) {
  const struct status *known = find_status(status);
  if (!known || known->ends_run) { /* the run has its sentence */
    compat->has_failed = true;
    return;
  }
  const bool is_ours = status == PTO_ENOMEM;
  const int32_t code = status == PTO_EFIT ? 7 : is_ours ? 9 : 5;
  pto_compat_fail(compat, code, place, "%s: %s", what, is_ours ? "out of memory" : pto_last_error(compat->rt));
}

int32_t pto_compat_error_code(const struct pto_compat *compat, int status) {
  if (status == PTO_OK) return 0;
  const struct status *known = find_status(status);
  return compat->code ? compat->code : known ? known->number : 0;
}

/* ---- places ---- */

const struct pto_place *pto_compat_tell_place(struct pto_compat *compat, const struct pto_compat_place *place,
                                              const char *what) {
  const uint64_t hash = ((uintptr_t)place->file ^ place->line) * UINT64_C(0x9e3779b97f4a7c15);
  struct pto_compat_line **bucket = &compat->lines[hash >> 32 & (PTO_COMPAT_LINE_BUCKETS - 1)], *line = *bucket;
  while (line && (line->place.line != place->line || line->place.file != place->file)) line = line->next;
  if (!line) {
    line = malloc(sizeof *line);
    if (!line) {
      pto_compat_fail_as(compat, PTO_ENOMEM, place, what);
      return NULL;
    }
    *line = (struct pto_compat_line){{place->file, place->line}, *bucket};
    *bucket = line;
  }
  pto_call_from(compat->rt, &line->place);
  return &line->place;
}

/* ---- logging ---- */

void pto_compat_say(struct pto_compat *compat, uint32_t level, const struct pto_compat_place *place, const char *format,
                    ...) {
  char text[PTO_SENTENCE_SIZE];
  if (!compat->log) return;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  compat->log(compat->log_context, level, place, text);
}

void pto_compat_log(uint32_t level, const struct pto_compat_place *place, const char *format, ...) {
  char text[PTO_SENTENCE_SIZE];
  if (!current || !current->log) return;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  current->log(current->log_context, level, place, text);
}

/* ---- what orchestrations report ---- */

bool pto_compat_is_fatal(void) { return !current || current->has_failed; }

void pto_compat_fatal(int32_t code, const struct pto_compat_place *place, const char *format, ...) {
  char sentence[PTO_SENTENCE_SIZE];
  if (!pto_compat_current()) return;
  va_list args;
  va_start(args, format);
  vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  fail(current, code, place, sentence);
}

void pto_compat_mistake(const struct pto_compat_place *place, const char *sentence) {
  if (pto_compat_current()) fail(current, 5, place, sentence);
}
