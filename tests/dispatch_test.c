/* SPDX-License-Identifier: MIT */
/*
 * Dispatch: which ready task goes to which core and when, by policy, shape and what the cores hold; blocks, sync_start,
 * accumulation, predicates and barriers.  The serial port says what was sent where; labels say what ran in which order.
 *
 * To add one: an orchestration and a line in `fixed`.  Admission of each shape and predicates of each dtype are made
 * from tables. Longer than other files, because each case is a program of its own.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static const struct pto_serial_sent *sent_of(struct pto_runtime *rt, uint32_t *count) {
  return pto_serial_port_sent(pto_runtime_port(rt), count);
}
static void expect_order(const uint64_t *labels, uint32_t count) {
  assert_int_equal(fixture_call_count, count);
  for (uint32_t i = 0; i < count; i++) assert_int_equal(fixture_calls[i].label, labels[i]);
}
/* Runs one kernel and takes its completion in. */
static void finish_one(struct pto_runtime *rt) {
  fixture_step(rt);
  pto_progress_poll(rt);
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

static const struct shape {
  const char *name;
  uint32_t roles, aiv_count;
  bool needs_aic;
} shapes[] = {{"AIC", FIXTURE_AIC, 0, true},
              {"AIV", FIXTURE_AIV1, 1, false},
              {"AIV×2", FIXTURE_AIV0 | FIXTURE_AIV1, 2, false},
              {"MIX of AIC and one AIV", FIXTURE_AIC | FIXTURE_AIV1, 1, true},
              {"MIX of AIC and two AIV", FIXTURE_AIC | FIXTURE_AIV0 | FIXTURE_AIV1, 2, true}};
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
/* A task that needs several cores gets them before tasks that came after it. */
static int mix_is_not_starved(struct pto_runtime *rt, struct fixture *f) {
  FIXTURE_DO(rt, .label = 1);
  FIXTURE_DO(rt, .label = 2);
  FIXTURE_DO(rt, .label = 3, .roles = FIXTURE_AIC);
  FIXTURE_DO(rt, .label = 10, .roles = FIXTURE_AIC | FIXTURE_AIV0 | FIXTURE_AIV1);
  for (uint64_t i = 0; i < 20; i++) FIXTURE_DO(rt, .label = 20 + i, .roles = i % 2 ? FIXTURE_AIC : FIXTURE_AIV0);
  fixture_drain(rt);
  assert_int_equal(fixture_position(10), 3);
  return 0;
}
static int mix_leaves_other_clusters(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 4; i++) FIXTURE_DO(rt, .label = i);
  FIXTURE_DO(rt, .label = 10, .roles = FIXTURE_AIV0 | FIXTURE_AIV1); /* claims one cluster */
  FIXTURE_DO(rt, .label = 20, .roles = FIXTURE_AIC);
  FIXTURE_DO(rt, .label = 21, .roles = FIXTURE_AIC);
  uint32_t count;
  sent_of(rt, &count);
  assert_int_equal(count, 6); /* both AIC tasks are out */
  return 0;
}
static int two_mixes_at_once(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 2; i++) FIXTURE_DO(rt, .label = i, .roles = FIXTURE_AIC | FIXTURE_AIV0 | FIXTURE_AIV1);
  uint32_t count;
  const struct pto_serial_sent *sent = sent_of(rt, &count);
  assert_int_equal(count, 6);
  for (uint32_t i = 0; i < 6; i++) assert_int_equal(sent[i].core, i);
  return 0;
}

/* ---- blocks ---- */

static int more_blocks_than_cores(struct pto_runtime *rt, struct fixture *f) {
  FIXTURE_DO(rt, .label = 1, .launch = {.block_count = 50});
  struct pto_task all;
  FIXTURE_DO(rt, .label = 2, .roles = FIXTURE_AIC | FIXTURE_AIV0, .launch = {.block_count = 7}, .out = &all);
  FIXTURE_DO(rt, .label = 3, .launch = {.after = &all, .after_count = 1});
  return 0;
}
static void each_block_once(struct fixture *f) {
  uint64_t blocks = 0;
  uint32_t mix[7] = {0};
  for (uint32_t i = 0; i < fixture_call_count; i++) {
    if (fixture_calls[i].label == 1) {
      assert_false(blocks >> fixture_calls[i].block_index & 1);
      blocks |= UINT64_C(1) << fixture_calls[i].block_index;
    }
    if (fixture_calls[i].label == 2) mix[fixture_calls[i].block_index]++;
    if (fixture_calls[i].label == 2) assert_true(i < fixture_position(3));
  }
  assert_true(blocks == (UINT64_C(1) << 50) - 1);
  for (int i = 0; i < 7; i++) assert_int_equal(mix[i], 2);
  assert_int_equal(fixture_call_count, 50 + 14 + 1);
}
static void mix_blocks_stay_in_a_cluster(struct fixture *f) {
  uint32_t count, cluster[7];
  const struct pto_serial_sent *sent = sent_of(f->rt, &count);
  memset(cluster, 0xff, sizeof cluster);
  for (uint32_t i = 0; i < count; i++)
    if (sent[i].task_number == 1) {
      uint32_t *home = &cluster[sent[i].block_index];
      if (*home == UINT32_MAX) *home = sent[i].core / 3;
      assert_int_equal(*home, sent[i].core / 3);
    }
  each_block_once(f);
}

/* ---- sync_start ---- */

static int sync_waits_for_idle_cores(struct pto_runtime *rt, struct fixture *f) {
  FIXTURE_DO(rt, .label = 1);
  FIXTURE_DO(rt, .label = 10, .launch = {.block_count = 4, .sync_start = true});
  uint32_t count;
  sent_of(rt, &count);
  assert_int_equal(count, 1); /* three cores would do for three blocks: none goes */
  finish_one(rt);
  const struct pto_serial_sent *sent = sent_of(rt, &count);
  assert_int_equal(count, 5);
  for (uint32_t i = 1; i < 5; i++) {
    assert_int_equal(sent[i].task_number, 1);
    assert_int_equal(sent[i].load, 0);
    assert_int_equal(sent[i].block_index, i - 1);
    assert_true(sent[i].flags & PTO_MESSAGE_TOGETHER);
    assert_int_equal((sent[i].flags & PTO_MESSAGE_LAST) != 0, i == 4);
  }
  return 0;
}
static int sync_is_not_starved(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 4; i++) FIXTURE_DO(rt, .label = i);
  FIXTURE_DO(rt, .label = 10, .launch = {.block_count = 4, .sync_start = true});
  for (uint64_t i = 0; i < 30; i++) FIXTURE_DO(rt, .label = 20 + i);
  fixture_drain(rt);
  assert_int_equal(fixture_position(10), 4);
  assert_int_equal(fixture_position(20), 8);
  return 0;
}
static int sync_starves_nobody_else(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 4; i++) FIXTURE_DO(rt, .label = i);
  FIXTURE_DO(rt, .label = 10, .launch = {.block_count = 4, .sync_start = true});
  FIXTURE_DO(rt, .label = 20, .roles = FIXTURE_AIC);
  FIXTURE_DO(rt, .label = 21, .roles = FIXTURE_AIC);
  uint32_t count;
  sent_of(rt, &count);
  assert_int_equal(count, 6);
  return 0;
}
static int sync_leaves_cores_it_does_not_need(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 4; i++) FIXTURE_DO(rt, .label = i); /* all AIV cores of two clusters, running */
  FIXTURE_DO(rt, .label = 10, .launch = {.block_count = 2, .sync_start = true});
  FIXTURE_DO(rt, .label = 20);
  uint32_t count;
  const struct pto_serial_sent *sent = sent_of(rt, &count);
  assert_int_equal(count, 5); /* the pending slot of a core that is not claimed */
  assert_int_equal(sent[4].load, 1);
  return 0;
}
static int sync_of_two_in_turn(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 5; i++)
    FIXTURE_DO(rt, .label = i, .roles = FIXTURE_AIC | FIXTURE_AIV0, .launch = {.block_count = 2, .sync_start = true});
  fixture_drain(rt);
  for (uint32_t i = 0; i < 20; i++) assert_int_equal(fixture_calls[i].label, i / 4);
  return 0;
}
static int sync_limits(struct pto_runtime *rt, struct fixture *f) {
  static const uint32_t limits[] = {3, 6, 3, 3, 3}; /* of three clusters, by shape */
  for (uint32_t i = 0; i < 5; i++) {
    struct fixture_state before;
    fixture_state_take(rt, &before);
    fixture_expect(
        rt, FIXTURE_TRY(rt, .roles = shapes[i].roles, .launch = {.block_count = limits[i] + 1, .sync_start = true}),
        PTO_EFIT);
    fixture_expect_sentence(rt, i == 1 ? "7 blocks can never start together, test chip has 3 clusters"
                                       : "4 blocks can never");
    fixture_state_expect(rt, &before);
    FIXTURE_DO(rt, .label = i, .roles = shapes[i].roles, .launch = {.block_count = limits[i], .sync_start = true});
  }
  fixture_drain(rt);
  assert_int_equal(fixture_call_count, 3 + 6 + 6 + 6 + 9);
  return 0;
}

/* ---- accumulate ---- */

static int accumulating_blocks(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  for (uint64_t i = 0; i < 3; i++)
    FIXTURE_DO(rt, .label = i, .modes = "a", .tensors = {&t}, .launch = {.block_count = 6});
  FIXTURE_DO(rt, .label = 9);
  return 0;
}
static void one_block_after_another(struct fixture *f) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < fixture_call_count; i++) {
    if (fixture_calls[i].label == 9) continue;
    assert_int_equal(fixture_calls[i].label, next / 6);
    assert_int_equal(fixture_calls[i].block_index, next % 6);
    next++;
  }
  assert_int_equal(next, 18);
}
static int accumulate_together_is_refused(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  struct fixture_state before;
  fixture_state_take(rt, &before);
  fixture_expect(rt, FIXTURE_TRY(rt, .modes = "a", .tensors = {&t}, .launch = {.block_count = 2, .sync_start = true}),
                 PTO_EINVAL);
  fixture_expect_sentence(rt, "one after another, sync_start wants them together");
  fixture_state_expect(rt, &before);
  return 0;
}
static int one_accumulating_block_at_a_time(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  FIXTURE_DO(rt, .label = 1, .modes = "a", .tensors = {&t}, .launch = {.block_count = 4});
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(rt->scheduler.cores.in_flight, 1);
    assert_int_equal(fixture_call_count, i);
    finish_one(rt);
  }
  return 0;
}

/* ---- predicates ---- */

static const struct comparison {
  const char *words;
  uint32_t compare;
} comparisons[] = {{"==", PTO_IF_EQ}, {"!=", PTO_IF_NE}, {"<", PTO_IF_LT},
                   {"<=", PTO_IF_LE}, {">", PTO_IF_GT},  {">=", PTO_IF_GE}};
static const uint32_t integer_dtypes[] = {PTO_INT8,   PTO_UINT8, PTO_INT16,  PTO_UINT16, PTO_INT32,
                                          PTO_UINT32, PTO_INT64, PTO_UINT64, PTO_BOOL};
struct predicate_case {
  uint32_t dtype;
  struct comparison comparison;
};

/* Twos-complement bits as the number that the dtype means. */
static __int128 number_of(uint32_t dtype, uint64_t bits) {
  uint32_t width = pto_dtype_bits(dtype);
  bool is_signed = dtype == PTO_INT8 || dtype == PTO_INT16 || dtype == PTO_INT32 || dtype == PTO_INT64;
  __int128 value = width == 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
  return is_signed && value >> (width - 1) ? value - ((__int128)1 << width) : value;
}
static bool holds(__int128 x, uint32_t compare, __int128 y) {
  switch (compare) {
  case PTO_IF_EQ:
    return x == y;
  case PTO_IF_NE:
    return x != y;
  case PTO_IF_LT:
    return x < y;
  case PTO_IF_LE:
    return x <= y;
  case PTO_IF_GT:
    return x > y;
  default:
    return x >= y;
  }
}
static int every_comparison(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t patterns[] = {
      0, 1, 5, 6, 0x7f, 0x80, UINT64_C(0x7fffffffffffffff), UINT64_C(0x8000000000000000), UINT64_MAX, UINT64_MAX - 4};
  const struct predicate_case *c = fixture_current->context;
  uint32_t size = (uint32_t)pto_dtype_size(c->dtype), expected = 0;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(patterns); i++)
    for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(patterns); k++) {
      __int128 x = number_of(c->dtype, patterns[i]), y = number_of(c->dtype, patterns[k]);
      if (c->dtype == PTO_BOOL && (patterns[i] > 1 || patterns[k] > 1)) continue;
      memcpy(f->memory, &patterns[i], size);
      fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
      struct pto_tensor t = pto_external_tensor(rt, f->memory, c->dtype, 0, NULL);
      fixture_call_count = 0;
      FIXTURE_DO(rt, .label = 1, .launch = {.predicate = {&t, c->comparison.compare, (int64_t)y}});
      fixture_drain(rt);
      assert_int_equal(fixture_call_count, holds(x, c->comparison.compare, y));
      expected += fixture_call_count;
      fixture_expect(rt, pto_scope_end(rt), PTO_OK);
    }
  assert_true(expected > 0);
  return 0;
}

static int write_seven(const struct pto_kernel_args *args) {
  *(int32_t *)args->tensors[0].addr = 7;
  return 0;
}
static const struct pto_kernel *seven(void) {
  static struct pto_kernel kernel;
  if (!kernel.run) kernel = fixture_kernel_with("o", 0, write_seven);
  return &kernel;
}
static int decided_when_producers_are_done(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL);
  struct pto_param param = pto_output(&flag);
  fixture_expect(rt, pto_submit_aiv(rt, seven(), &param, 1), PTO_OK);
  FIXTURE_DO(rt, .label = 7, .launch = {.predicate = {&flag, PTO_IF_EQ, 7}});
  FIXTURE_DO(rt, .label = 0, .launch = {.predicate = {&flag, PTO_IF_EQ, 0}});
  fixture_drain(rt);
  assert_int_equal(fixture_call_count, 1);
  assert_int_equal(fixture_calls[0].label, 7);
  return 0;
}
static int false_keeps_edges(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL);
  struct pto_tensor a = fixture_bytes(f, 64, 8), b = fixture_bytes(f, 128, 8);
  memset(f->memory + 128, 42, 8);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&a});
  FIXTURE_DO(rt, .label = 2, .modes = "io", .tensors = {&a, &b}, .launch = {.predicate = {&flag, PTO_IF_NE, 0}});
  FIXTURE_DO(rt, .label = 3, .modes = "i", .tensors = {&b});
  FIXTURE_DO(rt, .label = 4, .modes = "o", .tensors = {&flag});
  assert_int_equal(fixture_edges(rt), 3);
  assert_int_equal(fixture_reasons(rt, 1, 3), PTO_EDGE_WAR);
  fixture_drain(rt);
  assert_int_equal(fixture_call_count, 3);
  assert_true(fixture_position(1) < fixture_position(3));
  assert_int_equal(f->memory[131], 42);
  return 0;
}
static int false_runs_no_block_and_no_kernel(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL);
  for (uint32_t i = 0; i < 5; i++)
    FIXTURE_DO(rt, .roles = shapes[i].roles, .launch = {.block_count = 3, .predicate = {&flag, PTO_IF_GT, 0}});
  FIXTURE_DO(rt, .launch = {.block_count = 2, .sync_start = true, .predicate = {&flag, PTO_IF_GT, 0}});
  assert_int_equal(rt->completed_count, 6);
  assert_int_equal(fixture_call_count, 0);
  return 0;
}
static int always_runs(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL);
  struct pto_param param = pto_output(&flag);
  fixture_expect(rt, pto_submit_aiv(rt, seven(), &param, 1), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .launch = {.predicate = {&flag, PTO_ALWAYS, 0}});
  assert_int_equal(fixture_edges(rt), 1);
  fixture_drain(rt);
  assert_int_equal(fixture_call_count, 1);
  return 0;
}
static int false_output_has_memory(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL), t = fixture_managed(rt, 8);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t}, .launch = {.predicate = {&flag, PTO_IF_GT, 0}});
  uint64_t index = 4;
  uint8_t x = 0;
  fixture_expect(rt, pto_read_element(rt, &t, &index, &x), PTO_OK);
  assert_int_equal(x, 0xff);
  return 0;
}

/* ---- long chains on a small stack ---- */

enum { CHAIN = 10000 };
static const struct pto_tensor *chain_flag;
static int chain_of_barriers(struct pto_runtime *rt, void *context) {
  struct pto_launch gate = {.aiv0 = fixture_kernel("")};
  struct pto_task last;
  int status = pto_submit(rt, &gate, NULL, 0, &last);
  for (int i = 0; i < CHAIN && !status; i++) status = pto_submit_barrier(rt, &last, 1, &last);
  return status;
}
static int chain_of_skipped_tasks(struct pto_runtime *rt, void *context) {
  struct pto_launch launch = {.aiv0 = fixture_kernel("")};
  struct pto_task last;
  int status = pto_submit(rt, &launch, NULL, 0, &last);
  launch.after = &last;
  launch.after_count = 1;
  launch.predicate = (struct pto_predicate){chain_flag, PTO_IF_NE, 0};
  for (int i = 0; i < CHAIN && !status; i++) status = pto_submit(rt, &launch, NULL, 0, &last);
  return status;
}
struct chain_run {
  struct pto_runtime *rt;
  int (*orchestration)(struct pto_runtime *, void *);
  int status;
};
static void *run_on_small_stack(void *context) {
  struct chain_run *run = context;
  run->status = pto_run(run->rt, run->orchestration, NULL);
  return NULL;
}
/* Were a frame needed for each link, ten thousand of them would not fit. */
static void on_small_stack(struct fixture *f, int (*orchestration)(struct pto_runtime *, void *)) {
  fixture_kernel("");
  struct chain_run run = {f->rt, orchestration, 1};
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  assert_int_equal(pthread_create(&thread, &attributes, run_on_small_stack, &run), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  fixture_expect(f->rt, run.status, PTO_OK);
  assert_int_equal(fixture_tasks(f->rt), CHAIN + 1);
}
static int nothing(struct pto_runtime *rt, struct fixture *f) { return 0; }
static void barriers_on_small_stack(struct fixture *f) { on_small_stack(f, chain_of_barriers); }
static void skipped_on_small_stack(struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(f->rt, f->memory, PTO_INT32, 0, NULL);
  chain_flag = &flag;
  on_small_stack(f, chain_of_skipped_tasks);
}
static int barrier_waits_for_all(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task before[20], barrier;
  for (uint64_t i = 0; i < 20; i++)
    FIXTURE_DO(rt, .label = i, .roles = i % 2 ? FIXTURE_AIC : FIXTURE_AIV0, .out = &before[i]);
  fixture_expect(rt, pto_submit_barrier(rt, before, 20, &barrier), PTO_OK);
  for (uint64_t i = 20; i < 30; i++) FIXTURE_DO(rt, .label = i, .launch = {.after = &barrier, .after_count = 1});
  fixture_drain(rt);
  for (uint64_t i = 0; i < 20; i++) assert_true(fixture_position(i) < 20);
  return 0;
}
static int barrier_of_nothing(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK);
  assert_int_equal(rt->completed_count, 1);
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

/* ---- what producers wrote, seen on other threads ---- */

enum { HALF = 2048, ROUNDS = 300 };
static int fill_with(const struct pto_kernel_args *args) {
  memset(args->tensors[0].addr, (int)args->scalars[0].u64, args->tensors[0].shape[0]);
  return 0;
}
static int expect_filled(const struct pto_kernel_args *args) {
  const uint8_t *bytes = args->tensors[0].addr;
  for (uint64_t i = 0; i < args->tensors[0].shape[0]; i++)
    if (bytes[i] != (uint8_t)args->scalars[0].u64)
      return pto_kernel_error(args, "byte %d of round %d is %d", (int)i, (int)args->scalars[0].u64, bytes[i]);
  return 0;
}
static int two_producers_and_a_consumer(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel writer, reader;
  if (!writer.run) {
    writer = fixture_kernel_with("os", 0, fill_with);
    reader = fixture_kernel_with("is", 0, expect_filled);
  }
  struct pto_tensor whole = fixture_bytes(f, 0, 2 * HALF), left = fixture_bytes(f, 0, HALF),
                    right = fixture_bytes(f, HALF, HALF);
  for (uint64_t i = 0; i < ROUNDS; i++) {
    struct pto_param a[2] = {pto_output(&left), pto_scalar_u64(i)}, b[2] = {pto_output(&right), pto_scalar_u64(i)},
                     c[2] = {pto_input(&whole), pto_scalar_u64(i)};
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    fixture_expect(rt, i % 2 ? pto_submit_aic(rt, &writer, a, 2) : pto_submit_aiv(rt, &writer, a, 2), PTO_OK);
    fixture_expect(rt, pto_submit_aiv(rt, &writer, b, 2), PTO_OK);
    fixture_expect(rt, i % 3 ? pto_submit_aic(rt, &reader, c, 2) : pto_submit_aiv(rt, &reader, c, 2), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}

static const struct fixture_case fixed[] = {
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
    {.name = "a MIX task is not starved by tasks that came after it", .body = mix_is_not_starved, .slots_per_core = 1},
    {.name = "nor with pending slots", .body = mix_is_not_starved, .slots_per_core = 2},
    {.name = "a task that waits for a cluster leaves the others' cores alone",
     .body = mix_leaves_other_clusters,
     .clusters = 2,
     .slots_per_core = 1},
    {.name = "MIX tasks on idle clusters run at the same time", .body = two_mixes_at_once, .clusters = 2},
    {.name = "more blocks than cores each run once and consumers wait for all",
     .body = more_blocks_than_cores,
     .after = each_block_once},
    {.name = "so they do in a random order of cores",
     .body = more_blocks_than_cores,
     .seed = 3,
     .clusters = 2,
     .after = each_block_once},
    {.name = "the kernels of a MIX block share a cluster",
     .body = more_blocks_than_cores,
     .clusters = 3,
     .after = mix_blocks_stay_in_a_cluster},
    {.name = "sync_start sends nothing until all its blocks have idle cores",
     .body = sync_waits_for_idle_cores,
     .clusters = 2},
    {.name = "sync_start is not starved by tasks that came after it",
     .body = sync_is_not_starved,
     .clusters = 2,
     .slots_per_core = 1},
    {.name = "a waiting sync_start task starves no other kind of core",
     .body = sync_starves_nobody_else,
     .clusters = 2},
    {.name = "a waiting sync_start task leaves cores that it does not need",
     .body = sync_leaves_cores_it_does_not_need,
     .clusters = 2},
    {.name = "sync_start tasks that need the same cores run one after another",
     .body = sync_of_two_in_turn,
     .clusters = 2},
    {.name = "sync_start fits up to the chip's cores and one block more never does",
     .body = sync_limits,
     .clusters = 3},
    {.name = "the blocks of an accumulating task and successive ones run in order",
     .body = accumulating_blocks,
     .after = one_block_after_another},
    {.name = "so they do on three clusters in a random order",
     .body = accumulating_blocks,
     .clusters = 3,
     .seed = 11,
     .after = one_block_after_another},
    {.name = "and under lifo",
     .body = accumulating_blocks,
     .clusters = 3,
     .policy = "lifo",
     .after = one_block_after_another},
    {.name = "one accumulating block is out at a time", .body = one_accumulating_block_at_a_time, .clusters = 3},
    {.name = "accumulating blocks that are to start together are refused", .body = accumulate_together_is_refused},
    {.name = "a predicate is decided when its producers are done", .body = decided_when_producers_are_done},
    {.name = "a task that is not run leaves its output and keeps its edges", .body = false_keeps_edges},
    {.name = "a false predicate runs no block and no kernel of any shape", .body = false_runs_no_block_and_no_kernel},
    {.name = "a predicate that always holds still waits for its tensor", .body = always_runs},
    {.name = "the output of a task that is not run has memory", .body = false_output_has_memory, .poison = true},
    {.name = "a barrier waits for all of many", .body = barrier_waits_for_all, .seed = 2},
    {.name = "a barrier of nothing is done at once", .body = barrier_of_nothing},
    {.name = "ten thousand barriers in a chain need no stack",
     .body = nothing,
     .window = 16384,
     .after = barriers_on_small_stack},
    {.name = "ten thousand skipped tasks in a chain need no stack",
     .body = nothing,
     .window = 16384,
     .after = skipped_on_small_stack},
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
    {.name = "a consumer sees what producers on two threads wrote",
     .body = two_producers_and_a_consumer,
     .engine = "threads"},
    {.name = "and so it does in virtual time", .body = two_producers_and_a_consumer, .engine = "virtual"},
    {.name = "and on the serial port in a random order of cores", .body = two_producers_and_a_consumer, .seed = 21},
    {.name = "also with one slot a core",
     .body = layered,
     .window = 512,
     .clusters = 3,
     .seed = 4,
     .slots_per_core = 1,
     .after = each_message_once_and_in_order},
};

int main(void) {
  enum {
    FIXED = PTO_ARRAY_LENGTH(fixed),
    SHAPES = PTO_ARRAY_LENGTH(shapes),
    ADMISSIONS = SHAPES * 8 * 2,
    PREDICATES = PTO_ARRAY_LENGTH(integer_dtypes) * PTO_ARRAY_LENGTH(comparisons)
  };
  static struct admission admissions[ADMISSIONS];
  static struct predicate_case predicates[PREDICATES];
  static struct fixture_case cases[FIXED + ADMISSIONS + PREDICATES];
  static char names[ADMISSIONS + PREDICATES][128];
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
  for (uint32_t i = 0; i < PREDICATES; i++) {
    uint32_t at = ADMISSIONS + i;
    predicates[i] = (struct predicate_case){integer_dtypes[i / 6], comparisons[i % 6]};
    snprintf(names[at], sizeof names[at], "a predicate %s %s a value runs where the numbers say so",
             pto_dtype_name(predicates[i].dtype), predicates[i].comparison.words);
    cases[FIXED + at] = (struct fixture_case){.name = names[at], .body = every_comparison, .context = &predicates[i]};
  }
  return fixture_run_cases("dispatch", cases, PTO_ARRAY_LENGTH(cases));
}
