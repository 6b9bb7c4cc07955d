/* SPDX-License-Identifier: MIT */
#include <check/session/observed.h>

#include <inttypes.h>

#include <check/session/observed_arrays.h>
#include <runtime/base/base.h>

struct pto_observe_summary pto_observed_summary(const struct pto_observed *observed) {
  return pto_observed_session_summary(&observed->its);
}

int pto_observed_open(struct pto_observed *observed, const struct pto_session_options *given,
                      const struct pto_observe_options *observe) {
  struct pto_session_options options;
  struct pto_config config;
  *observed = (struct pto_observed){0};
  pto_findings_init(&observed->findings);
  struct pto_run_result *result = &observed->session.result;
  if (pto_session_copy_options(&options, &config, given, &result->error)) return result->exit_code = PTO_EXIT_USAGE;
  config.engine = "observe";
  config.record |= PTO_RECORD_GRAPH | PTO_RECORD_CALLERS;
  options.array_margin_bytes = pto_observed_margin_bytes();
  const int code = pto_session_init(&observed->session, &options);
  if (code != PTO_EXIT_OK) return code;
  if (pto_observed_session_open(&observed->its, &observed->session, observe, &observed->findings, &result->error))
    return result->exit_code = PTO_EXIT_FAILED;
  return PTO_EXIT_OK;
}

/* Once the run is known, which has told its number of tasks. */
static int check_range(struct pto_observed *observed) {
  struct pto_run_result *result = &observed->session.result;
  const struct pto_observe_options *observe = &observed->its.options;
  const uint64_t tasks = pto_observed_session_most_tasks(&observed->its);
  if (!observe->has_tasks || observe->last_task < tasks) return result->exit_code;
  pto_error_set(&result->error, PTO_EINVAL,
                "--observe-tasks: there is no task %" PRIu64 ": the run has %" PRIu64 ", and the first is 0",
                observe->last_task, tasks);
  return result->exit_code = PTO_EXIT_USAGE;
}

int pto_observed_run(struct pto_observed *observed) {
  int code = pto_session_execute(&observed->session);
  pto_observed_session_judge(&observed->its, &observed->findings);
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

uint64_t pto_observed_tasks(const struct pto_observed *observed) { return pto_observed_session_tasks(&observed->its); }

void pto_observed_close(struct pto_observed *observed) {
  pto_observed_session_close(&observed->its);
  pto_session_fini(&observed->session);
  pto_findings_fini(&observed->findings);
  *observed = (struct pto_observed){0};
}
