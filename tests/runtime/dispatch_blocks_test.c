/* SPDX-License-Identifier: MIT */
/*
 * Dispatch of tasks of several blocks or cores: MIX tasks, blocks, sync_start and accumulation. The serial port says
 * what was sent where; labels say what ran in which order.
 *
 * To add one: an orchestration and a line in `fixed`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/dispatch_checks.h>
#include <tests/support/runtime_fixture.h>

/* ---- several cores ---- */

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
static int sync_starves_no_other(struct pto_runtime *rt, struct fixture *f) {
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

static const struct fixture_case fixed[] = {
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
    {.name = "a waiting sync_start task starves no other kind of core", .body = sync_starves_no_other, .clusters = 2},
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
};

int main(void) { return fixture_run_cases("dispatch_blocks", fixed, PTO_ARRAY_LENGTH(fixed)); }
