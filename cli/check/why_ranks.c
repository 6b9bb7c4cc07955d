/* SPDX-License-Identifier: MIT */
#include <cli/check/check.h>

#include <check/ranks/world_why.h>
#include <cli/main/progress_line.h>
#include <cli/main/verb.h>
#include <cli/run/request.h>

static int answer(struct pto_ranks *ranks, const struct pto_run_options *options,
                  const struct pto_world_why_request *request) {
  struct pto_error error;
  struct pto_report *report;
  const int status = pto_world_why(ranks, request, &report, &error);
  if (status) return pto_complain(status == PTO_EINVAL ? PTO_EXIT_USAGE : PTO_EXIT_FAILED, "why: %s", error.sentence);
  const int code = pto_tell_report("why", report, options, PTO_EXIT_OK);
  pto_report_destroy(report);
  return code;
}

int pto_why_ranks(const struct pto_run_options *options, const struct pto_session_options *asked, uint32_t rank_count,
                  const struct pto_world_why_request *request) {
  static struct pto_ranks ranks;
  for (size_t i = 0; i < PTO_EXPORT_COUNT; i++)
    if (options->exports[i])
      return pto_complain(PTO_EXIT_USAGE, "why: with several ranks, a file of a run's timeline or graph is not told: "
                                          "`run` and `check` write them");
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  int code = pto_ranks_init_judged(&ranks, asked, rank_count);
  const bool is_set_up = code == PTO_EXIT_OK;
  if (is_set_up) code = pto_ranks_execute(&ranks);
  pto_progress_line_end();
  if (code == PTO_EXIT_FINDINGS) code = PTO_EXIT_OK; /* outputs that are wrong are for `check` */
  if (code != PTO_EXIT_OK && ranks.is_told_here) pto_complain(0, "%s", ranks.error.sentence);
  if (is_set_up && (code == PTO_EXIT_OK || code == PTO_EXIT_FAILED)) {
    const int answered = answer(&ranks, options, request);
    if (code == PTO_EXIT_OK) code = answered;
  }
  pto_ranks_fini(&ranks);
  return code;
}
