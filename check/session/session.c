/* SPDX-License-Identifier: MIT */
#include <check/session/session.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/session/graph_program.h>
#include <check/session/named_kernels.h>
#include <check/session/refusals.h>
#include <check/session/remarks.h>
#include <check/session/watched_step.h>
#include <pto/world.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>
#include <runtime/base/sized.h>
#include <runtime/control/control.h>
#include <runtime/deps/rules.h>
#include <runtime/join/defaults.h>
#include <runtime/trace/trace_append.h>
#include <runtime/trace/trace_digest.h>
#include <sim/engine/engine.h>

/* The session ends with this code; the sentence is in result.error already. */
static int end(struct pto_session *session, int exit_code) { return session->result.exit_code = exit_code; }

int pto_session_end(struct pto_session *session, int exit_code, const struct pto_error *error) {
  session->result.error = *error;
  return end(session, exit_code);
}

static void tell(const struct pto_session *session, const char *stage, unsigned done, unsigned count) {
  if (session->options.progress) session->options.progress(stage, done, count);
}

/* Takes over the failure that a program run keeps. */
static int end_as_run(struct pto_session *session, int exit_code) {
  session->result.error = *pto_program_run_error(session->run);
  return end(session, exit_code);
}

/* ---- configuration ---- */

/* Sizes of single rings count only beside the size of all that was said with them. */
static void take_rings(uint64_t *sizes, const uint64_t *asked, uint64_t asked_all) {
  if (asked_all) memcpy(sizes, asked, PTO_RINGS * sizeof *sizes);
}

static int make_config(struct pto_session *session, bool is_judged) {
  const struct pto_session_options *options = &session->options;
  const struct pto_config *wanted = session->subject.program->config, *asked = &session->asked;
  struct pto_config *config = &session->config;
  memset(config, 0, sizeof *config);
  const int status = pto_sized_take(config, sizeof *config, wanted, "program.config", &session->result.error);
  if (status) return end(session, pto_exit_of_setup(status));
#define TAKE(field) config->field = asked->field ? asked->field : config->field
  TAKE(engine);
  TAKE(chip);
  TAKE(policy);
  TAKE(workers);
  TAKE(deps);
  take_rings(config->ring_window, asked->ring_window, asked->window);
  take_rings(config->ring_heap_bytes, asked->ring_heap_bytes, asked->heap_bytes);
  TAKE(window);
  TAKE(heap_bytes);
  TAKE(clusters);
  TAKE(meter);
  TAKE(on_timeout);
  TAKE(on_timeout_context);
  TAKE(no_compute);
  TAKE(jitter_ppm);
  TAKE(jitter_seed);
  TAKE(made_chip);
  TAKE(stop);
  TAKE(placement);
  TAKE(rank);
#undef TAKE
  if ((config->no_compute || config->jitter_ppm || config->rank) && !asked->engine) config->engine = "virtual";
  pto_config_set_defaults(config);
  config->poison |= asked->poison;
  config->record |= asked->record;
  if (options->has_deps) config->deps = asked->deps;
  session->rules = config->deps;
  if (is_judged) {
    if (!asked->engine) config->engine = "virtual";
    config->recorded_deps = session->rules; /* what a recording finds, its launches carry: nothing finds it anew */
    if (!pto_session_is_lowered(session)) config->deps = PTO_DEPS_EXACT;
    config->record |= PTO_RECORD_GRAPH | PTO_RECORD_CALLERS;
    if (config->rank) config->record |= PTO_RECORD_SEGMENTS; /* what it does to others is recorded with them */
  }
  if (options->has_timeout || !config->timeout_ms) config->timeout_ms = asked->timeout_ms;
  /* Who wrote an element last is what the tasks say. */
  if (config->no_compute) config->record |= PTO_RECORD_TASKS;
  /* Virtual time has a digest of its timeline, so that is always kept. */
  if (pto_engine_is_virtual(config->engine)) config->record |= PTO_RECORD_TIMELINE;
  return PTO_EXIT_OK;
}

static void describe(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_case *chosen = pto_program_run_case(session->run);
  result->case_name = chosen ? chosen->name : NULL;
  result->engine = session->config.engine;
  result->chip = session->chip.name;
  session->deps_name = pto_deps_rules_name(session->config.deps);
  session->deps_list = pto_deps_rules_list(session->config.deps);
  result->deps = session->deps_name.text;
  result->deps_list = session->deps_list.text;
  result->policy = session->config.policy;
  result->is_virtual = pto_engine_is_virtual(session->config.engine);
  result->jitter_ppm = session->config.jitter_ppm;
}

static int check_chip(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_program *program = session->subject.program;
  const struct pto_chip *made = session->config.made_chip;
  int status = made ? PTO_OK : pto_chip_load(session->config.chip, &session->chip, &result->error);
  if (status) return end(session, pto_exit_of_setup(status));
  if (made) session->chip = *made;
  if (session->config.clusters && session->config.clusters < session->chip.cluster_count)
    session->chip.cluster_count = session->config.clusters;
  if (session->chip.half_kernel[0]) session->config.record |= PTO_RECORD_TASKS; /* which kernels there are */
  if (session->chip.cluster_count >= program->min_clusters) return PTO_EXIT_OK;
  pto_error_set(&result->error, PTO_EFIT, "%s needs %" PRIu32 " clusters and %s has %" PRIu32, session->subject.name,
                program->min_clusters, session->chip.name, session->chip.cluster_count);
  return end(session, PTO_EXIT_USAGE);
}

/* ---- contexts that the program drives ---- */

/* A context that the program reports: what it has recorded goes behind that of those before it. */
static int take_recording(void *argument, struct pto_context *context, struct pto_error *error) {
  struct pto_session *session = argument;
  struct pto_trace *sum = &session->recording;
  struct pto_context_counters counters = {.size = sizeof counters};
  const struct pto_trace *recording;
  if (session->config.record == 0) return PTO_OK;
  int status = pto_context_recording(context, &recording);
  if (status != PTO_ENOMEM && recording) {
    if (session->reported_count++ == 0)
      sum->start_ns = recording->start_ns;
    else
      pto_trace_append_sync(sum); /* what this one does is in other memory, though at the same addresses */
    if (session->listener.context_reported)
      session->listener.context_reported(session->listener.argument, recording, sum->tasks.count);
    if (pto_trace_append(sum, recording,
                         recording->is_virtual ? session->reported_ps
                                               : pto_trace_append_shift(sum, recording->start_ns)))
      status = PTO_ENOMEM;
  }
  pto_context_counters(context, &counters);
  session->reported_ps += counters.virtual_ps;
  session->dispatches += counters.dispatches;
  return status == PTO_ENOMEM ? pto_error_set(error, status, "no memory for what the context has recorded") : PTO_OK;
}

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_session *session = argument;
  const struct pto_session_listener *listener = &session->listener;
  session->context_rt = rt;
  session->context_count++;
  return listener->context_created ? listener->context_created(listener->argument, rt, memory, memory_bytes, error)
                                   : PTO_OK;
}

/* A failure that the context has kept to its end is one of the run, whether the program has noticed or not. */
static void take_failure(struct pto_session *session, const struct pto_error *failure) {
  if (failure && !session->subject.program->expects_refusals)
    (void)pto_program_fail_as(session->run, failure->status, "%s", failure->sentence);
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_end *end) {
  struct pto_session *session = argument;
  const struct pto_session_listener *listener = &session->listener;
  const struct pto_wait_picture *picture = pto_runtime_wait_picture(rt);
  if (listener->context_destroyed) listener->context_destroyed(listener->argument, rt, end->counters, end->recording);
  if (session->context_rt == rt) session->context_rt = NULL;
  pto_session_take_refusals(session, pto_runtime_refusals(rt));
  pto_session_take_refusals(session, end->refusals);
  pto_session_take_remarks(session, end->remarks);
  if (!session->failed_kernel.kernel) session->failed_kernel = *pto_runtime_failed_kernel(rt);
  take_failure(session, end->failure);
  if (!picture || session->stopped || !(session->stopped = malloc(sizeof *picture))) return;
  *session->stopped = *picture;
}

/* ---- open ---- */

/* Of a program that was loaded: with graphs the step is ptosim's own, and has an end. */
static void begin_step(struct pto_session *session, struct pto_watched_step *watched, const char *step) {
  if (session->subject.loaded)
    pto_watched_step_begin(watched, &session->options, step);
  else
    *watched = (struct pto_watched_step){0};
}

static int open_program_run(struct pto_session *session) {
  const struct pto_session_options *options = &session->options;
  FILE *text = options->text ? options->text : (session->nowhere = fopen("/dev/null", "w"));
  const struct pto_program_request request = {.case_name = options->case_name,
                                              .settings = options->settings.items,
                                              .setting_count = options->settings.count,
                                              .seed = options->seed,
                                              .rank = session->config.rank ? pto_rank_index(session->config.rank) : 0,
                                              .rank_count =
                                                  session->config.rank ? pto_rank_count(session->config.rank) : 0,
                                              .margin_bytes = options->array_margin_bytes,
                                              .no_compute = session->config.no_compute,
                                              .small_inputs = options->small_inputs,
                                              .config = &session->config,
                                              .on_report = take_recording,
                                              .on_report_argument = session,
                                              .text = text};
  int status = pto_program_run_create(session->subject.program, &request, &session->run, &session->result.error);
  if (status) return end(session, pto_exit_of_setup(status));
  describe(session);
  tell(session, "preparing the inputs", 0, 0);
  struct pto_watched_step preparing;
  begin_step(session, &preparing, "prepare");
  status = pto_program_run_prepare(session->run);
  pto_watched_step_end(&preparing);
  if (status) return end_as_run(session, pto_exit_of_setup(status));
  status = pto_session_read_inputs(session);
  /* A wrong name is said before the run, not after it. */
  if (status == PTO_OK) status = pto_session_check_outputs(session);
  if (status == PTO_OK && session->values) status = pto_given_values_check(session->values, &session->result.error);
  if (status) return end(session, pto_exit_of_setup(status));
  if (session->result.rounds > 1 && pto_program_run_remember(session->run)) return end_as_run(session, PTO_EXIT_FAILED);
  return PTO_EXIT_OK;
}

static int open_runtime(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  if (pto_program_run_is_host(session->run)) {
    session->context_watch = (struct pto_context_watch){context_created, context_destroyed, session, false, NULL};
    session->config.context_watch = &session->context_watch;
    return PTO_EXIT_OK;
  }
  int status = pto_runtime_create_explained(&session->config, &session->rt, result->error.sentence,
                                            sizeof result->error.sentence);
  if (status) {
    result->error.status = status;
    return end(session, status == PTO_EINVAL ? PTO_EXIT_USAGE : PTO_EXIT_FAILED);
  }
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(session->rt, &stats);
  result->workers = stats.workers;
  result->placement = pto_runtime_port(session->rt)->placement;
  return PTO_EXIT_OK;
}

int pto_session_copy_options(struct pto_session_options *to, struct pto_config *config,
                             const struct pto_session_options *from, struct pto_error *error) {
  memset(to, 0, sizeof *to);
  memset(config, 0, sizeof *config);
  int status = pto_sized_take(to, sizeof *to, from, "options", error);
  if (status == PTO_OK) status = pto_sized_take(config, sizeof *config, to->config, "options.config", error);
  to->config = config;
  return status;
}

/* With no_compute: what has no meaning then is refused, and elements are found for those who read them. */
static int begin_values(struct pto_session *session) {
  const struct pto_session_options *options = &session->options;
  struct pto_error *error = &session->result.error;
  const bool has_values = options->values || options->assume_zero;
  int status = PTO_OK;
  if (!session->config.no_compute)
    status = has_values ? pto_error_set(error, PTO_EINVAL, "--values and --assume-zero need --no-compute") : PTO_OK;
  else if (!pto_engine_is_virtual(session->config.engine))
    status = pto_error_set(error, PTO_EINVAL, "--no-compute is for engine virtual: on %s time is what kernels take",
                           session->config.engine);
  else if (session->config.poison)
    status = pto_error_set(error, PTO_EINVAL, "--poison fills memory, and with --no-compute there is none");
  else if (session->subject.program->host)
    status = pto_error_set(error, PTO_EINVAL,
                           "%s drives contexts of its own, and goes on by what they compute: --no-compute is for "
                           "programs with an orchestration alone",
                           session->result.program);
  else if (options->outputs.count || options->expects.count || session->result.rounds > 1)
    status = pto_error_set(error, PTO_EINVAL, "with --no-compute there are no outputs: %s",
                           options->outputs.count   ? "none can be written"
                           : options->expects.count ? "none is compared with a file"
                                                    : "rounds have nothing to compare");
  else if (!(status = pto_given_values_create(session, &session->values, error)))
    session->config.values = pto_given_values_source(session->values);
  return status ? end(session, pto_exit_of_setup(status)) : PTO_EXIT_OK;
}

static int init(struct pto_session *session, const struct pto_session_options *options, bool is_judged) {
  memset(session, 0, sizeof *session);
  int status = pto_session_copy_options(&session->options, &session->asked, options, &session->result.error);
  if (status) return end(session, pto_exit_of_setup(status));
  session->result.program = options->program ? options->program : options->made ? options->made->name : NULL;
  session->result.seed = options->seed;
  session->result.rounds = options->rounds ? options->rounds : 1;
  tell(session, "loading", 0, 0);
  status = pto_subject_init(&session->subject, &session->options, &session->result.error);
  if (status) return end(session, pto_exit_of_setup(status));
  session->result.program = session->subject.name;
  if (session->subject.program->ranks && !session->asked.rank) {
    pto_error_set(
        &session->result.error, PTO_ENOTSUP,
        "%s is for several ranks, which `ptosim run`, `check`, `why`, `explore`, `suite`, `predict` and `what-if` have",
        session->subject.name);
    return end(session, PTO_EXIT_USAGE);
  }
  int code = make_config(session, is_judged);
  if (code == PTO_EXIT_OK) code = check_chip(session);
  if (code == PTO_EXIT_OK) code = begin_values(session);
  if (code == PTO_EXIT_OK) code = open_program_run(session);
  if (code == PTO_EXIT_OK) code = open_runtime(session);
  return code;
}

int pto_session_init(struct pto_session *session, const struct pto_session_options *options) {
  return init(session, options, false);
}

int pto_session_init_judged(struct pto_session *session, const struct pto_session_options *options) {
  const int code = init(session, options, true);
  session->context_watch.asks = true;
  return code;
}

/* ---- execute ---- */

static int order_doubles(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

void pto_session_take_counters(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_context_counters *counters = pto_program_run_counters(session->run, &result->workers);
  if (!counters) return;
  result->stats = (struct pto_stats){.size = sizeof result->stats,
                                     .tasks = counters->tasks,
                                     .edges = counters->edges,
                                     .lookups = counters->lookups,
                                     .candidates = counters->candidates,
                                     .submit_waits = counters->submit_waits,
                                     .wall_ns = counters->wall_ns,
                                     .virtual_ps = counters->virtual_ps,
                                     .measured_ps = counters->measured_ps,
                                     .interpolated_ps = counters->interpolated_ps,
                                     .modelled_ps = counters->modelled_ps,
                                     .assumed_ps = counters->assumed_ps,
                                     .window_high_water = counters->window_high_water,
                                     .heap_high_water_bytes = counters->heap_high_water_bytes,
                                     .workers = result->workers};
  result->h2d_bytes = counters->h2d_bytes;
  result->d2h_bytes = counters->d2h_bytes;
  result->d2d_bytes = counters->d2d_bytes;
  result->lowering_cache_hits = counters->lowering_cache_hits;
  result->lowering_cache_misses = counters->lowering_cache_misses;
  const struct pto_figure *figure;
  for (result->figure_count = 0; (figure = pto_program_run_figure(session->run, result->figure_count)) != NULL;)
    result->figures[result->figure_count++] = *figure;
  result->has_run = true;
}

static void take_digest(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_trace *trace = pto_session_trace(session);
  result->has_trace_digest = result->is_virtual && result->has_run && trace;
  if (result->has_trace_digest) result->trace_digest = pto_trace_digest(trace);
}

/* What the last round came to, stats and digests, failed or not. */
static void take_stats(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  if (!session->rt) {
    pto_session_take_counters(session);
    result->stopped = session->stopped;
    take_digest(session);
    return;
  }
  result->stats = (struct pto_stats){.size = sizeof result->stats};
  pto_runtime_stats(session->rt, &result->stats);
  pto_session_take_refusals(session, pto_runtime_refusals(session->rt));
  result->has_run = true;
  result->stopped = pto_runtime_wait_picture(session->rt);
  take_digest(session);
}

/* *seconds is the round's wall time: the runtime's, or that of the program's host function. */
static int run_round(struct pto_session *session, uint32_t round, double *seconds) {
  struct pto_run_result *result = &session->result;
  uint64_t output_digest = result->output_digest, trace_digest = result->trace_digest;
  tell(session, "running", round + 1, result->rounds);
  if (round > 0) pto_program_run_rewind(session->run);
  if (session->recording.record) pto_trace_begin_run(&session->recording, result->is_virtual);
  session->reported_ps = session->reported_count = session->context_count = session->dispatches = 0;
  result->refused = 0;
  result->first_refusal = NULL;
  memset(session->remarks, 0, sizeof session->remarks);
  session->failed_kernel = (struct pto_failed_kernel){0};
  const double begin = pto_clock_seconds();
  int status = pto_program_run_orchestrate(session->run, session->rt);
  *seconds = pto_clock_seconds() - begin;
  if (session->listener.round_ended && session->rt)
    session->listener.round_ended(session->listener.argument, pto_session_trace(session));
  take_stats(session);
  if (result->has_run && result->stats.wall_ns) *seconds = (double)result->stats.wall_ns * 1e-9;
  if (status) {
    end_as_run(session, pto_exit_of_run(status));
    pto_session_add_place(session, &session->result.error);
    return result->exit_code;
  }
  if (session->config.no_compute) {
    result->is_priced_alone = true;
    pto_given_values_count(session->values, pto_session_trace(session), &result->priced);
    return PTO_EXIT_OK;
  }
  result->output_digest = pto_program_run_digest(session->run);
  result->has_output_digest = true;
  result->has_exact_outputs = pto_program_run_is_exact(session->run);
  if (round == 0) return PTO_EXIT_OK;
  if (result->output_digest != output_digest)
    pto_error_set(&result->error, PTO_OK,
                  "round %" PRIu32 " of %" PRIu32 " gave other outputs: digest %016" PRIx64 " instead of %016" PRIx64,
                  round + 1, result->rounds, result->output_digest, output_digest);
  else if (result->trace_digest != trace_digest)
    pto_error_set(&result->error, PTO_OK,
                  "round %" PRIu32 " of %" PRIu32 " went another way: trace digest %016" PRIx64
                  " instead of %016" PRIx64,
                  round + 1, result->rounds, result->trace_digest, trace_digest);
  else
    return PTO_EXIT_OK;
  result->verified = PTO_VERDICT_FALSE;
  return end(session, PTO_EXIT_FINDINGS);
}

int pto_session_execute(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  double *seconds = calloc(result->rounds, sizeof *seconds);
  if (!seconds) {
    pto_error_set(&result->error, PTO_ENOMEM, "no memory for %" PRIu32 " rounds", result->rounds);
    return end(session, PTO_EXIT_FAILED);
  }
  int code = PTO_EXIT_OK;
  uint32_t round = 0;
  while (round < result->rounds && code == PTO_EXIT_OK) {
    code = run_round(session, round, &seconds[round]);
    round++;
  }
  qsort(seconds, round, sizeof *seconds, order_doubles);
  result->has_time = true;
  result->wall_seconds = (seconds[(round - 1) / 2] + seconds[round / 2]) / 2;
  free(seconds);
  if (code != PTO_EXIT_OK || session->config.rank) return code; /* ranks are asked together */
  uint64_t found = 0;
  return pto_session_check_kernels(session, 1, &found, &result->error) ? end(session, PTO_EXIT_USAGE) : code;
}

/* ---- verify ---- */

/* On as many ranks as the program is for. */
static bool is_on_own_ranks(const struct pto_session *session) {
  const uint32_t own = session->subject.program->ranks ? session->subject.program->ranks : 1;
  return !session->config.rank || pto_rank_count(session->config.rank) == own;
}

/* A case may state its graph; with other options, rules, windows or ranks the statement is about another graph. */
static int check_counts(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_session_options *options = &session->options;
  const struct pto_case *stated = pto_program_run_case(session->run);
  if (!stated || !result->has_run || options->settings.count || options->inputs.count) return PTO_EXIT_OK;
  if (!is_on_own_ranks(session)) return PTO_EXIT_OK;
  if (stated->tasks && stated->tasks != result->stats.tasks) {
    pto_error_set(&result->error, PTO_OK, "%" PRIu64 " tasks instead of the %" PRIu64 " that case %s states",
                  result->stats.tasks, stated->tasks, stated->name);
    return end(session, PTO_EXIT_FINDINGS);
  }
  if (stated->edges && stated->edges != result->stats.edges && session->config.deps == PTO_DEPS_EXACT &&
      !session->asked.window) {
    pto_error_set(&result->error, PTO_OK, "%" PRIu64 " edges instead of the %" PRIu64 " that case %s states",
                  result->stats.edges, stated->edges, stated->name);
    return end(session, PTO_EXIT_FINDINGS);
  }
  return PTO_EXIT_OK;
}

int pto_session_judge(struct pto_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_session_options *options = &session->options;
  const struct pto_program *program = session->subject.program;
  if (session->config.no_compute) return pto_session_check_refusals(session); /* there is nothing to compare */
  tell(session, "verifying", 0, 0);
  if (program->expected_status) {
    pto_error_set(&result->error, PTO_OK, "it was to end in %s and ended well",
                  pto_status_name(program->expected_status));
    return end(session, PTO_EXIT_FINDINGS);
  }
  struct pto_watched_step expecting;
  begin_step(session, &expecting, "expect");
  int status = pto_program_run_expect(session->run);
  pto_watched_step_end(&expecting);
  if (status) return end_as_run(session, pto_exit_of_setup(status));
  status = pto_session_read_goldens(session);
  if (status) return end(session, pto_exit_of_setup(status));
  double rtol, atol;
  pto_program_run_tolerance(session->run, &rtol, &atol);
  struct pto_comparison comparison;
  pto_program_run_compare(session->run, options->has_rtol ? options->rtol : rtol,
                          options->has_atol ? options->atol : atol, &comparison);
  if (comparison.has_golden) {
    result->verified = comparison.is_verified ? PTO_VERDICT_TRUE : PTO_VERDICT_FALSE;
    result->max_abs_error = comparison.max_abs_error;
    result->nans = comparison.nans;
  }
  if (result->verified != PTO_VERDICT_FALSE) {
    const int code = check_counts(session);
    return code == PTO_EXIT_OK ? pto_session_check_refusals(session) : code;
  }
  session->wrong_array = comparison.array;
  session->wrong_element = comparison.index;
  pto_error_set(&result->error, PTO_OK, "%s", comparison.sentence);
  return end(session, PTO_EXIT_FINDINGS);
}

/* ---- where the time went ---- */

static void drop_account(struct pto_session *session) {
  session->result.timeline = NULL;
  session->result.groups = NULL;
  session->result.labels = NULL;
  session->result.alike = NULL;
  pto_timeline_stats_fini(&session->timeline);
  pto_group_times_fini(&session->node_times);
  pto_group_times_fini(&session->label_times);
  pto_alike_tasks_fini(&session->alike);
  pto_label_groups_fini(&session->labels);
}

int pto_session_take_account(struct pto_session *session, bool has_gains, struct pto_error *error) {
  const struct pto_trace *trace = pto_session_trace(session);
  const struct pto_export_info info = pto_session_info(session);
  drop_account(session);
  if (!trace || !(trace->record & PTO_RECORD_TIMELINE))
    return pto_error_set(error, PTO_ENOTSUP, "%s: the timeline of the run was not recorded", session->result.program);
  int status = pto_timeline_stats_init(trace, info.cluster_count, has_gains, &session->timeline, error);
  if (status) return status;
  if (session->timeline.is_virtual && !session->config.made_chip) {
    status = pto_timeline_stats_take_chip(&session->timeline, session->config.chip, error);
    if (status) return status;
  }
  session->timeline.command = session->result.command;
  session->result.timeline = &session->timeline;
  status = pto_group_times_init(&session->node_times, trace, info.groups, error);
  if (status) return status;
  session->result.groups = &session->node_times;
  status = pto_label_groups_init(&session->labels, trace, error);
  if (status == PTO_OK) status = pto_group_times_init(&session->label_times, trace, &session->labels.groups, error);
  if (status) return status;
  session->result.labels = &session->label_times;
  status = pto_alike_tasks_init(&session->alike, trace, info.groups ? info.groups : &session->labels.groups, error);
  if (status == PTO_OK) session->result.alike = &session->alike;
  return status;
}

/* ---- close ---- */

void pto_session_fini(struct pto_session *session) {
  drop_account(session);
  pto_captured_tasks_destroy(session->captured);
  pto_runtime_destroy(session->rt);
  pto_given_values_destroy(session->values);
  pto_trace_fini(&session->recording);
  pto_program_run_destroy(session->run);
  if (session->nowhere) fclose(session->nowhere);
  free(session->stopped);
  pto_subject_fini(&session->subject);
  memset(session, 0, sizeof *session);
}
