/* SPDX-License-Identifier: MIT */
#include <check/predict/forecast.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check/ranks/ranks.h>
#include <check/session/session.h>
#include <report/run/critical_path.h>
#include <report/run/timeline_stats.h>
#include <runtime/base/base.h>
#include <runtime/base/sized.h>
#include <runtime/base/stop.h>

/* ---- one run ---- */

/* For each other: those of REMOTE alone are run for what they tell other ranks. */
static bool has_waiting_kernels(const struct pto_trace *trace) {
  for (uint64_t i = 0; trace && i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    for (size_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels); role++)
      if (task->kernels[role] && task->kernels[role]->flags & PTO_KERNEL_WAITS &&
          !(task->kernels[role]->flags & PTO_KERNEL_REMOTE))
        return true;
  }
  return false;
}

static int refuse_waiting(struct pto_error *error) {
  pto_error_set(error, PTO_ENOTSUP, "it has kernels that wait for other cores");
  return PTO_EXIT_USAGE;
}

static uint64_t count_kernel_tasks(const struct pto_trace *trace) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->tasks.count; i++)
    count += ((const struct pto_trace_task *)pto_trace_log_at(&trace->tasks, i))->kind == PTO_TASK_KERNEL;
  return count;
}

static uint64_t makespan_of(const struct pto_session *session) {
  return session->result.stats.virtual_ps - session->chip.handshake_ps; /* measured runs begin behind it */
}

static void name_kernels(const struct pto_timeline_stats *timeline, struct pto_forecast *forecast) {
  for (size_t i = 0; i < PTO_FORECAST_KERNELS && i < timeline->kernel_count; i++)
    if (timeline->kernels[i].kernel)
      snprintf(forecast->kernels[i], sizeof forecast->kernels[i], "%s", timeline->kernels[i].kernel->name);
}

/* What the run consists of, of one of several ranks too. */
static int add_account(struct pto_session *session, struct pto_forecast *forecast) {
  struct pto_error error;
  const struct pto_run_result *result = &session->result;
  struct pto_critical_path path;
  if (pto_session_take_account(session, false, &error) ||
      pto_critical_path_find(pto_session_trace(session), &path, &error))
    return pto_session_end(session, PTO_EXIT_FAILED, &error);
  const struct pto_timeline_stats *timeline = &session->timeline;
  if (timeline->dropped) {
    pto_error_set(&error, PTO_ENOTSUP, "%" PRIu64 " records of the run did not fit into its logs", timeline->dropped);
    return pto_session_end(session, PTO_EXIT_FAILED, &error);
  }
  if (!session->chip.is_graph_prebuilt)
    forecast->window_ps = pto_max_u64(forecast->window_ps, result->stats.orchestration_ps);
  forecast->tasks += result->stats.tasks;
  forecast->kernel_tasks += count_kernel_tasks(pto_session_trace(session));
  forecast->edges += result->stats.edges;
  forecast->window_high_water = pto_max_u64(forecast->window_high_water, result->stats.window_high_water);
  forecast->heap_high_water_bytes = pto_max_u64(forecast->heap_high_water_bytes, result->stats.heap_high_water_bytes);
  forecast->calls += timeline->calls;
  for (int kind = 0; kind < 2; kind++) {
    forecast->busy_ps[kind] += timeline->busy[kind];
    forecast->cores[kind] += timeline->core_count[kind];
    forecast->used[kind] += timeline->used_count[kind];
  }
  forecast->path_ps = pto_max_u64(forecast->path_ps, path.length);
  forecast->priced.assumed_prices += result->priced.assumed_prices;
  forecast->priced.given_values += result->priced.given_values;
  forecast->priced.assumed_values += result->priced.assumed_values;
  forecast->origin_ps[PTO_ORIGIN_MEASURED] += result->stats.measured_ps;
  forecast->origin_ps[PTO_ORIGIN_INTERPOLATED] += result->stats.interpolated_ps;
  forecast->origin_ps[PTO_ORIGIN_MODELLED] += result->stats.modelled_ps;
  forecast->origin_ps[PTO_ORIGIN_ASSUMED] += result->stats.assumed_ps;
  return PTO_EXIT_OK;
}

static int run_session(const struct pto_session_options *options, bool has_account, struct pto_forecast *forecast,
                       bool *needs_kernels) {
  struct pto_session session;
  int code = pto_session_init(&session, options);
  if (code == PTO_EXIT_OK) code = pto_session_execute(&session);
  const bool is_priced = session.config.no_compute;
  if (code == PTO_EXIT_OK && is_priced && has_waiting_kernels(pto_session_trace(&session)))
    code = refuse_waiting(&session.result.error);
  if (code == PTO_EXIT_OK && has_account) code = add_account(&session, forecast);
  if (code == PTO_EXIT_OK && has_account) name_kernels(&session.timeline, forecast);
  if (code == PTO_EXIT_OK) forecast->makespan_ps = makespan_of(&session);
  *needs_kernels = is_priced && code == PTO_EXIT_USAGE;
  forecast->exit_code = code;
  forecast->status = session.result.error.status;
  snprintf(forecast->program, sizeof forecast->program, "%s", session.result.program ? session.result.program : "");
  snprintf(forecast->sentence, sizeof forecast->sentence, "%.*s", (int)sizeof forecast->sentence - 1,
           session.result.error.sentence);
  pto_session_fini(&session);
  return code;
}

/* The same on several ranks: of kernels those of the last one to end. */
static int run_ranks(const struct pto_session_options *options, uint32_t count, bool has_account,
                     struct pto_forecast *forecast, bool *needs_kernels) {
  struct pto_ranks ranks;
  const bool is_priced = options->config->no_compute;
  int code = pto_ranks_init(&ranks, options, count, 1);
  if (code == PTO_EXIT_OK) code = pto_ranks_execute(&ranks);
  if (code == PTO_EXIT_FINDINGS) code = PTO_EXIT_OK; /* times are asked for */
  for (uint32_t i = 0; code == PTO_EXIT_OK && i < ranks.rank_count; i++) {
    struct pto_session *session = &ranks.sessions[i];
    if (is_priced && has_waiting_kernels(pto_session_trace(session))) code = refuse_waiting(&ranks.error);
    if (code != PTO_EXIT_OK || !has_account) continue;
    code = add_account(session, forecast);
    if (code != PTO_EXIT_OK) ranks.error = session->result.error;
    if (session->result.stats.virtual_ps == ranks.virtual_ps && !forecast->kernels[0][0])
      name_kernels(&session->timeline, forecast);
  }
  if (code == PTO_EXIT_OK) forecast->makespan_ps = ranks.virtual_ps - ranks.sessions[0].chip.handshake_ps;
  *needs_kernels = is_priced && code == PTO_EXIT_USAGE;
  forecast->exit_code = code;
  forecast->status = ranks.error.status;
  snprintf(forecast->program, sizeof forecast->program, "%s", ranks.program ? ranks.program : "");
  snprintf(forecast->sentence, sizeof forecast->sentence, "%.*s", (int)sizeof forecast->sentence - 1,
           ranks.error.sentence);
  pto_ranks_fini(&ranks);
  return code;
}

static int run_any(const struct pto_session_options *options, const struct pto_forecast_job *job,
                   struct pto_forecast *forecast, bool *needs_kernels) {
  return job->ranks ? run_ranks(options, job->ranks, !job->is_priced, forecast, needs_kernels)
                    : run_session(options, !job->is_priced, forecast, needs_kernels);
}

/* What a forecast says until its run has ended: a program may end the process. */
static void begin_forecast(struct pto_forecast *forecast) {
  *forecast = (struct pto_forecast){.exit_code = PTO_EXIT_FAILED, .status = PTO_EKERNEL};
  snprintf(forecast->sentence, sizeof forecast->sentence, "the run ended its own process");
}

/* Without kernels, and where that is refused with them; of two refusals the second is the one that counts. */
static void run_job(const struct pto_session_options *given, const struct pto_forecast_job *job,
                    struct pto_forecast *forecast) {
  struct pto_session_options options;
  struct pto_config config;
  struct pto_error error;
  bool needs_kernels = job->has_kernels;
  begin_forecast(forecast);
  if (pto_session_copy_options(&options, &config, given, &error)) {
    forecast->exit_code = PTO_EXIT_USAGE;
    snprintf(forecast->sentence, sizeof forecast->sentence, "%.*s", (int)sizeof forecast->sentence - 1, error.sentence);
    return;
  }
  config.engine = "virtual";
  config.made_chip = job->chip;
  if (job->window) config.window = job->window;
  if (job->heap_bytes) config.heap_bytes = job->heap_bytes;
  config.jitter_ppm = job->jitter_ppm;
  config.jitter_seed = job->jitter_seed;
  config.no_compute = true;
  config.poison = false; /* of memory, which tells no time */
  options.small_inputs = true;
  /* What the caller's run records is not asked for; a session adds what it needs. */
  config.record = job->is_priced ? 0 : PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE;
  if (!job->has_kernels && run_any(&options, job, forecast, &needs_kernels) == PTO_EXIT_OK) return;
  if (!needs_kernels || pto_status_is_shortage(forecast->status) || job->is_priced || job->no_kernels) return;
  char why[sizeof forecast->why_run];
  memcpy(why, forecast->sentence, sizeof why);
  config.no_compute = options.small_inputs = options.assume_zero = false;
  options.values = NULL;
  begin_forecast(forecast);
  (void)run_any(&options, job, forecast, &needs_kernels);
  memcpy(forecast->why_run, why, sizeof why);
}

/* ---- processes ---- */

struct worker {
  pid_t pid;
  uint32_t job;
};

/* What kills a process is the machine, where memory is short. */
static void take_end(struct pto_forecast *forecast, int end) {
  if (!WIFSIGNALED(end)) return;
  forecast->exit_code = PTO_EXIT_FAILED;
  forecast->status = WTERMSIG(end) == SIGKILL ? PTO_ESYSTEM : PTO_EKERNEL;
  snprintf(forecast->sentence, sizeof forecast->sentence, "the run crashed: %s", strsignal(WTERMSIG(end)));
}

/* The first of the children that ends; its place becomes free. */
static int reap(struct worker *workers, uint32_t at_once, struct pto_forecast *forecasts, struct pto_error *error) {
  for (;;) {
    int end = 0;
    const pid_t pid = waitpid(-1, &end, 0);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return pto_error_set(error, PTO_ESYSTEM, "a run was lost: %s", strerror(errno));
    for (uint32_t i = 0; i < at_once; i++) {
      if (workers[i].pid != pid) continue;
      take_end(&forecasts[workers[i].job], end);
      workers[i].pid = 0;
      return PTO_OK;
    }
  }
}

static int start(struct worker *worker, const struct pto_session_options *options, const struct pto_forecast_job *job,
                 struct pto_forecast *forecast, struct pto_error *error) {
  fflush(NULL);
  worker->pid = fork();
  if (worker->pid == 0) {
    run_job(options, job, forecast);
    _exit(0);
  }
  return worker->pid > 0 ? PTO_OK : pto_error_set(error, PTO_ESYSTEM, "no process for a run: %s", strerror(errno));
}

static bool is_asked_to_stop(const struct pto_session_options *options) {
  return options->config && options->config->stop && pto_stop_is_asked(options->config->stop);
}

static void leave(struct pto_forecast *forecast) {
  *forecast = (struct pto_forecast){.exit_code = PTO_EXIT_INTERRUPTED, .status = PTO_EINTERRUPTED};
  snprintf(forecast->sentence, sizeof forecast->sentence, "interrupted before it began");
}

static int run_all(const struct pto_session_options *options, const struct pto_forecast_job *jobs, uint32_t count,
                   struct worker *workers, uint32_t at_once, struct pto_forecast *forecasts, struct pto_error *error) {
  int status = PTO_OK;
  uint32_t running = 0, next = 0;
  while (running || (next < count && status == PTO_OK)) {
    uint32_t place = 0;
    while (place < at_once && workers[place].pid) place++;
    if (is_asked_to_stop(options))
      while (next < count) leave(&forecasts[next++]);
    if (place < at_once && next < count && status == PTO_OK) {
      if (options->progress && count > 1) options->progress("running", next, count);
      workers[place].job = next;
      status = start(&workers[place], options, &jobs[next], &forecasts[next], error);
      running += status == PTO_OK;
      if (status) workers[place].pid = 0;
      next++;
    } else if (running) {
      const int lost = reap(workers, at_once, forecasts, error);
      if (lost) return lost;
      running--;
    }
  }
  return status;
}

int pto_forecast_all(const struct pto_session_options *options, const struct pto_forecast_job *jobs, uint32_t count,
                     uint32_t at_once, struct pto_forecast *forecasts, struct pto_error *error) {
  struct worker workers[64] = {0};
  const size_t bytes = (size_t)count * sizeof *forecasts;
  if (count == 0) return PTO_OK;
  struct pto_forecast *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu32 " runs", count);
  at_once = (uint32_t)pto_min_u64(pto_max_u64(at_once, 1), PTO_ARRAY_LENGTH(workers));
  const int status = run_all(options, jobs, count, workers, at_once, shared, error);
  memcpy(forecasts, shared, bytes);
  munmap(shared, bytes);
  return status;
}

const struct pto_forecast *pto_forecast_find_lost(const struct pto_forecast *forecasts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (forecasts[i].exit_code != PTO_EXIT_OK && pto_status_is_shortage(forecasts[i].status)) return &forecasts[i];
  return NULL;
}
