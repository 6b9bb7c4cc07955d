/* SPDX-License-Identifier: MIT */
/*
 * Submits that repeat the form of an earlier one and are refused: with the same sentence as in a runtime that has seen
 * nothing, and nothing has changed.
 *
 * To add a refusal: a function that spoils the good submit and a line in `refusals`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/template_hits.h>
#include <tests/support/runtime_fixture.h>

enum { SCALAR_IS_REFUSED = 13, SCALAR_IS_REFUSED_SILENTLY, SCALAR_NEEDS_TOO_MUCH };

static float *row_of(const struct pto_kernel_tensor *t, uint64_t row) { return (float *)t->addr + row * t->strides[0]; }

/* out = in + scalar, sum += in. */
static int run_sum(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++)
    for (uint64_t j = 0; j < a->tensors[0].shape[1]; j++) {
      row_of(&a->tensors[1], i)[j] = row_of(&a->tensors[0], i)[j] + (float)a->scalars[0].u64;
      row_of(&a->tensors[2], i)[j] += row_of(&a->tensors[0], i)[j];
    }
  return 0;
}
static int check_sum(const struct pto_kernel_args *a) {
  if (a->scalars[0].u64 == SCALAR_IS_REFUSED) return pto_kernel_error(a, "sum: %u is bad luck", SCALAR_IS_REFUSED);
  return a->scalars[0].u64 == SCALAR_IS_REFUSED_SILENTLY;
}
static struct pto_cost cost_sum(const struct pto_kernel_args *a) {
  return (struct pto_cost){.local_bytes = a->scalars[0].u64 == SCALAR_NEEDS_TOO_MUCH ? UINT64_C(1) << 40 : 64};
}
static const struct pto_kernel_param sum_params[] = {
    {.name = "in",
     .mode = PTO_INPUT,
     .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32) | PTO_DTYPE_BIT(PTO_INT32),
     .min_rank = 2,
     .max_rank = 2},
    {.name = "out", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32), .min_rank = 2, .max_rank = 2},
    {.name = "sum", .mode = PTO_INOUT, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32), .min_rank = 2, .max_rank = 2},
    {.name = "more", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
static const struct pto_kernel sum_kernel = {.name = "sum",
                                             .cores = PTO_AIV,
                                             .params = sum_params,
                                             .param_count = 4,
                                             .run = run_sum,
                                             .check = check_sum,
                                             .cost = cost_sum};

/* A good submit, and what it may be spoiled with. */
struct attempt {
  struct pto_tensor in, out, sum;
  struct pto_param params[4];
  uint32_t count;
  bool has_no_params;
  struct pto_launch launch;
  struct pto_tensor managed, shadow, fresh, stale, foreign, flag, wide, small; /* of the world */
};

static struct fixture other;

static void make_attempt(struct pto_runtime *rt, struct fixture *f, struct attempt *a) {
  uint64_t shape[2] = {8, 8}, small[2] = {2, 4}, three[3] = {2, 2, 2};
  memset(a, 0, sizeof *a);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  a->stale = pto_managed_tensor(rt, pto_create_buffer(rt, 32), PTO_FLOAT32, 2, small);
  fixture_expect(rt, pto_alloc_tensors(rt, &a->stale, 1, NULL), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  struct pto_tensor matrix = pto_external_tensor(rt, f->memory, PTO_FLOAT32, 2, shape);
  a->shadow = pto_external_tensor(rt, f->memory + 64, PTO_FLOAT32, 2, shape);
  struct pto_tensor sums = pto_external_tensor(rt, f->memory + 1024, PTO_FLOAT32, 2, shape);
  a->managed = pto_managed_tensor(rt, pto_create_buffer(rt, 256), PTO_FLOAT32, 2, shape);
  a->small = pto_external_tensor(rt, f->memory + 2048, PTO_FLOAT32, 2, small);
  a->fresh = pto_managed_tensor(rt, pto_create_buffer(rt, 256), PTO_FLOAT32, 2, shape);
  a->flag = pto_external_tensor(rt, f->memory + 2048, PTO_INT32, 0, NULL);
  a->wide = pto_external_tensor(rt, f->memory + 3072, PTO_FLOAT32, 3, three);
  a->foreign = pto_external_tensor(other.rt, other.memory, PTO_FLOAT32, 2, shape);
  fixture_expect(rt, pto_alloc_tensors(rt, &a->managed, 1, NULL), PTO_OK);
  a->in = fixture_box(&matrix, 2, 2, 4, 4);
  a->out = fixture_box(&a->managed, 4, 2, 0, 4);
  a->sum = fixture_box(&sums, 6, 2, 4, 4);
  a->params[0] = pto_input(&a->in);
  a->params[1] = pto_output(&a->out);
  a->params[2] = pto_inout(&a->sum);
  a->params[3] = pto_scalar_u64(3);
  a->count = 4;
  a->launch = (struct pto_launch){.aiv0 = &sum_kernel};
}
/* Tensors stand in the struct, so a copy's parameters must not point into the original. */
static int submit_attempt(struct pto_runtime *rt, const struct attempt *a) {
  return pto_submit(rt, &a->launch, a->has_no_params ? NULL : a->params, a->count, NULL);
}

#define SPOIL(name) static void name(struct attempt *a)
SPOIL(dtype) { a->in = pto_tensor_reinterpret(&a->in, PTO_FLOAT16); }
SPOIL(no_dtype) { a->in.dtype = 99; }
SPOIL(written_dtype) { a->out.dtype = PTO_INT32; }
SPOIL(rank) { a->in = a->wide; }
SPOIL(no_rank) { a->in.ndims = 9; }
SPOIL(rank_0) { a->sum.ndims = 0; }
SPOIL(mode) { a->params[0].mode = PTO_INOUT; }
SPOIL(mode_accumulate) { a->params[2].mode = PTO_ACCUMULATE; }
SPOIL(no_mode) { a->params[1].mode = 77; }
SPOIL(mode_unused) { a->params[1].mode = PTO_UNUSED; }
SPOIL(tensor_as_scalar) { a->params[0] = pto_scalar_u64(1); }
SPOIL(scalar_as_tensor) { a->params[3] = pto_input(&a->in); }
SPOIL(scalar_type) { a->params[3] = pto_scalar_f32(3.0f); }
SPOIL(null_tensor) { a->params[1].value.tensor = NULL; }
SPOIL(null_last_tensor) { a->params[2].value.tensor = NULL; }
SPOIL(invalid_tensor) { a->in = fixture_box(&a->in, 1, 2, 0, 4); }
SPOIL(status_by_hand) { a->out.status = 3; }
SPOIL(overlap_by_hand) { a->in.overlap = 5; }
SPOIL(one_beyond) { a->in.start_offset = 64 - 12 + 1; }
SPOIL(one_beyond_managed) { a->out.start_offset = 64 - 12 + 1; }
SPOIL(at_the_end) { a->sum.start_offset = 64; }
SPOIL(offset_minus_1) { a->in.start_offset = UINT64_MAX; }
SPOIL(offset_minus_8) { a->in.start_offset = (uint64_t)-8; }
SPOIL(offset_minus_span) { a->in.start_offset = (uint64_t)-12; }
SPOIL(offset_whose_bytes_wrap) { a->in.start_offset = UINT64_C(1) << 62; }
SPOIL(offset_whose_bytes_wrap_far) { a->out.start_offset = (UINT64_C(3) << 62) + 4; }
SPOIL(extent) { a->in.shape[0] = 60; }
SPOIL(stride_that_wraps) { a->in.strides[0] = UINT64_MAX; }
SPOIL(version_of_input) { a->in = pto_tensor_with_version(&a->in, 1); }
SPOIL(version_below) { a->sum = pto_tensor_with_version(&a->sum, -1); }
SPOIL(version_of_inout) { a->sum = pto_tensor_with_version(&a->sum, 1); }
SPOIL(version_too_far) { a->out = pto_tensor_with_version(&a->out, 2); }
SPOIL(stale) { a->in = a->stale; }
SPOIL(stale_of_the_form) {
  a->in.buffer.id = a->stale.buffer.id;
  a->in.buffer.generation = a->stale.buffer.generation;
}
SPOIL(no_buffer) { a->in.buffer = (struct pto_buffer){0, 0, 0, 256}; }
SPOIL(other_generation) { a->in.buffer.generation += UINT64_C(1) << 32; }
SPOIL(other_id) { a->in.buffer.id += 1; }
SPOIL(foreign) { a->in.buffer = a->foreign.buffer; }
SPOIL(size_too_large) { a->in.buffer.size_bytes += 4; }
SPOIL(size_too_small) { a->out.buffer.size_bytes -= 4; }
SPOIL(size_beyond_the_limit) { a->in.buffer.size_bytes = UINT64_C(1) << 63; }
SPOIL(misaligned) { a->in.buffer.base += 2; }
SPOIL(base_beyond_the_limit) { a->in.buffer.base |= UINT64_C(1) << 63; }
SPOIL(alias_equal) { a->out = a->in; }
SPOIL(alias_in_part) {
  a->sum = a->out;
  a->sum.start_offset += 1;
}
SPOIL(alias_through_another_registration) {
  a->sum = a->shadow;
  a->sum.shape[0] = 2;
  a->sum.shape[1] = 4;
  a->sum.start_offset = a->in.start_offset - 16 + 3;
}
SPOIL(broadcast_written) { a->out.strides[0] = 0; }
SPOIL(folded_written) { a->sum.strides[0] = 2; }
SPOIL(refused_by_the_kernel) { a->params[3] = pto_scalar_u64(SCALAR_IS_REFUSED); }
SPOIL(refused_without_a_word) { a->params[3] = pto_scalar_u64(SCALAR_IS_REFUSED_SILENTLY); }
SPOIL(too_much_local_memory) { a->params[3] = pto_scalar_u64(SCALAR_NEEDS_TOO_MUCH); }
SPOIL(too_few) { a->count = 3; }
SPOIL(none) { a->count = 0; }
SPOIL(null_params) { a->has_no_params = true; }
SPOIL(compare_without_tensor) { a->launch.predicate.compare = PTO_IF_EQ; }
SPOIL(no_compare) { a->launch.predicate = (struct pto_predicate){&a->flag, 99, 0}; }
SPOIL(predicate_of_floats) { a->launch.predicate = (struct pto_predicate){&a->in, PTO_IF_EQ, 0}; }
SPOIL(predicate_that_is_not_compared) { a->launch.predicate = (struct pto_predicate){&a->in, PTO_ALWAYS, 0}; }
SPOIL(predicate_that_is_written) {
  a->launch.predicate = (struct pto_predicate){&a->flag, PTO_IF_EQ, 0};
  a->flag = a->sum;
  a->flag.dtype = PTO_INT32;
  a->flag.shape[0] = a->flag.shape[1] = 1;
}
SPOIL(too_many_blocks) { a->launch.block_count = UINT32_MAX; }
SPOIL(sync_start_that_never_fits) {
  a->launch.block_count = 100;
  a->launch.sync_start = true;
}
SPOIL(wrong_core) { a->launch = (struct pto_launch){.aic = &sum_kernel}; }
SPOIL(second_of_the_wrong_core) {
  static const struct pto_kernel cube = {
      .name = "cube", .cores = PTO_AIC, .params = sum_params, .param_count = 4, .run = run_sum};
  a->launch.aiv1 = &cube;
}
SPOIL(no_kernel) { a->launch.aiv0 = NULL; }
SPOIL(null_after) { a->launch.after_count = 2; }
SPOIL(after_of_no_task) {
  static const struct pto_task none = {0};
  a->launch.after = &none;
  a->launch.after_count = 1;
}
SPOIL(read_before_written) { a->in.buffer = a->fresh.buffer; }
SPOIL(inout_before_written) { a->sum.buffer = a->fresh.buffer; }
SPOIL(smaller_buffer) { a->in.buffer = a->small.buffer; }
SPOIL(allocation_of_a_part) { a->out.buffer = a->fresh.buffer; }

struct refusal {
  const char *name;
  void (*spoil)(struct attempt *a);
  int status;
};
#define REFUSAL(name, status)                                                                                          \
  { #name, name, status }
static const struct refusal refusals[] = {
    REFUSAL(smaller_buffer, PTO_EINVAL),
    REFUSAL(dtype, PTO_EINVAL),
    REFUSAL(no_dtype, PTO_EINVAL),
    REFUSAL(written_dtype, PTO_EINVAL),
    REFUSAL(rank, PTO_EINVAL),
    REFUSAL(no_rank, PTO_EINVAL),
    REFUSAL(rank_0, PTO_EINVAL),
    REFUSAL(mode, PTO_EINVAL),
    REFUSAL(mode_accumulate, PTO_EINVAL),
    REFUSAL(no_mode, PTO_EINVAL),
    REFUSAL(mode_unused, PTO_EINVAL),
    REFUSAL(tensor_as_scalar, PTO_EINVAL),
    REFUSAL(scalar_as_tensor, PTO_EINVAL),
    REFUSAL(scalar_type, PTO_EINVAL),
    REFUSAL(null_tensor, PTO_EINVAL),
    REFUSAL(null_last_tensor, PTO_EINVAL),
    REFUSAL(invalid_tensor, PTO_EINVAL),
    REFUSAL(status_by_hand, PTO_EINVAL),
    REFUSAL(overlap_by_hand, PTO_EINVAL),
    REFUSAL(one_beyond, PTO_EINVAL),
    REFUSAL(one_beyond_managed, PTO_EINVAL),
    REFUSAL(at_the_end, PTO_EINVAL),
    REFUSAL(offset_minus_1, PTO_EINVAL),
    REFUSAL(offset_minus_8, PTO_EINVAL),
    REFUSAL(offset_minus_span, PTO_EINVAL),
    REFUSAL(offset_whose_bytes_wrap, PTO_EINVAL),
    REFUSAL(offset_whose_bytes_wrap_far, PTO_EINVAL),
    REFUSAL(extent, PTO_EINVAL),
    REFUSAL(stride_that_wraps, PTO_EINVAL),
    REFUSAL(version_of_input, PTO_EINVAL),
    REFUSAL(version_below, PTO_EINVAL),
    REFUSAL(version_of_inout, PTO_EINVAL),
    REFUSAL(version_too_far, PTO_EINVAL),
    REFUSAL(stale, PTO_ESTALE),
    REFUSAL(stale_of_the_form, PTO_ESTALE),
    REFUSAL(no_buffer, PTO_EINVAL),
    REFUSAL(other_generation, PTO_ESTALE),
    REFUSAL(other_id, PTO_ESTALE),
    REFUSAL(foreign, PTO_ESTALE),
    REFUSAL(size_too_large, PTO_EINVAL),
    REFUSAL(size_too_small, PTO_EINVAL),
    REFUSAL(size_beyond_the_limit, PTO_EINVAL),
    REFUSAL(misaligned, PTO_EINVAL),
    REFUSAL(base_beyond_the_limit, PTO_EINVAL),
    REFUSAL(alias_equal, PTO_EINVAL),
    REFUSAL(alias_in_part, PTO_EINVAL),
    REFUSAL(alias_through_another_registration, PTO_EINVAL),
    REFUSAL(broadcast_written, PTO_EINVAL),
    REFUSAL(folded_written, PTO_EINVAL),
    REFUSAL(refused_by_the_kernel, PTO_EINVAL),
    REFUSAL(refused_without_a_word, PTO_EINVAL),
    REFUSAL(too_much_local_memory, PTO_EFIT),
    REFUSAL(too_few, PTO_EINVAL),
    REFUSAL(none, PTO_EINVAL),
    REFUSAL(null_params, PTO_EINVAL),
    REFUSAL(compare_without_tensor, PTO_EINVAL),
    REFUSAL(no_compare, PTO_EINVAL),
    REFUSAL(predicate_of_floats, PTO_EINVAL),
    REFUSAL(predicate_that_is_not_compared, PTO_EINVAL),
    REFUSAL(predicate_that_is_written, PTO_EINVAL),
    REFUSAL(too_many_blocks, PTO_EINVAL),
    REFUSAL(sync_start_that_never_fits, PTO_EFIT),
    REFUSAL(wrong_core, PTO_EINVAL),
    REFUSAL(second_of_the_wrong_core, PTO_EINVAL),
    REFUSAL(no_kernel, PTO_EINVAL),
    REFUSAL(null_after, PTO_EINVAL),
    REFUSAL(after_of_no_task, PTO_EINVAL),
    REFUSAL(read_before_written, PTO_EINVAL),
    REFUSAL(inout_before_written, PTO_EINVAL),
    REFUSAL(allocation_of_a_part, PTO_EINVAL),
};

/* The refusal that a run is about, NULL for none, and what came of it. */
static const struct refusal *refusal;
static bool has_form;
static char refused_sentence[PTO_SENTENCE_SIZE];
static struct {
  uint8_t memory[4096];
  uint64_t tasks, edges;
} refused_outcome;

static void expect_hit(struct pto_runtime *rt, const struct attempt *a) {
  struct template_mark mark = template_mark_take(rt);
  fixture_expect(rt, submit_attempt(rt, a), PTO_OK);
  if (!template_was_hit(rt, mark)) fail_msg("%s: the form was not hit", refusal ? refusal->name : "none");
}

static void submit_spoiled(struct pto_runtime *rt, struct attempt *a) {
  const struct attempt good = *a;
  struct fixture_state before;
  refusal->spoil(a);
  fixture_state_take(rt, &before);
  int status = submit_attempt(rt, a);
  if (status != refusal->status) fail_msg("%s: %s: %s", refusal->name, pto_status_name(status), pto_last_error(rt));
  snprintf(refused_sentence, sizeof refused_sentence, "%s", pto_last_error(rt));
  fixture_state_expect(rt, &before);
  assert_true(pto_payload_pool_is_valid(&rt->payloads));
  *a = good; /* parameters point to the same tensors as before */
}

/* Good ones before and after the spoiled one, or the spoiled one first of all. */
static int good_and_spoiled(struct pto_runtime *rt, struct fixture *f) {
  struct attempt a;
  make_attempt(rt, f, &a);
  if (refusal && !has_form) submit_spoiled(rt, &a);
  fixture_expect(rt, submit_attempt(rt, &a), PTO_OK);
  a.in.start_offset -= 8;
  expect_hit(rt, &a);
  a.in.start_offset += 8;
  if (refusal && has_form) submit_spoiled(rt, &a);
  a.out.start_offset += 8;
  fixture_expect(rt, submit_attempt(rt, &a), PTO_OK);
  a.sum.start_offset -= 4;
  expect_hit(rt, &a);
  return 0;
}

/* Where the graph is recorded, submits go another way than where it is not. */
static void run_refusal(const struct refusal *r, bool after_a_form, uint32_t record) {
  static struct fixture f;
  refusal = r;
  has_form = after_a_form;
  memset(&f, 0, sizeof f);
  memset(&other, 0, sizeof other);
  f.config.record = record;
  fixture_open(&other);
  fixture_open(&f);
  for (uint32_t i = 0; i < 1024; i++) ((float *)(void *)f.memory)[i] = (float)(i % 100);
  fixture_run(&f, good_and_spoiled, PTO_OK);
  memcpy(refused_outcome.memory, f.memory, sizeof refused_outcome.memory);
  refused_outcome.tasks = fixture_tasks(f.rt);
  refused_outcome.edges = fixture_edges(f.rt);
  fixture_close(&f);
  fixture_close(&other);
}

static void expect_same_refusals(uint32_t record) {
  run_refusal(NULL, false, record);
  const __typeof__(refused_outcome) untouched = refused_outcome;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(refusals); i++) {
    run_refusal(&refusals[i], false, record);
    char fresh[PTO_SENTENCE_SIZE];
    memcpy(fresh, refused_sentence, sizeof fresh);
    if (memcmp(&refused_outcome, &untouched, sizeof untouched)) fail_msg("%s first: another outcome", refusals[i].name);
    run_refusal(&refusals[i], true, record);
    if (strcmp(fresh, refused_sentence))
      fail_msg("%s: \"%s\" behind a form, else \"%s\"", refusals[i].name, refused_sentence, fresh);
    if (memcmp(&refused_outcome, &untouched, sizeof untouched)) fail_msg("%s: another outcome", refusals[i].name);
  }
}
static void test_what_is_refused_is_refused_the_same_behind_a_form_and_changes_nothing(void **state) {
  (void)state;
  expect_same_refusals(PTO_RECORD_GRAPH);
  expect_same_refusals(PTO_RECORD_TIMELINE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_refused_is_refused_the_same_behind_a_form_and_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
