/* SPDX-License-Identifier: MIT */
/*
 * Collectives against loops that do what their names say: every algorithm, dtype and reduction, 2 to 16 ranks, sizes
 * that do not divide, in place and not, one after another on the same communicator.  A barrier ends on no rank before
 * it has begun on all.
 *
 * Sums of f32, and fine ones of fp16 and bf16, are compared bit by bit, added in the order that the algorithm promises;
 * of other dtypes the numbers are small integers, whose sums are exact in any order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pto/collectives.h>
#include <pto/program.h>
#include <pto/remote.h>
#include <runtime/base/dtype.h>
#include <runtime/control/control.h>

#define MOST_RANKS 16u
#define MOST_ELEMS 1200u

enum verb { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, ALL_TO_ALL };

struct job {
  enum verb verb;
  enum pto_all_reduce algorithm;
  enum pto_reduction reduction;
  uint32_t dtype, ranks, root;
  uint64_t in_count, out_count[MOST_RANKS];
  bool in_place, is_fine; /* fine: of numbers whose sums depend on the order; so is all f32 */
  uint32_t times;         /* the collective is done again, on what it gave where that has the size of in */
  struct pto_array in[MOST_RANKS], out[MOST_RANKS];
};

static uint64_t part(const struct job *job, uint64_t count, uint64_t index) {
  const uint64_t unit = pto_dtype_is_four_bit(job->dtype) ? 2 : 1;
  return index == job->ranks ? count : count / unit * index / job->ranks * unit;
}

static int submit(struct pto_runtime *rt, struct pto_comm comm, const struct job *job, const struct pto_tensor *in,
                  const struct pto_tensor *out) {
  switch (job->verb) {
  case ALL_REDUCE:
    return pto_submit_all_reduce(rt, comm, in, out, job->reduction, job->algorithm);
  case REDUCE_SCATTER:
    return pto_submit_reduce_scatter(rt, comm, in, out, job->reduction);
  case ALL_GATHER:
    return pto_submit_all_gather(rt, comm, in, out);
  case BROADCAST:
    return pto_submit_broadcast(rt, comm, in, out, job->root);
  case ALL_TO_ALL:
    return pto_submit_all_to_all(rt, comm, in, out);
  }
  return PTO_EINVAL;
}

static uint64_t bytes_of(uint32_t dtype, uint64_t count) {
  return pto_dtype_is_four_bit(dtype) ? (count + 1) / 2 : count * pto_dtype_size(dtype);
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  const uint32_t rank = pto_runtime_rank(rt);
  struct pto_comm comm;
  uint64_t most = job->in_count;
  for (uint32_t i = 0; i < job->ranks; i++) most = job->out_count[i] > most ? job->out_count[i] : most;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, bytes_of(job->dtype, most), &comm);
  if (status) return status;
  const struct pto_tensor in = pto_external_tensor(rt, job->in[rank].data, job->dtype, 1, &job->in_count);
  const struct pto_tensor out =
      job->in_place ? in : pto_external_tensor(rt, job->out[rank].data, job->dtype, 1, &job->out_count[rank]);
  for (uint32_t i = 0; i < job->times && status == PTO_OK; i++) status = submit(rt, comm, job, &in, &out);
  return status;
}

static int run_rank(struct pto_rank *rank, void *context) {
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config, .engine = "virtual", .chip = "a2a3", .rank = rank};
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  const int status = pto_run(rt, orchestrate, context);
  if (status) pto_rank_set_error(rank, pto_last_error(rt));
  pto_runtime_destroy(rt);
  return status;
}

/* ---- what it is to give ---- */

static double rounded(uint32_t dtype, float value) {
  if (dtype == PTO_FLOAT16) return (double)pto_fp16_to_f32(pto_fp16_from_f32(value));
  if (dtype == PTO_BFLOAT16) return (double)pto_bf16_to_f32(pto_bf16_from_f32(value));
  return (double)value;
}

static double combine(const struct job *job, double a, double b) {
  switch (job->reduction) {
  case PTO_REDUCE_SUM:
    return rounded(job->dtype, (float)a + (float)b);
  case PTO_REDUCE_PRODUCT:
    return rounded(job->dtype, (float)a * (float)b);
  case PTO_REDUCE_MAXIMUM:
    return a > b ? a : b;
  case PTO_REDUCE_MINIMUM:
    return a < b ? a : b;
  }
  return 0;
}

/* Of element k of the inputs `x`, beginning with rank `first` and going on by `step`. */
static double fold(const struct job *job, double (*x)[MOST_ELEMS], uint64_t k, uint32_t first, uint32_t step) {
  double sum = x[first][k];
  for (uint32_t i = 1, at = first; i < job->ranks; i++) {
    at = (at + step) % job->ranks;
    sum = combine(job, sum, x[at][k]);
  }
  return sum;
}

static uint32_t owner(const struct job *job, uint64_t count, uint64_t k) {
  uint32_t i = 0;
  while (part(job, count, i + 1) <= k) i++;
  return i;
}

static double reduced(const struct job *job, double (*x)[MOST_ELEMS], uint64_t k) {
  const uint64_t half = part(&(struct job){.ranks = 2, .dtype = job->dtype}, job->in_count, 1);
  const bool is_bidirectional = job->algorithm == PTO_ALL_REDUCE_BIDIRECTIONAL_RING && job->ranks > 2;
  const bool is_ring = job->verb == ALL_REDUCE && job->algorithm >= PTO_ALL_REDUCE_RING;
  if (!is_ring) return fold(job, x, k, 0, 1);
  if (!is_bidirectional) return fold(job, x, k, (owner(job, job->in_count, k) + 1) % job->ranks, 1);
  if (k < half) return fold(job, x, k, (owner(job, half, k) + 1) % job->ranks, 1);
  return fold(job, x, k, (owner(job, job->in_count - half, k - half) + job->ranks - 1) % job->ranks, job->ranks - 1);
}

static double expected(const struct job *job, double (*x)[MOST_ELEMS], uint32_t rank, uint64_t k) {
  switch (job->verb) {
  case ALL_REDUCE:
    return reduced(job, x, k);
  case REDUCE_SCATTER:
    return reduced(job, x, k + part(job, job->in_count, rank));
  case ALL_GATHER:
    return x[k / job->in_count][k % job->in_count];
  case BROADCAST:
    return x[job->root][k];
  case ALL_TO_ALL: {
    const uint64_t each = job->in_count / job->ranks;
    return x[k / each][rank * each + k % each];
  }
  }
  return 0;
}

static uint32_t next_random(uint32_t *state) { return *state = *state * 1664525u + 1013904223u; }

static struct pto_array array_of(uint32_t dtype, uint64_t count) {
  return (struct pto_array){
      .dtype = dtype, .ndims = 1, .shape = {count}, .numel = count, .data = calloc(1, 8 * count + 64)};
}

static uint32_t order_matters; /* elements whose sum is another one from the next rank on */

static void run_job(struct job *job, uint32_t seed) {
  static double x[MOST_RANKS][MOST_ELEMS], y[MOST_RANKS][MOST_ELEMS];
  uint32_t state = seed;
  for (uint32_t r = 0; r < job->ranks; r++) {
    job->out_count[r] = job->in_count;
    if (job->verb == REDUCE_SCATTER) job->out_count[r] = part(job, job->in_count, r + 1) - part(job, job->in_count, r);
    if (job->verb == ALL_GATHER) job->out_count[r] = job->in_count * job->ranks;
    job->in[r] = array_of(job->dtype, job->in_count);
    job->out[r] = array_of(job->dtype, job->out_count[r]);
    for (uint64_t k = 0; k < job->in_count; k++) {
      const uint32_t random = next_random(&state) >> 8;
      x[r][k] = job->dtype == PTO_FLOAT32 || job->is_fine ? rounded(job->dtype, (float)random / 4099.0F - 1000.0F)
                : job->dtype == PTO_BOOL                  ? random % 2
                                                          : random % 2 + 1;
      pto_array_set(&job->in[r], k, x[r][k]);
    }
  }
  for (uint64_t k = 0; k < job->in_count && job->is_fine; k++)
    order_matters += fold(job, x, k, 0, 1) != fold(job, x, k, 1, 1);
  for (uint32_t i = 0; i < job->times; i++) {
    for (uint32_t r = 0; r < job->ranks; r++)
      for (uint64_t k = 0; k < job->out_count[r]; k++) y[r][k] = expected(job, x, r, k);
    if (job->in_place) memcpy(x, y, sizeof x);
  }
  struct pto_world *world = NULL;
  char sentence[256] = "";
  const struct pto_world_config config = {.size = sizeof config, .ranks = job->ranks, .chip = "a2a3"};
  if (pto_world_create(&config, &world, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_world_run(world, run_rank, job)) fail_msg("%s", pto_world_last_error(world));
  pto_world_destroy(world);
  for (uint32_t r = 0; r < job->ranks; r++) {
    const struct pto_array *out = job->in_place ? &job->in[r] : &job->out[r];
    for (uint64_t k = 0; k < job->out_count[r]; k++)
      if (pto_array_get(out, k) != y[r][k])
        fail_msg("verb %d algorithm %d dtype %s ranks %u count %llu rank %u element %llu: %.9g, not %.9g",
                 (int)job->verb, (int)job->algorithm, pto_dtype_name(job->dtype), job->ranks,
                 (unsigned long long)job->in_count, r, (unsigned long long)k, pto_array_get(out, k), y[r][k]);
    free(job->in[r].data);
    free(job->out[r].data);
  }
}

static void test_f32_is_added_in_the_order_of_the_name(void **state) {
  (void)state;
  static const uint32_t ranks[] = {2, 3, 4, 8, 16};
  static const uint64_t counts[] = {1, 5, 67, 1200};
  for (uint32_t algorithm = 0; algorithm <= PTO_ALL_REDUCE_BIDIRECTIONAL_RING; algorithm++)
    for (uint32_t i = 0; i < 5; i++)
      for (uint32_t c = 0; c < 4; c++) {
        struct job job = {.algorithm = (enum pto_all_reduce)algorithm,
                          .dtype = PTO_FLOAT32,
                          .ranks = ranks[i],
                          .in_count = counts[c],
                          .in_place = c % 2,
                          .times = 1 + c};
        run_job(&job, 7 * i + c);
      }
}

static void test_halves_are_added_in_that_order_too(void **state) {
  (void)state;
  static const uint32_t ranks[] = {2, 8, 16}, dtypes[] = {PTO_FLOAT16, PTO_BFLOAT16};
  for (uint32_t i = 0; i < 3; i++)
    for (uint32_t d = 0; d < 2; d++) {
      order_matters = 0;
      for (uint32_t algorithm = 0; algorithm <= PTO_ALL_REDUCE_BIDIRECTIONAL_RING; algorithm++) {
        struct job job = {.algorithm = (enum pto_all_reduce)algorithm,
                          .dtype = dtypes[d],
                          .ranks = ranks[i],
                          .in_count = 67,
                          .in_place = algorithm % 2,
                          .is_fine = true,
                          .times = 1};
        run_job(&job, 3 * i + d);
        job.verb = REDUCE_SCATTER;
        job.in_place = false;
        if (algorithm == 0) run_job(&job, 3 * i + d);
      }
      assert_true(ranks[i] == 2 || order_matters > 100);
    }
}

static void test_every_dtype_and_reduction(void **state) {
  (void)state;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    const struct pto_kernel *add = pto_kernel_find("add");
    if (!(add->params[0].dtypes & PTO_DTYPE_BIT(dtype))) continue;
    for (uint32_t reduction = 0; reduction <= PTO_REDUCE_MINIMUM; reduction++)
      for (uint32_t algorithm = 0; algorithm <= PTO_ALL_REDUCE_BIDIRECTIONAL_RING; algorithm++) {
        struct job job = {.reduction = (enum pto_reduction)reduction,
                          .algorithm = (enum pto_all_reduce)algorithm,
                          .dtype = dtype,
                          .ranks = 4,
                          .in_count = 45,
                          .times = 2};
        run_job(&job, dtype + 31 * reduction);
      }
  }
}

static void test_the_others(void **state) {
  (void)state;
  static const uint32_t ranks[] = {1, 2, 4, 8, 16};
  for (uint32_t verb = REDUCE_SCATTER; verb <= ALL_TO_ALL; verb++)
    for (uint32_t i = 0; i < 5; i++)
      for (uint32_t c = 0; c < 3; c++) {
        struct job job = {.verb = (enum verb)verb,
                          .dtype = PTO_FLOAT32,
                          .ranks = ranks[i],
                          .root = c % ranks[i],
                          .in_count = verb == ALL_GATHER   ? 11 + c
                                      : verb == ALL_TO_ALL ? ranks[i] * (5 + c)
                                                           : 101 + c,
                          .in_place = c == 1 && verb != ALL_GATHER && verb != REDUCE_SCATTER,
                          .times = 4};
        run_job(&job, verb + 17 * i + c);
      }
}

static void test_what_moves_takes_every_dtype(void **state) {
  (void)state;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    for (uint32_t verb = ALL_GATHER; verb <= ALL_TO_ALL; verb++)
      for (uint32_t ranks = 3; ranks <= 8; ranks += 5) {
        const uint64_t unit = pto_dtype_is_four_bit(dtype) ? 2 : 1;
        struct job job = {.verb = (enum verb)verb,
                          .dtype = dtype,
                          .ranks = ranks,
                          .root = 1,
                          .in_count = unit * (verb == ALL_TO_ALL ? 7 * ranks : 23),
                          .times = 3};
        run_job(&job, dtype);
      }
}

/* ---- a barrier ---- */

/* When it began and ended on each rank, and what was read behind it. */
struct coming {
  uint64_t begin[MOST_RANKS], end[MOST_RANKS];
  float given[MOST_RANKS], got[MOST_RANKS];
};

static int give_late(const struct pto_kernel_args *args) {
  const int status = pto_core_work(args, &(struct pto_cost){.bytes_in = args->scalars[0].u64});
  return status ? status : pto_core_put(args, &args->tensors[1], &args->tensors[0]);
}
static int take(const struct pto_kernel_args *args) {
  *(float *)args->tensors[1].addr = *(const float *)args->tensors[0].addr;
  return 0;
}
static const struct pto_kernel_param give_params[] = {{.name = "x", .mode = PTO_INPUT},
                                                      {.name = "to", .mode = PTO_OUTPUT},
                                                      {"bytes", PTO_SCALAR, 0, 0, 0, PTO_SCALAR_U64}};
static const struct pto_kernel_param take_params[] = {{.name = "window", .mode = PTO_INPUT},
                                                      {.name = "z", .mode = PTO_OUTPUT}};
static const struct pto_kernel giver = {.name = "give_late",
                                        .cores = PTO_AIV,
                                        .flags = PTO_KERNEL_REMOTE,
                                        .params = give_params,
                                        .param_count = 3,
                                        .run = give_late};
static const struct pto_kernel taker = {
    .name = "take", .cores = PTO_AIV, .params = take_params, .param_count = 2, .run = take};

/* Task 0 gives the next rank a number, the later the rank; task 1 is the barrier; task 2 takes what has come. */
static int meet(struct pto_runtime *rt, void *context) {
  struct coming *coming = context;
  static const uint64_t one[] = {1};
  const uint32_t rank = pto_runtime_rank(rt), count = pto_runtime_rank_count(rt);
  struct pto_comm comm, data;
  struct pto_task barrier;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, 64, &comm);
  if (status == PTO_OK) status = pto_comm_create(rt, NULL, 0, 64, 0, &data);
  if (status) return status;
  const struct pto_tensor given = pto_external_tensor(rt, &coming->given[rank], PTO_FLOAT32, 1, one);
  const struct pto_tensor got = pto_external_tensor(rt, &coming->got[rank], PTO_FLOAT32, 1, one);
  const struct pto_tensor to = pto_comm_peer(rt, data, (rank + 1) % count, PTO_FLOAT32, 1, one);
  const struct pto_tensor window = pto_comm_window(rt, data, PTO_FLOAT32, 1, one);
  const struct pto_param gives[] = {pto_input(&given), pto_output(&to), pto_scalar_u64((rank * 5 % 7 + 1) << 20)};
  const struct pto_param takes[] = {pto_input(&window), pto_output(&got)};
  const struct pto_launch late = {.size = sizeof late, .aiv0 = &giver};
  const struct pto_launch behind = {.size = sizeof behind, .aiv0 = &taker, .after = &barrier, .after_count = 1};
  status = pto_submit_group(rt, comm, &late, gives, 3, NULL);
  if (status == PTO_OK) status = pto_submit_comm_barrier(rt, comm, &barrier);
  return status ? status : pto_submit(rt, &behind, takes, 2, NULL);
}

static int run_comer(struct pto_rank *rank, void *context) {
  struct coming *coming = context;
  const uint32_t index = pto_rank_index(rank);
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {
      .size = sizeof config, .engine = "virtual", .chip = "a2a3", .rank = rank, .record = PTO_RECORD_TIMELINE};
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  const int status = pto_run(rt, meet, context);
  if (status) pto_rank_set_error(rank, pto_last_error(rt));
  const struct pto_trace *trace = pto_runtime_trace(rt);
  coming->begin[index] = UINT64_MAX;
  for (uint64_t i = 0; i < trace->spans[0].count; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(&trace->spans[0], i);
    if (span->task != 1) continue;
    coming->begin[index] = span->begin < coming->begin[index] ? span->begin : coming->begin[index];
    coming->end[index] = span->end > coming->end[index] ? span->end : coming->end[index];
  }
  pto_runtime_destroy(rt);
  return status;
}

static void test_no_barrier_ends_before_all_have_begun(void **state) {
  (void)state;
  for (uint32_t ranks = 2; ranks <= MOST_RANKS; ranks *= 2)
    for (uint32_t threads = 1; threads <= 2; threads++) {
      struct coming coming = {.given = {0}};
      struct pto_world *world = NULL;
      uint64_t last = 0, first = UINT64_MAX;
      for (uint32_t r = 0; r < ranks; r++) coming.given[r] = (float)(r + 10);
      const struct pto_world_config config = {
          .size = sizeof config, .ranks = ranks, .chip = "a2a3", .threads = threads};
      assert_int_equal(pto_world_create(&config, &world, NULL, 0), PTO_OK);
      if (pto_world_run(world, run_comer, &coming)) fail_msg("%s", pto_world_last_error(world));
      pto_world_destroy(world);
      for (uint32_t r = 0; r < ranks; r++) last = coming.begin[r] > last ? coming.begin[r] : last;
      for (uint32_t r = 0; r < ranks; r++) first = coming.begin[r] < first ? coming.begin[r] : first;
      assert_true(first < last);
      for (uint32_t r = 0; r < ranks; r++) {
        assert_true(coming.end[r] > last);
        assert_true(coming.got[r] == coming.given[(r + ranks - 1) % ranks]);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f32_is_added_in_the_order_of_the_name),
      cmocka_unit_test(test_halves_are_added_in_that_order_too),
      cmocka_unit_test(test_every_dtype_and_reduction),
      cmocka_unit_test(test_the_others),
      cmocka_unit_test(test_what_moves_takes_every_dtype),
      cmocka_unit_test(test_no_barrier_ends_before_all_have_begun),
  };
  return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
