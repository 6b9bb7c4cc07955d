/* SPDX-License-Identifier: MIT */
#include <cli/measure/run_counters.h>

#include <inttypes.h>
#include <string.h>

#include <cli/measure/event_source.h>
#include <cli/measure/kernel_counters.h>
#include <runtime/base/closest.h>
#include <runtime/control/published_counters.h>

int pto_run_counters_parse(const char *list, struct pto_run_counters *counters, struct pto_error *error) {
  *counters = (struct pto_run_counters){.is_by_kernel = counters->is_by_kernel};
  if (strlen(list) >= sizeof counters->text) return pto_error_set(error, PTO_EINVAL, "the list of events is too long");
  memcpy(counters->text, list, strlen(list) + 1);
  for (char *at = counters->text; at;) {
    char *comma = strchr(at, ',');
    if (comma) *comma++ = '\0';
    if (!*at) return pto_error_set(error, PTO_EINVAL, "\"%s\" has an event without a name", list);
    if (counters->count == PTO_RUN_COUNTERS_MAX)
      return pto_error_set(error, PTO_EINVAL, "more than %u events, of which %s is one", PTO_RUN_COUNTERS_MAX, at);
    for (uint32_t i = 0; i < counters->count; i++)
      if (strcmp(counters->names[i], at) == 0) return pto_error_set(error, PTO_EINVAL, "%s stands there twice", at);
    counters->names[counters->count++] = at;
    at = comma;
  }
  return PTO_OK;
}

int pto_run_counters_parse_by(const char *word, struct pto_run_counters *counters, struct pto_error *error) {
  counters->is_by_kernel = strcmp(word, "kernel") == 0;
  if (counters->is_by_kernel || strcmp(word, "run") == 0) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is neither kernel nor run", word);
}

int pto_run_counters_prepare(struct pto_run_counters *counters, const struct pto_kernel_meter **meter_out,
                             struct pto_error *error) {
  *meter_out = NULL;
  if (!counters->is_by_kernel) return PTO_OK;
  int status = pto_kernel_counters_create(&pto_machine_events, &counters->by_kernel, error);
  if (status == PTO_OK) *meter_out = pto_kernel_counters_meter(counters->by_kernel);
  return status;
}

void pto_run_counters_fini(struct pto_run_counters *counters) {
  pto_kernel_counters_destroy(counters->by_kernel);
  counters->by_kernel = NULL;
}

/* Counters of libraries, a runtime's too, belong to no thread, and so to no kernel. */
static bool is_of_kernels(const struct pto_run_counters *counters, const char *name) {
  return counters->is_by_kernel && strncmp(name, "pto", 3) != 0 && strncmp(name, "sde:::", 6) != 0;
}

/* PAPI takes any name for a counter of a library, which may come later, and counts 0 of one that never comes. */
static int check_counter(const char *name, struct pto_error *error) {
  static const char *const counters[] = {
#define X(counter, is_sum, text) #counter,
      PTO_PUBLISHED_COUNTER_LIST(X)
#undef X
  };
  const char *counter = name + (strncmp(name, "sde:::", 6) == 0 ? 6 : 0);
  if (strncmp(counter, "pto", 3) != 0) return PTO_OK;
  counter += 3 + strspn(counter + 3, "0123456789"); /* "pto2::tasks" is of a second runtime */
  if (strncmp(counter, "::", 2) != 0) return PTO_OK;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(counters); i++)
    if (strcmp(counter + 2, counters[i]) == 0) return PTO_OK;
  pto_error_set(error, PTO_EINVAL, "no counter of a runtime is called \"%s\"; there are", name);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(counters); i++)
    pto_error_append(error, "%s pto::%s", i ? "," : "", counters[i]);
  return PTO_EINVAL;
}

/* Beside a name that nothing has: the nearest of those that every machine has. */
static void ask_for_counter(const char *name, struct pto_error *error) {
  static const char *const known[] = {
#define X(counter, is_sum, text) "pto::" #counter,
      PTO_PUBLISHED_COUNTER_LIST(X)
#undef X
#define X(event, value, text) "thread::" #event,
          PTO_THREAD_EVENT_LIST(X)
#undef X
  };
  char question[PTO_CLOSEST_TEXT];
  pto_error_append(error, "%s",
                   pto_closest_among(name, strlen(name), known, PTO_ARRAY_LENGTH(known), sizeof known[0], question));
}

/* A name that nothing has is a mistake; an event that this machine does not count is told, and the run goes on. */
int pto_run_counters_check(const struct pto_run_counters *counters, struct pto_error *error) {
  for (uint32_t i = 0; i < counters->count; i++) {
    const char *name = counters->names[i];
    void *tried;
    int status = check_counter(name, error);
    if (status == PTO_OK && strncmp(name, "pto", 3) != 0 && strncmp(name, "sde:::", 6) != 0) {
      status = pto_machine_events.open(&name, 1, &tried, error);
      if (status == PTO_OK) pto_machine_events.close(tried);
    }
    if (status != PTO_EINVAL) continue;
    ask_for_counter(name, error);
    return status;
  }
  return PTO_OK;
}

/* Whether PAPI knows it here, and can count it together with those accepted before. */
static int try_one(const struct pto_run_counters *counters, uint32_t i, bool has_runtime, struct pto_error *error) {
  const char *names[PTO_RUN_COUNTERS_MAX];
  uint32_t count = 0;
  void *tried;
  if (!has_runtime && strncmp(counters->names[i], "pto::", 5) == 0)
    return pto_error_set(error, PTO_ENOTSUP, "%s: there are no counters of a runtime to read", counters->names[i]);
  int status = check_counter(counters->names[i], error);
  if (status) return status;
  for (uint32_t k = 0; k < i; k++)
    if (counters->is_counted[k]) names[count++] = counters->names[k];
  names[count++] = counters->names[i];
  status = pto_machine_events.open(names, count, &tried, error);
  if (status == PTO_OK) pto_machine_events.close(tried);
  return status;
}

/* Why the first of them is not counted, and the names of the others; "" where all are. */
static void find_countable(struct pto_run_counters *counters, bool has_runtime, char *sentence, size_t sentence_size) {
  struct pto_error error, first;
  pto_error_clear(&first);
  const char *separator = "; not counted either: ";
  for (uint32_t i = 0; i < counters->count; i++) {
    counters->is_counted[i] = try_one(counters, i, has_runtime, &error) == PTO_OK;
    if (counters->is_counted[i]) continue;
    if (first.sentence[0]) {
      pto_error_append(&first, "%s%s", separator, counters->names[i]);
      separator = ", ";
    } else {
      first = error;
    }
  }
  snprintf(sentence, sentence_size, "%s", first.sentence);
}

/* What is counted of the run. */
static int begin_run(struct pto_run_counters *counters, const char *const *names, uint32_t count,
                     struct pto_error *error) {
  if (count == 0) return PTO_OK;
  int status = pto_machine_events.open(names, count, &counters->set, error);
  if (status) return status;
  if (pto_machine_events.read(counters->set, counters->at_begin) == PTO_OK) return PTO_OK;
  pto_machine_events.close(counters->set);
  counters->set = NULL;
  return pto_error_set(error, PTO_ESYSTEM, "%s and its like cannot be read", names[0]);
}

void pto_run_counters_begin(struct pto_run_counters *counters, struct pto_runtime *rt, char *sentence,
                            size_t sentence_size) {
  const char *names[PTO_RUN_COUNTERS_MAX];
  uint32_t count = 0, kernel_count = 0;
  struct pto_error error;
  find_countable(counters, rt && pto_runtime_publish_counters(rt) == PTO_OK, sentence, sentence_size);
  for (uint32_t i = 0; i < counters->count; i++)
    if (counters->is_counted[i] && is_of_kernels(counters, counters->names[i]))
      counters->kernel_names[kernel_count++] = counters->names[i];
    else if (counters->is_counted[i])
      names[count++] = counters->names[i];
  int status = begin_run(counters, names, count, &error);
  if (status == PTO_OK && kernel_count)
    status = pto_kernel_counters_events(counters->by_kernel, counters->kernel_names, kernel_count, &error);
  if (status == PTO_OK) return;
  snprintf(sentence, sentence_size, "%s", error.sentence);
  memset(counters->is_counted, 0, sizeof counters->is_counted);
}

/* All kernels, of the table's event i. */
static int64_t sum_of_kernels(const struct pto_kernel_counters_table *table, uint32_t i) {
  int64_t sum = 0;
  for (uint32_t r = 0; r < table->row_count; r++) sum += table->rows[r].counts[i];
  return sum;
}

void pto_run_counters_end(struct pto_run_counters *counters) {
  int64_t values[PTO_RUN_COUNTERS_MAX];
  if (counters->by_kernel) pto_kernel_counters_take(counters->by_kernel, &counters->table);
  if (!counters->set && counters->table.event_count == 0) return;
  counters->has_values = !counters->set || pto_machine_events.read(counters->set, values) == PTO_OK;
  for (uint32_t i = 0, k = 0, n = 0; i < counters->count && counters->has_values; i++) {
    if (!counters->is_counted[i]) continue;
    const bool is_kernels = is_of_kernels(counters, counters->names[i]);
    counters->values[i] = is_kernels ? sum_of_kernels(&counters->table, n++) : values[k] - counters->at_begin[k];
    k += !is_kernels;
  }
  if (counters->set) pto_machine_events.close(counters->set);
  counters->set = NULL;
}

void pto_run_counters_print(const void *about, FILE *to) {
  const struct pto_run_counters *counters = about;
  for (uint32_t i = 0; i < counters->count; i++)
    if (counters->is_counted[i] && counters->has_values)
      fprintf(to, "  %-8s %-28s %20" PRId64 "\n", i ? "" : "counters", counters->names[i], counters->values[i]);
    else
      fprintf(to, "  %-8s %-28s %20s\n", i ? "" : "counters", counters->names[i], "not counted");
  if (counters->has_values) pto_kernel_counters_print(&counters->table, counters->kernel_names, to);
}

void pto_run_counters_write_json(const void *about, struct pto_json_writer *w) {
  const struct pto_run_counters *counters = about;
  pto_json_put_object(w, "counters");
  for (uint32_t i = 0; i < counters->count; i++)
    if (pto_json_try_key(w, counters->names[i], counters->is_counted[i] && counters->has_values))
      pto_json_u64(w, (uint64_t)counters->values[i]);
  pto_json_object_end(w);
  if (counters->is_by_kernel) pto_kernel_counters_write_json(&counters->table, counters->kernel_names, w);
}
