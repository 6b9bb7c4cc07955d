/* SPDX-License-Identifier: MIT */
/* A run without kernels, and without values in their place: what asks for one ends it, by task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/sanitizer.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static void run(int (*body)(struct pto_runtime *, struct fixture *), int status, const char *sentence) {
  memset(&fixture, 0, sizeof fixture);
  fixture.config = (struct pto_config){.engine = "virtual", .chip = "tiny", .no_compute = true};
  fixture_open(&fixture);
  fixture_run(&fixture, body, status);
  if (sentence) fixture_expect_sentence(fixture.rt, sentence);
  fixture_close(&fixture);
}

static int read_one(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_bytes(f, 0, 64);
  const uint64_t index = 0;
  uint8_t value;
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  return pto_read_element(rt, &t, &index, &value);
}
static void an_element_that_is_read_ends_the_run(void **state) {
  run(read_one, PTO_EINVAL,
      "the orchestration, before task 1 reads an element that no kernel computed: the run has no_compute and no "
      "values");
}

static int decide_by_one(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_bytes(f, 0, 64), flag = pto_tensor_slice(&t, 0, 0, 1, 1);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  FIXTURE_DO(rt, .launch = {.predicate = {&flag, PTO_IF_EQ, 0}});
  return 0;
}
static void a_predicate_ends_the_run(void **state) {
  run(decide_by_one, PTO_EINVAL, "the predicate of task 1 reads an element that no kernel computed");
}

/* Nothing is written where nothing is read. */
static int begin_with_values(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_initial initial = {.param = 0, .bits = 9};
  const struct pto_launch launch = {.no_kernel = true, .initial = &initial, .initial_count = 1};
  const struct pto_recorded_launch whole = {.size = sizeof whole};
  struct pto_recorded *recorded;
  for (int is_recorded = 0; is_recorded < 2; is_recorded++) {
    if (is_recorded) fixture_expect(rt, pto_recorded_begin(rt, NULL, 0), PTO_OK);
    const struct pto_tensor t = fixture_managed(rt, 64);
    const struct pto_param fills = pto_output(&t);
    fixture_expect(rt, pto_submit(rt, &launch, &fills, 1, NULL), PTO_OK);
    if (is_recorded) break;
    const uint8_t *bytes = (const uint8_t *)(uintptr_t)pto_buffer_registry_lookup(&rt->buffers, &t.buffer)->addr;
    for (uint32_t i = 0; i < 64 && !PTO_HAS_SANITIZER; i++) assert_int_equal(bytes[i], 0); /* which may not be read */
  }
  fixture_expect(rt, pto_recorded_end(rt, &recorded), PTO_OK);
  fixture_expect(rt, pto_submit_recorded(rt, recorded, &whole, NULL), PTO_OK);
  pto_recorded_destroy(recorded);
  return 0;
}
static void memory_begins_with_no_value(void **state) { run(begin_with_values, PTO_OK, NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_element_that_is_read_ends_the_run),
      cmocka_unit_test(a_predicate_ends_the_run),
      cmocka_unit_test(memory_begins_with_no_value),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
