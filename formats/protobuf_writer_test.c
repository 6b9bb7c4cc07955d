/* SPDX-License-Identifier: MIT */
/* Tests of the protobuf writer: the bytes of the format's own examples, and whatever it writes read back. */
#include <formats/protobuf_writer.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct pto_protobuf_writer writer;
static FILE *file;
static uint8_t *bytes;
static size_t count;

static struct pto_protobuf_writer *start(void) {
  file = tmpfile();
  assert_non_null(file);
  pto_protobuf_init(&writer, fileno(file));
  return &writer;
}

/* What has been written, in `bytes`, which the caller frees. */
static void finish(void) {
  assert_int_equal(pto_protobuf_finish(&writer), 0);
  fseek(file, 0, SEEK_END);
  count = (size_t)ftell(file);
  rewind(file);
  bytes = malloc(count + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, count, file), count);
  fclose(file);
}

static void assert_bytes(const char *expected, size_t expected_count) {
  finish();
  assert_int_equal(count, expected_count);
  assert_memory_equal(bytes, expected, expected_count);
  free(bytes);
}

/* Examples of protobuf.dev/programming-guides/encoding. */
static void test_a_varint_is_seven_bits_a_byte_the_lowest_first(void **state) {
  pto_protobuf_put_u64(start(), 1, 150);
  assert_bytes("\x08\x96\x01", 3);
}

static void test_text_has_its_length(void **state) {
  pto_protobuf_put_text(start(), 2, "testing");
  assert_bytes("\x12\x07testing", 9);
}

static void test_a_message_in_a_message_has_its_length(void **state) {
  struct pto_protobuf_writer *w = start();
  pto_protobuf_begin(w, 3);
  pto_protobuf_put_u64(w, 1, 150);
  pto_protobuf_end(w);
  assert_bytes("\x1a\x03\x08\x96\x01", 5);
}

static void test_packed_items_have_no_tags(void **state) {
  struct pto_protobuf_writer *w = start();
  pto_protobuf_begin(w, 6);
  pto_protobuf_put_packed(w, 3);
  pto_protobuf_put_packed(w, 270);
  pto_protobuf_put_packed(w, 86942);
  pto_protobuf_end(w);
  assert_bytes("\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8);
}

static void test_eight_bytes_come_the_lowest_first(void **state) {
  pto_protobuf_put_fixed64(start(), 47, UINT64_C(0x0102030405060708));
  assert_bytes("\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01", 10);
  pto_protobuf_put_double(start(), 5, 1.5);
  assert_bytes("\x29\x00\x00\x00\x00\x00\x00\xf8\x3f", 9);
}

static void test_a_message_of_a_file_has_a_length_and_no_number(void **state) {
  struct pto_protobuf_writer *w = start();
  pto_protobuf_begin_delimited(w);
  pto_protobuf_end(w);
  pto_protobuf_begin_delimited(w);
  pto_protobuf_put_u64(w, 1, 1);
  pto_protobuf_end(w);
  assert_bytes("\x00\x02\x08\x01", 4);
}

static void test_bytes_that_are_no_utf8_are_latin_1(void **state) {
  pto_protobuf_put_text(start(), 1, "a\xe4\xc3\xa4");
  assert_bytes("\x0a\x05"
               "a\xc3\xa4\xc3\xa4",
               7);
}

static uint64_t read_varint(const uint8_t **at, const uint8_t *end) {
  uint64_t value = 0;
  for (uint32_t shift = 0; *at < end; shift += 7) {
    const uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail_msg("a varint ends in the middle");
  return 0;
}

/* Messages around text of `length`, at depths 1 to 4: each length field is as long as it has to be. */
static void test_lengths_of_any_size_are_right_at_every_depth(void **state) {
  for (size_t length = 0; length < 3000000; length = length < 300 ? length + 1 : 3 * length + 7) {
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, 'x', length);
    text[length] = '\0';
    struct pto_protobuf_writer *w = start();
    for (uint32_t field = 1; field <= 3; field++) pto_protobuf_begin(w, field);
    pto_protobuf_put_text(w, 4, text);
    for (uint32_t field = 1; field <= 3; field++) pto_protobuf_end(w);
    pto_protobuf_put_u64(w, 5, UINT64_MAX);
    finish();
    const uint8_t *at = bytes, *end = bytes + count;
    for (uint32_t field = 1; field <= 4; field++) {
      assert_int_equal(read_varint(&at, end), field << 3 | 2);
      const uint64_t inner = read_varint(&at, end);
      assert_int_equal(at + inner, end - 11); /* what follows: a tag and ten bytes */
    }
    assert_memory_equal(at, text, length);
    at += length;
    assert_int_equal(read_varint(&at, end), 5 << 3);
    assert_true(read_varint(&at, end) == UINT64_MAX);
    assert_true(at == end);
    free(bytes);
    free(text);
  }
}

static void test_many_messages_come_through_in_order(void **state) {
  struct pto_protobuf_writer *w = start();
  for (uint64_t i = 0; i < 300000; i++) {
    pto_protobuf_begin(w, 1);
    pto_protobuf_put_u64(w, 1, i * i * i);
    pto_protobuf_end(w);
  }
  finish();
  const uint8_t *at = bytes, *end = bytes + count;
  for (uint64_t i = 0; i < 300000; i++) {
    assert_int_equal(read_varint(&at, end), 10);
    const uint8_t *next = at + 1;
    next += *at++;
    assert_int_equal(read_varint(&at, end), 8);
    assert_true(read_varint(&at, end) == i * i * i);
    assert_true(at == next);
  }
  assert_true(at == end);
  free(bytes);
}

static void test_a_failed_write_is_told_once_at_the_end(void **state) {
  const int fd = open("/dev/full", O_WRONLY);
  if (fd < 0) skip();
  pto_protobuf_init(&writer, fd);
  for (uint32_t i = 0; i < 500000; i++) {
    pto_protobuf_begin(&writer, 1);
    pto_protobuf_put_text(&writer, 1, "text");
    pto_protobuf_end(&writer);
  }
  assert_int_equal(pto_protobuf_finish(&writer), ENOSPC);
  close(fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_varint_is_seven_bits_a_byte_the_lowest_first),
      cmocka_unit_test(test_text_has_its_length),
      cmocka_unit_test(test_a_message_in_a_message_has_its_length),
      cmocka_unit_test(test_packed_items_have_no_tags),
      cmocka_unit_test(test_eight_bytes_come_the_lowest_first),
      cmocka_unit_test(test_a_message_of_a_file_has_a_length_and_no_number),
      cmocka_unit_test(test_bytes_that_are_no_utf8_are_latin_1),
      cmocka_unit_test(test_lengths_of_any_size_are_right_at_every_depth),
      cmocka_unit_test(test_many_messages_come_through_in_order),
      cmocka_unit_test(test_a_failed_write_is_told_once_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
