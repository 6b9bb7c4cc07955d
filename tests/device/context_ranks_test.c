/* SPDX-License-Identifier: MIT */
/*
 * Contexts of the ranks of a world: dispatches go on where the one before has ended, communicators outlast them and
 * their contexts, and a rank has one context at a time that runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pto/collectives.h>
#include <pto/device.h>

#define MOST_RANKS 4u
#define ELEMS 100u
#define DISPATCHES 3u
#define CONTEXTS 2u

/* What a rank's program keeps, and what came of it. */
struct rank_run {
  struct pto_comm comm;
  bool has_comm;
  float results[CONTEXTS][DISPATCHES];
  uint64_t clock_ps[CONTEXTS], misses, unusable;
};

static int sum_over_ranks(struct pto_runtime *rt, const struct pto_bound *bound) {
  struct rank_run *run = bound->context;
  const uint64_t bytes = ELEMS * sizeof(float);
  const int status = run->has_comm ? PTO_OK : pto_comm_create_for_collectives(rt, NULL, 0, bytes, &run->comm);
  run->has_comm = status == PTO_OK;
  return status ? status
                : pto_submit_all_reduce(rt, run->comm, bound->inputs, bound->outputs, PTO_REDUCE_SUM,
                                        PTO_ALL_REDUCE_TWO_PHASE);
}

static const struct pto_operand operands[] = {{"x", PTO_FLOAT32, 1, {ELEMS}}, {"sum", PTO_FLOAT32, 1, {ELEMS}}};

static struct pto_context *context_of(struct pto_rank *rank) {
  char sentence[256] = "";
  struct pto_context *context = NULL;
  struct pto_context_options options = {.size = sizeof options, .memory_bytes = 1 << 20};
  options.runtime = (struct pto_config){.size = sizeof options.runtime, .engine = "virtual", .rank = rank};
  options.runtime.chip = "tiny";
  if (pto_context_create(&options, &context, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return context;
}

static struct pto_device_tensor tensor_of(struct pto_context *context) {
  struct pto_device_tensor tensor;
  const struct pto_device_tensor_desc desc = {.dtype = PTO_FLOAT32, .ndims = 1, .shape = {ELEMS}};
  assert_int_equal(pto_device_tensor_create_host(context, &desc, &tensor), PTO_OK);
  return tensor;
}

static int dispatch(struct pto_context *context, const struct pto_device_program *program,
                    const struct pto_device_tensor tensors[2]) {
  const struct pto_binding x = {"x", tensors[0]}, sum = {"sum", tensors[1]};
  const struct pto_dispatch_bindings bindings = {.inputs = &x, .outputs = &sum, .input_count = 1, .output_count = 1};
  return pto_context_dispatch(context, program, &bindings);
}

static struct pto_device_program program_of(struct rank_run *run) {
  return (struct pto_device_program){.name = "sum",
                                     .inputs = &operands[0],
                                     .outputs = &operands[1],
                                     .input_count = 1,
                                     .output_count = 1,
                                     .orchestrate = sum_over_ranks,
                                     .context = run,
                                     .repeats = 1};
}

/* In each context, the rank's number more with each dispatch, summed over the ranks. */
static int run_rank(struct pto_rank *rank, void *argument) {
  struct rank_run *run = (struct rank_run *)argument + pto_rank_index(rank);
  const struct pto_device_program program = program_of(run);
  for (uint32_t c = 0; c < CONTEXTS; c++) {
    struct pto_context *context = context_of(rank);
    const struct pto_device_tensor tensors[] = {tensor_of(context), tensor_of(context)};
    for (uint32_t d = 0; d < DISPATCHES; d++) {
      float x[ELEMS], sum[ELEMS];
      for (uint32_t i = 0; i < ELEMS; i++) x[i] = (float)((d + 1) * (pto_rank_index(rank) + 1) + i);
      assert_int_equal(pto_device_tensor_write(context, tensors[0], x, sizeof x), PTO_OK);
      assert_int_equal(dispatch(context, &program, tensors), PTO_OK);
      const int status = pto_device_tensor_read(context, tensors[1], sum, sizeof sum);
      if (status) fail_msg("rank %u: %s", pto_rank_index(rank), pto_context_error(context));
      for (uint32_t i = 1; i < ELEMS; i++) assert_true(sum[i] == sum[0] + (float)(i * pto_rank_count(rank)));
      run->results[c][d] = sum[0];
    }
    struct pto_context_counters counters = {.size = sizeof counters};
    pto_context_counters(context, &counters);
    run->misses += counters.lowering_cache_misses;
    run->unusable += counters.lowering_cache_unusable;
    pto_context_destroy(context);
    run->clock_ps[c] = pto_rank_clock_ps(rank);
  }
  return PTO_OK;
}

static void run_world(uint32_t ranks, uint32_t threads, int (*main)(struct pto_rank *, void *), void *argument) {
  char sentence[256] = "";
  struct pto_world *world = NULL;
  const struct pto_world_config config = {.size = sizeof config, .ranks = ranks, .chip = "tiny", .threads = threads};
  if (pto_world_create(&config, &world, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_world_run(world, main, argument)) fail_msg("%s", pto_world_last_error(world));
  pto_world_destroy(world);
}

static void test_dispatches_of_ranks_meet_in_one_communicator_over_contexts(void **state) {
  (void)state;
  struct rank_run runs[2][MOST_RANKS] = {0};
  for (uint32_t t = 0; t < 2; t++) run_world(MOST_RANKS, t + 1, run_rank, runs[t]);
  assert_memory_equal(runs[0], runs[1], sizeof runs[0]); /* on one thread and on two */
  for (uint32_t r = 0; r < MOST_RANKS; r++) {
    const struct rank_run *run = &runs[0][r];
    for (uint32_t d = 0; d < CONTEXTS * DISPATCHES; d++)
      assert_true(run->results[d / DISPATCHES][d % DISPATCHES] == (float)((d % DISPATCHES + 1) * (1 + 2 + 3 + 4)));
    assert_true(run->clock_ps[0] > 0 && run->clock_ps[1] > run->clock_ps[0]);
    /* The program says that it repeats; but an all-reduce is another each time. */
    assert_int_equal(run->misses, CONTEXTS * DISPATCHES);
    assert_int_equal(run->unusable, CONTEXTS * DISPATCHES);
  }
}

/* ---- two at a time ---- */

static int nothing(struct pto_runtime *rt, const struct pto_bound *bound) {
  (void)rt;
  (void)bound;
  return PTO_OK;
}

static int run_two(struct pto_rank *rank, void *argument) {
  (void)argument;
  struct pto_context *first = context_of(rank), *second = context_of(rank);
  struct pto_device_program program = program_of(NULL);
  program.orchestrate = nothing;
  const struct pto_device_tensor of_first[] = {tensor_of(first), tensor_of(first)};
  const struct pto_device_tensor of_second[] = {tensor_of(second), tensor_of(second)};
  assert_int_equal(dispatch(first, &program, of_first), PTO_OK);
  assert_int_equal(pto_context_sync(first), PTO_OK);
  assert_int_equal(dispatch(second, &program, of_second), PTO_OK);
  assert_int_equal(pto_context_sync(second), PTO_EINVAL);
  assert_non_null(strstr(pto_context_error(second), "another run of this rank goes on"));
  pto_context_destroy(first);
  assert_int_equal(pto_context_clear_error(second), PTO_OK);
  assert_int_equal(dispatch(second, &program, of_second), PTO_OK);
  assert_int_equal(pto_context_sync(second), PTO_OK);
  pto_context_destroy(second);
  return PTO_OK;
}

static void test_a_rank_has_one_context_at_a_time_that_runs(void **state) {
  (void)state;
  run_world(2, 1, run_two, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dispatches_of_ranks_meet_in_one_communicator_over_contexts),
      cmocka_unit_test(test_a_rank_has_one_context_at_a_time_that_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
