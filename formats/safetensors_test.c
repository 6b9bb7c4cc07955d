/* SPDX-License-Identifier: MIT */
#include <formats/safetensors.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/temporary_path.h>

static struct {
  unsigned char bytes[8192];
  uint64_t size;
} file;
static struct pto_safetensors list;
static struct pto_error error;

/* A file of this header and `data_bytes` of data, 0, 1, 2, …. */
static void make(const char *header, uint64_t data_bytes) {
  const uint64_t length = strlen(header);
  memcpy(file.bytes, &length, 8);
  memcpy(file.bytes + 8, header, length);
  for (uint64_t i = 0; i < data_bytes; i++) file.bytes[8 + length + i] = (unsigned char)i;
  file.size = 8 + length + data_bytes;
}

static void refused(const char *part) {
  error = (struct pto_error){0};
  assert_int_equal(pto_safetensors_init_memory(&list, "a file", file.bytes, file.size, &error), PTO_EINVAL);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, part);
  assert_memory_equal(error.sentence, "a file: ", 8);
  assert_null(list.tensors);
  assert_null(list.header);
}

static void open_it(void) {
  if (pto_safetensors_init_memory(&list, "a file", file.bytes, file.size, &error)) fail_msg("%s", error.sentence);
}

#define ENTRY(dtype, shape, begin, end)                                                                                \
  "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static void test_tensors_are_found_by_name_with_shape_and_data(void **state) {
  make(
      "{\"__metadata__\":{\"format\":\"pt\"},\"b\":" ENTRY("F32", "[2,3]", 4, 28) ",\"a\":" ENTRY(
          "I16", "[2]", 0, 4) ",\"none\":" ENTRY("U8", "[0,7]", 28, 28) ",\"scalar\":" ENTRY("BF16", "[]", 28, 30) "} ",
      30);
  open_it();
  assert_int_equal(list.tensor_count, 4);
  for (uint64_t i = 1; i < list.tensor_count; i++)
    assert_true(strcmp(list.tensors[i - 1].name, list.tensors[i].name) < 0);
  const struct pto_safetensors_tensor *b = pto_safetensors_get(&list, "b", &error);
  assert_non_null(b);
  assert_true(b->dtype == PTO_FLOAT32 && b->ndims == 2 && b->shape[0] == 2 && b->shape[1] == 3 && b->size_bytes == 24);
  assert_int_equal(*(const unsigned char *)b->data, 4);
  const struct pto_safetensors_tensor *scalar = pto_safetensors_find(&list, "scalar");
  assert_true(scalar && scalar->dtype == PTO_BFLOAT16 && scalar->ndims == 0 && scalar->size_bytes == 2);
  assert_int_equal(pto_safetensors_find(&list, "none")->size_bytes, 0);
  assert_null(pto_safetensors_find(&list, "c"));
  assert_null(pto_safetensors_find(&list, "__metadata__"));
  pto_safetensors_fini(&list);
}

static void test_an_unknown_dtype_is_an_error_for_who_asks_for_it_alone(void **state) {
  make("{\"x\":" ENTRY("F6_E2M3", "[4]", 0, 3) ",\"y\":" ENTRY("F64", "[1]", 3, 11) "}", 11);
  open_it();
  assert_int_equal(pto_safetensors_find(&list, "x")->dtype, PTO_SAFETENSORS_NO_DTYPE);
  assert_null(pto_safetensors_get(&list, "x", &error));
  assert_string_equal(error.sentence, "tensor \"x\" is of F6_E2M3, which is none of our dtypes");
  assert_null(pto_safetensors_get(&list, "y", &error));
  assert_null(pto_safetensors_get(&list, "z", &error));
  assert_string_equal(error.sentence, "there is no tensor \"z\"");
  pto_safetensors_fini(&list);
}

static void test_a_file_without_tensors_is_one(void **state) {
  make("{}", 0);
  open_it();
  assert_int_equal(list.tensor_count, 0);
  assert_null(pto_safetensors_find(&list, "x"));
  pto_safetensors_fini(&list);
}

static void test_headers_that_cannot_be_are_refused(void **state) {
  static const struct {
    uint64_t length, size;
    const char *part;
  } lengths[] = {{2, 7, "7 bytes cannot hold the length"},
                 {3, 10, "cut: a header of 3 bytes in 2"},
                 {0, 10, "does not begin with a brace"},
                 {UINT64_MAX, 10, "a header of 18446744073709551615 bytes, at most 8388608"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(lengths); i++) {
    make("{}", 0);
    memcpy(file.bytes, &lengths[i].length, 8);
    file.size = lengths[i].size;
    refused(lengths[i].part);
  }
  make("[]", 0);
  refused("byte 8: the header does not begin with a brace");
  make(" {}", 0);
  refused("brace");
  make("{\"a\":", 0);
  refused("line 1, column 5");
  make("{}{}", 0);
  refused("end of file expected");
  make("{\"__metadata__\":[]}", 0);
  refused("__metadata__: is no object");
  make("{\"__metadata__\":{\"a\":1}}", 0);
  refused("__metadata__: \"a\" is no string");
}

static void test_tensors_that_cannot_be_are_refused_by_name(void **state) {
  static const struct {
    const char *entry, *part;
    uint64_t data_bytes;
  } cases[] = {
      {"7", "is no object", 0},
      {"{\"dtype\":\"U8\",\"shape\":[]}", "\"data_offsets\" is missing", 0},
      {"{\"dtype\":\"U8\",\"data_offsets\":[0,1]}", "\"shape\" is missing", 1},
      {"{\"shape\":[],\"data_offsets\":[0,1]}", "\"dtype\" is missing", 1},
      {"{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0]}", "\"data_offsets\" has 1 items", 1},
      {ENTRY("U8", "[1,1,1,1,1,1,1,1,1]", 0, 1), "\"shape\" has 9 items, at most 8", 1},
      {ENTRY("U8", "[-1]", 0, 1), "\"shape\" holds no whole number", 1},
      {ENTRY("U8", "[1.5]", 0, 1), "\"shape\" holds no whole number", 1},
      {ENTRY("U8", "[1]", 1, 0), "data_offsets 1 to 0 of 1 bytes", 1},
      {ENTRY("U8", "[3]", 0, 3), "data_offsets 0 to 3 of 2 bytes", 2},
      {ENTRY("U8", "[1]", 0, 9223372036854775807), "of 1 bytes", 1},
      {ENTRY("U8", "[1]", 0, 9223372036854775808), "big", 1},
      {ENTRY("F32", "[3]", 0, 8), "F32 of its shape has 12 bytes, its data_offsets hold 8", 8},
      {ENTRY("F64", "[1]", 0, 4), "F64 of its shape has 8 bytes", 4},
      {ENTRY("F32", "[4294967296,4294967296]", 0, 0), "more bits than a file can", 0},
      {ENTRY("F32", "[4611686018427387904,0]", 0, 0), "more bits than a file can", 0},
      {ENTRY("F32", "[4294967296,536870912]", 0, 0), "more bits than a file can", 0}, /* 2^64 bytes, which is 0 */
      {ENTRY("I4", "[4611686018427387903]", 0, 0), "more bits than a file can", 0},   /* 2^64 - 4 bits */
      {ENTRY("U8", "[1]", 1, 2), "begin at 1, beyond where those before end, at 0", 2},
      {ENTRY("U8", "[1]", 0, 1), "2 bytes follow the last tensor, which ends at 1", 3},
      {ENTRY("U8", "[1]", 0, 1) ",\"y\":" ENTRY("U8", "[1]", 0, 1), "begin at 0, before those before end, at 1", 1},
      {ENTRY("U8", "[2]", 0, 2) ",\"y\":" ENTRY("U8", "[2]", 1, 3), "begin at 1, before", 3},
      {ENTRY("U8", "[1]", 0, 1) ",\"y\":" ENTRY("U8", "[1]", 2, 3), "begin at 2, beyond where", 3},
      {ENTRY("U8", "[1]", 0, 1) ",\"x\":" ENTRY("U8", "[1]", 1, 2), "duplicate", 2},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    char header[512];
    snprintf(header, sizeof header, "{\"x\":%s}", cases[i].entry);
    make(header, cases[i].data_bytes);
    refused(cases[i].part);
  }
}

static void test_deep_headers_are_refused(void **state) {
  char header[6000] = "{\"x\":";
  memset(header + 5, '[', 5000);
  make(header, 0);
  refused("maximum parsing depth");
}

static const float floats[3] = {1, 2, 3};
static const uint8_t bytes[3] = {7, 8, 9};
static const struct pto_safetensors_tensor written[] = {
    {.name = "bytes", .dtype = PTO_UINT8, .ndims = 1, .shape = {3}, .data = bytes},
    {.name = "floats", .dtype = PTO_FLOAT32, .ndims = 2, .shape = {3, 1}, .data = floats},
    {.name = "nibbles é", .dtype = PTO_INT4, .ndims = 1, .shape = {3}, .data = bytes},
    {.name = "nothing", .dtype = PTO_INT64, .ndims = 2, .shape = {0, 4}},
};

static void test_what_is_written_is_read_again_and_aligned(void **state) {
  char path[TEMPORARY_PATH_BYTES];
  temporary_path(path, "safetensors_test");
  if (pto_safetensors_write(path, written, PTO_ARRAY_LENGTH(written), &error)) fail_msg("%s", error.sentence);
  if (pto_safetensors_init(&list, path, &error)) fail_msg("%s", error.sentence);
  unlink(path);
  assert_int_equal(list.tensor_count, PTO_ARRAY_LENGTH(written));
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(written); i++) {
    const struct pto_safetensors_tensor *want = &written[i], *got = pto_safetensors_get(&list, want->name, &error);
    assert_non_null(got);
    assert_true(got->dtype == want->dtype && got->ndims == want->ndims);
    assert_memory_equal(got->shape, want->shape, sizeof got->shape);
    assert_int_equal((uintptr_t)got->data % pto_dtype_size((uint32_t)got->dtype), 0);
    if (got->size_bytes) assert_memory_equal(got->data, want->data, got->size_bytes);
  }
  pto_safetensors_fini(&list);
}

static void test_every_dtype_is_written_and_read(void **state) {
  static const uint64_t data[2];
  char path[TEMPORARY_PATH_BYTES];
  temporary_path(path, "safetensors_test");
  for (int dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    const struct pto_safetensors_tensor one = {.name = "x", .dtype = dtype, .ndims = 1, .shape = {2}, .data = data};
    if (pto_safetensors_write(path, &one, 1, &error)) fail_msg("%s", error.sentence);
    if (pto_safetensors_init(&list, path, &error)) fail_msg("%s", error.sentence);
    assert_int_equal(list.tensors[0].dtype, dtype);
    pto_safetensors_fini(&list);
  }
  unlink(path);
}

static void write_refused(const struct pto_safetensors_tensor *tensors, uint64_t count, const char *part) {
  assert_int_equal(pto_safetensors_write("nowhere/x", tensors, count, &error), PTO_EINVAL);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, part);
  assert_non_null(strstr(error.sentence, "nowhere/x"));
}

static void test_what_cannot_be_written_is_refused(void **state) {
  struct pto_safetensors_tensor two[2] = {written[0], written[0]};
  write_refused(two, 2, "\"bytes\": the name is taken");
  two[0].name = "__metadata__";
  write_refused(two, 1, "the name is taken");
  two[0].name = "\xff";
  write_refused(two, 1, "its name is no UTF-8");
  two[0] = written[0];
  two[0].dtype = PTO_DTYPE_COUNT;
  write_refused(two, 1, "dtype 18 and rank 1 cannot be written");
  two[0].dtype = PTO_INT8;
  two[0].shape[0] = UINT64_MAX;
  write_refused(two, 1, "more bits than a file can");
  assert_int_equal(pto_safetensors_write("nowhere/x", written, 1, &error), PTO_ESYSTEM);
  assert_string_equal(error.sentence, "nowhere/x: No such file or directory");
}

static void test_a_file_that_is_not_there_is_said(void **state) {
  assert_int_equal(pto_safetensors_init(&list, "no/such/file", &error), PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "no/such/file: No such file"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tensors_are_found_by_name_with_shape_and_data),
      cmocka_unit_test(test_an_unknown_dtype_is_an_error_for_who_asks_for_it_alone),
      cmocka_unit_test(test_a_file_without_tensors_is_one),
      cmocka_unit_test(test_headers_that_cannot_be_are_refused),
      cmocka_unit_test(test_tensors_that_cannot_be_are_refused_by_name),
      cmocka_unit_test(test_deep_headers_are_refused),
      cmocka_unit_test(test_what_is_written_is_read_again_and_aligned),
      cmocka_unit_test(test_every_dtype_is_written_and_read),
      cmocka_unit_test(test_what_cannot_be_written_is_refused),
      cmocka_unit_test(test_a_file_that_is_not_there_is_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
