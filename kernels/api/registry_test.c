/* SPDX-License-Identifier: MIT */
/*
 * Every kernel of the list against its reference: dtypes × layouts × awkward sizes.
 *
 * No kernel is named here.  A case is made from the kernel's parameters and its reference's shapes.  It must pass the
 * kernel's own check and give the reference's values, must leave every byte that is not an element of an output alone,
 * and must give bit for bit what the same values give in contiguous tensors and on every instruction-set level of this
 * machine (but for references that say otherwise).  A table at the end shows how far each kernel is off at worst.
 *
 * Every uniform combination of dtypes is run at every size, with the layouts taking turns, and every other combination
 * of dtypes that the kernel takes at a few; PTO_TEST_LONG=1 runs the whole product.  An argument is a part of a
 * kernel's name: `kernel_registry_test softmax` tries those alone.
 */
#include <tests/support/kernel_call.h>

#include <kernels/levels/level.h>
#include <runtime/base/sanitizer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#define SEED UINT64_C(20240607)
#define MAX_ELEMS 5000  /* of a tensor; more than that, every dtype and layout have no time for */
#define MAX_TUPLES 200  /* combinations of dtypes: all pairs of 14 */
#define EXTRA_SIZES 3   /* that meet a combination of dtypes which is not uniform */
#define MAX_OUTPUTS 8   /* that the table has room for, a kernel */
#define MAX_KERNELS 512 /* the same */

/* ThreadSanitizer takes ten times as long, and there is one thread: every seventh case will do. */
#define CASE_STRIDE (PTO_HAS_TSAN ? 7 : 1)

static const struct pto_reference_sizes awkward[] = {
    {0, {0}, 0},
    {1, {0}, 0},
    {1, {1}, 0},
    {1, {2}, 0},
    {1, {7}, 0},
    {1, {8}, 0},
    {1, {9}, 0},
    {1, {15}, 0},
    {1, {16}, 0},
    {1, {17}, 0},
    {1, {31}, 0},
    {1, {33}, 0},
    {1, {63}, 0},
    {1, {65}, 0},
    {1, {127}, 0},
    {1, {129}, 0},
    {1, {257}, 0},
    {1, {521}, 0},
    {1, {1031}, 0},
    {2, {1, 1}, 0},
    {2, {3, 1}, 0},
    {2, {1, 31}, 0},
    {2, {7, 13}, 0},
    {2, {5, 8}, 0},
    {2, {4, 9}, 0},
    {2, {9, 15}, 0},
    {2, {2, 17}, 0},
    {2, {33, 64}, 0},
    {2, {63, 16}, 0},
    {2, {65, 33}, 0},
    {2, {3, 127}, 0},
    {2, {3, 129}, 0},
    {2, {5, 300}, 0},
    {2, {1, 1031}, 0},
    {2, {0, 5}, 0},
    {2, {5, 0}, 0},
    {3, {1, 1, 1}, 0},
    {3, {3, 5, 7}, 0},
    {3, {8, 7, 9}, 0},
    {3, {15, 17, 16}, 0},
    {3, {6, 1, 65}, 0},
    {3, {2, 127, 3}, 0},
    {3, {31, 33, 1}, 0},
    {3, {0, 4, 4}, 0},
    {3, {4, 0, 4}, 0},
    {3, {4, 4, 0}, 0},
    {3, {7, 129, 9}, 0},
    {3, {50, 3, 63}, 0},
    {3, {5, 257, 17}, 0},
    {3, {48, 9, 64}, 0},
    {4, {2, 1, 3, 17}, 0},
    {4, {3, 5, 2, 33}, 0},
    {4, {2, 0, 3, 4}, 0},
    {5, {2, 3, 1, 5, 4}, 0},
    {6, {2, 1, 3, 2, 1, 7}, 0},
    {7, {1, 2, 2, 1, 3, 2, 5}, 0},
    {8, {2, 1, 3, 1, 2, 1, 2, 3}, 0},
    {8, {2, 2, 2, 2, 2, 2, 2, 2}, 0},
};

/* What argv[1] asks for. */
static const char *wanted = "";
static bool is_wanted(uint32_t kernel) { return strstr(pto_kernel_at(kernel)->name, wanted) != NULL; }

static uint64_t numel_of(const struct pto_reference_shape *shape) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < shape->ndims; d++) numel *= shape->shape[d];
  return numel;
}

/* The awkward sizes that are cases of the kernel; returns their count. */
static uint32_t cases_of(const struct pto_trial *trial, uint32_t kernel, struct pto_trial_case *cases) {
  uint32_t count = 0;
  for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(awkward); s++) {
    struct pto_reference_sizes sizes = awkward[s];
    struct pto_trial_case *c = &cases[count];
    c->seed = sizes.draw = pto_mix64(SEED + kernel * 100003 + s * 101);
    if (!pto_trial_sizes(trial, &sizes, c)) continue;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < trial->args.tensor_count; i++) largest = pto_max_u64(largest, numel_of(&c->shapes[i]));
    count += largest <= MAX_ELEMS;
  }
  if (count == 0) fail_msg("%s: the awkward sizes have no case for it", trial->kernel->name);
  return count;
}

static void set_case(struct pto_trial_case *c, const struct pto_trial *trial, const struct pto_dtype_tuple *tuple,
                     uint32_t layout) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) c->dtypes[i] = tuple->dtypes[i];
  c->layout = layout;
}

/* ---- how far off, for the table ---- */

static struct worst {
  struct pto_trial_error error;
  uint8_t dtypes[PTO_MAX_TENSORS];
  uint8_t layout;
  uint64_t elems;
} table[MAX_KERNELS][MAX_OUTPUTS][PTO_DTYPE_COUNT];

static void note_error(uint32_t kernel, const struct pto_trial *trial, const struct pto_trial_case *c, uint32_t output,
                       const struct pto_trial_error *error) {
  uint32_t place = 0;
  for (uint32_t i = 0; i < output; i++) place += pto_trial_is_written(trial->params[i]);
  if (place >= MAX_OUTPUTS || kernel >= MAX_KERNELS) return;
  struct worst *worst = &table[kernel][place][c->dtypes[output]];
  if (worst->elems == 0 || pto_trial_error_is_worse(error, &worst->error)) {
    worst->error = *error;
    worst->layout = (uint8_t)c->layout;
    for (uint32_t i = 0; i < trial->args.tensor_count; i++) worst->dtypes[i] = (uint8_t)c->dtypes[i];
  }
  worst->elems += numel_of(&c->shapes[output]);
}

static void print_floats(const char *name, const struct pto_trial *trial, uint32_t dtype, const struct worst *worst) {
  char inputs[128] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < trial->args.tensor_count && used < sizeof inputs; i++)
    if (pto_trial_is_read(trial->params[i]))
      used += (size_t)snprintf(inputs + used, sizeof inputs - used, "%s ", pto_dtype_name(worst->dtypes[i]));
  printf("%-28s %9" PRIu64 "  %s→ %s  %.4g of %.4g ulp at [%" PRIu64 "] of %s: %.9g for %.12g\n", name, worst->elems,
         inputs, pto_dtype_name(dtype), worst->error.ulps, worst->error.allowed, worst->error.index,
         pto_layout_name(worst->layout), worst->error.got, worst->error.value);
}

static void print_output(const char *name, const struct pto_trial *trial, const struct worst *by_dtype) {
  uint64_t elems = 0;
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
    if (by_dtype[dtype].elems == 0) continue;
    if (pto_trial_is_float(dtype))
      print_floats(name, trial, dtype, &by_dtype[dtype]);
    else
      elems += by_dtype[dtype].elems;
  }
  if (elems == 0) return;
  printf("%-28s %9" PRIu64 "  exact:", name, elems);
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    if (by_dtype[dtype].elems > 0 && !pto_trial_is_float(dtype)) printf(" %s", pto_dtype_name(dtype));
  putchar('\n');
}

static int print_table(void **state) {
  (void)state;
  static struct pto_trial trial;
  printf("\nworst error of each output and float dtype, in units of its last place, and what is allowed there\n"
         "%-28s %9s  result\n",
         "output", "elements");
  for (uint32_t k = 0; k < pto_kernel_count() && k < MAX_KERNELS; k++) {
    uint32_t place = 0;
    pto_trial_init(&trial, k);
    for (uint32_t i = 0; i < trial.args.tensor_count && place < MAX_OUTPUTS; i++) {
      char name[96];
      if (!pto_trial_is_written(trial.params[i])) continue;
      snprintf(name, sizeof name, "%s.%s", trial.kernel->name, trial.params[i]->name);
      print_output(name, &trial, table[k][place++]);
    }
  }
  return 0;
}

/* ---- agreement ---- */

static void judge(uint32_t kernel, const struct pto_trial *trial, const struct pto_trial_case *c, const char *where) {
  char text[256];
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    struct pto_trial_error error;
    if (!pto_trial_is_written(trial->params[i])) continue;
    pto_trial_judge(trial, i, &error);
    note_error(kernel, trial, c, i, &error);
    if (error.wrong_count == 0) continue;
    pto_trial_describe(trial, c, text, sizeof text);
    fail_msg("%s: %s: %" PRIu64 " elements of tensor %u are wrong, the first at %" PRIu64
             ": got %.17g, reference %.17g, %g of %g ulp",
             text, where, error.wrong_count, i, error.index, error.got, error.value, error.ulps, error.allowed);
  }
}

static void compare_bits(const struct pto_trial *a, const struct pto_trial *b, const struct pto_trial_case *c,
                         const char *where) {
  char text[256];
  for (uint32_t i = 0; i < a->args.tensor_count; i++)
    for (uint64_t j = 0; pto_trial_is_written(a->params[i]) && j < pto_trial_numel(&a->tensors[i]); j++) {
      if (pto_trial_same_element(&a->tensors[i], &b->tensors[i], j)) continue;
      pto_trial_describe(a, c, text, sizeof text);
      fail_msg("%s: tensor %u element %" PRIu64 " is %.17g, and %.17g (%s)", text, i, j,
               pto_reference_element(&a->tensors[i].t, j), pto_reference_element(&b->tensors[i].t, j), where);
    }
}

static void run_once(struct pto_trial *trial, const struct pto_trial_case *c, const char *where) {
  char text[256];
  const int status = pto_trial_run(trial);
  const int stray = status == PTO_OK && trial->tensors[0].before != NULL ? pto_trial_stray(trial) : -1;
  if (status == PTO_OK && stray < 0) return;
  pto_trial_describe(trial, c, text, sizeof text);
  if (status != PTO_OK) fail_msg("%s: %s: run answered %d: %s", text, where, status, trial->message);
  fail_msg("%s: %s: bytes of tensor %d that are not its to write have changed", text, where, stray);
}

/* `trial` once more at every lower level: the bits of `kept`, or right by itself. */
static void run_lower_levels(uint32_t kernel, struct pto_trial *trial, const struct pto_trial *kept,
                             const struct pto_trial_case *c) {
  const enum pto_level best = pto_level_best();
  for (enum pto_level level = PTO_LEVEL_PLAIN; level < best; level++) {
    if (!pto_level_is_supported(level)) continue;
    pto_trial_restore(trial);
    pto_level_limit(level);
    run_once(trial, c, pto_level_name(level));
    pto_level_limit(PTO_LEVEL_COUNT - 1);
    if ((trial->reference->flags & PTO_REFERENCE_LEVELS_DIFFER) != 0)
      judge(kernel, trial, c, pto_level_name(level));
    else
      compare_bits(trial, kept, c, pto_level_name(best));
  }
}

static void run_case(uint32_t kernel, const struct pto_trial_case *c) {
  static struct pto_trial trial, contiguous; /* large */
  char text[256];
  pto_trial_init(&trial, kernel);
  pto_trial_init(&contiguous, kernel);
  pto_trial_describe(&trial, c, text, sizeof text);
  if (pto_trial_check(&trial, c) != PTO_OK) fail_msg("%s: refused: %s", text, trial.message);
  assert_int_equal(pto_trial_make(&trial, c), PTO_OK);
  assert_int_equal(pto_trial_make_contiguous(&contiguous, &trial), PTO_OK);
  assert_int_equal(pto_trial_expect(&trial), PTO_OK);
  assert_int_equal(pto_trial_expect(&contiguous), PTO_OK);
  run_once(&trial, c, pto_level_name(pto_level_best()));
  judge(kernel, &trial, c, pto_level_name(pto_level_best()));
  run_once(&contiguous, c, "contiguous");
  compare_bits(&trial, &contiguous, c, "contiguous");
  if (c->seed % 2 == 0)
    run_lower_levels(kernel, &trial, &contiguous, c);
  else
    run_lower_levels(kernel, &contiguous, &trial, c);
  pto_trial_fini(&trial);
  pto_trial_fini(&contiguous);
}

static void run_cases(uint32_t kernel) {
  static struct pto_trial_case cases[PTO_ARRAY_LENGTH(awkward)];
  static struct pto_dtype_tuple tuples[MAX_TUPLES];
  static struct pto_trial trial;
  static uint32_t turn;
  const bool is_long = getenv("PTO_TEST_LONG") != NULL;
  uint32_t uniform_count;
  pto_trial_init(&trial, kernel);
  const uint32_t count = cases_of(&trial, kernel, cases);
  const uint32_t tuple_count = pto_trial_dtype_tuples(&trial, &cases[0], tuples, MAX_TUPLES, &uniform_count);
  if (uniform_count == 0) fail_msg("%s takes no uniform combination of dtypes", trial.kernel->name);
  for (uint32_t t = 0; t < tuple_count; t++) {
    const bool is_extra = t >= uniform_count;
    for (uint32_t k = 0; k < (is_extra && !is_long ? pto_min_u64(EXTRA_SIZES, count) : count); k++) {
      struct pto_trial_case *c = &cases[is_extra ? (t * 7 + k * 3) % count : k];
      for (uint32_t layout = 0; layout < (is_long ? PTO_LAYOUT_COUNT : 1); layout++) {
        const uint64_t seed = c->seed;
        set_case(c, &trial, &tuples[t], is_long ? layout : (t * 3 + k + kernel) % PTO_LAYOUT_COUNT);
        c->seed = pto_mix64(seed + t * 31 + layout);
        if (turn++ % CASE_STRIDE == 0) run_case(kernel, c);
        c->seed = seed;
      }
    }
  }
}

static void test_every_kernel_agrees_with_its_reference_on_every_dtype_layout_size_and_level(void **state) {
  (void)state;
  print_message("seed %" PRIu64 "\n", SEED);
  for (uint32_t k = 0; k < pto_kernel_count(); k++)
    if (is_wanted(k)) run_cases(k);
}

/* ---- in place ---- */

/* The output is input `in`: the same result as in memory of its own. */
static void run_in_place(uint32_t kernel, const struct pto_trial_case *c, uint32_t in, uint32_t out) {
  static struct pto_trial trial;
  char text[256];
  pto_trial_init(&trial, kernel);
  if (pto_trial_check(&trial, c) != PTO_OK) return;
  assert_int_equal(pto_trial_make(&trial, c), PTO_OK);
  assert_int_equal(pto_trial_expect(&trial), PTO_OK);
  trial.views[out] = trial.tensors[in].t;
  pto_trial_describe(&trial, c, text, sizeof text);
  if (pto_trial_run(&trial) != PTO_OK) fail_msg("%s: over input %u: %s", text, in, trial.message);
  for (uint64_t j = 0; j < pto_trial_numel(&trial.tensors[in]); j++)
    pto_reference_set_whole(&trial.tensors[out].t, j, pto_reference_bits(&trial.tensors[in].t, j));
  snprintf(text, sizeof text, "over input %u", in);
  judge(kernel, &trial, c, text);
  pto_trial_fini(&trial);
}

static void run_in_place_cases(uint32_t kernel) {
  static struct pto_trial_case cases[PTO_ARRAY_LENGTH(awkward)];
  static struct pto_trial trial;
  uint32_t out = 0, turn = 0;
  pto_trial_init(&trial, kernel);
  while (out < trial.args.tensor_count && trial.params[out]->mode != PTO_OUTPUT) out++;
  if ((trial.kernel->flags & PTO_KERNEL_IN_PLACE) == 0 || out == trial.args.tensor_count) return;
  const uint32_t count = cases_of(&trial, kernel, cases);
  for (uint32_t in = 0; in < out; in++)
    for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
      for (uint32_t k = turn++ % 3; k < count; k += 3) {
        struct pto_dtype_tuple tuple;
        if (((pto_trial_dtypes(trial.params[in]) & pto_trial_dtypes(trial.params[out])) & PTO_DTYPE_BIT(dtype)) == 0 ||
            memcmp(&cases[k].shapes[in], &cases[k].shapes[out], sizeof cases[k].shapes[in]) != 0)
          continue;
        memset(&tuple, (int)dtype, sizeof tuple);
        for (uint32_t i = 0; i < trial.args.tensor_count; i++)
          if ((pto_trial_dtypes(trial.params[i]) & PTO_DTYPE_BIT(dtype)) == 0)
            tuple.dtypes[i] = (uint8_t)__builtin_ctz(pto_trial_dtypes(trial.params[i]));
        /* Every layout but the one that gives inputs another than outputs. */
        set_case(&cases[k], &trial, &tuple, (k + dtype) % PTO_LAYOUT_COUNT);
        if (cases[k].layout == PTO_LAYOUT_BROADCAST) cases[k].layout = PTO_LAYOUT_CONTIGUOUS;
        run_in_place(kernel, &cases[k], in, out);
      }
}

static void test_every_in_place_kernel_may_write_over_any_input(void **state) {
  (void)state;
  for (uint32_t k = 0; k < pto_kernel_count(); k++)
    if (is_wanted(k)) run_in_place_cases(k);
}

/* ---- nothing to do, of however much ---- */

#define LONG_EXTENT (UINT64_C(1) << 40)
#define EMPTY_SECONDS 300 /* for all cases of a kernel, which take none: a loop over a long extent takes years */
#define MOST_EXTENT 16

/* The case with LONG_EXTENT wherever an extent is `stretched`, and 0 wherever it is `emptied`.  Whether the kernel
 * takes it, and no tensor has elements for it to be long about. */
static bool make_long_and_empty(struct pto_trial *trial, const struct pto_trial_case *from, uint64_t stretched,
                                uint64_t emptied, struct pto_trial_case *c) {
  bool has_both[2] = {false, false};
  *c = *from;
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    struct pto_reference_shape *shape = &c->shapes[i];
    bool is_empty = false, is_long = false;
    for (uint32_t d = 0; d < shape->ndims; d++) {
      is_long = is_long || shape->shape[d] == stretched;
      is_empty = is_empty || shape->shape[d] == emptied;
      if (shape->shape[d] == stretched) shape->shape[d] = LONG_EXTENT;
      if (shape->shape[d] == emptied) shape->shape[d] = 0;
    }
    if (is_long && !is_empty) return false;
    has_both[0] = has_both[0] || is_long;
    has_both[1] = has_both[1] || is_empty;
  }
  return has_both[0] && has_both[1] && pto_trial_check(trial, c) == PTO_OK;
}

static uint32_t run_long_and_empty(uint32_t kernel) {
  static const struct pto_reference_sizes sizes[] = {
      {1, {3}, 0}, {2, {3, 5}, 0}, {3, {3, 5, 7}, 0}, {4, {3, 5, 7, 11}, 0}, {5, {3, 5, 7, 11, 13}, 0}};
  static struct pto_trial trial;
  struct pto_dtype_tuple tuple;
  struct pto_trial_case from = {0}, c;
  uint32_t uniform_count, run_count = 0;
  pto_trial_init(&trial, kernel);
  for (uint64_t draw = 0; draw < 4 * PTO_ARRAY_LENGTH(sizes); draw++) {
    struct pto_reference_sizes drawn = sizes[draw / 4];
    from.seed = drawn.draw = pto_mix64(SEED + draw);
    if (!pto_trial_sizes(&trial, &drawn, &from)) continue;
    if (pto_trial_dtype_tuples(&trial, &from, &tuple, 1, &uniform_count) == 0) continue;
    set_case(&from, &trial, &tuple, PTO_LAYOUT_CONTIGUOUS);
    for (uint64_t pair = 0; pair < MOST_EXTENT * MOST_EXTENT; pair++) {
      const uint64_t stretched = pair / MOST_EXTENT, emptied = pair % MOST_EXTENT;
      if (stretched == emptied || !make_long_and_empty(&trial, &from, stretched, emptied, &c)) continue;
      assert_int_equal(pto_trial_make(&trial, &c), PTO_OK);
      const int status = pto_trial_run(&trial); /* an index of nothing is an error */
      assert_true(status == PTO_OK || status == PTO_EKERNEL);
      run_count++;
    }
  }
  pto_trial_fini(&trial);
  return run_count;
}

static void test_every_kernel_is_done_at_once_where_there_are_no_elements_however_long_other_extents_are(void **state) {
  (void)state;
  uint32_t kernel_count = 0;
  for (uint32_t k = 0; k < pto_kernel_count(); k++) {
    if (!is_wanted(k)) continue;
    alarm(EMPTY_SECONDS); /* ends the test */
    kernel_count += run_long_and_empty(k) > 0;
  }
  alarm(0);
  print_message("%" PRIu32 " kernels of %" PRIu32 "\n", kernel_count, pto_kernel_count());
  assert_true(kernel_count > 0 || *wanted != '\0');
}

/* ---- the list ---- */

static void test_kernels_are_found_by_name_and_index(void **state) {
  (void)state;
  assert_in_range(pto_kernel_count(), 1, MAX_KERNELS);
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

int main(int argc, char **argv) {
  if (argc > 1) wanted = argv[1];
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kernels_are_found_by_name_and_index),
      cmocka_unit_test(test_every_kernel_declares_tensors_before_scalars_and_names_them),
      cmocka_unit_test(test_every_kernel_agrees_with_its_reference_on_every_dtype_layout_size_and_level),
      cmocka_unit_test(test_every_in_place_kernel_may_write_over_any_input),
      cmocka_unit_test(test_every_kernel_is_done_at_once_where_there_are_no_elements_however_long_other_extents_are),
      cmocka_unit_test(test_a_kernel_error_without_room_for_a_sentence_is_still_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, print_table);
}
