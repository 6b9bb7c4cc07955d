/* SPDX-License-Identifier: MIT */
#include <cli/graph/steps.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cli/graph/command.h>
#include <cli/main/progress_line.h>
#include <cli/main/verb.h>
#include <formats/units.h>
#include <report/run/result.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>

/* What --compare allows of each output at every step: its largest difference over its largest magnitude.  Rounding adds
 * up over layers and steps, so this is no bound of one operation. */
#define DEFAULT_ERROR 1e-4

struct stepping {
  struct pto_graph_command *command;
  struct pto_error *error;
  const struct pto_graph *graph;
  struct pto_context *context;
  uint32_t *state_of_input, *state_of_output; /* 1 + index of the other; 0: none */
  uint32_t token, position, logits;           /* 1 + index; 0: none */
  struct pto_device_tensor *inputs, *outputs; /* bound next: states change places */
  struct pto_binding *in, *out;               /* the same for a dispatch */
  const char **consumed;
  void **expected_inputs, **expected; /* the reference's, with --compare */
};

static int fail(struct stepping *s, int status) {
  const char *sentence = s->context ? pto_context_error(s->context) : "";
  return pto_error_set(s->error, status, "%s", sentence[0] ? sentence : pto_strerror(status));
}

static uint64_t input_bytes(const struct stepping *s, uint32_t i) {
  return s->graph->values[s->graph->inputs[i]].size_bytes;
}
static uint64_t output_bytes(const struct stepping *s, uint32_t o) {
  return s->graph->values[s->graph->outputs[o]].size_bytes;
}

/* ---- which input is what ---- */

static uint32_t find_operand(const struct pto_operand *operands, uint32_t count, const char *name, size_t length) {
  for (uint32_t i = 0; i < count; i++)
    if (strncmp(operands[i].name, name, length) == 0 && operands[i].name[length] == '\0') return i + 1;
  return 0;
}

static bool is_alike(const struct pto_operand *a, const struct pto_operand *b) {
  bool is_same = a->dtype == b->dtype && a->ndims == b->ndims;
  for (uint32_t d = 0; is_same && d < a->ndims; d++) is_same = a->shape[d] == b->shape[d];
  return is_same;
}

static int pair_named(struct stepping *s, const char *pair) {
  const struct pto_graph *g = s->graph;
  const char *equals = strchr(pair, '=');
  const uint32_t i = equals ? find_operand(g->input_operands, g->input_count, pair, (size_t)(equals - pair)) : 0;
  const uint32_t o = equals ? find_operand(g->output_operands, g->output_count, equals + 1, strlen(equals + 1)) : 0;
  if (!i || !o || !is_alike(&g->input_operands[i - 1], &g->output_operands[o - 1]))
    return pto_error_set(s->error, PTO_EINVAL,
                         "--state %.200s: no input and output of one dtype and shape are called so", pair);
  if (s->state_of_input[i - 1] || s->state_of_output[o - 1])
    return pto_error_set(s->error, PTO_EINVAL, "--state %.200s: one of them is in another pair", pair);
  s->state_of_input[i - 1] = o;
  s->state_of_output[o - 1] = i;
  return PTO_OK;
}

static void pair_past(struct stepping *s) {
  const struct pto_graph *g = s->graph;
  for (uint32_t i = 0; i < g->input_count; i++) {
    const char *name = g->input_operands[i].name;
    if (strncmp(name, "past_", 5) != 0 || s->state_of_input[i]) continue;
    const uint32_t o = find_operand(g->output_operands, g->output_count, name + 5, strlen(name + 5));
    if (!o || s->state_of_output[o - 1] || !is_alike(&g->input_operands[i], &g->output_operands[o - 1])) continue;
    s->state_of_input[i] = o;
    s->state_of_output[o - 1] = i + 1;
  }
}

/* An integer alone of this name, that is no state. */
static uint32_t find_number(const struct stepping *s, const char *name) {
  const struct pto_graph *g = s->graph;
  const uint32_t i = find_operand(g->input_operands, g->input_count, name, strlen(name));
  if (!i || s->state_of_input[i - 1]) return 0;
  const struct pto_operand *operand = &g->input_operands[i - 1];
  const bool is_integer = operand->dtype == PTO_INT32 || operand->dtype == PTO_UINT32 || operand->dtype == PTO_INT64 ||
                          operand->dtype == PTO_UINT64;
  for (uint32_t d = 0; d < operand->ndims; d++)
    if (operand->shape[d] != 1) return 0;
  return is_integer ? i : 0;
}

static int sort_inputs(struct stepping *s) {
  const struct pto_graph *g = s->graph;
  const struct pto_string_list *pairs = &s->command->steps.pairs;
  struct pto_graph_steps_result *result = &s->command->stepped;
  for (uint32_t p = 0; p < pairs->count; p++) {
    const int status = pair_named(s, pairs->items[p]);
    if (status) return status;
  }
  pair_past(s);
  s->position = find_number(s, "position");
  s->logits = find_operand(g->output_operands, g->output_count, "logits", 6);
  if (s->logits && (s->state_of_output[s->logits - 1] || g->output_operands[s->logits - 1].dtype != PTO_FLOAT32 ||
                    g->output_operands[s->logits - 1].ndims == 0))
    s->logits = 0;
  s->token = s->logits ? find_number(s, "token") : 0;
  for (uint32_t i = 0; i < g->input_count; i++) {
    if (!s->state_of_input[i]) continue;
    result->state_count++;
    result->state_bytes += input_bytes(s, i);
  }
  if (s->token && !(result->tokens = calloc(s->command->steps.count, sizeof *result->tokens)))
    return pto_error_set(s->error, PTO_ENOMEM, "out of memory");
  return PTO_OK;
}

/* ---- numbers of one element ---- */

static uint64_t get_number(const struct stepping *s, uint32_t input) {
  uint64_t number = 0;
  memcpy(&number, s->command->inputs[input], input_bytes(s, input)); /* little-endian, at most 8 bytes */
  return number;
}
static void set_number(struct stepping *s, uint32_t input, uint64_t number) {
  memcpy(s->command->inputs[input], &number, input_bytes(s, input));
}

static uint64_t largest_of(const float *row, uint64_t count) {
  uint64_t best = 0;
  for (uint64_t i = 1; i < count; i++)
    if (row[i] > row[best]) best = i;
  return best;
}

/* ---- tensors ---- */

static int create_tensor(struct stepping *s, const struct pto_operand *operand, struct pto_device_tensor *tensor) {
  struct pto_device_tensor_desc desc = {.dtype = operand->dtype, .ndims = operand->ndims};
  memcpy(desc.shape, operand->shape, sizeof desc.shape);
  return pto_device_tensor_create_host(s->context, &desc, tensor);
}

static bool has_file(const struct stepping *s, uint32_t input) {
  const char *name = s->graph->input_operands[input].name;
  const struct pto_string_list *files = &s->command->options.inputs;
  for (uint32_t i = 0; i < files->count; i++)
    if (strncmp(files->items[i], name, strlen(name)) == 0 && files->items[i][strlen(name)] == '=') return true;
  return false;
}

static int create_tensors(struct stepping *s) {
  const struct pto_graph *g = s->graph;
  int status = PTO_OK;
  for (uint32_t i = 0; i < g->input_count && status == PTO_OK; i++) {
    if ((s->state_of_input[i] || i + 1 == s->position) && !has_file(s, i))
      memset(s->command->inputs[i], 0, input_bytes(s, i)); /* as the device has it */
    status = create_tensor(s, &g->input_operands[i], &s->inputs[i]);
    if (status == PTO_OK && (!s->state_of_input[i] || has_file(s, i)))
      status = pto_device_tensor_write(s->context, s->inputs[i], s->command->inputs[i], input_bytes(s, i));
  }
  for (uint32_t o = 0; o < g->output_count && status == PTO_OK; o++) {
    if (s->state_of_output[o] && s->command->steps.is_in_place)
      s->outputs[o] = s->inputs[s->state_of_output[o] - 1];
    else
      status = create_tensor(s, &g->output_operands[o], &s->outputs[o]);
  }
  return status ? fail(s, status) : PTO_OK;
}

/* ---- a step ---- */

static int dispatch(struct stepping *s) {
  const struct pto_graph *g = s->graph;
  uint32_t consumed_count = 0;
  for (uint32_t i = 0; i < g->input_count; i++) {
    s->in[i] = (struct pto_binding){g->input_operands[i].name, s->inputs[i]};
    if (s->state_of_input[i] && s->command->steps.is_in_place) s->consumed[consumed_count++] = s->in[i].name;
  }
  for (uint32_t o = 0; o < g->output_count; o++)
    s->out[o] = (struct pto_binding){g->output_operands[o].name, s->outputs[o]};
  return pto_graph_dispatch((struct pto_graph *)(uintptr_t)g, s->context,
                            &(struct pto_dispatch_bindings){.inputs = s->in,
                                                            .outputs = s->out,
                                                            .input_count = g->input_count,
                                                            .output_count = g->output_count,
                                                            .consumed = s->consumed,
                                                            .consumed_count = consumed_count});
}

/* Reads what is no state. */
static int read_outputs(struct stepping *s) {
  int status = PTO_OK;
  for (uint32_t o = 0; o < s->graph->output_count && status == PTO_OK; o++)
    if (!s->state_of_output[o])
      status = pto_device_tensor_read(s->context, s->outputs[o], s->command->outputs[o], output_bytes(s, o));
  return status;
}

static void swap_states(struct stepping *s) {
  for (uint32_t i = 0; i < s->graph->input_count; i++) {
    if (!s->state_of_input[i]) continue;
    const struct pto_device_tensor made = s->outputs[s->state_of_input[i] - 1];
    s->outputs[s->state_of_input[i] - 1] = s->inputs[i];
    s->inputs[i] = made;
  }
}

/* Numbers of the next step; the first one's are written already. */
static int write_numbers(struct stepping *s) {
  const uint32_t numbers[] = {s->token, s->position};
  int status = PTO_OK;
  if (s->position) set_number(s, s->position - 1, get_number(s, s->position - 1) + 1);
  if (s->token) {
    const struct pto_operand *logits = &s->graph->output_operands[s->logits - 1];
    const uint64_t count = logits->shape[logits->ndims - 1], all = output_bytes(s, s->logits - 1) / sizeof(float);
    set_number(s, s->token - 1, largest_of((const float *)s->command->outputs[s->logits - 1] + all - count, count));
  }
  for (int k = 0; k < 2 && status == PTO_OK; k++)
    if (numbers[k])
      status = pto_device_tensor_write(s->context, s->inputs[numbers[k] - 1], s->command->inputs[numbers[k] - 1],
                                       input_bytes(s, numbers[k] - 1));
  return status;
}

static int step(struct stepping *s, uint64_t t) {
  if (t > 0) {
    const int status = write_numbers(s);
    if (status) return fail(s, status);
  }
  if (s->token) s->command->stepped.tokens[t] = get_number(s, s->token - 1);
  int status = dispatch(s);
  if (status == PTO_OK) status = read_outputs(s);
  if (status == PTO_OK) status = pto_context_sync(s->context);
  if (status) return fail(s, status);
  swap_states(s);
  return PTO_OK;
}

/* ---- beside the reference ---- */

/* The step on the reference, with the chip's token, but with states of its own. */
static int compare_step(struct stepping *s, uint64_t t) {
  const struct pto_graph *g = s->graph;
  struct pto_graph_steps_result *result = &s->command->stepped;
  for (uint32_t i = 0; i < g->input_count; i++)
    if (!s->state_of_input[i] || t == 0) memcpy(s->expected_inputs[i], s->command->inputs[i], input_bytes(s, i));
  const int status =
      pto_graph_reference_run(g, (const void *const *)s->expected_inputs, s->expected, NULL, NULL, s->error);
  if (status) return status;
  for (uint32_t o = 0; o < g->output_count; o++) {
    if (s->state_of_output[o]) {
      memcpy(s->expected_inputs[s->state_of_output[o] - 1], s->expected[o], output_bytes(s, o));
      continue;
    }
    double error = 0;
    if (!pto_graph_distance(&g->values[g->outputs[o]].desc, s->command->outputs[o], s->expected[o], true, &error))
      return pto_error_set(s->error, PTO_ENOMEM, "out of memory");
    if (error <= result->worst_error) continue;
    result->worst_error = error;
    result->worst_step = t;
  }
  return PTO_OK;
}

/* ---- all steps ---- */

static void count(struct stepping *s, struct pto_context_counters *counters) {
  *counters = (struct pto_context_counters){.size = sizeof *counters};
  pto_context_counters(s->context, counters);
}

static void count_seconds(struct pto_graph_steps_result *stepped, uint64_t t, double seconds) {
  *(t ? &stepped->later_seconds : &stepped->first_seconds) += seconds;
  if (t == 1 || (t > 1 && seconds < stepped->least_later_seconds)) stepped->least_later_seconds = seconds;
}

static int run_steps(struct stepping *s) {
  struct pto_graph_command *command = s->command;
  int status = create_tensors(s);
  for (uint64_t t = 0; t < command->steps.count && status == PTO_OK; t++) {
    const double begin = pto_clock_seconds();
    pto_progress_line_stage("running steps", (unsigned)t + 1, (unsigned)command->steps.count);
    status = step(s, t);
    count_seconds(&command->stepped, t, pto_clock_seconds() - begin);
    if (status == PTO_OK && t == 0) count(s, &command->stepped.first);
    if (status == PTO_OK && command->compare) status = compare_step(s, t);
  }
  if (status) return status;
  count(s, &command->stepped.all);
  pto_graph_record_take(&command->record, s->context);
  command->record.wall_seconds = command->stepped.first_seconds + command->stepped.later_seconds;
  /* The states, which the last step left in the inputs of a next one: after everything is counted. */
  for (uint32_t i = 0; i < s->graph->input_count && status == PTO_OK; i++)
    if (s->state_of_input[i])
      status = pto_device_tensor_read(s->context, s->inputs[i], command->outputs[s->state_of_input[i] - 1],
                                      input_bytes(s, i));
  return status ? fail(s, status) : PTO_OK;
}

static int judge(struct pto_graph_command *command) {
  const struct pto_run_options *o = &command->options;
  const double allowed = o->has_rtol ? o->rtol : DEFAULT_ERROR;
  if (command->compare && !(command->stepped.worst_error <= allowed)) command->exit_code = PTO_EXIT_FINDINGS;
  return PTO_OK;
}

/* Of the program run, which frees them. */
static bool alloc_arrays(struct stepping *s, struct pto_program_run *run) {
  const struct pto_graph *g = s->graph;
  const uint64_t in = g->input_count + 1u, out = g->output_count + 1u;
  s->state_of_input = pto_program_alloc(run, in * sizeof *s->state_of_input);
  s->state_of_output = pto_program_alloc(run, out * sizeof *s->state_of_output);
  s->inputs = pto_program_alloc(run, in * sizeof *s->inputs);
  s->outputs = pto_program_alloc(run, out * sizeof *s->outputs);
  s->in = pto_program_alloc(run, in * sizeof *s->in);
  s->out = pto_program_alloc(run, out * sizeof *s->out);
  s->consumed = pto_program_alloc(run, in * sizeof *s->consumed);
  s->expected_inputs = pto_program_alloc(run, in * sizeof *s->expected_inputs);
  s->expected = pto_program_alloc(run, out * sizeof *s->expected);
  bool has_room = s->state_of_input && s->state_of_output && s->inputs && s->outputs && s->in && s->out &&
                  s->consumed && s->expected_inputs && s->expected;
  for (uint32_t i = 0; s->command->compare && i < g->input_count && has_room; i++)
    has_room = (s->expected_inputs[i] = pto_program_alloc(run, input_bytes(s, i) + 1)) != NULL;
  for (uint32_t o = 0; s->command->compare && o < g->output_count && has_room; o++)
    has_room = (s->expected[o] = pto_program_alloc(run, output_bytes(s, o) + 1)) != NULL;
  return has_room;
}

int pto_graph_command_steps(struct pto_graph_command *command, struct pto_program_run *run, struct pto_error *error) {
  struct stepping s = {.command = command, .error = error, .graph = command->graph};
  int status = alloc_arrays(&s, run) ? sort_inputs(&s) : pto_error_set(error, PTO_ENOMEM, "no memory for the steps");
  if (status == PTO_OK) status = pto_graph_open_context(command->graph, pto_program_config(run), &s.context, error);
  pto_graph_program_begin(command->program);
  command->graph->watch = &command->program->watch;
  if (status == PTO_OK) status = run_steps(&s);
  command->graph->watch = NULL;
  pto_program_report(run, s.context);
  if (s.context) pto_graph_forget(command->graph, s.context);
  pto_context_destroy(s.context);
  command->has_stepped = status == PTO_OK;
  return status == PTO_OK ? judge(command) : status;
}

/* ---- the report ---- */

/* Tokens that are printed at most; --json has all. */
#define MOST_TOKENS 32u

static const char *kv_of(const struct pto_graph_command *command) {
  return command->steps.is_in_place ? "inplace" : "pingpong";
}

void pto_graph_steps_print(const struct pto_graph_command *command) {
  const struct pto_graph_steps_result *r = &command->stepped;
  const uint64_t steps = command->steps.count;
  char first[32], later[32];
  printf("steps      %" PRIu64 ", %" PRIu32 " states of %" PRIu64 " bytes %s; the first %s", steps, r->state_count,
         r->state_bytes, command->steps.is_in_place ? "in place" : "in two tensors each, in turn",
         pto_format_seconds(r->first_seconds, first, sizeof first));
  if (steps > 1) printf(", others %s", pto_format_seconds(r->later_seconds / (double)(steps - 1), later, sizeof later));
  printf("\nmoved by   the steps after the first: %" PRIu64 " bytes to the device, %" PRIu64 " back, %" PRIu64
         " on it; %" PRIu64 " allocations\n",
         r->all.h2d_bytes - r->first.h2d_bytes, r->all.d2h_bytes - r->first.d2h_bytes,
         r->all.d2d_bytes - r->first.d2d_bytes, r->all.allocations - r->first.allocations);
  if (r->tokens) printf("tokens    ");
  for (uint64_t t = 0; r->tokens && t < steps && t < MOST_TOKENS; t++) printf(" %" PRIu64, r->tokens[t]);
  if (r->tokens) puts(steps > MOST_TOKENS ? " …" : "");
  if (command->compare)
    printf("compared   outputs of every step: at step %" PRIu64 " they are %.3g of their size from the reference's\n",
           r->worst_step, r->worst_error);
}

void pto_graph_steps_put(struct pto_json_writer *w, const struct pto_graph_command *command) {
  const struct pto_graph_steps_result *r = &command->stepped;
  if (!pto_json_try_key(w, "steps", command->has_stepped)) return;
  pto_json_object_begin(w);
  pto_json_put_u64(w, "count", command->steps.count);
  pto_json_put_string(w, "kv", kv_of(command));
  pto_json_put_u64(w, "states", r->state_count);
  pto_json_put_u64(w, "state_bytes", r->state_bytes);
  pto_json_put_u64(w, "later_h2d_bytes", r->all.h2d_bytes - r->first.h2d_bytes);
  pto_json_put_u64(w, "later_d2h_bytes", r->all.d2h_bytes - r->first.d2h_bytes);
  pto_json_put_u64(w, "later_d2d_bytes", r->all.d2d_bytes - r->first.d2d_bytes);
  pto_json_put_u64(w, "later_allocations", r->all.allocations - r->first.allocations);
  pto_json_put_u64(w, "binding_copied_bytes", r->all.binding_copied_bytes);
  pto_json_put_double(w, "first_seconds", r->first_seconds);
  pto_json_put_double(w, "later_seconds", r->later_seconds);
  if (pto_json_try_key(w, "tokens", r->tokens)) {
    pto_json_array_begin(w);
    for (uint64_t t = 0; t < command->steps.count; t++) pto_json_u64(w, r->tokens[t]);
    pto_json_array_end(w);
  }
  if (command->compare) {
    pto_json_put_double(w, "worst_error", r->worst_error);
    pto_json_put_u64(w, "worst_step", r->worst_step);
  }
  pto_json_object_end(w);
}
