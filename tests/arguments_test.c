/* SPDX-License-Identifier: MIT */
/*
 * Arguments: every refusal of a submit and its kin has its status and a sentence with the parameter and the values;
 * nothing was submitted, nothing has changed, and the run goes on.
 *
 * To add one: a function that attempts it and a line in `refusals`; what it must leave alone is looked at by `refused`.
 * Longer than other files, because each refusal is a function of a few lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

/* What each attempt finds: memory of every kind, with work that has not run yet. */
struct world {
  struct fixture *f;
  struct pto_tensor managed; /* u8[64], written by a task */
  struct pto_tensor fresh;   /* u8[64], without memory */
  struct pto_tensor bytes;   /* external u8[64], written by a task */
  struct pto_tensor matrix;  /* external f32[8,8], elsewhere */
  struct pto_tensor flag;    /* external i32 */
  struct pto_tensor stale;
  struct pto_task task;
};
struct refusal {
  const char *name;
  int (*attempt)(struct pto_runtime *rt, struct world *w);
  int status;
  const char *sentence;
};

static void make_world(struct pto_runtime *rt, struct fixture *f, struct world *w) {
  uint64_t shape[2] = {8, 8};
  w->f = f;
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  w->stale = fixture_managed(rt, 64);
  fixture_expect(rt, pto_alloc_tensors(rt, &w->stale, 1, NULL), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  w->managed = fixture_managed(rt, 64);
  w->fresh = fixture_managed(rt, 64);
  w->bytes = fixture_bytes(f, 0, 64);
  w->matrix = pto_external_tensor(rt, f->memory + 1024, PTO_FLOAT32, 2, shape);
  w->flag = pto_external_tensor(rt, f->memory + 2048, PTO_INT32, 0, NULL);
  FIXTURE_DO(rt, .label = 1, .modes = "oo", .tensors = {&w->managed, &w->bytes}, .out = &w->task);
}
static int refused(struct pto_runtime *rt, struct fixture *f) {
  const struct refusal *r = fixture_current->context;
  struct world w;
  struct fixture_state before;
  make_world(rt, f, &w);
  fixture_state_take(rt, &before);
  for (int again = 0; again < 2; again++) {
    fixture_expect(rt, r->attempt(rt, &w), r->status);
    fixture_expect_sentence(rt, r->sentence);
    fixture_state_expect(rt, &before);
  }
  assert_int_equal(pto_get_buffer_addr(rt, w.fresh.buffer), 0);
  /* the same buffers go on as if nothing had been said */
  struct pto_tensor next = pto_tensor_with_version(&w.managed, 1);
  FIXTURE_DO(rt, .label = 2, .modes = "ibo", .tensors = {&w.managed, &w.bytes, &w.fresh},
             .launch = {.after = &w.task, .after_count = 1});
  FIXTURE_DO(rt, .label = 3, .modes = "o", .tensors = {&next});
  assert_int_equal(fixture_edges(rt), 1 + 2);
  fixture_drain(rt);
  assert_int_equal(fixture_call_count, 3);
  return 0;
}

/* ---- launches ---- */

static struct pto_kernel kernel_for(uint32_t cores, const char *modes, uint32_t flags) {
  static struct {
    char modes[16];
    const struct pto_kernel_param *params;
  } lists[64];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(lists); i++) {
    if (!lists[i].params) {
      snprintf(lists[i].modes, sizeof lists[i].modes, "%s", modes);
      lists[i].params = fixture_kernel_with(modes, 0, NULL).params;
    }
    if (strcmp(lists[i].modes, modes) != 0) continue;
    struct pto_kernel kernel = *fixture_kernel("");
    kernel.name = cores == PTO_AIC ? "cube" : cores == PTO_AIV ? "vector" : "both";
    kernel.cores = cores;
    kernel.flags = flags;
    kernel.params = lists[i].params;
    kernel.param_count = (uint32_t)strlen(modes);
    return kernel;
  }
  fail();
  return *fixture_kernel("");
}
static int submit(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
                  uint32_t count) {
  struct pto_task untouched = {123, 456};
  int status = pto_submit(rt, launch, params, count, &untouched);
  if (status) assert_true(untouched.id == 123 && untouched.generation == 456);
  return status;
}
#define PARAMS(...)                                                                                                    \
  (const struct pto_param[]) { __VA_ARGS__ }
#define COUNT_OF(...) (uint32_t)(sizeof PARAMS(__VA_ARGS__) / sizeof(struct pto_param))
/* One AIV kernel of these modes with these parameters. */
#define TRY(rt, modes, ...) try_kernel(rt, modes, 0, PARAMS(__VA_ARGS__), COUNT_OF(__VA_ARGS__))
static int try_kernel(struct pto_runtime *rt, const char *modes, uint32_t flags, const struct pto_param *params,
                      uint32_t count) {
  static struct pto_kernel kept[32]; /* those that are accepted run later */
  static uint32_t next;
  struct pto_kernel *kernel = &kept[next++ % PTO_ARRAY_LENGTH(kept)];
  *kernel = kernel_for(PTO_AIV, modes, flags);
  struct pto_launch launch = {.aiv0 = kernel};
  return submit(rt, &launch, params, count);
}
static int no_launch(struct pto_runtime *rt, struct world *w) { return submit(rt, NULL, NULL, 0); }
static int no_kernel(struct pto_runtime *rt, struct world *w) {
  return submit(rt, &(struct pto_launch){.block_count = 2}, NULL, 0);
}
static int unknown_kernel(struct pto_runtime *rt, struct world *w) {
  return pto_submit_aiv(rt, pto_kernel_find("no such kernel"), NULL, 0);
}
static int vector_on_aic(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel kernel = kernel_for(PTO_AIV, "", 0);
  return pto_submit_aic(rt, &kernel, NULL, 0);
}
static int cube_on_aiv(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel kernel = kernel_for(PTO_AIC, "", 0);
  return pto_submit_aiv(rt, &kernel, NULL, 0);
}
static int cube_on_aiv1_of_a_mix(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel cube = kernel_for(PTO_AIC, "", 0), vector = kernel_for(PTO_AIV, "", 0);
  return submit(rt, &(struct pto_launch){.aic = &cube, .aiv0 = &vector, .aiv1 = &cube}, NULL, 0);
}
static int too_many_blocks(struct pto_runtime *rt, struct world *w) {
  return submit(rt, &(struct pto_launch){.aiv0 = fixture_kernel(""), .block_count = UINT32_MAX / 3 + 1}, NULL, 0);
}
static int never_together(struct pto_runtime *rt, struct world *w) {
  return submit(rt, &(struct pto_launch){.aiv0 = fixture_kernel(""), .block_count = 3, .sync_start = true}, NULL, 0);
}
static int null_after(struct pto_runtime *rt, struct world *w) {
  return submit(rt, &(struct pto_launch){.aiv0 = fixture_kernel(""), .after_count = 2}, NULL, 0);
}
static int zeroed_after(struct pto_runtime *rt, struct world *w) {
  struct pto_task after[2] = {w->task, {0, 0}};
  return submit(rt, &(struct pto_launch){.aiv0 = fixture_kernel(""), .after = after, .after_count = 2}, NULL, 0);
}
static int barrier_at_null(struct pto_runtime *rt, struct world *w) { return pto_submit_barrier(rt, NULL, 3, NULL); }
static int bad_after_of_an_allocating_task(struct pto_runtime *rt, struct world *w) {
  struct pto_task none = {0, 0};
  return FIXTURE_TRY(rt, .modes = "o", .tensors = {&w->fresh}, .launch = {.after = &none, .after_count = 1});
}

/* ---- parameters against the kernel's list ---- */

static int null_params(struct pto_runtime *rt, struct world *w) { return try_kernel(rt, "ii", 0, NULL, 2); }
static int too_few(struct pto_runtime *rt, struct world *w) { return TRY(rt, "ii", pto_input(&w->bytes)); }
static int too_many(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "i", pto_input(&w->bytes), pto_input(&w->managed));
}
static int none_at_all(struct pto_runtime *rt, struct world *w) { return try_kernel(rt, "i", 0, NULL, 0); }
static int output_for_input(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "ii", pto_input(&w->bytes), pto_output(&w->managed));
}
static int input_for_output(struct pto_runtime *rt, struct world *w) { return TRY(rt, "o", pto_input(&w->managed)); }
static int inout_for_accumulate(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "a", pto_inout(&w->managed));
}
static int tensor_for_scalar(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "is", pto_input(&w->bytes), pto_input(&w->managed));
}
static int scalar_for_tensor(struct pto_runtime *rt, struct world *w) { return TRY(rt, "i", pto_scalar_u64(3)); }
static int unknown_mode(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "i", pto_param_tensor(99, &w->bytes));
}
static int unused_mode(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "-", pto_param_tensor(PTO_UNUSED, &w->bytes));
}
static int null_tensor(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "ii", pto_input(&w->bytes), pto_input(NULL));
}

static int with_limits(struct pto_runtime *rt, struct pto_kernel_param limits, struct pto_param param) {
  struct pto_kernel kernel = *fixture_kernel("");
  kernel.name = "picky";
  kernel.params = &limits;
  kernel.param_count = 1;
  return submit(rt, &(struct pto_launch){.aiv0 = &kernel}, &param, 1);
}
static int wrong_dtype(struct pto_runtime *rt, struct world *w) {
  return with_limits(rt, (struct pto_kernel_param){.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_FLOAT},
                     pto_input(&w->bytes));
}
static int rank_too_low(struct pto_runtime *rt, struct world *w) {
  return with_limits(rt, (struct pto_kernel_param){.name = "x", .mode = PTO_INPUT, .min_rank = 2},
                     pto_input(&w->bytes));
}
static int rank_too_high(struct pto_runtime *rt, struct world *w) {
  return with_limits(rt, (struct pto_kernel_param){.name = "x", .mode = PTO_INPUT, .max_rank = 1},
                     pto_input(&w->matrix));
}
static int wrong_scalar_type(struct pto_runtime *rt, struct world *w) {
  return with_limits(rt, (struct pto_kernel_param){.name = "x", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32},
                     pto_scalar_i64(1));
}
static int mix(struct pto_runtime *rt, const char *aic, const char *aiv0, const struct pto_param *params,
               uint32_t count) {
  struct pto_kernel cube = kernel_for(PTO_AIC, aic, 0), vector = kernel_for(PTO_AIV, aiv0, 0);
  return submit(rt, &(struct pto_launch){.aic = &cube, .aiv0 = &vector}, params, count);
}
static int mix_of_two_counts(struct pto_runtime *rt, struct world *w) {
  return mix(rt, "i", "ii", PARAMS(pto_input(&w->bytes)), 1);
}
static int mix_used_by_none(struct pto_runtime *rt, struct world *w) {
  return mix(rt, "i-", "i-", PARAMS(pto_input(&w->bytes), pto_input(&w->managed)), 2);
}
static int mix_not_the_union(struct pto_runtime *rt, struct world *w) {
  return mix(rt, "i", "o", PARAMS(pto_input(&w->bytes)), 1);
}

/* ---- what kernels refuse ---- */

static int check_says_no(const struct pto_kernel_args *args) {
  return pto_kernel_error(args, "inner sizes %d and %d differ", 64, 32);
}
static int check_is_silent(const struct pto_kernel_args *args) { return -1; }
static struct pto_cost much_local(const struct pto_kernel_args *args) {
  return (struct pto_cost){.local_bytes = 212 << 10};
}
static struct pto_cost much_more_local(const struct pto_kernel_args *args) {
  return (struct pto_cost){.local_bytes = 600 << 10};
}
static int with_check(struct pto_runtime *rt, struct world *w, int (*check)(const struct pto_kernel_args *)) {
  struct pto_kernel kernel = kernel_for(PTO_AIV, "io", 0);
  kernel.check = check;
  return submit(rt, &(struct pto_launch){.aiv0 = &kernel}, PARAMS(pto_input(&w->bytes), pto_output(&w->fresh)), 2);
}
static int kernel_says_no(struct pto_runtime *rt, struct world *w) { return with_check(rt, w, check_says_no); }
static int kernel_says_no_silently(struct pto_runtime *rt, struct world *w) {
  return with_check(rt, w, check_is_silent);
}
static int too_much_ub(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel kernel = kernel_for(PTO_AIV, "o", 0);
  kernel.cost = much_local;
  return submit(rt, &(struct pto_launch){.aiv0 = &kernel}, PARAMS(pto_output(&w->fresh)), 1);
}
static int too_much_l1(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel kernel = kernel_for(PTO_AIC, "o", 0);
  kernel.cost = much_more_local;
  return submit(rt, &(struct pto_launch){.aic = &kernel}, PARAMS(pto_output(&w->fresh)), 1);
}

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
static struct pto_tensor rows_of_one(struct world *w) {
  static const uint64_t shape[2] = {4, 64};
  return pto_tensor_broadcast(&w->bytes, 2, shape);
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

static int in_meets_out(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor a = pto_tensor_slice(&w->bytes, 0, 0, 33, 1), b = pto_tensor_slice(&w->bytes, 0, 32, 64, 1);
  return TRY(rt, "sio", pto_scalar_u64(0), pto_input(&a), pto_output(&b));
}
static int out_meets_out(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "oo", pto_output(&w->bytes), pto_output(&w->bytes));
}
static int accumulate_meets_in(struct pto_runtime *rt, struct world *w) {
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
static int column_meets_row(struct pto_runtime *rt, struct world *w) {
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

/* ---- predicates ---- */

static int predicate_of(struct pto_runtime *rt, struct pto_tensor t, uint32_t compare) {
  return FIXTURE_TRY(rt, .launch = {.predicate = {&t, compare, 0}});
}
static int predicate_unknown(struct pto_runtime *rt, struct world *w) { return predicate_of(rt, w->flag, 7); }
static int predicate_of_many(struct pto_runtime *rt, struct world *w) { return predicate_of(rt, w->bytes, PTO_IF_EQ); }
static int predicate_of_none(struct pto_runtime *rt, struct world *w) {
  return predicate_of(rt, pto_tensor_slice(&w->bytes, 0, 3, 3, 1), PTO_IF_EQ);
}
static int predicate_of_float(struct pto_runtime *rt, struct world *w) {
  static const uint64_t offsets[2] = {1, 1}, box[2] = {1, 1};
  return predicate_of(rt, pto_tensor_view(&w->matrix, offsets, box), PTO_IF_EQ);
}
static int predicate_of_nibble(struct pto_runtime *rt, struct world *w) {
  static const uint64_t shape[1] = {1};
  struct pto_tensor byte = pto_tensor_slice(&w->bytes, 0, 0, 1, 1), nibbles = pto_tensor_reinterpret(&byte, PTO_INT4);
  return predicate_of(rt, pto_tensor_view(&nibbles, (const uint64_t[]){0}, shape), PTO_IF_EQ);
}
static int predicate_unwritten(struct pto_runtime *rt, struct world *w) {
  return predicate_of(rt, pto_tensor_slice(&w->fresh, 0, 0, 1, 1), PTO_IF_EQ);
}
static int predicate_at_null(struct pto_runtime *rt, struct world *w) {
  return FIXTURE_TRY(rt, .launch = {.predicate = {NULL, PTO_IF_NE, 0}});
}

/* ---- alloc_tensors, elements, runs ---- */

static int alloc_at_null(struct pto_runtime *rt, struct world *w) { return pto_alloc_tensors(rt, NULL, 2, NULL); }
static int alloc_33(struct pto_runtime *rt, struct world *w) { return pto_alloc_tensors(rt, &w->fresh, 33, NULL); }
static int alloc_twice(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t[2] = {w->fresh, w->fresh};
  return pto_alloc_tensors(rt, t, 2, NULL);
}
static int alloc_invalid(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t[2] = {w->fresh, pto_tensor_slice(&w->bytes, 0, 60, 70, 1)};
  return pto_alloc_tensors(rt, t, 2, NULL);
}
static int read_beyond(struct pto_runtime *rt, struct world *w) {
  float x;
  return pto_read_element(rt, &w->matrix, (const uint64_t[]){3, 8}, &x);
}
static int read_null(struct pto_runtime *rt, struct world *w) {
  float x;
  return pto_read_element(rt, NULL, NULL, &x);
}
static int read_without_index(struct pto_runtime *rt, struct world *w) {
  float x;
  return pto_read_element(rt, &w->matrix, NULL, &x);
}
static int read_to_null(struct pto_runtime *rt, struct world *w) {
  return pto_read_element(rt, &w->matrix, (const uint64_t[]){0, 0}, NULL);
}
static int write_from_null(struct pto_runtime *rt, struct world *w) {
  return pto_write_element(rt, &w->matrix, (const uint64_t[]){0, 0}, NULL);
}
static int read_unwritten(struct pto_runtime *rt, struct world *w) {
  uint8_t x;
  return pto_read_element(rt, &w->fresh, (const uint64_t[]){0}, &x);
}
static int write_unwritten(struct pto_runtime *rt, struct world *w) {
  uint8_t x = 1;
  return pto_write_element(rt, &w->fresh, (const uint64_t[]){0}, &x);
}
static int write_shared_element(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = rows_of_one(w);
  uint8_t x = 1;
  return pto_write_element(rt, &t, (const uint64_t[]){0, 0}, &x);
}
static int read_invalid(struct pto_runtime *rt, struct world *w) {
  struct pto_tensor t = pto_tensor_slice(&w->bytes, 0, 60, 70, 1);
  uint8_t x;
  return pto_read_element(rt, &t, (const uint64_t[]){0}, &x);
}
static int orchestrate_nothing(struct pto_runtime *rt, void *context) { return 0; }
static int run_in_run(struct pto_runtime *rt, struct world *w) { return pto_run(rt, orchestrate_nothing, NULL); }

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
  fixture_expect(rt, read_of(rt, now), PTO_OK);
  fixture_expect(rt, read_of(rt, next), PTO_EINVAL);
  fixture_expect_sentence(rt, "names version 1");
  return 0;
}
static int nothing_said_is_forgotten(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_submit_aiv(rt, NULL, NULL, 0), PTO_EINVAL);
  fixture_expect_sentence(rt, "a task needs a kernel");
  return 0;
}
static void sentence_is_empty_after_a_good_run(struct fixture *f) { assert_string_equal(pto_last_error(f->rt), ""); }
static int nothing(struct pto_runtime *rt, struct fixture *f) { return 0; }
static void refused_outside_a_run(struct fixture *f) {
  struct pto_runtime *rt = f->rt;
  struct pto_tensor t = fixture_bytes(f, 0, 8);
  struct fixture_state before;
  uint64_t index = 0;
  uint8_t x = 0;
  fixture_state_take(rt, &before);
  int statuses[] = {FIXTURE_SUBMIT(rt, "i", &t),
                    pto_submit_aic(rt, fixture_kernel(""), NULL, 0),
                    pto_submit_aiv(rt, fixture_kernel(""), NULL, 0),
                    pto_submit_barrier(rt, NULL, 0, NULL),
                    pto_alloc_tensors(rt, &t, 1, NULL),
                    pto_scope_begin(rt, PTO_SCOPE_AUTO),
                    pto_scope_end(rt),
                    pto_read_element(rt, &t, &index, &x),
                    pto_write_element(rt, &t, &index, &x),
                    pto_report_error(rt, "no"),
                    pto_run(rt, NULL, NULL)};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(statuses); i++) assert_int_equal(statuses[i], PTO_EINVAL);
  fixture_expect_sentence(rt, "no orchestration");
  struct pto_tensor none = fixture_managed(rt, 8);
  assert_int_equal(pto_tensor_status(&none), PTO_ESTALE);
  fixture_state_expect(rt, &before);
}

static const struct refusal refusals[] = {
    {"no launch", no_launch, PTO_EINVAL, "no launch"},
    {"no kernel", no_kernel, PTO_EINVAL, "a task needs a kernel"},
    {"a kernel that nobody knows", unknown_kernel, PTO_EINVAL, "NULL for an unknown name"},
    {"a vector kernel on an AIC core", vector_on_aic, PTO_EINVAL, "kernel vector does not run on AIC"},
    {"a cube kernel on an AIV core", cube_on_aiv, PTO_EINVAL, "kernel cube does not run on AIV"},
    {"a cube kernel as AIV1 of a MIX", cube_on_aiv1_of_a_mix, PTO_EINVAL, "kernel cube does not run on AIV"},
    {"more blocks than can be counted", too_many_blocks, PTO_EINVAL, "1431655766 blocks"},
    {"blocks that can never start together", never_together, PTO_EFIT, "3 blocks can never start together"},
    {"explicit dependencies at a null pointer", null_after, PTO_EINVAL, "2 explicit dependencies at a null pointer"},
    {"a zeroed explicit dependency", zeroed_after, PTO_EINVAL, "explicit dependency 1 is not a task"},
    {"a barrier after a null pointer", barrier_at_null, PTO_EINVAL, "3 explicit dependencies at a null pointer"},
    {"a bad dependency of a task that would allocate", bad_after_of_an_allocating_task, PTO_EINVAL,
     "explicit dependency 0"},
    {"parameters at a null pointer", null_params, PTO_EINVAL, "2 parameters at a null pointer"},
    {"too few parameters", too_few, PTO_EINVAL, "vector takes 2 parameters, 1 were passed"},
    {"too many parameters", too_many, PTO_EINVAL, "vector takes 1 parameters, 2 were passed"},
    {"no parameters where there should be one", none_at_all, PTO_EINVAL, "vector takes 1 parameters, 0 were passed"},
    {"an output for an input", output_for_input, PTO_EINVAL,
     "vector: param 1 () is passed as output, input is expected"},
    {"an input for an output", input_for_output, PTO_EINVAL, "param 0 () is passed as input, output is expected"},
    {"an inout for an accumulate", inout_for_accumulate, PTO_EINVAL, "passed as inout, accumulate is expected"},
    {"a tensor for a scalar", tensor_for_scalar, PTO_EINVAL, "param 1 () is passed as input, scalar is expected"},
    {"a scalar for a tensor", scalar_for_tensor, PTO_EINVAL, "passed as scalar, input is expected"},
    {"an unknown mode", unknown_mode, PTO_EINVAL, "param 0"},
    {"a parameter that is only unused", unused_mode, PTO_EINVAL, "param 0 has mode 0, which is none"},
    {"a null tensor", null_tensor, PTO_EINVAL, "vector: param 1 () is a null tensor"},
    {"a dtype that the kernel does not take", wrong_dtype, PTO_EINVAL, "picky: param 0 (x) has dtype u8"},
    {"a rank below the kernel's", rank_too_low, PTO_EINVAL, "picky: param 0 (x) has rank 1, 2 to 8 is expected"},
    {"a rank above the kernel's", rank_too_high, PTO_EINVAL, "picky: param 0 (x) has rank 2, 0 to 1 is expected"},
    {"a scalar of another type", wrong_scalar_type, PTO_EINVAL,
     "picky: param 0 (x) is a scalar of type i64, f32 is expected"},
    {"kernels of a MIX that count differently", mix_of_two_counts, PTO_EINVAL,
     "vector takes 2 parameters, 1 were passed"},
    {"a parameter that no kernel of a MIX uses", mix_used_by_none, PTO_EINVAL, "param 1 is used by no kernel"},
    {"a mode that is not the union of the MIX's", mix_not_the_union, PTO_EINVAL, "passed as input, inout is expected"},
    {"what the kernel's own check refuses", kernel_says_no, PTO_EINVAL, "inner sizes 64 and 32 differ"},
    {"what the kernel's own check refuses without a word", kernel_says_no_silently, PTO_EINVAL,
     "vector refuses its parameters"},
    {"more UB than the core has", too_much_ub, PTO_EFIT, "vector needs 212 KiB of UB, test chip has 192"},
    {"more L1 than the core has", too_much_l1, PTO_EFIT, "cube needs 600 KiB of L1, test chip has 512"},
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
    {"an input that shares one byte with an output", in_meets_out, PTO_EINVAL,
     "param 1 (input) and param 2 (output) share bytes of buffer 4"},
    {"two outputs of the same bytes", out_meets_out, PTO_EINVAL, "param 0 (output) and param 1 (output) share bytes"},
    {"an accumulate and an input of the same bytes", accumulate_meets_in, PTO_EINVAL,
     "param 0 (accumulate) and param 1 (input)"},
    {"the same bytes through another dtype", as_another_dtype, PTO_EINVAL,
     "param 0 (input) and param 1 (inout) share bytes"},
    {"a column and a row that cross", column_meets_row, PTO_EINVAL, "param 0 (input) and param 1 (output) share bytes"},
    {"an in-place pair of a kernel that is not safe for it", unsafe_pair, PTO_EINVAL, "share bytes"},
    {"an in-place pair of different layouts", pair_of_other_layout, PTO_EINVAL, "share bytes"},
    {"an in-place pair one byte apart", pair_shifted, PTO_EINVAL, "share bytes"},
    {"an input and an inout in place", in_place_inout, PTO_EINVAL, "param 0 (input) and param 1 (inout)"},
    {"two outputs over one in-place input", in_place_two_outputs, PTO_EINVAL, "share bytes"},
    {"an in-place pair of a MIX where one kernel is not safe", mix_half_in_place, PTO_EINVAL, "share bytes"},
    {"a predicate that the task itself writes", predicate_is_written, PTO_EINVAL, "predicate (input)"},
    {"a comparison that is none", predicate_unknown, PTO_EINVAL, "predicate: 7 is no comparison"},
    {"a predicate of many elements", predicate_of_many, PTO_EINVAL, "one integer element, not 64 of u8"},
    {"a predicate of no element", predicate_of_none, PTO_EINVAL, "one integer element, not 0 of u8"},
    {"a predicate of a float", predicate_of_float, PTO_EINVAL, "one integer element, not 1 of f32"},
    {"a predicate of a nibble", predicate_of_nibble, PTO_EINVAL, "one integer element, not 1 of i4"},
    {"a predicate that nothing has written", predicate_unwritten, PTO_EINVAL,
     "uses buffer 3, which nothing has written yet"},
    {"a comparison with a null tensor", predicate_at_null, PTO_EINVAL, "the predicate compares a null tensor"},
    {"alloc_tensors at a null pointer", alloc_at_null, PTO_EINVAL, "alloc_tensors: 2 tensors at a null pointer"},
    {"alloc_tensors of 33", alloc_33, PTO_EINVAL, "alloc_tensors: more than 32 tensors"},
    {"alloc_tensors of one buffer twice", alloc_twice, PTO_EINVAL, "params 0 and 1 both mean buffer 3"},
    {"alloc_tensors of an invalid tensor", alloc_invalid, PTO_EINVAL, "param 1"},
    {"an element beyond an extent", read_beyond, PTO_EINVAL,
     "read_element: index 8 of dimension 1 is beyond its extent 8"},
    {"an element of a null tensor", read_null, PTO_EINVAL, "read_element: null tensor"},
    {"an element without its index", read_without_index, PTO_EINVAL, "a tensor of rank 2 needs an index"},
    {"an element to a null pointer", read_to_null, PTO_EINVAL, "read_element: null value"},
    {"an element from a null pointer", write_from_null, PTO_EINVAL, "write_element: null value"},
    {"an element that nothing has written", read_unwritten, PTO_EINVAL,
     "read_element: nothing has written buffer 3 yet"},
    {"a write to an element without memory", write_unwritten, PTO_EINVAL,
     "write_element: nothing has written buffer 3 yet"},
    {"a write to an element that others share", write_shared_element, PTO_EINVAL,
     "write_element: elements of the tensor share bytes"},
    {"an element of an invalid tensor", read_invalid, PTO_EINVAL, "read_element: slice: dimension 0"},
    {"a run within a run", run_in_run, PTO_EINVAL, "a run is going on in this runtime"},
};

/* The registration is made before the state is looked at. */
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
    {.name = "a run that went on after a refusal ends without a sentence",
     .body = nothing_said_is_forgotten,
     .after = sentence_is_empty_after_a_good_run},
    {.name = "every call of a run is refused outside of one and changes nothing",
     .body = nothing,
     .after = refused_outside_a_run},
};

int main(void) {
  enum { FIXED = PTO_ARRAY_LENGTH(fixed), REFUSALS = PTO_ARRAY_LENGTH(refusals) };
  static struct fixture_case cases[FIXED + REFUSALS];
  static char names[REFUSALS][128];
  memcpy(cases, fixed, sizeof fixed);
  for (uint32_t i = 0; i < REFUSALS; i++) {
    snprintf(names[i], sizeof names[i], "%s is refused and changes nothing", refusals[i].name);
    cases[FIXED + i] = (struct fixture_case){.name = names[i], .body = refused, .context = &refusals[i]};
  }
  return fixture_run_cases("arguments", cases, PTO_ARRAY_LENGTH(cases));
}
