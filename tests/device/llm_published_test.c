/* SPDX-License-Identifier: MIT */
/*
 * The published model of PTO_LLM_DATA on the simulated chip gives the published texts to the letter, greedy and
 * sampled, on both engines, one worker and two, two chips and each mode of the caches, and on 2, 4 and 8 ranks.  The
 * texts are known by their hashes.  Sanitizer builds try each place once, in one mode.  Skipped where the variable is
 * not set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/sanitizer.h>
#include <tests/support/ptosim_child.h>

/* Of the texts in llama2.c's doc/stories260K.md, and in the folder's README. */
struct published {
  const char *settings;
  size_t bytes;
  uint64_t fnv1a; /* Fowler, Noll and Vo, 64 bits */
};
static const struct published greedy = {"--set temperature=0 --set steps=256", 565, UINT64_C(0xc8c3dfcef4268b93)};
static const struct published sampled = {"--set temperature=1.0 --set topp=0.9 --set steps=256 --seed 133742", 564,
                                         UINT64_C(0xd649f110458440f1)};

static uint64_t fnv1a(const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return hash;
}

static void check_run(const struct published *published, const char *where) {
  const char *folder = getenv("PTO_LLM_DATA");
  if (!folder) {
    print_message("PTO_LLM_DATA is not set\n");
    skip();
  }
  const int code = pto_ptosim_run("run llm --set model=%s/stories260K.bin --set tokenizer=%s/tok512.bin %s %s --quiet",
                                  folder, folder, published->settings, where);
  if (code) fail_msg("%s: %s", where, pto_ptosim_last.err);
  if (strlen(pto_ptosim_last.out) != published->bytes || fnv1a(pto_ptosim_last.out) != published->fnv1a)
    fail_msg("%s: another text: %s", where, pto_ptosim_last.out);
}

static void check(const struct published *published) {
  static const char *const places[] = {"--workers 1", "--workers 2", "--workers 2 --chip a2a3", "--engine virtual",
                                       "--engine virtual --chip a2a3"};
  static const char *const kvs[] = {"inplace", "pingpong", "host"};
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(kvs); k++)
    for (size_t p = 0; p < PTO_ARRAY_LENGTH(places); p++) {
      if (PTO_HAS_SANITIZER && (k + p) % PTO_ARRAY_LENGTH(kvs)) continue;
      char where[128];
      snprintf(where, sizeof where, "%s --set kv=%s", places[p], kvs[k]);
      check_run(published, where);
    }
}

static void test_the_greedy_text_is_the_published_one_on_every_engine_chip_and_mode(void **state) { check(&greedy); }
static void test_the_sampled_text_is_the_published_one_on_every_engine_chip_and_mode(void **state) { check(&sampled); }

static void test_both_texts_are_the_published_ones_on_several_ranks(void **state) {
  static const char *const places[] = {"--ranks 2 --chip a2a3", "--ranks 4 --set check=false",
                                       "--ranks 8 --chip a2a3 --set check=false"};
  for (size_t p = 0; p < (PTO_HAS_SANITIZER ? 1 : PTO_ARRAY_LENGTH(places)); p++) check_run(&greedy, places[p]);
  check_run(&sampled, places[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_greedy_text_is_the_published_one_on_every_engine_chip_and_mode),
      cmocka_unit_test(test_the_sampled_text_is_the_published_one_on_every_engine_chip_and_mode),
      cmocka_unit_test(test_both_texts_are_the_published_ones_on_several_ranks),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
