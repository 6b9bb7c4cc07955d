/* SPDX-License-Identifier: MIT */
#include <cli/graph/command.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cli/run/request.h>
#include <formats/npy.h>
#include <runtime/base/base.h>
#include <runtime/join/defaults.h>
#include <sim/engine/engine.h>

/* ---- engines ---- */

static int run_reference(const struct pto_graph_job *job, struct pto_error *error) {
  return pto_graph_reference_run(job->graph, job->inputs, job->outputs, job->observe, job->observe_context, error);
}

static const struct pto_graph_engine engines[] = {
#define X(id, name, is_virtual, meaning) {name, pto_graph_run_on_device},
    PTO_ENGINE_LIST(X)
#undef X
        {"reference", run_reference}};

const struct pto_graph_engine *pto_graph_engine_find(const char *name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++)
    if (strcmp(engines[i].name, name) == 0) return &engines[i];
  return NULL;
}

/* ---- the session ---- */

struct pto_config pto_graph_command_config(const struct pto_graph_command *command) {
  struct pto_config config;
  (void)pto_run_options_session(&command->options, &config);
  pto_config_set_defaults(&config);
  config.timeout_ms = 0;
  return config;
}

struct pto_run_options pto_graph_command_files(const struct pto_graph_command *command) {
  struct pto_run_options files = command->options;
  files.json_path = NULL; /* the verb's own */
  return files;
}

/* The program's host function. */
static int run_graph(struct pto_program_run *run) {
  struct pto_graph_command *command = pto_graph_program_of(pto_program_run_program(run))->host_argument;
  struct pto_error error;
  command->job.run = run;
  const int status =
      command->steps.count ? pto_graph_command_steps(command, run, &error) : command->on->run(&command->job, &error);
  return status ? pto_program_fail_as(run, status, "%s", error.sentence) : PTO_OK;
}

static int take_session_error(struct pto_graph_command *command) {
  struct pto_error *error = &command->error;
  *error = command->session.result.error;
  if (command->session.result.exit_code == PTO_EXIT_USAGE && error->status == PTO_ESYSTEM)
    error->status = PTO_EINVAL; /* a file that was asked for */
  return error->status;
}

int pto_graph_command_open(struct pto_graph_command *command) {
  const struct pto_graph *graph = command->graph;
  const char *name = command->model ? command->model : command->path ? command->path : "graph";
  const struct pto_run_options files = pto_graph_command_files(command);
  struct pto_config config;
  struct pto_session_options asked = pto_run_options_session(&files, &config);
  int status = pto_graph_program_create(command->graph, name, &command->program, &command->error);
  if (status) return status;
  command->program->program.orchestrate = NULL;
  command->program->program.host = run_graph;
  command->program->host_argument = command;
  asked.made = &command->program->program;
  asked.program = name;
  asked.settings = (struct pto_words){0}; /* the model's */
  config.timeout_ms = 0;
  if (command->check) config.record |= PTO_RECORD_GRAPH;
  if (pto_session_init(&command->session, &asked)) return take_session_error(command);
  command->inputs = calloc(graph->input_count + 1u, sizeof *command->inputs);
  command->outputs = calloc(graph->output_count + 1u, sizeof *command->outputs);
  if (!command->inputs || !command->outputs) return pto_error_set(&command->error, PTO_ENOMEM, "out of memory");
  for (uint32_t i = 0; i < graph->input_count; i++) command->inputs[i] = command->program->inputs[i]->data;
  for (uint32_t i = 0; i < graph->output_count; i++) command->outputs[i] = command->program->outputs[i]->data;
  command->job = (struct pto_graph_job){.command = command,
                                        .graph = command->graph,
                                        .inputs = (const void *const *)command->inputs,
                                        .outputs = command->outputs};
  return PTO_OK;
}

void pto_graph_command_fini(struct pto_graph_command *command) {
  free(command->inputs);
  free(command->outputs);
  if (command->has_checked) pto_findings_fini(&command->findings);
  pto_session_fini(&command->session);
  pto_graph_program_destroy(command->program);
  pto_graph_explanation_fini(&command->explanation);
  free(command->steps.pairs.items);
  free(command->stepped.tokens);
  pto_graph_destroy(command->graph);
  pto_run_options_fini(&command->options);
}

/* ---- files ---- */

int pto_graph_write_npy(const char *dir, const char *name, const char *ending, const struct pto_graph_desc *desc,
                        const void *data, struct pto_error *error) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  char path[PATH_MAX];
  size_t used = (size_t)snprintf(path, sizeof path, "%s/", dir);
  for (; *name && used + 8 < sizeof path; name++)
    used +=
        (size_t)snprintf(path + used, sizeof path - used, strchr(plain, *name) ? "%c" : "%%%02X", (unsigned char)*name);
  if (used + strlen(ending) + 8 >= sizeof path)
    return pto_error_set(error, PTO_EINVAL, "%.200s: a path in it is too long", dir);
  snprintf(path + used, sizeof path - used, "%s.npy", ending);
  if (mkdir(dir, 0777) != 0 && errno != EEXIST)
    return pto_error_set(error, PTO_ESYSTEM, "%.400s: %s", dir, strerror(errno));
  return pto_npy_write(path, desc->dtype, desc->ndims, desc->shape, data, error);
}

static int write_outputs(struct pto_graph_command *command) {
  int status = PTO_OK;
  for (uint32_t i = 0; i < command->graph->output_count && status == PTO_OK && command->output_dir; i++) {
    const struct pto_operand *operand = &command->graph->output_operands[i];
    struct pto_graph_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims};
    memcpy(desc.shape, operand->shape, sizeof desc.shape);
    status = pto_graph_write_npy(command->output_dir, operand->name, "", &desc, command->outputs[i], &command->error);
  }
  return status;
}

/* ---- the run ---- */

static int check(struct pto_graph_command *command) {
  if (!command->check) return PTO_OK;
  pto_findings_init(&command->findings);
  command->findings.command = command->options.again;
  command->has_checked = true;
  return pto_session_check_order(&command->session, command->session.rules, &command->findings, &command->counts,
                                 &command->error);
}

int pto_graph_command_run(struct pto_graph_command *command, const struct pto_graph_engine *engine) {
  const struct pto_run_options files = pto_graph_command_files(command);
  struct pto_session *session = &command->session;
  command->on = engine;
  const int code = pto_session_execute(session);
  if (command->run) pto_run_files_write(session, &files);
  if (session->result.exit_code != PTO_EXIT_OK) return take_session_error(command);
  command->has_run = code == PTO_EXIT_OK && command->run;
  int status = check(command);
  return status == PTO_OK && command->run ? write_outputs(command) : status;
}
