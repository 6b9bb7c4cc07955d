/* SPDX-License-Identifier: MIT */
/*
 * Worlds that come to no end, and what a rank may not ask of one: each is told with its values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <pto/remote.h>
#include <pto/world.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/world_job.h>
#include <world/world_state.h>

static int wait_only(const struct pto_kernel_args *args) {
  return pto_core_wait_signal(args, args->scalars[0].u64, (uint32_t)args->scalars[1].u64, PTO_IF_GE, 2);
}
static const struct pto_kernel_param wait_params[] = {{"comm", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                      {"signal", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel wait_kernel = {.name = "dispatch_meta",
                                              .cores = PTO_AIV,
                                              .flags = PTO_KERNEL_REMOTE,
                                              .params = wait_params,
                                              .param_count = 2,
                                              .run = wait_only,
                                              .cost = costs_nothing};

static int submit_wait(struct pto_runtime *rt, struct pto_comm comm, uint32_t signal, bool in_group) {
  const struct pto_param params[] = {pto_scalar_u64(comm.id), pto_scalar_u64(signal)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &wait_kernel};
  return in_group ? pto_submit_group(rt, comm, &launch, params, 2, NULL) : pto_submit(rt, &launch, params, 2, NULL);
}

static int rank_3_submits_nothing(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 0, 4, &comm);
  return status || pto_runtime_rank(rt) == 3 ? status : submit_wait(rt, comm, 1, true);
}
/* The others wait on two cores each. */
static int rank_3_submits_no_blocks(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 0, 4, &comm);
  if (status || pto_runtime_rank(rt) == 3) return status;
  const struct pto_param params[] = {pto_scalar_u64(comm.id), pto_scalar_u64(1)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &wait_kernel, .block_count = 2};
  return pto_submit_group(rt, comm, &launch, params, 2, NULL);
}
/* Each tells the next one, and waits for the one before; `n` of them have come then. */
static int meet_run(const struct pto_kernel_args *args) {
  const uint64_t comm = args->scalars[0].u64;
  const int status = pto_core_notify(args, comm, (uint32_t)args->scalars[1].u64, 0, PTO_NOTIFY_ADD, 1);
  return status ? status : pto_core_wait_signal(args, comm, 0, PTO_IF_GE, (int32_t)args->scalars[2].u64);
}
static const struct pto_kernel_param meet_params[] = {{"comm", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                      {"next", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                      {"n", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel meet_kernel = {.name = "meet",
                                              .cores = PTO_AIV,
                                              .flags = PTO_KERNEL_REMOTE,
                                              .params = meet_params,
                                              .param_count = 3,
                                              .run = meet_run,
                                              .cost = costs_nothing};
/* Waits by place 0, for signal 2 = 2 of place 0; notifies by others, to which `adds` says how much, an octal digit
 * each. */
static int adds_run(const struct pto_kernel_args *args) {
  const uint64_t comm = args->scalars[0].u64, place = args->scalars[1].u64;
  const int32_t added = (int32_t)(args->scalars[2].u64 >> 3 * place & 7);
  if (place == 0) return pto_core_wait_signal(args, comm, 2, PTO_IF_EQ, 2);
  return added ? pto_core_notify(args, comm, 0, 2, PTO_NOTIFY_ADD, added) : 0;
}
static const struct pto_kernel_param adds_params[] = {{"comm", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                      {"place", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                      {"adds", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel adds_kernel = {.name = "adds",
                                              .cores = PTO_AIV,
                                              .flags = PTO_KERNEL_REMOTE,
                                              .params = adds_params,
                                              .param_count = 3,
                                              .run = adds_run,
                                              .cost = costs_nothing};
static int submit_adds(struct pto_runtime *rt, uint64_t adds) {
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 0, 4, &comm);
  if (status) return status;
  const struct pto_param params[] = {pto_scalar_u64(comm.id), pto_scalar_u64(pto_runtime_rank(rt)),
                                     pto_scalar_u64(adds)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &adds_kernel};
  return pto_submit_group(rt, comm, &launch, params, 3, NULL);
}
static int rank_2_adds_too_much(struct pto_runtime *rt, void *context) {
  (void)context;
  return submit_adds(rt, 0300);
}
static int only_rank_3_adds(struct pto_runtime *rt, void *context) {
  (void)context;
  return submit_adds(rt, 01000);
}

/* The others notify rank 0 if an element is at least 3, which on rank 1 it is not.  Then they may go on with what has
 * no end before rank 0's. */
static int skips(struct pto_runtime *rt, bool goes_on) {
  static const int32_t flags[4] = {3, 2, 3, 3};
  const uint64_t shape[] = {1};
  const uint32_t rank = pto_runtime_rank(rt);
  struct pto_comm comm;
  int status = pto_comm_create(rt, NULL, 0, 0, 4, &comm);
  if (status) return status;
  const struct pto_tensor flag = pto_external_tensor(rt, (void *)(uintptr_t)&flags[rank], PTO_INT32, 1, shape);
  const struct pto_param params[] = {pto_scalar_u64(comm.id), pto_scalar_u64(rank), pto_scalar_u64(0110)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &adds_kernel, .predicate = {&flag, PTO_IF_GE, 3}};
  status = pto_submit_group(rt, comm, &launch, params, 3, NULL);
  return status || !goes_on ? status : submit_wait(rt, comm, 1, true);
}
static int rank_1_skips_its_task(struct pto_runtime *rt, void *context) {
  (void)context;
  return skips(rt, false);
}
static int rank_1_skips_its_task_and_goes_on(struct pto_runtime *rt, void *context) {
  (void)context;
  return skips(rt, true);
}

#define GROUPS 200u

/* Many, of which a few are live at once; then one that rank 3 does not submit. */
static int groups_of_a_long_program(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const uint32_t rank = pto_runtime_rank(rt), next = (rank + 1) % pto_runtime_rank_count(rt);
  int status = pto_comm_create(rt, NULL, 0, 0, 4, &comm);
  for (uint32_t i = 1; i <= GROUPS && !status; i++) {
    const struct pto_param params[] = {pto_scalar_u64(comm.id), pto_scalar_u64(next), pto_scalar_u64(i)};
    const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &meet_kernel};
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (!status) status = pto_submit_group(rt, comm, &launch, params, 3, NULL);
    if (!status) status = pto_scope_end(rt);
  }
  const struct pto_rank_comm *own = pto_rank_comm_at(rt->config.rank, comm.id);
  if (!status) assert_true(own->group_capacity < GROUPS);
  if (!status) assert_int_equal(own->forgotten_groups + own->group_count, GROUPS);
  return status || rank == 3 ? status : submit_wait(rt, comm, 1, true);
}

static int rank_1_polls_in_vain(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  while (status == PTO_OK && pto_runtime_rank(rt) == 1) status = pto_poll(rt);
  return status;
}

static int rank_0_waits_for_one_that_polls(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  if (status == PTO_OK && pto_runtime_rank(rt) == 0) return submit_wait(rt, comm, 1, true);
  while (status == PTO_OK && pto_runtime_rank(rt) == 1) status = pto_poll(rt);
  return status;
}

static int rank_1_makes_no_communicator(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  return pto_runtime_rank(rt) == 1 ? PTO_OK : pto_comm_create(rt, NULL, 0, 0, 4, &comm);
}
static int windows_differ(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  return pto_comm_create(rt, NULL, 0, pto_runtime_rank(rt) == 2 ? 64 : 128, 4, &comm);
}
static int waits_without_a_group(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 0, 4, &comm);
  return status ? status : submit_wait(rt, comm, 1, false);
}
static int signal_out_of_range(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 0, 4, &comm);
  return status ? status : submit_wait(rt, comm, 4, true);
}
static int put_from_a_peer(const struct pto_kernel_args *args) {
  return pto_core_put(args, &args->tensors[0], &args->tensors[0]);
}
static const struct pto_kernel_param put_params[] = {{"peer", PTO_OUTPUT, 0, 0, 0, 0}};
#define PUT_KERNEL(of_run)                                                                                             \
  {                                                                                                                    \
    .name = #of_run, .cores = PTO_AIV, .flags = PTO_KERNEL_REMOTE, .params = put_params, .param_count = 1,             \
    .run = of_run, .cost = costs_nothing                                                                               \
  }
static const struct pto_kernel put_kernel = PUT_KERNEL(put_from_a_peer);
static int group_of_peers(struct pto_runtime *rt, const struct pto_kernel *kernel) {
  struct pto_comm comm;
  const uint64_t shape[] = {8};
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  if (status) return status;
  const struct pto_tensor peer = pto_comm_peer(rt, comm, (pto_runtime_rank(rt) + 1) % 4, PTO_FLOAT32, 1, shape);
  const struct pto_param params[] = {pto_output(&peer)};
  return pto_submit_group(rt, comm, &(struct pto_launch){.size = sizeof(struct pto_launch), .aiv0 = kernel}, params, 1,
                          NULL);
}
static int puts_from_a_peer(struct pto_runtime *rt, void *context) {
  (void)context;
  return group_of_peers(rt, &put_kernel);
}
static int put_moved(const struct pto_kernel_args *args, int64_t bytes) {
  float own[8] = {0};
  struct pto_kernel_tensor to = args->tensors[0], from = to;
  to.addr = (char *)to.addr + bytes;
  from.addr = own;
  return pto_core_put(args, &to, &from);
}
static int put_over_the_end(const struct pto_kernel_args *args) { return put_moved(args, 48); }
static int put_before_the_begin(const struct pto_kernel_args *args) { return put_moved(args, -4); }
static int put_far_away(const struct pto_kernel_args *args) { return put_moved(args, INT64_C(1) << 60); }
static int puts_over_the_end(struct pto_runtime *rt, void *context) {
  (void)context;
  static const struct pto_kernel kernel = PUT_KERNEL(put_over_the_end);
  return group_of_peers(rt, &kernel);
}
static int puts_before_the_begin(struct pto_runtime *rt, void *context) {
  (void)context;
  static const struct pto_kernel kernel = PUT_KERNEL(put_before_the_begin);
  return group_of_peers(rt, &kernel);
}
static int puts_far_away(struct pto_runtime *rt, void *context) {
  (void)context;
  static const struct pto_kernel kernel = PUT_KERNEL(put_far_away);
  return group_of_peers(rt, &kernel);
}
static int launch_of_no_struct(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  return status ? status : pto_submit_group(rt, comm, NULL, NULL, 0, NULL);
}
static int rank_out_of_range(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const uint32_t ranks[] = {0, 4};
  return pto_comm_create(rt, ranks, 2, 0, 4, &comm);
}
static int not_among_them(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const uint32_t ranks[] = {1, 2};
  return pto_comm_create(rt, ranks, 2, 0, 4, &comm);
}
/* Two pairs of ranks, of which one's lists are turned. */
static int other_order(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const uint32_t lists[4][2] = {{0, 1}, {1, 0}, {2, 3}, {2, 3}};
  return pto_comm_create(rt, lists[pto_runtime_rank(rt)], 2, 0, 4, &comm);
}
static int peer_out_of_range(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const uint64_t shape[] = {4};
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  if (status) return status;
  return pto_comm_peer(rt, comm, 4, PTO_FLOAT32, 1, shape).status;
}
/* Programs seldom ask for a tensor's status: what takes it says why there is none. */
static int group_of(struct pto_runtime *rt, struct pto_comm comm, struct pto_tensor tensor) {
  const struct pto_param params[] = {pto_output(&tensor)};
  return pto_submit_group(rt, comm, &(struct pto_launch){.size = sizeof(struct pto_launch), .aiv0 = &put_kernel},
                          params, 1, NULL);
}
static int peer_out_of_range_taken(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  const struct pto_tensor peer = pto_comm_peer(rt, comm, 4, PTO_FLOAT32, 1, (const uint64_t[]){4});
  return status ? status : group_of(rt, comm, pto_tensor_slice(&peer, 0, 0, 1, 1));
}
static int beyond_the_window_taken(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  return status ? status : group_of(rt, comm, pto_comm_window(rt, comm, PTO_FLOAT32, 1, (const uint64_t[]){17}));
}
static int window_of_no_dtype(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  return status ? status : group_of(rt, comm, pto_comm_window(rt, comm, 99, 1, (const uint64_t[]){4}));
}
static int window_of_no_comm(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  const struct pto_comm other = {7};
  return status ? status : group_of(rt, comm, pto_comm_window(rt, other, PTO_FLOAT32, 1, (const uint64_t[]){4}));
}
static int beyond_the_window(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const uint64_t shape[] = {17};
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  if (status) return status;
  return pto_comm_window(rt, comm, PTO_FLOAT32, 1, shape).status;
}
static int too_large_a_group(struct pto_runtime *rt, void *context) {
  (void)context;
  struct pto_comm comm;
  const int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  if (status) return status;
  const struct pto_param params[] = {pto_scalar_u64(comm.id), pto_scalar_u64(0)};
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &wait_kernel, .block_count = 1000};
  return pto_submit_group(rt, comm, &launch, params, 2, NULL);
}

static void test_what_waits_for_ever_and_what_is_wrong_is_told_with_its_values(void **state) {
  (void)state;
  static const struct {
    int (*orchestrate)(struct pto_runtime *rt, void *context);
    int status;
    const char *sentence;
  } cases[] = {
      {rank_3_submits_nothing, PTO_EDEADLOCK,
       "rank 0: 3 of 4 ranks wait for ever; rank 0 task 0 (dispatch_meta) block 0 AIV0 on core 1 waits for signal 1 >= "
       "2 of comm 0, which is 0: rank 3 has not submitted its task of group 0 (its orchestration is over after 0 "
       "tasks)"},
      {rank_3_submits_no_blocks, PTO_EDEADLOCK, " is over after 0 tasks); likewise rank 1, 2"},
      {groups_of_a_long_program, PTO_EDEADLOCK,
       "rank 0 task 200 (dispatch_meta) block 0 AIV0 on core 1 waits for signal 1 >= 2 of comm 0, which is 0: rank 3 "
       "has not submitted its task of group 200 (its orchestration is over after 200 tasks)"},
      {rank_2_adds_too_much, PTO_EDEADLOCK,
       "rank 0 task 0 (adds) block 0 AIV0 on core 1 waits for signal 2 = 2 of comm 0, which is 3: it has passed that "
       "value; rank 2 notified it last, 1 time in all"},
      {only_rank_3_adds, PTO_EDEADLOCK,
       "which is 1: task 0 of rank 1, of the same group has returned without notifying it; so has 1 other rank"},
      {rank_1_skips_its_task, PTO_EDEADLOCK,
       "which is 1: task 0 of rank 1, of the same group was skipped, as its predicate asks for >= 3 and has found 2"},
      {rank_1_skips_its_task_and_goes_on, PTO_EDEADLOCK,
       "which is 1: task 0 of rank 1, of the same group was skipped, as its predicate asks for >= 3 and has found 2"},
      {rank_1_polls_in_vain, PTO_EDEADLOCK,
       "rank 1: the orchestration polls memory, and all of its 0 tasks have completed: nothing is left that could "
       "change it"},
      {rank_0_waits_for_one_that_polls, PTO_EDEADLOCK, "; rank 1 polls memory that nothing will change"},
      {rank_1_makes_no_communicator, PTO_EDEADLOCK,
       "waits in pto_comm_create of comm 0 for 1 of 4 ranks, first rank 1 (its orchestration is over"},
      {other_order, PTO_EDEADLOCK,
       "rank 0: 2 of 4 ranks wait for ever; rank 0 waits in pto_comm_create of comm 0 for 1 of 2 ranks, first rank 1 "
       "(its orchestration waits after 0 tasks): it has come to one of ranks 1, 0, not 0, 1"},
      {windows_differ, PTO_EINVAL,
       "rank 0: pto_comm_create: rank 0 has a window of 128 bytes and 4 signals, rank 2 one of 64 and 4"},
      {waits_without_a_group, PTO_EKERNEL, "pto_core_wait_signal: signal 1 of comm 0: the task is of no group of it"},
      {signal_out_of_range, PTO_EKERNEL, "pto_core_wait_signal: signal 4, comm 0 has 4"},
      {puts_from_a_peer, PTO_EKERNEL, "pto_core_put: `from` is in the window of rank 1, not this rank's memory"},
      {puts_over_the_end, PTO_EKERNEL,
       "`to` is not within a window: it has bytes 48 to 80 of that of rank 1, which has 64"},
      {puts_before_the_begin, PTO_EKERNEL, "it has bytes -4 to 28 of that of rank 1, which has 64"},
      {puts_far_away, PTO_EKERNEL, "`to`, 32 bytes, is not within a window, and beside none"},
      {launch_of_no_struct, PTO_EUSER, "rank 0: the orchestration returned -1"},
      {rank_out_of_range, PTO_EUSER, "pto_comm_create: rank 4, the world has 4"},
      {not_among_them, PTO_EUSER, "pto_comm_create: rank 0 calls it and is not among its 2 ranks"},
      {peer_out_of_range, PTO_EUSER, "window: peer 4 of comm 0, which has 4; a peer is a place in it, not a rank"},
      {beyond_the_window, PTO_EUSER, "window: 68 bytes asked of comm 0, whose windows have 64"},
      {peer_out_of_range_taken, PTO_EUSER, "put_from_a_peer: param 0: window: peer 4 of comm 0, which has 4"},
      {beyond_the_window_taken, PTO_EUSER, "param 0: window: 68 bytes asked of comm 0, whose windows have 64"},
      {window_of_no_dtype, PTO_EUSER, "param 0: external tensor: 99 is no dtype"},
      {window_of_no_comm, PTO_EUSER, "param 0: window: this rank has no comm 7"},
      {too_large_a_group, PTO_EUSER,
       "sync_start: 1000 blocks can never start together, tiny has 1 cluster, with room for 2"},
  };
  for (size_t i = 0; i < 4 * (sizeof cases / sizeof *cases); i++) {
    const size_t which = i / 4;
    struct job job = {.orchestrate = cases[which].orchestrate};
    struct pto_world *world = world_on(4, i % 4 + 1, i % 4 >= 2);
    assert_int_equal(pto_world_run(world, run_rank, &job), cases[which].status);
    if (!strstr(pto_world_last_error(world), cases[which].sentence)) fail_msg("%s", pto_world_last_error(world));
    pto_world_destroy(world);
  }
}

static void test_more_ranks_than_the_fabric_holds_are_refused(void **state) {
  (void)state;
  char sentence[256] = "";
  struct pto_world *world;
  const struct pto_world_config config = {.size = sizeof config, .ranks = 9, .chip = "tiny,dies_per_package=1,nodes=1"};
  assert_int_equal(pto_world_create(&config, &world, sentence, sizeof sentence), PTO_EINVAL);
  assert_non_null(strstr(sentence, "9"));
  assert_non_null(strstr(sentence, "8"));
}

static int run_other_chip(struct pto_rank *rank, void *context) {
  struct pto_runtime *rt;
  const struct pto_config config = {
      .size = sizeof config, .engine = "virtual", .chip = "tiny,signal_ps=7", .rank = rank};
  const int status = pto_runtime_create_explained(&config, &rt, context, 256);
  if (!status) pto_runtime_destroy(rt);
  return status;
}

static void test_a_rank_of_another_chip_than_its_world_is_refused(void **state) {
  (void)state;
  char sentence[256] = "";
  struct pto_world *world = world_of(1, 1);
  assert_int_equal(pto_world_run(world, run_other_chip, sentence), PTO_EINVAL);
  assert_string_equal(sentence, "chip tiny,signal_ps=7 of a rank, and its world is of tiny,dies_per_package=1,nodes=1: "
                                "signal_ps differs");
  pto_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_waits_for_ever_and_what_is_wrong_is_told_with_its_values),
      cmocka_unit_test(test_more_ranks_than_the_fabric_holds_are_refused),
      cmocka_unit_test(test_a_rank_of_another_chip_than_its_world_is_refused),
  };
  return cmocka_run_group_tests_name("world_errors", tests, NULL, NULL);
}
