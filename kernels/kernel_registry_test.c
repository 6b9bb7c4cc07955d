/* SPDX-License-Identifier: MIT */
/*
 * Every kernel of the registry against its reference: each dtype it takes × each layout × awkward sizes.
 *
 * No kernel is named here.  A case is made from the kernel's parameters and its reference's shapes; it must pass the
 * kernel's own check and give the reference's values, must leave every byte that is not an element of an output alone,
 * and must give bit for bit the result that the same values give in contiguous tensors.
 */
#include <kernels/kernel_test_support.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(20240607)
#define UB_BYTES (UINT64_C(192) << 10) /* of an a2a3 vector core, the smallest there is */
#define L1_BYTES (UINT64_C(512) << 10)

#define MAX_ELEMS 5000 /* of a tensor */

/* ThreadSanitizer takes ten times as long, and there is one thread: every seventh case will do. */
#if defined(__SANITIZE_THREAD__)
#define CASE_STRIDE 7
#else
#define CASE_STRIDE 1
#endif

static const struct pto_reference_sizes awkward[] = {
    {0, {0}, 0},
    {1, {0}, 0},
    {1, {1}, 0},
    {1, {2}, 0},
    {1, {7}, 0},
    {1, {8}, 0},
    {1, {15}, 0},
    {1, {17}, 0},
    {1, {255}, 0},
    {1, {257}, 0},
    {1, {521}, 0},
    {1, {1031}, 0},
    {2, {1, 1}, 0},
    {2, {3, 1}, 0},
    {2, {1, 31}, 0},
    {2, {7, 13}, 0},
    {2, {33, 64}, 0},
    {2, {63, 16}, 0},
    {2, {5, 300}, 0},
    {2, {0, 5}, 0},
    {2, {5, 0}, 0},
    {3, {1, 1, 1}, 0},
    {3, {3, 5, 7}, 0},
    {3, {6, 1, 65}, 0},
    {3, {2, 127, 3}, 0},
    {3, {0, 4, 4}, 0},
    {3, {4, 0, 4}, 0},
    {3, {4, 4, 0}, 0},
    {3, {7, 129, 9}, 0},
    {3, {50, 3, 65}, 0},
    {3, {5, 257, 17}, 0},
    {3, {48, 9, 64}, 0},
    {4, {2, 1, 3, 17}, 0},
    {5, {2, 3, 1, 5, 4}, 0},
    {8, {2, 1, 3, 1, 2, 1, 2, 3}, 0},
    {8, {2, 2, 2, 2, 2, 2, 2, 2}, 0},
};

struct trial {
  const struct pto_kernel *kernel;
  const struct pto_kernel_reference *reference;
  struct pto_test_call call;
  struct pto_test_tensor tensors[PTO_MAX_TENSORS];
  const struct pto_kernel_param *params[PTO_MAX_TENSORS]; /* of the tensors */
  struct pto_golden golden[PTO_MAX_TENSORS];
  char text[256];
};

static bool is_read(const struct pto_kernel_param *p) { return (p->mode & 1) != 0; }
static bool is_written(const struct pto_kernel_param *p) { return (p->mode & 2) != 0; }
static uint32_t dtypes_of(const struct pto_kernel_param *p) { return p->dtypes == 0 ? PTO_DTYPES_ALL : p->dtypes; }

/* `dtype` where the parameter allows it, else the first that it allows. */
static uint32_t dtype_for(const struct pto_kernel_param *p, uint32_t dtype) {
  return (dtypes_of(p) & PTO_DTYPE_BIT(dtype)) != 0 ? dtype : (uint32_t)__builtin_ctz(dtypes_of(p));
}

static void trial_init(struct trial *trial, uint32_t index) {
  memset(trial, 0, sizeof *trial);
  trial->kernel = pto_kernel_at(index);
  trial->reference = pto_kernel_reference_at(index);
  pto_test_call_init(&trial->call, trial->kernel);
  uint32_t tensor_count = 0;
  for (uint32_t i = 0; i < trial->kernel->param_count; i++)
    if (trial->kernel->params[i].mode != PTO_SCALAR) trial->params[tensor_count++] = &trial->kernel->params[i];
}

static void trial_alloc(struct trial *trial, const struct pto_reference_shape *shapes, const uint32_t *dtypes,
                        uint32_t layout, struct pto_rng *rng) {
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
    pto_test_tensor_init(&trial->tensors[i], dtypes[i], &shapes[i], layout, is_written(trial->params[i]), rng);
    trial->call.tensors[i] = trial->tensors[i].t;
    const uint64_t numel = pto_test_numel(&trial->tensors[i]);
    trial->golden[i].value = calloc(numel + 1, sizeof(double));
    trial->golden[i].slack = calloc(numel + 1, sizeof(double));
    trial->golden[i].whole = calloc(numel + 1, sizeof(uint64_t));
    assert_true(trial->golden[i].value != NULL && trial->golden[i].slack != NULL && trial->golden[i].whole != NULL);
  }
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
    if (!is_read(trial->params[i])) continue;
    if (trial->reference->fill == NULL || !trial->reference->fill(&trial->call.args, i, rng))
      pto_test_fill(&trial->tensors[i], trial->reference->values == PTO_VALUES_ANY, rng);
  }
}

static void trial_free(struct trial *trial) {
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
    pto_test_tensor_fini(&trial->tensors[i]);
    free(trial->golden[i].value);
    free(trial->golden[i].slack);
    free(trial->golden[i].whole);
  }
}

/* Check and cost know the answer before there is memory. */
static void trial_check(struct trial *trial) {
  const struct pto_kernel_args *args = &trial->call.args;
  uint64_t read = 0, written = 0;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    uint64_t numel = 1;
    for (uint32_t d = 0; d < trial->tensors[i].t.ndims; d++)
      numel *= trial->tensors[i].strides[d] == 0 && trial->tensors[i].shape[d] != 0 ? 1 : trial->tensors[i].shape[d];
    const uint64_t bytes = (numel * pto_dtype_bits(trial->tensors[i].t.dtype) + 7) / 8;
    read += is_read(trial->params[i]) ? bytes : 0;
    written += is_written(trial->params[i]) ? bytes : 0;
    trial->call.tensors[i].addr = NULL;
  }
  if (trial->kernel->check != NULL && trial->kernel->check(args) != 0)
    fail_msg("%s: refused: %s", trial->text, trial->call.message);
  const struct pto_cost cost = trial->kernel->cost(args);
  if (cost.bytes_in > read || cost.bytes_out > written || (read == 0) != (cost.bytes_in == 0) ||
      (written == 0) != (cost.bytes_out == 0))
    fail_msg("%s: cost says %" PRIu64 " bytes in of %" PRIu64 ", %" PRIu64 " out of %" PRIu64, trial->text,
             cost.bytes_in, read, cost.bytes_out, written);
  if (cost.local_bytes > (trial->kernel->cores == PTO_AIV ? UB_BYTES : L1_BYTES))
    fail_msg("%s: cost wants %" PRIu64 " bytes of local memory", trial->text, cost.local_bytes);
  for (uint32_t i = 0; i < args->tensor_count; i++) trial->call.tensors[i].addr = trial->tensors[i].t.addr;
}

static void trial_compare(const struct trial *trial) {
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
    if (!pto_test_tensor_is_kept(&trial->tensors[i], is_written(trial->params[i])))
      fail_msg("%s: bytes of tensor %u that are not its to write have changed", trial->text, i);
    for (uint64_t j = 0; is_written(trial->params[i]) && j < pto_test_numel(&trial->tensors[i]); j++) {
      const struct pto_golden *golden = &trial->golden[i];
      if (!pto_test_is_right(&trial->tensors[i], j, golden, trial->reference->ulps))
        fail_msg("%s: tensor %u element %" PRIu64 ": got %.17g, reference %.17g ± %g + %" PRIu64, trial->text, i, j,
                 pto_reference_element(&trial->tensors[i].t, j), golden->value[j], golden->slack[j], golden->whole[j]);
    }
  }
}

/* The same values in contiguous tensors give the same bits (any NaN for a NaN). */
static void trial_compare_contiguous(struct trial *trial, struct pto_test_tensor *contiguous) {
  const uint32_t count = trial->call.args.tensor_count;
  struct pto_kernel_tensor tensors[PTO_MAX_TENSORS];
  for (uint32_t i = 0; i < count; i++) tensors[i] = contiguous[i].t;
  struct pto_kernel_args args = trial->call.args;
  args.tensors = tensors;
  assert_int_equal(pto_test_call_run(trial->kernel, &args), 0);
  for (uint32_t i = 0; i < count; i++)
    for (uint64_t j = 0; is_written(trial->params[i]) && j < pto_test_numel(&contiguous[i]); j++) {
      const double a = pto_reference_element(&trial->tensors[i].t, j), b = pto_reference_element(&contiguous[i].t, j);
      if (a != b && !(isnan(a) && isnan(b)))
        fail_msg("%s: tensor %u element %" PRIu64 " is %.9g, and %.9g in contiguous tensors", trial->text, i, j, a, b);
    }
}

static void copy_values(const struct trial *trial, struct pto_test_tensor *to) {
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
    struct pto_reference_shape shape = {.ndims = trial->tensors[i].t.ndims};
    memcpy(shape.shape, trial->tensors[i].shape, sizeof shape.shape);
    pto_test_tensor_init(&to[i], trial->tensors[i].t.dtype, &shape, PTO_TEST_CONTIGUOUS, true, NULL);
    const uint64_t size = pto_dtype_size(to[i].t.dtype);
    if (pto_dtype_bits(to[i].t.dtype) < 8)
      memcpy(to[i].memory, trial->tensors[i].memory, to[i].memory_bytes);
    else
      for (uint64_t j = 0; j < pto_test_numel(&to[i]); j++)
        memcpy(pto_test_addr(&to[i], j), pto_test_addr(&trial->tensors[i], j), size);
  }
}

static void run_trial(struct trial *trial, const struct pto_reference_shape *shapes, const uint32_t *dtypes,
                      uint32_t layout, uint64_t seed) {
  struct pto_rng rng = {seed};
  struct pto_test_tensor contiguous[PTO_MAX_TENSORS];
  int used = snprintf(trial->text, sizeof trial->text, "%s, %s, seed %" PRIu64, trial->kernel->name,
                      pto_test_layout_name(layout), seed);
  for (uint32_t i = 0; i < trial->call.args.tensor_count && used < (int)sizeof trial->text; i++)
    used += snprintf(trial->text + used, sizeof trial->text - (size_t)used, ", %s rank %u numel %" PRIu64,
                     pto_dtype_name(dtypes[i]), shapes[i].ndims, shapes[i].ndims == 0 ? 1 : shapes[i].shape[0]);
  trial_alloc(trial, shapes, dtypes, layout, &rng);
  trial_check(trial);
  copy_values(trial, contiguous);
  trial->reference->golden(&trial->call.args, trial->golden);
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) pto_test_tensor_keep(&trial->tensors[i]);
  const int status = pto_test_call_run(trial->kernel, &trial->call.args);
  if (status != 0) fail_msg("%s: run answered %d: %s", trial->text, status, trial->call.message);
  trial_compare(trial);
  trial_compare_contiguous(trial, contiguous);
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) pto_test_tensor_fini(&contiguous[i]);
  trial_free(trial);
}

/* More elements than every dtype and layout have time for. */
static bool is_large(const struct trial *trial, const struct pto_reference_shape *shapes) {
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
    uint64_t numel = 1;
    for (uint32_t d = 0; d < shapes[i].ndims; d++) numel *= shapes[i].shape[d];
    if (numel > MAX_ELEMS) return true;
  }
  return false;
}

/* Calls `each` for every kernel, size and layout. */
static void for_each_case(void (*each)(struct trial *, const struct pto_reference_shape *, uint32_t layout,
                                       uint64_t seed)) {
  static struct trial trial;
  uint32_t turn = 0;
  print_message("seed %" PRIu64 "\n", SEED);
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    uint32_t cases = 0;
    for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(awkward); s++)
      for (uint32_t layout = 0; layout < PTO_TEST_LAYOUT_COUNT; layout++) {
        struct pto_reference_shape shapes[PTO_MAX_TENSORS] = {{0, {0}}};
        struct pto_reference_sizes sizes = awkward[s];
        const uint64_t seed = pto_mix64(SEED + k * 100003 + s * 101 + layout);
        sizes.draw = seed;
        trial_init(&trial, k);
        if (!trial.reference->shapes(&sizes, shapes, trial.call.scalars) || is_large(&trial, shapes)) continue;
        cases++;
        if (turn++ % CASE_STRIDE == 0) each(&trial, shapes, layout, seed);
      }
    if (cases == 0) fail_msg("%s: the awkward sizes have no case for it", pto_kernel_at(k)->name);
  }
}

static void each_dtype(struct trial *trial, const struct pto_reference_shape *shapes, uint32_t layout, uint64_t seed) {
  const struct pto_test_call call = trial->call;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    uint32_t dtypes[PTO_MAX_TENSORS];
    bool is_used = false;
    for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
      dtypes[i] = dtype_for(trial->params[i], dtype);
      is_used = is_used || dtypes[i] == dtype;
    }
    if (is_used) run_trial(trial, shapes, dtypes, layout, pto_mix64(seed + dtype));
    memcpy(trial->call.message, call.message, sizeof call.message);
  }
}

/* Float parameters of different dtypes, where the kernel takes more than one. */
static void mixed_floats(struct trial *trial, const struct pto_reference_shape *shapes, uint32_t layout,
                         uint64_t seed) {
  static const uint32_t floats[] = {PTO_FLOAT32, PTO_FLOAT16, PTO_BFLOAT16};
  uint32_t dtypes[PTO_MAX_TENSORS];
  struct pto_rng rng = {seed};
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
    if ((dtypes_of(trial->params[i]) & PTO_DTYPES_FLOAT) == 0) return;
    dtypes[i] = dtype_for(trial->params[i], floats[pto_rng_below(&rng, 3)]);
    trial->call.tensors[i] =
        (struct pto_kernel_tensor){.shape = shapes[i].shape, .strides = shapes[i].shape, .ndims = shapes[i].ndims};
    trial->call.tensors[i].dtype = dtypes[i];
  }
  if (trial->kernel->check(&trial->call.args) == 0) run_trial(trial, shapes, dtypes, layout, seed);
}

static void test_every_kernel_agrees_with_its_reference_on_every_dtype_layout_and_size(void **state) {
  (void)state;
  for_each_case(each_dtype);
}

static void test_every_kernel_that_takes_mixed_floats_agrees_with_its_reference(void **state) {
  (void)state;
  for_each_case(mixed_floats);
}

/* One run of `dtype` whose output is tensor `in`. */
static void run_in_place(struct trial *trial, const struct pto_reference_shape *shapes, uint32_t dtype, uint32_t in,
                         uint32_t out, uint32_t layout, uint64_t seed) {
  uint32_t dtypes[PTO_MAX_TENSORS];
  struct pto_rng rng = {pto_mix64(seed + dtype)};
  for (uint32_t i = 0; i < trial->call.args.tensor_count; i++) {
    dtypes[i] = dtype;
    if ((dtypes_of(trial->params[i]) & PTO_DTYPE_BIT(dtype)) == 0) return;
  }
  snprintf(trial->text, sizeof trial->text, "%s over input %u, %s, %s, seed %" PRIu64, trial->kernel->name, in,
           pto_test_layout_name(layout), pto_dtype_name(dtype), seed);
  trial_alloc(trial, shapes, dtypes, layout, &rng);
  trial->reference->golden(&trial->call.args, trial->golden);
  trial->call.tensors[out] = trial->tensors[in].t;
  assert_int_equal(pto_test_call_run(trial->kernel, &trial->call.args), 0);
  for (uint64_t j = 0; j < pto_test_numel(&trial->tensors[in]); j++) {
    const struct pto_golden *golden = &trial->golden[out];
    if (!pto_test_is_right(&trial->tensors[in], j, golden, trial->reference->ulps))
      fail_msg("%s: element %" PRIu64 ": got %.17g, reference %.17g + %" PRIu64, trial->text, j,
               pto_reference_element(&trial->tensors[in].t, j), golden->value[j], golden->whole[j]);
  }
  trial_free(trial);
}

/* The output is one of the inputs: the same result as in memory of its own. */
static void in_place(struct trial *trial, const struct pto_reference_shape *shapes, uint32_t layout, uint64_t seed) {
  uint32_t out = 0;
  while (out < trial->call.args.tensor_count && trial->params[out]->mode != PTO_OUTPUT) out++;
  if ((trial->kernel->flags & PTO_KERNEL_IN_PLACE) == 0 || out == trial->call.args.tensor_count ||
      layout == PTO_TEST_BROADCAST)
    return;
  for (uint32_t in = 0; in < out; in++)
    for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
      run_in_place(trial, shapes, dtype, in, out, layout, seed);
}

static void test_every_in_place_kernel_may_write_over_any_input(void **state) {
  (void)state;
  for_each_case(in_place);
}

static void test_kernels_are_found_by_name_and_index(void **state) {
  (void)state;
  assert_true(pto_kernel_count() > 0);
  for (uint32_t i = 0; i < pto_kernel_count(); i++) {
    const struct pto_kernel *kernel = pto_kernel_at(i);
    assert_ptr_equal(pto_kernel_find(kernel->name), kernel);
    assert_non_null(pto_kernel_reference_at(i));
  }
  assert_null(pto_kernel_at(pto_kernel_count()));
  assert_null(pto_kernel_reference_at(pto_kernel_count()));
  assert_null(pto_kernel_find("no such kernel"));
  assert_null(pto_kernel_find(""));
  assert_null(pto_kernel_find(NULL));
}

static void test_every_kernel_declares_tensors_before_scalars_and_names_them(void **state) {
  (void)state;
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    const struct pto_kernel *kernel = pto_kernel_at(k);
    bool seen_scalar = false;
    assert_true(kernel->cores == PTO_AIC || kernel->cores == PTO_AIV);
    assert_true(kernel->run != NULL && kernel->cost != NULL && kernel->check != NULL);
    for (uint32_t i = 0; i < kernel->param_count; i++) {
      const struct pto_kernel_param *p = &kernel->params[i];
      assert_non_null(p->name);
      if (p->mode == PTO_SCALAR) {
        seen_scalar = true;
        assert_in_range(p->scalar, PTO_SCALAR_F32, PTO_SCALAR_U64);
      } else {
        assert_false(seen_scalar);
        assert_true(p->mode == PTO_INPUT || p->mode == PTO_OUTPUT || p->mode == PTO_INOUT || p->mode == PTO_ACCUMULATE);
      }
    }
  }
}

/* A size of one tensor that follows from those of the others is changed: every kernel with two tensors refuses that. */
static void mismatched(struct trial *trial, const struct pto_reference_shape *shapes, uint32_t layout, uint64_t seed) {
  const uint32_t count = trial->call.args.tensor_count;
  if (count < 2 || layout != PTO_TEST_CONTIGUOUS || shapes[count - 1].ndims == 0) return;
  struct pto_reference_shape changed = shapes[count - 1];
  changed.shape[0] += 1;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t *shape = i == count - 1 ? changed.shape : shapes[i].shape;
    trial->call.tensors[i] = (struct pto_kernel_tensor){
        .shape = shape, .strides = shape, .ndims = shapes[i].ndims, .dtype = dtype_for(trial->params[i], PTO_FLOAT32)};
  }
  trial->call.message[0] = '\0';
  assert_int_equal(trial->kernel->check(&trial->call.args), PTO_EKERNEL);
  if (strncmp(trial->call.message, trial->kernel->name, strlen(trial->kernel->name)) != 0 ||
      strstr(trial->call.message, "param") == NULL)
    fail_msg("%s: refused without its name and the parameters: %s", trial->kernel->name, trial->call.message);
}

static void test_every_kernel_refuses_shapes_that_do_not_match_and_says_which(void **state) {
  (void)state;
  for_each_case(mismatched);
}

static void test_a_kernel_error_without_room_for_a_sentence_is_still_an_error(void **state) {
  (void)state;
  struct pto_kernel_args args = {0};
  assert_int_equal(pto_kernel_error(&args, "index %d", 3), PTO_EKERNEL);
  struct pto_core core = {0};
  args.core = &core;
  assert_int_equal(pto_kernel_error(&args, "index %d", 3), PTO_EKERNEL);
  char text[8] = "";
  core.message = text;
  core.message_size = sizeof text;
  assert_int_equal(pto_kernel_error(&args, "index %d of many", 3), PTO_EKERNEL);
  assert_string_equal(text, "index 3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kernels_are_found_by_name_and_index),
      cmocka_unit_test(test_every_kernel_declares_tensors_before_scalars_and_names_them),
      cmocka_unit_test(test_every_kernel_agrees_with_its_reference_on_every_dtype_layout_and_size),
      cmocka_unit_test(test_every_kernel_that_takes_mixed_floats_agrees_with_its_reference),
      cmocka_unit_test(test_every_in_place_kernel_may_write_over_any_input),
      cmocka_unit_test(test_every_kernel_refuses_shapes_that_do_not_match_and_says_which),
      cmocka_unit_test(test_a_kernel_error_without_room_for_a_sentence_is_still_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
