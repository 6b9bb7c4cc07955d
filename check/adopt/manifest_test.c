/* SPDX-License-Identifier: MIT */
/*
 * Manifests: what a good one is read as, and that each kind of mistake is one sentence with file, place and what was
 * expected.
 */
#include <check/adopt/manifest.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pto/kernel.h>
#include <pto/program.h>

/* ' stands for ". */
static const char good[] =
    "{'format': 'pto-adopted', 'version': 1, 'name': 'TestAdd/Case1', 'scene': 'test_add.py', 'architecture': 'a2a3',\n"
    " 'mode': 'tensormap_and_ringbuffer', 'judge': 'golden', 'rtol': 0.001, 'atol': 0.5, 'window': 64,\n"
    " 'heap_bytes': 2048, 'list_chunks': 7, 'clusters': 8, 'workers': 72,\n"
    " 'orchestration': {'source': 'orchestration/add.cpp', 'entry': 'build', 'includes': ['/usr/include']},\n"
    " 'kernels': [{'func_id': 3, 'core': 'aiv', 'source': 'kernels/add.cpp', 'includes': ['a', 'b']},\n"
    "             {'func_id': 3, 'core': 'aic', 'name': 'mul', 'source': 'kernels/mul.cpp'}],\n"
    " 'tensors': [{'name': 'x', 'direction': 'in', 'dtype': 'bf16', 'shape': [4, 8], 'bytes': 'x.bin'},\n"
    "             {'name': 'q', 'direction': 'inout', 'dtype': 'fp8e4m3fn', 'shape': [16]},\n"
    "             {'name': 'y', 'direction': 'out', 'dtype': 'float32', 'shape': [4], 'golden': '/data/y.bin'}],\n"
    " 'scalars': [{'name': 's', 'bits': '0xfFff000000000001'}]}\n";

/* The good one with `from` replaced by `to`. */
static int read_changed(const char *from, const char *to, struct pto_adopted *adopted, struct pto_error *error) {
  char text[sizeof good + 256];
  const char *at = strstr(good, from);
  assert_non_null(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
  for (char *c = text; *c; c++)
    if (*c == '\'') *c = '"';
  return pto_adopted_read_memory("folder/m.json", text, strlen(text), adopted, error);
}

static void test_good(void **state) {
  struct pto_adopted adopted;
  struct pto_error error;
  char path[64];
  assert_int_equal(read_changed("", "", &adopted, &error), PTO_OK);
  assert_string_equal(adopted.name, "TestAdd/Case1");
  assert_string_equal(adopted.entry, "build");
  assert_string_equal(adopted.architecture, "a2a3");
  assert_null(adopted.chip);
  assert_int_equal(adopted.mode, PTO_ADOPTED_TRB);
  assert_int_equal(adopted.judge, PTO_ADOPTED_BY_GOLDEN);
  assert_int_equal(adopted.orchestration.include_count, 1);
  assert_int_equal(adopted.kernel_count, 2);
  assert_int_equal(adopted.kernels[0].core, PTO_AIV);
  assert_string_equal(adopted.kernels[0].name, "kernels/add.cpp");
  assert_string_equal(adopted.kernels[0].source.includes[1], "b");
  assert_string_equal(adopted.kernels[1].name, "mul");
  assert_int_equal(adopted.tensor_count, 3);
  assert_int_equal(adopted.tensors[0].role, PTO_ARRAY_INPUT);
  assert_int_equal(adopted.tensors[0].size_bytes, 64);
  assert_int_equal(adopted.tensors[1].dtype, PTO_UINT8);
  assert_int_equal(adopted.tensors[1].role, PTO_ARRAY_INOUT);
  assert_int_equal(adopted.tensors[2].role, PTO_ARRAY_OUTPUT);
  assert_true(adopted.scalars[0].bits == UINT64_C(0xffff000000000001));
  assert_false(adopted.scalars[0].is_rank);
  assert_int_equal(adopted.window, 64);
  assert_int_equal(adopted.heap_bytes, 2048);
  assert_int_equal(adopted.list_chunks, 7);
  assert_int_equal(adopted.clusters, 8);
  assert_int_equal(adopted.workers, 72);
  assert_true(adopted.rtol == 0.001 && adopted.atol == 0.5);
  assert_true(pto_adopted_path(&adopted, adopted.tensors[0].bytes_path, path, sizeof path));
  assert_string_equal(path, "folder/x.bin");
  assert_true(pto_adopted_path(&adopted, adopted.tensors[2].golden_path, path, sizeof path));
  assert_string_equal(path, "/data/y.bin");
  assert_false(pto_adopted_path(&adopted, adopted.tensors[0].bytes_path, path, 8));
  pto_adopted_fini(&adopted);
}

static void test_mistakes(void **state) {
  static const struct {
    const char *from, *to, *sentence;
  } mistakes[] = {
      {"'version': 1", "'version': 2",
       "folder/m.json: is \"pto-adopted\" version 2, expected \"pto-adopted\" version 1"},
      {"'a2a3'", "'a4'", "folder/m.json: \"architecture\" is \"a4\", expected one of a2a3, a5"},
      {"'tensormap_and_ringbuffer'", "'trb'",
       "folder/m.json: \"mode\" is \"trb\", expected one of tensormap_and_ringbuffer, host_build_graph"},
      {"'entry': 'build'", "'entry': ''", "folder/m.json: orchestration: \"entry\" is empty"},
      {"'entry': 'build', ", "", "folder/m.json: orchestration: \"entry\" is missing"},
      {"'core': 'aic'", "'core': 'cube'", "folder/m.json: kernels[1]: \"core\" is \"cube\", expected one of aic, aiv"},
      {"'core': 'aic'", "'core': 'aiv'", "folder/m.json: kernels[1]: func_id 3 is that of kernels[0] too"},
      {"'name': 'y'", "'name': 'x'", "folder/m.json: tensors[2]: \"x\" is the name of tensors[0] too"},
      {"'bf16'", "'int4'",
       "folder/m.json: tensors[0]: \"dtype\" is \"int4\", expected a type of whole bytes, such as f32 or i64"},
      {"[4, 8]", "[]", "folder/m.json: tensors[0]: \"shape\" is empty"},
      {"[4, 8]", "[4294967295, 4294967295]", "folder/m.json: tensors[0]: \"shape\" has more than 70368744177664 bytes"},
      {"'direction': 'out'", "'direction': 'in'",
       "folder/m.json: tensors[2]: \"golden\" is given and the tensor is no output"},
      {"'float32'", "'fp4e2m1'",
       "folder/m.json: tensors[2]: \"golden\" is given and fp4e2m1 has no tolerance; \"judge\" must be \"test\""},
      {"'0xfFff000000000001'", "'0x10000000000000000'",
       "folder/m.json: scalars[0]: \"bits\" is \"0x10000000000000000\", expected 0x and 1 to 16 hexadecimal digits, or "
       "rank"},
      {"'0xfFff000000000001'", "'12'",
       "folder/m.json: scalars[0]: \"bits\" is \"12\", expected 0x and 1 to 16 hexadecimal digits, or rank"},
      {"'golden': '/data/y.bin'", "'bytes': 'y.bin'",
       "folder/m.json: \"judge\" is \"golden\", expected a \"golden\" of at least one tensor"},
      {"'judge': 'golden'", "'judge': 'test'",
       "folder/m.json: a tensor has a \"golden\", expected \"judge\" to be \"golden\""},
      {"'window': 64", "'window': 63", "folder/m.json: \"window\" is 63, expected a power of two"},
      {"'heap_bytes': 2048", "'heap_bytes': 2049",
       "folder/m.json: \"heap_bytes\" is 2049, expected a multiple of 1024"},
      {"'rtol': 0.001", "'rtol': -1", "folder/m.json: a tolerance is below 0"},
      {"['a', 'b']", "['a', 7]", "folder/m.json: kernels[0]: \"includes\" holds no path at 1"},
  };
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    struct pto_adopted adopted;
    struct pto_error error;
    assert_int_equal(read_changed(mistakes[i].from, mistakes[i].to, &adopted, &error), PTO_EINVAL);
    assert_string_equal(error.sentence, mistakes[i].sentence);
    assert_null(adopted.root);
  }
}

static void test_no_file(void **state) {
  struct pto_adopted adopted;
  struct pto_error error;
  assert_int_equal(pto_adopted_read("/nowhere/m.json", &adopted, &error), PTO_ESYSTEM);
  assert_string_equal(error.sentence, "/nowhere/m.json: No such file or directory");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_mistakes),
                                     cmocka_unit_test(test_no_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
