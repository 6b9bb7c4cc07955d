/* SPDX-License-Identifier: MIT */
#include <formats/llm/gguf.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/gguf_bytes.h>
#include <tests/support/temporary_path.h>

static struct pto_gguf_bytes file;
static struct pto_gguf gguf;
static struct pto_error error;

static void begin(uint64_t tensor_count, uint64_t key_count) {
  file.size = 0;
  pto_gguf_put_head(&file, 3, tensor_count, key_count);
}

static void refused(const char *part) {
  error = (struct pto_error){0};
  assert_int_equal(pto_gguf_init_memory(&gguf, "a file", file.data, file.size, &error), PTO_EINVAL);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, part);
  assert_memory_equal(error.sentence, "a file: ", 8);
  assert_null(gguf.keys);
  assert_null(gguf.tensors);
}

static void open_it(void) {
  if (pto_gguf_init_memory(&gguf, "a file", file.data, file.size, &error)) fail_msg("%s", error.sentence);
}

static void put_value(uint32_t type, const void *value, uint64_t size) {
  char name[8];
  snprintf(name, sizeof name, "v%u", type);
  pto_gguf_put_key(&file, name, type);
  pto_gguf_put(&file, value, size);
}
#define PUT(type, value) put_value(type, &(value), sizeof(value))

static void test_values_of_every_type_are_read(void **state) {
  const uint8_t u8 = 200, truth = 1;
  const int8_t i8 = -3;
  const uint16_t u16 = 60000;
  const int16_t i16 = 300;
  const uint32_t u32 = 4000000000u;
  const int32_t i32 = -70000;
  const uint64_t u64 = UINT64_C(1) << 60;
  const int64_t i64 = INT64_MAX;
  const float f32 = 1.5f;
  const double f64 = -2.25;
  uint64_t n = 0;
  double x = 0;
  bool flag = false;
  struct pto_gguf_string text;
  begin(0, 12);
  PUT(PTO_GGUF_VALUE_U8, u8);
  PUT(PTO_GGUF_VALUE_I8, i8);
  PUT(PTO_GGUF_VALUE_U16, u16);
  PUT(PTO_GGUF_VALUE_I16, i16);
  PUT(PTO_GGUF_VALUE_U32, u32);
  PUT(PTO_GGUF_VALUE_I32, i32);
  PUT(PTO_GGUF_VALUE_F32, f32);
  PUT(PTO_GGUF_VALUE_BOOL, truth);
  pto_gguf_put_key_string(&file, "v8", "a text");
  PUT(PTO_GGUF_VALUE_U64, u64);
  PUT(PTO_GGUF_VALUE_I64, i64);
  PUT(PTO_GGUF_VALUE_F64, f64);
  open_it();
  assert_int_equal(gguf.key_count, 12);
#define IS_U64(key, wanted) assert_true(pto_gguf_u64(&gguf, key, &n, &error) == PTO_OK && n == (uint64_t)(wanted))
  IS_U64("v0", u8);
  IS_U64("v2", u16);
  IS_U64("v3", i16);
  IS_U64("v4", u32);
  IS_U64("v10", u64);
  IS_U64("v11", i64);
  IS_U64("not there", i64); /* is left alone */
  assert_int_equal(pto_gguf_u64(&gguf, "v1", &n, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "key \"v1\" is of type i8, not a whole number from 0");
  assert_int_equal(pto_gguf_u64(&gguf, "v5", &n, &error), PTO_EINVAL);
  assert_int_equal(pto_gguf_u64(&gguf, "v6", &n, &error), PTO_EINVAL);
  assert_true(pto_gguf_f64(&gguf, "v6", &x, &error) == PTO_OK && x == 1.5);
  assert_true(pto_gguf_f64(&gguf, "v12", &x, &error) == PTO_OK && x == -2.25);
  assert_int_equal(pto_gguf_f64(&gguf, "v4", &x, &error), PTO_EINVAL);
  assert_true(pto_gguf_bool(&gguf, "v7", &flag, &error) == PTO_OK && flag);
  assert_int_equal(pto_gguf_bool(&gguf, "v0", &flag, &error), PTO_EINVAL);
  assert_true(pto_gguf_string(&gguf, "v8", &text, &error) == PTO_OK && pto_gguf_string_is(text, "a text"));
  assert_false(pto_gguf_string_is(text, "a texts"));
  assert_int_equal(pto_gguf_string(&gguf, "v0", &text, &error), PTO_EINVAL);
  pto_gguf_fini(&gguf);
}

static void test_arrays_are_read_and_may_be_nested(void **state) {
  struct pto_gguf_value array = {0};
  struct pto_gguf_string text;
  begin(0, 2);
  pto_gguf_put_key_array(&file, "words", PTO_GGUF_VALUE_STRING, 3);
  pto_gguf_put_string(&file, "one");
  pto_gguf_put_string(&file, "");
  pto_gguf_put_string(&file, "three");
  pto_gguf_put_key_array(&file, "nested", PTO_GGUF_VALUE_ARRAY, 2);
  for (uint32_t i = 0; i < 2; i++) {
    pto_gguf_put_u32(&file, PTO_GGUF_VALUE_U8);
    pto_gguf_put_u64(&file, 3);
    pto_gguf_put(&file, "abc", 3);
  }
  open_it();
  assert_int_equal(pto_gguf_array(&gguf, "words", PTO_GGUF_VALUE_STRING, &array, &error), PTO_OK);
  assert_int_equal(array.count, 3);
  const unsigned char *at = pto_gguf_next_string(array.data, &text);
  assert_true(pto_gguf_string_is(text, "one"));
  at = pto_gguf_next_string(at, &text);
  assert_true(pto_gguf_string_is(text, ""));
  at = pto_gguf_next_string(at, &text);
  assert_true(pto_gguf_string_is(text, "three"));
  assert_ptr_equal(at, array.data + array.size_bytes);
  assert_int_equal(pto_gguf_array(&gguf, "words", PTO_GGUF_VALUE_F32, &array, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "key \"words\" is an array of 3 string, not an array of f32");
  assert_int_equal(pto_gguf_find(&gguf, "nested")->size_bytes, 2 * 15);
  pto_gguf_fini(&gguf);
}

static void put_f32s(const char *name, uint64_t rows, uint64_t columns, uint64_t offset) {
  pto_gguf_put_tensor(&file, name, 2, (const uint64_t[]){rows, columns}, PTO_GGUF_F32, offset);
}

static void put_zeros(uint64_t size) {
  pto_gguf_put_padding(&file, 32);
  for (uint64_t i = 0; i < size; i++) pto_gguf_put(&file, "", 1);
}

static void test_tensors_are_found_with_their_data_and_row_major_shapes(void **state) {
  char text[32];
  begin(4, 0);
  put_f32s("z", 2, 3, 96);
  pto_gguf_put_tensor(&file, "q", 2, (const uint64_t[]){2, 32}, PTO_GGUF_Q8_0, 0);
  pto_gguf_put_tensor(&file, "odd", 1, (const uint64_t[]){5}, 77, 7);
  pto_gguf_put_tensor(&file, "one", 0, NULL, PTO_GGUF_F16, 128);
  pto_gguf_put_padding(&file, 32);
  const uint64_t data = file.size;
  put_zeros(130);
  open_it();
  assert_int_equal(gguf.tensor_count, 4);
  const struct pto_gguf_tensor *z = pto_gguf_find_tensor(&gguf, "z"), *q = pto_gguf_find_tensor(&gguf, "q");
  assert_true(z && z->ndims == 2 && z->shape[0] == 2 && z->shape[1] == 3 && z->size_bytes == 24);
  assert_ptr_equal(z->data, file.data + data + 96);
  assert_true(q && q->size_bytes == 68 && q->data == file.data + data);
  const struct pto_gguf_tensor *odd = pto_gguf_find_tensor(&gguf, "odd");
  assert_true(odd && !odd->data && odd->type == 77);
  assert_string_equal(pto_gguf_type_name(odd->type, text, sizeof text), "type 77");
  assert_string_equal(pto_gguf_type_name(q->type, text, sizeof text), "Q8_0");
  assert_int_equal(pto_gguf_find_tensor(&gguf, "one")->size_bytes, 2);
  assert_null(pto_gguf_find_tensor(&gguf, "none"));
  pto_gguf_fini(&gguf);
}

static void test_data_begin_at_the_alignment_that_the_file_says(void **state) {
  begin(1, 1);
  pto_gguf_put_key_u32(&file, "general.alignment", 64);
  put_f32s("x", 1, 1, 0);
  pto_gguf_put_padding(&file, 64);
  const uint64_t data = file.size;
  pto_gguf_put(&file, "abcd", 4);
  open_it();
  assert_ptr_equal(gguf.tensors[0].data, file.data + data);
  pto_gguf_fini(&gguf);
  static const uint32_t wrong[] = {0, 4, 24, 1u << 21};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) {
    begin(0, 1);
    pto_gguf_put_key_u32(&file, "general.alignment", wrong[i]);
    refused("no power of two from 8 to 1048576");
  }
  begin(0, 1);
  pto_gguf_put_key_string(&file, "general.alignment", "32");
  refused("key \"general.alignment\" is of type string");
}

static void test_heads_that_cannot_be_are_refused(void **state) {
  begin(0, 0);
  file.data[0] = 'g';
  refused("no magic GGUF");
  file.size = 3;
  refused("no magic GGUF");
  static const struct {
    uint32_t version;
    const char *part;
  } versions[] = {{1, "byte 8: version 1, 2 and 3 are read"}, {4, "version 4"}, {3u << 24, "(a big-endian file)"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(versions); i++) {
    file.size = 0;
    pto_gguf_put_head(&file, versions[i].version, 0, 0);
    refused(versions[i].part);
  }
  begin(0, 0);
  file.size = 20;
  refused("byte 16: the file is cut: the count of keys takes 8 bytes, 4 are left");
  begin(UINT64_MAX, 0);
  refused("18446744073709551615 tensors, at most 0 are read from 0 bytes");
  begin(0, 3);
  put_zeros(20); /* and 8 before them */
  refused("3 keys, at most 2 are read");
}

/* `depth` arrays in each other, the last of one number. */
static void put_nested(uint32_t depth) {
  begin(0, 1);
  pto_gguf_put_key_array(&file, "k", depth > 1 ? PTO_GGUF_VALUE_ARRAY : PTO_GGUF_VALUE_U8, 1);
  for (uint32_t i = 2; i <= depth; i++) {
    pto_gguf_put_u32(&file, i < depth ? PTO_GGUF_VALUE_ARRAY : PTO_GGUF_VALUE_U8);
    pto_gguf_put_u64(&file, 1);
  }
  pto_gguf_put(&file, "x", 1);
}

static void test_values_that_cannot_be_are_refused_with_their_place(void **state) {
  begin(0, 1);
  pto_gguf_put_key(&file, "k", 13);
  pto_gguf_put_u64(&file, 0);
  refused("byte 37: a value of type 13, which is none");
  begin(0, 1);
  pto_gguf_put_key(&file, "k", PTO_GGUF_VALUE_BOOL);
  pto_gguf_put(&file, "\2", 1);
  refused("a bool is 2");
  begin(0, 1);
  pto_gguf_put_key(&file, "k", PTO_GGUF_VALUE_STRING);
  pto_gguf_put_u64(&file, UINT64_MAX);
  refused("a string takes 18446744073709551615 bytes, 0 are left");
  begin(0, 1);
  pto_gguf_put_key_array(&file, "k", PTO_GGUF_VALUE_U64, UINT64_MAX / 8 + 2);
  pto_gguf_put_u64(&file, 0);
  refused("2305843009213693953 values of at least 8 bytes, 8 bytes are left");
  put_nested(PTO_GGUF_MAX_DEPTH);
  open_it();
  pto_gguf_fini(&gguf);
  put_nested(PTO_GGUF_MAX_DEPTH + 1);
  refused("arrays of arrays are more than 4 deep");
  begin(0, 1);
  pto_gguf_put_key(&file, "k\n", PTO_GGUF_VALUE_U8);
  pto_gguf_put(&file, "\2", 1);
  refused("byte 24: a key of 2 bytes is not 1 to 65535 of printable ASCII");
  begin(0, 1);
  pto_gguf_put_key(&file, "", PTO_GGUF_VALUE_U8);
  pto_gguf_put(&file, "\2", 1);
  refused("a key of 0 bytes");
  begin(0, 2);
  pto_gguf_put_key_u32(&file, "k", 1);
  pto_gguf_put_key_u32(&file, "k", 1);
  refused("key \"k\": it is there twice");
}

static void test_tensors_that_cannot_be_are_refused_by_name(void **state) {
  begin(1, 0);
  pto_gguf_put_tensor(&file, "x", 5, (const uint64_t[]){1, 1, 1, 1, 1}, PTO_GGUF_F32, 0);
  refused("tensor \"x\": it has rank 5, at most 4 is read");
  begin(1, 0);
  put_f32s("x", UINT64_C(1) << 32, UINT64_C(1) << 32, 0);
  refused("tensor \"x\": its shape has more elements than a file can");
  begin(1, 0);
  put_f32s("x", 1, UINT64_C(1) << 62, 0); /* 2^64 bytes, which is 0 */
  refused("tensor \"x\": its shape has more elements than a file can");
  begin(1, 0);
  pto_gguf_put_tensor(&file, "x", 1, (const uint64_t[]){33}, PTO_GGUF_Q8_0, 0);
  refused("tensor \"x\": rows of 33 elements are no blocks of 32, as Q8_0 has them");
  begin(1, 0);
  put_f32s("x", 1, 1, 4);
  put_zeros(64);
  refused("tensor \"x\": offset 4 is no multiple of 32");
  begin(1, 0);
  put_f32s("x", 1, 2, 0);
  put_zeros(7);
  refused("tensor \"x\": 8 bytes at offset 0 of 7 bytes of data");
  begin(1, 0);
  put_f32s("x", 1, 2, UINT64_MAX - 31);
  put_zeros(7);
  refused("8 bytes at offset 18446744073709551584 of 7");
  begin(2, 0);
  put_f32s("x", 1, 9, 0);
  put_f32s("y", 1, 1, 32);
  put_zeros(64);
  refused("tensor \"y\": it begins at offset 32, before another ends, at 36");
  begin(2, 0);
  put_f32s("x", 1, 1, 0);
  put_f32s("x", 1, 1, 32);
  put_zeros(64);
  refused("tensor \"x\": it is there twice");
}

/* Every length of a good file but its own. */
static void test_a_file_cut_anywhere_is_refused(void **state) {
  begin(1, 3);
  pto_gguf_put_key_u32(&file, "a", 1);
  pto_gguf_put_key_string(&file, "b", "text");
  pto_gguf_put_key_array(&file, "c", PTO_GGUF_VALUE_STRING, 1);
  pto_gguf_put_string(&file, "x");
  put_f32s("x", 1, 2, 0);
  put_zeros(8);
  open_it();
  pto_gguf_fini(&gguf);
  const uint64_t size = file.size;
  for (uint64_t cut = 0; cut < size; cut++) {
    unsigned char *copy = malloc(cut + 1);
    assert_non_null(copy);
    memcpy(copy, file.data, cut);
    assert_int_equal(pto_gguf_init_memory(&gguf, "a file", copy, cut, &error), PTO_EINVAL);
    free(copy);
  }
}

static void test_files_are_read_by_path(void **state) {
  char path[TEMPORARY_PATH_BYTES];
  begin(0, 1);
  pto_gguf_put_key_u32(&file, "a", 1);
  temporary_path(path, "gguf_test");
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(file.data, 1, file.size, stream), file.size);
  fclose(stream);
  if (pto_gguf_init(&gguf, path, &error)) fail_msg("%s", error.sentence);
  assert_non_null(pto_gguf_find(&gguf, "a"));
  pto_gguf_fini(&gguf);
  assert_int_equal(truncate(path, 27), 0);
  assert_int_equal(pto_gguf_init(&gguf, path, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, path));
  unlink(path);
  assert_int_equal(pto_gguf_init(&gguf, path, &error), PTO_ESYSTEM);
}

static int free_file(void **state) {
  pto_gguf_bytes_fini(&file);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_of_every_type_are_read),
      cmocka_unit_test(test_arrays_are_read_and_may_be_nested),
      cmocka_unit_test(test_tensors_are_found_with_their_data_and_row_major_shapes),
      cmocka_unit_test(test_data_begin_at_the_alignment_that_the_file_says),
      cmocka_unit_test(test_heads_that_cannot_be_are_refused),
      cmocka_unit_test(test_values_that_cannot_be_are_refused_with_their_place),
      cmocka_unit_test(test_tensors_that_cannot_be_are_refused_by_name),
      cmocka_unit_test(test_a_file_cut_anywhere_is_refused),
      cmocka_unit_test(test_files_are_read_by_path),
  };
  return cmocka_run_group_tests(tests, NULL, free_file);
}
