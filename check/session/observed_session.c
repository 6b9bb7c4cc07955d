/* SPDX-License-Identifier: MIT */
#include <check/session/observed_session.h>

#include <check/session/bounds.h>
#include <check/session/observed_arrays.h>
#include <check/session/refusals.h>
#include <check/session/remarks.h>
#include <runtime/base/base.h>
#include <runtime/control/control.h>
#include <sim/engine/observed_unit.h>

static int context_created(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                           struct pto_error *error) {
  struct pto_observed_session *its = argument;
  if (its->observation || !pto_port_is_observed(pto_runtime_port(rt))) {
    its->contexts_left_out++;
    return PTO_OK;
  }
  const int status = pto_observation_create(rt, &its->options, its->findings, &its->observation, error);
  if (status) return status;
  pto_observation_add_device(its->observation, memory, memory_bytes);
  its->rt = rt;
  its->context_count++;
  return PTO_OK;
}

static void context_destroyed(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters,
                              const struct pto_trace *recording) {
  struct pto_observed_session *its = argument;
  (void)recording;
  if (rt != its->rt) return;
  its->so_far = pto_observed_session_summary(its);
  its->task_count += counters->tasks;
  its->most_tasks = pto_max_u64(its->most_tasks, counters->tasks);
  pto_observation_destroy(its->observation);
  its->observation = NULL;
  its->rt = NULL;
}

int pto_observed_session_open(struct pto_observed_session *its, struct pto_session *session,
                              const struct pto_observe_options *options, struct pto_findings *findings,
                              struct pto_error *error) {
  *its = (struct pto_observed_session){.session = session, .options = *options, .findings = findings};
  its->options.add_memory = pto_observed_add_block;
  its->options.context = session;
  if (!session->rt) {
    session->context_watch.asks = true;
    session->listener = (struct pto_session_listener){
        .context_created = context_created, .context_destroyed = context_destroyed, .argument = its};
    return PTO_OK;
  }
  const int status = pto_observation_create(session->rt, &its->options, findings, &its->observation, error);
  if (status == PTO_OK) pto_observed_add_arrays(session, its->observation);
  return status;
}

void pto_observed_session_judge(const struct pto_observed_session *its, struct pto_findings *findings) {
  const struct pto_session *session = its->session;
  if (its->observation) pto_observation_finish(its->observation);
  pto_bounds_check(pto_session_trace(session), session->run, session->result.error.status == PTO_OK, findings);
  pto_session_name_nodes(session, findings);
  pto_session_add_refusals(session, findings);
  pto_session_add_remarks(session, findings);
}

void pto_observed_session_close(struct pto_observed_session *its) {
  pto_observation_destroy(its->observation);
  *its = (struct pto_observed_session){0};
}

struct pto_observe_summary pto_observed_session_summary(const struct pto_observed_session *its) {
  struct pto_observe_summary all = its->so_far;
  if (!its->observation) return all;
  const struct pto_observe_summary last = pto_observation_summary(its->observation);
  pto_observe_summary_add(&all, &last);
  return all;
}

uint64_t pto_observed_session_tasks(const struct pto_observed_session *its) {
  if (!its->session) return 0;
  return its->context_count ? its->task_count : its->session->result.stats.tasks;
}

uint64_t pto_observed_session_most_tasks(const struct pto_observed_session *its) {
  return its->context_count ? its->most_tasks : pto_observed_session_tasks(its);
}
