/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph`: a graph from a file, or a model: what is in it, whether it is valid, a picture of it, a copy, a run.
 */
#include <cli/graph_command.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cli/output_file.h>
#include <cli/verb.h>
#include <graph/graph_json.h>
#include <graph/models/graph_model.h>
#include <runtime/base/base.h>
#include <runtime/base/closest.h>

/* ---- options ---- */

#define OPTION(name) static int set_##name(void *target, const char *value, struct pto_error *error)
#define COMMAND ((struct pto_graph_command *)target)

OPTION(model) {
  COMMAND->model = value;
  return PTO_OK;
}
OPTION(save) {
  COMMAND->save_path = value;
  return PTO_OK;
}
OPTION(save_weights) {
  static const char *const forms[] = {"", "inline", "safetensors", "manifest"};
  for (uint32_t i = PTO_GRAPH_WEIGHTS_INLINE; i < PTO_ARRAY_LENGTH(forms); i++)
    if (strcmp(forms[i], value) == 0) {
      COMMAND->save_weights = i;
      return PTO_OK;
    }
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is none of inline, safetensors, manifest", value);
}
OPTION(weights) {
  COMMAND->weights_path = value;
  return PTO_OK;
}
OPTION(manifest) {
  COMMAND->manifest_path = value;
  return PTO_OK;
}
OPTION(validate) {
  COMMAND->validate = true;
  return PTO_OK;
}
OPTION(run) {
  COMMAND->run = true;
  return PTO_OK;
}
OPTION(explain) {
  COMMAND->explain = true;
  return PTO_OK;
}
OPTION(output_dir) {
  COMMAND->output_dir = value;
  return PTO_OK;
}
OPTION(compare) {
  COMMAND->compare = value;
  if (strcmp(value, "reference") == 0) return PTO_OK;
  return pto_error_set(error, PTO_EINVAL, "\"%s\" is not reference", value);
}
OPTION(first_divergence) {
  COMMAND->first_divergence = true;
  return PTO_OK;
}

static const struct pto_option_spec extra[] = {
    {"model", "NAME", "a model of `ptosim list models` in place of a file; --set has its options", set_model, false},
    {"validate", NULL, "says whether the file is a valid graph, and no more", set_validate, false},
    {"save", "FILE.json", "writes the graph", set_save, false},
    {"save-weights", "FORM", "inline, safetensors or manifest (default: by size)", set_save_weights, false},
    {"weights", "FILE", "of the graph's constants, to read (default: beside it)", set_weights, false},
    {"manifest", "FILE.json", "of these weights (default: beside the graph)", set_manifest, false},
    {"run", NULL, "runs it", set_run, false},
    {"output-dir", "DIR", "writes the outputs, or the tensors of the first divergence, to DIR/NAME.npy", set_output_dir,
     false},
    {"compare", "reference", "compares the results of all nodes with the reference's", set_compare, false},
    {"first-divergence", NULL, "ends that at the first node beyond tolerance, and tells it", set_first_divergence,
     false},
    {"explain", NULL, "what becomes of each node", set_explain, false},
    {0}};

/* Of a run of tasks, not of a graph. */
static const char *const refused[] = {"deps",   "policy", "case", "expect", "output",    "rounds",    "window",  "heap",
                                      "poison", "trace",  "dump", "stats",  "deps-json", "waits-dot", "timeout", NULL};
/* What is not for users yet, or means something else here and is told by itself. */
static const char *const not_shown[] = {"deps",    "policy", "case",  "expect",  "output",  "rounds",    "window",
                                        "heap",    "poison", "trace", "dump",    "stats",   "deps-json", "waits-dot",
                                        "timeout", "engine", "chip",  "workers", "explain", NULL};

static int help(void) {
  puts("ptosim graph FILE.json [OPTION...]         what is in a graph of operations (webnn-graph-json)\n"
       "ptosim graph --model NAME [OPTION...]      the same of a model\n");
  pto_run_options_help(extra, true, not_shown);
  puts("  --engine reference       runs on: the host, in double precision (default)\n"
       "  --set KEY=VALUE          an option of the model; may be repeated\n"
       "  --seed N                 of the model's weights, and of the inputs that no file gives (default 0)\n"
       "  --dot FILE               writes a picture of the graph, for Graphviz\n"
       "  --quiet                  prints nothing but JSON\n\n"
       "Leaves with 0 where all is well, 1 where results differ, 2 for bad arguments, files or graphs, 3 where a run "
       "failed.");
  return PTO_EXIT_OK;
}

/* ---- the summary ---- */

struct summary {
  uint32_t ops[PTO_GRAPH_OP_COUNT];
  uint32_t constants;
  uint64_t constant_bytes;
};

static struct summary summarise(const struct pto_graph *graph) {
  struct summary s = {{0}, 0, 0};
  for (uint32_t i = 0; i < graph->node_count; i++) s.ops[graph->nodes[i].op]++;
  for (uint32_t v = 1; v < graph->value_count; v++) {
    if (graph->values[v].kind != PTO_VALUE_CONSTANT) continue;
    s.constants++;
    s.constant_bytes += graph->values[v].size_bytes;
  }
  return s;
}

static void print_shape(const struct pto_operand *operand) {
  printf("%s [", pto_graph_dtype_name(operand->dtype));
  for (uint32_t d = 0; d < operand->ndims; d++) printf("%s%" PRIu64, d ? ", " : "", operand->shape[d]);
  putchar(']');
}

static void print_operands(const char *title, const struct pto_operand *operands, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    printf("%-10s %-24s ", i ? "" : title, operands[i].name);
    print_shape(&operands[i]);
    putchar('\n');
  }
}

static void print_summary(const struct pto_graph_command *command) {
  const struct pto_graph *graph = command->graph;
  const struct summary s = summarise(graph);
  const char *separator = "";
  print_operands("inputs", graph->input_operands, graph->input_count);
  print_operands("outputs", graph->output_operands, graph->output_count);
  printf("constants  %" PRIu32 ", %" PRIu64 " bytes\n", s.constants, s.constant_bytes);
  printf("nodes      %" PRIu32 ": ", graph->node_count);
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) {
    if (s.ops[op] == 0) continue;
    printf("%s%s %" PRIu32, separator, pto_op_info(op)->name, s.ops[op]);
    separator = ", ";
  }
  putchar('\n');
}

/* ---- results ---- */

struct range {
  double least, most, mean;
  uint64_t not_finite;
};

static struct range range_of(const struct pto_operand *operand, const void *bytes) {
  struct pto_graph_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims};
  struct pto_reference_tensor tensor;
  struct range range = {INFINITY, -INFINITY, 0, 0};
  uint64_t finite = 0;
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  if (!pto_reference_tensor_init(&tensor, &desc)) return range;
  pto_reference_tensor_load(&tensor, bytes);
  for (uint64_t i = 0; i < pto_graph_desc_numel(&desc); i++) {
    const double x = tensor.values ? tensor.values[i] : (double)tensor.whole[i];
    if (!isfinite(x)) {
      range.not_finite++;
      continue;
    }
    range.least = fmin(range.least, x);
    range.most = fmax(range.most, x);
    range.mean += (x - range.mean) / (double)++finite;
  }
  pto_reference_tensor_fini(&tensor);
  return range;
}

static void print_results(const struct pto_graph_command *command) {
  for (uint32_t i = 0; i < command->graph->output_count; i++) {
    const struct pto_operand *operand = &command->graph->output_operands[i];
    const struct range range = range_of(operand, command->outputs[i]);
    printf("%-10s %-24s %.6g to %.6g, mean %.6g", i ? "" : "result", operand->name, range.least, range.most,
           range.mean);
    if (range.not_finite) printf("; %" PRIu64 " are not finite", range.not_finite);
    putchar('\n');
  }
}

static const char *node_name(const struct pto_graph *graph, uint32_t node, char *text, size_t size) {
  const struct pto_graph_node *n = &graph->nodes[node];
  const bool has_label = n->label && n->label[0];
  snprintf(text, size, "node %" PRIu32 ", %s%s%.80s%s", node, pto_op_info(n->op)->name, has_label ? " \"" : "",
           has_label ? n->label : "", has_label ? "\"" : "");
  return text;
}

static void print_divergence(const struct pto_graph_command *command) {
  const struct pto_graph_divergence *d = &command->divergence;
  char name[160];
  printf("compared   %" PRIu64 " nodes, %" PRIu64 " elements: the worst is %.4g ulp off\n", d->nodes, d->elements,
         d->worst_ulps);
  if (!d->is_found) return;
  printf("diverges   %s, result %" PRIu32 ": %" PRIu64 " elements are beyond tolerance, element %" PRIu64
         " is %.9g for %.9g, %.4g ulp off\n",
         node_name(command->graph, d->node, name, sizeof name), d->result, d->node_elements, d->element, d->got,
         d->expected, d->ulps);
}

/* ---- JSON ---- */

static void put_operands(struct pto_json_writer *w, const char *key, const struct pto_operand *operands, uint32_t count,
                         void *const *results) {
  pto_json_key(w, key);
  pto_json_array_begin(w);
  for (uint32_t i = 0; i < count; i++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", operands[i].name);
    pto_json_put_string(w, "dtype", pto_graph_dtype_name(operands[i].dtype));
    pto_json_key(w, "shape");
    pto_json_array_begin(w);
    for (uint32_t d = 0; d < operands[i].ndims; d++) pto_json_u64(w, operands[i].shape[d]);
    pto_json_array_end(w);
    if (results) {
      const struct range range = range_of(&operands[i], results[i]);
      pto_json_put_double(w, "least", range.least);
      pto_json_put_double(w, "most", range.most);
      pto_json_put_double(w, "mean", range.mean);
      pto_json_put_u64(w, "not_finite", range.not_finite);
    }
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

static void put_graph(struct pto_json_writer *w, const struct pto_graph_command *command) {
  static const char *const keys[] = {"inputs", "outputs", "constants", "constant_bytes", "nodes", "ops"};
  const struct pto_graph *graph = command->graph;
  for (size_t i = 0; !graph && i < PTO_ARRAY_LENGTH(keys); i++) pto_json_put_null(w, keys[i]);
  if (!graph) return;
  const struct summary s = summarise(graph);
  put_operands(w, "inputs", graph->input_operands, graph->input_count, NULL);
  put_operands(w, "outputs", graph->output_operands, graph->output_count, command->has_run ? command->outputs : NULL);
  pto_json_put_u64(w, "constants", s.constants);
  pto_json_put_u64(w, "constant_bytes", s.constant_bytes);
  pto_json_put_u64(w, "nodes", graph->node_count);
  pto_json_key(w, "ops");
  pto_json_object_begin(w);
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++)
    if (s.ops[op]) pto_json_put_u64(w, pto_op_info(op)->name, s.ops[op]);
  pto_json_object_end(w);
}

static void put_divergence(struct pto_json_writer *w, const struct pto_graph_command *command) {
  const struct pto_graph_divergence *d = &command->divergence;
  pto_json_key(w, "compared");
  pto_json_object_begin(w);
  pto_json_put_u64(w, "nodes", d->nodes);
  pto_json_put_u64(w, "elements", d->elements);
  pto_json_put_double(w, "worst_ulps", d->worst_ulps);
  pto_json_put_u64(w, "diverging_nodes", d->diverging_nodes);
  pto_json_put_u64(w, "diverging_elements", d->diverging_elements);
  pto_json_key(w, "first");
  if (d->is_found) {
    pto_json_object_begin(w);
    pto_json_put_u64(w, "node", d->node);
    pto_json_put_string(w, "op", pto_op_info(command->graph->nodes[d->node].op)->name);
    pto_json_put_string(w, "label", command->graph->nodes[d->node].label);
    pto_json_put_u64(w, "result", d->result);
    pto_json_put_u64(w, "element", d->element);
    pto_json_put_u64(w, "elements", d->node_elements);
    pto_json_put_double(w, "got", d->got);
    pto_json_put_double(w, "expected", d->expected);
    pto_json_put_double(w, "ulps", d->ulps);
    pto_json_object_end(w);
  } else {
    pto_json_null(w);
  }
  pto_json_object_end(w);
}

static int write_json(const struct pto_graph_command *command, struct pto_error *error) {
  static struct pto_json_writer w;
  int fd, status = pto_output_open(command->options.json_path, &fd, error);
  if (status) return status;
  pto_json_init(&w, fd);
  pto_json_object_begin(&w);
  pto_json_put_string(&w, "graph", command->model ? command->model : command->path);
  pto_json_put_string(&w, "engine",
                      command->has_run || command->has_compared
                          ? command->options.engine ? command->options.engine : "reference"
                          : NULL);
  pto_json_put_u64(&w, "seed", command->options.seed);
  put_graph(&w, command);
  if (command->has_compared)
    put_divergence(&w, command);
  else
    pto_json_put_null(&w, "compared");
  pto_json_put_string(&w, "status", pto_status_name(command->error.status));
  pto_json_put_u64(&w, "exit", (uint64_t)command->exit_code);
  pto_json_put_string(&w, "error", command->error.sentence[0] ? command->error.sentence : NULL);
  pto_json_object_end(&w);
  return pto_output_close(command->options.json_path, fd, pto_json_finish(&w), error);
}

/* ---- what is asked for ---- */

static int exit_of(int status) {
  return status == PTO_ENOMEM || status == PTO_ESYSTEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE;
}

static int load(struct pto_graph_command *command) {
  const struct pto_graph_file_options options = {
      .size = sizeof options, .weights_path = command->weights_path, .manifest_path = command->manifest_path};
  const struct pto_string_list *settings = &command->options.settings;
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  if (!command->model) return pto_graph_json_load(NULL, command->path, &options, &command->graph, &command->error);
  const struct pto_graph_model_info *model = pto_graph_model_find(command->model);
  if (model)
    return pto_graph_model_create(model, settings->items, settings->count, command->options.seed, &command->graph,
                                  &command->error);
  pto_closest_begin(&closest, command->model);
  for (uint32_t i = 0; pto_graph_model_at(i); i++) pto_closest_consider(&closest, pto_graph_model_at(i)->name);
  return pto_error_set(&command->error, PTO_EINVAL, "no model is called \"%s\"; `ptosim list models` names them%s",
                       command->model, pto_closest_question(&closest, question));
}

static int save_dot(struct pto_graph_command *command) {
  const char *path = command->options.dot_path;
  FILE *out;
  int status = pto_output_open_stream(path, &out, &command->error);
  if (status) return status;
  const int written = pto_graph_write_dot(command->graph, out);
  status = pto_output_close_stream(path, out, &command->error);
  return status == PTO_OK && written ? pto_error_set(&command->error, written, "%s: %s", path, pto_strerror(written))
                                     : status;
}

static int write_files(struct pto_graph_command *command) {
  const struct pto_graph_file_options options = {.size = sizeof options, .weights = command->save_weights};
  int status = PTO_OK;
  if (command->save_path) status = pto_graph_json_save(command->graph, command->save_path, &options, &command->error);
  if (status == PTO_OK && command->options.dot_path) status = save_dot(command);
  return status;
}

/* The engine asked for; NULL with the sentence. */
static const struct pto_graph_engine *find_engine(struct pto_graph_command *command) {
  const char *name = command->options.engine ? command->options.engine : "reference";
  const struct pto_graph_engine *engine = pto_graph_engine_find(name);
  if (!engine)
    (void)pto_error_set(&command->error, PTO_EINVAL, "--engine: \"%s\" is none of reference, threads, virtual", name);
  else if (!engine->run)
    (void)pto_error_set(&command->error, PTO_ENOTSUP, "not supported yet: graphs on engine %s", name);
  else
    return engine;
  return NULL;
}

static int execute(struct pto_graph_command *command) {
  const struct pto_graph_engine *engine = find_engine(command);
  int status = engine ? pto_graph_command_arrays(command) : command->error.status;
  if (status == PTO_OK && command->run) status = pto_graph_command_run(command, engine);
  if (status == PTO_OK && command->compare) status = pto_graph_command_compare(command, engine);
  if (status == PTO_OK && command->divergence.is_found) command->exit_code = PTO_EXIT_FINDINGS;
  return status;
}

static int act(struct pto_graph_command *command) {
  if (command->explain) return pto_error_set(&command->error, PTO_ENOTSUP, "not supported yet: --explain");
  int status = load(command);
  if (status == PTO_ESYSTEM) status = command->error.status = PTO_EINVAL; /* a file that was asked for */
  if (status || command->validate) return status;
  status = write_files(command);
  return status == PTO_OK && (command->run || command->compare) ? execute(command) : status;
}

static void print(const struct pto_graph_command *command) {
  if (command->validate) {
    printf("valid      %" PRIu32 " nodes, %" PRIu32 " inputs, %" PRIu32 " outputs\n", command->graph->node_count,
           command->graph->input_count, command->graph->output_count);
    return;
  }
  print_summary(command);
  if (command->has_run) print_results(command);
  if (command->has_compared) print_divergence(command);
}

static int run_command(struct pto_graph_command *command) {
  const char *json_path = command->options.json_path;
  const bool is_stdout_taken = (json_path && strcmp(json_path, "-") == 0) ||
                               (command->options.dot_path && strcmp(command->options.dot_path, "-") == 0);
  struct pto_error error;
  const int status = act(command);
  if (status) command->exit_code = exit_of(status);
  if (command->graph && status == PTO_OK && !command->options.quiet && !is_stdout_taken) print(command);
  fflush(stdout);
  if (status) pto_complain(0, "graph: %s", command->error.sentence);
  if (json_path && write_json(command, &error)) return pto_complain(PTO_EXIT_FAILED, "graph: %s", error.sentence);
  return command->exit_code;
}

/* Options that would be ignored, or say two things. */
static const char *find_conflict(const struct pto_graph_command *command) {
  const struct pto_run_options *o = &command->options;
  const bool runs = command->run || command->compare;
  if (o->programs.count + (command->model != NULL) != 1) return "one FILE, or --model NAME";
  if (!command->model && o->settings.count) return "--set is for --model";
  if (command->model && (command->weights_path || command->manifest_path)) return "--weights is for a FILE";
  if (command->save_weights && !command->save_path) return "--save-weights is for --save";
  if (command->first_divergence && !command->compare) return "--first-divergence is for --compare reference";
  if (o->inputs.count && !runs) return "--input is for --run or --compare";
  if (command->output_dir && !command->run && !command->first_divergence)
    return "--output-dir is for --run or --first-divergence";
  if ((o->has_rtol || o->has_atol) && !command->compare) return "--rtol and --atol are for --compare";
  if ((o->engine || o->chip || o->workers) && !runs && !command->explain) return "--engine is for --run or --compare";
  if (command->validate && (runs || command->save_path || o->dot_path)) return "--validate does nothing else";
  return NULL;
}

int pto_cmd_graph(int argc, char **argv) {
  static struct pto_graph_command command;
  struct pto_error error;
  command = (struct pto_graph_command){0};
  int code;
  if (pto_run_options_parse(argc, argv, extra, &command, &command.options, &error))
    code = pto_complain(PTO_EXIT_USAGE, "graph: %s", error.sentence);
  else if (command.options.help)
    code = help();
  else if (pto_run_options_given_of(&command.options, refused))
    code = pto_complain(PTO_EXIT_USAGE, "graph: --%s is for `ptosim run`",
                        pto_run_options_given_of(&command.options, refused));
  else if (find_conflict(&command))
    code = pto_complain(PTO_EXIT_USAGE, "graph: %s", find_conflict(&command));
  else {
    command.path = command.options.programs.count ? command.options.programs.items[0] : NULL;
    code = run_command(&command);
  }
  pto_graph_command_fini(&command);
  return code;
}
