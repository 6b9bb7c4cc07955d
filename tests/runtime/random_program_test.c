/* SPDX-License-Identifier: MIT */
/*
 * Random orchestrations through the runtime on a serial port that explores schedules, against the plain interpreter:
 * the bytes of all external memory, what the host read, and the number of edges.  PTO_RANDOM_PROGRAMS sets how many,
 * PTO_SEED the first seed. A failing program is shrunk and printed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/sanitizer.h>
#include <runtime/control/control.h>
#include <tests/support/random_program.h>
#include <tests/support/serial_port.h>

struct setting {
  uint32_t rules, window;
  uint64_t heap_bytes, port_seed;
  const char *policy;
  uint32_t clusters, slots, record;
  bool keeps_released;
};

static struct random_program program;
static struct random_plan plan;
static struct random_result expected, actual;

static void draw_setting(uint64_t seed, struct setting *setting) {
  static const char *const policies[] = {"fifo", "lifo", "random:7"};
  static const uint32_t windows[] = {8, 16, 64, 512, 512, 4096};
  struct pto_rng rng = {seed ^ 0x5e77};
  *setting = (struct setting){.rules = pto_rng_below(&rng, 3) == 0 ? random_program_weak_rules(&rng) : PTO_DEPS_EXACT,
                              .window = windows[pto_rng_below(&rng, PTO_ARRAY_LENGTH(windows))],
                              .heap_bytes = pto_rng_below(&rng, 3) ? 1 << 20 : 8192,
                              .port_seed = pto_rng_below(&rng, 4) ? pto_rng_next(&rng) : 0,
                              .policy = policies[pto_rng_below(&rng, PTO_ARRAY_LENGTH(policies))],
                              .clusters = pto_rng_below(&rng, 2) ? 1 : 2,
                              .slots = 1 + (uint32_t)pto_rng_below(&rng, 3),
                              .record = pto_rng_below(&rng, 3) ? 0 : PTO_RECORD_GRAPH,
                              .keeps_released = pto_rng_below(&rng, 3) == 0};
}

static uint64_t count_recorded(const struct pto_trace *trace) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < trace->edges.count; i++)
    count += ((const struct pto_trace_edge *)pto_trace_log_at(&trace->edges, i))->is_first;
  return count;
}

/* What differs, or NULL.  Programs that do not fit the small rings end with the error that says so, which is right too.
 */
static const char *difference(const struct setting *setting, bool *fitted) {
  program.kept_heap_bytes = setting->keeps_released ? setting->heap_bytes : 0;
  random_program_interpret(&program, setting->rules, setting->window, &plan, &expected);
  struct pto_serial_port_config port_config = {
      .cluster_count = setting->clusters, .slots_per_core = setting->slots, .seed = setting->port_seed};
  struct pto_config config = {.size = sizeof config,
                              .window = setting->window,
                              .heap_bytes = setting->heap_bytes,
                              .policy = setting->policy,
                              .deps = setting->rules,
                              .record = setting->record,
                              .keep_released = setting->keeps_released,
                              .poison = true};
  struct pto_runtime *rt = NULL;
  struct pto_error error = {0};
  assert_int_equal(pto_control_create(&config, pto_serial_port_create(&port_config), NULL, &rt, &error), PTO_OK);
  random_program_run(&program, &plan, rt, &actual);
  const uint64_t recorded_edges = setting->record ? count_recorded(pto_runtime_trace(rt)) : 0;
  pto_runtime_destroy(rt);
  *fitted = true;
  if (setting->keeps_released && actual.status) return actual.sentence; /* what does not fit is skipped */
  if (actual.status == PTO_ESCOPE || actual.status == PTO_EWINDOW || actual.status == PTO_EHEAP) {
    *fitted = false;
    return setting->window >= 512 && setting->heap_bytes > 8192 ? actual.sentence : NULL;
  }
  if (actual.status) return actual.sentence;
  if (actual.tasks != expected.tasks) return "number of tasks";
  if (actual.edges != expected.edges) return "number of edges";
  if (setting->record && recorded_edges != expected.edges) return "number of recorded edges";
  if (setting->rules != PTO_DEPS_EXACT) return NULL; /* may be wrong in its bytes, and that is the point of it */
  if (actual.reads != expected.reads) return "what the host read";
  return memcmp(actual.externals, expected.externals, sizeof actual.externals) ? "bytes of external memory" : NULL;
}

/* Drops what can be dropped without the difference going away: halves first, then single operations. */
static bool still_fails(void *context) {
  bool fitted;
  return difference(context, &fitted) != NULL;
}

static void random_orchestrations_give_the_bytes_and_edges_of_sequential_execution(void **state) {
  (void)state;
  const struct random_seeds seeds = random_program_seeds(3000, 100000);
  uint64_t fitted_count = 0, tasks = 0, edges = 0, hits = 0, manual_hits = 0, pto_hits = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
    struct setting setting;
    draw_setting(seed, &setting);
    random_program_make(&program, seed);
    bool fitted;
    const char *what = difference(&setting, &fitted);
    fitted_count += fitted;
    tasks += expected.tasks;
    edges += expected.edges;
    hits += actual.form_hits;
    manual_hits += actual.manual_form_hits;
    pto_hits += setting.rules != PTO_DEPS_EXACT ? actual.form_hits : 0;
    if (!what) continue;
    random_program_shrink(&program, still_fails, &setting);
    what = difference(&setting, &fitted);
    printf("seed %llu: %s differs: %llu tasks and %llu edges, expected %llu and %llu (rules %u window %u heap %llu "
           "policy %s port seed "
           "%llu clusters %u slots %u); shrunk to\n",
           (unsigned long long)seed, what ? what : "?", (unsigned long long)actual.tasks,
           (unsigned long long)actual.edges, (unsigned long long)expected.tasks, (unsigned long long)expected.edges,
           setting.rules, setting.window, (unsigned long long)setting.heap_bytes, setting.policy,
           (unsigned long long)setting.port_seed, setting.clusters, setting.slots);
    random_program_print(&program);
    fail();
  }
  printf("seeds %llu to %llu: %llu programs fitted their rings; %llu tasks, %llu edges\n",
         (unsigned long long)seeds.first, (unsigned long long)(seeds.first + seeds.count - 1),
         (unsigned long long)fitted_count, (unsigned long long)tasks, (unsigned long long)edges);
  printf("%llu submits repeated a form, %llu of them in manual scopes and %llu under pto rules\n",
         (unsigned long long)hits, (unsigned long long)manual_hits, (unsigned long long)pto_hits);
  assert_true(fitted_count > seeds.count / 2);
  if (seeds.count >= 1000) assert_true(hits > tasks / 10 && manual_hits > tasks / 1000 && pto_hits > tasks / 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_orchestrations_give_the_bytes_and_edges_of_sequential_execution),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
