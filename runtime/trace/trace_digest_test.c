/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <runtime/trace/trace_digest.h>

#define SPANS 6

static const struct pto_trace_span spans[SPANS] = {{.begin = 10, .end = 20, .task = 0, .core = 1},
                                                   {.begin = 10, .end = 20, .task = 1, .core = 2, .role = 1},
                                                   {.begin = 30, .end = 31, .task = 2, .core = 1, .block_index = 0},
                                                   {.begin = 30, .end = 31, .task = 2, .core = 2, .block_index = 1},
                                                   {.begin = 40, .end = 40, .task = 3, .core = 0},
                                                   {.begin = 41, .end = 45, .task = 4, .core = 107}};

/* The digest of `all`, span i in log i % log_count. */
static uint64_t digest(const struct pto_trace_span *all, uint32_t count, uint32_t log_count, uint64_t dropped) {
  struct pto_trace_span memory[3][SPANS];
  struct pto_trace_log logs[3];
  const struct pto_trace trace = {.spans = logs, .span_log_count = log_count};
  __builtin_memset(logs, 0, sizeof logs);
  for (uint32_t i = 0; i < 3; i++) {
    logs[i].memory.addr = memory[i];
    logs[i].record_bytes = sizeof(struct pto_trace_span);
    logs[i].capacity = SPANS;
  }
  logs[0].dropped = dropped;
  for (uint32_t i = 0; i < count; i++) memory[i % log_count][logs[i % log_count].count++] = all[i];
  return pto_trace_digest(&trace);
}

static void test_the_digest_does_not_depend_on_the_workers(void **state) {
  struct pto_trace_span other[SPANS];
  uint64_t expected = digest(spans, SPANS, 1, 0);
  assert_true(digest(spans, SPANS, 2, 0) == expected);
  assert_true(digest(spans, SPANS, 3, 0) == expected);
  for (uint32_t i = 0; i < SPANS; i++) {
    other[i] = spans[i];
    other[i].worker = (uint8_t)(i + 1);
    other[i].reserved = 77;
  }
  assert_true(digest(other, SPANS, 1, 0) == expected);
}

static void test_every_time_and_id_changes_the_digest(void **state) {
  uint64_t expected = digest(spans, SPANS, 1, 0);
  for (uint32_t i = 0; i < SPANS; i++) {
    for (uint32_t field = 0; field < 6; field++) {
      struct pto_trace_span other[SPANS];
      __builtin_memcpy(other, spans, sizeof spans);
      other[i].begin += field == 0;
      other[i].end += field == 1;
      other[i].task += field == 2;
      other[i].block_index += field == 3;
      other[i].core += field == 4;
      other[i].role += field == 5;
      assert_true(digest(other, SPANS, 1, 0) != expected);
    }
  }
  assert_true(digest(spans, SPANS - 1, 1, 0) != expected);
  assert_true(digest(spans, SPANS, 1, 1) != expected);
}

/* A span that moves to another core while a second one takes its place is another timeline. */
static void test_exchanged_cores_change_the_digest(void **state) {
  struct pto_trace_span other[SPANS];
  __builtin_memcpy(other, spans, sizeof spans);
  other[0].core = 2;
  other[1].core = 1;
  assert_true(digest(other, SPANS, 1, 0) != digest(spans, SPANS, 1, 0));
}

/* Digests are compared between machines: this constant was computed by a separate program. */
static void test_the_digest_of_a_known_timeline_is_a_constant(void **state) {
  assert_true(digest(spans, SPANS, 1, 0) == UINT64_C(0x796a2002db519be0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_digest_does_not_depend_on_the_workers),
      cmocka_unit_test(test_every_time_and_id_changes_the_digest),
      cmocka_unit_test(test_exchanged_cores_change_the_digest),
      cmocka_unit_test(test_the_digest_of_a_known_timeline_is_a_constant),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
