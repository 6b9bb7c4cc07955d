/* SPDX-License-Identifier: MIT */
/*
 * Tensors as arguments: every refusal for what a tensor is, which version it names, what nothing has written, what may
 * not be written, and what shares bytes; and what only looks like one of these. How each is held: arguments_checks.h.
 *
 * To add one: a function that attempts it and a line in `refusals`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/arguments_checks.h>
#include <tests/support/runtime_fixture.h>

/* ---- tensors ---- */

static int read_of(struct pto_runtime *rt, struct pto_tensor t) {
  return TRY(rt, "si", pto_scalar_u64(0), pto_input(&t));
}
static int view_outside(struct pto_runtime *rt, struct world *w) {
  return read_of(rt, pto_tensor_slice(&w->bytes, 0, 60, 70, 1));
}
static int view_of_view_outside(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor bad = pto_tensor_slice(&w->bytes, 0, 60, 70, 1);
  return read_of(rt, pto_tensor_slice(&bad, 0, 0, 1, 1));
}
static int rank_nine(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = w->bytes;
  t.ndims = 9;
  return read_of(rt, t);
}
static int no_dtype(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = w->bytes;
  t.dtype = 77;
  return read_of(rt, t);
}
static int no_overlap_mode(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = w->bytes;
  t.overlap = 5;
  return read_of(rt, t);
}
static int beyond_by_one(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = w->bytes;
  t.shape[0] = 65;
  return read_of(rt, t);
}
static int offset_beyond(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = w->managed;
  t.start_offset = 1;
  return read_of(rt, t);
}
static int overflowing_stride(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = w->matrix;
  t.strides[0] = UINT64_MAX / 4;
  return read_of(rt, t);
}
static int zeroed_tensor(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t;
  memset(&t, 0, sizeof t);
  return read_of(rt, t);
}
static int grown_buffer(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = w->managed;
  t.buffer.size_bytes = 128;
  t.shape[0] = 128;
  return read_of(rt, t);
}
static int stale_tensor(struct pto_runtime *rt, struct world *w) { return read_of(rt, w->stale); }
static int stale_among_good(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "oio", pto_output(&w->fresh), pto_input(&w->managed), pto_output(&w->stale));
}

/* ---- versions ---- */

static int input_ahead(struct pto_runtime *rt, struct world *w) {
  return read_of(rt, pto_tensor_with_version(&w->managed, 1));
}
static int input_below(struct pto_runtime *rt, struct world *w) {
  return read_of(rt, pto_tensor_with_version(&w->managed, -1));
}
static int inout_ahead(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = pto_tensor_with_version(&w->managed, 1);
  return TRY(rt, "b", pto_inout(&t));
}
static int accumulate_ahead(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = pto_tensor_with_version(&w->managed, 1);
  return TRY(rt, "a", pto_accumulate(&t));
}
static int output_two_ahead(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = pto_tensor_with_version(&w->bytes, 2);
  return TRY(rt, "io", pto_input(&w->managed), pto_output(&t));
}
static int output_behind(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = pto_tensor_with_version(&w->bytes, -1);
  return TRY(rt, "o", pto_output(&t));
}
static int predicate_ahead(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = pto_tensor_with_version(&w->flag, 1);
  return FIXTURE_TRY(rt, .launch = {.predicate = {&t, PTO_IF_EQ, 0}});
}

/* ---- what nothing has written, what may not be written ---- */

static int read_uninitialised(struct pto_runtime *rt, struct world *w) { return read_of(rt, w->fresh); }
static int inout_uninitialised(struct pto_runtime *rt, struct world *w) { return TRY(rt, "b", pto_inout(&w->fresh)); }
static int accumulate_uninitialised(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "a", pto_accumulate(&w->fresh));
}
static int read_own_output(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "oi", pto_output(&w->fresh), pto_input(&w->fresh));
}
static int half_of_fresh(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor half = pto_tensor_slice(&w->fresh, 0, 0, 32, 1);
  return TRY(rt, "o", pto_output(&half));
}

static int write_broadcast(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = rows_of_one(w);
  return TRY(rt, "o", pto_output(&t));
}
static int accumulate_broadcast(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = rows_of_one(w);
  return TRY(rt, "a", pto_accumulate(&t));
}
static int write_overlapping_rows(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = w->matrix;
  t.strides[0] = 4; /* rows of 8 */
  return TRY(rt, "b", pto_inout(&t));
}

/* ---- aliasing ---- */

static int in_overlaps_out(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor a = pto_tensor_slice(&w->bytes, 0, 0, 33, 1), b = pto_tensor_slice(&w->bytes, 0, 32, 64, 1);
  return TRY(rt, "sio", pto_scalar_u64(0), pto_input(&a), pto_output(&b));
}
static int out_overlaps_out(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "oo", pto_output(&w->bytes), pto_output(&w->bytes));
}
static int accumulate_overlaps_in(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "ai", pto_accumulate(&w->managed), pto_input(&w->managed));
}
static int as_another_dtype(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = pto_tensor_reinterpret(&w->matrix, PTO_INT8);
  return TRY(rt, "ib", pto_input(&w->matrix), pto_inout(&t));
}
static int through_another_registration(struct pto_runtime *rt, struct world *w) {
  static const uint64_t shape = 8;
  static struct pto_tensor again;
  static uint64_t of_run;
  if (of_run != w->bytes.buffer.generation)
    again = pto_external_tensor(rt, w->f->memory + 1024 + 4, PTO_UINT8, 1, &shape);
  of_run = w->bytes.buffer.generation;
  return TRY(rt, "ib", pto_input(&again), pto_inout(&w->matrix));
}
static int column_overlaps_row(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor column = pto_tensor_slice(&w->matrix, 1, 3, 4, 1), row = pto_tensor_slice(&w->matrix, 0, 5, 6, 1);
  return TRY(rt, "io", pto_input(&column), pto_output(&row));
}
static int unsafe_pair(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "io", pto_input(&w->matrix), pto_output(&w->matrix));
}
static int pair_of_other_layout(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = pto_tensor_transpose(&w->matrix, 0, 1);
  return try_kernel(rt, "io", PTO_KERNEL_IN_PLACE, PARAMS(pto_input(&w->matrix), pto_output(&t)), 2);
}
static int pair_shifted(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor a = pto_tensor_slice(&w->bytes, 0, 0, 32, 1), b = pto_tensor_slice(&w->bytes, 0, 1, 33, 1);
  return try_kernel(rt, "io", PTO_KERNEL_IN_PLACE, PARAMS(pto_input(&a), pto_output(&b)), 2);
}
static int in_place_inout(struct pto_runtime *rt, struct world *w) {
  return try_kernel(rt, "ib", PTO_KERNEL_IN_PLACE, PARAMS(pto_input(&w->matrix), pto_inout(&w->matrix)), 2);
}
static int in_place_two_outputs(struct pto_runtime *rt, struct world *w) {
  return try_kernel(rt, "ioo", PTO_KERNEL_IN_PLACE,
                    PARAMS(pto_input(&w->matrix), pto_output(&w->matrix), pto_output(&w->matrix)), 3);
}
static int mix_half_in_place(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel safe = kernel_for(PTO_AIV, "io", PTO_KERNEL_IN_PLACE), unsafe = kernel_for(PTO_AIC, "io", 0);
  return submit(rt, &(struct pto_launch){.aic = &unsafe, .aiv0 = &safe},
                PARAMS(pto_input(&w->matrix), pto_output(&w->matrix)), 2);
}
static int predicate_is_written(struct pto_runtime *rt, struct world *w) {
  return FIXTURE_TRY(rt, .modes = "o", .tensors = {&w->flag}, .launch = {.predicate = {&w->flag, PTO_IF_EQ, 0}});
}

/* ---- what is not refused ---- */

static int accepted(struct pto_runtime *rt, struct fixture *f) {
  struct world w;
  make_world(rt, f, &w);
  struct pto_tensor left = pto_tensor_slice(&w.matrix, 1, 0, 4, 1), right = pto_tensor_slice(&w.matrix, 1, 4, 8, 1);
  struct pto_tensor fuzzy_left = pto_tensor_with_overlap(&left, PTO_OVERLAP_FUZZY);
  struct pto_tensor rows = rows_of_one(&w), empty = pto_tensor_slice(&w.matrix, 0, 3, 3, 1);
  struct pto_tensor next = pto_tensor_with_version(&w.matrix, 1), next_left = pto_tensor_with_version(&left, 1),
                    next_right = pto_tensor_with_version(&right, 2), now = pto_tensor_with_version(&w.matrix, 2);
  fixture_expect(rt, TRY(rt, "io", pto_input(&left), pto_output(&right)), PTO_OK);
  fixture_expect(rt, TRY(rt, "io", pto_input(&fuzzy_left), pto_output(&right)), PTO_OK); /* fuzzy plays no part */
  fixture_expect(rt, TRY(rt, "ii", pto_input(&w.matrix), pto_input(&left)), PTO_OK);
  fixture_expect(rt, TRY(rt, "i", pto_input(&rows)), PTO_OK);
  fixture_expect(rt, TRY(rt, "io", pto_input(&empty), pto_output(&w.matrix)), PTO_OK);
  uint64_t edges = fixture_edges(rt);
  fixture_expect(rt, try_kernel(rt, "io", PTO_KERNEL_IN_PLACE, PARAMS(pto_input(&w.matrix), pto_output(&next)), 2),
                 PTO_OK);
  assert_int_equal(fixture_edges(rt), edges + 2); /* the last writer, and the fuzzy reader, which no write covers */
  fixture_expect(rt, TRY(rt, "io", pto_input(&next_left), pto_output(&next_right)), PTO_OK);
  /* one row of another stride, and the output first */
  struct pto_tensor row = pto_tensor_slice(&now, 0, 0, 1, 1), far_row = pto_tensor_slice(&now, 0, 0, 1, 1);
  far_row.strides[0] *= 2;
  fixture_expect(rt, try_kernel(rt, "io", PTO_KERNEL_IN_PLACE, PARAMS(pto_input(&row), pto_output(&far_row)), 2),
                 PTO_OK);
  fixture_expect(rt, try_kernel(rt, "oi", PTO_KERNEL_IN_PLACE, PARAMS(pto_output(&far_row), pto_input(&row)), 2),
                 PTO_OK);
  fixture_expect(rt, read_of(rt, now), PTO_OK);
  fixture_expect(rt, read_of(rt, next), PTO_EINVAL);
  fixture_expect_sentence(rt, "names version 1");
  return 0;
}

static const struct refusal refusals[] = {
    {"a view outside its tensor", view_outside, PTO_EINVAL, "vector: param 1: slice: dimension 0: start 60, end 70"},
    {"a view of an invalid view, for its first reason", view_of_view_outside, PTO_EINVAL,
     "param 1: slice: dimension 0: start 60, end 70"},
    {"rank 9", rank_nine, PTO_EINVAL, "param 1: tensor: rank 9 exceeds 8"},
    {"a dtype that is none", no_dtype, PTO_EINVAL, "param 1: tensor: 77 is no dtype"},
    {"an overlap mode that is none", no_overlap_mode, PTO_EINVAL, "param 1: tensor: 5 is no overlap mode"},
    {"one byte beyond the buffer", beyond_by_one, PTO_EINVAL, "param 1: tensor: needs 65 bytes, its buffer has 64"},
    {"an offset that shifts the last byte out", offset_beyond, PTO_EINVAL,
     "param 1: tensor: needs 65 bytes, its buffer has 64"},
    {"a stride that overflows", overflowing_stride, PTO_EINVAL, "param 1: tensor: dimension 0: extent 8 with stride"},
    {"a zeroed tensor", zeroed_tensor, PTO_EINVAL, "param 1"},
    {"a buffer said to be larger than it is", grown_buffer, PTO_EINVAL, "has 128 bytes; it has 64"},
    {"a stale tensor", stale_tensor, PTO_ESTALE, "param 1: buffer 1 is used after its scope has ended"},
    {"a stale tensor behind an output that would allocate", stale_among_good, PTO_ESTALE, "param 2: buffer 1"},
    {"an input of a version that is not there yet", input_ahead, PTO_EINVAL,
     "param 1 (input) names version 1 of buffer 2, which is at version 0"},
    {"an input of a version before the first", input_below, PTO_EINVAL,
     "names version -1 of buffer 2, which is at version 0"},
    {"an inout of the next version", inout_ahead, PTO_EINVAL, "param 0 (inout) names version 1"},
    {"an accumulate of the next version", accumulate_ahead, PTO_EINVAL, "param 0 (accumulate) names version 1"},
    {"an output two versions ahead", output_two_ahead, PTO_EINVAL,
     "param 1 (output) names version 2 of buffer 4, which is at version 0"},
    {"an output of an older version", output_behind, PTO_EINVAL, "names version -1"},
    {"a predicate of another version", predicate_ahead, PTO_EINVAL, "names version 1"},
    {"an input that nothing has written", read_uninitialised, PTO_EINVAL,
     "param 1 (input) uses buffer 3, which nothing has written yet"},
    {"an inout that nothing has written", inout_uninitialised, PTO_EINVAL,
     "param 0 (inout) uses buffer 3, which nothing"},
    {"an accumulate that nothing has written", accumulate_uninitialised, PTO_EINVAL,
     "param 0 (accumulate) uses buffer 3"},
    {"an input of the task's own fresh output", read_own_output, PTO_EINVAL,
     "param 1 (input) uses buffer 3, which nothing has written yet"},
    {"half an allocation", half_of_fresh, PTO_EINVAL,
     "would allocate buffer 3 (64 bytes) through a tensor that is not the whole of it"},
    {"an output through a broadcast", write_broadcast, PTO_EINVAL, "param 0 (output) has elements that share bytes"},
    {"an accumulate through a broadcast", accumulate_broadcast, PTO_EINVAL,
     "param 0 (accumulate) has elements that share bytes"},
    {"an inout of rows that overlap", write_overlapping_rows, PTO_EINVAL,
     "param 0 (inout) has elements that share bytes"},
    {"an input that shares one byte with an output", in_overlaps_out, PTO_EINVAL,
     "param 1 (input) and param 2 (output) share bytes of buffer 4"},
    {"two outputs of the same bytes", out_overlaps_out, PTO_EINVAL,
     "param 0 (output) and param 1 (output) share bytes"},
    {"an accumulate and an input of the same bytes", accumulate_overlaps_in, PTO_EINVAL,
     "param 0 (accumulate) and param 1 (input)"},
    {"the same bytes through another dtype", as_another_dtype, PTO_EINVAL,
     "param 0 (input) and param 1 (inout) share bytes"},
    {"a column and a row that cross", column_overlaps_row, PTO_EINVAL,
     "param 0 (input) and param 1 (output) share bytes"},
    {"an in-place pair of a kernel that is not safe for it", unsafe_pair, PTO_EINVAL, "share bytes"},
    {"an in-place pair of different layouts", pair_of_other_layout, PTO_EINVAL, "share bytes"},
    {"an in-place pair one byte apart", pair_shifted, PTO_EINVAL, "share bytes"},
    {"an input and an inout in place", in_place_inout, PTO_EINVAL, "param 0 (input) and param 1 (inout)"},
    {"two outputs over one in-place input", in_place_two_outputs, PTO_EINVAL, "share bytes"},
    {"an in-place pair of a MIX where one kernel is not safe", mix_half_in_place, PTO_EINVAL, "share bytes"},
    {"a predicate that the task itself writes", predicate_is_written, PTO_EINVAL, "predicate (input)"},
};

/* The registration is made before the state is checked. */
static int registered_first(struct pto_runtime *rt, struct fixture *f) {
  struct world w;
  struct fixture_state before;
  make_world(rt, f, &w);
  fixture_expect(rt, through_another_registration(rt, &w), PTO_EINVAL);
  fixture_state_take(rt, &before);
  fixture_expect(rt, through_another_registration(rt, &w), PTO_EINVAL);
  fixture_expect_sentence(rt, "param 0 (input) and param 1 (inout) share bytes");
  fixture_state_expect(rt, &before);
  return 0;
}

static const struct fixture_case fixed[] = {
    {.name = "what only looks like aliasing or an old version is accepted", .body = accepted},
    {.name = "the same bytes through another registration are refused and change nothing", .body = registered_first},
};

int main(void) {
  return run_refusals("argument_tensors", fixed, PTO_ARRAY_LENGTH(fixed), refusals, PTO_ARRAY_LENGTH(refusals));
}
