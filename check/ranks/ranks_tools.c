/* SPDX-License-Identifier: MIT */
/* The judges of pto/tools.h that run a program on several ranks; pto_tools_observe of one chip, too. */
#include <pto/tools.h>

#include <stdlib.h>

#include <check/ranks/delayed.h>
#include <check/ranks/ranks_check.h>
#include <check/ranks/ranks_observed.h>
#include <check/session/observed.h>
#include <runtime/base/sized.h>

#define DEFAULT_RUNS 200u /* as of explore of one chip */

static int status_of(const struct pto_error *error, int code) {
  return code == PTO_EXIT_OK ? PTO_OK : error->status ? error->status : PTO_EINVAL;
}

static int no_memory(struct pto_error *error) { return pto_error_set(error, PTO_ENOMEM, "out of memory"); }

static int observe_chip(const struct pto_session_options *options, const struct pto_observe_options *observe,
                        struct pto_findings **findings_out, struct pto_error *error) {
  struct pto_observed *observed = calloc(1, sizeof *observed);
  if (!observed) return no_memory(error);
  int code = pto_observed_open(observed, options, observe);
  const bool is_open = code == PTO_EXIT_OK;
  if (is_open) code = pto_observed_run(observed);
  *error = observed->session.result.error;
  int status = status_of(error, code);
  if (is_open && !pto_findings_give(&observed->findings, findings_out)) status = no_memory(error);
  pto_observed_close(observed);
  free(observed);
  return status;
}

static int observe_ranks(const struct pto_session_options *options, uint32_t ranks,
                         const struct pto_observe_options *observe, struct pto_findings **findings_out,
                         struct pto_error *error) {
  struct pto_ranks_observed *observed = calloc(1, sizeof *observed);
  if (!observed) return no_memory(error);
  int code = pto_ranks_observed_open(observed, options, ranks, observe);
  const bool is_open = code == PTO_EXIT_OK;
  if (is_open) code = pto_ranks_observed_run(observed);
  *error = observed->ranks.error;
  int status = status_of(error, code);
  if (is_open && !pto_findings_give(&observed->findings, findings_out)) status = no_memory(error);
  pto_ranks_observed_close(observed);
  free(observed);
  return status;
}

int pto_tools_observe(const struct pto_session_options *options, const struct pto_observe_request *request,
                      struct pto_findings **findings_out, char *sentence, size_t sentence_size) {
  struct pto_observe_request asked = {0};
  struct pto_session_options its;
  struct pto_config config;
  struct pto_error error;
  if (pto_sized_take(&asked, sizeof asked, request, "request", &error) ||
      pto_session_copy_options(&its, &config, options, &error))
    return pto_error_tell(&error, sentence, sentence_size);
  const struct pto_observe_options observe = {.has_tasks = asked.has_tasks,
                                              .first_task = asked.first_task,
                                              .last_task = asked.last_task,
                                              .calls_a_form = asked.calls_a_form};
  const uint32_t ranks = asked.ranks ? asked.ranks : pto_ranks_wanted(&its);
  const int status = ranks ? observe_ranks(&its, ranks, &observe, findings_out, &error)
                           : observe_chip(&its, &observe, findings_out, &error);
  if (status) (void)pto_error_tell(&error, sentence, sentence_size);
  return status;
}

/* Where outputs are wrong, a run is judged as any: pto_ranks_check does not look at them. */
static int check_ranks(const struct pto_session_options *options, uint32_t ranks, struct pto_findings *findings,
                       struct pto_error *error) {
  struct pto_ranks checked = {0};
  struct pto_order_counts counts;
  struct pto_error judged;
  int code = pto_ranks_init_judged(&checked, options, ranks), status = PTO_OK;
  const bool is_open = code == PTO_EXIT_OK;
  if (is_open) code = pto_ranks_execute(&checked);
  if (code == PTO_EXIT_FINDINGS) code = PTO_EXIT_OK;
  *error = checked.error;
  if (is_open) status = pto_ranks_check(&checked, findings, &counts, &judged);
  if (code == PTO_EXIT_OK && status) *error = judged;
  pto_ranks_fini(&checked);
  return code == PTO_EXIT_OK ? status : status_of(error, code);
}

static int give(struct pto_findings *findings, bool is_given, struct pto_findings **findings_out, int status,
                struct pto_error *error, char *sentence, size_t sentence_size) {
  if (is_given && !pto_findings_give(findings, findings_out)) status = no_memory(error);
  pto_findings_fini(findings);
  if (status) (void)pto_error_tell(error, sentence, sentence_size);
  return status;
}

int pto_tools_check_ranks(const struct pto_session_options *options, uint32_t ranks, struct pto_findings **findings_out,
                          char *sentence, size_t sentence_size) {
  struct pto_session_options its;
  struct pto_config config;
  struct pto_findings findings;
  struct pto_error error;
  pto_findings_init(&findings);
  int status = pto_session_copy_options(&its, &config, options, &error);
  if (status == PTO_OK) status = check_ranks(&its, ranks, &findings, &error);
  return give(&findings, status == PTO_OK || findings.count, findings_out, status, &error, sentence, sentence_size);
}

int pto_tools_explore_ranks(const struct pto_session_options *options, uint32_t ranks, uint64_t runs,
                            struct pto_findings **findings_out, char *sentence, size_t sentence_size) {
  struct pto_session_options its;
  struct pto_config config;
  struct pto_findings findings;
  struct pto_error error;
  pto_findings_init(&findings);
  int status = pto_session_copy_options(&its, &config, options, &error);
  if (status == PTO_OK) {
    struct pto_delays delays = {
        .options = &its, .rank_count = ranks, .run_count = runs ? runs : DEFAULT_RUNS, .seed = its.seed};
    int code = pto_delays_begin(&delays);
    if (code == PTO_EXIT_OK) code = pto_delays_run(&delays, &findings);
    error = delays.error;
    if (code != PTO_EXIT_FINDINGS || !findings.total) status = status_of(&error, code);
  }
  return give(&findings, status == PTO_OK || findings.count, findings_out, status, &error, sentence, sentence_size);
}
