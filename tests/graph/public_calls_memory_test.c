/* SPDX-License-Identifier: MIT */
/*
 * Whichever allocation fails, the calls of pto/graph.h and pto/graph_operations.h end with the right result, or with a
 * refusal and a sentence, and what they were called on goes on or can be destroyed (tests/support/memory_scenarios.h).
 *
 * Right are the shapes, files and numbers of a run in which nothing fails; its numbers are held against the reference.
 *
 * In no scenario, as they allocate nothing: pto_graph_operation_count and pto_graph_operation_name.  The contexts are
 * made without failures, in virtual time, where the thread that calls does all the work.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <graph/reference/reference.h>
#include <tests/graph/memory_operations.h>
#include <tests/support/test_folder.h>

static char sentence[PTO_SENTENCE_SIZE];

/* ---- files of a scenario ---- */

/* Removes a file, which is there unless the call that writes it has failed. */
static void take(const char *name) { (void)unlink(path_of(name)); }
static void expect_no_file_left(void) {
  memory_pause();
  memory_check(rmdir(test_folder) == 0 && mkdir(test_folder, 0700) == 0, "no file is left", __LINE__);
  memory_resume();
}

static const struct group {
  void (*make)(void);
} elementwise = {make_elementwise}, windows = {make_windows}, moved = {make_moved}, recurrent = {make_recurrent};

/* Shapes, files and the graph read again. */
static void build(const void *group) {
  struct pto_graph_desc descs[MOST_MADE];
  struct pto_graph *graph, *again = NULL;
  open_builder(NULL);
  made_count = 0;
  ((const struct group *)group)->make();
  for (uint32_t i = 0; i < made_count; i++) descs[i] = pto_graph_builder_desc(b, made[i]);
  AS_KEPT(0, descs, made_count * sizeof *descs);
  graph = build_made();
  close_builder();
  CALL(pto_graph_save(graph, path_of("a.webnn"), NULL, sentence, sizeof sentence), sentence);
  FILE_AS_KEPT(1, path_of("a.webnn"));
  CALL(pto_graph_load(NULL, path_of("a.webnn"), NULL, &again, sentence, sizeof sentence), sentence);
  CALL(pto_graph_save(again, path_of("b.webnn"), NULL, sentence, sizeof sentence), sentence);
  FILE_AS_KEPT(1, path_of("b.webnn"));
  pto_graph_destroy(graph);
  pto_graph_destroy(again);
  take("a.webnn");
  take("b.webnn");
  expect_no_file_left();
}

/* ---- numbers ---- */

enum { MOST_BYTES = 1024 };
static char in[32][MOST_BYTES], out[MOST_MADE][MOST_BYTES];
static struct pto_host_array ins[32], outs[MOST_MADE];

static uint64_t bytes_of(const struct pto_operand *o) {
  uint64_t bits = pto_dtype_bits(o->dtype);
  for (uint32_t d = 0; d < o->ndims; d++) bits *= o->shape[d];
  return (bits + 7) / 8;
}

/* Positive numbers, so that every function has a value. */
static struct pto_compute_arrays arrays_of(const struct pto_graph *graph) {
  struct pto_compute_arrays all = {ins, outs, pto_graph_input_count(graph), pto_graph_output_count(graph)};
  for (uint32_t i = 0; i < all.input_count; i++) {
    const struct pto_operand *o = pto_graph_input(graph, i);
    ins[i] = (struct pto_host_array){o->name, in[i], bytes_of(o)};
    for (uint32_t k = 0; k < ins[i].size_bytes; k++)
      if (o->dtype == PTO_UINT8)
        in[i][k] = (char)((i + k) % 2);
      else if (k % 4 == 0)
        memcpy(&in[i][k], &(float){(float)((i * 5 + k * 3) % 31 + 1) / 32}, 4);
  }
  for (uint32_t i = 0; i < all.output_count; i++) {
    const struct pto_operand *o = pto_graph_output_at(graph, i);
    outs[i] = (struct pto_host_array){o->name, out[i], bytes_of(o)};
    assert_true(outs[i].size_bytes <= MOST_BYTES);
  }
  memset(out, 0xa5, sizeof out);
  return all;
}

static void expect_reference(const struct pto_graph *graph) {
  static char wanted[MOST_MADE][MOST_BYTES];
  const void *inputs[32];
  void *outputs[MOST_MADE];
  struct pto_error error = {0};
  const struct lowered_graph_tolerance tolerance = {.f32 = 1e-5};
  for (uint32_t i = 0; i < graph->input_count; i++) inputs[i] = in[i];
  for (uint32_t i = 0; i < graph->output_count; i++) outputs[i] = wanted[i];
  assert_int_equal(pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error), PTO_OK);
  for (uint32_t i = 0; i < graph->output_count; i++) {
    struct pto_graph_desc desc = {.dtype = graph->output_operands[i].dtype, .ndims = graph->output_operands[i].ndims};
    memcpy(desc.shape, graph->output_operands[i].shape, sizeof desc.shape);
    lowered_graph_expect(&desc, out[i], wanted[i], false, &tolerance, graph->output_operands[i].name);
  }
}

static void compute(const void *group) {
  memory_pause();
  open_builder(NULL);
  made_count = 0;
  ((const struct group *)group)->make();
  struct pto_graph *graph = build_made();
  close_builder();
  const struct pto_compute_arrays all = arrays_of(graph);
  memory_resume();
  open_context();
  OF_CONTEXT(pto_graph_compute(graph, context, &all));
  if (trial.n == 0) {
    memory_pause();
    expect_reference(graph);
    memory_resume();
  }
  AS_KEPT(0, out, sizeof out);
  pto_graph_destroy(graph);
  close_context();
}

/* ---- constants, tensors, calls ---- */

/* y = tanh(x · c + x), with a constant tensor and fusion. */
static void dispatch(const void *unused) {
  static const float numbers[9] = {0.5f, -1, 0.25f, 1, 2, -0.5f, 0, 1, -2};
  const struct pto_device_tensor_desc square = {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {3, 3}};
  struct pto_device_tensor constant, from, to;
  struct pto_graph_operand x, c, product, sum, y;
  struct pto_graph *graph = NULL;
  float got[9] = {0};
  open_context();
  memory_pause();
  assert_int_equal(pto_device_tensor_create_constant(context, &square, numbers, sizeof numbers, &constant), PTO_OK);
  assert_int_equal(pto_device_tensor_create_host(context, &square, &from), PTO_OK);
  assert_int_equal(pto_device_tensor_create_host(context, &square, &to), PTO_OK);
  assert_int_equal(pto_device_tensor_write(context, from, numbers, sizeof numbers), PTO_OK);
  memory_resume();
  struct pto_graph_limit limits[4];
  CHECK(pto_graph_operation_limits(context, "matmul", limits, 4) == 2);
  open_builder(context);
  INPUT(x, PTO_FLOAT32, 2, {3, 3});
  OPERAND(c, pto_graph_builder_constant_tensor(b, constant));
  OPERAND(product, pto_graph_builder_matmul(b, x, c, NULL));
  OPERAND(sum, pto_graph_builder_add(b, product, x, NULL));
  OPERAND(y, pto_graph_builder_tanh(b, sum, NULL));
  OF_BUILDER(pto_graph_builder_build(b, &(struct pto_graph_output){"y", y}, 1, &graph));
  close_builder();
  const struct pto_binding bind_x = {"x", from}, bind_y = {"y", to};
  const struct pto_dispatch_bindings bindings = {
      .inputs = &bind_x, .outputs = &bind_y, .input_count = 1, .output_count = 1};
  for (int is_fused = 0; is_fused < 2; is_fused++) {
    CALL(pto_graph_set_fusion(graph, is_fused), "fusion");
    for (int round = 0; round < 2; round++) { /* lowered, and once more as kept */
      AGAIN_IF_REFUSED {
        OF_CONTEXT(pto_graph_dispatch(graph, context, &bindings));
        /* A dispatch that fails while it runs is to be queued again. */
        OF_CONTEXT(pto_context_sync(context));
      }
      memset(got, 0, sizeof got);
      OF_CONTEXT(pto_device_tensor_read(context, to, got, sizeof got));
      AS_KEPT((uint32_t)is_fused, got, sizeof got);
    }
    if (!trial.is_over) pto_graph_forget(graph, context);
  }
  const struct pto_argument in_x = {.name = "x", .data = (void *)numbers, .size_bytes = sizeof numbers};
  struct pto_argument out_y = {.name = "y"};
  const struct pto_call call = {
      .size = sizeof call, .inputs = &in_x, .outputs = &out_y, .input_count = 1, .output_count = 1};
  AGAIN_IF_REFUSED {
    if (out_y.tensor.id) (void)pto_device_tensor_destroy(context, out_y.tensor);
    out_y.tensor = (struct pto_device_tensor){0};
    OF_CONTEXT(pto_graph_call(graph, context, &call));
    OF_CONTEXT(pto_context_sync(context));
  }
  OF_CONTEXT(pto_device_tensor_read(context, out_y.tensor, got, sizeof got));
  AS_KEPT(1, got, sizeof got);
  pto_graph_destroy(graph);
  close_context();
}

/* ---- open sizes ---- */

static void double_vector(struct pto_graph *graph, uint32_t count) {
  float from[8] = {1, 2, 3, 4, 5, 6, 7, 8}, to[8] = {0};
  const struct pto_host_array x = {"x", from, count * sizeof *from}, y = {"y", to, count * sizeof *to};
  const struct pto_compute_arrays all = {&x, &y, 1, 1};
  OF_CONTEXT(pto_graph_compute(graph, context, &all));
  for (uint32_t i = 0; i < count; i++) CHECK(to[i] == 2 * from[i]);
}

static void bind_sizes(const void *unused) {
  struct pto_graph_operand x, column, y;
  struct pto_graph *open = NULL, *bound = NULL, *again = NULL;
  open_context();
  open_builder(NULL);
  INPUT(x, PTO_FLOAT32, 1, {8});
  OPERAND(column, pto_graph_builder_reshape(b, x, &(struct pto_new_shape_options){.new_shape = PTO_U32_LIST(8, 1)}));
  OPERAND(y, pto_graph_builder_add(b, column, column, NULL));
  OF_BUILDER(pto_graph_builder_set_size(b, x, NULL, 0, "count"));
  OF_BUILDER(pto_graph_builder_set_size(b, column, "newShape", 0, "count"));
  OF_BUILDER(pto_graph_builder_build(b, &(struct pto_graph_output){"y", y}, 1, &open));
  close_builder();
  CHECK(pto_graph_size_count(open) == 1 && pto_graph_size_at(open, 0).value == 8);
  CALL(pto_graph_save(open, path_of("open.json"), NULL, sentence, sizeof sentence), sentence);
  CALL(pto_graph_load(NULL, path_of("open.json"), NULL, &again, sentence, sizeof sentence), sentence);
  const struct pto_graph_size three = {"count", 3};
  CALL(pto_graph_bind(again, &three, 1, &bound, sentence, sizeof sentence), sentence);
  CHECK(pto_graph_output_at(bound, 0)->shape[0] == 3);
  pto_graph_destroy(again);
  double_vector(open, 5);
  double_vector(bound, 3);
  double_vector(open, 3);
  double_vector(open, 5);
  pto_graph_destroy(bound);
  close_context();
  pto_graph_destroy(open);
  take("open.json");
  expect_no_file_left();
}

/* ---- files ---- */

/* A file that could not be written is not there. */
static void save(const struct pto_graph *graph, const char *name, const struct pto_graph_file_options *options) {
  const bool was_over = trial.is_over;
  CALL(pto_graph_save(graph, path_of(name), options, sentence, sizeof sentence), sentence);
  if (trial.is_over && !was_over) memory_check(access(path_of(name), F_OK) != 0, "no file", __LINE__);
}

static void write_and_read(const void *unused) {
  static const struct {
    const char *name, *weights[2];
    uint32_t form;
  } files[] = {{"a.json", {NULL, NULL}, PTO_GRAPH_WEIGHTS_INLINE},
               {"b.json", {"b.safetensors", NULL}, PTO_GRAPH_WEIGHTS_SAFETENSORS},
               {"c.webnn", {"c.weights", "c.manifest.json"}, PTO_GRAPH_WEIGHTS_MANIFEST}};
  memory_pause();
  open_builder(NULL);
  made_count = 0;
  make_windows();
  struct pto_graph *graph = build_made();
  close_builder();
  memory_resume();
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(files); i++) {
    const struct pto_graph_file_options options = {.size = sizeof options, .weights = files[i].form};
    struct pto_graph *again = NULL;
    save(graph, files[i].name, &options);
    FILE_AS_KEPT(2 * i, path_of(files[i].name));
    if (files[i].weights[0]) FILE_AS_KEPT(2 * i + 1, path_of(files[i].weights[0]));
    CALL(pto_graph_load(NULL, path_of(files[i].name), NULL, &again, sentence, sizeof sentence), sentence);
    save(again, "again.json",
         &(struct pto_graph_file_options){.size = sizeof options, .weights = PTO_GRAPH_WEIGHTS_INLINE});
    FILE_AS_KEPT(6 + i, path_of("again.json"));
    pto_graph_destroy(again);
    take("again.json");
    take(files[i].name);
    for (int w = 0; w < 2; w++)
      if (files[i].weights[w]) take(files[i].weights[w]);
  }
  CALL(pto_graph_save_dot(graph, path_of("a.dot"), sentence, sizeof sentence), sentence);
  FILE_AS_KEPT(15, path_of("a.dot"));
  take("a.dot");
  pto_graph_destroy(graph);
  expect_no_file_left();
}

static const struct memory_scenario scenarios[] = {
    {"elementwise operations are built and saved", build, &elementwise},
    {"matrices and windows are built and saved", build, &windows},
    {"what moves is built and saved", build, &moved},
    {"recurrent operations are built and saved", build, &recurrent},
    {"elementwise operations are computed", compute, &elementwise},
    {"matrices and windows are computed", compute, &windows},
    {"what moves is computed", compute, &moved},
    {"recurrent operations are computed", compute, &recurrent},
    {"a graph is dispatched and called", dispatch, NULL},
    {"sizes that are open are bound", bind_sizes, NULL},
    {"files are written and read", write_and_read, NULL},
};

int main(void) {
  return memory_run_scenarios("public calls on graphs", scenarios, PTO_ARRAY_LENGTH(scenarios), test_folder_open,
                              test_folder_clear, test_folder_close);
}
