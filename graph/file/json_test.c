/* SPDX-License-Identifier: MIT */
/* The public calls on files: each allocation failing in turn, and options of other sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/file/json.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/test_folder.h>

static const char *const forms[] = {"g.json", "g.webnn"};
static const char *graph_name = "g.json"; /* of forms: what load and save are about */
static char sentence[1024];

static struct pto_graph *build(void) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {3}};
  const float data[] = {1, 2, 3};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &desc);
  const struct pto_graph_operand c = pto_graph_builder_constant(b, &desc, data, sizeof data);
  const struct pto_graph_options label = {"sum"};
  struct pto_graph_operand y = pto_graph_builder_add(b, x, c, &label);
  const struct pto_slice_options slice = {.starts = PTO_U32_LIST(1), .sizes = PTO_U32_LIST(2)};
  y = pto_graph_builder_slice(b, y, &slice);
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 0, "n"), PTO_OK);
  const struct pto_graph_output output = {"y", y};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

/* Calls `act` with the first, second, … allocation failing, until none does. */
static void fail_each_allocation(int (*act)(void *context), void *context) {
#if PTO_HAS_FAILING_MALLOC
  uint32_t failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    const int64_t before = live_blocks;
    sentence[0] = '\0';
    fail_countdown = failures + 1;
    const int status = act(context);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    if (live_blocks != before)
      fail_msg("allocation %u: %lld blocks are left", failures, (long long)(live_blocks - before));
    if (status != PTO_OK && sentence[0] == '\0') fail_msg("allocation %u: no sentence", failures);
    if (is_done && status != PTO_OK) fail_msg("%s", sentence);
  }
  assert_true(failures > 1);
#endif
}

static int load(void *context) {
  struct pto_graph *graph = NULL;
  const int status = pto_graph_load(NULL, path_of(graph_name), NULL, &graph, sentence, sizeof sentence);
  assert_true((status == PTO_OK) == (graph != NULL));
  pto_graph_destroy(graph);
  return status;
}

struct saving {
  struct pto_graph *graph;
  uint32_t weights;
};

static int save(void *context) {
  const struct saving *saving = context;
  const struct pto_graph_file_options options = {.size = sizeof options, .weights = saving->weights};
  return pto_graph_save(saving->graph, path_of(graph_name), &options, sentence, sizeof sentence);
}

static int draw(void *context) { return pto_graph_save_dot(context, path_of("g.dot"), sentence, sizeof sentence); }

static void test_each_allocation_of_load_and_save_may_fail(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  struct saving saving = {build(), PTO_GRAPH_WEIGHTS_DEFAULT};
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    graph_name = forms[i];
    for (saving.weights = PTO_GRAPH_WEIGHTS_DEFAULT; saving.weights <= PTO_GRAPH_WEIGHTS_MANIFEST; saving.weights++) {
      fail_each_allocation(save, &saving);
      assert_int_equal(save(&saving), PTO_OK);
      fail_each_allocation(load, NULL);
    }
  }
  graph_name = forms[0];
  pto_graph_destroy(saving.graph);
}

static void test_each_allocation_of_a_picture_may_fail(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  struct pto_graph *graph = build();
  fail_each_allocation(draw, graph);
  pto_graph_destroy(graph);
}

static int load_bad(void *name) {
  struct pto_graph *graph = NULL;
  const int status = pto_graph_load(NULL, path_of(name), NULL, &graph, sentence, sizeof sentence);
  assert_null(graph);
  /* What it ends in is a refusal, or no memory. */
  return status == PTO_OK ? PTO_EINVAL : PTO_OK;
}

/* Every rule of the text form before the circle. */
static void test_each_allocation_of_a_refusal_may_fail(void **state) {
  static const char *const bad[][2] = {
      {"bad.json",
       "{\"format\": \"webnn-graph-json\", \"version\": 2, \"inputs\": {\"x\": {\"dataType\": \"float32\", \"shape\": "
       "[2]}}, \"nodes\": [{\"id\": \"a\", \"op\": \"add\", \"inputs\": [\"x\", \"b\"]}, {\"id\": \"b\", \"op\": "
       "\"abs\", \"inputs\": [\"a\"]}], \"outputs\": {\"y\": \"b\"}}"},
      {"bad.webnn", "webnn_graph \"g\" v2 @quantized { #: weights data=\"d\", manifest=\"m\"\n inputs { x: f32[2]; } "
                    "consts { \"o p\": "
                    "u8[2] @bytes([1, 2]); s: f32[] @scalar(0.5); w: u64[] @scalar(18446744073709551615); v: i4[1] "
                    "@weights(\"v\"); } "
                    "nodes { a = add(x, b); [c, d] = split(x, splits=[1, 1], axis=0, label=null, t=true); b = abs(a); "
                    "} outputs { y = "
                    "b; a } }"}};
  if (!PTO_HAS_FAILING_MALLOC) skip();
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    FILE *file = fopen(path_of(bad[i][0]), "w");
    assert_non_null(file);
    fputs(bad[i][1], file);
    fclose(file);
    fail_each_allocation(load_bad, (void *)(uintptr_t)bad[i][0]);
    if (i == 0) assert_non_null(strstr(sentence, "circle"));
  }
}

static void test_options_of_an_earlier_or_unknown_library_are_told_apart(void **state) {
  struct pto_graph *graph = build();
  struct pto_graph_file_options options = {.size = offsetof(struct pto_graph_file_options, manifest_path)};
  assert_int_equal(pto_graph_save(graph, path_of("g.json"), &options, sentence, sizeof sentence), PTO_OK);
  struct {
    struct pto_graph_file_options options;
    uint64_t later; /* a field that this library does not know */
  } longer = {.options.size = sizeof longer};
  assert_int_equal(pto_graph_save(graph, path_of("g.json"), &longer.options, sentence, sizeof sentence), PTO_OK);
  longer.later = 1;
  assert_int_equal(pto_graph_save(graph, path_of("g.json"), &longer.options, sentence, sizeof sentence), PTO_EINVAL);
  options.size = 0;
  assert_int_equal(pto_graph_save(graph, path_of("g.json"), &options, NULL, 0), PTO_EINVAL);
  assert_int_equal(pto_graph_save(NULL, path_of("g.json"), NULL, sentence, sizeof sentence), PTO_EINVAL);
  assert_int_equal(pto_graph_load(NULL, NULL, NULL, &graph, sentence, sizeof sentence), PTO_EINVAL);
  assert_int_equal(pto_graph_save_dot(graph, "/nowhere/g.dot", sentence, sizeof sentence), PTO_ESYSTEM);
  assert_non_null(strstr(sentence, "/nowhere/g.dot"));
  pto_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_allocation_of_load_and_save_may_fail),
      cmocka_unit_test(test_each_allocation_of_a_picture_may_fail),
      cmocka_unit_test(test_each_allocation_of_a_refusal_may_fail),
      cmocka_unit_test(test_options_of_an_earlier_or_unknown_library_are_told_apart),
  };
  return cmocka_run_group_tests(tests, test_folder_open, test_folder_close);
}
