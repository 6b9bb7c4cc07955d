/* SPDX-License-Identifier: MIT */
/*
 * Submits that repeat the form of an earlier one: what is refused is refused as in a runtime that has seen nothing, and
 * what is accepted gives the bytes and edges of submits that all go the long way.
 *
 * To add a refusal: a function that spoils the good submit and a line in `refusals`.  The truth for accepted submits is
 * the long way itself: the same orchestration with every form forgotten before each submit.
 * Longer than other files, because each refusal is a function of a few lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/form_hits.h>
#include <tests/support/runtime_fixture.h>

/* ---- refusals ---- */

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
  struct pto_tensor managed, shadow, fresh, stale, foreign, flag, wide; /* of the world */
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
SPOIL(after_of_nobody) {
  static const struct pto_task nobody = {0};
  a->launch.after = &nobody;
  a->launch.after_count = 1;
}
SPOIL(read_before_written) { a->in.buffer = a->fresh.buffer; }
SPOIL(inout_before_written) { a->sum.buffer = a->fresh.buffer; }
SPOIL(allocation_of_a_part) { a->out.buffer = a->fresh.buffer; }

struct refusal {
  const char *name;
  void (*spoil)(struct attempt *a);
  int status;
};
#define REFUSAL(name, status)                                                                                          \
  { #name, name, status }
static const struct refusal refusals[] = {
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
    REFUSAL(after_of_nobody, PTO_EINVAL),
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
  struct form_mark mark = form_mark_take(rt);
  fixture_expect(rt, submit_attempt(rt, a), PTO_OK);
  if (!form_mark_was_hit(rt, mark)) fail_msg("%s: the form was not hit", refusal ? refusal->name : "none");
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

/* ---- accepted submits of every kind, against the long way ---- */

#define BYTES 4096u
#define KERNELS 3u

/* Every byte that is read goes into every byte that is written; 4-bit tensors are dense. */
static uint64_t fold_bytes(const struct pto_kernel_tensor *t, uint64_t hash, bool is_written, uint32_t block) {
  const uint64_t size = pto_dtype_size(t->dtype);
  uint64_t count = 1;
  for (uint32_t d = 0; d < t->ndims; d++) count *= t->shape[d];
  const bool is_dense = pto_dtype_bits(t->dtype) == 4;
  if (is_dense) count = (count + 1) / 2;
  for (uint64_t e = 0; e < count; e++) {
    uint64_t at = is_dense ? e : 0, rest = e;
    for (uint32_t d = t->ndims; !is_dense && d-- > 0;) {
      at += rest % t->shape[d] * t->strides[d];
      rest /= t->shape[d];
    }
    uint8_t *bytes = (uint8_t *)t->addr + at * size;
    for (uint64_t k = 0; k < size; k++) {
      if (is_written)
        bytes[k] = (uint8_t)(bytes[k] * 5 + (pto_mix64(hash + e) >> (8 * (k % 8))) + block);
      else
        hash = pto_mix64(hash ^ bytes[k]);
    }
  }
  return hash;
}
/* Scalars: a salt, and a bit for each tensor that is written. */
static int run_fold(const struct pto_kernel_args *a) {
  uint64_t hash = a->scalars[0].u64;
  const uint64_t written = a->scalars[1].u64;
  for (uint32_t i = 0; i < a->tensor_count; i++)
    if (!(written >> i & 1)) hash = fold_bytes(&a->tensors[i], hash, false, 0);
  for (uint32_t i = 0; i < a->tensor_count; i++)
    if (written >> i & 1) fold_bytes(&a->tensors[i], hash, true, a->core->block_index);
  return 0;
}

static const struct pto_kernel_param fold_params[KERNELS][6] = {
    {{.mode = PTO_INPUT}, {.mode = PTO_INOUT}, {.mode = PTO_SCALAR}, {.mode = PTO_SCALAR}},
    {{.mode = PTO_SCALAR}, {.mode = PTO_ACCUMULATE}, {.mode = PTO_INPUT}, {.mode = PTO_SCALAR}, {.mode = PTO_INPUT}},
    {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}, {.mode = PTO_SCALAR}}};
static const uint32_t fold_counts[KERNELS] = {4, 5, 4};
static struct pto_kernel fold_kernels[KERNELS];

/* One kind of tensor, at an index of its own among those that do not meet. */
static struct pto_tensor draw_tensor(struct pto_rng *rng, const struct pto_tensor *memory, uint32_t kind) {
  static const uint64_t ones[PTO_MAX_DIMS] = {1, 2, 1, 2, 1, 2, 1, 2};
  uint64_t bytes[1] = {BYTES}, at[1] = {64 * pto_rng_below(rng, BYTES / 64 - 4)}, length[1] = {256};
  struct pto_tensor base = pto_tensor_reshape(memory, 1, bytes), t = pto_tensor_view(&base, at, length);
  if (kind <= PTO_MAX_DIMS) { /* of that rank */
    uint64_t root[PTO_MAX_DIMS], offsets[PTO_MAX_DIMS] = {0};
    struct pto_tensor words = pto_tensor_reinterpret(&t, PTO_INT16);
    if (kind == 0) { /* as views cannot make it */
      words.ndims = 0;
      return words;
    }
    for (uint32_t d = 0; d < kind; d++) root[d] = d + 1 == kind ? 128 >> (kind - 1) : 2;
    words = pto_tensor_reshape(&words, kind, root);
    for (uint32_t d = 0; d < kind; d++) offsets[d] = pto_rng_below(rng, root[d] - pto_min_u64(ones[d], root[d]) + 1);
    uint64_t shape[PTO_MAX_DIMS];
    for (uint32_t d = 0; d < kind; d++) shape[d] = pto_min_u64(ones[d], root[d]);
    return pto_tensor_view(&words, offsets, shape);
  }
  const uint64_t square[2] = {16, 16};
  struct pto_tensor tile = pto_tensor_reshape(&t, 2, square);
  switch (kind) {
  case 9:
    return pto_tensor_transpose(&tile, 0, 1);
  case 10:
    return pto_tensor_slice(&tile, 1, pto_rng_below(rng, 3), 16, 3);
  case 11:
    return pto_tensor_reinterpret(&t, PTO_INT4);
  case 12:
    return fixture_box(&tile, pto_rng_below(rng, 8), 0, 4, 4);
  case 13: {
    struct pto_tensor box = fixture_box(&tile, 0, 16, 4, 8);
    return pto_tensor_with_overlap(&box, PTO_OVERLAP_FUZZY);
  }
  case 14: {
    struct pto_tensor wide = pto_tensor_reinterpret(&tile, PTO_INT64);
    return wide;
  }
  case 15: { /* one shape, several strides */
    const uint64_t step = 1 + pto_rng_below(rng, 3);
    return pto_tensor_slice(&t, 0, 5, 5 + 64 * step, step);
  }
  default:
    return tile;
  }
}
#define TENSOR_KINDS 17u

struct variety {
  bool is_long_way, is_manual;
  uint32_t hits, accepted, refused;
  uint64_t graph; /* digest of the recorded edges */
  uint64_t seed;
};
static struct variety variety;

static void submit_varied(struct pto_runtime *rt, struct pto_rng *rng, const struct pto_tensor *memory,
                          struct pto_tensor *managed, struct pto_task *last) {
  const uint32_t k = (uint32_t)pto_rng_below(rng, KERNELS), kind = (uint32_t)pto_rng_below(rng, TENSOR_KINDS);
  const uint32_t extra = (uint32_t)pto_rng_below(rng, 24), times = 1 + (uint32_t)pto_rng_below(rng, 5);
  struct pto_tensor flag = draw_tensor(rng, memory, 0);
  for (uint32_t n = 0; n < times; n++) {
    const struct pto_tensor *where = pto_rng_below(rng, 3) ? memory : managed;
    struct pto_tensor a = draw_tensor(rng, pto_rng_below(rng, 3) ? memory : managed, kind),
                      b = draw_tensor(rng, where, pto_rng_below(rng, 8) ? kind : 10), c = draw_tensor(rng, memory, 16);
    struct pto_param params[5];
    const uint64_t salt = pto_rng_next(rng);
    if (extra == 5 && n == 0) b = a; /* in place, where the kernel says so */
    if (extra == 6 && n == 0) {      /* a buffer of its own, that later ones of the row write again */
      const uint64_t shape[1] = {256};
      *managed = pto_managed_tensor(rt, pto_create_buffer(rt, BYTES), PTO_UINT8, 1, &(uint64_t){BYTES});
      fixture_expect(rt, pto_alloc_tensors(rt, managed, 1, NULL), PTO_OK);
      struct pto_tensor fresh = pto_managed_tensor(rt, pto_create_buffer(rt, 256), PTO_UINT8, 1, shape);
      if (k == 2) b = fresh;
    }
    if (k == 1) {
      params[0] = pto_scalar_u64(salt);
      params[1] = pto_param_tensor(PTO_ACCUMULATE, &b);
      params[2] = pto_input(&a);
      params[3] = pto_scalar_u64(1);
      params[4] = pto_input(&c);
    } else {
      params[0] = pto_input(&a);
      params[1] = k == 0 ? pto_inout(&b) : pto_output(&b);
      params[2] = pto_scalar_u64(salt);
      params[3] = pto_scalar_u64(2);
    }
    struct pto_launch launch = {.aiv0 = &fold_kernels[k]};
    if (extra == 1) launch = (struct pto_launch){.aic = &fold_kernels[k]};
    if (extra == 2 && n == 1) launch.block_count = 3;
    if (extra == 3 && n == 1) launch.predicate = (struct pto_predicate){&flag, salt % 2 ? PTO_IF_GT : PTO_ALWAYS, 0};
    if (extra == 4 && n == 1) launch.aic = &fold_kernels[k];
    if (extra >= 20 && last->generation) {
      launch.after = last;
      launch.after_count = 1;
    }
    if (variety.is_long_way) pto_submit_forms_forget(rt);
    if (pto_rng_below(rng, 8) == 0) pto_progress_poll(rt);
    rt->since_poll = 0; /* what a submit polls is not what is looked at */
    struct form_mark mark = form_mark_take(rt);
    struct fixture_state before;
    fixture_state_take(rt, &before);
    int status = pto_submit(rt, &launch, params, fold_counts[k], pto_rng_below(rng, 4) ? NULL : last);
    if (status) {
      fixture_state_expect(rt, &before);
      fixture_expect(rt, status, PTO_EINVAL);
      variety.refused++;
      continue;
    }
    variety.accepted++;
    variety.hits += form_mark_was_hit(rt, mark);
  }
}

static int varied(struct pto_runtime *rt, struct fixture *f) {
  struct pto_rng rng = {variety.seed};
  struct pto_tensor memory = fixture_bytes(f, 0, BYTES);
  struct pto_tensor managed = fixture_managed(rt, BYTES);
  struct pto_task last = {0};
  fixture_expect(rt, pto_alloc_tensors(rt, &managed, 1, NULL), PTO_OK);
  for (uint32_t i = 0; i < 60; i++) {
    const bool has_scope = f->config.window == 64 || pto_rng_below(&rng, 4) == 0; /* ends before the window is full */
    struct pto_tensor inner = managed;
    if (has_scope)
      fixture_expect(rt, pto_scope_begin(rt, variety.is_manual ? PTO_SCOPE_MANUAL : PTO_SCOPE_AUTO), PTO_OK);
    for (uint32_t n = 0; n < 4; n++) submit_varied(rt, &rng, &memory, &inner, &last);
    if (has_scope) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
    assert_true(pto_access_map_is_valid(&rt->map));
    assert_true(pto_payload_pool_is_valid(&rt->payloads));
  }
  return 0;
}

static uint64_t digest_of_edges(struct pto_runtime *rt) {
  const struct pto_trace_log *edges = &pto_runtime_trace(rt)->edges;
  uint64_t digest = 0;
  for (uint64_t i = 0; i < edges->count; i++) {
    const struct pto_trace_edge *e = pto_trace_log_at(edges, i);
    digest = pto_mix64(digest ^ e->producer << 32 ^ e->consumer ^ (uint64_t)e->reason << 24);
    digest = pto_mix64(digest ^ (uint64_t)e->producer_param << 32 ^ e->consumer_param);
    digest = pto_mix64(digest ^ (e->end - e->begin) << 32 ^ e->buffer_number);
  }
  return digest;
}

/* One way through a seed's orchestration: bytes in f->memory, and counts in `variety`. */
static void run_varied(struct fixture *f, uint64_t seed, bool is_long_way) {
  memset(f, 0, sizeof *f);
  struct pto_rng rng = {~seed};
  f->config.deps = pto_rng_below(&rng, 4) == 0 ? PTO_DEPS_PTO : PTO_DEPS_EXACT;
  f->config.record = pto_rng_below(&rng, 2) ? PTO_RECORD_GRAPH : PTO_RECORD_TIMELINE; /* the latter: edges unrecorded */
  f->config.window = pto_rng_below(&rng, 2) ? 64 : 2048;
  f->config.heap_bytes = 1 << 20;
  f->config.poison = true;
  f->port.seed = pto_rng_next(&rng);
  f->port.cluster_count = 2;
  f->port.slots_per_core = 2;
  variety = (struct variety){.is_long_way = is_long_way, .is_manual = pto_rng_below(&rng, 3) == 0, .seed = seed};
  for (uint32_t i = 0; i < BYTES; i++) f->memory[i] = (uint8_t)pto_rng_next(&rng);
  fixture_open(f);
  fixture_run(f, varied, PTO_OK);
  variety.graph = digest_of_edges(f->rt);
}

static void test_repeated_submits_give_the_bytes_and_edges_of_the_long_way(void **state) {
  (void)state;
  static struct fixture quick, slow;
  uint64_t hits = 0, accepted = 0, refused = 0;
  static const uint32_t flags[KERNELS] = {0, 0, PTO_KERNEL_IN_PLACE};
  for (uint32_t k = 0; k < KERNELS; k++)
    fold_kernels[k] = (struct pto_kernel){.name = "fold",
                                          .cores = PTO_AIC | PTO_AIV,
                                          .flags = flags[k],
                                          .params = fold_params[k],
                                          .param_count = fold_counts[k],
                                          .run = run_fold};
  const uint64_t count = getenv("PTO_TEST_LONG") ? 20000 : 150;
  for (uint64_t seed = 1; seed <= count; seed++) {
    run_varied(&slow, seed, true);
    const struct variety expected = variety;
    run_varied(&quick, seed, false);
    if (variety.accepted != expected.accepted || variety.refused != expected.refused)
      fail_msg("seed %llu: other submits are accepted", (unsigned long long)seed);
    if (fixture_edges(quick.rt) != fixture_edges(slow.rt) || variety.graph != expected.graph)
      fail_msg("seed %llu: other edges", (unsigned long long)seed);
    if (memcmp(quick.memory, slow.memory, sizeof quick.memory))
      fail_msg("seed %llu: other bytes", (unsigned long long)seed);
    assert_int_equal(expected.hits, 0);
    hits += variety.hits;
    accepted += variety.accepted;
    refused += variety.refused;
    fixture_close(&quick);
    fixture_close(&slow);
  }
  printf("seeds 1 to %llu: %llu submits accepted, %llu of them repeated a form; %llu refused\n",
         (unsigned long long)count, (unsigned long long)accepted, (unsigned long long)hits,
         (unsigned long long)refused);
  assert_true(hits > accepted / 10 && refused > accepted / 100);
}

/* ---- forms and their places ---- */

#define MANY 100u
static struct pto_kernel many_kernels[MANY];
static const struct pto_kernel_param byte_params[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}};

static int run_add_byte(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++)
    ((uint8_t *)a->tensors[1].addr)[i] = (uint8_t)(((uint8_t *)a->tensors[0].addr)[i] + a->scalars[0].u64);
  return 0;
}
static void make_many_kernels(void) {
  for (uint32_t i = 0; i < MANY; i++)
    many_kernels[i] = (struct pto_kernel){
        .name = "add_byte", .cores = PTO_AIC | PTO_AIV, .params = byte_params, .param_count = 3, .run = run_add_byte};
}
static bool submit_byte(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *from,
                        const struct pto_tensor *to, uint64_t more) {
  struct pto_param params[] = {pto_input(from), pto_output(to), pto_scalar_u64(more)};
  struct form_mark mark = form_mark_take(rt);
  fixture_expect(rt, pto_submit_aiv(rt, kernel, params, 3), PTO_OK);
  return form_mark_was_hit(rt, mark);
}

static int more_kernels_than_forms(struct pto_runtime *rt, struct fixture *f) {
  uint32_t hits = 0;
  make_many_kernels();
  f->memory[0] = 0;
  for (uint32_t i = 0; i < 40 * MANY; i++) {
    struct pto_tensor from = fixture_bytes(f, i, 1), to = fixture_bytes(f, i + 1, 1);
    hits += submit_byte(rt, &many_kernels[i % MANY], &from, &to, i % MANY);
    if (i % 3 == 0) { /* the same once more, elsewhere */
      struct pto_tensor aside = fixture_bytes(f, 60000 + i % MANY, 1);
      hits += submit_byte(rt, &many_kernels[i % MANY], &from, &aside, 1);
    }
  }
  fixture_drain(rt);
  for (uint32_t i = 0, sum = 0; i < 40 * MANY; sum += i++ % MANY) assert_int_equal(f->memory[i], (uint8_t)sum);
  assert_true(hits > 0);
  assert_true(pto_payload_pool_is_valid(&rt->payloads));
  return 0;
}

static int two_kernels_of_one_place(struct pto_runtime *rt, struct fixture *f) {
  make_many_kernels();
  struct pto_tensor a = fixture_bytes(f, 0, 4), b = fixture_bytes(f, 4, 4), c = fixture_bytes(f, 8, 4);
  memset(f->memory, 7, 4);
  submit_byte(rt, &many_kernels[0], &a, &b, 1);
  const struct pto_submit_work *place = rt->work;
  uint32_t second = 1;
  for (; second < MANY; second++) {
    submit_byte(rt, &many_kernels[second], &a, &b, 1);
    if (rt->work == place) break;
  }
  assert_true(second < MANY); /* there are more kernels than places */
  assert_true(submit_byte(rt, &many_kernels[second], &a, &b, 2));
  for (uint32_t i = 0; i < 8; i++) {
    assert_false(submit_byte(rt, &many_kernels[0], &a, &b, 2 * i));
    assert_false(submit_byte(rt, &many_kernels[second], &b, &c, 3));
  }
  assert_true(pto_payload_pool_is_valid(&rt->payloads));
  fixture_drain(rt);
  assert_int_equal(f->memory[4], 7 + 14);
  assert_int_equal(f->memory[8], 7 + 14 + 3);
  return 0;
}

/* A refusal that comes after the form was matched gives the payload back to it. */
static int refused_by_its_explicit_edges(struct pto_runtime *rt, struct fixture *f) {
  make_many_kernels();
  struct pto_tensor a = fixture_bytes(f, 0, 4), b = fixture_bytes(f, 4, 4);
  assert_false(submit_byte(rt, &many_kernels[0], &a, &b, 1));
  struct pto_param params[] = {pto_input(&a), pto_output(&b), pto_scalar_u64(9)};
  struct pto_task nobody = {0};
  struct pto_launch launch = {.aiv0 = &many_kernels[0], .after = &nobody, .after_count = 1};
  for (int i = 0; i < 3; i++) {
    uint64_t units = i ? rt->payloads.units_used : 0;
    fixture_expect(rt, pto_submit(rt, &launch, params, 3, NULL), PTO_EINVAL);
    if (i) assert_int_equal(rt->payloads.units_used, units);
  }
  assert_int_equal(rt->payloads.live_count, 1);
  assert_true(submit_byte(rt, &many_kernels[0], &a, &b, 5));
  fixture_drain(rt);
  assert_int_equal(f->memory[4], (uint8_t)(f->memory[0] + 5));
  return 0;
}

static int failing(const struct pto_kernel_args *a) { return (int)a->scalars[0].u64; }

/* ---- a kernel that is gone, and another where it was ---- */

static struct pto_kernel reloaded;

static int first_program(struct pto_runtime *rt, struct fixture *f) {
  reloaded = (struct pto_kernel){
      .name = "first", .cores = PTO_AIV, .params = byte_params, .param_count = 3, .run = run_add_byte};
  struct pto_tensor a = fixture_bytes(f, 0, 4), b = fixture_bytes(f, 4, 4);
  assert_false(submit_byte(rt, &reloaded, &a, &b, 1));
  assert_true(submit_byte(rt, &reloaded, &a, &b, 1));
  return 0;
}
static int second_program(struct pto_runtime *rt, struct fixture *f) {
  static const struct pto_kernel_param params[] = {
      {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPE_BIT(PTO_INT32)}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}};
  reloaded =
      (struct pto_kernel){.name = "second", .cores = PTO_AIV, .params = params, .param_count = 3, .run = failing};
  struct pto_tensor a = fixture_bytes(f, 0, 4), b = fixture_bytes(f, 4, 4);
  struct pto_param bytes[] = {pto_input(&a), pto_output(&b), pto_scalar_u64(1)};
  fixture_expect(rt, pto_submit_aiv(rt, &reloaded, bytes, 3), PTO_EINVAL);
  fixture_expect_sentence(rt, "second: param 0 (x) has dtype u8");
  struct pto_tensor words = pto_tensor_reinterpret(&a, PTO_INT32);
  assert_false(submit_byte(rt, &reloaded, &words, &b, 0));
  assert_true(submit_byte(rt, &reloaded, &words, &b, 0));
  assert_true(submit_byte(rt, &reloaded, &words, &b, 41)); /* fails, and says what the form did not */
  return 0;
}
static void test_a_form_does_not_outlive_its_run(void **state) {
  (void)state;
  static struct fixture f;
  memset(&f, 0, sizeof f);
  fixture_open(&f);
  for (int i = 0; i < 3; i++) {
    fixture_run(&f, first_program, PTO_OK);
    fixture_run(&f, second_program, PTO_EKERNEL);
    fixture_expect_sentence(f.rt, "task 2: kernel second failed");
    fixture_expect_sentence(f.rt, "status 41; tensor 0 i32[1], tensor 1 u8[4], scalar 0 0x29");
    assert_int_equal(f.rt->payloads.live_count, 0);
  }
  fixture_close(&f);
}

static void run_body(int (*body)(struct pto_runtime *, struct fixture *)) {
  for (uint32_t record = PTO_RECORD_GRAPH; record <= PTO_RECORD_TIMELINE; record++) {
    static struct fixture f;
    memset(&f, 0, sizeof f);
    f.config.window = 8192;
    f.config.record = record;
    fixture_open(&f);
    for (int i = 0; i < 2; i++) fixture_run(&f, body, PTO_OK);
    fixture_close(&f);
  }
}
static void test_more_kernels_than_forms_take_turns(void **state) {
  (void)state;
  run_body(more_kernels_than_forms);
}
static void test_two_kernels_of_one_place_drive_each_other_out(void **state) {
  (void)state;
  run_body(two_kernels_of_one_place);
}
static void test_a_refusal_behind_the_form_gives_its_payload_back(void **state) {
  (void)state;
  run_body(refused_by_its_explicit_edges);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_is_refused_is_refused_the_same_behind_a_form_and_changes_nothing),
      cmocka_unit_test(test_repeated_submits_give_the_bytes_and_edges_of_the_long_way),
      cmocka_unit_test(test_more_kernels_than_forms_take_turns),
      cmocka_unit_test(test_two_kernels_of_one_place_drive_each_other_out),
      cmocka_unit_test(test_a_refusal_behind_the_form_gives_its_payload_back),
      cmocka_unit_test(test_a_form_does_not_outlive_its_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
