/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/host/local_memory.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define CORES 6

static const struct pto_chip chip = {.cluster_count = CORES / 3,
                                     .ub_bytes = 3 << 12,
                                     .l1_bytes = 4 << 12,
                                     .l0a_bytes = 1 << 12,
                                     .l0b_bytes = 2 << 12,
                                     .l0c_bytes = 5000};

struct piece {
  const struct pto_local_memory *local;
  uint64_t expected_bytes;
};

/* All memories of all cores; returns their number. */
static uint32_t list_pieces(const struct pto_core *views, struct piece *pieces) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < CORES; i++) {
    bool is_aic = views[i].kind == PTO_AIC;
    pieces[count++] = (struct piece){&views[i].local, is_aic ? chip.l1_bytes : chip.ub_bytes};
    if (!is_aic) continue;
    pieces[count++] = (struct piece){&views[i].l0a, chip.l0a_bytes};
    pieces[count++] = (struct piece){&views[i].l0b, chip.l0b_bytes};
    pieces[count++] = (struct piece){&views[i].l0c, chip.l0c_bytes};
  }
  return count;
}

static void test_cores_know_who_they_are(void **state) {
  struct pto_local_memories memories;
  struct pto_core views[CORES];
  assert_true(pto_local_memories_init(&memories, &chip, views));
  for (uint32_t i = 0; i < CORES; i++) {
    assert_int_equal(views[i].index, i);
    assert_int_equal(views[i].cluster, i / 3);
    assert_int_equal(views[i].lane, i % 3);
    assert_int_equal(views[i].kind, i % 3 == 0 ? PTO_AIC : PTO_AIV);
    if (views[i].kind == PTO_AIV) assert_true(!views[i].l0a.addr && !views[i].l0b.addr && !views[i].l0c.addr);
  }
  pto_local_memories_fini(&memories);
}

static void test_every_memory_is_whole_zero_and_of_one_core(void **state) {
  struct pto_local_memories memories;
  struct pto_core views[CORES];
  struct piece pieces[4 * CORES];
  assert_true(pto_local_memories_init(&memories, &chip, views));
  uint32_t count = list_pieces(views, pieces);
  for (uint32_t i = 0; i < count; i++) {
    unsigned char *bytes = pieces[i].local->addr;
    assert_int_equal(pieces[i].local->size_bytes, pieces[i].expected_bytes);
    assert_int_equal((uintptr_t)bytes % 4096, 0);
    for (uint64_t b = 0; b < pieces[i].expected_bytes; b++) assert_int_equal(bytes[b], 0);
    memset(bytes, (int)i + 1, pieces[i].expected_bytes);
  }
  for (uint32_t i = 0; i < count; i++) {
    const unsigned char *bytes = pieces[i].local->addr;
    assert_int_equal(bytes[0], i + 1);
    assert_int_equal(bytes[pieces[i].expected_bytes - 1], i + 1);
  }
  pto_local_memories_fini(&memories);
}

static sigjmp_buf faulted;
static void on_fault(int signal_number) { siglongjmp(faulted, signal_number); }

/* An atomic store, because the compiler must neither drop nor move it. */
static bool faults_at(char *address) {
  if (sigsetjmp(faulted, 1)) return true;
  __atomic_store_n(address, 1, __ATOMIC_RELAXED);
  return false;
}

/* Of all memories, those that are run off with a fault. */
static uint32_t count_faults(const struct pto_core *views) {
  struct piece pieces[4 * CORES];
  struct sigaction action = {.sa_handler = on_fault}, before;
  uint32_t faults = 0;
  const uint32_t count = list_pieces(views, pieces);
  assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
  for (uint32_t i = 0; i < count; i++)
    faults += faults_at((char *)pieces[i].local->addr +
                        pto_align_up(pieces[i].expected_bytes, (uint64_t)sysconf(_SC_PAGESIZE)));
  assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
  return faults;
}

static void test_running_off_the_end_of_a_guarded_memory_faults(void **state) {
  struct pto_local_memories memories;
  struct pto_core views[CORES];
  struct piece pieces[4 * CORES];
  assert_true(pto_local_memories_init(&memories, &chip, views));
  assert_int_equal(count_faults(views), 0);
  assert_true(pto_local_memories_guard(&memories, &views[1])); /* an AIV has one memory, an AIC four */
  assert_int_equal(count_faults(views), 1);
  views[0].index = 5; /* as a run that is to see itself elsewhere says */
  assert_true(pto_local_memories_guard(&memories, &views[0]));
  assert_true(pto_local_memories_guard(&memories, &views[0]));
  assert_int_equal(count_faults(views), 5);
  for (uint32_t i = 0; i < CORES; i++) assert_true(pto_local_memories_guard(&memories, &views[i]));
  assert_int_equal(count_faults(views), list_pieces(views, pieces));
  pto_local_memories_fini(&memories);
}

static void test_guards_that_the_system_refuses_are_asked_for_again(void **state) {
  struct pto_local_memories memories;
  struct pto_core views[CORES];
  assert_true(pto_local_memories_init(&memories, &chip, views));
  pto_local_memories_fini(&memories); /* what is not mapped cannot be guarded */
  for (uint32_t i = 0; i < 4; i++) assert_false(pto_local_memories_guard(&memories, &views[i / 2]));
}

static void test_a_refused_reservation_is_answered(void **state) {
  struct pto_local_memories memories;
  struct pto_core views[CORES];
  pto_reserve_fail_countdown = 1;
  assert_false(pto_local_memories_init(&memories, &chip, views));
  assert_null(memories.memory.addr);
  pto_local_memories_fini(&memories);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cores_know_who_they_are),
      cmocka_unit_test(test_every_memory_is_whole_zero_and_of_one_core),
      cmocka_unit_test(test_running_off_the_end_of_a_guarded_memory_faults),
      cmocka_unit_test(test_guards_that_the_system_refuses_are_asked_for_again),
      cmocka_unit_test(test_a_refused_reservation_is_answered),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
