/* SPDX-License-Identifier: MIT */
#include <cli/run_session.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cli/fault_report.h>
#include <cli/output_file.h>
#include <cli/progress_line.h>
#include <cli/stopped.h>
#include <cli/verb.h>
#include <device/context_recording.h>
#include <formats/npy.h>
#include <runtime/control/control.h>
#include <runtime/trace/trace_append.h>
#include <runtime/trace/trace_digest.h>

/* The session ends with this code; the sentence is in result.error already. */
static int end(struct pto_run_session *session, int exit_code) { return session->result.exit_code = exit_code; }

/* Errors of the preparation are the caller's mistake, unless the machine is at fault. */
static int exit_of_setup(int status) {
  return status == PTO_OK ? PTO_EXIT_OK : status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE;
}

/* Takes over the failure that a program run keeps. */
static int end_as_run(struct pto_run_session *session, int exit_code) {
  session->result.error = *pto_program_run_error(session->run);
  return end(session, exit_code);
}

/* ---- configuration ---- */

static void make_config(struct pto_run_session *session, uint32_t record) {
  const struct pto_run_options *options = session->options;
  const struct pto_config *wanted = session->loaded->program->config;
  struct pto_config *config = &session->config;
  memset(config, 0, sizeof *config);
  if (wanted) memcpy(config, wanted, wanted->size < sizeof *config ? wanted->size : sizeof *config);
  config->size = sizeof *config;
  if (options->engine) config->engine = options->engine;
  if (options->chip) config->chip = options->chip;
  if (options->policy) config->policy = options->policy;
  if (options->workers) config->workers = options->workers;
  if (options->has_deps) config->deps = options->deps;
  if (options->window) config->window = options->window;
  if (options->heap_bytes) config->heap_bytes = options->heap_bytes;
  if (options->poison) config->poison = true;
  if (!config->engine) config->engine = "threads";
  if (!config->chip) config->chip = "tiny";
  if (!config->policy) config->policy = "fifo";
  if (options->has_timeout || !config->timeout_ms) config->timeout_ms = options->timeout_ms;
  config->on_timeout = pto_fault_report_on_timeout;
  config->record |= record;
  config->meter = options->meter;
  /* The graph has the names of the kernels in a timeline. */
  if (options->trace_path || options->stats || options->dot_path || options->deps_path || options->dump_tasks)
    config->record |= PTO_RECORD_GRAPH;
  /* Virtual time has a digest of its timeline, so that is always kept; but not the many runs of a context. */
  const bool has_digest = strcmp(config->engine, "virtual") == 0 && !session->loaded->program->host;
  if (options->trace_path || options->stats || has_digest) config->record |= PTO_RECORD_TIMELINE;
}

static void describe(struct pto_run_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_case *chosen = pto_program_run_case(session->run);
  result->case_name = chosen ? chosen->name : NULL;
  result->engine = session->config.engine;
  result->chip = session->chip.name;
  result->deps = session->config.deps == PTO_DEPS_PTO ? "pto" : "exact";
  result->policy = session->config.policy;
  result->is_virtual = strcmp(session->config.engine, "virtual") == 0;
}

static int check_chip(struct pto_run_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_program *program = session->loaded->program;
  int status = pto_chip_load(session->config.chip, &session->chip, &result->error);
  if (status) return end(session, exit_of_setup(status));
  if (session->chip.cluster_count >= program->min_clusters) return PTO_EXIT_OK;
  pto_error_set(&result->error, PTO_EFIT, "%s needs %" PRIu32 " clusters and %s has %" PRIu32, session->loaded->name,
                program->min_clusters, session->chip.name, session->chip.cluster_count);
  return end(session, PTO_EXIT_USAGE);
}

/* ---- files for arrays ---- */

static void format_shape(const struct pto_array *array, char *text, size_t size) {
  int used = snprintf(text, size, "%s[", pto_dtype_name(array->dtype));
  for (uint32_t i = 0; i < array->ndims && (size_t)used < size; i++)
    used += snprintf(text + used, size - (size_t)used, i ? ",%" PRIu64 : "%" PRIu64, array->shape[i]);
  if ((size_t)used < size) snprintf(text + used, size - (size_t)used, "]");
}

/* The array that "name=FILE" names, if it has one of `roles`; *path_out is the file's. */
static int find_array(struct pto_run_session *session, const char *pair, uint32_t roles, struct pto_array **array_out,
                      const char **path_out) {
  struct pto_error *error = &session->result.error;
  char name[128];
  size_t length = strcspn(pair, "=");
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), pair);
  struct pto_array *array = pto_program_find(session->run, name);
  if (!array || array->role == PTO_ARRAY_SCRATCH || !(array->role & roles)) {
    const char *separator = "; it has ";
    pto_error_set(error, PTO_EINVAL, "%s has no %s called \"%s\"", session->loaded->name,
                  roles == PTO_ARRAY_INPUT ? "input" : "output", name);
    for (uint32_t i = 0; (array = pto_program_run_array(session->run, i)) != NULL; i++)
      if (array->role != PTO_ARRAY_SCRATCH && array->role & roles) {
        pto_error_append(error, "%s%s", separator, array->name);
        separator = ", ";
      }
    return PTO_EINVAL;
  }
  *array_out = array;
  *path_out = pair + length + 1;
  return PTO_OK;
}

/* The same with the file's elements, if they are as many in every dimension. */
static int read_pair(struct pto_run_session *session, const char *pair, uint32_t roles, struct pto_array **array_out,
                     struct pto_npy *npy) {
  struct pto_error *error = &session->result.error;
  struct pto_array *array;
  const char *path;
  int status = find_array(session, pair, roles, &array, &path);
  if (status == PTO_OK) status = pto_npy_read(path, npy, error);
  if (status) return status;
  if (npy->ndims == array->ndims && memcmp(npy->shape, array->shape, npy->ndims * sizeof *npy->shape) == 0) {
    *array_out = array;
    return PTO_OK;
  }
  char wanted[160], found[160];
  format_shape(array, wanted, sizeof wanted);
  pto_error_set(error, PTO_EINVAL, "%.120s is %s and %.400s holds %s", array->name, wanted, path,
                pto_npy_format(npy, found, sizeof found));
  pto_npy_fini(npy);
  return PTO_EINVAL;
}

static int load_input(struct pto_run_session *session, const char *pair) {
  struct pto_npy npy;
  struct pto_array *array;
  struct pto_error reason;
  int status = read_pair(session, pair, PTO_ARRAY_INPUT, &array, &npy);
  if (status) return status;
  status = pto_npy_copy(&npy, array->dtype, array->data, &reason);
  if (status) pto_error_set(&session->result.error, status, "--input %.400s: %.500s", pair, reason.sentence);
  pto_npy_fini(&npy);
  return status;
}

static int load_golden(struct pto_run_session *session, const char *pair) {
  struct pto_npy npy;
  struct pto_array *array;
  int status = read_pair(session, pair, PTO_ARRAY_OUTPUT, &array, &npy);
  if (status) return status;
  double *golden = pto_array_golden(session->run, array);
  if (golden)
    for (uint64_t i = 0; i < npy.numel; i++) golden[i] = pto_npy_get(&npy, array->dtype, i);
  else
    status = pto_error_set(&session->result.error, PTO_ENOMEM, "no memory for the golden of %s", array->name);
  pto_npy_fini(&npy);
  return status;
}

int pto_run_session_write_outputs(struct pto_run_session *session, struct pto_error *error) {
  const struct pto_string_list *outputs = &session->options->outputs;
  int status = PTO_OK;
  for (uint32_t i = 0; i < outputs->count && status == PTO_OK; i++) {
    struct pto_array *array;
    const char *path;
    status = find_array(session, outputs->items[i], PTO_ARRAY_OUTPUT, &array, &path);
    if (status == PTO_OK) status = pto_npy_write(path, array->dtype, array->ndims, array->shape, array->data, error);
  }
  return status;
}

int pto_run_session_write_records(struct pto_run_session *session, struct pto_error *error) {
  const struct pto_run_options *options = session->options;
  const struct pto_trace *trace = pto_run_session_trace(session);
  const struct pto_export_info info = pto_run_session_info(session);
  const struct {
    const char *path;
    int (*write)(const struct pto_trace *, const struct pto_export_info *, const char *, struct pto_error *);
  } exports[] = {{options->trace_path, pto_export_trace},
                 {options->dot_path, pto_export_dot},
                 {options->deps_path, pto_export_deps}};
  int first = PTO_OK;
  if (options->waits_path && session->result.has_run)
    first = pto_stopped_write_dot(session->result.stopped, session->result.program, options->waits_path, error);
  if (!trace || !session->result.has_run) return first;
  for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++) {
    struct pto_error reason;
    int status = exports[i].path ? exports[i].write(trace, &info, exports[i].path, &reason) : PTO_OK;
    if (status == PTO_OK || first) continue;
    first = status;
    *error = reason;
  }
  return first;
}

/* ---- open ---- */

/* What cannot be written afterwards is said before. */
static int probe_files(struct pto_run_session *session) {
  const struct pto_run_options *options = session->options;
  const char *const paths[] = {options->trace_path, options->dot_path, options->deps_path, options->waits_path,
                               options->json_path};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    if (pto_output_probe(paths[i], &session->result.error)) return end(session, PTO_EXIT_USAGE);
  return PTO_EXIT_OK;
}

/* Whatever the next context does, it does in other memory, though at the same addresses. */
static void part_contexts(struct pto_trace *sum) {
  struct pto_trace_host_access *sync = pto_trace_has_graph(sum) ? pto_trace_log_append(&sum->host_accesses) : NULL;
  if (sync) *sync = (struct pto_trace_host_access){.task_count = sum->tasks.count, .is_sync = true};
}

/* A context that the program reports: what it has recorded goes behind that of those before it. */
static int take_recording(void *argument, struct pto_context *context, struct pto_error *error) {
  struct pto_run_session *session = argument;
  struct pto_trace *sum = &session->recording;
  struct pto_context_counters counters = {.size = sizeof counters};
  const struct pto_trace *recording;
  if (session->config.record == 0) return PTO_OK;
  int status = pto_context_recording(context, &recording);
  if (status == PTO_OK && recording) {
    if (session->reported_count++ == 0)
      sum->start_ns = recording->start_ns;
    else
      part_contexts(sum);
    if (session->after_context) session->after_context(session->after_argument, recording, sum->tasks.count);
    status = pto_trace_append(sum, recording,
                              recording->is_virtual ? session->reported_ps
                                                    : pto_trace_append_place(sum, recording->start_ns));
  }
  pto_context_counters(context, &counters);
  session->reported_ps += counters.virtual_ps;
  return status == PTO_ENOMEM ? pto_error_set(error, status, "no memory for what the context has recorded") : PTO_OK;
}

/* Where the program's own text goes. */
static FILE *text_of(struct pto_run_session *session) {
  if (session->options->is_mute) return session->nowhere = fopen("/dev/null", "w");
  return pto_run_options_take_stdout(session->options) ? stderr : stdout;
}

static int open_program_run(struct pto_run_session *session) {
  const struct pto_run_options *options = session->options;
  const struct pto_program_request request = {.case_name = options->case_name,
                                              .settings = options->settings.items,
                                              .setting_count = options->settings.count,
                                              .seed = options->seed,
                                              .margin_bytes = options->array_margin_bytes,
                                              .config = &session->config,
                                              .on_report = take_recording,
                                              .on_report_argument = session,
                                              .text = text_of(session)};
  int status = pto_program_run_create(session->loaded->program, &request, &session->run, &session->result.error);
  if (status) return end(session, exit_of_setup(status));
  describe(session);
  pto_progress_line_stage("preparing the inputs", 0, 0);
  status = pto_program_run_prepare(session->run);
  if (status) return end_as_run(session, exit_of_setup(status));
  for (uint32_t i = 0; i < options->inputs.count; i++) {
    status = load_input(session, options->inputs.items[i]);
    if (status) return end(session, exit_of_setup(status));
  }
  /* A wrong name is said before the run, not after it. */
  for (uint32_t i = 0; i < options->outputs.count; i++) {
    struct pto_array *array;
    const char *path;
    status = find_array(session, options->outputs.items[i], PTO_ARRAY_OUTPUT, &array, &path);
    if (status == PTO_OK && strcmp(path, "-") == 0)
      status = pto_error_set(&session->result.error, PTO_EINVAL, "--output %s: an array goes to a file",
                             options->outputs.items[i]);
    if (status == PTO_OK && pto_output_probe(path, &session->result.error)) status = PTO_EINVAL;
    if (status) return end(session, exit_of_setup(status));
  }
  for (uint32_t i = 0; i < options->expects.count; i++) {
    struct pto_array *array;
    struct pto_npy npy;
    status = read_pair(session, options->expects.items[i], PTO_ARRAY_OUTPUT, &array, &npy);
    if (status) return end(session, exit_of_setup(status));
    pto_npy_fini(&npy);
  }
  if (options->rounds > 1 && pto_program_run_remember(session->run)) return end_as_run(session, PTO_EXIT_FAILED);
  return PTO_EXIT_OK;
}

static int open_runtime(struct pto_run_session *session) {
  struct pto_run_result *result = &session->result;
  if (pto_program_run_is_host(session->run)) {
    const struct pto_run_options *options = session->options;
    if (!options->waits_path) return PTO_EXIT_OK;
    pto_error_set(&result->error, PTO_ENOTSUP, "%s drives contexts of its own, which --waits-dot does not see",
                  session->loaded->name);
    return end(session, PTO_EXIT_USAGE);
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
  return PTO_EXIT_OK;
}

int pto_run_session_open(struct pto_run_session *session, const struct pto_run_options *options, const char *program,
                         uint32_t record) {
  memset(session, 0, sizeof *session);
  session->options = options;
  session->result.program = program;
  session->result.seed = options->seed;
  session->result.rounds = options->rounds;
  pto_progress_line_stage("loading", 0, 0);
  int status = pto_program_load(program, &session->loaded, &session->result.error);
  if (status) return end(session, exit_of_setup(status));
  session->result.program = session->loaded->name;
  make_config(session, record);
  int code = probe_files(session);
  if (code == PTO_EXIT_OK) code = check_chip(session);
  if (code == PTO_EXIT_OK) code = open_program_run(session);
  if (code == PTO_EXIT_OK) code = open_runtime(session);
  return code;
}

/* ---- execute ---- */

static int order_doubles(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The same for a program that drives contexts of its own. */
static void take_counters(struct pto_run_session *session) {
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

/* What the last round came to, stats and digests, failed or not. */
static void take_stats(struct pto_run_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_trace *trace = pto_run_session_trace(session);
  if (!session->rt) {
    take_counters(session);
    return;
  }
  result->stats = (struct pto_stats){.size = sizeof result->stats};
  pto_runtime_stats(session->rt, &result->stats);
  result->has_run = true;
  result->stopped = pto_runtime_wait_picture(session->rt);
  if (result->is_virtual && trace) {
    result->trace_digest = pto_trace_digest(trace);
    result->has_trace_digest = true;
  }
}

static double monotonic_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* *seconds is the round's wall time: the runtime's, or that of the program's host function. */
static int run_round(struct pto_run_session *session, uint32_t round, double *seconds) {
  struct pto_run_result *result = &session->result;
  uint64_t output_digest = result->output_digest, trace_digest = result->trace_digest;
  pto_progress_line_stage("running", round + 1, result->rounds);
  if (round > 0) pto_program_run_rewind(session->run);
  if (session->recording.record) pto_trace_begin_run(&session->recording, result->is_virtual);
  session->reported_ps = session->reported_count = 0;
  double begin = monotonic_seconds();
  int status = pto_program_run_orchestrate(session->run, session->rt);
  *seconds = monotonic_seconds() - begin;
  if (session->after_round && session->rt)
    session->after_round(session->after_argument, pto_run_session_trace(session));
  take_stats(session);
  if (result->has_run && result->stats.wall_ns) *seconds = (double)result->stats.wall_ns * 1e-9;
  if (status) return end_as_run(session, status == PTO_EINVAL ? PTO_EXIT_USAGE : PTO_EXIT_FAILED);
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

int pto_run_session_execute(struct pto_run_session *session) {
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
  return code;
}

/* ---- verify ---- */

/* A case may state its graph; with other options, rules or windows the statement is about another graph. */
static int check_counts(struct pto_run_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_run_options *options = session->options;
  const struct pto_case *stated = pto_program_run_case(session->run);
  if (!stated || !result->has_run || options->settings.count || options->inputs.count) return PTO_EXIT_OK;
  if (stated->tasks && stated->tasks != result->stats.tasks) {
    pto_error_set(&result->error, PTO_OK, "%" PRIu64 " tasks instead of the %" PRIu64 " that case %s states",
                  result->stats.tasks, stated->tasks, stated->name);
    return end(session, PTO_EXIT_FINDINGS);
  }
  if (stated->edges && stated->edges != result->stats.edges && session->config.deps == PTO_DEPS_EXACT &&
      !options->window) {
    pto_error_set(&result->error, PTO_OK, "%" PRIu64 " edges instead of the %" PRIu64 " that case %s states",
                  result->stats.edges, stated->edges, stated->name);
    return end(session, PTO_EXIT_FINDINGS);
  }
  return PTO_EXIT_OK;
}

int pto_run_session_verify(struct pto_run_session *session) {
  struct pto_run_result *result = &session->result;
  const struct pto_run_options *options = session->options;
  const struct pto_program *program = session->loaded->program;
  pto_progress_line_stage("verifying", 0, 0);
  if (program->expected_status) {
    pto_error_set(&result->error, PTO_OK, "it was to end in %s and ended well",
                  pto_status_name(program->expected_status));
    return end(session, PTO_EXIT_FINDINGS);
  }
  int status = pto_program_run_expect(session->run);
  if (status) return end_as_run(session, exit_of_setup(status));
  for (uint32_t i = 0; i < options->expects.count; i++) {
    status = load_golden(session, options->expects.items[i]);
    if (status) return end(session, exit_of_setup(status));
  }
  double rtol, atol;
  pto_program_run_tolerance(session->run, &rtol, &atol);
  struct pto_comparison comparison;
  pto_program_run_compare(session->run, options->has_rtol ? options->rtol : rtol,
                          options->has_atol ? options->atol : atol, &comparison);
  if (comparison.has_golden) {
    result->verified = comparison.is_verified ? PTO_VERDICT_TRUE : PTO_VERDICT_FALSE;
    result->max_abs_error = comparison.max_abs_error;
  }
  if (result->verified != PTO_VERDICT_FALSE) return check_counts(session);
  pto_error_set(&result->error, PTO_OK, "%s", comparison.sentence);
  return end(session, PTO_EXIT_FINDINGS);
}

void pto_run_session_close(struct pto_run_session *session) {
  pto_timeline_stats_fini(&session->timeline);
  pto_runtime_destroy(session->rt);
  pto_trace_fini(&session->recording);
  pto_program_run_destroy(session->run);
  if (session->nowhere) fclose(session->nowhere);
  pto_program_unload(session->loaded);
  memset(session, 0, sizeof *session);
}

const struct pto_trace *pto_run_session_trace(const struct pto_run_session *session) {
  if (session->rt) return pto_runtime_trace(session->rt);
  return session->recording.record ? &session->recording : NULL;
}

struct pto_export_info pto_run_session_info(const struct pto_run_session *session) {
  return (struct pto_export_info){.program = session->result.program,
                                  .engine = session->result.engine,
                                  .chip = session->result.chip,
                                  .cluster_count = session->chip.cluster_count};
}
