/* SPDX-License-Identifier: MIT */
/* Whether processes were started alike.  Each makes its ranks by itself, so they would run on as parts of different
 * worlds. */
#include <check/ranks/ranks_state.h>

#include <inttypes.h>
#include <string.h>

#include <orchestration/loader/program_run.h>
#include <report/export/trace_events.h>

/* ---- what a process was told ---- */

static void add(uint64_t *digest, const void *data, size_t size) { *digest = pto_xxh64(data, size, *digest); }

static void add_text(uint64_t *digest, const char *text) {
  if (!text) text = "";
  add(digest, text, strlen(text) + 1);
}

static void add_words(uint64_t *digest, const struct pto_words *words) {
  add(digest, &words->count, sizeof words->count);
  for (size_t i = 0; i < words->count; i++) add_text(digest, words->items[i]);
}

static uint64_t digest_program(const struct pto_session_options *options) {
  uint64_t digest = options->seed;
  add_text(&digest, options->program ? options->program : options->made ? options->made->name : NULL);
  add_text(&digest, options->case_name);
  add_words(&digest, &options->settings);
  add_words(&digest, &options->inputs);
  add_words(&digest, &options->expects);
  return digest;
}

/* Of what decides the run, and not how a process comes to its share of it. */
static uint64_t digest_options(const struct pto_session_options *options) {
  const struct pto_config *config = options->config;
  const uint64_t numbers[] = {config->deps,          config->recorded_deps, config->window,      config->heap_bytes,
                              config->poison,        config->record,        config->list_chunks, config->map_entries,
                              config->clusters,      config->no_compute,    config->jitter_ppm,  config->jitter_seed,
                              config->keep_released, options->has_deps,     options->has_rtol,   options->has_atol,
                              options->assume_zero,  options->small_inputs};
  uint64_t digest = pto_xxh64(numbers, sizeof numbers, 0);
  add(&digest, config->ring_window, sizeof config->ring_window);
  add(&digest, config->ring_heap_bytes, sizeof config->ring_heap_bytes);
  add(&digest, &options->rtol, sizeof options->rtol);
  add(&digest, &options->atol, sizeof options->atol);
  add_text(&digest, config->policy);
  add_text(&digest, options->values);
  return digest;
}

void pto_ranks_take_options(struct pto_ranks *ranks, const struct pto_session_options *options) {
  ranks->program_digest = digest_program(options);
  ranks->options_digest = digest_options(options);
}

/* ---- compared ---- */

struct start {
  uint64_t ranks, program, options;
  struct pto_chip chip;
};

/* Process 0 writes a timeline of the parts that each makes, so all make one format.  Where a file lies is its own. */
static const char *wanted(enum pto_export what, const char *path) {
  if (!path) return NULL;
  return what == PTO_EXPORT_trace ? pto_trace_format_of(path)->ending : "wanted";
}

static struct start start_of(const struct pto_ranks *ranks) {
  const uint8_t wants[] = {ranks->wants_account, ranks->wants_path, ranks->wants_comm_stats};
  struct start start = {ranks->rank_count, ranks->program_digest, ranks->options_digest, *ranks->world->chip};
  add(&start.options, wants, sizeof wants);
  for (size_t i = 0; ranks->files && i < PTO_EXPORT_COUNT; i++) add_text(&start.options, wanted(i, ranks->files[i]));
  return start;
}

/* False: they are alike; else `text` is what `other` has. */
static bool differs(const struct start *first, const struct start *other, char *text, size_t size) {
  const char *key = pto_chip_find_difference(&first->chip, &other->chip);
  text[0] = '\0';
  if (first->program != other->program)
    snprintf(text, size, "another program, or with another case, setting, seed or input");
  else if (first->ranks != other->ranks)
    snprintf(text, size, "%" PRIu64 " ranks, not %" PRIu64, other->ranks, first->ranks);
  else if (key)
    snprintf(text, size, "another chip: %s differs", key);
  else if (first->options != other->options)
    snprintf(text, size, "other options");
  return text[0] != '\0';
}

int pto_ranks_compare(struct pto_ranks *ranks) {
  struct pto_exchange_bytes out = {0}, in = {0};
  char text[160];
  if (!ranks->processes) return PTO_EXIT_OK;
  struct start *own = pto_exchange_bytes_add(&out, sizeof *own);
  if (own) *own = start_of(ranks);
  if (!pto_ranks_share(ranks, &out, &in, own != NULL)) {
    pto_error_set(&ranks->error, PTO_ENOMEM, "no memory for what processes were started with");
    return ranks->exit_code = PTO_EXIT_FAILED;
  }
  const struct start *starts = (const struct start *)(const void *)in.data;
  for (size_t i = 1; i < in.count / sizeof *starts && ranks->exit_code == PTO_EXIT_OK; i++) {
    if (!differs(&starts[0], &starts[i], text, sizeof text)) continue;
    pto_error_set(&ranks->error, PTO_EINVAL,
                  "MPI: process %zu of %" PRIu32 " has %s; all are to be started as process 0 is", i,
                  ranks->processes->part_count, text);
    ranks->exit_code = PTO_EXIT_USAGE;
  }
  pto_exchange_bytes_fini(&in);
  return ranks->exit_code;
}
