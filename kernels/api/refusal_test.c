/* SPDX-License-Identifier: MIT */
/*
 * What every kernel of the list refuses at submit, and that it says which kernel and which parameter.
 *
 * No kernel is named here.  A task that is right in all is submitted first: it must be taken, run, and give the
 * reference's values.  Then one thing at a time is wrong, for each parameter: a dtype that it does not take, a rank
 * below or above, a scalar of another type, a tensor for a scalar's mode, several blocks, an extent that does not match
 * the others.  A shape that is not refused is run, and must be right: a check that overlooks an output's extent does
 * not pass.
 */
#include <check/trial/trial.h>
#include <tests/support/trial_help.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pto/runtime.h>

#define SCRATCH_BYTES (UINT64_C(1) << 16) /* for each wrong tensor: elements of any dtype, never looked at */
#define MAX_TUPLES 32

static const struct pto_reference_sizes tried[] = {
    {1, {12}, 5}, {2, {4, 6}, 5}, {3, {4, 6, 8}, 5}, {4, {2, 3, 4, 5}, 5}, {5, {2, 3, 2, 2, 3}, 5}};

static struct pto_trial trial;
static struct pto_trial_case c;
static struct pto_tensor right[PTO_MAX_TENSORS];
static _Alignas(64) unsigned char scratch[SCRATCH_BYTES];

/* The parameters of a submit, in the kernel's order. */
static uint32_t make_params(struct pto_param *params) {
  uint32_t tensor = 0, scalar = 0;
  for (uint32_t i = 0; i < trial.kernel->param_count; i++) {
    const struct pto_kernel_param *expected = &trial.kernel->params[i];
    if (expected->mode == PTO_SCALAR) {
      const union pto_scalar value = trial.scalars[scalar++];
      params[i] = expected->scalar == PTO_SCALAR_F32   ? pto_scalar_f32(value.f32)
                  : expected->scalar == PTO_SCALAR_U64 ? pto_scalar_u64(value.u64)
                                                       : pto_scalar_i64(value.i64);
      continue;
    }
    params[i] = pto_input(&right[tensor++]);
    params[i].mode = expected->mode;
  }
  return trial.kernel->param_count;
}

static int submit(struct pto_runtime *rt, const struct pto_param *params) {
  const bool is_cube = trial.kernel->cores == PTO_AIC;
  return is_cube ? pto_submit_aic(rt, trial.kernel, params, trial.kernel->param_count)
                 : pto_submit_aiv(rt, trial.kernel, params, trial.kernel->param_count);
}

static const uint32_t block_counts[] = {2, 4, UINT32_MAX};

/* Every block would do the whole. */
static void refuse_blocks(struct pto_runtime *rt, const struct pto_param *params) {
  for (size_t i = 0; i < 2 * PTO_ARRAY_LENGTH(block_counts); i++) {
    struct pto_launch launch = {.block_count = block_counts[i / 2], .sync_start = i % 2};
    char named[128];
    *(trial.kernel->cores == PTO_AIC ? &launch.aic : &launch.aiv0) = trial.kernel;
    snprintf(named, sizeof named, "%s: block_count is %" PRIu32 ",", trial.kernel->name, launch.block_count);
    const int status = pto_submit(rt, &launch, params, trial.kernel->param_count, NULL);
    if (status != PTO_EINVAL || strncmp(pto_last_error(rt), named, strlen(named)) != 0)
      fail_msg("%s of %" PRIu32 " blocks: answered %d, \"%s\"", trial.kernel->name, launch.block_count, status,
               pto_last_error(rt));
  }
}

/* The sentence begins with the kernel's name and names parameter `index`. */
static void expect_refusal(struct pto_runtime *rt, const struct pto_param *params, uint32_t index, const char *what) {
  char named[32];
  const size_t length = strlen(trial.kernel->name);
  const int status = submit(rt, params);
  const char *sentence = pto_last_error(rt);
  snprintf(named, sizeof named, "param %" PRIu32 " (", index);
  if (status != PTO_EINVAL)
    fail_msg("%s: param %" PRIu32 " %s: answered %d, \"%s\"", trial.kernel->name, index, what, status, sentence);
  if (strncmp(sentence, trial.kernel->name, length) != 0 || strstr(sentence, named) == NULL ||
      strstr(sentence, trial.kernel->params[index].name) == NULL)
    fail_msg("%s: param %" PRIu32 " %s: refused without saying so: %s", trial.kernel->name, index, what, sentence);
}

static void refuse_dtypes(struct pto_runtime *rt, struct pto_param *params, uint32_t index) {
  const struct pto_param kept = params[index];
  const uint64_t shape[PTO_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
  const uint32_t set = trial.kernel->params[index].dtypes;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    if (set == 0 || (set & PTO_DTYPE_BIT(dtype)) != 0) continue;
    const struct pto_tensor wrong = pto_external_tensor(rt, scratch, dtype, kept.value.tensor->ndims, shape);
    params[index].value.tensor = &wrong;
    expect_refusal(rt, params, index, pto_dtype_name(dtype));
    params[index] = kept;
  }
}

static void refuse_ranks(struct pto_runtime *rt, struct pto_param *params, uint32_t index) {
  const struct pto_param kept = params[index];
  const uint64_t shape[PTO_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
  const struct pto_kernel_param *expected = &trial.kernel->params[index];
  for (uint32_t rank = 0; rank <= PTO_MAX_DIMS; rank++) {
    if (rank >= expected->min_rank && (expected->max_rank == 0 || rank <= expected->max_rank)) continue;
    const struct pto_tensor wrong = pto_external_tensor(rt, scratch, kept.value.tensor->dtype, rank, shape);
    params[index].value.tensor = &wrong;
    expect_refusal(rt, params, index, "of another rank");
    params[index] = kept;
  }
}

static void refuse_others(struct pto_runtime *rt, struct pto_param *params, uint32_t index) {
  const struct pto_param kept = params[index];
  const struct pto_kernel_param *expected = &trial.kernel->params[index];
  if (expected->mode == PTO_SCALAR) {
    params[index] = expected->scalar == PTO_SCALAR_F32 ? pto_scalar_u64(0) : pto_scalar_f32(0);
    expect_refusal(rt, params, index, "of another scalar type");
    params[index] = pto_input(&right[0]);
    expect_refusal(rt, params, index, "a tensor");
  } else {
    params[index].mode = expected->mode == PTO_INPUT ? PTO_OUTPUT : PTO_INPUT;
    expect_refusal(rt, params, index, "of another mode");
  }
  params[index] = kept;
}

static int attempt(struct pto_runtime *rt, void *context) {
  struct pto_param params[PTO_MAX_PARAMS];
  for (uint32_t i = 0; i < trial.args.tensor_count; i++)
    right[i] = pto_external_tensor(rt, trial.tensors[i].t.addr, c.dtypes[i], c.shapes[i].ndims, c.shapes[i].shape);
  const uint32_t count = make_params(params);
  for (uint32_t i = 0; i < count; i++) {
    if (trial.kernel->params[i].mode != PTO_SCALAR) {
      refuse_dtypes(rt, params, i);
      refuse_ranks(rt, params, i);
    }
    refuse_others(rt, params, i);
  }
  refuse_blocks(rt, params);
  if (submit(rt, params) != PTO_OK) fail_msg("%s: refused: %s", trial.kernel->name, pto_last_error(rt));
  return 0;
}

/* The sizes in the first dtypes that the kernel takes, or false where they are no case of it. */
static bool make_case(uint32_t kernel, const struct pto_reference_sizes *sizes) {
  static struct pto_dtype_tuple tuples[MAX_TUPLES];
  uint32_t uniform_count = 0;
  pto_trial_init(&trial, kernel);
  memset(&c, 0, sizeof c);
  c.seed = kernel + 1;
  if (pto_trial_sizes(&trial, sizes, &c)) (void)pto_trial_dtype_tuples(&trial, &c, tuples, MAX_TUPLES, &uniform_count);
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) c.dtypes[i] = tuples[0].dtypes[i];
  return uniform_count > 0;
}

static void test_every_kernel_refuses_wrong_parameters_and_several_blocks_by_name_and_runs_what_is_right(void **state) {
  (void)state;
  const struct pto_config config = {.size = sizeof config, .engine = "virtual", .chip = "a2a3", .heap_bytes = 1 << 20};
  struct pto_runtime *rt;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    size_t s = 0;
    while (s < PTO_ARRAY_LENGTH(tried) && !make_case(k, &tried[s])) s++;
    if (s == PTO_ARRAY_LENGTH(tried)) fail_msg("%s: none of the sizes is a case of it", trial.kernel->name);
    assert_int_equal(pto_trial_make(&trial, &c), PTO_OK);
    assert_int_equal(pto_trial_expect(&trial), PTO_OK);
    if (pto_run(rt, attempt, NULL) != PTO_OK) fail_msg("%s: %s", trial.kernel->name, pto_last_error(rt));
    for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
      struct pto_trial_error error;
      if (!pto_trial_is_written(trial.params[i])) continue;
      pto_trial_judge(&trial, i, &error);
      if (error.wrong_count > 0) fail_msg("%s: wrong through the runtime", trial.kernel->name);
    }
    pto_trial_fini(&trial);
  }
  pto_runtime_destroy(rt);
}

/* ---- extents ---- */

/* Whether the kernel refuses the case; if so, by its name and a parameter's number. */
static bool is_refused(const char *what) {
  if (pto_trial_check(&trial, &c) == PTO_OK) return false;
  if (strncmp(trial.message, trial.kernel->name, strlen(trial.kernel->name)) != 0 ||
      strstr(trial.message, "param") == NULL)
    fail_msg("%s: %s: refused without its name and a parameter: %s", trial.kernel->name, what, trial.message);
  return true;
}

static void expect_right_outputs(const char *text) {
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
    struct pto_trial_error error;
    if (!pto_trial_is_written(trial.params[i])) continue;
    pto_trial_judge(&trial, i, &error);
    if (error.wrong_count > 0) fail_msg("%s: accepted, and tensor %u is wrong", text, i);
  }
}

/* What a check lets pass is a case like any other: right, and nothing is written beside the outputs. */
static void run_accepted(void) {
  char text[256];
  pto_trial_describe(&trial, &c, text, sizeof text);
  if (pto_trial_make(&trial, &c) != PTO_OK || pto_trial_expect(&trial) != PTO_OK) fail_msg("%s: no memory", text);
  if (pto_trial_run(&trial) != PTO_OK) fail_msg("%s: accepted, and then: %s", text, trial.message);
  const int stray = pto_trial_stray(&trial);
  if (stray >= 0) fail_msg("%s: accepted, and then written beside tensor %d", text, stray);
  expect_right_outputs(text);
  pto_trial_fini(&trial);
}

static bool has_empty_tensor(void) {
  for (uint32_t i = 0; i < trial.args.tensor_count; i++)
    for (uint32_t d = 0; d < c.shapes[i].ndims; d++)
      if (c.shapes[i].shape[d] == 0) return true;
  return false;
}

/* 1 for a case that is refused, else 0 after a run of it.  Inputs that must be of a kind cannot always be: no index is
 * right where there are no elements. */
static uint32_t refuse_or_run(const char *what) {
  if (is_refused(what)) return 1;
  if (trial.reference->fill == NULL || !has_empty_tensor()) run_accepted();
  return 0;
}

/* Each extent another one, and each tensor with a dimension more; how many of these are refused. */
static uint32_t count_refused(void) {
  uint32_t refused_count = 0;
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
    for (uint32_t d = 0; d < c.shapes[i].ndims; d++) {
      const uint64_t extent = c.shapes[i].shape[d], others[] = {extent + 1, extent - 1, 1, 0};
      for (size_t o = 0; o < PTO_ARRAY_LENGTH(others); o++) {
        c.shapes[i].shape[d] = others[o];
        if (others[o] != extent) refused_count += refuse_or_run("another extent");
      }
      c.shapes[i].shape[d] = extent;
    }
    if (c.shapes[i].ndims == PTO_MAX_DIMS) continue;
    c.shapes[i].shape[c.shapes[i].ndims++] = 2;
    refused_count += refuse_or_run("one more dimension");
    c.shapes[i].ndims--;
  }
  return refused_count;
}

static void test_every_kernel_refuses_shapes_that_do_not_match_and_is_right_on_what_it_takes(void **state) {
  (void)state;
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    uint32_t refused_count = 0;
    for (size_t s = 0; s < PTO_ARRAY_LENGTH(tried); s++)
      if (make_case(k, &tried[s])) refused_count += count_refused();
    if (refused_count == 0 && trial.args.tensor_count > 1) fail_msg("%s takes any shapes together", trial.kernel->name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kernel_refuses_wrong_parameters_and_several_blocks_by_name_and_runs_what_is_right),
      cmocka_unit_test(test_every_kernel_refuses_shapes_that_do_not_match_and_is_right_on_what_it_takes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
