/* SPDX-License-Identifier: MIT */
/*
 * Collectives against loops that do what their names say: every algorithm, dtype and reduction, 2 to 16 ranks, sizes
 * that do not divide, in place and not, one after another on the same communicator.
 *
 * Sums of f32 are compared bit by bit, added in the order that the algorithm promises; of other dtypes the numbers are
 * small integers, whose sums are exact in any order.
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
#include <runtime/base/dtype.h>

#define MOST_RANKS 16u
#define MOST_ELEMS 1200u

enum verb { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, ALL_TO_ALL };

struct job {
  enum verb verb;
  enum pto_all_reduce algorithm;
  enum pto_reduction reduction;
  uint32_t dtype, ranks, root;
  uint64_t in_count, out_count[MOST_RANKS];
  bool in_place;
  uint32_t times; /* the collective is done again, on what it gave where that has the size of in */
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

static double combine(enum pto_reduction reduction, double a, double b) {
  switch (reduction) {
  case PTO_REDUCE_SUM:
    return (double)((float)a + (float)b);
  case PTO_REDUCE_PRODUCT:
    return (double)((float)a * (float)b);
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
    sum = combine(job->reduction, sum, x[at][k]);
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
      x[r][k] = job->dtype == PTO_FLOAT32 ? (double)((float)random / 4099.0F - 1000.0F)
                : job->dtype == PTO_BOOL  ? random % 2
                                          : random % 2 + 1;
      pto_array_set(&job->in[r], k, x[r][k]);
    }
  }
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
    for (uint32_t verb = ALL_GATHER; verb <= ALL_TO_ALL; verb++) {
      struct job job = {.verb = (enum verb)verb, .dtype = dtype, .ranks = 3, .root = 1, .in_count = 24, .times = 3};
      run_job(&job, dtype);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_f32_is_added_in_the_order_of_the_name),
      cmocka_unit_test(test_every_dtype_and_reduction),
      cmocka_unit_test(test_the_others),
      cmocka_unit_test(test_what_moves_takes_every_dtype),
  };
  return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
