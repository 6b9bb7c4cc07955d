/* SPDX-License-Identifier: MIT */
/*
 * Random orchestrations on the explore engine, each in many orders, against the plain interpreter: the bytes of all
 * external memory, what the host read, and the number of edges.  PTO_RANDOM_PROGRAMS says how many, PTO_SEED the first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/explore/strategy.h>
#include <tests/support/random_program.h>

#define ORDERS 16u

static struct random_program program;
static struct random_plan plan;
static struct random_result expected, actual;
static struct pto_explore_log made;

static const char *difference(struct pto_runtime *rt, struct pto_schedule_name name) {
  static const struct pto_explore_graph no_graph;
  struct pto_strategy strategy;
  const struct pto_explore_chooser chooser = {pto_strategy_choose, &strategy};
  pto_strategy_begin(&strategy, name, &no_graph, NULL, 500);
  pto_explore_log_begin(&made, &chooser);
  random_program_run(&program, &plan, rt, &actual);
  if (actual.status) return actual.sentence;
  if (actual.tasks != expected.tasks || actual.edges != expected.edges) return "number of tasks or edges";
  if (actual.reads != expected.reads) return "what the host read";
  return memcmp(actual.externals, expected.externals, sizeof actual.externals) ? "bytes of external memory" : NULL;
}

static void test_random_orchestrations_give_the_same_bytes_in_every_order(void **state) {
  const struct random_seeds seeds = random_program_seeds(150, 150);
  const struct pto_config config = {
      .size = sizeof config, .engine = "explore", .window = 512, .heap_bytes = 1 << 20, .poison = true};
  struct pto_runtime *rt;
  uint64_t runs = 0, steps = 0;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_true(pto_explore_log_init(&made) && pto_engine_explore_set_log(pto_runtime_port(rt), &made));
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
    random_program_make(&program, seed);
    random_program_interpret(&program, PTO_DEPS_EXACT, 512, &plan, &expected);
    for (uint64_t i = 0; i < ORDERS; i++) {
      const struct pto_schedule_name name = pto_schedule_plan(i, ORDERS, seed, expected.tasks);
      const char *what = difference(rt, name);
      char text[64];
      if (what && (actual.status == PTO_ESCOPE || actual.status == PTO_EWINDOW || actual.status == PTO_EHEAP)) break;
      if (what)
        fail_msg("PTO_SEED=%llu, schedule %s: %s", (unsigned long long)seed,
                 pto_schedule_name_format(name, text, sizeof text), what);
      steps += made.step_count;
      runs++;
    }
  }
  print_message("seeds %llu to %llu: %llu runs, %llu steps\n", (unsigned long long)seeds.first,
                (unsigned long long)(seeds.first + seeds.count - 1), (unsigned long long)runs,
                (unsigned long long)steps);
  assert_true(runs > seeds.count * ORDERS / 2);
  pto_runtime_destroy(rt);
  pto_explore_log_fini(&made);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_orchestrations_give_the_same_bytes_in_every_order),
  };
  return cmocka_run_group_tests_name("explore_random", tests, NULL, NULL);
}
