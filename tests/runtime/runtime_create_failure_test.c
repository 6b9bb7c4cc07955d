/* SPDX-License-Identifier: MIT */
/*
 * pto_runtime_create with the 1st, 2nd, … reservation or thread refused until it succeeds: an error each time or a
 * working runtime, never a crash; leaks of memory are the sanitizer's to find, those of address space are found here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pto/runtime.h>
#include <runtime/base/reserve.h>
#include <runtime/base/sanitizer.h>
#include <runtime/base/thread.h>

#define MOST_FAILURES 400

static int submit_nothing(struct pto_runtime *rt, void *context) { return 0; }

static void timed_out(void *context, const char *sentence) {}

/* Creates with the n-th of `countdown` refused, n = 1, 2, …, until nothing was refused any more; how many were. */
static uint32_t refuse_each(uint32_t *countdown, const struct pto_config *config) {
  for (uint32_t n = 1; n < MOST_FAILURES; n++) {
    struct pto_runtime *rt = NULL;
    char sentence[256] = "";
    *countdown = n;
    int status = pto_runtime_create_explained(config, &rt, sentence, sizeof sentence);
    uint32_t left = *countdown;
    *countdown = 0;
    if (status == PTO_OK) {
      assert_non_null(rt);
      assert_int_equal(pto_run(rt, submit_nothing, NULL), PTO_OK);
      pto_runtime_destroy(rt);
    } else {
      assert_null(rt);
      assert_true(status == PTO_ENOMEM || status == PTO_ESYSTEM);
      assert_true(strlen(sentence) > 0);
    }
    if (left > 0) return n - 1;
  }
  fail_msg("no end after %d refusals", MOST_FAILURES);
  return 0;
}

static const char *const engines[] = {"threads",          "virtual", "observe",
                                      "observed virtual", "explore", "delayed threads"};

static void test_every_reservation_may_be_refused(void **state) {
  for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
    const struct pto_config config = {.size = sizeof config,
                                      .engine = engines[i],
                                      .chip = "tiny",
                                      .workers = 2,
                                      .window = 64,
                                      .record = PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE};
    assert_true(refuse_each(&pto_reserve_fail_countdown, &config) >= 5);
  }
}

static void test_every_thread_may_be_refused(void **state) {
  for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
    const struct pto_config config = {.size = sizeof config,
                                      .engine = engines[i],
                                      .chip = "a2a3",
                                      .workers = 4,
                                      .window = 64,
                                      .timeout_ms = 60000,
                                      .on_timeout = timed_out};
    assert_true(refuse_each(&pto_thread_fail_countdown, &config) >= 1);
  }
}

/* Pages of the process's address space. */
static unsigned long mapped_pages(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%lu", &pages), 1);
  fclose(file);
  return pages;
}

static void test_a_runtime_gives_its_address_space_back(void **state) {
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = "tiny",
                                    .window = 64,
                                    .record = PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE};
  unsigned long pages = 0;
  if (PTO_HAS_SANITIZER) skip(); /* a sanitizer maps as it likes */
  for (int i = 0; i < 20; i++) {
    struct pto_runtime *rt = NULL;
    assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
    assert_int_equal(pto_run(rt, submit_nothing, NULL), PTO_OK);
    pto_runtime_destroy(rt);
    if (i == 4) pages = mapped_pages(); /* what the C library keeps is there by now */
  }
  assert_int_equal(mapped_pages(), pages);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_reservation_may_be_refused),
      cmocka_unit_test(test_every_thread_may_be_refused),
      cmocka_unit_test(test_a_runtime_gives_its_address_space_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
