/* SPDX-License-Identifier: MIT */
#include <cli/run_dump.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cli/verb.h>

static int refuse(struct pto_run_session *session, int status, const char *sentence) {
  pto_error_set(&session->result.error, status, "--dump: %.900s", sentence);
  return session->result.exit_code = status == PTO_ENOMEM || status == PTO_ESYSTEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE;
}

/* A path below the working folder as seen from there: folders are handed on, and nobody else has this machine's. */
static const char *relative_of(const char *path) {
  char folder[PATH_MAX];
  if (path[0] != '/' || !getcwd(folder, sizeof folder)) return path;
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static int attach(struct pto_run_dump *dump, struct pto_run_session *session, struct pto_error *error) {
  const struct pto_run_options *options = session->options;
  const struct pto_task_folder about = {.program = relative_of(options->programs.items[0]),
                                        .case_name = options->case_name,
                                        .engine = session->config.engine,
                                        .chip = relative_of(session->config.chip),
                                        .deps = session->result.deps,
                                        .seed = options->seed,
                                        .settings = options->settings.items,
                                        .setting_count = options->settings.count};
  const struct pto_task_capture_request request = {
      .path = options->dump_path, .choice = &dump->choice, .program_handle = session->loaded->handle, .about = &about};
  return pto_task_capture_create(session->rt, &request, &dump->capture, error);
}

int pto_run_dump_begin(struct pto_run_dump *dump, struct pto_run_session *session) {
  struct pto_error error;
  memset(dump, 0, sizeof *dump);
  if (!session->options->dump_tasks) return PTO_EXIT_OK;
  if (!session->rt) return refuse(session, PTO_ENOTSUP, "the program drives contexts of its own");
  int status = pto_task_choice_init(&dump->choice, session->options->dump_tasks, &error);
  if (!status) status = attach(dump, session, &error);
  return status ? refuse(session, status, error.sentence) : PTO_EXIT_OK;
}

static void report(const struct pto_run_dump *dump, struct pto_run_session *session) {
  const struct pto_run_options *options = session->options;
  const struct pto_error *error = pto_task_capture_error(dump->capture);
  const struct pto_task_term *unmet = pto_task_choice_unmet(&dump->choice);
  char term[128], sentence[200];
  uint64_t count = pto_task_capture_count(dump->capture);
  if (!options->quiet && !pto_run_options_take_stdout(options))
    printf("kept       %" PRIu64 " task%s in %s\n", count, count == 1 ? "" : "s", options->dump_path);
  if (session->result.exit_code != PTO_EXIT_OK) return;
  if (error->status) {
    refuse(session, error->status, error->sentence);
  } else if (unmet) {
    snprintf(sentence, sizeof sentence, "no kernel ran for %s", pto_task_term_format(unmet, term, sizeof term));
    refuse(session, PTO_EINVAL, sentence);
  }
}

void pto_run_dump_end(struct pto_run_dump *dump, struct pto_run_session *session) {
  if (dump->capture) report(dump, session);
  pto_task_capture_destroy(dump->capture);
  pto_task_choice_fini(&dump->choice);
}
