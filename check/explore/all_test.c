/* SPDX-License-Identifier: MIT */
#include <check/explore/all.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>

/* A program of a few tasks that need not exist: what depends on what, and who comes before whom. */
#define MOST_TASKS 8u
struct model {
  uint32_t count;
  bool edge[MOST_TASKS][MOST_TASKS]; /* a path, closed over: [a][b], a < b */
  bool dependent[MOST_TASKS][MOST_TASKS];
  bool is_submitted_one_by_one; /* by an orchestration that takes part */
  bool is_orchestration_first;  /* among the candidates */
  uint32_t access_after;        /* a host access behind the submit of that task; MOST_TASKS: none */
};

static bool model_is_dependent(const void *context, uint64_t a, uint64_t b) {
  const struct model *m = context;
  return a < b ? m->dependent[a][b] : m->dependent[b][a];
}
static bool model_is_before(const void *context, const struct pto_explore_event *a, const struct pto_explore_event *b) {
  return a->task < b->task && ((const struct model *)context)->edge[a->task][b->task];
}

/* ---- runs of a model ---- */

struct order {
  uint32_t tasks[MOST_TASKS];
  uint32_t access_at; /* calls before the host access */
};

/* Runs the model once; the order in which its calls ran. */
static struct order run_model(const struct model *m, struct pto_explore_all *all) {
  struct order order = {.access_at = MOST_TASKS};
  bool is_done[MOST_TASKS] = {false};
  uint64_t position = 0;
  uint32_t done = 0;
  bool has_accessed = m->access_after == MOST_TASKS;
  if (!m->is_submitted_one_by_one) position = pto_explore_position(m->count, 0);
  pto_explore_all_begin(all);
  for (;;) {
    struct pto_explore_event candidates[MOST_TASKS + 1];
    const uint32_t submitted = (uint32_t)pto_explore_submits(position);
    const bool can_access = !has_accessed && submitted > m->access_after;
    const bool can_go_on = submitted < m->count || can_access;
    uint32_t count = 0;
    if (can_go_on && m->is_orchestration_first)
      candidates[count++] = (struct pto_explore_event){.kind = PTO_EXPLORE_GO_ON};
    for (uint32_t t = 0; t < submitted; t++) {
      bool is_ready = !is_done[t];
      for (uint32_t p = 0; p < t; p++) is_ready &= !m->edge[p][t] || is_done[p];
      if (is_ready) candidates[count++] = (struct pto_explore_event){.task = t};
    }
    if (can_go_on && !m->is_orchestration_first)
      candidates[count++] = (struct pto_explore_event){.kind = PTO_EXPLORE_GO_ON};
    if (count == 0) break;
    const uint32_t choice = pto_explore_all_choose(all, candidates, count, position);
    assert_true(choice < count);
    if (candidates[choice].kind == PTO_EXPLORE_CALL) {
      is_done[candidates[choice].task] = true;
      order.tasks[done++] = (uint32_t)candidates[choice].task;
    } else if (can_access) {
      position += pto_explore_position(0, 1);
      has_accessed = true;
      order.access_at = done;
    } else {
      position += pto_explore_position(1, 0);
    }
  }
  assert_int_equal(done, m->count);
  assert_int_equal(pto_explore_all_end(all, position), PTO_OK);
  return order;
}

/* What equivalent orders have in common: the order of every dependent pair, a bit each; and for each task on which side
 * of the host access it ran. */
static uint64_t class_of(const struct model *m, const struct order *order) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < m->count; i++) {
    if (m->access_after < MOST_TASKS && i < order->access_at) bits |= UINT64_C(1) << (32 + order->tasks[i]);
    for (uint32_t k = i + 1; k < m->count; k++) {
      const uint32_t a = order->tasks[i], b = order->tasks[k];
      const uint32_t low = a < b ? a : b, high = a < b ? b : a;
      if (m->dependent[low][high] && a < b) bits |= UINT64_C(1) << (high * (high - 1) / 2 + low);
    }
  }
  return bits;
}

/* ---- the same by brute force ---- */

struct classes {
  uint64_t items[65536];
  uint32_t count;
  uint64_t extensions;
};
static struct classes brute, found;

static bool note_class(struct classes *classes, uint64_t bits) {
  for (uint32_t i = 0; i < classes->count; i++)
    if (classes->items[i] == bits) return false;
  assert_true(classes->count < PTO_ARRAY_LENGTH(classes->items));
  classes->items[classes->count++] = bits;
  return true;
}

/* All linear extensions, with the host access in every place where it can be. */
static void enumerate(const struct model *m, struct order *order, uint32_t done, uint32_t set, bool has_accessed) {
  if (!has_accessed) {
    order->access_at = done;
    enumerate(m, order, done, set, true);
  }
  if (done == m->count) {
    if (!has_accessed) return;
    brute.extensions++;
    note_class(&brute, class_of(m, order));
    return;
  }
  for (uint32_t t = 0; t < m->count; t++) {
    bool is_ready = !(set >> t & 1) && (has_accessed || t <= m->access_after);
    for (uint32_t p = 0; p < t; p++) is_ready &= !m->edge[p][t] || (set >> p & 1);
    if (!is_ready) continue;
    order->tasks[done] = t;
    enumerate(m, order, done + 1, set | 1u << t, has_accessed);
  }
}

static void draw(struct model *m, struct pto_rng *rng) {
  memset(m, 0, sizeof *m);
  m->count = 2 + (uint32_t)pto_rng_below(rng, 5);
  m->is_submitted_one_by_one = pto_rng_below(rng, 2);
  m->is_orchestration_first = pto_rng_below(rng, 2);
  m->access_after = MOST_TASKS;
  if (m->is_submitted_one_by_one && pto_rng_below(rng, 3) == 0)
    m->access_after = (uint32_t)pto_rng_below(rng, m->count);
  const uint64_t edges = pto_rng_below(rng, 4), conflicts = 1 + pto_rng_below(rng, 4);
  for (uint32_t b = 0; b < m->count; b++)
    for (uint32_t a = 0; a < b; a++) {
      m->dependent[a][b] = pto_rng_below(rng, 4) < conflicts;
      if (pto_rng_below(rng, 6) >= edges) continue;
      m->edge[a][b] = true;
      for (uint32_t p = 0; p < a; p++) m->edge[p][b] |= m->edge[p][a];
    }
}

/* Runs until nothing is left; each class once, and all of them. */
static uint64_t hold_against_brute_force(const struct model *m) {
  const struct pto_explore_relation relation = {model_is_dependent, model_is_before, m};
  struct pto_explore_all *all = pto_explore_all_create(&relation);
  struct pto_explore_all_state state = {0};
  struct order order = {0};
  brute.count = found.count = 0;
  brute.extensions = 0;
  enumerate(m, &order, 0, 0, m->access_after == MOST_TASKS);
  do {
    order = run_model(m, all);
    pto_explore_all_state(all, &state);
    const bool is_new = note_class(&found, class_of(m, &order));
    assert_true(state.was_redundant || is_new);
    assert_true(state.explored + state.redundant < 100000);
  } while (state.has_more);
  assert_false(state.has_strayed);
  assert_int_equal(state.explored, brute.count);
  assert_int_equal(found.count, brute.count);
  assert_int_equal(state.at_least, state.explored);
  pto_explore_all_destroy(all);
  return state.redundant;
}

static void test_every_class_is_explored_once_whatever_the_graph(void **state) {
  struct pto_rng rng = {20260};
  uint64_t classes = 0, extensions = 0, redundant = 0;
  for (int i = 0; i < 3000; i++) {
    struct model m;
    draw(&m, &rng);
    redundant += hold_against_brute_force(&m);
    classes += brute.count;
    extensions += brute.extensions;
  }
  print_message("3000 graphs: %llu classes of %llu linear extensions, %llu runs that repeated one\n",
                (unsigned long long)classes, (unsigned long long)extensions, (unsigned long long)redundant);
  assert_true(extensions > 2 * classes);
  assert_true(redundant < classes / 100);
}

static void test_independent_tasks_are_one_order(void **state) {
  struct model m = {.count = 7, .access_after = MOST_TASKS};
  hold_against_brute_force(&m);
  assert_int_equal(brute.count, 1);
  assert_int_equal(brute.extensions, 5040);
}

static void test_tasks_that_all_touch_one_buffer_are_all_permutations(void **state) {
  struct model m = {.count = 5, .access_after = MOST_TASKS, .is_submitted_one_by_one = true};
  for (uint32_t b = 0; b < 5; b++)
    for (uint32_t a = 0; a < b; a++) m.dependent[a][b] = true;
  hold_against_brute_force(&m);
  assert_int_equal(brute.count, 120);
}

static void test_two_writers_of_each_of_three_buffers_are_eight_orders(void **state) {
  struct model m = {.count = 6, .access_after = MOST_TASKS};
  for (uint32_t a = 0; a < 6; a += 2) m.dependent[a][a + 1] = true;
  hold_against_brute_force(&m);
  assert_int_equal(brute.count, 8);
  assert_int_equal(brute.extensions, 720);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_class_is_explored_once_whatever_the_graph),
      cmocka_unit_test(test_independent_tasks_are_one_order),
      cmocka_unit_test(test_tasks_that_all_touch_one_buffer_are_all_permutations),
      cmocka_unit_test(test_two_writers_of_each_of_three_buffers_are_eight_orders),
  };
  return cmocka_run_group_tests_name("explore_all", tests, NULL, NULL);
}
