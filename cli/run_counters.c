/* SPDX-License-Identifier: MIT */
#include <cli/run_counters.h>

#include <inttypes.h>
#include <string.h>

#include <cli/papi_events.h>

int pto_run_counters_parse(const char *list, struct pto_run_counters *counters, struct pto_error *error) {
  *counters = (struct pto_run_counters){0};
  if (strlen(list) >= sizeof counters->text) return pto_error_set(error, PTO_EINVAL, "the list of events is too long");
  memcpy(counters->text, list, strlen(list) + 1);
  for (char *at = counters->text; at;) {
    char *comma = strchr(at, ',');
    if (comma) *comma++ = '\0';
    if (!*at) return pto_error_set(error, PTO_EINVAL, "\"%s\" has an event without a name", list);
    if (counters->count == PTO_RUN_COUNTERS_MAX)
      return pto_error_set(error, PTO_EINVAL, "more than %u events", PTO_RUN_COUNTERS_MAX);
    counters->names[counters->count++] = at;
    at = comma;
  }
  return PTO_OK;
}

/* Whether PAPI knows it here, and can count it beside those that were accepted before. */
static int try_one(const struct pto_run_counters *counters, uint32_t i, bool has_runtime, struct pto_error *error) {
  const char *names[PTO_RUN_COUNTERS_MAX];
  uint32_t count = 0;
  struct pto_papi_events *tried;
  if (!has_runtime && strncmp(counters->names[i], "pto::", 5) == 0)
    return pto_error_set(error, PTO_ENOTSUP, "%s: there are no counters of a runtime to read", counters->names[i]);
  for (uint32_t k = 0; k < i; k++)
    if (counters->is_counted[k]) names[count++] = counters->names[k];
  names[count++] = counters->names[i];
  const int status = pto_papi_events_open(names, count, &tried, error);
  if (status == PTO_OK) pto_papi_events_close(tried);
  return status;
}

void pto_run_counters_begin(struct pto_run_counters *counters, struct pto_runtime *rt, char *sentence,
                            size_t sentence_size) {
  const char *names[PTO_RUN_COUNTERS_MAX];
  uint32_t count = 0;
  struct pto_error error;
  const bool has_runtime = rt && pto_runtime_publish_counters(rt) == PTO_OK;
  sentence[0] = '\0';
  for (uint32_t i = 0; i < counters->count; i++) {
    counters->is_counted[i] = try_one(counters, i, has_runtime, &error) == PTO_OK;
    if (counters->is_counted[i])
      names[count++] = counters->names[i];
    else if (!sentence[0])
      snprintf(sentence, sentence_size, "%s", error.sentence);
  }
  int status = count ? pto_papi_events_open(names, count, &counters->events, &error) : PTO_OK;
  if (status == PTO_OK && count) status = pto_papi_events_start(counters->events, &error);
  if (status == PTO_OK) return;
  snprintf(sentence, sentence_size, "%s", error.sentence);
  memset(counters->is_counted, 0, sizeof counters->is_counted);
}

void pto_run_counters_end(struct pto_run_counters *counters) {
  int64_t values[PTO_RUN_COUNTERS_MAX];
  struct pto_error error;
  if (!counters->events) return;
  counters->has_values = pto_papi_events_read(counters->events, values, &error) == PTO_OK;
  for (uint32_t i = 0, k = 0; i < counters->count && counters->has_values; i++)
    if (counters->is_counted[i]) counters->values[i] = values[k++];
  pto_papi_events_close(counters->events);
  counters->events = NULL;
}

void pto_run_counters_print(const struct pto_run_counters *counters, FILE *to) {
  for (uint32_t i = 0; i < counters->count; i++)
    if (counters->is_counted[i] && counters->has_values)
      fprintf(to, "  %-8s %-28s %20" PRId64 "\n", i ? "" : "counters", counters->names[i], counters->values[i]);
    else
      fprintf(to, "  %-8s %-28s %20s\n", i ? "" : "counters", counters->names[i], "not counted");
}

void pto_run_counters_write_json(const struct pto_run_counters *counters, struct pto_json_writer *w) {
  pto_json_key(w, "counters");
  pto_json_object_begin(w);
  for (uint32_t i = 0; i < counters->count; i++)
    if (counters->is_counted[i] && counters->has_values)
      pto_json_put_u64(w, counters->names[i], (uint64_t)counters->values[i]);
    else
      pto_json_put_null(w, counters->names[i]);
  pto_json_object_end(w);
}
