/* SPDX-License-Identifier: MIT */
/*
 * Dispatch: which ready task goes to which core and when, by policy, shape and what the cores hold; each message once,
 * and after all producers. The serial port says what was sent where; labels say what ran in which order. Tasks of
 * several blocks or cores are in dispatch_blocks_test.c, predicates and barriers in predicates_test.c.
 *
 * To add one: an orchestration and a line in `fixed`. Admission of each shape is made from a table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/dispatch_checks.h>
#include <tests/support/runtime_fixture.h>

static void expect_order(const uint64_t *labels, uint32_t count) {
  assert_int_equal(fixture_call_count, count);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(fixture_calls[i].label, labels[i]);
}

/* ---- places from outside ---- */

static int three_on_one_core(struct pto_runtime *rt, struct fixture *f) {
  static const uint16_t core_of_task[] = {5, 5, 5};
  pto_host_place(rt, core_of_task, PTO_ARRAY_LENGTH(core_of_task));
  for (uint64_t i = 0; i < 4; i++) FIXTURE_DO(rt, .label = i);
  fixture_drain(rt);
  pto_host_place(rt, NULL, 0);
  for (uint32_t i = 0; i < 4; i++) assert_true((fixture_calls[i].core == 5) == (fixture_calls[i].label < 3));
  return 0;
}

/* ---- order among equals ---- */

static int twenty_independent(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 20; i++) FIXTURE_DO(rt, .label = i);
  return 0;
}
/* Forty tasks that become ready at once, when label 100 has run. */
static int forty_behind_a_gate(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task gate;
  FIXTURE_DO(rt, .label = 100, .out = &gate);
  for (uint64_t i = 0; i < 40; i++) FIXTURE_DO(rt, .label = i, .launch = {.after = &gate, .after_count = 1});
  return 0;
}
static void in_order_of_submits(struct fixture *f) {
  uint64_t labels[20];
  for (uint64_t i = 0; i < 20; i++) labels[i] = i;
  expect_order(labels, 20);
}
static void in_order_behind_the_gate(struct fixture *f) {
  uint64_t labels[41] = {100};
  for (uint64_t i = 0; i < 40; i++) labels[i + 1] = i;
  expect_order(labels, 41);
}
static void newest_first(struct fixture *f) {
  uint64_t labels[41] = {100};
  for (uint64_t i = 0; i < 40; i++) labels[i + 1] = 39 - i;
  expect_order(labels, 41);
}
static int shapes_take_turns(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task gate;
  static const uint32_t roles[] = {FIXTURE_AIC, FIXTURE_AIV0, FIXTURE_AIC, FIXTURE_AIV0, FIXTURE_AIV0, FIXTURE_AIC};
  FIXTURE_DO(rt, .label = 100, .out = &gate);
  for (uint64_t i = 0; i < 6; i++)
    FIXTURE_DO(rt, .label = i, .roles = roles[i], .launch = {.after = &gate, .after_count = 1});
  fixture_drain(rt);
  uint32_t count;
  const struct pto_serial_sent *sent = sent_of(rt, &count);
  assert_int_equal(count, 7);
  for (uint32_t i = 0; i < 6; i++) assert_int_equal(sent[i + 1].task_number, i + 1);
  return 0;
}
/* Forty barriers are done at once, and each lets one task go. */
static int forty_behind_barriers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task gate, barrier[40];
  FIXTURE_DO(rt, .label = 100, .out = &gate);
  for (uint64_t i = 0; i < 40; i++) fixture_expect(rt, pto_submit_barrier(rt, &gate, 1, &barrier[i]), PTO_OK);
  for (uint64_t i = 0; i < 40; i++) FIXTURE_DO(rt, .label = i, .launch = {.after = &barrier[i], .after_count = 1});
  return 0;
}
static uint64_t remembered[2][41];
static void remember(uint32_t which) {
  assert_int_equal(fixture_call_count, 41);
  for (uint32_t i = 0; i < 41; i++) remembered[which][i] = fixture_calls[i].label;
}
static void random_is_reproducible(struct fixture *f) {
  remember(0);
  fixture_call_count = 0;
  fixture_run(f, forty_behind_a_gate, PTO_OK);
  remember(1);
  assert_memory_equal(remembered[0], remembered[1], sizeof remembered[0]);
  struct fixture other;
  memset(&other, 0, sizeof other);
  other.config.policy = "random:8";
  other.port.slots_per_core = 1;
  fixture_open(&other);
  fixture_call_count = 0;
  fixture_run(&other, forty_behind_a_gate, PTO_OK);
  fixture_close(&other);
  remember(1);
  assert_memory_not_equal(remembered[0], remembered[1], sizeof remembered[0]);
  uint64_t seen = 0;
  for (uint32_t i = 1; i < 41; i++) seen |= UINT64_C(1) << remembered[1][i];
  assert_true(seen == (UINT64_C(1) << 40) - 1);
}

/* ---- slots of a core ---- */

static int many_tasks(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 60; i++) FIXTURE_DO(rt, .label = i, .roles = i % 3 ? FIXTURE_AIV0 : FIXTURE_AIC);
  return 0;
}
static void slots_are_filled_and_never_exceeded(struct fixture *f) {
  uint32_t count, most = 0, slots = f->port.slots_per_core ? f->port.slots_per_core : 2;
  const struct pto_serial_sent *sent = sent_of(f->rt, &count);
  assert_int_equal(count, 60);
  for (uint32_t i = 0; i < count; i++) {
    assert_true(sent[i].load < slots);
    if (sent[i].load > most) most = sent[i].load;
  }
  assert_int_equal(most, slots - 1);
}
static int idle_cores_first(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 8; i++) FIXTURE_DO(rt, .label = i);
  uint32_t count, used = 0;
  const struct pto_serial_sent *sent = sent_of(rt, &count);
  assert_int_equal(count, 8);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(sent[i].load, 0);
    assert_int_equal(sent[i + 4].load, 1);
    used |= 1u << sent[i].core;
  }
  assert_int_equal(used, 0x36); /* AIV cores of two clusters: 1 2 4 5 */
  return 0;
}
static int waits_where_all_is_full(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 5; i++) FIXTURE_DO(rt, .label = i);
  assert_int_equal(rt->scheduler.cores.in_flight, 4);
  assert_int_equal(rt->scheduler.ready_count, 1);
  finish_one(rt);
  assert_int_equal(rt->scheduler.cores.in_flight, 4);
  assert_int_equal(rt->scheduler.ready_count, 0);
  return 0;
}

/* ---- admission of each shape on one cluster ---- */

struct admission {
  uint32_t shape, busy; /* lanes, a bit each */
};

static void occupy(struct pto_runtime *rt, uint32_t busy) {
  if (busy & 6) FIXTURE_DO(rt, .label = 90); /* lane 1 */
  if (busy & 4) FIXTURE_DO(rt, .label = 91); /* lane 2 */
  if ((busy & 6) == 4) finish_one(rt);
  if (busy & 1) FIXTURE_DO(rt, .label = 92, .roles = FIXTURE_AIC);
  for (uint32_t lane = 0; lane < 3; lane++) assert_int_equal(rt->scheduler.cores.load[lane], busy >> lane & 1);
}
static int admission(struct pto_runtime *rt, struct fixture *f) {
  const struct admission *a = fixture_current->context;
  const struct shape *shape = &shapes[a->shape];
  occupy(rt, a->busy);
  uint32_t before, count, messages = shape->needs_aic + shape->aiv_count;
  sent_of(rt, &before);
  FIXTURE_DO(rt, .label = 1, .roles = shape->roles);
  const struct pto_serial_sent *sent = sent_of(rt, &count);
  uint32_t idle_aiv = !(a->busy & 2) + !(a->busy & 4);
  bool is_idle = (!shape->needs_aic || !(a->busy & 1)) && idle_aiv >= shape->aiv_count;
  bool is_sent = is_idle || f->port.slots_per_core == 2;
  assert_int_equal(count - before, is_sent ? messages : 0);
  uint32_t lanes = 0;
  for (uint32_t i = before; i < count; i++) {
    assert_false(lanes & (1u << sent[i].core));
    lanes |= 1u << sent[i].core;
    assert_int_equal(sent[i].role == 0, sent[i].core == 0);
    if (is_idle) assert_int_equal(sent[i].load, 0);
  }
  if (is_sent) assert_int_equal(lanes & 1, shape->needs_aic);
  fixture_drain(rt);
  assert_true(fixture_position(1) != FIXTURE_MAX_CALLS);
  return 0;
}

/* ---- once, and after all producers ---- */

static uint64_t layered_after[300][3];
static int layered(struct pto_runtime *rt, struct fixture *f) {
  struct pto_rng rng = {fixture_current->seed + 99};
  struct pto_task tasks[300];
  print_message("seed %llu\n", (unsigned long long)rng.state);
  for (uint64_t i = 0; i < 300; i++) {
    struct pto_task after[3];
    uint32_t count = i ? (uint32_t)pto_rng_below(&rng, 4) : 0;
    for (uint32_t k = 0; k < 3; k++) layered_after[i][k] = k < count ? pto_rng_below(&rng, i) : i;
    for (uint32_t k = 0; k < count; k++) after[k] = tasks[layered_after[i][k]];
    uint32_t shape = (uint32_t)pto_rng_below(&rng, 5), blocks = 1 + (uint32_t)pto_rng_below(&rng, 4);
    bool sync_start = blocks <= 3 && pto_rng_below(&rng, 4) == 0;
    FIXTURE_DO(rt, .label = i, .roles = shapes[shape].roles,
               .launch = {.block_count = blocks, .sync_start = sync_start, .after = after, .after_count = count},
               .out = &tasks[i]);
    if (pto_rng_below(&rng, 3) == 0 && rt->scheduler.cores.in_flight) finish_one(rt);
  }
  return 0;
}
static void each_message_once_and_in_order(struct fixture *f) {
  uint32_t count, last[300];
  const struct pto_serial_sent *sent = sent_of(f->rt, &count);
  assert_int_equal(fixture_call_count, count);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < i; k++)
      assert_false(sent[k].task_number == sent[i].task_number && sent[k].block_index == sent[i].block_index &&
                   sent[k].role == sent[i].role);
  for (uint32_t i = 0; i < fixture_call_count; i++) last[fixture_calls[i].label] = i;
  for (uint32_t i = 0; i < 300; i++)
    for (uint32_t k = 0; k < 3; k++)
      if (layered_after[i][k] != i) assert_true(last[layered_after[i][k]] < fixture_position(i));
  assert_int_equal(f->rt->completed_count, 300);
}

static const struct fixture_case fixed[] = {
    {.name = "tasks go where they are placed, one after the other, and those behind anywhere",
     .body = three_on_one_core,
     .clusters = 2,
     .slots_per_core = 1},
    {.name = "fifo runs independent tasks in the order of their submits",
     .body = twenty_independent,
     .slots_per_core = 1,
     .after = in_order_of_submits},
    {.name = "fifo runs tasks that become ready at once in the order of their submits",
     .body = forty_behind_a_gate,
     .slots_per_core = 1,
     .after = in_order_behind_the_gate},
    {.name = "fifo holds behind barriers that are done at once",
     .body = forty_behind_barriers,
     .slots_per_core = 1,
     .window = 128,
     .after = in_order_behind_the_gate},
    {.name = "lifo runs the newest of those that are ready",
     .body = forty_behind_a_gate,
     .slots_per_core = 1,
     .policy = "lifo",
     .after = newest_first},
    {.name = "fifo goes across shapes", .body = shapes_take_turns},
    {.name = "a random policy is reproducible, and another seed is another order",
     .body = forty_behind_a_gate,
     .slots_per_core = 1,
     .policy = "random:7",
     .after = random_is_reproducible},
    {.name = "a core with one slot never holds two messages",
     .body = many_tasks,
     .slots_per_core = 1,
     .after = slots_are_filled_and_never_exceeded},
    {.name = "a core's pending slot is filled and never exceeded",
     .body = many_tasks,
     .after = slots_are_filled_and_never_exceeded},
    {.name = "four slots a core are filled and never exceeded",
     .body = many_tasks,
     .slots_per_core = 4,
     .after = slots_are_filled_and_never_exceeded},
    {.name = "idle cores come before pending slots", .body = idle_cores_first, .clusters = 2},
    {.name = "a task waits where every slot is taken and goes out at the first completion",
     .body = waits_where_all_is_full},
    {.name = "every message is sent once and after all its producers",
     .body = layered,
     .window = 512,
     .clusters = 3,
     .after = each_message_once_and_in_order},
    {.name = "also in a random order of cores",
     .body = layered,
     .window = 512,
     .clusters = 3,
     .seed = 1,
     .after = each_message_once_and_in_order},
    {.name = "also under lifo",
     .body = layered,
     .window = 512,
     .clusters = 3,
     .seed = 2,
     .policy = "lifo",
     .after = each_message_once_and_in_order},
    {.name = "also under a random policy",
     .body = layered,
     .window = 512,
     .clusters = 3,
     .seed = 3,
     .policy = "random:5",
     .after = each_message_once_and_in_order},
    {.name = "also with one slot a core",
     .body = layered,
     .window = 512,
     .clusters = 3,
     .seed = 4,
     .slots_per_core = 1,
     .after = each_message_once_and_in_order},
};

int main(void) {
  enum { FIXED = PTO_ARRAY_LENGTH(fixed), SHAPES = PTO_ARRAY_LENGTH(shapes), ADMISSIONS = SHAPES * 8 * 2 };
  static struct admission admissions[ADMISSIONS];
  static struct fixture_case cases[FIXED + ADMISSIONS];
  static char names[ADMISSIONS][128];
  memcpy(cases, fixed, sizeof fixed);
  for (uint32_t i = 0; i < ADMISSIONS; i++) {
    admissions[i] = (struct admission){i % SHAPES, i / SHAPES % 8};
    uint32_t busy = admissions[i].busy, slots = 1 + i / SHAPES / 8;
    snprintf(names[i], sizeof names[i], "%s with %s%s%s%s busy, %u slot%s a core", shapes[i % SHAPES].name,
             busy ? "" : "nothing", busy & 1 ? "AIC " : "", busy & 2 ? "AIV0 " : "", busy & 4 ? "AIV1 " : "", slots,
             slots > 1 ? "s" : "");
    cases[FIXED + i] =
        (struct fixture_case){.name = names[i], .body = admission, .slots_per_core = slots, .context = &admissions[i]};
  }
  return fixture_run_cases("dispatch", cases, PTO_ARRAY_LENGTH(cases));
}
