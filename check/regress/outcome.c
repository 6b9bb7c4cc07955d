/* SPDX-License-Identifier: MIT */
#include <check/regress/outcome.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <report/file/output_file.h>
#include <report/run/run_path.h>
#include <formats/json_read.h>
#include <formats/json_text.h>
#include <runtime/base/base.h>
#include <runtime/base/text.h>

#define MOST_BASELINE_BYTES (UINT64_C(64) << 20)
#define PS_PER_US 1e6

/* ---- outcomes ---- */

static uint64_t integer_of(json_t *object, const char *key) {
  const json_int_t value = json_integer_value(json_object_get(object, key));
  return value > 0 ? (uint64_t)value : 0;
}
static void copy_text(char *to, size_t size, json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  snprintf(to, size, "%s", text ? text : "");
}

void pto_regress_outcome_of_run(json_t *result, bool is_compared, struct pto_regress_outcome *outcome) {
  memset(outcome, 0, sizeof *outcome);
  json_t *virtual_us = json_object_get(result, "virtual_us");
  const bool is_judged = is_compared || (json_is_true(json_object_get(result, "verified")) &&
                                         !json_is_true(json_object_get(result, "exact_outputs")));
  copy_text(outcome->status, sizeof outcome->status, result, "status");
  if (outcome->status[0] && strcmp(outcome->status, "PTO_OK") != 0) return; /* how far it came depends on timing */
  outcome->has_counts = json_is_integer(json_object_get(result, "tasks"));
  outcome->tasks = integer_of(result, "tasks");
  outcome->edges = integer_of(result, "edges");
  /* Six digits behind the point: exact in a double up to 2^53 ps, which are two and a half hours. */
  outcome->has_virtual_time = json_is_number(virtual_us);
  outcome->virtual_ps = outcome->has_virtual_time ? (uint64_t)llround(json_number_value(virtual_us) * PS_PER_US) : 0;
  outcome->has_memory = outcome->has_virtual_time && json_is_integer(json_object_get(result, "window_high_water"));
  outcome->window = integer_of(result, "window_high_water");
  outcome->heap_bytes = integer_of(result, "heap_high_water_bytes");
  outcome->has_digest = !is_judged && json_is_string(json_object_get(result, "output_digest"));
  if (outcome->has_digest) copy_text(outcome->digest, sizeof outcome->digest, result, "output_digest");
}

/* ---- what changed ---- */

struct sentence {
  char *text;
  size_t size;
};

#define SAY(s, ...)                                                                                                    \
  (pto_text_append((s)->text, (s)->size, "%s", (s)->text[0] ? "; " : ""),                                              \
   pto_text_append((s)->text, (s)->size, __VA_ARGS__))

static void say_count(struct sentence *s, const char *what, uint64_t now, uint64_t then) {
  if (now != then) SAY(s, "%" PRIu64 " %s instead of %" PRIu64, now, what, then);
}

static bool is_allowed(const struct pto_regress_allowed *allowed, uint64_t now, uint64_t then) {
  const double change = fabs((double)now - (double)then);
  return now == then || (allowed->is_less_fine && now < then) || change <= allowed->percent / 100 * (double)then;
}

static void say_time(struct sentence *s, uint64_t now, uint64_t then) {
  SAY(s, "%.6f us on the chip instead of %.6f us", (double)now / PS_PER_US, (double)then / PS_PER_US);
  if (then)
    pto_text_append(s->text, s->size, " (%+.2f %%, %s)", ((double)now / (double)then - 1) * 100,
                    now > then ? "slower" : "faster");
}

/* What became of `then`, in words; "" where nothing did. */
static bool differs(const struct pto_regress_outcome *now, const struct pto_regress_outcome *then,
                    const struct pto_regress_allowed *allowed, char *text, size_t size) {
  struct sentence s = {.text = text, .size = size};
  text[0] = '\0';
  if (strcmp(now->status, then->status) != 0) SAY(&s, "status %s instead of %s", now->status, then->status);
  /* A baseline of before these were in it says nothing of them. */
  if (then->has_counts && !now->has_counts) SAY(&s, "no longer has counts of tasks");
  if (now->has_counts && then->has_counts) {
    say_count(&s, "tasks", now->tasks, then->tasks);
    say_count(&s, "edges", now->edges, then->edges);
  }
  if (now->has_virtual_time != then->has_virtual_time)
    SAY(&s, "%s a virtual time", now->has_virtual_time ? "now has" : "no longer has");
  if (now->has_virtual_time && then->has_virtual_time && !is_allowed(allowed, now->virtual_ps, then->virtual_ps))
    say_time(&s, now->virtual_ps, then->virtual_ps);
  if (now->has_memory && then->has_memory && !is_allowed(allowed, now->window, then->window))
    say_count(&s, "slots of a window", now->window, then->window);
  if (now->has_memory && then->has_memory && !is_allowed(allowed, now->heap_bytes, then->heap_bytes))
    say_count(&s, "bytes of a heap", now->heap_bytes, then->heap_bytes);
  if (now->has_digest != then->has_digest)
    SAY(&s, "outputs are %s by their digest", now->has_digest ? "now judged" : "no longer judged");
  if (now->has_digest && then->has_digest && strcmp(now->digest, then->digest) != 0)
    SAY(&s, "outputs with digest %s instead of %s", now->digest, then->digest);
  return text[0] != '\0';
}

/* ---- parts ---- */

/* What the orchestrator, the schedulers and the host link do, by kind of resource.  Not what follows from what others
 * do: waiting, and looks.  A transfer is the link's. */
static bool is_part(const char *kind, const char *activity) {
  const bool is_transfer = strncmp(activity, "to_", 3) == 0 || strcmp(activity, "on_device") == 0;
  if (strncmp(activity, "wait_", 5) == 0 || strcmp(activity, "no_work") == 0 || strcmp(activity, "look") == 0)
    return false;
  if (strcmp(kind, "link") == 0) return is_transfer;
  if (strcmp(kind, "orchestrator") == 0) return !is_transfer;
  return strcmp(kind, "scheduler") == 0 && strcmp(activity, "handshake") != 0;
}

static void add_time(json_t *parts, const char *kind, const char *what, json_t *us) {
  char name[128];
  snprintf(name, sizeof name, "%s %s", kind, what);
  const json_int_t before = json_integer_value(json_object_get(parts, name));
  json_object_set_new(parts, name, json_integer(before + (json_int_t)llround(json_number_value(us) * PS_PER_US)));
}

json_t *pto_regress_parts_of_run(json_t *result) {
  json_t *stats = json_object_get(result, "stats"), *kernel, *account, *us;
  if (!json_is_object(stats)) return NULL;
  json_t *parts = json_object();
  const char *activity;
  size_t i;
  json_array_foreach(json_object_get(stats, "kernels"), i, kernel)
    add_time(parts, "kernel", json_string_value(json_object_get(kernel, "name")), json_object_get(kernel, "total_us"));
  json_array_foreach(json_object_get(stats, "accounts"), i, account) {
    const char *kind = json_string_value(json_object_get(account, "kind"));
    json_object_foreach(json_object_get(account, "us"), activity, us)
      if (is_part(kind, activity)) add_time(parts, kind, activity, us);
  }
  return parts;
}

static bool is_kernel(const char *part) { return strncmp(part, "kernel ", strlen("kernel ")) == 0; }

/* A kernel that a run has not takes 0. */
static bool are_kernels_allowed(json_t *from, json_t *then, json_t *now, const struct pto_regress_allowed *allowed) {
  const char *name;
  json_t *value;
  bool are_allowed = true;
  json_object_foreach(from, name, value)
    are_allowed &= !is_kernel(name) || is_allowed(allowed, integer_of(now, name), integer_of(then, name));
  return are_allowed;
}

bool pto_regress_has_parts(const struct pto_baseline *baseline, const char *text) {
  return json_is_object(json_object_get(json_object_get(baseline->cases, text), "parts"));
}

/* The largest change among the parts of this kind, of those in `from`; `most` stays where none is larger. */
static const char *find_most_changed(json_t *from, json_t *then, json_t *now, const char *kind, const char *most,
                                     json_int_t *change_out) {
  const char *name;
  json_t *value;
  json_object_foreach(from, name, value) {
    const json_int_t change =
        json_integer_value(json_object_get(now, name)) - json_integer_value(json_object_get(then, name));
    if (strncmp(name, kind, strlen(kind)) != 0 || llabs(change) <= llabs(*change_out)) continue;
    *change_out = change;
    most = name;
  }
  return most;
}

/* "kernel matmul", "schedulers, consumers notified": a part in the words of `ptosim compare`. */
static const char *part_text(const char *name, const char *kind, const char *resource, char *text, size_t size) {
  const char *what = name + strlen(kind);
  const uint32_t activity = pto_activity_find(what);
  if (!resource || activity == PTO_ACTIVITY_COUNT) return name;
  snprintf(text, size, "%s, %s", resource, pto_activity_text(activity));
  return text;
}

void pto_regress_say_parts(const struct pto_baseline *baseline, const char *text, json_t *parts, char *sentence,
                           size_t size) {
  static const char *const kinds[] = {"kernel ", "orchestrator ", "link ", "scheduler "};
  static const char *const resources[] = {NULL, "orchestrator", "host link", "schedulers"};
  json_t *then = json_object_get(json_object_get(baseline->cases, text), "parts");
  char part[128];
  sentence[0] = '\0';
  if (!then || !parts) return;
  const bool has_accounts = json_object_get(then, "orchestrator submit"); /* a baseline of before has none */
  for (size_t i = 0; i < (has_accounts ? PTO_ARRAY_LENGTH(kinds) : 1); i++) {
    json_int_t change = 0;
    const char *name = find_most_changed(then, then, parts, kinds[i], NULL, &change);
    name = find_most_changed(parts, then, parts, kinds[i], name, &change);
    if (!name) continue;
    const double before = (double)json_integer_value(json_object_get(then, name));
    pto_text_append(sentence, size, "; %s %+.2f us%s", part_text(name, kinds[i], resources[i], part, sizeof part),
                    (double)change / PS_PER_US, i == 0 ? " of core time" : "");
    if (before > 0) pto_text_append(sentence, size, " (%+.1f %%)", 100 * (double)change / before);
  }
}

/* ---- the baseline ---- */

static int read_cases(const char *path, bool may_be_missing, struct pto_baseline *baseline, struct pto_error *error) {
  struct pto_json_reader reader;
  if (may_be_missing && access(path, F_OK) != 0) {
    baseline->cases = json_object();
    return baseline->cases ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for a baseline");
  }
  json_t *root = pto_json_read_file(&reader, path, MOST_BASELINE_BYTES, error);
  if (!root) return reader.status;
  baseline->cases = json_incref(pto_json_read_object(&reader, root, "cases"));
  json_decref(root);
  const char *text;
  json_t *value;
  json_object_foreach(baseline->cases, text, value)
    if (!json_is_object(value)) pto_json_read_refuse(&reader, "case \"%s\" is no object", text);
  return reader.status;
}

int pto_baseline_open(const char *path, bool may_be_missing, struct pto_baseline **baseline_out, char *sentence,
                      size_t sentence_size) {
  struct pto_error error = {.status = PTO_ENOMEM, .sentence = "no memory for a baseline"};
  struct pto_baseline *baseline = calloc(1, sizeof *baseline);
  if (baseline && read_cases(path, may_be_missing, baseline, &error) == PTO_OK) {
    *baseline_out = baseline;
    return PTO_OK;
  }
  pto_baseline_close(baseline);
  return pto_error_tell(&error, sentence, sentence_size);
}

void pto_baseline_close(struct pto_baseline *baseline) {
  if (!baseline) return;
  json_decref(baseline->cases);
  free(baseline);
}

bool pto_regress_find(const struct pto_baseline *baseline, const char *text, struct pto_regress_outcome *outcome) {
  json_t *found = json_object_get(baseline->cases, text), *virtual_ps = json_object_get(found, "virtual_ps");
  if (!found) return false;
  memset(outcome, 0, sizeof *outcome);
  copy_text(outcome->status, sizeof outcome->status, found, "status");
  outcome->has_counts = json_is_integer(json_object_get(found, "tasks"));
  outcome->tasks = integer_of(found, "tasks");
  outcome->edges = integer_of(found, "edges");
  outcome->has_virtual_time = json_is_integer(virtual_ps);
  outcome->virtual_ps = integer_of(found, "virtual_ps");
  outcome->has_memory = json_is_integer(json_object_get(found, "window"));
  outcome->window = integer_of(found, "window");
  outcome->heap_bytes = integer_of(found, "heap_bytes");
  outcome->has_digest = json_is_string(json_object_get(found, "digest"));
  copy_text(outcome->digest, sizeof outcome->digest, found, "digest");
  return true;
}

int pto_regress_compare(const struct pto_baseline *baseline, const char *text,
                        const struct pto_regress_outcome *outcome, json_t *parts,
                        const struct pto_regress_allowed *allowed, struct pto_error *error) {
  struct pto_regress_outcome then;
  char sentence[PTO_SENTENCE_SIZE];
  if (!pto_regress_find(baseline, text, &then)) return pto_error_set(error, PTO_ENOTSUP, "not in the baseline");
  json_t *parts_then = json_object_get(json_object_get(baseline->cases, text), "parts");
  const bool are_known = parts && parts_then,
             are_same = !are_known || (are_kernels_allowed(parts_then, parts_then, parts, allowed) &&
                                       are_kernels_allowed(parts, parts_then, parts, allowed));
  if (!differs(outcome, &then, allowed, sentence, sizeof sentence)) {
    if (are_same) return PTO_OK;
    if (outcome->virtual_ps == then.virtual_ps) {
      snprintf(sentence, sizeof sentence, "the run takes as long, and a kernel does not");
    } else {
      say_time(&(struct sentence){sentence, sizeof sentence}, outcome->virtual_ps, then.virtual_ps);
      pto_text_append(sentence, sizeof sentence, ", which is allowed; what a kernel takes is not");
    }
  }
  return pto_error_set(error, PTO_EINVAL, "%s", sentence);
}

int pto_regress_put(struct pto_baseline *baseline, const char *text, const struct pto_regress_outcome *outcome,
                    json_t *parts) {
  json_t *object = json_object();
  int answer = json_object_set_new(object, "status", json_string(outcome->status));
  if (outcome->has_counts) {
    answer |= json_object_set_new(object, "tasks", json_integer((json_int_t)outcome->tasks));
    answer |= json_object_set_new(object, "edges", json_integer((json_int_t)outcome->edges));
  }
  if (outcome->has_virtual_time)
    answer |= json_object_set_new(object, "virtual_ps", json_integer((json_int_t)outcome->virtual_ps));
  if (outcome->has_memory) {
    answer |= json_object_set_new(object, "window", json_integer((json_int_t)outcome->window));
    answer |= json_object_set_new(object, "heap_bytes", json_integer((json_int_t)outcome->heap_bytes));
  }
  if (parts) answer |= json_object_set(object, "parts", parts);
  if (outcome->has_digest) answer |= json_object_set_new(object, "digest", json_string(outcome->digest));
  if (!answer) return json_object_set_new(baseline->cases, text, object) ? PTO_ENOMEM : PTO_OK;
  json_decref(object);
  return PTO_ENOMEM;
}

static bool is_listed(const struct pto_regress_list *list, const char *text) {
  for (size_t i = 0; i < list->count; i++)
    if (strcmp(list->cases[i].text, text) == 0) return true;
  return false;
}

size_t pto_regress_keep(struct pto_baseline *baseline, const struct pto_regress_list *list) {
  const char *text;
  json_t *value;
  void *next;
  size_t dropped = 0;
  json_object_foreach_safe(baseline->cases, next, text, value) {
    if (is_listed(list, text)) continue;
    json_object_del(baseline->cases, text);
    dropped++;
  }
  return dropped;
}

static int order_texts(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int write_case(FILE *out, const char *text, json_t *value, bool is_last) {
  json_t *key = json_string(text);
  char *name = key ? pto_json_dump(key, JSON_ENCODE_ANY) : NULL, *of_it = pto_json_dump(value, JSON_PRESERVE_ORDER);
  const int status = name && of_it ? PTO_OK : PTO_ENOMEM;
  if (status == PTO_OK) fprintf(out, "%s: %s%s\n", name, of_it, is_last ? "" : ",");
  free(name);
  free(of_it);
  json_decref(key);
  return status;
}

static int write_cases(const struct pto_baseline *baseline, const char *path, struct pto_error *error) {
  const size_t count = json_object_size(baseline->cases);
  const char **texts = malloc((count + 1) * sizeof *texts), *text;
  json_t *value;
  size_t i = 0;
  FILE *out;
  if (!texts) return pto_error_set(error, PTO_ENOMEM, "no memory for %s", path);
  json_object_foreach(baseline->cases, text, value) texts[i++] = text;
  qsort(texts, count, sizeof *texts, order_texts);
  int status = pto_output_open_stream(path, &out, error);
  if (status == PTO_OK) {
    fputs("{\"cases\": {\n", out);
    for (i = 0; i < count && status == PTO_OK; i++)
      status = write_case(out, texts[i], json_object_get(baseline->cases, texts[i]), i + 1 == count);
    fputs("}}\n", out);
    status = pto_output_close_stream(path, out, status, error);
  }
  free(texts);
  return status;
}

int pto_baseline_write(const struct pto_baseline *baseline, const char *path, char *sentence, size_t sentence_size) {
  struct pto_error error;
  return write_cases(baseline, path, &error) ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}
