/* SPDX-License-Identifier: MIT */
#include <cli/run/judged_run.h>

#include <cli/main/fault_report.h>
#include <cli/main/progress_line.h>

static int run(struct pto_session *session, const struct pto_run_options *options) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(options, &config);
  struct pto_run_options files = *options;
  struct pto_error error;
  files.json_path = NULL; /* the verb's own */
  if (pto_run_files_probe(&files, &error)) return pto_session_end(session, PTO_EXIT_USAGE, &error);
  int code = pto_session_init_judged(session, &asked);
  if (code != PTO_EXIT_OK) return code;
  (void)pto_session_execute(session);
  pto_run_files_write(session, &files);
  code = session->result.exit_code;
  if (code != PTO_EXIT_OK || pto_session_trace(session)) return code;
  pto_error_set(&error, PTO_EINVAL, "%s drives contexts of its own and reports none: there is nothing to judge",
                options->programs.items[0]);
  return pto_session_end(session, PTO_EXIT_USAGE, &error);
}

int pto_judged_run_open(struct pto_session *session, const struct pto_run_options *options) {
  *session = (struct pto_session){.result.program = options->programs.items[0]};
  if (pto_fault_report_init(pto_fault_report_say, NULL, &session->result.error)) return PTO_EXIT_FAILED;
  pto_progress_line_begin(options->programs.items[0], !options->quiet);
  const int code = run(session, options);
  pto_progress_line_end();
  return code;
}

void pto_judged_run_close(struct pto_session *session) {
  pto_session_fini(session);
  pto_fault_report_fini();
}
