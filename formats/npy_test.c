/* SPDX-License-Identifier: MIT */
/* Tests of .npy files: bytes as NumPy writes them, round trips of every dtype, and hostile input. */
#include <formats/npy.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>

static char path[64];

static int make_path(void **state) {
  snprintf(path, sizeof path, "/tmp/pto_npy_test_XXXXXX");
  int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}
static int remove_path(void **state) { return unlink(path); }

/* A whole file: preamble of `major`, this dictionary, these elements. */
static size_t make_file(unsigned char *bytes, unsigned major, const char *dictionary, const void *data, size_t size) {
  size_t length = strlen(dictionary), start = major > 1 ? 12 : 10;
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = (unsigned char)major;
  bytes[7] = 0;
  memset(bytes + 8, 0, 4);
  bytes[8] = (unsigned char)(length & 255);
  bytes[9] = (unsigned char)(length >> 8);
  memcpy(bytes + start, dictionary, length);
  if (size) memcpy(bytes + start + length, data, size);
  return start + length + size;
}

static void put_file(const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static int read_file(unsigned major, const char *dictionary, const void *data, size_t size, struct pto_npy *npy,
                     struct pto_error *error) {
  unsigned char bytes[4096];
  put_file(bytes, make_file(bytes, major, dictionary, data, size));
  return pto_npy_read(path, npy, error);
}

/* The file is refused with this status and a sentence that holds `part` and the path. */
static void assert_refused(const char *dictionary, size_t data_bytes, int status, const char *part) {
  static const unsigned char zeros[256];
  struct pto_npy npy = {0};
  struct pto_error error = {0};
  assert_int_equal(read_file(1, dictionary, zeros, data_bytes, &npy, &error), status);
  if (!strstr(error.sentence, part) || !strstr(error.sentence, path))
    fail_msg("\"%s\" does not say \"%s\" and \"%s\"", error.sentence, part, path);
  assert_null(npy.data);
}

static void test_a_file_as_numpy_writes_it_is_read(void **state) {
  const float data[6] = {1, 2, 3, 4, 5, -0.5f};
  for (unsigned major = 1; major <= 3; major++) {
    struct pto_npy npy;
    struct pto_error error;
    assert_int_equal(
        read_file(major,
                  "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                  \n",
                  data, sizeof data, &npy, &error),
        PTO_OK);
    assert_int_equal(npy.ndims, 2);
    assert_int_equal(npy.shape[0], 2);
    assert_int_equal(npy.shape[1], 3);
    assert_int_equal(npy.numel, 6);
    assert_int_equal(npy.size_bytes, 24);
    assert_true(pto_npy_holds(&npy, PTO_FLOAT32));
    assert_false(pto_npy_holds(&npy, PTO_INT32));
    assert_memory_equal(npy.data, data, sizeof data);
    assert_true(pto_npy_get(&npy, PTO_FLOAT32, 5) == -0.5);
    pto_npy_fini(&npy);
  }
}

static void test_keys_may_come_in_any_order_and_quotes_be_double(void **state) {
  struct pto_npy npy;
  struct pto_error error;
  assert_int_equal(
      read_file(1, "{\"shape\":(2,),\"fortran_order\":True,\"descr\":\"|i1\"}", "\x07\xff", 2, &npy, &error), PTO_OK);
  assert_true(pto_npy_get(&npy, PTO_INT8, 1) == -1);
  pto_npy_fini(&npy);
  assert_int_equal(read_file(1, "{'descr':'<f8','fortran_order':False,'shape':()}", &(double){2.5}, 8, &npy, &error),
                   PTO_OK);
  assert_int_equal(npy.ndims, 0);
  assert_int_equal(npy.numel, 1);
  assert_true(pto_npy_get(&npy, PTO_FLOAT32, 0) == 2.5);
  pto_npy_fini(&npy);
}

static void test_every_dtype_comes_back_bit_for_bit(void **state) {
  const uint64_t shape[3] = {3, 1, 5};
  struct pto_rng rng = {20};
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    unsigned char data[15 * 8] = {0}, back[15 * 8] = {0};
    size_t size = (15 * pto_dtype_bits(dtype) + 7) / 8;
    for (size_t i = 0; i < size; i++) data[i] = (unsigned char)pto_rng_next(&rng);
    if (pto_dtype_bits(dtype) == 4) data[size - 1] &= 15; /* 15 elements: the last byte holds one */
    struct pto_error error;
    struct pto_npy npy;
    assert_int_equal(pto_npy_write(path, dtype, 3, shape, data, &error), PTO_OK);
    assert_int_equal(pto_npy_read(path, &npy, &error), PTO_OK);
    assert_int_equal(npy.ndims, 3);
    assert_memory_equal(npy.shape, shape, sizeof shape);
    assert_true(pto_npy_holds(&npy, dtype));
    assert_int_equal(pto_npy_copy(&npy, dtype, back, &error), PTO_OK);
    assert_memory_equal(back, data, sizeof data);
    pto_npy_fini(&npy);
  }
}

static void test_the_written_header_is_what_numpy_expects(void **state) {
  struct pto_error error;
  unsigned char bytes[256];
  assert_int_equal(pto_npy_write(path, PTO_BFLOAT16, 1, (const uint64_t[]){2}, "\x80\x3f\x00\x40", &error), PTO_OK);
  FILE *file = fopen(path, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_int_equal(size, 128 + 4);
  assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }", 66);
  assert_int_equal(bytes[127], '\n');
  assert_int_equal(bytes[126], ' ');
}

static void test_bf16_is_read_from_its_bits_under_both_names(void **state) {
  const uint16_t bits[2] = {0x3f80, 0xc000};
  const char *const types[] = {"<u2", "<V2", "|V2"};
  for (size_t i = 0; i < 3; i++) {
    char dictionary[96];
    struct pto_npy npy;
    struct pto_error error;
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (2,)}", types[i]);
    assert_int_equal(read_file(1, dictionary, bits, sizeof bits, &npy, &error), PTO_OK);
    assert_true(pto_npy_get(&npy, PTO_BFLOAT16, 1) == -2.0);
    assert_true(pto_npy_holds(&npy, PTO_UINT16) == (i == 0));
    pto_npy_fini(&npy);
  }
}

/* 1, of each format; ml_dtypes writes them as bytes of no kind. */
static void test_small_floats_are_read_from_their_codes_under_both_names(void **state) {
  static const uint32_t dtypes[] = {PTO_FLOAT8_E4M3FN, PTO_FLOAT8_E5M2, PTO_FLOAT8_E8M0FNU, PTO_FLOAT4_E2M1FN};
  const char *const types[] = {"|u1", "|V1"};
  for (size_t i = 0; i < 2; i++) {
    char dictionary[96];
    uint8_t codes[4] = {0x38, 0x3c, 0x7f, 0x02}, packed[2];
    struct pto_npy npy;
    struct pto_error error;
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (4,)}", types[i]);
    assert_int_equal(read_file(1, dictionary, codes, sizeof codes, &npy, &error), PTO_OK);
    for (uint64_t k = 0; k < 4; k++) assert_true(pto_npy_get(&npy, dtypes[k], k) == 1.0);
    assert_true(pto_npy_holds(&npy, PTO_UINT8) == (i == 0));
    assert_false(pto_npy_holds(&npy, PTO_BFLOAT16));
    assert_int_equal(pto_npy_copy(&npy, PTO_FLOAT4_E2M1FN, packed, &error), PTO_EINVAL);
    assert_non_null(strstr(error.sentence, "element 0 is 56"));
    pto_npy_fini(&npy);
  }
}

static void test_numbers_of_every_kind_are_read_as_goldens(void **state) {
  static const struct {
    const char *descr, *bytes;
    size_t size;
    double value;
  } rows[] = {
      {"<f2", "\x00\xc2", 2, -3.0},
      {"<f4", "\x00\x00\x40\xc0", 4, -3.0},
      {"<f8", "\0\0\0\0\0\0\x08\xc0", 8, -3.0},
      {"|i1", "\xfd", 1, -3.0},
      {"<i2", "\xfd\xff", 2, -3.0},
      {"<i4", "\xfd\xff\xff\xff", 4, -3.0},
      {"<i8", "\xfd\xff\xff\xff\xff\xff\xff\xff", 8, -3.0},
      {"|u1", "\xfd", 1, 253.0},
      {"<u2", "\xfd\xff", 2, 65533.0},
      {"<u4", "\xfd\xff\xff\xff", 4, 4294967293.0},
      {"<u8", "\0\0\0\0\0\0\0\x80", 8, 0x1p63},
      {"|b1", "\x01", 1, 1.0},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    char dictionary[96];
    struct pto_npy npy;
    struct pto_error error;
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (1,)}", rows[i].descr);
    assert_int_equal(read_file(1, dictionary, rows[i].bytes, rows[i].size, &npy, &error), PTO_OK);
    assert_true(pto_npy_get(&npy, PTO_FLOAT32, 0) == rows[i].value);
    pto_npy_fini(&npy);
  }
}

static void test_four_bit_types_refuse_what_does_not_fit(void **state) {
  struct pto_npy npy;
  struct pto_error error;
  uint8_t packed[1];
  assert_int_equal(read_file(1, "{'descr': '|i1', 'fortran_order': False, 'shape': (2,)}", "\xf8\x07", 2, &npy, &error),
                   PTO_OK);
  assert_int_equal(pto_npy_copy(&npy, PTO_INT4, packed, &error), PTO_OK);
  assert_int_equal(packed[0], 0x78);
  ((uint8_t *)npy.data)[1] = 8;
  assert_int_equal(pto_npy_copy(&npy, PTO_INT4, packed, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "element 1 is 8"));
  assert_int_equal(pto_npy_copy(&npy, PTO_FLOAT32, packed, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "|i1[2]"));
  pto_npy_fini(&npy);
}

static void test_an_empty_array_has_no_bytes(void **state) {
  struct pto_npy npy;
  struct pto_error error;
  assert_int_equal(pto_npy_write(path, PTO_FLOAT32, 2, (const uint64_t[]){0, 7}, NULL, &error), PTO_OK);
  assert_int_equal(pto_npy_read(path, &npy, &error), PTO_OK);
  assert_int_equal(npy.numel, 0);
  assert_int_equal(npy.shape[1], 7);
  assert_int_equal(pto_npy_copy(&npy, PTO_FLOAT32, NULL, &error), PTO_OK);
  pto_npy_fini(&npy);
}

static void test_what_we_have_no_use_for_is_refused_with_the_reason(void **state) {
#define DICT(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape "}"
  assert_refused(DICT("'>f4'", "False", "(2,)"), 8, PTO_EINVAL, "big-endian");
  assert_refused(DICT("'<f4'", "True", "(2, 2)"), 16, PTO_EINVAL, "Fortran");
  assert_refused(DICT("'|O'", "False", "(2,)"), 16, PTO_EINVAL, "'|O'");
  assert_refused(DICT("'<c8'", "False", "(2,)"), 16, PTO_EINVAL, "'<c8'");
  assert_refused(DICT("'<f16'", "False", "(2,)"), 32, PTO_EINVAL, "'<f16'");
  assert_refused(DICT("[('a', '<f4')]", "False", "(2,)"), 8, PTO_EINVAL, "records");
  assert_refused(DICT("'<f4'", "Maybe", "(2,)"), 8, PTO_EINVAL, "fortran_order");
  assert_refused(DICT("'<f4'", "False", "(2,-1)"), 8, PTO_EINVAL, "shape");
  assert_refused(DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4, PTO_EINVAL, "8 dimensions");
  assert_refused(DICT("'<f4'", "False", "(4294967296, 4294967296)"), 4, PTO_EINVAL, "exceed");
  assert_refused(DICT("'<f4'", "False", "(9223372036854775808, 9223372036854775808, 0)"), 0, PTO_EINVAL, "exceed");
  assert_refused(DICT("'<f4'", "False", "(99999999999999999999)"), 0, PTO_EINVAL, "64-bit");
  assert_refused(DICT("'<f4'", "False", "(2,)"), 7, PTO_EINVAL, "7 bytes of elements instead of 8");
  assert_refused(DICT("'<f4'", "False", "(2,)"), 9, PTO_EINVAL, "goes on after");
  assert_refused(DICT("'<f4'", "False", "(1000000000000000,)"), 9, PTO_EINVAL, "9 bytes of elements");
  assert_refused("{'descr': '<f4', 'shape': (2,)}", 8, PTO_EINVAL, "missing");
  assert_refused("{'descr': '<f4', 'descr': '<f4'}", 8, PTO_EINVAL, "twice");
  assert_refused("{'extra': 1}", 8, PTO_EINVAL, "other than");
  assert_refused("{'descr': '<f4", 0, PTO_EINVAL, "descr");
  assert_refused("", 0, PTO_EINVAL, "no dictionary");
}

static void test_a_missing_file_is_named(void **state) {
  struct pto_npy npy;
  struct pto_error error;
  assert_int_equal(pto_npy_read("/nonexistent/x.npy", &npy, &error), PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "/nonexistent/x.npy"));
  assert_int_equal(pto_npy_write("/nonexistent/x.npy", PTO_INT8, 0, NULL, "", &error), PTO_ESYSTEM);
  assert_int_equal(pto_npy_write(path, 99, 0, NULL, "", &error), PTO_EINVAL);
}

static void test_a_full_disk_is_noticed(void **state) {
  static const float data[8192];
  struct pto_error error;
  if (access("/dev/full", W_OK) != 0) skip();
  assert_int_equal(pto_npy_write("/dev/full", PTO_FLOAT32, 1, (const uint64_t[]){8192}, data, &error), PTO_ESYSTEM);
  assert_int_equal(pto_npy_write("/dev/full", PTO_FLOAT32, 1, (const uint64_t[]){1}, data, &error), PTO_ESYSTEM);
}

static void test_no_prefix_of_a_file_is_a_file(void **state) {
  unsigned char bytes[256];
  size_t size = make_file(bytes, 2, "{'descr': '<i2', 'fortran_order': False, 'shape': (3, 1)}\n", "abcdef", 6);
  for (size_t length = 0; length < size; length++) {
    struct pto_npy npy = {0};
    struct pto_error error;
    put_file(bytes, length);
    assert_int_equal(pto_npy_read(path, &npy, &error), PTO_EINVAL);
  }
}

/* The oracle is the sanitizer, and the promise of the header: sizes agree with shapes. */
static void test_changed_bytes_never_harm(void **state) {
  const uint64_t seed = 7;
  struct pto_rng rng = {seed};
  print_message("seed %llu\n", (unsigned long long)seed);
  for (int round = 0; round < 20000; round++) {
    unsigned char bytes[256];
    size_t size =
        make_file(bytes, 1 + round % 3u, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n", "", 0);
    for (uint64_t changes = 1 + pto_rng_below(&rng, 4); changes; changes--)
      bytes[pto_rng_below(&rng, size)] = (unsigned char)pto_rng_next(&rng);
    struct pto_npy npy;
    struct pto_error error;
    size_t header_bytes;
    unsigned char *exact = malloc(size);
    memcpy(exact, bytes, size);
    if (pto_npy_parse_header(exact, size, &npy, &header_bytes, &error) == PTO_OK) {
      uint64_t numel = 1;
      for (uint32_t i = 0; i < npy.ndims; i++) numel *= npy.shape[i];
      assert_int_equal(npy.numel, numel);
      assert_int_equal(npy.size_bytes, numel * npy.item_bytes);
      assert_true(header_bytes <= size);
    }
    free(exact);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_file_as_numpy_writes_it_is_read),
      cmocka_unit_test(test_keys_may_come_in_any_order_and_quotes_be_double),
      cmocka_unit_test(test_every_dtype_comes_back_bit_for_bit),
      cmocka_unit_test(test_the_written_header_is_what_numpy_expects),
      cmocka_unit_test(test_bf16_is_read_from_its_bits_under_both_names),
      cmocka_unit_test(test_small_floats_are_read_from_their_codes_under_both_names),
      cmocka_unit_test(test_numbers_of_every_kind_are_read_as_goldens),
      cmocka_unit_test(test_four_bit_types_refuse_what_does_not_fit),
      cmocka_unit_test(test_an_empty_array_has_no_bytes),
      cmocka_unit_test(test_what_we_have_no_use_for_is_refused_with_the_reason),
      cmocka_unit_test(test_a_missing_file_is_named),
      cmocka_unit_test(test_a_full_disk_is_noticed),
      cmocka_unit_test(test_no_prefix_of_a_file_is_a_file),
      cmocka_unit_test(test_changed_bytes_never_harm),
  };
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
