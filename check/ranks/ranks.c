/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/ranks/ranks_state.h>
#include <check/session/named_kernels.h>
#include <runtime/base/clock.h>
#include <runtime/base/sized.h>
#include <sim/engine/engine.h>

static int end(struct pto_ranks *ranks, int exit_code) { return ranks->exit_code = exit_code; }

/* What a session has ended with is what all have. */
static int end_as_rank(struct pto_ranks *ranks, uint32_t rank) {
  const struct pto_run_result *result = &ranks->sessions[rank].result;
  pto_error_set(&ranks->error, result->error.status, "rank %" PRIu32 ": %s", rank, result->error.sentence);
  return end(ranks, result->exit_code);
}

uint32_t pto_ranks_wanted(const struct pto_session_options *options) {
  struct pto_subject subject;
  struct pto_error error;
  const uint32_t count = pto_subject_init(&subject, options, &error) == PTO_OK ? subject.program->ranks : 0;
  pto_subject_fini(&subject);
  return count;
}

/* A world on the chip that was asked for, else on its program's. */
static int create_world(struct pto_ranks *ranks, const struct pto_session_options *options,
                        const struct pto_world_config *asked) {
  struct pto_subject subject = {0};
  struct pto_config config = {0};
  struct pto_world_config world = *asked;
  int status = PTO_OK;
  if (!world.chip && !world.made_chip) status = pto_subject_init(&subject, options, &ranks->error);
  if (status == PTO_OK && subject.program)
    status = pto_sized_take(&config, sizeof config, subject.program->config, "program.config", &ranks->error);
  if (status == PTO_OK) {
    if (config.chip) world.chip = config.chip;
    status = pto_world_create_across(&world, ranks->processes, &ranks->world, ranks->error.sentence,
                                     sizeof ranks->error.sentence);
  }
  pto_subject_fini(&subject);
  return ranks->error.status = status;
}

/* For the sentence of a world that waits for ever. */
static void name_call(void *context, const void *call, const void *outer, char *text, size_t size) {
  struct pto_ranks *ranks = context;
  pthread_mutex_lock(&ranks->lines_mutex);
  if (!ranks->lines) ranks->lines = pto_source_lines_create();
  pto_source_lines_name(ranks->lines, call, outer, text, size);
  pthread_mutex_unlock(&ranks->lines_mutex);
}

/* ---- open ---- */

/* On the watchdog's thread. */
static void tell_timeout(void *context, const char *sentence) {
  const struct pto_rank_timeout *timeout = context;
  char text[PTO_SENTENCE_SIZE];
  snprintf(text, sizeof text, "rank %" PRIu32 ": %s", timeout->rank, sentence);
  timeout->on_timeout(timeout->context, text);
}

static int open_session(struct pto_ranks *ranks, const struct pto_session_options *options, uint32_t index) {
  struct pto_config config = *options->config;
  struct pto_session_options its = *options;
  config.rank = pto_world_rank(ranks->world, index);
  ranks->timeouts[index] = (struct pto_rank_timeout){index, config.on_timeout, config.on_timeout_context};
  if (config.on_timeout) {
    config.on_timeout = tell_timeout;
    config.on_timeout_context = &ranks->timeouts[index];
  }
  if (index > 0)
    config.jitter_seed = pto_mix64(pto_mix64(config.jitter_seed) + index); /* as no rank of this seed or the next */
  its.config = &config;                                                    /* which the session copies */
  if (index > 0) its.text = NULL;
  int (*const init)(struct pto_session *, const struct pto_session_options *) =
      ranks->is_judged ? pto_session_init_judged : pto_session_init;
  return init(&ranks->sessions[index], &its) == PTO_EXIT_OK ? PTO_EXIT_OK : end_as_rank(ranks, index);
}

/* The ranks of this process, up to the first that cannot be opened. */
static int open_all(struct pto_ranks *ranks, const struct pto_session_options *options, uint32_t rank_count,
                    uint32_t thread_count) {
  const struct pto_config *config = options->config;
  if (options->rounds > 1) {
    pto_error_set(&ranks->error, PTO_ENOTSUP, "several ranks run one round, not %" PRIu32, options->rounds);
    return end(ranks, PTO_EXIT_USAGE);
  }
  if (config->engine && !pto_engine_is_virtual(config->engine)) {
    pto_error_set(&ranks->error, PTO_EINVAL, "several ranks are for engine virtual: on %s they have no common time",
                  config->engine);
    return end(ranks, PTO_EXIT_USAGE);
  }
  const struct pto_world_config world = {.size = sizeof world,
                                         .ranks = rank_count,
                                         .chip = config->chip,
                                         .made_chip = config->made_chip,
                                         .threads = thread_count,
                                         .rank_threads = pto_subject_wants_thread(options)};
  const int status = create_world(ranks, options, &world);
  if (status) return end(ranks, pto_exit_of_setup(status));
  pto_world_name_calls(ranks->world, name_call, ranks);
  ranks->sessions = calloc(rank_count, sizeof *ranks->sessions);
  if (!ranks->sessions) {
    pto_error_set(&ranks->error, PTO_ENOMEM, "no memory for %" PRIu32 " ranks", rank_count);
    return end(ranks, PTO_EXIT_FAILED);
  }
  while (ranks->rank_count < rank_count) {
    const uint32_t index = ranks->rank_count++;
    if (pto_world_rank(ranks->world, index) && open_session(ranks, options, index) != PTO_EXIT_OK)
      return ranks->exit_code;
  }
  ranks->program = ranks->sessions[0].result.program;
  return PTO_EXIT_OK;
}

/* False: the other processes cannot be joined. */
static bool begin(struct pto_ranks *ranks, const struct pto_session_options *options, bool is_judged) {
  memset(ranks, 0, sizeof *ranks);
  (void)pthread_mutex_init(&ranks->lines_mutex, NULL);
  ranks->program = options->program;
  ranks->is_judged = is_judged;
  ranks->is_told_here = true;
  if (pto_exchange_join(&ranks->processes, &ranks->error) != PTO_OK) return false;
  if (ranks->processes) ranks->is_told_here = ranks->processes->first == 0;
  return true;
}

int pto_ranks_init_judged(struct pto_ranks *ranks, const struct pto_session_options *options, uint32_t rank_count) {
  if (!begin(ranks, options, true)) return end(ranks, PTO_EXIT_USAGE);
  if (!ranks->processes) return open_all(ranks, options, rank_count, 1);
  pto_error_set(&ranks->error, PTO_ENOTSUP, "ranks are judged in one process, not in several");
  return end(ranks, PTO_EXIT_USAGE);
}

int pto_ranks_init(struct pto_ranks *ranks, const struct pto_session_options *options, uint32_t rank_count,
                   uint32_t thread_count) {
  if (!begin(ranks, options, false)) return end(ranks, PTO_EXIT_USAGE);
  if (ranks->processes) pto_ranks_take_options(ranks, options);
  (void)open_all(ranks, options, rank_count, thread_count);
  return pto_ranks_agree(ranks);
}

/* ---- execute, and judge ---- */

static int run_rank(struct pto_rank *rank, void *context) {
  struct pto_ranks *ranks = context;
  struct pto_session *session = &ranks->sessions[pto_rank_index(rank)];
  if (pto_session_execute(session) == PTO_EXIT_OK) return PTO_OK;
  pto_rank_set_error(rank, session->result.error.sentence);
  return session->result.error.status ? session->result.error.status : PTO_EUSER;
}

/* One number of all ranks' in order. */
static uint64_t join_digests(uint64_t so_far, uint64_t digest) { return pto_xxh64(&digest, sizeof digest, so_far); }

static void add_up(struct pto_ranks *ranks) {
  ranks->has_run = true;
  for (uint32_t i = 0; i < ranks->rank_count; i++) {
    const struct pto_run_result *result = &ranks->sessions[i].result;
    ranks->trace_digest = join_digests(ranks->trace_digest, result->trace_digest);
    ranks->output_digest = join_digests(ranks->output_digest, result->output_digest);
    ranks->has_run &= result->has_run;
    ranks->virtual_ps = pto_max_u64(ranks->virtual_ps, result->stats.virtual_ps);
    if (result->verified == PTO_VERDICT_FALSE || ranks->verified == PTO_VERDICT_NONE)
      ranks->verified = result->verified;
    if (result->exit_code != PTO_EXIT_OK && ranks->exit_code == PTO_EXIT_OK) end_as_rank(ranks, i);
  }
}

/* Of all processes together: that none runs a kernel is a mistake.  False: no memory. */
static bool check_kernels(struct pto_ranks *ranks, bool has_run) {
  struct pto_exchange_bytes out = {0}, in = {0};
  struct pto_error error;
  uint64_t found = 0;
  int status = pto_session_check_kernels(ranks->sessions, ranks->rank_count, &found, &error);
  if (ranks->processes) {
    uint64_t *told = pto_exchange_bytes_add(&out, sizeof *told);
    if (told) *told = found;
    if (!pto_ranks_share(ranks, &out, &in, told != NULL)) return false;
    for (size_t i = 0; i < in.count / sizeof *told; i++) found |= ((const uint64_t *)(const void *)in.data)[i];
    pto_exchange_bytes_fini(&in);
    status = pto_session_check_kernels(ranks->sessions, ranks->rank_count, &found, &error);
  }
  if (has_run && status) {
    ranks->error = error;
    end(ranks, PTO_EXIT_USAGE);
  }
  return true;
}

int pto_ranks_execute(struct pto_ranks *ranks) {
  if (pto_ranks_compare(ranks) != PTO_EXIT_OK) return ranks->exit_code;
  const double begin = pto_clock_seconds();
  const int status = pto_world_run(ranks->world, run_rank, ranks);
  ranks->wall_seconds = pto_clock_seconds() - begin;
  if (status != PTO_OK) {
    pto_error_set(&ranks->error, status, "%s", pto_world_last_error(ranks->world));
    end(ranks, pto_exit_of_run(status));
  }
  for (uint32_t i = 0; i < ranks->rank_count; i++) {
    if (!pto_world_rank(ranks->world, i)) continue;
    if (status == PTO_OK) (void)pto_session_judge(&ranks->sessions[i]);
    struct pto_error error;
    if (status == PTO_OK && ranks->wants_account &&
        pto_session_take_account(&ranks->sessions[i], ranks->wants_gains, &error))
      pto_session_end(&ranks->sessions[i], PTO_EXIT_FAILED, &error);
  }
  if (!check_kernels(ranks, status == PTO_OK) || !pto_ranks_gather(ranks)) {
    pto_error_set(&ranks->error, PTO_ENOMEM, "no memory for what %" PRIu32 " ranks came to", ranks->rank_count);
    return end(ranks, PTO_EXIT_FAILED);
  }
  add_up(ranks);
  struct pto_error error;
  if (ranks->wants_path && pto_ranks_path_init(ranks, &ranks->path, &error)) {
    ranks->error = error;
    return end(ranks, PTO_EXIT_FAILED);
  }
  if (ranks->wants_comm_stats && pto_comm_stats_init(ranks, &ranks->comm_stats, &error)) {
    ranks->error = error;
    return end(ranks, PTO_EXIT_FAILED);
  }
  return ranks->exit_code;
}

void pto_ranks_fini(struct pto_ranks *ranks) {
  pto_source_lines_destroy(ranks->lines);
  (void)pthread_mutex_destroy(&ranks->lines_mutex);
  for (uint32_t i = 0; i < ranks->rank_count; i++) pto_session_fini(&ranks->sessions[i]);
  free(ranks->sessions);
  free(ranks->links);
  pto_ranks_path_fini(&ranks->path);
  pto_comm_stats_fini(&ranks->comm_stats);
  pto_exchange_bytes_fini(&ranks->told);
  pto_world_destroy(ranks->world);
  pto_exchange_destroy(ranks->processes);
  memset(ranks, 0, sizeof *ranks);
}
