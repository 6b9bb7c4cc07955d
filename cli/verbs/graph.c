/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph`: a graph from a file, or a model: what is in it, whether it is valid, a picture of it, a copy, a run.
 */
#include <cli/graph/command.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <check/session/onnx_file.h>
#include <cli/run/judgement.h>
#include <cli/run/request.h>
#include <report/file/output_file.h>
#include <cli/main/progress_line.h>
#include <cli/main/verb.h>
#include <graph/file/json.h>
#include <runtime/base/base.h>
#include <sim/engine/engine.h>

/* ---- options ---- */

#define OPTION(name) static int set_##name(void *target, const char *value, struct pto_error *error)
#define COMMAND ((struct pto_graph_command *)target)

OPTION(save_weights) {
  static const char *const forms[] = {"", "inline", "safetensors", "manifest"};
  for (uint32_t i = PTO_GRAPH_WEIGHTS_INLINE; i < PTO_ARRAY_LENGTH(forms); i++)
    if (strcmp(forms[i], value) == 0) {
      COMMAND->save_weights = i;
      return PTO_OK;
    }
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is none of inline, safetensors, manifest", value);
}
OPTION(check) {
  COMMAND->run = COMMAND->check = true;
  return PTO_OK;
}
OPTION(kv) {
  const bool is_in_place = strcmp(value, "inplace") == 0;
  if (!is_in_place && strcmp(value, "pingpong") != 0)
    return pto_error_set(error, PTO_EINVAL, "\"%s\" is none of pingpong, inplace", value);
  COMMAND->steps.is_in_place = is_in_place;
  COMMAND->has_kv = true;
  return PTO_OK;
}
OPTION(state) {
  COMMAND->has_kv = true;
  return pto_string_list_add(&COMMAND->steps.pairs, value, error);
}
OPTION(compare) {
  if (strcmp(value, "reference") != 0) return pto_error_set(error, PTO_EINVAL, "\"%s\" is not reference", value);
  COMMAND->compare = value;
  return PTO_OK;
}

#define TEXT(name) PTO_OPTION_TEXT(struct pto_graph_command, name)
#define FLAG(name) PTO_OPTION_FLAG(struct pto_graph_command, name)

static const struct pto_option_spec extra[] = {
    {"model", "NAME", "a model of `ptosim list models` in place of a file; --set has its options", .set = NULL},
    {"validate", NULL, "says whether the file is a valid graph, and no more", FLAG(validate)},
    {"save", "FILE.json", "writes the graph; as text where it is FILE.webnn", TEXT(save_path)},
    {"save-weights", "FORM", "inline, safetensors or manifest (default: by size)", .set = set_save_weights},
    {"weights", "FILE", "of the graph's constants, to read (default: beside it)", TEXT(weights_path)},
    {"manifest", "FILE.json", "of these weights (default: beside the graph)", TEXT(manifest_path)},
    {"run", NULL, "runs it", FLAG(run)},
    {"check", NULL, "runs it, and judges the order of its tasks by what they access, as `ptosim check` does",
     .set = set_check},
    {"steps", "N", "runs it N times, states fed back: past_NAME is what NAME was, token the largest logit",
     PTO_OPTION_NUMBER(struct pto_graph_command, steps.count, 1, 1000000)},
    {"kv", "HOW", "pingpong (default): two tensors a state take turns; inplace: one, which the step consumes",
     .set = set_kv},
    {"state", "INPUT=OUTPUT", "another state than those; may be repeated", .set = set_state},
    {"dot-tasks", "FILE", "writes the tasks of the run and their edges, by node, for Graphviz",
     TEXT(options.exports[PTO_EXPORT_dot])},
    {"output-dir", "DIR", "writes the outputs, or the tensors of the first divergence, to DIR/NAME.npy",
     TEXT(output_dir)},
    {"compare", "reference", "compares the results of all nodes with the reference's", .set = set_compare},
    {"first-divergence", NULL, "ends that at the first node beyond tolerance, and tells it", FLAG(first_divergence)},
    {"no-fusion", NULL, "every node by itself, where --run, --compare and --explain lower nodes in groups by patterns",
     FLAG(is_unfused)},
    {"explain", NULL, "tells of each node kernels, tiles, local memory, bytes, work, and what bounds it on --chip",
     FLAG(explain)},
    {"dot", "FILE", "writes a picture of the graph, for Graphviz", TEXT(dot_path)},
    /* Common options that mean something else here. */
    {"deps", "RULES", &(PTO_DEPS_NAMES ": of --check, the rules by which it is judged; default: exact")[2],
     .set = NULL},
    {"engine", "ENGINE", "reference (the host in doubles), or on a simulated chip" PTO_ENGINE_MEANINGS, .set = NULL},
    {"rtol", "X", "of --compare (default: by dtype)", .set = NULL},
    {"atol", "X", "of --compare (default: by dtype)", .set = NULL},
    {"set", "KEY=VALUE", "an option of the model, or a size that the file leaves open; may be repeated", .set = NULL},
    {"seed", "N", "of the model's weights, and of the inputs that no file gives (default 0)", .set = NULL},
    {"quiet", NULL, "prints nothing but JSON", .set = NULL},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim graph FILE.json [OPTION...]         what is in a graph of operations (webnn-graph-json)\n"
       "ptosim graph FILE.webnn [OPTION...]        the same of a graph in text form\n"
       "ptosim graph FILE.onnx [OPTION...]         the same of an ONNX file\n"
       "ptosim graph --model NAME [OPTION...]      the same of a model\n");
  pto_run_options_help(PTO_VERB_graph, extra);
  puts("\n"
       "Exit status 0 where all is well, 1 where results differ, 2 for bad arguments, files or graphs, 3 where a run "
       "failed.");
}

/* ---- what is asked for ---- */

static int exit_of(int status) {
  switch (status) {
  case PTO_EINVAL:
  case PTO_ESTALE:
  case PTO_EFIT:
  case PTO_ENOTSUP:
    return PTO_EXIT_USAGE;
  default:
    return pto_exit_of_run(status);
  }
}

static int save_dot(struct pto_graph_command *command) {
  const char *path = command->dot_path;
  FILE *out;
  const int status = pto_output_open_stream(path, &out, &command->error);
  return status ? status
                : pto_output_close_stream(path, out, pto_graph_write_dot(command->graph, out), &command->error);
}

static int write_files(struct pto_graph_command *command) {
  const struct pto_graph_file_options options = {.size = sizeof options, .weights = command->save_weights};
  int status = PTO_OK;
  if (command->save_path) status = pto_graph_json_save(command->graph, command->save_path, &options, &command->error);
  if (status == PTO_OK && command->dot_path) status = save_dot(command);
  return status;
}

/* The engine asked for; NULL with the sentence. */
static const struct pto_graph_engine *find_engine(struct pto_graph_command *command) {
  const char *name = command->options.engine ? command->options.engine : "threads";
  const struct pto_graph_engine *engine = pto_graph_engine_find(name);
  if (!engine)
    (void)pto_error_set(&command->error, PTO_EINVAL, "--engine: \"%s\" is none of reference" PTO_ENGINE_NAMES, name);
  return engine;
}

static int execute(struct pto_graph_command *command) {
  const struct pto_graph_engine *engine = find_engine(command);
  int status = engine ? pto_graph_command_open(command) : command->error.status;
  if (engine) command->engine = engine->name;
  if (status == PTO_OK)
    status = command->compare && !command->steps.count ? pto_graph_command_compare(command, engine)
                                                       : pto_graph_command_run(command, engine);
  if (status == PTO_OK && command->has_checked && !pto_findings_is_clean(&command->findings))
    command->exit_code = PTO_EXIT_FINDINGS;
  if (status == PTO_OK && command->divergence.is_found) command->exit_code = PTO_EXIT_FINDINGS;
  return status;
}

static int act(struct pto_graph_command *command) {
  const struct pto_graph_program_source source = {
      .path = command->path,
      .model = command->model,
      .weights_path = command->weights_path,
      .manifest_path = command->manifest_path,
      .settings = {command->options.settings.items, command->options.settings.count},
      .seed = command->options.seed,
      .may_stay_open = !command->run && !command->compare && !command->explain};
  const struct pto_run_options files = pto_graph_command_files(command);
  int status = pto_run_files_probe(&files, &command->error);
  if (status == PTO_OK) status = pto_graph_program_read(&source, &command->graph, &command->error);
  if (status == PTO_OK && command->path && source.settings.count && !command->graph->origin &&
      !pto_is_onnx_file(command->path))
    status = pto_error_set(&command->error, PTO_EINVAL, "%.400s: it has no open sizes, which --set would give",
                           command->path);
  if (status || command->validate) return status;
  if (command->is_unfused) status = pto_graph_set_fusion(command->graph, 0);
  if (status == PTO_OK) status = write_files(command);
  if (status == PTO_OK && command->explain) status = pto_graph_command_explain(command);
  return status == PTO_OK && (command->run || command->compare) ? execute(command) : status;
}

static int run_command(struct pto_graph_command *command) {
  const bool is_stdout_taken =
      pto_run_options_take_stdout(&command->options) || (command->dot_path && strcmp(command->dot_path, "-") == 0);
  pto_progress_line_begin(command->options.programs.items[0], !command->options.quiet);
  pto_progress_line_stage("loading", 0, 0);
  const int status = act(command);
  pto_progress_line_end();
  if (status) command->exit_code = exit_of(status);
  if (command->graph && status == PTO_OK && !command->options.quiet && !is_stdout_taken)
    pto_graph_report_print(command);
  fflush(stdout);
  if (status) pto_complain(0, "graph: %s", command->error.sentence);
  const int code = pto_write_report(command->options.json_path, pto_graph_report_put, command, command->exit_code);
  const struct pto_judgement judgement = {.verb = "graph",
                                          .program = command->model ? command->model : command->path,
                                          .findings = &command->findings,
                                          .error = status ? command->error.sentence : NULL,
                                          .exit_code = code};
  return pto_write_judgement(&command->options, &judgement);
}

/* Options that would be ignored, or say two things. */
static const char *find_conflict(const struct pto_graph_command *command) {
  const struct pto_run_options *o = &command->options;
  const bool runs = command->run || command->compare;
  if (o->programs.count != 1) return "one FILE, or --model NAME";
  if (command->model && (command->weights_path || command->manifest_path)) return "--weights is for a FILE";
  if (command->steps.count && !command->run) return "--steps is for --run";
  if (command->steps.count && command->first_divergence) return "--first-divergence is for one run, not for --steps";
  if (command->steps.count && o->engine && strcmp(o->engine, "reference") == 0)
    return "--steps is not for --engine reference";
  if (command->has_kv && !command->steps.count) return "--kv and --state are for --steps";
  if (command->save_path && strcmp(command->save_path, "-") == 0)
    return "--save needs a file: that of the weights stands beside it";
  if (command->save_weights && !command->save_path) return "--save-weights is for --save";
  if (command->first_divergence && !command->compare) return "--first-divergence is for --compare reference";
  if (o->inputs.count && !runs) return "--input is for --run or --compare";
  if (command->output_dir && !command->run && !command->first_divergence)
    return "--output-dir is for --run or --first-divergence";
  if ((o->has_rtol || o->has_atol) && !command->compare) return "--rtol and --atol are for --compare";
  if ((o->engine || o->chip || o->workers) && !runs && !command->explain)
    return "--engine, --chip, --chip-set and --workers are for --run, --compare or --explain";
  if (command->is_unfused && !runs && !command->explain) return "--no-fusion is for --run, --compare or --explain";
  if (o->has_deps && !command->check) return "--deps is for --check";
  if (command->check && o->engine && strcmp(o->engine, "reference") == 0)
    return "--check is not for --engine reference";
  if ((pto_exports_record(o->exports) || o->stats) &&
      (!command->run || (o->engine && strcmp(o->engine, "reference") == 0)))
    return "--trace, --stats, --dot-tasks and --deps-json are for --run on a chip";
  if (command->validate && (runs || command->explain || command->save_path || command->dot_path))
    return "--validate does nothing else";
  return NULL;
}

/* A file, or a model. */
static void take_source(struct pto_graph_command *command) {
  const char *program = command->options.programs.count ? command->options.programs.items[0] : NULL;
  const bool is_model = program && strncmp(program, PTO_SUBJECT_MODEL, strlen(PTO_SUBJECT_MODEL)) == 0;
  command->model = is_model ? program + strlen(PTO_SUBJECT_MODEL) : NULL;
  command->path = is_model ? NULL : program;
}

int pto_cmd_graph(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_graph, extra, help, false};
  static struct pto_graph_command command;
  command = (struct pto_graph_command){0};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &command, &command.options, &code)) {
    take_source(&command);
    if (find_conflict(&command))
      code = pto_complain(PTO_EXIT_USAGE, "graph: %s", find_conflict(&command));
    else if ((code = pto_complain_unwritable(command.options.json_path)) == PTO_EXIT_OK)
      code = run_command(&command);
  }
  pto_graph_command_fini(&command);
  return code;
}
