/* SPDX-License-Identifier: MIT */
#include <cli/recorded_run.h>

#include <string.h>

#include <cli/fault_report.h>
#include <cli/progress_line.h>
#include <cli/verb.h>

/* What the run's other options asked for. */
static int write_files(struct pto_recorded_run *run, int code) {
  struct pto_run_session *session = &run->session;
  struct pto_error error;
  int status = session->result.has_output_digest ? pto_run_session_write_outputs(session, &error) : PTO_OK;
  if (status == PTO_OK) status = pto_run_session_write_records(session, &error);
  if (status == PTO_OK || code != PTO_EXIT_OK) return code;
  session->result.error = error;
  return PTO_EXIT_FAILED;
}

int pto_recorded_run_open(struct pto_recorded_run *run, const struct pto_run_options *options, const char *program) {
  struct pto_error *error = &run->session.result.error;
  memset(run, 0, sizeof *run);
  run->options = *options;
  run->options.json_path = NULL; /* the verb's own */
  run->options.has_deps = true;
  run->options.deps = PTO_DEPS_EXACT;
  if (!options->engine) run->options.engine = "virtual";
  if (pto_fault_report_init(pto_fault_report_say, NULL, error)) return PTO_EXIT_FAILED;
  pto_progress_line_begin(program, !options->quiet);
  int code = pto_run_session_open(&run->session, &run->options, program, PTO_RECORD_GRAPH);
  if (code == PTO_EXIT_OK) {
    const struct pto_config *own = run->session.loaded->program->config;
    run->rules = options->has_deps ? options->deps : own ? own->deps : (uint32_t)PTO_DEPS_EXACT;
    code = pto_run_session_execute(&run->session);
    run->trace = pto_run_session_trace(&run->session);
    code = write_files(run, code);
  }
  if (code == PTO_EXIT_OK && !run->trace) {
    pto_error_set(error, PTO_EINVAL, "%s drives contexts of its own and reports none: there is nothing to judge",
                  program);
    code = PTO_EXIT_USAGE;
  }
  pto_progress_line_end();
  return code;
}

void pto_recorded_run_close(struct pto_recorded_run *run) {
  pto_run_session_close(&run->session);
  pto_fault_report_fini();
  memset(run, 0, sizeof *run);
}

const char *pto_recorded_run_array(void *context, uint64_t base) {
  const struct pto_recorded_run *run = context;
  const struct pto_array *array;
  for (uint32_t i = 0; (array = pto_program_run_array(run->session.run, i)) != NULL; i++)
    if ((uintptr_t)array->data == base) return array->name;
  return NULL;
}
