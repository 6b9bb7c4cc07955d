/* SPDX-License-Identifier: MIT */
#include <check/session/graph_program.h>

#include <graph/run/lower_graph.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check/session/onnx_file.h>
#include <check/session/outside_operations.h>
#include <graph/build/sizes.h>
#include <graph/file/json.h>
#include <graph/models/graph_model.h>
#include <graph/reference/reference.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>
#include <runtime/base/closest.h>
#include <runtime/base/dtype.h>
#include <runtime/base/grow.h>

/* Integers of inputs that no file gives: small, so that they may be indices. */
#define MOST_WHOLE 8u
/* What outputs may be from the reference's, over their largest magnitude: rounding adds up over layers. */
#define SINGLE_ERROR 1e-4
#define HALF_ERROR 1e-2
#define MIB (UINT64_C(1) << 20)

static const struct pto_option own_options[] = {
    {"compare", PTO_OPTION_TEXT, "", "\"reference\": outputs are verified beside the double-precision reference"},
    {"fusion", PTO_OPTION_BOOL, "true", "nodes are lowered in groups, by patterns"}};

/* ---- reading ---- */

static bool is_own(const char *setting) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(own_options); i++) {
    const size_t length = strlen(own_options[i].name);
    if (strncmp(setting, own_options[i].name, length) == 0 && setting[length] == '=') return true;
  }
  return false;
}

/* The settings that are not of every graph; NULL where memory is short. */
static const char **foreign_settings(const struct pto_graph_program_source *source, uint32_t *count_out) {
  const char **settings = calloc(source->settings.count + 1u, sizeof *settings);
  *count_out = 0;
  for (uint32_t i = 0; settings && i < source->settings.count; i++)
    if (!is_own(source->settings.items[i])) settings[(*count_out)++] = source->settings.items[i];
  return settings;
}

static int read_model(const struct pto_graph_program_source *source, struct pto_graph **graph_out,
                      struct pto_error *error) {
  const struct pto_graph_model_info *model = pto_graph_model_find(source->model);
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  uint32_t count;
  if (!model) {
    pto_closest_begin(&closest, source->model);
    for (uint32_t i = 0; pto_graph_model_at(i); i++) pto_closest_consider(&closest, pto_graph_model_at(i)->name);
    return pto_error_set(error, PTO_EINVAL, "no model is called \"%s\"; `ptosim list models` names them%s",
                         source->model, pto_closest_question(&closest, question));
  }
  const char **settings = foreign_settings(source, &count);
  if (!settings) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  const int status = pto_graph_model_create(model, settings, count, source->seed, graph_out, error);
  free(settings);
  return status;
}

/* NAME=NUMBER.  `name` is what it points to, until the next setting. */
static int read_size(const char *setting, char name[128], struct pto_graph_size *size, struct pto_error *error) {
  const char *sign = strchr(setting, '=');
  char *end = NULL;
  errno = 0;
  const unsigned long long value = sign && isdigit((unsigned char)sign[1]) ? strtoull(sign + 1, &end, 10) : 0;
  if (!end || *end || errno || sign - setting >= 128)
    return pto_error_set(error, PTO_EINVAL, "\"%.100s\" is not NAME=NUMBER", setting);
  snprintf(name, 128, "%.*s", (int)(sign - setting), setting);
  *size = (struct pto_graph_size){name, value};
  return PTO_OK;
}

/* The plain graph of the settings, in place of `open`. */
static int bind(const struct pto_graph_program_source *source, struct pto_graph *open, struct pto_graph **graph_out,
                struct pto_error *error) {
  struct pto_graph_size sizes[PTO_GRAPH_MAX_SIZES];
  char names[PTO_GRAPH_MAX_SIZES][128], sentence[PTO_SENTENCE_SIZE];
  uint32_t count;
  const char **settings = foreign_settings(source, &count);
  int status = settings ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "out of memory");
  if (status == PTO_OK && count > PTO_GRAPH_MAX_SIZES)
    status = pto_error_set(error, PTO_EINVAL, "%u sizes are more than a graph has", count);
  for (uint32_t i = 0; i < count && status == PTO_OK; i++) status = read_size(settings[i], names[i], &sizes[i], error);
  if (status == PTO_OK) {
    status = pto_graph_bind(open, sizes, count, graph_out, sentence, sizeof sentence);
    if (status) pto_error_set(error, status, "%.300s: %.500s; --set NAME=NUMBER gives sizes", source->path, sentence);
  }
  free(settings);
  pto_graph_destroy(open);
  return status;
}

static int read_onnx(const struct pto_graph_program_source *source, struct pto_graph **graph_out,
                     struct pto_error *error) {
  uint32_t count;
  const char **sizes = foreign_settings(source, &count);
  if (!sizes) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  struct pto_graph *graph = NULL;
  const int status = pto_onnx_load(source->path, (struct pto_words){sizes, count}, &graph, error);
  free(sizes);
  if (status == PTO_OK && pto_graph_is_open(graph) && !source->may_stay_open)
    return bind(source, graph, graph_out, error);
  *graph_out = graph;
  return status;
}

static int read_file(const struct pto_graph_program_source *source, struct pto_graph **graph_out,
                     struct pto_error *error) {
  const struct pto_graph_file_options options = {
      .size = sizeof options, .weights_path = source->weights_path, .manifest_path = source->manifest_path};
  struct pto_graph *graph = NULL;
  int status = pto_graph_json_load(NULL, source->path, &options, &graph, error);
  if (status == PTO_OK && pto_graph_is_open(graph) && !(source->may_stay_open && source->settings.count == 0))
    return bind(source, graph, graph_out, error);
  *graph_out = graph;
  return status;
}

int pto_graph_program_read(const struct pto_graph_program_source *source, struct pto_graph **graph_out,
                           struct pto_error *error) {
  int status = pto_outside_operations_load(error);
  if (status) return status;
  status = source->model                    ? read_model(source, graph_out, error)
           : pto_is_onnx_file(source->path) ? read_onnx(source, graph_out, error)
                                            : read_file(source, graph_out, error);
  if (status == PTO_ESYSTEM) error->status = PTO_EINVAL; /* a file that was asked for */
  return status == PTO_ESYSTEM ? PTO_EINVAL : status;
}

/* ---- arrays ---- */

/* Floats within ±1, integers below MOST_WHOLE, from a stream of the input's name; false without memory. */
static bool fill(const struct pto_operand *operand, uint64_t seed, void *data) {
  struct pto_graph_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims};
  struct pto_reference_tensor tensor;
  struct pto_rng rng = {pto_xxh64(operand->name, strlen(operand->name), seed)};
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  if (!pto_reference_tensor_init(&tensor, &desc)) return false;
  for (uint64_t i = 0; i < pto_graph_desc_numel(&desc); i++) {
    if (tensor.values)
      tensor.values[i] = 2 * pto_rng_unit(&rng) - 1;
    else
      tensor.whole[i] = (int64_t)pto_rng_below(&rng, MOST_WHOLE);
  }
  pto_reference_tensor_round(&tensor);
  pto_reference_tensor_store(&tensor, data);
  pto_reference_tensor_fini(&tensor);
  return true;
}

static struct pto_array *declare(struct pto_program_run *run, const struct pto_operand *operand, uint32_t role) {
  char other[128];
  const char *name = operand->name;
  if (pto_program_find(run, name)) { /* an input and an output may be called the same */
    snprintf(other, sizeof other, "%.100s (output)", name);
    name = other;
  }
  return pto_program_array(run, name, role, operand->dtype, operand->ndims, operand->shape);
}

static int prepare(struct pto_program_run *run) {
  struct pto_graph_program *p = pto_graph_program_of(pto_program_run_program(run));
  const struct pto_graph *graph = p->graph;
  const char *compare = pto_option_text(run, "compare");
  if (compare[0] && strcmp(compare, "reference") != 0)
    return pto_program_fail(run, "compare: \"%s\" is not reference", compare);
  /* A host function that has set it may run on. */
  if (graph->is_unfused == pto_option_bool(run, "fusion") && !p->program.host &&
      pto_graph_set_fusion(p->graph, pto_option_bool(run, "fusion")))
    return pto_program_fail(run, "%s is in use", p->name);
  for (uint32_t i = 0; i < graph->input_count; i++) {
    if (!(p->inputs[i] = declare(run, &graph->input_operands[i], PTO_ARRAY_INPUT))) return PTO_EINVAL;
    if (!fill(&graph->input_operands[i], pto_program_seed(run), p->inputs[i]->data))
      return pto_program_fail_as(run, PTO_ENOMEM, "no memory for the values of input %s", p->inputs[i]->name);
  }
  for (uint32_t i = 0; i < graph->output_count; i++)
    if (!(p->outputs[i] = declare(run, &graph->output_operands[i], PTO_ARRAY_OUTPUT))) return PTO_EINVAL;
  return PTO_OK;
}

/* ---- the run ---- */

static int lower(struct pto_graph_program *p, struct pto_runtime *rt, struct pto_tensor *tensors) {
  const struct pto_graph *graph = p->graph;
  struct pto_tensor *outputs = tensors + graph->input_count, *constants = outputs + graph->output_count;
  for (uint32_t i = 0; i < graph->input_count; i++) tensors[i] = pto_array_tensor(rt, p->inputs[i]);
  for (uint32_t i = 0; i < graph->output_count; i++) outputs[i] = pto_array_tensor(rt, p->outputs[i]);
  for (uint32_t v = 1, count = 0; v < graph->value_count; v++) {
    const struct pto_graph_value *value = &graph->values[v];
    if (value->kind != PTO_VALUE_CONSTANT) continue;
    struct pto_graph_desc desc;
    const void *bytes = pto_graph_constant(value, &desc);
    constants[count++] = pto_external_tensor(rt, (void *)(uintptr_t)bytes, desc.dtype, desc.ndims, desc.shape);
  }
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status) return status;
  p->graph->watch = &p->watch;
  status = pto_graph_lower(graph, rt, tensors, outputs, constants);
  p->graph->watch = NULL;
  const int ended = pto_scope_end(rt);
  return status ? status : ended;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_graph_program *p = pto_graph_program_of(pto_program_run_program(run));
  struct pto_tensor *tensors =
      calloc(p->graph->input_count + p->graph->output_count + p->graph->value_count + 1u, sizeof *tensors);
  if (!tensors) return pto_report_error(rt, "no memory for the tensors of the graph");
  pto_graph_program_begin(p);
  const int status = lower(p, rt, tensors);
  free(tensors);
  return status;
}

/* Beside the reference, where it was asked for: within an error over the magnitude of the smallest output. */
static int take_golden(struct pto_program_run *run, struct pto_graph_program *p, void *const *bytes) {
  double least = INFINITY, allowed = SINGLE_ERROR;
  for (uint32_t o = 0; o < p->graph->output_count; o++) {
    struct pto_array from = *p->outputs[o];
    double *golden = pto_array_golden(run, p->outputs[o]), most = 0;
    if (!golden) return PTO_ENOMEM;
    from.data = bytes[o];
    for (uint64_t i = 0; i < from.numel; i++) {
      golden[i] = pto_array_get(&from, i);
      if (isfinite(golden[i])) most = fmax(most, fabs(golden[i]));
    }
    if (most > 0) least = fmin(least, most);
    if (pto_dtype_is_float(from.dtype) && pto_dtype_bits(from.dtype) < 32) allowed = HALF_ERROR;
  }
  pto_program_tolerance(run, allowed, isfinite(least) ? allowed * least : allowed);
  return PTO_OK;
}

static int expect(struct pto_program_run *run) {
  struct pto_graph_program *p = pto_graph_program_of(pto_program_run_program(run));
  const struct pto_graph *graph = p->graph;
  struct pto_error error;
  if (!pto_option_text(run, "compare")[0]) return PTO_OK;
  const void **inputs = pto_program_alloc(run, (graph->input_count + 1u) * sizeof *inputs);
  void **outputs = pto_program_alloc(run, (graph->output_count + 1u) * sizeof *outputs);
  if (!inputs || !outputs) return PTO_ENOMEM;
  for (uint32_t i = 0; i < graph->input_count; i++) inputs[i] = p->inputs[i]->data;
  for (uint32_t o = 0; o < graph->output_count; o++)
    if (!(outputs[o] = pto_program_alloc(run, p->outputs[o]->size_bytes + 1))) return PTO_ENOMEM;
  const int status = pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error);
  return status ? pto_program_fail_as(run, status, "%s", error.sentence) : take_golden(run, p, outputs);
}

/* ---- which node ---- */

/* The next task is of this node. */
static void add_task(struct pto_graph_program *p, uint32_t node_index) {
  uint32_t *node = pto_grow(&p->node_of, &p->task_count, &p->task_capacity, sizeof *node);
  p->is_short |= !node;
  if (node) *node = node_index;
}

/* Tasks without a kernel, which are not observed, come before the kernels of their node. */
static void take_node(void *context, const struct pto_lowered_task *task) {
  struct pto_graph_program *p = context;
  while (p->task_count <= task->number && !p->is_short) add_task(p, task->node_index);
}

static bool name_nodes(struct pto_graph_program *p) {
  const struct pto_graph *graph = p->graph;
  p->names = calloc(graph->node_count + 1u, sizeof *p->names);
  p->name_list = calloc(graph->node_count + 1u, sizeof *p->name_list);
  if (!p->names || !p->name_list) return false;
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const struct pto_graph_node *node = &graph->nodes[n];
    const char *label = node->label ? node->label : "";
    snprintf(p->names[n], sizeof p->names[n], "%" PRIu32 " %s%s%.90s", n, pto_op_info(node->op)->name,
             label[0] ? " " : "", label);
    p->name_list[n] = p->names[n];
  }
  snprintf(p->names[graph->node_count], sizeof p->names[0], "outputs");
  p->name_list[graph->node_count] = p->names[graph->node_count];
  return true;
}

void pto_graph_program_begin(struct pto_graph_program *p) {
  p->task_count = 0;
  p->is_short = false;
}

const struct pto_task_groups *pto_graph_program_groups(struct pto_graph_program *p, uint64_t task_count,
                                                       uint64_t tasks_a_dispatch) {
  /* Tasks of dispatches that lowered nothing. */
  while (!p->is_short && tasks_a_dispatch && p->task_count < task_count && p->task_count >= tasks_a_dispatch)
    add_task(p, p->node_of[p->task_count - tasks_a_dispatch]);
  if (p->is_short) return NULL;
  p->groups = (struct pto_task_groups){p->node_of, p->task_count, p->name_list, p->graph->node_count + 1};
  return &p->groups;
}

/* ---- life ---- */

struct pto_graph_program *pto_graph_program_of(const struct pto_program *program) {
  if (program->prepare != prepare) return NULL;
  return (struct pto_graph_program *)((uintptr_t)program - offsetof(struct pto_graph_program, program));
}

uint64_t pto_graph_program_heap_bytes(const struct pto_graph *graph) {
  uint64_t bytes = 0;
  for (uint32_t v = 1; v < graph->value_count; v++)
    if (graph->values[v].kind == PTO_VALUE_RESULT) bytes += pto_align_up(graph->values[v].size_bytes, 1024);
  return pto_max_u64(2 * bytes + 64 * MIB, 256 * MIB); /* address space until it is used */
}

struct option_list {
  struct pto_option options[PTO_GRAPH_MODEL_MAX_OPTIONS + PTO_ARRAY_LENGTH(own_options) + 1];
  char texts[PTO_GRAPH_MODEL_MAX_OPTIONS][64];
};

static uint32_t list_model_options(struct option_list *list, const struct pto_graph_model_info *model) {
  uint32_t used = 0;
  for (; model->options[used].name; used++) {
    const struct pto_graph_model_option *option = &model->options[used];
    snprintf(list->texts[used], sizeof list->texts[used], "%" PRIu64, option->value);
    list->options[used] = (struct pto_option){option->name, option->text ? PTO_OPTION_TEXT : PTO_OPTION_INT,
                                              option->text ? option->text : list->texts[used], option->meaning};
  }
  return used;
}

/* Sizes that a file leaves open are chosen when it is read: options with the values that they have. */
static uint32_t list_sizes(struct option_list *list, const struct pto_words *settings) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < settings->count && used < PTO_GRAPH_MODEL_MAX_OPTIONS; i++) {
    const char *sign = strchr(settings->items[i], '=');
    char *text = list->texts[used];
    if (is_own(settings->items[i]) || !sign || strlen(settings->items[i]) >= sizeof list->texts[used]) continue;
    strcpy(text, settings->items[i]);
    text[sign - settings->items[i]] = '\0';
    list->options[used++] =
        (struct pto_option){text, PTO_OPTION_INT, &text[sign - settings->items[i] + 1], "a size that the model names"};
  }
  return used;
}

/* Those of the model or of the file, and of every graph. */
static bool list_options(struct pto_graph_program *p, const struct pto_graph_program_source *source) {
  struct option_list *list = calloc(1, sizeof *list);
  uint32_t used = 0;
  if (!list) return false;
  if (source && source->model)
    used = list_model_options(list, pto_graph_model_find(source->model));
  else if (source && (p->graph->origin || pto_is_onnx_file(source->path)))
    used = list_sizes(list, &source->settings);
  memcpy(list->options + used, own_options, sizeof own_options);
  p->options = list->options;
  return true;
}

static int create(struct pto_graph *graph, const char *name, const struct pto_graph_program_source *source,
                  struct pto_graph_program **program_out, struct pto_error *error) {
  struct pto_graph_program *p = calloc(1, sizeof *p);
  if (p) {
    p->graph = graph;
    p->name = strdup(name);
    p->inputs = calloc(graph->input_count + 1u, sizeof(struct pto_array *));
    p->outputs = calloc(graph->output_count + 1u, sizeof(struct pto_array *));
  }
  if (!p || !p->name || !p->inputs || !p->outputs || !list_options(p, source) || !name_nodes(p)) {
    pto_graph_program_destroy(p);
    return pto_error_set(error, PTO_ENOMEM, "out of memory");
  }
  p->config = (struct pto_config){.size = sizeof p->config, .heap_bytes = pto_graph_program_heap_bytes(graph)};
  p->program = (struct pto_program){.abi = PTO_PROGRAM_ABI,
                                    .name = p->name,
                                    .summary = "a graph of operations",
                                    .config = &p->config,
                                    .options = p->options,
                                    .prepare = prepare,
                                    .orchestrate = orchestrate,
                                    .expect = expect};
  p->watch = (struct pto_graph_lowering_watch){take_node, p};
  *program_out = p;
  return PTO_OK;
}

int pto_graph_program_create(struct pto_graph *graph, const char *name, struct pto_graph_program **program_out,
                             struct pto_error *error) {
  return create(graph, name, NULL, program_out, error);
}

int pto_graph_program_load(const struct pto_graph_program_source *source, struct pto_graph_program **program_out,
                           struct pto_error *error) {
  char name[256];
  const char *slash = source->path ? strrchr(source->path, '/') : NULL;
  struct pto_graph *graph;
  int status = pto_graph_program_read(source, &graph, error);
  if (status) return status;
  snprintf(name, sizeof name, "%s", source->model ? source->model : slash ? slash + 1 : source->path);
  if (!source->model) *strrchr(name, '.') = '\0';
  status = create(graph, name, source, program_out, error);
  if (status)
    pto_graph_destroy(graph);
  else
    (*program_out)->owns_graph = true;
  return status;
}

void pto_graph_program_destroy(struct pto_graph_program *p) {
  if (!p) return;
  if (p->owns_graph) pto_graph_destroy(p->graph);
  free(p->options);
  free(p->inputs);
  free(p->outputs);
  free(p->node_of);
  free(p->names);
  free(p->name_list);
  free(p->name);
  free(p);
}
