/* SPDX-License-Identifier: MIT */
#include <check/session/observed.h>

#include <inttypes.h>

#include <check/session/bounds.h>
#include <check/session/observed_arrays.h>
#include <check/session/refusals.h>
#include <check/session/remarks.h>
#include <runtime/base/base.h>
#include <runtime/control/control.h>
#include <sim/engine/observed_unit.h>

struct pto_observe_summary pto_observed_summary(const struct pto_observed *observed) {
  struct pto_observe_summary all = observed->so_far;
  if (!observed->observation) return all;
  const struct pto_observe_summary last = pto_observation_summary(observed->observation);
  pto_observe_summary_add(&all, &last);
  return all;
}

/* ---- contexts, one at a time ---- */

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_observed *observed = argument;
  if (observed->observation || !pto_port_is_observed(pto_runtime_port(rt))) {
    observed->contexts_left_out++;
    return PTO_OK;
  }
  const int status = pto_observation_create(rt, &observed->options, &observed->findings, &observed->observation, error);
  if (status) return status;
  pto_observation_add_device(observed->observation, memory, memory_bytes);
  observed->rt = rt;
  observed->context_count++;
  return PTO_OK;
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters,
                              const struct pto_trace *recording) {
  struct pto_observed *observed = argument;
  if (rt != observed->rt) return;
  observed->so_far = pto_observed_summary(observed);
  observed->task_count += counters->tasks;
  observed->most_tasks = pto_max_u64(observed->most_tasks, counters->tasks);
  pto_observation_destroy(observed->observation);
  observed->observation = NULL;
  observed->rt = NULL;
}

/* ---- the run ---- */

static int watch(struct pto_observed *observed) {
  struct pto_session *session = &observed->session;
  if (!session->rt) {
    session->context_watch.asks = true;
    session->listener = (struct pto_session_listener){
        .context_created = context_created, .context_destroyed = context_destroyed, .argument = observed};
    return PTO_EXIT_OK;
  }
  observed->options.add_memory = pto_observed_add_block;
  observed->options.context = session;
  if (pto_observation_create(session->rt, &observed->options, &observed->findings, &observed->observation,
                             &session->result.error))
    return session->result.exit_code = PTO_EXIT_FAILED;
  pto_observed_add_arrays(session, observed->observation);
  return PTO_EXIT_OK;
}

int pto_observed_open(struct pto_observed *observed, const struct pto_session_options *given,
                      const struct pto_observe_options *observe) {
  struct pto_session_options options;
  struct pto_config config;
  *observed = (struct pto_observed){.options = *observe};
  pto_findings_init(&observed->findings);
  struct pto_run_result *result = &observed->session.result;
  if (pto_session_copy_options(&options, &config, given, &result->error)) return result->exit_code = PTO_EXIT_USAGE;
  config.engine = "observe";
  config.record |= PTO_RECORD_GRAPH | PTO_RECORD_CALLERS;
  options.array_margin_bytes = pto_observed_margin_bytes();
  const int code = pto_session_init(&observed->session, &options);
  return code == PTO_EXIT_OK ? watch(observed) : code;
}

/* Once the run is known, which has told its number of tasks. */
static int check_range(struct pto_observed *observed) {
  struct pto_run_result *result = &observed->session.result;
  const struct pto_observe_options *observe = &observed->options;
  const uint64_t tasks = observed->most_tasks ? observed->most_tasks : result->stats.tasks;
  if (!observe->has_tasks || observe->last_task < tasks) return result->exit_code;
  pto_error_set(&result->error, PTO_EINVAL,
                "--observe-tasks: there is no task %" PRIu64 ": the run has %" PRIu64 ", and the first is 0",
                observe->last_task, tasks);
  return result->exit_code = PTO_EXIT_USAGE;
}

int pto_observed_run(struct pto_observed *observed) {
  int code = pto_session_execute(&observed->session);
  pto_bounds_check(pto_session_trace(&observed->session), observed->session.run, &observed->findings);
  pto_session_name_nodes(&observed->session, &observed->findings);
  pto_session_add_refusals(&observed->session, &observed->findings);
  pto_session_add_remarks(&observed->session, &observed->findings);
  if (code == PTO_EXIT_OK) code = check_range(observed);
  const struct pto_observe_summary summary = pto_observed_summary(observed);
  if (code == PTO_EXIT_OK && pto_observe_summary_fails(&summary, &observed->session.result.error))
    code = observed->session.result.exit_code = PTO_EXIT_FAILED;
  return code == PTO_EXIT_OK ? pto_session_judge(&observed->session) : code;
}

int pto_observed_exit(const struct pto_observed *observed) {
  const int code = observed->session.result.exit_code;
  return code != PTO_EXIT_OK || pto_findings_is_clean(&observed->findings) ? code : PTO_EXIT_FINDINGS;
}

uint64_t pto_observed_tasks(const struct pto_observed *observed) {
  return observed->context_count ? observed->task_count : observed->session.result.stats.tasks;
}

void pto_observed_close(struct pto_observed *observed) {
  pto_observation_destroy(observed->observation);
  pto_session_fini(&observed->session);
  pto_findings_fini(&observed->findings);
  *observed = (struct pto_observed){0};
}
