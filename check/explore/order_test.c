/* SPDX-License-Identifier: MIT */
/* Orders as holds, on a model of a program: tasks with edges, submitted one after the other. */
#include <check/explore/order.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>

#define TASKS 40u

struct model {
  bool edge[TASKS][TASKS];
  struct pto_explore_step steps[2 * TASKS + 1];
  uint32_t step_count;
};

static uint32_t choose_first(void *context, const struct pto_explore_event *candidates, uint32_t count,
                             uint64_t position) {
  return 0;
}
static uint32_t choose_random(void *context, const struct pto_explore_event *candidates, uint32_t count,
                              uint64_t position) {
  return (uint32_t)pto_rng_below(context, count);
}

static void run(struct model *m, const struct pto_explore_chooser *chooser) {
  bool is_done[TASKS] = {false};
  uint64_t submitted = 0;
  m->step_count = 0;
  for (;;) {
    struct pto_explore_event candidates[TASKS + 1];
    uint32_t count = 0;
    for (uint32_t t = 0; t < submitted; t++) {
      bool is_ready = !is_done[t];
      for (uint32_t p = 0; p < t; p++) is_ready &= !m->edge[p][t] || is_done[p];
      if (is_ready) candidates[count++] = (struct pto_explore_event){.task = t};
    }
    if (submitted < TASKS) candidates[count++] = (struct pto_explore_event){.kind = PTO_EXPLORE_GO_ON};
    if (count == 0) return;
    const uint32_t choice = chooser->choose(chooser->context, candidates, count, pto_explore_position(submitted, 0));
    m->steps[m->step_count++] = (struct pto_explore_step){candidates[choice], pto_explore_position(submitted, 0), NULL};
    if (candidates[choice].kind == PTO_EXPLORE_CALL)
      is_done[candidates[choice].task] = true;
    else
      submitted++;
  }
}

static void draw(struct model *m, struct pto_rng *rng) {
  memset(m, 0, sizeof *m);
  for (uint32_t b = 1; b < TASKS; b++)
    for (int i = 0; i < 2; i++)
      if (pto_rng_below(rng, 2)) m->edge[pto_rng_below(rng, b)][b] = true;
}

/* The sequential run's calls, which are in natural order. */
static uint32_t make_reference(struct model *m, struct pto_explore_step *calls) {
  const struct pto_explore_chooser sequential = {choose_first, NULL};
  uint32_t count = 0;
  run(m, &sequential);
  for (uint32_t i = 0; i < m->step_count; i++)
    if (m->steps[i].event.kind == PTO_EXPLORE_CALL) calls[count++] = m->steps[i];
  assert_int_equal(count, TASKS);
  return count;
}

static void test_the_holds_of_a_run_bring_its_order_back(void **state) {
  struct pto_rng rng = {77};
  for (int i = 0; i < 300; i++) {
    static struct model m;
    struct pto_explore_step reference[TASKS];
    struct pto_explore_holds holds = {0};
    struct pto_explore_replay replay = {0};
    const struct pto_explore_chooser random = {choose_random, &rng}, again = {pto_explore_replay_choose, &replay};
    draw(&m, &rng);
    make_reference(&m, reference);
    run(&m, &random);
    assert_int_equal(pto_explore_holds_make(m.steps, m.step_count, reference, TASKS, &holds), PTO_OK);
    assert_true(holds.count <= 2 * TASKS);
    const uint64_t wanted = pto_explore_order_hash(m.steps, m.step_count);
    assert_true(pto_explore_replay_init(&replay, &holds));
    for (int round = 0; round < 2; round++) {
      pto_explore_replay_begin(&replay);
      run(&m, &again);
      assert_true(pto_explore_order_hash(m.steps, m.step_count) == wanted);
    }
    pto_explore_replay_fini(&replay);
    pto_explore_holds_fini(&holds);
  }
}

static void test_no_hold_is_the_reference(void **state) {
  static struct model m;
  struct pto_rng rng = {5};
  struct pto_explore_step reference[TASKS];
  const struct pto_explore_holds none = {0};
  struct pto_explore_holds holds = {0};
  struct pto_explore_replay replay = {0};
  const struct pto_explore_chooser chooser = {pto_explore_replay_choose, &replay};
  draw(&m, &rng);
  make_reference(&m, reference);
  assert_int_equal(pto_explore_holds_make(m.steps, m.step_count, reference, TASKS, &holds), PTO_OK);
  assert_int_equal(holds.count, 0);
  assert_true(pto_explore_replay_init(&replay, &none));
  pto_explore_replay_begin(&replay);
  run(&m, &chooser);
  for (uint32_t i = 0, call = 0; i < m.step_count; i++)
    if (m.steps[i].event.kind == PTO_EXPLORE_CALL)
      assert_int_equal(pto_explore_event_compare(&m.steps[i].event, &reference[call++].event), 0);
  pto_explore_replay_fini(&replay);
}

static void test_a_hold_that_can_never_open_gives_way(void **state) {
  static struct model m;
  struct pto_explore_holds holds = {0};
  struct pto_explore_replay replay = {0};
  const struct pto_explore_chooser chooser = {pto_explore_replay_choose, &replay};
  memset(&m, 0, sizeof m);
  for (uint32_t b = 1; b < TASKS; b++) m.edge[0][b] = true;
  assert_true(pto_explore_holds_add(&holds, &(struct pto_explore_hold){{.task = 0}, {.task = 7}, 0}));
  assert_true(pto_explore_replay_init(&replay, &holds));
  pto_explore_replay_begin(&replay);
  run(&m, &chooser);
  assert_int_equal(m.step_count, 2 * TASKS);
  assert_int_equal(m.steps[TASKS].event.task, 0); /* after every submit, for nothing else was legal by then */
  pto_explore_replay_fini(&replay);
  pto_explore_holds_fini(&holds);
}

/* Tasks 0 and 1 wait for what needs both. */
static void test_of_several_holds_that_can_never_open_the_first_gives_way(void **state) {
  static struct model m;
  struct pto_explore_holds holds = {0};
  struct pto_explore_replay replay = {0};
  const struct pto_explore_chooser chooser = {pto_explore_replay_choose, &replay};
  memset(&m, 0, sizeof m);
  for (uint32_t b = 2; b < TASKS; b++) m.edge[0][b] = m.edge[1][b] = true;
  for (uint32_t held = 0; held < 2; held++)
    assert_true(pto_explore_holds_add(&holds, &(struct pto_explore_hold){{.task = held}, {.task = 9}, 0}));
  assert_true(pto_explore_replay_init(&replay, &holds));
  pto_explore_replay_begin(&replay);
  run(&m, &chooser);
  assert_int_equal(m.steps[TASKS].event.task, 0);
  assert_int_equal(m.steps[TASKS + 1].event.task, 1);
  pto_explore_replay_fini(&replay);
  pto_explore_holds_fini(&holds);
}

static void test_holds_survive_a_file(void **state) {
  struct pto_explore_holds holds = {0}, read = {0};
  struct pto_error error;
  char text[512] = "";
  const struct pto_explore_hold some[] = {
      {{.task = 4, .block_index = 2, .role = 1, .piece = 3}, {.task = 7, .role = 2}, 0},
      {{.task = 9}, {.kind = PTO_EXPLORE_GO_ON}, pto_explore_position(12, 5)},
      {{.task = 9, .piece = 1}, {.kind = PTO_EXPLORE_GO_ON}, pto_explore_position(13, 5) | PTO_EXPLORE_WAITS}};
  for (size_t i = 0; i < 3; i++) assert_true(pto_explore_holds_add(&holds, &some[i]));
  FILE *stream = fmemopen(text, sizeof text, "w");
  fputs("# a comment\n", stream);
  for (size_t i = 0; i < 3; i++) {
    char line[PTO_EXPLORE_HOLD_TEXT];
    fprintf(stream, "%s\n", pto_explore_hold_format(&holds.items[i], line, sizeof line));
  }
  fclose(stream);
  assert_string_equal(text, "# a comment\nhold 4.2.1.3 until 7.0.2.0\nhold 9.0.0.0 until 12+5\n"
                            "hold 9.0.0.1 until 13+5+wait\n");
  stream = fmemopen(text, strlen(text), "r");
  assert_int_equal(pto_explore_holds_read(stream, &read, &error), PTO_OK);
  fclose(stream);
  assert_int_equal(read.count, 3);
  assert_memory_equal(read.items, holds.items, sizeof some);
  pto_explore_holds_fini(&holds);
  pto_explore_holds_fini(&read);
}

static void test_a_line_that_is_no_hold_is_refused_with_its_number(void **state) {
  static const char *const bad[] = {"hold 4 until 7\n",         "hold 4.0.3.0 until 7.0.0.0\n",
                                    "held 4.0.0.0 until 1+1\n", "hold 4.0.0.0 until 1+1 x\n",
                                    "hold 4.0.0.0 until\n",     "hold 4.0.0.0x until 1+1\n"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct pto_explore_holds holds = {0};
    struct pto_error error;
    char text[64];
    snprintf(text, sizeof text, "\n%s", bad[i]);
    FILE *stream = fmemopen(text, strlen(text), "r");
    assert_int_equal(pto_explore_holds_read(stream, &holds, &error), PTO_EINVAL);
    assert_non_null(strstr(error.sentence, "line 2: "));
    fclose(stream);
    pto_explore_holds_fini(&holds);
  }
}

static void test_a_text_without_a_hold_is_refused(void **state) {
  static const char *const empty[] = {"\n", "# a comment\n\n"};
  for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
    struct pto_explore_holds holds = {0};
    struct pto_error error;
    FILE *stream = fmemopen((void *)(uintptr_t)empty[i], strlen(empty[i]), "r");
    assert_int_equal(pto_explore_holds_read(stream, &holds, &error), PTO_EINVAL);
    assert_string_equal(error.sentence, "it has no line \"hold …\"");
    fclose(stream);
    pto_explore_holds_fini(&holds);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_holds_of_a_run_bring_its_order_back),
      cmocka_unit_test(test_no_hold_is_the_reference),
      cmocka_unit_test(test_a_hold_that_can_never_open_gives_way),
      cmocka_unit_test(test_of_several_holds_that_can_never_open_the_first_gives_way),
      cmocka_unit_test(test_holds_survive_a_file),
      cmocka_unit_test(test_a_line_that_is_no_hold_is_refused_with_its_number),
      cmocka_unit_test(test_a_text_without_a_hold_is_refused),
  };
  return cmocka_run_group_tests_name("explore_order", tests, NULL, NULL);
}
