/* SPDX-License-Identifier: MIT */
/*
 * A world: what a rank alone in it does is what it does without one; puts, gets and signals arrive when the fabric
 * says, and no earlier.
 *
 * The fabric is that of the chip tiny, eight chips of one node: 200 ns away, 50 GB/s, a byte takes 20 ps.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <pto/remote.h>
#include <pto/world.h>
#include <runtime/control/runtime_state.h>
#include <runtime/trace/segment.h>
#include <tests/support/world_job.h>
#include <world/world_state.h>

/* ---- one rank ---- */

static int chain(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  const uint64_t shape[] = {64};
  const struct pto_tensor t = pto_external_tensor(rt, job->data[pto_runtime_rank(rt)], PTO_FLOAT32, 1, shape);
  for (int i = 0; i < 20; i++) {
    const struct pto_param params[] = {pto_input(&t), pto_input(&t), pto_output(&t)};
    const int status = pto_submit_aiv(rt, pto_kernel_find("add"), params, 3);
    if (status) return status;
  }
  return PTO_OK;
}

static void test_a_rank_that_tells_nothing_runs_as_without_a_world(void **state) {
  (void)state;
  struct job alone = {.orchestrate = chain}, together = alone;
  for (uint32_t i = 0; i < MOST_RANKS; i++) alone.data[i][5] = together.data[i][5] = (float)i;
  const struct pto_config config = {.size = sizeof config, .engine = "virtual"};
  struct pto_runtime *rt;
  struct pto_stats stats = {.size = sizeof stats};
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_int_equal(pto_run(rt, chain, &alone), PTO_OK);
  pto_runtime_stats(rt, &stats);
  pto_runtime_destroy(rt);
  struct pto_world *world = world_of(MOST_RANKS, 3);
  assert_int_equal(pto_world_run(world, run_rank, &together), PTO_OK);
  pto_world_destroy(world);
  for (uint32_t i = 0; i < MOST_RANKS; i++) {
    assert_int_equal(together.virtual_ps[i], stats.virtual_ps);
    assert_true(together.data[i][5] == (float)i * 1048576.0F);
  }
}

/* ---- put, notify, wait ---- */

/* Each rank puts its number into the next one's window, and reads what has come into its own. */
static int pass_on(const struct pto_kernel_args *args) {
  const uint64_t comm = args->scalars[0].u64;
  int status = pto_core_put(args, &args->tensors[1], &args->tensors[0]);
  if (status == 0) status = pto_core_notify(args, comm, (uint32_t)args->scalars[1].u64, 3, PTO_NOTIFY_ADD, 2);
  if (status == 0) status = pto_core_wait_signal(args, comm, 3, PTO_IF_GE, 2);
  if (status != 0) return status;
  memcpy(args->tensors[3].addr, args->tensors[2].addr, 4 * args->tensors[3].shape[0]);
  return 0;
}
static const struct pto_kernel_param pass_on_params[] = {{"from", PTO_INPUT, 0, 0, 0, 0},
                                                         {"to", PTO_OUTPUT, 0, 0, 0, 0},
                                                         {"window", PTO_INPUT, 0, 0, 0, 0},
                                                         {"result", PTO_OUTPUT, 0, 0, 0, 0},
                                                         {"comm", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                         {"peer", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel pass_on_kernel = {.name = "pass_on",
                                                 .cores = PTO_AIV,
                                                 .flags = PTO_KERNEL_REMOTE,
                                                 .params = pass_on_params,
                                                 .param_count = 6,
                                                 .run = pass_on,
                                                 .cost = costs_nothing};

static int ring(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  struct pto_comm comm;
  const uint64_t shape[] = {32};
  const uint32_t rank = pto_runtime_rank(rt), count = pto_runtime_rank_count(rt), next = (rank + 1) % count;
  int status = pto_comm_create(rt, NULL, 0, 4096, 8, &comm);
  if (status) return status;
  const struct pto_tensor own = pto_external_tensor(rt, job->data[rank], PTO_FLOAT32, 1, shape);
  const struct pto_tensor result = pto_external_tensor(rt, job->data[rank] + 32, PTO_FLOAT32, 1, shape);
  const struct pto_tensor to = pto_comm_peer(rt, comm, next, PTO_FLOAT32, 1, shape);
  const struct pto_tensor window = pto_comm_window(rt, comm, PTO_FLOAT32, 1, shape);
  const struct pto_param params[] = {pto_input(&own),     pto_output(&to),         pto_input(&window),
                                     pto_output(&result), pto_scalar_u64(comm.id), pto_scalar_u64(next)};
  return pto_submit_group(rt, comm, &(struct pto_launch){.size = sizeof(struct pto_launch), .aiv0 = &pass_on_kernel},
                          params, 6, NULL);
}

static void test_what_is_put_before_a_notify_is_there_after_the_wait(void **state) {
  (void)state;
  for (uint32_t count = 2; count <= MOST_RANKS; count += 3) {
    struct job job = {.orchestrate = ring};
    for (uint32_t i = 0; i < count; i++)
      for (uint32_t k = 0; k < 32; k++) job.data[i][k] = (float)(100 * i + k);
    struct pto_world *world = world_of(count, count > 4 ? 2 : 1);
    const int status = pto_world_run(world, run_rank, &job);
    if (status) fail_msg("%s", pto_world_last_error(world));
    pto_world_destroy(world);
    for (uint32_t i = 0; i < count; i++)
      for (uint32_t k = 0; k < 32; k++)
        assert_true(job.data[i][32 + k] == (float)(100 * ((i + count - 1) % count) + k));
    for (uint32_t i = 1; i < count; i++) assert_int_equal(job.virtual_ps[i], job.virtual_ps[0]);
  }
}

static void test_ranks_on_threads_of_their_own_do_the_same(void **state) {
  (void)state;
  pto_world_destroy(world_on(4, 2, true)); /* whose ranks have not begun */
  for (uint32_t threads = 1; threads <= 4; threads += 3) {
    struct job jobs[2] = {{.orchestrate = ring}, {.orchestrate = ring}};
    for (uint32_t own = 0; own < 2; own++) {
      for (uint32_t k = 0; k < 4 * 32; k++) jobs[own].data[k / 32][k % 32] = (float)k;
      struct pto_world *world = world_on(4, threads, own);
      if (pto_world_run(world, run_rank, &jobs[own])) fail_msg("%s", pto_world_last_error(world));
      pto_world_destroy(world);
    }
    assert_memory_equal(jobs[0].data, jobs[1].data, sizeof jobs[0].data);
    assert_memory_equal(jobs[0].virtual_ps, jobs[1].virtual_ps, sizeof jobs[0].virtual_ps);
    assert_true(pthread_equal(jobs[0].thread[0], pthread_self()));
    for (uint32_t i = 0; i < 4; i++) {
      assert_false(pthread_equal(jobs[1].thread[i], pthread_self()));
      for (uint32_t k = 0; k < i; k++) assert_false(pthread_equal(jobs[1].thread[i], jobs[1].thread[k]));
    }
  }
}

/* ---- get ---- */

/* Reads 8 of each 16 elements of the next rank's window, which its own task wrote before a barrier of signals. */
static int fetch(const struct pto_kernel_args *args) {
  const uint64_t comm = args->scalars[0].u64, size = args->scalars[1].u64, place = args->scalars[2].u64;
  int status = 0;
  float *window = args->tensors[0].addr;
  for (uint32_t k = 0; k < 32; k++) window[k] = (float)(1000 * place + k);
  for (uint32_t i = 0; i < size && status == 0; i++) status = pto_core_notify(args, comm, i, 0, PTO_NOTIFY_ADD, 1);
  if (status == 0) status = pto_core_wait_signal(args, comm, 0, PTO_IF_EQ, (int32_t)size);
  const uint64_t shape[] = {2, 8}, strides[] = {16, 1}, dense[] = {8, 1};
  const struct pto_kernel_tensor from = {args->tensors[1].addr, shape, strides, 2, PTO_FLOAT32};
  const struct pto_kernel_tensor to = {args->tensors[2].addr, shape, dense, 2, PTO_FLOAT32};
  return status == 0 ? pto_core_get(args, &to, &from) : status;
}
static const struct pto_kernel_param fetch_params[] = {{"window", PTO_OUTPUT, 0, 0, 0, 0},
                                                       {"peer", PTO_INPUT, 0, 0, 0, 0},
                                                       {"result", PTO_OUTPUT, 0, 0, 0, 0},
                                                       {"comm", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                       {"size", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64},
                                                       {"place", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel fetch_kernel = {.name = "fetch",
                                               .cores = PTO_AIV,
                                               .flags = PTO_KERNEL_REMOTE,
                                               .params = fetch_params,
                                               .param_count = 6,
                                               .run = fetch,
                                               .cost = costs_nothing};

static int gets(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  struct pto_comm comm;
  const uint64_t shape[] = {32};
  const uint32_t rank = pto_runtime_rank(rt), count = pto_runtime_rank_count(rt);
  int status = pto_comm_create(rt, NULL, 0, 128, 1, &comm);
  if (status) return status;
  const struct pto_tensor window = pto_comm_window(rt, comm, PTO_FLOAT32, 1, shape);
  const struct pto_tensor peer = pto_comm_peer(rt, comm, (rank + 1) % count, PTO_FLOAT32, 1, shape);
  const struct pto_tensor result = pto_external_tensor(rt, job->data[rank], PTO_FLOAT32, 1, shape);
  const struct pto_param params[] = {pto_output(&window),     pto_input(&peer),      pto_output(&result),
                                     pto_scalar_u64(comm.id), pto_scalar_u64(count), pto_scalar_u64(rank)};
  return pto_submit_group(rt, comm, &(struct pto_launch){.size = sizeof(struct pto_launch), .aiv0 = &fetch_kernel},
                          params, 6, NULL);
}

static void test_a_get_reads_rows_of_a_peers_window(void **state) {
  (void)state;
  struct job job = {.orchestrate = gets};
  struct pto_world *world = world_of(4, 4);
  const int status = pto_world_run(world, run_rank, &job);
  if (status) fail_msg("%s", pto_world_last_error(world));
  pto_world_destroy(world);
  for (uint32_t i = 0; i < 4; i++)
    for (uint32_t k = 0; k < 16; k++) assert_true(job.data[i][k] == (float)(1000 * ((i + 1) % 4) + k / 8 * 16 + k % 8));
}

/* ---- several runs of a rank ---- */

/* Each has run something else before, another number of times, so that they come to the communicator at eight times,
 * and rank 1 last. */
static int run_twice(struct pto_rank *rank, void *context) {
  struct job *job = context;
  static const uint32_t runs[] = {0, 7, 1, 2, 3, 4, 5, 6};
  struct job before = {.orchestrate = chain};
  for (uint32_t i = 0; i < runs[pto_rank_index(rank)]; i++) assert_int_equal(run_rank(rank, &before), PTO_OK);
  const uint64_t begin = pto_rank_clock_ps(rank);
  const int status = run_rank(rank, job);
  assert_true(pto_rank_clock_ps(rank) > begin);
  assert_true(pto_rank_clock_ps(rank) - begin < UINT64_C(1000000000));
  return status;
}

static void test_a_rank_that_ran_before_joins_those_that_wait_for_it(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 3; threads++) {
    struct job job = {.orchestrate = ring};
    struct pto_world *world = world_of(8, threads);
    const int status = pto_world_run(world, run_twice, &job);
    if (status) fail_msg("%s", pto_world_last_error(world));
    pto_world_destroy(world);
    assert_true(job.virtual_ps[1] < job.virtual_ps[0]);
  }
}

/* ---- a communicator beside tasks ---- */

static int does_nothing(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}
static struct pto_cost costs_much(const struct pto_kernel_args *args) {
  (void)args;
  return (struct pto_cost){.bytes_in = UINT64_C(1) << 24};
}
static const struct pto_kernel long_kernel = {
    .name = "long", .cores = PTO_AIV, .run = does_nothing, .cost = costs_much};

/* Each has a long task when it comes to the communicator, rank 0 last. */
static int create_beside_a_task(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  const uint32_t rank = pto_runtime_rank(rt);
  struct pto_comm comm;
  int status = pto_submit_aiv(rt, &long_kernel, NULL, 0);
  if (status == PTO_OK && rank == 0) status = chain(rt, job);
  const uint64_t begin = pto_orchestrator_clock(rt);
  if (status == PTO_OK) status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  if (rank == 0) assert_true(pto_orchestrator_clock(rt) == begin); /* whatever its own tasks do meanwhile */
  job->created_ps[rank] = pto_orchestrator_clock(rt);
  return status;
}

static void test_a_communicator_is_there_when_all_have_come(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 4; threads++) {
    struct job job = {.orchestrate = create_beside_a_task};
    struct pto_world *world = world_of(4, threads);
    const int status = pto_world_run(world, run_rank, &job);
    if (status) fail_msg("%s", pto_world_last_error(world));
    pto_world_destroy(world);
    for (uint32_t i = 1; i < 4; i++) assert_true(job.created_ps[i] == job.created_ps[1]);
    for (uint32_t i = 0; i < 4; i++) assert_true(job.created_ps[i] < job.virtual_ps[i] / 2);
  }
}

/* When ranks come to a communicator, when they go on, and for whom they waited by their record. */
struct arrivals {
  struct job job;
  uint64_t come_ps[MOST_RANKS], gone_ps[MOST_RANKS];
  uint32_t waited_for[MOST_RANKS];
  uint64_t waited_ps[MOST_RANKS]; /* by the segment of the orchestrator */
};

static int meet(struct pto_runtime *rt, void *context) {
  struct arrivals *arrivals = context;
  const uint32_t rank = pto_runtime_rank(rt);
  struct pto_comm comm;
  int status = PTO_OK;
  for (uint32_t i = 0; i < (3 * rank + 2) % 7 && status == PTO_OK; i++) status = chain(rt, &arrivals->job);
  arrivals->come_ps[rank] = pto_orchestrator_clock(rt);
  if (status == PTO_OK) status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  arrivals->gone_ps[rank] = pto_orchestrator_clock(rt);
  return status;
}

static int run_arrivals(struct pto_rank *rank, void *context) {
  struct arrivals *arrivals = context;
  const uint32_t index = pto_rank_index(rank);
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = "a2a3",
                                    .rank = rank,
                                    .record = PTO_RECORD_SEGMENTS | PTO_RECORD_TIMELINE};
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  const int status = pto_run(rt, meet, arrivals);
  const struct pto_trace *trace = pto_runtime_trace(rt);
  for (uint64_t i = 0; i < trace->remotes.count; i++) {
    const struct pto_trace_remote *made = pto_trace_log_at(&trace->remotes, i);
    if (made->kind == PTO_REMOTE_MAKE) arrivals->waited_for[index] = made->peer;
  }
  for (uint64_t i = 0; i < trace->segments.count; i++) {
    const struct pto_trace_segment *segment = pto_trace_log_at(&trace->segments, i);
    if (segment->activity == PTO_ACTIVITY_wait_peer) arrivals->waited_ps[index] += segment->end - segment->begin;
  }
  pto_runtime_destroy(rt);
  return status;
}

/* All go on when the last has come, and the message of that has been on its way: near ones earlier than far ones. */
static void test_a_rank_goes_on_when_it_has_heard_of_the_last(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 4; threads += 3) {
    struct arrivals arrivals = {.job = {.orchestrate = NULL}};
    char sentence[256] = "";
    struct pto_world *world = NULL;
    const struct pto_world_config config = {
        .size = sizeof config, .ranks = MOST_RANKS, .chip = "a2a3,chips_per_node=4", .threads = threads};
    if (pto_world_create(&config, &world, sentence, sizeof sentence)) fail_msg("%s", sentence);
    if (pto_world_run(world, run_arrivals, &arrivals)) fail_msg("%s", pto_world_last_error(world));
    const struct pto_fabric *fabric = pto_world_part(world)->fabric;
    uint32_t waiting = 0;
    for (uint32_t r = 0; r < MOST_RANKS; r++) {
      uint64_t last_ps = 0, last = r;
      for (uint32_t i = 0; i < MOST_RANKS; i++) {
        if (i == r) continue;
        const uint64_t heard_ps = arrivals.come_ps[i] + pto_fabric_lookahead_ps(fabric, i, r);
        if (heard_ps >= last_ps) last = i;
        last_ps = heard_ps > last_ps ? heard_ps : last_ps;
      }
      const bool waits = last_ps > arrivals.come_ps[r];
      waiting += waits;
      assert_int_equal(arrivals.gone_ps[r], waits ? last_ps : arrivals.come_ps[r]);
      assert_int_equal(arrivals.waited_ps[r], arrivals.gone_ps[r] - arrivals.come_ps[r]);
      if (waits) assert_int_equal(arrivals.waited_for[r], last);
    }
    assert_true(waiting >= MOST_RANKS - 1);
    pto_world_destroy(world);
  }
}

/* ---- polls ---- */

static int give_run(const struct pto_kernel_args *args) {
  return pto_core_put(args, &args->tensors[1], &args->tensors[0]);
}
static const struct pto_kernel_param give_params[] = {{"from", PTO_INPUT, 0, 0, 0, 0}, {"to", PTO_OUTPUT, 0, 0, 0, 0}};
static const struct pto_kernel give_kernel = {.name = "give",
                                              .cores = PTO_AIV,
                                              .flags = PTO_KERNEL_REMOTE,
                                              .params = give_params,
                                              .param_count = 2,
                                              .run = give_run,
                                              .cost = costs_nothing};

/* Rank 1 looks at its window until rank 0's task has put there, which begins much later; all of its own are done. */
static int rank_1_polls_its_window(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  const uint32_t rank = pto_runtime_rank(rt);
  const uint64_t shape[] = {16};
  struct pto_comm comm;
  int status = pto_comm_create(rt, NULL, 0, 64, 4, &comm);
  if (status || rank > 1) return status;
  if (rank == 0) {
    status = chain(rt, job);
    const struct pto_tensor all = pto_external_tensor(rt, job->data[0], PTO_FLOAT32, 1, shape);
    const struct pto_tensor to = pto_comm_peer(rt, comm, 1, PTO_FLOAT32, 1, shape);
    const struct pto_param params[] = {pto_input(&all), pto_output(&to)};
    const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &give_kernel};
    return status ? status : pto_submit(rt, &launch, params, 2, NULL);
  }
  const float *window = pto_comm_window_addr(pto_rank_comm_at(rt->config.rank, comm.id), 1);
  while (status == PTO_OK && __atomic_load_n((const int *)(const void *)window, __ATOMIC_ACQUIRE) == 0)
    status = pto_poll(rt);
  job->found[1] = (int32_t)*window;
  return status;
}

static void test_who_polls_sees_what_another_rank_puts(void **state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 2; threads++) {
    struct job job = {.orchestrate = rank_1_polls_its_window};
    for (uint32_t i = 0; i < 16; i++) job.data[0][i] = 1;
    struct pto_world *world = world_of(4, threads);
    const int status = pto_world_run(world, run_rank, &job);
    if (status) fail_msg("%s", pto_world_last_error(world));
    pto_world_destroy(world);
    assert_int_equal(job.found[1], 1048576);
    assert_true(job.virtual_ps[1] + 1000000 > job.virtual_ps[0]); /* no earlier than it has landed */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_rank_that_tells_nothing_runs_as_without_a_world),
      cmocka_unit_test(test_what_is_put_before_a_notify_is_there_after_the_wait),
      cmocka_unit_test(test_ranks_on_threads_of_their_own_do_the_same),
      cmocka_unit_test(test_a_get_reads_rows_of_a_peers_window),
      cmocka_unit_test(test_a_rank_that_ran_before_joins_those_that_wait_for_it),
      cmocka_unit_test(test_a_communicator_is_there_when_all_have_come),
      cmocka_unit_test(test_a_rank_goes_on_when_it_has_heard_of_the_last),
      cmocka_unit_test(test_who_polls_sees_what_another_rank_puts),
  };
  return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
