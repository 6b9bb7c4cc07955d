/* SPDX-License-Identifier: MIT */
/* `ptosim graph` from outside. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <formats/npy.h>
#include <tests/support/ptosim_child.h>

#define ALL "tests/fuzz/corpus/graph_json_fuzz/all_operations.json"
#define SMALL_GPT2 "--model gpt2 --set layers=2 --set width=32 --set heads=4 --set window=8 --set vocabulary=50"

/* y = relu(x + 1), z = −x. */
static const char *write_graph(void) {
  const char *path = pto_ptosim_path("graph.json");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"format\": \"webnn-graph-json\", \"version\": 1,\n"
        " \"inputs\": {\"x\": {\"dataType\": \"float32\", \"shape\": [2, 2]}},\n"
        " \"consts\": {\"one\": {\"dataType\": \"float32\", \"shape\": [], \"init\": {\"kind\": \"scalar\", \"value\": "
        "1}}},\n"
        " \"nodes\": [{\"id\": \"sum\", \"op\": \"add\", \"inputs\": [\"x\", \"one\"]},\n"
        "  {\"id\": \"y\", \"op\": \"relu\", \"inputs\": [\"sum\"]}, {\"id\": \"z\", \"op\": \"neg\", \"inputs\": "
        "[\"x\"]}],\n"
        " \"outputs\": {\"y\": \"y\", \"z/1\": \"z\"}}\n",
        file);
  fclose(file);
  return path;
}

static void test_the_summary_has_inputs_outputs_constants_and_nodes(void **state) {
  assert_int_equal(pto_ptosim_run("graph %s", write_graph()), 0);
  pto_ptosim_assert_ok();
  assert_non_null(strstr(pto_ptosim_last.out, "inputs     x                                float32 [2, 2]"));
  assert_non_null(strstr(pto_ptosim_last.out, "constants  1, 4 bytes"));
  assert_non_null(strstr(pto_ptosim_last.out, "nodes      3: neg 1, relu 1, add 1"));
}

static void test_operands_that_are_alike_take_one_line_and_the_verdict_comes_first(void **state) {
  assert_int_equal(pto_ptosim_run("graph --model llama --set layers=3 --run --compare reference"), 0);
  pto_ptosim_assert_ok();
  const char *out = pto_ptosim_last.out;
  assert_ptr_equal(strstr(out, "compared   within tolerance: at worst "), out);
  assert_non_null(strstr(out, "past_key0 to past_key2 (3) "));
  assert_non_null(strstr(out, "value0 to value2 (3) "));
  assert_null(strstr(out, "past_key1 "));
  assert_non_null(strstr(out, "logits "));
}

static void test_the_json_is_one_object(void **state) {
  assert_int_equal(pto_ptosim_run("graph %s --run --json -", write_graph()), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal(pto_json_integer(root, "nodes"), 3);
  assert_int_equal(pto_json_integer(root, "exit"), 0);
  assert_int_equal(json_array_size(json_object_get(root, "outputs")), 2);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "ops"), "relu")), 1);
  assert_string_equal(pto_json_text(root, "engine"), "threads");
  assert_string_equal(pto_json_text(root, "chip"), "tiny");
  assert_int_equal(pto_json_integer(root, "tasks"), 3);
  assert_int_equal(pto_json_integer(root, "edges"), 1);
  assert_int_equal(pto_json_integer(root, "h2d_bytes"), 16 + 4);
  assert_int_equal(pto_json_integer(root, "d2h_bytes"), 32);
  assert_int_equal(pto_json_integer(root, "d2d_bytes"), 0);
  assert_true(json_is_null(json_object_get(root, "virtual_us")));
  json_decref(root);
}

static void test_engines_and_workers_give_the_same_bytes(void **state) {
  static const char *const on[] = {"threads --workers 1", "threads --workers 3 --window 64", "virtual --chip a2a3",
                                   "virtual --heap 16M"};
  char digest[20] = "";
  for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
    assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --run --json - --engine %s", on[i]), 0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    if (i == 0) snprintf(digest, sizeof digest, "%s", pto_json_text(root, "output_digest"));
    assert_string_equal(pto_json_text(root, "output_digest"), digest);
    assert_int_equal(json_is_null(json_object_get(root, "virtual_us")), i < 2);
    json_decref(root);
  }
}

/* Small, from the file that --save has written: on both engines each node is what the reference makes of the same
 * operands, and the outputs are those of the reference. */
static void test_saved_models_on_the_chip_are_those_of_the_reference(void **state) {
  static const char *const models[] = {
      SMALL_GPT2,
      "--model llama --set layers=2 --set width=32 --set hidden=48 --set heads=4 --set kv_heads=2 --set window=8 "
      "--set vocabulary=50",
      "--model qwen3_layer --set width=32 --set hidden=48 --set heads=4 --set kv_heads=2 --set head_width=8 --set "
      "page=4 --set pages=8 --set table=2",
      "--model mobilenet_v2 --set size=32"};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    const char *path = pto_ptosim_path("model.json");
    assert_int_equal(pto_ptosim_run("graph %s --save %s --quiet", models[i], path), 0);
    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
      const int code = pto_ptosim_run("graph %s --run --compare reference --json - --engine %s", path,
                                      is_virtual ? "virtual --chip a2a3" : "threads");
      if (code) fail_msg("%s: %s", models[i], pto_ptosim_last.out);
      json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *compared = json_object_get(root, "compared");
      assert_int_equal(pto_json_integer(compared, "nodes") + pto_json_integer(compared, "fused_nodes"),
                       pto_json_integer(root, "nodes"));
      assert_true(json_number_value(json_object_get(compared, "end_error")) < 1e-5);
      json_decref(root);
    }
  }
}

static void test_a_run_that_fails_is_no_bad_argument(void **state) {
  pto_ptosim_run("graph " SMALL_GPT2 " --run --window 4");
  assert_int_equal(pto_ptosim_last.exit_code, 3);
  pto_ptosim_run("graph " SMALL_GPT2 " --run --chip nowhere");
  assert_int_equal(pto_ptosim_last.exit_code, 2);
}

static void test_a_run_reads_inputs_and_writes_outputs(void **state) {
  const uint64_t shape[] = {2, 2};
  const float x[] = {-2, 0, 1, -1}, want[] = {0, 1, 2, 0};
  float got[4];
  struct pto_error error;
  struct pto_npy npy;
  char input[400], dir[400], path[800];
  snprintf(input, sizeof input, "%s", pto_ptosim_path("x.npy"));
  snprintf(dir, sizeof dir, "%s", pto_ptosim_path("results"));
  assert_int_equal(pto_npy_write(input, PTO_FLOAT32, 2, shape, x, &error), PTO_OK);
  assert_int_equal(pto_ptosim_run("graph %s --run --input x=%s --output-dir %s", write_graph(), input, dir), 0);
  snprintf(path, sizeof path, "%s/y.npy", dir);
  if (pto_npy_read(path, &npy, &error)) fail_msg("%s", error.sentence);
  assert_int_equal(pto_npy_copy(&npy, PTO_FLOAT32, got, &error), PTO_OK);
  assert_memory_equal(got, want, sizeof want);
  pto_npy_fini(&npy);
  /* A letter that a file name may not have. */
  snprintf(path, sizeof path, "%s/z%%2F1.npy", dir);
  if (pto_npy_read(path, &npy, &error)) fail_msg("%s", error.sentence);
  pto_npy_fini(&npy);
}

static void test_inputs_that_no_file_gives_come_from_the_seed(void **state) {
  char *texts[3];
  for (int i = 0; i < 3; i++) {
    assert_int_equal(pto_ptosim_run("graph %s --run --seed %d", write_graph(), i / 2), 0);
    const char *results = strstr(pto_ptosim_last.out, "result "); /* without the times */
    assert_non_null(results);
    texts[i] = strdup(results);
  }
  assert_string_equal(texts[0], texts[1]);
  assert_string_not_equal(texts[0], texts[2]);
  for (int i = 0; i < 3; i++) free(texts[i]);
}

static void test_validate_says_whether_a_file_is_valid(void **state) {
  assert_int_equal(pto_ptosim_run("graph %s --validate", ALL), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "valid      120 nodes, 17 inputs, 126 outputs"));
  const char *path = pto_ptosim_path("broken.json");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(
      "{\"format\": \"webnn-graph-json\", \"version\": 1, \"inputs\": {}, \"nodes\": [{\"id\": \"a\", \"op\": \"abs\","
      " \"inputs\": [\"q\"]}], \"outputs\": {\"y\": \"a\"}}",
      file);
  fclose(file);
  pto_ptosim_run("graph %s --validate", path);
  pto_ptosim_assert_complaint(2, "nodes[0] \"a\": there is no \"q\"");
}

static void test_every_operation_runs_on_every_engine(void **state) {
  static const char *const engines[] = {"reference", "threads", "virtual"};
  for (int i = 0; i < 3; i++)
    assert_int_equal(pto_ptosim_run("graph %s --run --quiet --engine %s", ALL, engines[i]), 0);
}

static void test_a_copy_in_every_form_is_the_same_graph(void **state) {
  static const char *const forms[] = {"inline", "safetensors", "manifest"};
  char first[400], second[400];
  snprintf(first, sizeof first, "%s", pto_ptosim_path("first.json"));
  snprintf(second, sizeof second, "%s", pto_ptosim_path("second.json"));
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --save %s --save-weights %s --quiet", first, forms[i]), 0);
    assert_int_equal(pto_ptosim_run("graph %s --save %s --save-weights inline --quiet", first, second), 0);
    char *copy = pto_ptosim_read_file(second);
    assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --save %s --save-weights inline --quiet", second), 0);
    char *model = pto_ptosim_read_file(second);
    assert_string_equal(copy, model);
    free(copy);
    free(model);
  }
}

static void test_a_picture_goes_to_a_file_or_standard_output(void **state) {
  assert_int_equal(pto_ptosim_run("graph %s --dot -", write_graph()), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "digraph graph_of_operations {"));
  assert_null(strstr(pto_ptosim_last.out, "constants"));
  assert_int_equal(pto_ptosim_run("graph %s --dot %s", write_graph(), pto_ptosim_path("graph.dot")), 0);
  char *text = pto_ptosim_read_file(pto_ptosim_path("graph.dot"));
  assert_non_null(strstr(text, "shape=house"));
  free(text);
}

static void test_the_reference_does_not_differ_from_itself(void **state) {
  assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --compare reference --engine reference --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *compared = json_object_get(root, "compared");
  assert_int_equal(pto_json_integer(compared, "nodes"), pto_json_integer(root, "nodes"));
  assert_int_equal(pto_json_integer(compared, "diverging_elements"), 0);
  assert_true(json_is_null(json_object_get(compared, "first")));
  json_decref(root);
}

/* With no tolerance rounding is a divergence. */
static void test_the_first_divergence_of_a_lowered_run_is_told_with_its_tensors(void **state) {
  char dir[400];
  snprintf(dir, sizeof dir, "%s", pto_ptosim_path("divergence"));
  assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2
                                  " --compare reference --first-divergence --rtol 0 --atol 0 --json "
                                  "- --output-dir %s",
                                  dir),
                   1);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *compared = json_object_get(root, "compared"),
         *first = json_object_get(compared, "first");
  assert_int_equal(pto_json_integer(compared, "diverging_nodes"), 1);
  assert_int_equal(pto_json_integer(compared, "nodes") + pto_json_integer(compared, "fused_nodes"),
                   pto_json_integer(first, "node") + 1);
  assert_true(json_number_value(json_object_get(first, "ulps")) >= 1);
  uint32_t counts[3] = {0};
  static const char *const endings[] = {".operand.npy", ".reference.npy", ".engine.npy"};
  DIR *folder = opendir(dir);
  assert_non_null(folder);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
    for (int i = 0; i < 3; i++) counts[i] += strstr(entry->d_name, endings[i]) != NULL;
  closedir(folder);
  assert_true(counts[0] >= 1);
  assert_int_equal(counts[1], 1);
  assert_int_equal(counts[2], 1);
  json_decref(root);
}

/* a [64, 64] × b [64, 32], then a view of it: the costs of a matmul and of nothing. */
static void test_explain_tells_what_each_node_costs_and_what_bounds_it(void **state) {
  const char *path = pto_ptosim_path("product.json");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("{\"format\": \"webnn-graph-json\", \"version\": 1,\n"
        " \"inputs\": {\"a\": {\"dataType\": \"float32\", \"shape\": [64, 64]},\n"
        "  \"b\": {\"dataType\": \"float32\", \"shape\": [64, 32]}}, \"consts\": {},\n"
        " \"nodes\": [{\"id\": \"p\", \"op\": \"matmul\", \"inputs\": [\"a\", \"b\"]},\n"
        "  {\"id\": \"t\", \"op\": \"transpose\", \"inputs\": [\"p\"]},\n"
        "  {\"id\": \"y\", \"op\": \"abs\", \"inputs\": [\"t\"]}],\n"
        " \"outputs\": {\"y\": \"y\"}}\n",
        file);
  fclose(file);
  assert_int_equal(pto_ptosim_run("graph %s --explain --json -", path), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *explained = json_object_get(root, "explained"),
         *nodes = json_object_get(explained, "nodes"), *product = json_array_get(nodes, 0);
  assert_int_equal(json_array_size(nodes), 3);
  assert_string_equal(pto_json_text(explained, "chip"), "tiny");
  assert_string_equal(pto_json_text(product, "op"), "matmul");
  assert_string_equal(pto_json_text(product, "form"), "kernel");
  assert_string_equal(pto_json_text(json_array_get(json_object_get(product, "kernels"), 0), "name"), "matmul");
  assert_int_equal(pto_json_integer(product, "multiply_adds"), 64 * 64 * 32);
  assert_int_equal(pto_json_integer(product, "bytes_out"), 64 * 32 * 4);
  /* The tiny chip's cube does one a picosecond, its memory a byte in ten: (64 · 64 + 64 · 32 + 64 · 32) · 4 bytes. */
  assert_string_equal(pto_json_text(product, "bound"), "memory");
  if (pto_json_integer(product, "tasks") == 1)
    assert_true(json_number_value(json_object_get(product, "core_us")) == 0.32768);
  assert_string_equal(pto_json_text(json_array_get(nodes, 1), "form"), "view");
  assert_string_equal(pto_json_text(json_array_get(nodes, 1), "bound"), "nothing");
  json_decref(root);
}

static void test_explained_tasks_are_those_of_a_run(void **state) {
  assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --explain --run --engine virtual --chip a2a3 --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *explained = json_object_get(root, "explained"), *node;
  json_int_t tasks = 0;
  size_t i;
  json_array_foreach(json_object_get(explained, "nodes"), i, node) {
    json_int_t of_kernels = 0;
    json_t *kernel;
    size_t k;
    json_array_foreach(json_object_get(node, "kernels"), k, kernel) of_kernels += pto_json_integer(kernel, "tasks");
    assert_int_equal(of_kernels, pto_json_integer(node, "tasks"));
    tasks += of_kernels;
  }
  assert_int_equal(tasks, pto_json_integer(explained, "tasks"));
  assert_int_equal(tasks + pto_json_integer(explained, "memory_tasks"), pto_json_integer(root, "tasks"));
  json_decref(root);
  assert_int_equal(pto_ptosim_run("graph " SMALL_GPT2 " --explain"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "layerNormalization"));
}

#define SMALL_LLAMA "--model llama --set layers=1 --set width=64 --set hidden=96 --set heads=4 --set kv_heads=2"

static void test_explain_tells_groups_at_their_last_nodes_and_no_fusion_has_none(void **state) {
  json_int_t tasks[2] = {0};
  for (int is_unfused = 0; is_unfused < 2; is_unfused++) {
    assert_int_equal(pto_ptosim_run("graph " SMALL_LLAMA "%s --explain --json -", is_unfused ? " --no-fusion" : ""), 0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *explained = json_object_get(root, "explained"), *node;
    json_int_t inside = 0, of_groups = 0;
    size_t i;
    json_array_foreach(json_object_get(explained, "nodes"), i, node) {
      const json_t *list = json_object_get(node, "fused_nodes");
      of_groups += (json_int_t)json_array_size(list);
      if (list != NULL) {
        assert_non_null(pto_json_text(node, "fused"));
        assert_true(pto_json_integer(node, "tasks") > 0);
        assert_int_equal(json_integer_value(json_array_get(list, json_array_size(list) - 1)), i);
        inside--;
      }
      if (strcmp(pto_json_text(node, "form"), "inside") != 0) continue;
      inside++;
      assert_int_equal(pto_json_integer(node, "tasks"), 0);
      assert_true(pto_json_integer(node, "done_by") > (json_int_t)i);
    }
    tasks[is_unfused] = pto_json_integer(explained, "tasks");
    assert_true(is_unfused ? of_groups == 0 && inside == 0 : of_groups > 0 && inside > 0);
    json_decref(root);
  }
  assert_true(tasks[0] < tasks[1]);
  assert_int_equal(pto_ptosim_run("graph " SMALL_LLAMA " --explain"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "; fused: rms_norm of nodes "));
  assert_non_null(strstr(pto_ptosim_last.out, "; fused: attention of nodes "));
  assert_non_null(strstr(pto_ptosim_last.out, "(done by node "));
}

static void test_a_graph_agrees_with_the_reference_with_and_without_fusion(void **state) {
  for (int is_unfused = 0; is_unfused < 2; is_unfused++) {
    assert_int_equal(
        pto_ptosim_run("graph " SMALL_LLAMA " --run --compare reference --json -%s", is_unfused ? " --no-fusion" : ""),
        0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *compared = json_object_get(root, "compared");
    assert_true((pto_json_integer(compared, "fused_nodes") == 0) == is_unfused);
    assert_int_equal(pto_json_integer(compared, "nodes") + pto_json_integer(compared, "fused_nodes"),
                     pto_json_integer(root, "nodes"));
    json_decref(root);
  }
}

static void test_what_is_wrong_is_said_in_a_sentence(void **state) {
  static const struct {
    const char *words, *part;
  } rows[] = {
      {"graph", "one FILE, or --model NAME"},
      {"graph a.json b.json", "one FILE"},
      {"graph a.json --model gpt2", "one FILE"},
      {"graph /nowhere.json", "/nowhere.json: No such file"},
      {"graph --model gpt3", "did you mean \"gpt2\"?"},
      {"graph --model gpt2 --set depth=3", "no option \"depth\""},
      {"graph --model gpt2 --set layers=0", "no number from 1 to 48"},
      {"graph --model gpt2 --set width=65 --set heads=2", "no multiple of the heads"},
      {"graph " ALL " --set layers=1", "it has no open sizes, which --set would give"},
      {"graph " ALL " --input x=a.npy", "--input is for --run"},
      {"graph " ALL " --run --input q=a.npy", "no input called \"q\""},
      {"graph " ALL " --run --input x=/nowhere.npy", "/nowhere.npy"},
      {"graph " ALL " --output-dir d", "--output-dir is for --run"},
      {"graph " ALL " --save-weights inline", "--save-weights is for --save"},
      {"graph " ALL " --save -", "--save needs a file"},
      {"graph " ALL " --save a --save-weights zip", "none of inline, safetensors, manifest"},
      {"graph " ALL " --run --engine fast", "none of reference, threads, virtual"},
      {"graph " ALL " --no-fusion", "--no-fusion is for --run"},
      {"graph " ALL " --chip-set submit=1", "--chip-set and --workers are for --run, --compare or --explain"},
      {"graph " ALL " --compare golden", "\"golden\" is not reference"},
      {"graph " ALL " --first-divergence", "is for --compare reference"},
      {"graph " ALL " --rounds 8", "--rounds is for `ptosim run`"},
      {"graph " ALL " --validate --run", "--validate does nothing else"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    pto_ptosim_run("%s", rows[i].words);
    pto_ptosim_assert_complaint(2, rows[i].part);
  }
}

static void test_an_input_of_another_shape_is_refused(void **state) {
  const uint64_t shape[] = {4};
  const float x[] = {1, 2, 3, 4};
  struct pto_error error;
  char input[400];
  snprintf(input, sizeof input, "%s", pto_ptosim_path("flat.npy"));
  assert_int_equal(pto_npy_write(input, PTO_FLOAT32, 1, shape, x, &error), PTO_OK);
  pto_ptosim_run("graph %s --run --input x=%s", write_graph(), input);
  pto_ptosim_assert_complaint(2, "x is f32[2,2] and");
  pto_ptosim_run("graph %s --run --input x=%s --input x=%s", write_graph(), input, input);
  assert_int_equal(pto_ptosim_last.exit_code, 2);
}

static void test_files_that_cannot_be_written_are_failures(void **state) {
  pto_ptosim_run("graph %s --save /nowhere/a.json", write_graph());
  pto_ptosim_assert_complaint(3, "/nowhere/a.json");
  pto_ptosim_run("graph %s --run --output-dir /nowhere/deep", write_graph());
  pto_ptosim_assert_complaint(3, "/nowhere/deep");
}

static void test_operations_are_listed_with_their_operands(void **state) {
  assert_int_equal(pto_ptosim_run("list ops"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, " input filter [bias] | padding strides dilations groups"));
  assert_int_equal(pto_ptosim_run("list ops gemm"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "of a's dtype, rank 0 to 2, optional"));
  pto_ptosim_run("list ops gem");
  pto_ptosim_assert_complaint(2, "no operation is called \"gem\"");
}

static void test_models_are_listed_with_their_options(void **state) {
  assert_int_equal(pto_ptosim_run("list models"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "mobilenet_v2 "));
  assert_int_equal(pto_ptosim_run("list models gpt2"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "--set layers=12"));
  pto_ptosim_run("list models gpt3");
  pto_ptosim_assert_complaint(2, "no model is called \"gpt3\"");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_summary_has_inputs_outputs_constants_and_nodes),
      cmocka_unit_test(test_operands_that_are_alike_take_one_line_and_the_verdict_comes_first),
      cmocka_unit_test(test_the_json_is_one_object),
      cmocka_unit_test(test_engines_and_workers_give_the_same_bytes),
      cmocka_unit_test(test_saved_models_on_the_chip_are_those_of_the_reference),
      cmocka_unit_test(test_a_run_that_fails_is_no_bad_argument),
      cmocka_unit_test(test_a_run_reads_inputs_and_writes_outputs),
      cmocka_unit_test(test_inputs_that_no_file_gives_come_from_the_seed),
      cmocka_unit_test(test_validate_says_whether_a_file_is_valid),
      cmocka_unit_test(test_every_operation_runs_on_every_engine),
      cmocka_unit_test(test_a_copy_in_every_form_is_the_same_graph),
      cmocka_unit_test(test_a_picture_goes_to_a_file_or_standard_output),
      cmocka_unit_test(test_the_reference_does_not_differ_from_itself),
      cmocka_unit_test(test_the_first_divergence_of_a_lowered_run_is_told_with_its_tensors),
      cmocka_unit_test(test_explain_tells_what_each_node_costs_and_what_bounds_it),
      cmocka_unit_test(test_explained_tasks_are_those_of_a_run),
      cmocka_unit_test(test_explain_tells_groups_at_their_last_nodes_and_no_fusion_has_none),
      cmocka_unit_test(test_a_graph_agrees_with_the_reference_with_and_without_fusion),
      cmocka_unit_test(test_what_is_wrong_is_said_in_a_sentence),
      cmocka_unit_test(test_an_input_of_another_shape_is_refused),
      cmocka_unit_test(test_files_that_cannot_be_written_are_failures),
      cmocka_unit_test(test_operations_are_listed_with_their_operands),
      cmocka_unit_test(test_models_are_listed_with_their_options),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
