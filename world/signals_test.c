/* SPDX-License-Identifier: MIT */
/*
 * Kernels that look at signals (pto_core_test_signal): what they find; that one which looks again and again lets time
 * pass until it is notified; and what is said of one that never is.
 *
 * The fabric is that of the chip tiny, eight chips of one node: 200 ns away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <pto/remote.h>
#include <pto/world.h>
#include <tests/support/world_job.h>

#define RANKS 4u
#define SIGNALS 5u
#define LOOKS 4000u /* more than those after which cores poll for ever */

/* What rank 0 does to rank 1, one step after the other. */
enum deed { WORKS, SETS, ADDS };
struct step {
  enum deed deed;
  uint32_t signal;
  int32_t value;
};
static const struct step *steps;
static size_t step_count;

static int tell(const struct pto_kernel_args *args) {
  const struct pto_cost much = {.bytes_in = UINT64_C(1) << 22};
  int status = 0;
  for (size_t i = 0; i < step_count && status == 0; i++)
    status = steps[i].deed == WORKS
                 ? pto_core_work(args, &much)
                 : pto_core_notify(args, args->scalars[0].u64, 1, steps[i].signal,
                                   steps[i].deed == SETS ? PTO_NOTIFY_SET : PTO_NOTIFY_ADD, steps[i].value);
  return status;
}

/* What rank 1 found, and when, by its own clock. */
static int32_t found[8];
static uint64_t found_ns[8], look_count;

static int look(const struct pto_kernel_args *args, uint32_t signal, int32_t at_least, bool *holds) {
  look_count++;
  return pto_core_test_signal(args, args->scalars[0].u64, signal, PTO_IF_GE, at_least, holds);
}

static int note(const struct pto_kernel_args *args, uint32_t at, int32_t value) {
  found[at] = value;
  return pto_core_now(args, &found_ns[at]);
}

static int look_once(const struct pto_kernel_args *args) {
  const struct pto_cost more = {.bytes_in = UINT64_C(1) << 23}; /* than rank 0 has */
  static const int32_t values[SIGNALS] = {0, 0, -2, 0, 8};
  bool is_as_much, is_more, is_equal;
  int status = look(args, 2, 0, &is_as_much);
  if (status == 0) status = note(args, 0, is_as_much);
  if (status == 0) status = pto_core_work(args, &more);
  for (uint32_t signal = 0; signal < SIGNALS && status == 0; signal++) {
    status = look(args, signal, values[signal], &is_as_much);
    if (status == 0) status = look(args, signal, values[signal] + 1, &is_more);
    if (status == 0)
      status = pto_core_test_signal(args, args->scalars[0].u64, signal, PTO_IF_EQ, values[signal], &is_equal);
    if (status == 0) status = note(args, 1 + signal, is_as_much && is_equal && !is_more);
  }
  return status;
}

static int look_until(const struct pto_kernel_args *args) {
  bool holds = false;
  int status = 0;
  while (status == 0 && !holds) status = look(args, 3, 2, &holds);
  return status ? status : note(args, 0, 2);
}

/* The same without looks, in a group. */
static int wait_until(const struct pto_kernel_args *args) {
  const int status = pto_core_wait_signal(args, args->scalars[0].u64, 3, PTO_IF_GE, 2);
  return status ? status : note(args, 0, 2);
}

/* First at one, and then at those three in turn. */
static int look_round(const struct pto_kernel_args *args) {
  bool holds[SIGNALS] = {0};
  int status = look(args, 0, 1, &holds[0]);
  for (uint32_t i = 0; status == 0 && !(holds[2] && holds[3] && holds[4]); i++)
    status = look(args, 2 + i % 3, 1, &holds[2 + i % 3]);
  for (uint32_t i = 2; i < SIGNALS && status == 0; i++) status = note(args, i, holds[i]);
  return status;
}

/* Time passes by its work alone. */
static int look_between_work(const struct pto_kernel_args *args) {
  const struct pto_cost little = {.bytes_in = 4096};
  bool holds = false;
  int status = 0;
  for (uint32_t i = 0; i < 8 && status == 0; i++) {
    status = look(args, 3, 1, &holds);
    if (status == 0) status = note(args, i, holds);
    if (status == 0) status = pto_core_work(args, &little);
  }
  return status;
}

static int look_a_while(const struct pto_kernel_args *args) {
  bool holds;
  int status = 0;
  for (uint32_t i = 0; i < LOOKS && status == 0; i++) status = look(args, 3, 1, &holds);
  return status;
}

static int look_at_none(const struct pto_kernel_args *args) {
  bool holds;
  return look(args, SIGNALS, 1, &holds);
}

static int look_for_less(const struct pto_kernel_args *args) {
  bool holds;
  return pto_core_test_signal(args, args->scalars[0].u64, 0, PTO_IF_LT, 1, &holds);
}

static const struct pto_kernel_param params_of_all[] = {{"comm", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
#define KERNEL(name_, run_)                                                                                            \
  {                                                                                                                    \
    .name = name_, .cores = PTO_AIV, .flags = PTO_KERNEL_REMOTE, .params = params_of_all, .param_count = 1,            \
    .run = run_, .cost = costs_nothing                                                                                 \
  }
static const struct pto_kernel tells = KERNEL("tells", tell);
static struct pto_kernel looks = KERNEL("looks", NULL);
static bool is_group;

static int tell_and_look(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 0, SIGNALS, &comm);
  if (status || pto_runtime_rank(rt) > 1) return status;
  const struct pto_param params[] = {pto_scalar_u64(comm.id)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = pto_runtime_rank(rt) == 0 ? &tells : &looks};
  return is_group ? pto_submit_group(rt, comm, &launch, params, 1, NULL) : pto_submit(rt, &launch, params, 1, NULL);
}

/* With 1 to 3 threads, and with a thread a rank, the same: then what it is. */
static int run(const struct step *of_rank_0, size_t count, int (*of_rank_1)(const struct pto_kernel_args *args),
               char *sentence, size_t size) {
  int status = PTO_OK;
  uint64_t first_ns[8], first_looks = 0, first_ps = 0;
  int32_t first[8];
  steps = of_rank_0;
  step_count = count;
  looks.run = of_rank_1;
  for (uint32_t i = 0; i < 4; i++) {
    struct job job = {.orchestrate = tell_and_look};
    struct pto_world *world = world_on(RANKS, i % 3 + 1, i >= 2);
    is_group = i % 2 == 1 || of_rank_1 == wait_until;
    memset(found, 0, sizeof found);
    memset(found_ns, 0, sizeof found_ns);
    look_count = 0;
    status = pto_world_run(world, run_rank, &job);
    snprintf(sentence, size, "%s", pto_world_last_error(world));
    pto_world_destroy(world);
    if (i == 0) {
      memcpy(first, found, sizeof found);
      memcpy(first_ns, found_ns, sizeof found_ns);
      first_looks = look_count;
      first_ps = job.virtual_ps[1];
    }
    assert_memory_equal(found, first, sizeof found);
    assert_memory_equal(found_ns, first_ns, sizeof found_ns);
    assert_int_equal(look_count, first_looks);
    assert_int_equal(job.virtual_ps[1], first_ps);
  }
  return status;
}

static void run_well(const struct step *of_rank_0, size_t count, int (*of_rank_1)(const struct pto_kernel_args *args)) {
  char sentence[1024];
  if (run(of_rank_0, count, of_rank_1, sentence, sizeof sentence)) fail_msg("%s", sentence);
}

static void test_a_look_finds_what_has_arrived(void **state) {
  (void)state;
  static const struct step deeds[] = {{WORKS, 0, 0}, {ADDS, 2, 3}, {ADDS, 2, -5}, {SETS, 4, 7}, {ADDS, 4, 1}};
  static const int32_t wanted[8] = {1, 1, 1, 1, 1, 1};
  run_well(deeds, 5, look_once);
  assert_memory_equal(found, wanted, sizeof found);
}

static void test_looks_again_and_again_let_time_pass_until_it_is_there(void **state) {
  (void)state;
  static const struct step deeds[] = {{WORKS, 0, 0}, {ADDS, 1, 1}, {ADDS, 3, 1}, {WORKS, 0, 0}, {ADDS, 3, 1}};
  run_well(deeds, 5, look_until);
  assert_int_equal(found[0], 2);
  assert_true(look_count > 2 && look_count < 20);
  const uint64_t at_ns = found_ns[0];
  run_well(deeds, 5, wait_until);
  assert_int_equal(at_ns, found_ns[0]);
}

static void test_a_round_of_tests_waits_as_a_whole(void **state) {
  (void)state;
  static const struct step deeds[] = {{WORKS, 0, 0}, {ADDS, 4, 1}, {WORKS, 0, 0}, {ADDS, 2, 1},
                                      {WORKS, 0, 0}, {ADDS, 0, 1}, {ADDS, 3, 1}};
  run_well(deeds, 7, look_round);
  for (uint32_t i = 2; i < SIGNALS; i++) assert_int_equal(found[i], 1);
  assert_true(look_count < 100);
}

static void test_who_works_between_looks_waits_for_nothing(void **state) {
  (void)state;
  static const struct step deeds[] = {{WORKS, 0, 0}, {ADDS, 3, 1}};
  run_well(deeds, 2, look_between_work);
  const uint64_t each_ns = found_ns[1] - found_ns[0];
  assert_true(each_ns > 0);
  for (uint32_t i = 0; i < 8; i++) assert_int_equal(found[i], 0);
  for (uint32_t i = 2; i < 8; i++)
    assert_in_range(found_ns[i] - found_ns[i - 1], each_ns - 1, each_ns + 1); /* whole ns */
}

static void test_a_while_of_looks_ends_once_the_signal_is_there(void **state) {
  (void)state;
  static const struct step deeds[] = {{WORKS, 0, 0}, {ADDS, 3, 1}};
  char sentence[1024];
  assert_int_equal(run(deeds, 2, look_a_while, sentence, sizeof sentence), PTO_EDEADLOCK);
  assert_non_null(strstr(sentence, "which it polls for >= 1, from 1"));
}

static void test_who_is_never_notified_is_named_with_the_signal(void **state) {
  (void)state;
  static const struct step deeds[] = {{WORKS, 0, 0}, {ADDS, 3, 1}};
  char sentence[1024];
  assert_int_equal(run(deeds, 2, look_until, sentence, sizeof sentence), PTO_EDEADLOCK);
  static const char wanted[] =
      "rank 1: 1 of 4 ranks wait for ever; rank 1 task 0 (looks) block 0 AIV0 on core 1 waits for "
      "a change of signal 3 of comm 0, which it polls for >= 2, from 1";
  if (strncmp(sentence, wanted, strlen(wanted)) != 0) fail_msg("%s", sentence);
  /* In a group it is known whose task could have notified it. */
  if (!strstr(sentence, ": rank 2 has not submitted its task of group 0")) fail_msg("%s", sentence);
}

static void test_a_signal_or_comparison_that_is_none_is_told(void **state) {
  (void)state;
  char sentence[1024];
  assert_int_equal(run(NULL, 0, look_at_none, sentence, sizeof sentence), PTO_EKERNEL);
  if (!strstr(sentence, "pto_core_test_signal: signal 5, comm 0 has 5")) fail_msg("%s", sentence);
  assert_int_equal(run(NULL, 0, look_for_less, sentence, sizeof sentence), PTO_EKERNEL);
  if (!strstr(sentence, "pto_core_test_signal: compares by PTO_IF_GE or PTO_IF_EQ, not")) fail_msg("%s", sentence);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_look_finds_what_has_arrived),
      cmocka_unit_test(test_looks_again_and_again_let_time_pass_until_it_is_there),
      cmocka_unit_test(test_a_round_of_tests_waits_as_a_whole),
      cmocka_unit_test(test_who_works_between_looks_waits_for_nothing),
      cmocka_unit_test(test_a_while_of_looks_ends_once_the_signal_is_there),
      cmocka_unit_test(test_who_is_never_notified_is_named_with_the_signal),
      cmocka_unit_test(test_a_signal_or_comparison_that_is_none_is_told),
  };
  return cmocka_run_group_tests_name("signals", tests, NULL, NULL);
}
