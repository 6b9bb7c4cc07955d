/* SPDX-License-Identifier: MIT */
/*
 * Two lists of submits, each pair of variants of one: the same variant differs in nothing, and two differ in what one
 * of them has otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <runtime/control/call_list_compare.h>
#include <runtime/submit/replay.h>
#include <tests/support/runtime_fixture.h>

static const struct variant {
  bool is_after_second, is_sync_start, has_predicate;
  uint64_t element, value, work; /* of the predicate, which is element 0 or 1; how many tensors a task before has */
} variants[] = {
    {.work = 1},
    {.work = 1, .is_after_second = true},
    {.work = 1, .is_sync_start = true},
    {.work = 1, .has_predicate = true},
    {.work = 1, .has_predicate = true, .element = 1},
    {.work = 1, .has_predicate = true, .value = 7},
    {.work = 2, .has_predicate = true},
};
enum { VARIANTS = PTO_ARRAY_LENGTH(variants) };

static struct pto_call_list *list_of(struct pto_runtime *rt, const struct pto_tensor *given, const struct variant *v) {
  struct pto_call_list *list = pto_call_list_begin(rt, given, 1);
  const struct pto_tensor flag = pto_tensor_slice(given, 0, v->element, v->element + 1, 1),
                          part = pto_tensor_slice(given, 0, 64, 128, 1), rest = pto_tensor_slice(given, 0, 128, 256, 1);
  struct pto_task first, second;
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, &first), PTO_OK);
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, &second), PTO_OK);
  fixture_expect(rt, v->work == 1 ? FIXTURE_SUBMIT(rt, "b", &part) : FIXTURE_SUBMIT(rt, "bb", &part, &rest), PTO_OK);
  struct pto_launch launch = {.after = v->is_after_second ? &second : &first,
                              .after_count = 1,
                              .sync_start = v->is_sync_start,
                              .block_count = 2};
  if (v->has_predicate) launch.predicate = (struct pto_predicate){&flag, PTO_IF_EQ, (int64_t)v->value};
  fixture_expect(rt, FIXTURE_TRY(rt, .modes = "b", .tensors = {&part}, .launch = launch), PTO_OK);
  assert_true(pto_call_list_end(rt, list));
  return list;
}

static int compare_all(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor given = fixture_bytes(f, 0, 256);
  struct pto_call_list *lists[2][VARIANTS];
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < VARIANTS; i++) lists[side][i] = list_of(rt, &given, &variants[i]);
  for (size_t i = 0; i < VARIANTS; i++)
    for (size_t k = 0; k < VARIANTS; k++) {
      struct pto_call_difference found = {0};
      const bool differs = pto_call_lists_differ(lists[0][i], lists[1][k], &found);
      if (differs != (i != k)) fail_msg("variants %zu and %zu: \"%s\" for \"%s\"", i, k, found.made, found.kept);
      if (differs) assert_int_equal(found.submits, variants[i].work == variants[k].work ? 3 : 2);
    }
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < VARIANTS; i++) pto_call_list_destroy(lists[side][i]);
  return 0;
}

static const struct fixture_case cases[] = {{.name = "each pair of variants", .body = compare_all}};

int main(void) { return fixture_run_cases("call_list_compare", cases, PTO_ARRAY_LENGTH(cases)); }
