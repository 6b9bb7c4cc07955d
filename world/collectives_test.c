/* SPDX-License-Identifier: MIT */
/*
 * Collectives against loops that do what their names say, bit for bit: every algorithm, dtype and reduction, 2 to 16
 * ranks, sizes that do not divide, in place and not, one after another on the same communicator.  A barrier ends on no
 * rank before it has begun on all.
 *
 * Floats are numbers whose sums and products depend on the order, which is counted; integers have any bits, and wrap.
 * Some of the sizes and reductions are of PTO_TEST_LONG=1 alone.
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
#define MOST_ELEMS 1202u

enum verb { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, ALL_TO_ALL };

struct job {
  enum verb verb;
  enum pto_all_reduce algorithm;
  enum pto_reduction reduction;
  uint32_t dtype, ranks, root;
  uint64_t in_count, out_count[MOST_RANKS];
  bool in_place;
  uint32_t times; /* the collective is done again, on what it gave where that has the size of in */
  unsigned char *in[MOST_RANKS], *out[MOST_RANKS];
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
  const struct pto_tensor in = pto_external_tensor(rt, job->in[rank], job->dtype, 1, &job->in_count);
  const struct pto_tensor out =
      job->in_place ? in : pto_external_tensor(rt, job->out[rank], job->dtype, 1, &job->out_count[rank]);
  for (uint32_t i = 0; i < job->times && status == PTO_OK; i++) status = submit(rt, comm, job, &in, &out);
  return status;
}

static int run_rank(struct pto_rank *rank, void *context) {
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = "a2a3",
                                    .rank = rank,
                                    .clusters = 8, /* a block for each of 15 peers */
                                    .window = 64,
                                    .heap_bytes = 1 << 16};
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  const int status = pto_run(rt, orchestrate, context);
  if (status) pto_rank_set_error(rank, pto_last_error(rt));
  pto_runtime_destroy(rt);
  return status;
}

/* ---- elements: bits ---- */

static uint64_t get(uint32_t dtype, const unsigned char *data, uint64_t k) {
  const uint64_t bytes = pto_dtype_size(dtype);
  uint64_t raw = 0;
  if (pto_dtype_is_four_bit(dtype)) return data[k / 2] >> (k % 2 * 4) & 15u;
  memcpy(&raw, data + k * bytes, bytes);
  return raw;
}

static void set(uint32_t dtype, unsigned char *data, uint64_t k, uint64_t raw) {
  const uint64_t bytes = pto_dtype_size(dtype);
  if (pto_dtype_is_four_bit(dtype))
    data[k / 2] = (unsigned char)((data[k / 2] & ~(15u << k % 2 * 4)) | raw << k % 2 * 4);
  else
    memcpy(data + k * bytes, &raw, bytes);
}

static float as_float(uint32_t dtype, uint64_t raw) {
  const uint32_t low = (uint32_t)raw;
  float value;
  if (dtype == PTO_FLOAT16) return pto_fp16_to_f32((uint16_t)raw);
  if (dtype == PTO_BFLOAT16) return pto_bf16_to_f32((uint16_t)raw);
  memcpy(&value, &low, sizeof value);
  return value;
}

static uint64_t of_float(uint32_t dtype, float value) {
  uint32_t raw;
  if (dtype == PTO_FLOAT16) return pto_fp16_from_f32(value);
  if (dtype == PTO_BFLOAT16) return pto_bf16_from_f32(value);
  memcpy(&raw, &value, sizeof raw);
  return raw;
}

/* ---- what it is to give ---- */

static uint64_t combine_floats(const struct job *job, uint64_t a, uint64_t b) {
  const float x = as_float(job->dtype, a), y = as_float(job->dtype, b);
  switch (job->reduction) {
  case PTO_REDUCE_SUM:
    return of_float(job->dtype, x + y);
  case PTO_REDUCE_PRODUCT:
    return of_float(job->dtype, x * y);
  case PTO_REDUCE_MAXIMUM:
    return x > y ? a : b;
  case PTO_REDUCE_MINIMUM:
    return x < y ? a : b;
  }
  return 0;
}

static uint64_t combine(const struct job *job, uint64_t a, uint64_t b) {
  const uint32_t above = 64 - pto_dtype_bits(job->dtype);
  const bool is_less = pto_dtype_is_signed(job->dtype) ? (int64_t)(a << above) < (int64_t)(b << above) : a < b;
  if (pto_dtype_is_float(job->dtype)) return combine_floats(job, a, b);
  switch (job->reduction) {
  case PTO_REDUCE_SUM:
    return (a + b) << above >> above;
  case PTO_REDUCE_PRODUCT:
    return (a * b) << above >> above;
  case PTO_REDUCE_MAXIMUM:
    return is_less ? b : a;
  case PTO_REDUCE_MINIMUM:
    return is_less ? a : b;
  }
  return 0;
}

/* Of element k of the inputs `x`, beginning with rank `first` and going on by `step`. */
static uint64_t fold(const struct job *job, uint64_t (*x)[MOST_ELEMS], uint64_t k, uint32_t first, uint32_t step) {
  uint64_t sum = x[first][k];
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

static uint64_t reduced(const struct job *job, uint64_t (*x)[MOST_ELEMS], uint64_t k) {
  const uint64_t half = part(&(struct job){.ranks = 2, .dtype = job->dtype}, job->in_count, 1);
  const bool is_bidirectional = job->algorithm == PTO_ALL_REDUCE_BIDIRECTIONAL_RING && job->ranks > 2;
  const bool is_ring = job->verb == ALL_REDUCE && job->algorithm >= PTO_ALL_REDUCE_RING;
  if (!is_ring) return fold(job, x, k, 0, 1);
  if (!is_bidirectional) return fold(job, x, k, (owner(job, job->in_count, k) + 1) % job->ranks, 1);
  if (k < half) return fold(job, x, k, (owner(job, half, k) + 1) % job->ranks, 1);
  return fold(job, x, k, (owner(job, job->in_count - half, k - half) + job->ranks - 1) % job->ranks, job->ranks - 1);
}

static uint64_t expected(const struct job *job, uint64_t (*x)[MOST_ELEMS], uint32_t rank, uint64_t k) {
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

/* Factors are near 1, so that their product rounds and seldom overflows. */
static uint64_t any_element(const struct job *job, uint32_t *state) {
  const uint32_t high = next_random(state), low = next_random(state), above = 64 - pto_dtype_bits(job->dtype);
  const float unit = (float)(high >> 8) / 16777216.0F;
  if (job->dtype == PTO_BOOL) return high >> 31;
  if (!pto_dtype_is_float(job->dtype) || job->verb > REDUCE_SCATTER)
    return ((uint64_t)high << 32 | low) << above >> above;
  if (job->reduction == PTO_REDUCE_PRODUCT)
    return of_float(job->dtype, (0.8F + 0.45F * unit) * (low >> 31 ? -1.0F : 1.0F));
  return of_float(job->dtype, 4093.0F * unit - 1000.0F);
}

static uint64_t order_matters; /* elements whose sum is another one from the next rank on */

static void compare(const struct job *job, uint32_t rank, const uint64_t *expected_bits) {
  const unsigned char *out = job->in_place ? job->in[rank] : job->out[rank];
  for (uint64_t k = 0; k < job->out_count[rank]; k++)
    if (get(job->dtype, out, k) != expected_bits[k])
      fail_msg("verb %d algorithm %d reduction %d dtype %s ranks %u count %llu rank %u element %llu: %llx, not %llx",
               (int)job->verb, (int)job->algorithm, (int)job->reduction, pto_dtype_name(job->dtype), job->ranks,
               (unsigned long long)job->in_count, rank, (unsigned long long)k,
               (unsigned long long)get(job->dtype, out, k), (unsigned long long)expected_bits[k]);
}

static void run_job(struct job *job, uint32_t seed) {
  static uint64_t x[MOST_RANKS][MOST_ELEMS], y[MOST_RANKS][MOST_ELEMS];
  uint32_t state = seed;
  for (uint32_t r = 0; r < job->ranks; r++) {
    job->out_count[r] = job->in_count;
    if (job->verb == REDUCE_SCATTER) job->out_count[r] = part(job, job->in_count, r + 1) - part(job, job->in_count, r);
    if (job->verb == ALL_GATHER) job->out_count[r] = job->in_count * job->ranks;
    assert_true(job->in_count <= MOST_ELEMS && job->out_count[r] <= MOST_ELEMS);
    job->in[r] = calloc(1, 8 * job->in_count + 64);
    job->out[r] = calloc(1, 8 * job->out_count[r] + 64);
    for (uint64_t k = 0; k < job->in_count; k++) set(job->dtype, job->in[r], k, x[r][k] = any_element(job, &state));
  }
  for (uint64_t k = 0; k < job->in_count && job->verb <= REDUCE_SCATTER; k++)
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
    compare(job, r, y[r]);
    free(job->in[r]);
    free(job->out[r]);
  }
}

/* ---- tests ---- */

static const uint32_t ranks_of[] = {2, 3, 4, 8, 16};
static bool is_long(void) { return getenv("PTO_TEST_LONG") != NULL; }
/* 4-bit elements go by pairs. */
static uint64_t unit_of(uint32_t dtype) { return pto_dtype_is_four_bit(dtype) ? 2 : 1; }

/* Of 2, 4, 8 and 16 ranks none divides these.  The next collective of a job takes what the first one gave. */
static void reduce(uint32_t dtype, enum pto_reduction reduction, uint32_t ranks, uint64_t count, uint32_t times) {
  const bool is_ordered = pto_dtype_is_float(dtype) && reduction <= PTO_REDUCE_PRODUCT;
  const uint64_t before = order_matters;
  for (uint32_t algorithm = 0; algorithm <= PTO_ALL_REDUCE_BIDIRECTIONAL_RING + 1u; algorithm++) {
    const bool is_scatter = algorithm > PTO_ALL_REDUCE_BIDIRECTIONAL_RING;
    struct job job = {.verb = is_scatter ? REDUCE_SCATTER : ALL_REDUCE,
                      .algorithm = is_scatter ? PTO_ALL_REDUCE_ONE_PHASE : (enum pto_all_reduce)algorithm,
                      .reduction = reduction,
                      .dtype = dtype,
                      .ranks = ranks,
                      .in_count = count * unit_of(dtype),
                      .in_place = !is_scatter && (algorithm + times) % 2,
                      .times = times};
    run_job(&job, 7 * ranks + algorithm + 31 * dtype);
  }
  if (is_ordered && ranks > 2 && count > 40) assert_true(order_matters > before + count / 2);
}

/* Without PTO_TEST_LONG: of 4 ranks all dtypes, of others floats, whose order matters, and some more. */
static uint32_t dtypes_of(uint32_t i) {
  const uint32_t all = pto_kernel_find("add")->params[0].dtypes;
  return is_long() || ranks_of[i] == 4 ? all : all & (PTO_DTYPES_FLOAT | 0x8421u << i);
}

static void reduce_dtypes(enum pto_reduction reduction, uint32_t i, uint64_t count, uint32_t times) {
  const uint32_t dtypes = dtypes_of(i);
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    if (dtypes & PTO_DTYPE_BIT(dtype)) reduce(dtype, reduction, ranks_of[i], count, times);
}

static void test_sums_of_every_dtype_are_added_in_the_order_of_the_name(void **state) {
  (void)state;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(ranks_of); i++) {
    reduce_dtypes(PTO_REDUCE_SUM, i, 67, 1);
    if (is_long()) reduce_dtypes(PTO_REDUCE_SUM, i, 5, 2);
    if (is_long()) reduce_dtypes(PTO_REDUCE_SUM, i, 601, 2);
    reduce(PTO_FLOAT32, PTO_REDUCE_SUM, ranks_of[i], 1, 1);
    reduce(PTO_FLOAT32, PTO_REDUCE_SUM, ranks_of[i], 5, 2);
    reduce(PTO_FLOAT32, PTO_REDUCE_SUM, ranks_of[i], 1201, 4);
  }
}

static void test_other_reductions_of_every_dtype_are_done_in_that_order_too(void **state) {
  (void)state;
  for (uint32_t reduction = PTO_REDUCE_PRODUCT; reduction <= PTO_REDUCE_MINIMUM; reduction++)
    for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(ranks_of); i++)
      if (is_long() || ranks_of[i] == 4) reduce_dtypes((enum pto_reduction)reduction, i, 45, 2);
}

static void test_what_moves_takes_every_dtype(void **state) {
  (void)state;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    for (uint32_t verb = ALL_GATHER; verb <= ALL_TO_ALL; verb++)
      for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(ranks_of); i++) {
        const uint32_t ranks = ranks_of[i];
        if (!is_long() && (dtype + verb) % 5 != i) continue;
        struct job job = {.verb = (enum verb)verb,
                          .dtype = dtype,
                          .ranks = ranks,
                          .root = (dtype + i) % ranks,
                          .in_count = unit_of(dtype) * (verb == ALL_TO_ALL ? 7 * ranks : 23),
                          .in_place = dtype % 2 && verb != ALL_GATHER,
                          .times = 3};
        run_job(&job, dtype + 31 * ranks);
      }
}

static void test_a_rank_alone_and_other_sizes(void **state) {
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
      cmocka_unit_test(test_sums_of_every_dtype_are_added_in_the_order_of_the_name),
      cmocka_unit_test(test_other_reductions_of_every_dtype_are_done_in_that_order_too),
      cmocka_unit_test(test_what_moves_takes_every_dtype),
      cmocka_unit_test(test_a_rank_alone_and_other_sizes),
      cmocka_unit_test(test_no_barrier_ends_before_all_have_begun),
  };
  return cmocka_run_group_tests_name("collectives", tests, NULL, NULL);
}
