/* SPDX-License-Identifier: MIT */
/*
 * Arguments: every refusal of a submit and its kin has its status and a sentence with the parameter and the values;
 * nothing was submitted, nothing has changed, and the run goes on. Those for what a tensor is or shares are in
 * argument_tensors_test.c.
 *
 * To add one: a function that attempts it and a line in `refusals`; what it must leave alone is checked by `refused`
 * of arguments_checks.h.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/arguments_checks.h>
#include <tests/support/runtime_fixture.h>

/* ---- launches ---- */

static int no_launch(struct pto_runtime *rt, struct world *w) { return submit(rt, NULL, NULL, 0); }
static int nothing_in_a_submission(struct pto_runtime *rt, struct world *w) {
  struct pto_submission submission = {.rt = rt}, of_none = {.rt = NULL};
  const struct pto_task task = pto_submit_from(&submission);
  assert_true(task.id == 0 && task.generation == 0);
  (void)pto_submit_from(&of_none);
  assert_int_equal(of_none.status, PTO_ESTALE);
  return submission.status;
}
static void *submit_it(void *submission) {
  (void)pto_submit_from(submission);
  return NULL;
}
static int by_another_thread(struct pto_runtime *rt, struct world *w) {
  struct pto_submission submission = {.rt = rt, .launch = &(struct pto_launch){.no_kernel = true}};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, submit_it, &submission), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  return submission.status;
}
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
  struct pto_kernel kernel = kernel_for(PTO_AIV, "", 0);
  return submit(rt, &(struct pto_launch){.aiv0 = &kernel, .block_count = UINT32_MAX / 3 + 1}, NULL, 0);
}
static int never_together(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel kernel = kernel_for(PTO_AIV, "", 0);
  return submit(rt, &(struct pto_launch){.aiv0 = &kernel, .block_count = 3, .sync_start = true}, NULL, 0);
}
static int blocks_of_a_kernel_of_one(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel kernel = kernel_for(PTO_AIV, "", PTO_KERNEL_ONE_BLOCK);
  return submit(rt, &(struct pto_launch){.aiv1 = &kernel, .block_count = 4}, NULL, 0);
}
static int blocks_of_a_mix_of_one(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel one = kernel_for(PTO_AIC, "", PTO_KERNEL_ONE_BLOCK);
  return submit(rt, &(struct pto_launch){.aic = &one, .aiv0 = fixture_kernel(""), .block_count = 2}, NULL, 0);
}
static int null_after(struct pto_runtime *rt, struct world *w) {
  return submit(rt, &(struct pto_launch){.aiv0 = fixture_kernel(""), .after_count = 2}, NULL, 0);
}
static int after_what_is_not_there_yet(struct pto_runtime *rt, struct world *w) {
  const struct pto_task later = {w->task.id + 10, w->task.generation};
  return submit(rt, &(struct pto_launch){.aiv0 = fixture_kernel(""), .after = &later, .after_count = 1}, NULL, 0);
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
static int unused_beside_a_sum(struct pto_runtime *rt, struct world *w) {
  return TRY(rt, "a-", pto_accumulate(&w->managed), pto_param_tensor(PTO_UNUSED, &w->bytes));
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

static int no_kernel_with(struct pto_runtime *rt, struct pto_launch launch, struct pto_param param) {
  launch.no_kernel = true;
  return submit(rt, &launch, &param, 1);
}
static int no_kernel_with_aic(struct pto_runtime *rt, struct world *w) {
  struct pto_kernel cube = kernel_for(PTO_AIC, "i", 0);
  return no_kernel_with(rt, (struct pto_launch){.aic = &cube}, pto_input(&w->bytes));
}
static int no_kernel_with_aiv1(struct pto_runtime *rt, struct world *w) {
  return no_kernel_with(rt, (struct pto_launch){.aiv1 = fixture_kernel("i")}, pto_input(&w->bytes));
}
static int no_kernel_of_no_mode(struct pto_runtime *rt, struct world *w) {
  return no_kernel_with(rt, (struct pto_launch){0}, pto_param_tensor(99, &w->bytes));
}
static int no_kernel_of_mode_0(struct pto_runtime *rt, struct world *w) {
  return no_kernel_with(rt, (struct pto_launch){0}, pto_param_tensor(PTO_UNUSED, &w->bytes));
}
static int no_kernel_of_null(struct pto_runtime *rt, struct world *w) {
  return no_kernel_with(rt, (struct pto_launch){0}, pto_input(NULL));
}
static int rank_of_no_name(struct pto_runtime *rt, struct world *w) {
  return with_limits(rt, (struct pto_kernel_param){.mode = PTO_INPUT, .min_rank = 2}, pto_input(&w->bytes));
}
static int scalar_of_no_type(struct pto_runtime *rt, struct world *w) {
  struct pto_param param = pto_scalar_i64(1);
  param.scalar_type = 77;
  return with_limits(rt, (struct pto_kernel_param){.name = "x", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32}, param);
}
static int initial_value_of_an_input(struct pto_runtime *rt, struct world *w) {
  const struct pto_initial initial = {.param = 0, .bits = 1};
  return no_kernel_with(rt, (struct pto_launch){.initial = &initial, .initial_count = 1}, pto_input(&w->fresh));
}
static int a_version_after_the_last(struct pto_runtime *rt, struct world *w) {
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&rt->buffers, &w->managed.buffer);
  const int32_t version = record->version;
  const struct pto_tensor next = pto_tensor_with_version(&w->managed, version + 1);
  record->version = INT32_MAX; /* as after 2^31 writes */
  const int status = FIXTURE_SUBMIT(rt, "o", &next);
  record->version = version;
  return status;
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
static int nothing_run_in_run(struct pto_runtime *rt, struct world *w) { return pto_run(rt, NULL, NULL); }
static int run_in_run(struct pto_runtime *rt, struct world *w) { return pto_run(rt, orchestrate_nothing, NULL); }

/* ---- what is not refused ---- */

static int nothing_said_is_forgotten(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_submit_aiv(rt, NULL, NULL, 0), PTO_EINVAL);
  fixture_expect_sentence(rt, "a task needs a kernel");
  return 0;
}
static void sentence_is_empty_after_a_good_run(struct fixture *f) { assert_string_equal(pto_last_error(f->rt), ""); }
static int more_bytes_than_can_be_counted(struct pto_runtime *rt, struct fixture *f) {
  const uint64_t half = (UINT64_C(1) << 62) - 4096;
  const struct pto_tensor t[3] = {fixture_managed(rt, half), fixture_managed(rt, half), fixture_managed(rt, half)};
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "ooo", &t[0], &t[1], &t[2]), PTO_EINVAL);
  fixture_expect_sentence(rt, "kernel: param 2: 4611686018427383808 bytes are too many");
  return 0;
}
static int sums_and_held(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, mix(rt, "a", "i", PARAMS(pto_accumulate(&t)), 1), PTO_OK);
  fixture_expect(rt, mix(rt, "i-", "i-", PARAMS(pto_input(&t), pto_param_tensor(PTO_HOLD, &t)), 2), PTO_OK);
  return 0;
}
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
  pto_scope_label(rt, "no scope");
  struct pto_scope_stats stats = {.size = sizeof stats, .tasks = 7};
  pto_scope_statistics(rt, &stats);
  assert_int_equal(stats.tasks + stats.window + stats.heap_size_bytes, 0);
  struct pto_tensor none = fixture_managed(rt, 8);
  assert_int_equal(pto_tensor_status(&none), PTO_ESTALE);
  fixture_state_expect(rt, &before);
}

static const struct refusal refusals[] = {
    {"a submission of nothing", nothing_in_a_submission, PTO_EINVAL, "no launch"},
    {"a submission by another thread", by_another_thread, PTO_EINVAL,
     "a submit by another thread than that of the orchestration"},
    {"no launch", no_launch, PTO_EINVAL, "no launch"},
    {"no kernel", no_kernel, PTO_EINVAL, "a task needs a kernel"},
    {"a kernel that is in no list", unknown_kernel, PTO_EINVAL, "NULL for an unknown name"},
    {"a vector kernel on an AIC core", vector_on_aic, PTO_EINVAL, "kernel vector does not run on AIC"},
    {"a cube kernel on an AIV core", cube_on_aiv, PTO_EINVAL, "kernel cube does not run on AIV"},
    {"a cube kernel as AIV1 of a MIX", cube_on_aiv1_of_a_mix, PTO_EINVAL, "kernel cube does not run on AIV"},
    {"more blocks than can be counted", too_many_blocks, PTO_EINVAL, "vector: 1431655766 blocks are too many"},
    {"blocks that can never start together", never_together, PTO_EFIT,
     "vector: sync_start: 3 blocks can never start together"},
    {"blocks of a kernel that does the whole in one", blocks_of_a_kernel_of_one, PTO_EINVAL,
     "vector: block_count is 4, but the kernel does the whole of its tensors in one block"},
    {"blocks of a MIX of which one kernel does so", blocks_of_a_mix_of_one, PTO_EINVAL, "cube: block_count is 2,"},
    {"explicit dependencies at a null pointer", null_after, PTO_EINVAL, "2 explicit dependencies at a null pointer"},
    {"a zeroed explicit dependency", zeroed_after, PTO_EINVAL, "explicit dependency 1 is not a task"},
    {"an explicit dependency on what is not submitted yet", after_what_is_not_there_yet, PTO_ESTALE,
     "explicit dependency 0: task 10 of ring 0"},
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
    {"a parameter that is only unused, behind one that is accumulated into", unused_beside_a_sum, PTO_EINVAL,
     "param 1 has mode 0, which is none"},
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
    {"no kernel, and one on AIC", no_kernel_with_aic, PTO_EINVAL, "the launch has a kernel"},
    {"no kernel, and one on AIV1", no_kernel_with_aiv1, PTO_EINVAL, "the launch has a kernel"},
    {"no kernel and a mode that is none", no_kernel_of_no_mode, PTO_EINVAL, "param 0 has mode 99, which is none"},
    {"no kernel and a parameter that is unused", no_kernel_of_mode_0, PTO_EINVAL, "param 0 has mode 0, which is none"},
    {"no kernel and a null tensor", no_kernel_of_null, PTO_EINVAL, "no_kernel: param 0 is a null tensor"},
    {"a rank of a parameter without a name", rank_of_no_name, PTO_EINVAL, "picky: param 0 () has rank 1"},
    {"a scalar of a type that is none", scalar_of_no_type, PTO_EINVAL, "is a scalar of type ?, f32 is expected"},
    {"an initial value of what is only read", initial_value_of_an_input, PTO_EINVAL, "which nothing has written yet"},
    {"a version after the last", a_version_after_the_last, PTO_EINVAL, "which is at version 2147483647"},
    {"what the kernel's own check refuses", kernel_says_no, PTO_EINVAL, "inner sizes 64 and 32 differ"},
    {"what the kernel's own check refuses without a word", kernel_says_no_silently, PTO_EINVAL,
     "vector refuses its parameters"},
    {"more UB than the core has", too_much_ub, PTO_EFIT, "vector needs 212 KiB of UB, test chip has 192"},
    {"more L1 than the core has", too_much_l1, PTO_EFIT, "cube needs 600 KiB of L1, test chip has 512"},
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
    {"a run of nothing within a run", nothing_run_in_run, PTO_EINVAL, "a run is going on in this runtime"},
    {"a run within a run", run_in_run, PTO_EINVAL, "a run is going on in this runtime"},
};

static int no_memory_after_a_refusal(struct pto_runtime *rt, struct fixture *f) {
  assert_int_equal(pto_submit(rt, NULL, NULL, 0, NULL), PTO_EINVAL);
  return PTO_ENOMEM;
}

static const struct fixture_case fixed[] = {
    {.name = "a run that went on after a refusal ends without a sentence",
     .body = nothing_said_is_forgotten,
     .after = sentence_is_empty_after_a_good_run},
    {.name = "a run that has no memory says what it was refused",
     .body = no_memory_after_a_refusal,
     .status = PTO_ENOMEM,
     .sentence = "no memory for what the orchestration asks for: no launch"},
    {.name = "outputs of more bytes than can be counted are refused", .body = more_bytes_than_can_be_counted},
    {.name = "a sum that another kernel of a MIX reads is a sum, and what no kernel uses may be held",
     .body = sums_and_held},
    {.name = "every call of a run is refused outside of one and changes nothing",
     .body = nothing,
     .after = refused_outside_a_run},
};

int main(void) {
  return run_refusals("arguments", fixed, PTO_ARRAY_LENGTH(fixed), refusals, PTO_ARRAY_LENGTH(refusals));
}
