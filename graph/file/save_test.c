/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/file/json.h>
#include <graph/file/manifest.h>
#include <tests/support/graph_same.h>
#include <tests/support/test_folder.h>

#define ALL "tests/fuzz/corpus/graph_json_fuzz/all_operations.json"

static char sentence[1024];

static struct pto_graph *load(const char *path, const struct pto_graph_file_options *options) {
  struct pto_graph *graph = NULL;
  if (pto_graph_load(NULL, path, options, &graph, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return graph;
}

static void save(const struct pto_graph *graph, const char *path, const struct pto_graph_file_options *options) {
  if (pto_graph_save(graph, path, options, sentence, sizeof sentence)) fail_msg("%s", sentence);
}

static char *read_text(const char *path) {
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char *text = calloc(1, 1 << 20);
  assert_non_null(text);
  assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
  fclose(file);
  return text;
}

static void assert_same(const struct pto_graph *a, const struct pto_graph *b) {
  char why[256];
  if (!pto_graph_is_same(a, b, why)) fail_msg("%s differ", why);
}

static void test_every_operation_is_in_the_graph_of_this_test(void **state) {
  bool is_there[PTO_GRAPH_OP_COUNT] = {false};
  struct pto_graph *graph = load(ALL, NULL);
  for (uint32_t i = 0; i < graph->node_count; i++) is_there[graph->nodes[i].op] = true;
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++)
    if (!is_there[op]) fail_msg("%s is not", pto_op_info(op)->name);
  pto_graph_destroy(graph);
}

static void test_what_is_saved_loads_as_the_same_graph_in_every_form(void **state) {
  struct pto_graph *graph = load(ALL, NULL);
  for (uint32_t form = PTO_GRAPH_WEIGHTS_DEFAULT; form <= PTO_GRAPH_WEIGHTS_MANIFEST; form++) {
    const struct pto_graph_file_options options = {.size = sizeof options, .weights = form};
    save(graph, path_of("a.json"), &options);
    struct pto_graph *again = load(path_of("a.json"), NULL);
    assert_same(graph, again);
    pto_graph_destroy(again);
  }
  pto_graph_destroy(graph);
}

static void test_saving_what_was_saved_gives_the_same_bytes(void **state) {
  struct pto_graph *graph = load(ALL, NULL);
  save(graph, path_of("a.json"), NULL);
  struct pto_graph *again = load(path_of("a.json"), NULL);
  save(again, path_of("b.json"), NULL);
  char *a = read_text(path_of("a.json")), *b = read_text(path_of("b.json"));
  assert_string_equal(a, b);
  free(a);
  free(b);
  pto_graph_destroy(again);
  pto_graph_destroy(graph);
}

/* ---- graphs that the builder makes ---- */

static struct pto_graph_operand constant(struct pto_graph_builder *b, uint32_t dtype, uint64_t count,
                                         const void *data) {
  const struct pto_graph_desc desc = {dtype, 1, {count}};
  return pto_graph_builder_constant(b, &desc, data, (count * pto_dtype_bits(dtype) + 7) / 8);
}

static struct pto_graph *build(struct pto_graph_builder *b, struct pto_graph_operand result) {
  const struct pto_graph_output output = {"y", result};
  struct pto_graph *graph = NULL;
  if (pto_graph_builder_build(b, &output, 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  return graph;
}

static struct pto_graph_builder *start(void) {
  struct pto_graph_builder *b = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  return b;
}

static void test_bits_of_floats_survive(void **state) {
  static const uint32_t patterns[][2] = {{0x7fc00001, 0x7fc00001}, {0xffc00000, 0xffc00000}, {0x80000000, 0x80000000},
                                         {0x00000001, 0x00000001}, {0x7f7fffff, 0x7f7fffff}, {0x7f800000, 0x7f800000},
                                         {0x3dcccccd, 0x3dcccccd}, {0x7f800001, 0x00000000}};
  for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
    struct pto_graph_builder *b = start();
    struct pto_graph *graph = build(b, pto_graph_builder_identity(b, constant(b, PTO_FLOAT32, 2, patterns[i]), NULL));
    save(graph, path_of("a.json"), NULL);
    struct pto_graph *again = load(path_of("a.json"), NULL);
    assert_same(graph, again);
    pto_graph_destroy(again);
    pto_graph_destroy(graph);
  }
}

static void test_all_integers_of_64_bits_survive(void **state) {
  static const uint64_t values[] = {0, 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX, UINT64_C(9007199254740993)};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
    for (int k = 0; k < 2; k++) {
      struct pto_graph_builder *b = start();
      struct pto_graph *graph =
          build(b, pto_graph_builder_identity(b, constant(b, k ? PTO_UINT64 : PTO_INT64, 1, &values[i]), NULL));
      save(graph, path_of("a.json"), NULL);
      struct pto_graph *again = load(path_of("a.json"), NULL);
      assert_same(graph, again);
      pto_graph_destroy(again);
      pto_graph_destroy(graph);
    }
}

static void test_names_that_are_made_up_avoid_those_that_are_given(void **state) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {2}};
  struct pto_graph_builder *b = start();
  const float two[] = {1, 2};
  struct pto_graph_operand x = pto_graph_builder_input(b, "const_2", &desc);
  struct pto_graph_operand y = pto_graph_builder_add(b, x, constant(b, PTO_FLOAT32, 2, two), NULL);
  struct pto_graph_operand z = pto_graph_builder_abs(b, y, NULL);
  assert_int_equal(pto_graph_builder_set_name(b, z, "value_3"), PTO_OK);
  const struct pto_graph_options label = {"op_0"};
  struct pto_graph *graph = build(b, pto_graph_builder_neg(b, z, &label));
  save(graph, path_of("a.json"), NULL);
  struct pto_graph *again = load(path_of("a.json"), NULL);
  assert_int_equal(again->node_count, 3);
  save(again, path_of("b.json"), NULL);
  char *a = read_text(path_of("a.json")), *c = read_text(path_of("b.json"));
  assert_string_equal(a, c);
  free(a);
  free(c);
  pto_graph_destroy(again);
  pto_graph_destroy(graph);
}

static struct pto_graph *large_graph(void) {
  struct pto_graph_builder *b = start();
  static float data[40000];
  static unsigned char narrow[20000];
  for (size_t i = 0; i < 40000; i++) data[i] = (float)i / 7;
  for (size_t i = 0; i < 20000; i++) narrow[i] = (unsigned char)(i * 31);
  const float scale[1] = {2};
  const struct pto_graph_operand q =
      pto_graph_builder_dequantize_linear(b, constant(b, PTO_INT4, 40000, narrow), constant(b, PTO_FLOAT32, 1, scale),
                                          constant(b, PTO_INT4, 1, "\1"), NULL);
  return build(b, pto_graph_builder_add(b, q, constant(b, PTO_FLOAT32, 40000, data), NULL));
}

static void assert_file_is_there(const char *name, bool is_there) {
  if ((access(path_of(name), F_OK) == 0) != is_there) fail_msg("%s is %sthere", name, is_there ? "not " : "");
}

static void test_large_constants_go_to_a_file_beside_it(void **state) {
  struct pto_graph *graph = large_graph();
  (void)unlink(path_of("a.safetensors"));
  (void)unlink(path_of("a.weights"));
  (void)unlink(path_of("a.manifest.json"));
  save(graph, path_of("a.json"), NULL);
  assert_file_is_there("a.safetensors", true);
  struct pto_graph *again = load(path_of("a.json"), NULL);
  assert_same(graph, again);
  pto_graph_destroy(again);
  assert_int_equal(unlink(path_of("a.safetensors")), 0);
  const struct pto_graph_file_options manifest = {.size = sizeof manifest, .weights = PTO_GRAPH_WEIGHTS_MANIFEST};
  save(graph, path_of("a.json"), &manifest);
  assert_file_is_there("a.safetensors", false);
  assert_file_is_there("a.weights", true);
  assert_file_is_there("a.manifest.json", true);
  again = load(path_of("a.json"), NULL);
  assert_same(graph, again);
  pto_graph_destroy(again);
  const struct pto_graph_file_options inside = {.size = sizeof inside, .weights = PTO_GRAPH_WEIGHTS_INLINE};
  assert_int_equal(unlink(path_of("a.weights")), 0);
  save(graph, path_of("b.json"), &inside);
  again = load(path_of("b.json"), NULL);
  assert_same(graph, again);
  pto_graph_destroy(again);
  pto_graph_destroy(graph);
}

static void test_paths_of_weights_may_be_given(void **state) {
  struct pto_graph *graph = large_graph();
  struct pto_graph_file_options options = {.size = sizeof options, .weights = PTO_GRAPH_WEIGHTS_MANIFEST};
  char weights[200], manifest[200];
  snprintf(weights, sizeof weights, "%s", path_of("w.weights"));
  snprintf(manifest, sizeof manifest, "%s", path_of("w.json"));
  options.weights_path = weights;
  options.manifest_path = manifest;
  save(graph, path_of("b.json"), &options);
  struct pto_graph *again = load(path_of("b.json"), &options);
  assert_same(graph, again);
  pto_graph_destroy(again);
  pto_graph_destroy(graph);
}

static void test_what_cannot_be_written_is_said(void **state) {
  struct pto_graph *graph = large_graph();
  assert_int_equal(pto_graph_save(graph, "/nowhere/a.json", NULL, sentence, sizeof sentence), PTO_ESYSTEM);
  assert_non_null(strstr(sentence, "/nowhere/a.safetensors"));
  const struct pto_graph_file_options odd = {.size = sizeof odd, .weights = 77};
  assert_int_equal(pto_graph_save(graph, path_of("b.json"), &odd, sentence, sizeof sentence), PTO_EINVAL);
  pto_graph_destroy(graph);
}

static const uint32_t forms[] = {PTO_GRAPH_WEIGHTS_INLINE, PTO_GRAPH_WEIGHTS_SAFETENSORS, PTO_GRAPH_WEIGHTS_MANIFEST};

/* No file may have more than 4 KiB here: what a full disk does. */
static void test_files_that_could_not_be_written_to_their_end_are_removed(void **state) {
  struct pto_graph *graph = large_graph();
  struct rlimit limit, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  small = (struct rlimit){4096, limit.rlim_max};
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  int statuses[PTO_ARRAY_LENGTH(forms)];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++) {
    const struct pto_graph_file_options options = {.size = sizeof options, .weights = forms[i]};
    statuses[i] = pto_graph_save(graph, path_of("full.json"), &options, sentence, sizeof sentence);
  }
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, handler);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++) assert_int_equal(statuses[i], PTO_ESYSTEM);
  assert_file_is_there("full.json", false);
  assert_file_is_there("full.safetensors", false);
  assert_file_is_there("full.weights", false);
  assert_file_is_there("full.manifest.json", false);
  pto_graph_destroy(graph);
}

/* A link to /dev/full: the user who runs this must not lose that device. */
static void test_what_is_no_regular_file_stays_when_nothing_can_be_written_to_it(void **state) {
  static const char *const names[] = {"link.json", "link.safetensors", "link.weights"};
  if (access("/dev/full", W_OK) != 0) skip();
  struct pto_graph *graph = large_graph();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++) {
    const struct pto_graph_file_options options = {.size = sizeof options, .weights = forms[i]};
    assert_int_equal(symlink("/dev/full", path_of(names[i])), 0);
    assert_int_equal(pto_graph_save(graph, path_of("link.json"), &options, sentence, sizeof sentence), PTO_ESYSTEM);
    assert_file_is_there(names[i], true);
    if (i == 0) assert_int_equal(pto_graph_save_dot(graph, path_of(names[i]), sentence, sizeof sentence), PTO_ESYSTEM);
    assert_file_is_there(names[i], true);
    assert_int_equal(unlink(path_of(names[i])), 0);
  }
  pto_graph_destroy(graph);
}

/* ---- pictures ---- */

static void test_a_picture_tells_inputs_constants_intermediates_and_outputs_apart(void **state) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {2}};
  const float two[] = {1, 2};
  struct pto_graph_builder *b = start();
  struct pto_graph_operand x = pto_graph_builder_input(b, "in \"x\"", &desc);
  const struct pto_graph_options label = {"sum \\ here"};
  struct pto_graph_operand y = pto_graph_builder_sub(b, x, constant(b, PTO_FLOAT32, 2, two), &label);
  struct pto_graph *graph = build(b, pto_graph_builder_abs(b, y, NULL));
  assert_int_equal(pto_graph_save_dot(graph, path_of("a.json"), sentence, sizeof sentence), PTO_OK);
  char *text = read_text(path_of("a.json"));
  assert_non_null(strstr(text, "label=\"in \\\"x\\\"\\nfloat32 [2]\", shape=invhouse"));
  assert_non_null(strstr(text, "shape=note"));
  assert_non_null(strstr(text, "shape=ellipse"));
  assert_non_null(strstr(text, "label=\"y\\nfloat32 [2]\", shape=house"));
  assert_non_null(strstr(text, "label=\"sub\\nsum \\\\ here\""));
  assert_non_null(strstr(text, "[label=\"b\"]"));
  free(text);
  pto_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_operation_is_in_the_graph_of_this_test),
      cmocka_unit_test(test_what_is_saved_loads_as_the_same_graph_in_every_form),
      cmocka_unit_test(test_saving_what_was_saved_gives_the_same_bytes),
      cmocka_unit_test(test_bits_of_floats_survive),
      cmocka_unit_test(test_all_integers_of_64_bits_survive),
      cmocka_unit_test(test_names_that_are_made_up_avoid_those_that_are_given),
      cmocka_unit_test(test_large_constants_go_to_a_file_beside_it),
      cmocka_unit_test(test_paths_of_weights_may_be_given),
      cmocka_unit_test(test_what_cannot_be_written_is_said),
      cmocka_unit_test(test_files_that_could_not_be_written_to_their_end_are_removed),
      cmocka_unit_test(test_what_is_no_regular_file_stays_when_nothing_can_be_written_to_it),
      cmocka_unit_test(test_a_picture_tells_inputs_constants_intermediates_and_outputs_apart),
  };
  return cmocka_run_group_tests(tests, test_folder_open, test_folder_close);
}
