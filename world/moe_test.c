/* SPDX-License-Identifier: MIT */
/*
 * MoE dispatch and combine against a loop over all ranks' tokens: 1 to 16 ranks, every dtype, sizes that do not divide,
 * one token, all tokens to one expert, on one thread and two; and what they refuse.
 *
 * An expert multiplies by a number of its own.  Results are compared bit by bit.
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
#define UNTOUCHED 3.0

struct job {
  uint32_t ranks, threads, dtype, out_dtype;
  uint64_t tokens, topk, row_elems, local, capacity; /* rank r has `tokens` + r % 3 · more_tokens */
  uint64_t more_tokens, max_bytes;
  int only_expert; /* that all rows go to; −1: any; −2: row after row to the next */
  uint32_t times;
  bool no_compute;
  uint32_t other_rank; /* has one expert more, or rows of one element more, or a wrong index; `ranks`: none */
  enum { OTHER_LOCAL, OTHER_ROW, OTHER_INDEX } other;
  uint64_t virtual_ps[MOST_RANKS];
  struct pto_array x[MOST_RANKS], idx[MOST_RANKS], weights[MOST_RANKS], recv[MOST_RANKS], count[MOST_RANKS],
      y[MOST_RANKS], out[MOST_RANKS];
};

static bool is_float(const struct job *job) { return pto_dtype_is_float(job->dtype); }
static float factor(uint64_t expert) { return (float)(expert % 7) / 4 - 0.5F; }

static struct pto_tensor tensor_of(struct pto_runtime *rt, const struct pto_array *array) {
  return pto_external_tensor(rt, array->data, array->dtype, array->ndims, array->shape);
}

/* y[e] = recv_x[e] · factor(e) */
static int submit_experts(struct pto_runtime *rt, const struct job *job, uint32_t rank, const struct pto_tensor *recv,
                          const struct pto_tensor *y) {
  int status = PTO_OK;
  for (uint64_t e = 0; e < job->local && status == PTO_OK; e++) {
    const struct pto_tensor from = pto_tensor_slice(recv, 0, e, e + 1, 1), to = pto_tensor_slice(y, 0, e, e + 1, 1);
    const struct pto_param params[] = {pto_input(&from), pto_output(&to),
                                       pto_scalar_f32(factor(rank * job->local + e))};
    status = pto_submit_aiv(rt, pto_kernel_find("mul_scalar"), params, 3);
  }
  return status;
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  struct job *job = context;
  const uint32_t rank = pto_runtime_rank(rt);
  struct pto_comm comm;
  struct pto_moe_handle handle;
  int status = pto_comm_create_for_collectives(rt, NULL, 0, job->max_bytes, &comm);
  const struct pto_tensor x = tensor_of(rt, &job->x[rank]), idx = tensor_of(rt, &job->idx[rank]),
                          recv = tensor_of(rt, &job->recv[rank]), count = tensor_of(rt, &job->count[rank]),
                          weights = tensor_of(rt, &job->weights[rank]), y = tensor_of(rt, &job->y[rank]),
                          out = tensor_of(rt, &job->out[rank]);
  for (uint32_t i = 0; i < job->times && status == PTO_OK; i++) {
    status = pto_submit_moe_dispatch(rt, comm, &x, &idx, &recv, &count, &handle);
    if (status == PTO_OK && is_float(job)) status = submit_experts(rt, job, rank, &recv, &y);
    if (status == PTO_OK && is_float(job)) status = pto_submit_moe_combine(rt, comm, &y, &weights, &handle, &out);
  }
  return status;
}

static int run_rank(struct pto_rank *rank, void *context) {
  struct job *job = context;
  struct pto_runtime *rt = NULL;
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = "a2a3",
                                    .rank = rank,
                                    .no_compute = job->no_compute,
                                    .window = 256,
                                    .heap_bytes = 1 << 20};
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  const int status = pto_run(rt, orchestrate, context);
  if (status) pto_rank_set_error(rank, pto_last_error(rt));
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  job->virtual_ps[pto_rank_index(rank)] = stats.virtual_ps;
  pto_runtime_destroy(rt);
  return status;
}

/* ---- tensors ---- */

static struct pto_array array_of(uint32_t dtype, uint32_t ndims, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t numel = a * b * c;
  return (struct pto_array){
      .dtype = dtype, .ndims = ndims, .shape = {a, b, c}, .numel = numel, .data = calloc(1, 8 * numel + 64)};
}

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static uint64_t tokens_of(const struct job *job, uint32_t rank) { return job->tokens + rank % 3 * job->more_tokens; }

static void make_rank(struct job *job, uint32_t r, uint32_t *state) {
  const uint64_t tokens = tokens_of(job, r), experts = job->local * job->ranks;
  const bool is_other = r == job->other_rank;
  const uint64_t row = job->row_elems + (is_other && job->other == OTHER_ROW);
  const uint64_t local = job->local + (is_other && job->other == OTHER_LOCAL);
  job->x[r] = array_of(job->dtype, 2, tokens, row, 1);
  job->idx[r] = array_of(PTO_INT32, 2, tokens, job->topk, 1);
  job->weights[r] = array_of(PTO_FLOAT32, 2, tokens, job->topk, 1);
  job->recv[r] = array_of(job->dtype, 3, local, job->capacity, row);
  job->count[r] = array_of(PTO_INT32, 1, local, 1, 1);
  job->y[r] = array_of(job->dtype, 3, local, job->capacity, row);
  job->out[r] = array_of(job->out_dtype, 2, tokens, row, 1);
  for (uint64_t i = 0; i < job->x[r].numel; i++)
    pto_array_set(&job->x[r], i, is_float(job) ? next_random(state) / 3e6 - 2 : next_random(state) % 2 + 1.0);
  for (uint64_t i = 0; i < job->recv[r].numel; i++) pto_array_set(&job->recv[r], i, UNTOUCHED);
  for (uint64_t i = 0; i < job->idx[r].numel; i++) {
    const uint64_t any = next_random(state) % experts, next = (r * tokens * job->topk + i) % experts;
    pto_array_set(&job->idx[r], i,
                  job->only_expert >= 0 ? job->only_expert : (double)(job->only_expert == -1 ? any : next));
    pto_array_set(&job->weights[r], i, next_random(state) / 1.7e7);
  }
  if (is_other && job->other == OTHER_INDEX) pto_array_set(&job->idx[r], job->idx[r].numel - 1, (double)experts);
}

static void free_ranks(struct job *job) {
  for (uint32_t r = 0; r < job->ranks; r++) {
    free(job->x[r].data);
    free(job->idx[r].data);
    free(job->weights[r].data);
    free(job->recv[r].data);
    free(job->count[r].data);
    free(job->y[r].data);
    free(job->out[r].data);
  }
}

static int run_world(struct job *job, char *sentence, size_t size) {
  struct pto_world *world = NULL;
  const struct pto_world_config config = {
      .size = sizeof config, .ranks = job->ranks, .chip = "a2a3", .threads = job->threads};
  const int created = pto_world_create(&config, &world, sentence, size);
  if (created) return created;
  const int status = pto_world_run(world, run_rank, job);
  (void)snprintf(sentence, size, "%s", pto_world_last_error(world));
  pto_world_destroy(world);
  return status;
}

/* ---- what it is to give ---- */

static void expect_element(const struct pto_array *array, uint64_t i, double expected, const char *what,
                           uint32_t rank) {
  if (pto_array_get(array, i) != expected)
    fail_msg("%s of rank %u, element %llu: %.9g, not %.9g", what, rank, (unsigned long long)i, pto_array_get(array, i),
             expected);
}

static float rounded(uint32_t dtype, double value) {
  uint64_t memory = 0;
  struct pto_array one = {.dtype = dtype, .ndims = 1, .shape = {1}, .numel = 1, .data = &memory};
  pto_array_set(&one, 0, value);
  return (float)pto_array_get(&one, 0);
}

static void expect_dispatch(const struct job *job) {
  const uint64_t experts = job->local * job->ranks, row = job->row_elems;
  uint64_t *got = calloc(experts, sizeof *got);
  for (uint32_t r = 0; r < job->ranks; r++)
    for (uint64_t i = 0; i < job->idx[r].numel; i++) {
      const uint64_t e = (uint64_t)pto_array_get(&job->idx[r], i), at = got[e]++;
      for (uint64_t h = 0; h < row; h++)
        expect_element(&job->recv[e / job->local], (e % job->local * job->capacity + at) * row + h,
                       pto_array_get(&job->x[r], i / job->topk * row + h), "recv_x", (uint32_t)(e / job->local));
    }
  for (uint64_t e = 0; e < experts; e++) {
    const uint32_t owner = (uint32_t)(e / job->local);
    expect_element(&job->count[owner], e % job->local, (double)got[e], "recv_count", owner);
    for (uint64_t i = got[e] * row; i < job->capacity * row; i++)
      expect_element(&job->recv[owner], e % job->local * job->capacity * row + i, rounded(job->dtype, UNTOUCHED),
                     "recv_x behind the rows", owner);
  }
  free(got);
}

static void expect_combine(const struct job *job) {
  const uint64_t row = job->row_elems;
  for (uint32_t r = 0; r < job->ranks; r++)
    for (uint64_t i = 0; i < job->out[r].numel; i++) {
      float sum = 0;
      for (uint64_t k = 0; k < job->topk; k++) {
        const uint64_t at = i / row * job->topk + k;
        const float x = (float)pto_array_get(&job->x[r], i);
        const float answer = rounded(job->dtype, x * factor((uint64_t)pto_array_get(&job->idx[r], at)));
        const float term = (float)pto_array_get(&job->weights[r], at) * answer;
        sum = k ? sum + term : term;
      }
      expect_element(&job->out[r], i, rounded(job->out_dtype, sum), "out", r);
    }
}

static uint64_t fitting_bytes(const struct job *job) {
  const uint64_t sent = (job->tokens + 2 * job->more_tokens) * job->topk, taken = job->local * job->capacity;
  const uint64_t bytes = (sent > taken ? sent : taken) * job->row_elems * pto_dtype_bits(job->dtype) / 8;
  const uint64_t least = 4 * job->local * job->ranks + 16;
  return bytes > least ? bytes : least;
}

static void run_job(struct job job) {
  char sentence[512] = "";
  uint32_t state = job.ranks + 31 * job.dtype + (uint32_t)job.tokens;
  if (!job.threads) job.threads = 1;
  if (!job.times) job.times = 1;
  if (!job.capacity)
    for (uint32_t r = 0; r < job.ranks; r++) job.capacity += tokens_of(&job, r) * job.topk;
  job.other_rank = job.ranks;
  job.max_bytes = fitting_bytes(&job);
  for (uint32_t r = 0; r < job.ranks; r++) make_rank(&job, r, &state);
  if (run_world(&job, sentence, sizeof sentence)) fail_msg("%s", sentence);
  expect_dispatch(&job);
  if (is_float(&job)) expect_combine(&job);
  free_ranks(&job);
}

/* ---- tests ---- */

static void test_any_experts(void **state) {
  (void)state;
  static const uint32_t ranks[] = {1, 2, 3, 4, 8, 16};
  static const uint64_t rows[] = {1, 5, 261};
  for (uint32_t i = 0; i < 6; i++)
    for (uint32_t c = 0; c < 3; c++)
      run_job((struct job){.ranks = ranks[i],
                           .threads = c == 1 && ranks[i] > 1 ? 2 : 1,
                           .tokens = 3 + 4 * c,
                           .more_tokens = c,
                           .topk = 1 + c,
                           .row_elems = rows[c],
                           .local = 3 - c,
                           .only_expert = -1,
                           .times = 1 + 2 * (c == 2)});
}

static void test_one_token_and_one_expert(void **state) {
  (void)state;
  static const uint32_t ranks[] = {1, 2, 4, 8, 16};
  for (uint32_t i = 0; i < 5; i++) {
    run_job((struct job){.ranks = ranks[i], .tokens = 1, .topk = 1, .row_elems = 9, .local = 2, .only_expert = -1});
    run_job((struct job){.ranks = ranks[i],
                         .threads = ranks[i] > 1 ? 2 : 1,
                         .tokens = 6,
                         .topk = 2,
                         .row_elems = 9,
                         .local = 2,
                         .only_expert = (int)ranks[i]});
  }
}

static void test_every_dtype(void **state) {
  (void)state;
  static const uint32_t ranks[] = {2, 3, 4, 8, 16};
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    for (uint32_t i = 0; i < 5; i++)
      for (uint32_t same = 0; same <= pto_dtype_is_float(dtype); same++)
        run_job((struct job){.ranks = ranks[i],
                             .dtype = dtype,
                             .out_dtype = same ? dtype : PTO_FLOAT32,
                             .tokens = 5,
                             .more_tokens = 1,
                             .topk = 2,
                             .row_elems = pto_dtype_is_four_bit(dtype) ? 6 : 7,
                             .local = 2,
                             .only_expert = -1,
                             .times = 2});
}

/* The sentence that a job ends with. */
static void expect_refusal(struct job job, int status, const char *first, const char *second) {
  char sentence[512] = "";
  uint32_t state = 5;
  job.threads = job.times = 1;
  if (!job.max_bytes) job.max_bytes = 2 * fitting_bytes(&job) + 64;
  for (uint32_t r = 0; r < job.ranks; r++) make_rank(&job, r, &state);
  const int found = run_world(&job, sentence, sizeof sentence);
  if (found != status) fail_msg("status %d, not %d: %s", found, status, sentence);
  if (!strstr(sentence, first) || !strstr(sentence, second))
    fail_msg("\"%s\" has not \"%s\" and \"%s\"", sentence, first, second);
  free_ranks(&job);
}

static void test_what_is_refused(void **state) {
  (void)state;
  const struct job job = {.ranks = 4,
                          .tokens = 3,
                          .topk = 2,
                          .row_elems = 8,
                          .local = 2,
                          .capacity = 24,
                          .only_expert = 5,
                          .other_rank = 4};
  struct job wrong = job;
  wrong.capacity = 23;
  expect_refusal(wrong, PTO_EKERNEL, "moe_dispatch_meta", "expert 5, of place 2, gets 24 rows, and its capacity is 23");
  wrong = job;
  wrong.other_rank = 1;
  wrong.other = OTHER_INDEX;
  expect_refusal(wrong, PTO_EKERNEL, "rank 1", "token 2 is sent to expert 8 of 8");
  wrong.other = OTHER_LOCAL;
  expect_refusal(wrong, PTO_EKERNEL, "place 1 has 3 experts", "place 0 has 2");
  wrong.other = OTHER_ROW;
  expect_refusal(wrong, PTO_EKERNEL, "place 1 sends rows of 9 f32", "place 0 of 8 f32");
  wrong = job;
  wrong.max_bytes = 100;
  expect_refusal(wrong, PTO_EUSER, "a collective of 1536 bytes", "was not made for it");
  wrong = job;
  wrong.dtype = PTO_INT4;
  wrong.row_elems = 7;
  expect_refusal(wrong, PTO_EUSER, "rows of 7 4-bit elements", "odd");
}

/* Where nothing is computed, rows take the time of rows that go evenly. */
static void test_without_memory_routing_is_even(void **state) {
  (void)state;
  static const uint32_t ranks[] = {1, 2, 4, 8};
  for (uint32_t i = 0; i < 4; i++) {
    struct job job = {.ranks = ranks[i],
                      .threads = 1,
                      .tokens = 7,
                      .topk = 3,
                      .row_elems = 500,
                      .local = 3,
                      .only_expert = -2,
                      .times = 2,
                      .other_rank = ranks[i]};
    uint64_t virtual_ps[MOST_RANKS];
    uint32_t random = 1;
    char sentence[512] = "";
    job.capacity = (7 * 3 + 2) / 3;
    job.max_bytes = fitting_bytes(&job);
    for (uint32_t r = 0; r < job.ranks; r++) make_rank(&job, r, &random);
    if (run_world(&job, sentence, sizeof sentence)) fail_msg("%s", sentence);
    memcpy(virtual_ps, job.virtual_ps, sizeof virtual_ps);
    job.no_compute = true;
    if (run_world(&job, sentence, sizeof sentence)) fail_msg("%s", sentence);
    for (uint32_t r = 0; r < job.ranks; r++) assert_int_equal(job.virtual_ps[r], virtual_ps[r]);
    job.capacity--;
    free_ranks(&job);
    for (uint32_t r = 0; r < job.ranks; r++) make_rank(&job, r, &random);
    assert_int_equal(run_world(&job, sentence, sizeof sentence), PTO_EKERNEL);
    assert_non_null(strstr(sentence, "gets 7 rows, and its capacity is 6"));
    free_ranks(&job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_experts),
      cmocka_unit_test(test_one_token_and_one_expert),
      cmocka_unit_test(test_every_dtype),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_without_memory_routing_is_even),
  };
  return cmocka_run_group_tests_name("moe", tests, NULL, NULL);
}
