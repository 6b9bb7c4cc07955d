/* SPDX-License-Identifier: MIT */
/*
 * Two lists of submits, each pair of variants of one: the same variant differs in nothing, and two differ in what one
 * of them has otherwise.  And pairs of lists of one call or two, with what is said of their difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/call_list_compare.h>
#include <runtime/submit/replay.h>
#include <tests/support/runtime_fixture.h>

static const struct variant {
  bool is_after_second, is_sync_start, has_predicate;
  uint64_t element, value, work; /* of the predicate, which is element 0 or 1; how many tensors a task before has */
} variants[] = {
    {.work = 1},
    {.work = 1, .is_after_second = true},
    {.work = 1, .is_sync_start = true},
    {.work = 1, .has_predicate = true},
    {.work = 1, .has_predicate = true, .element = 1},
    {.work = 1, .has_predicate = true, .value = 7},
    {.work = 2, .has_predicate = true},
};
enum { VARIANTS = PTO_ARRAY_LENGTH(variants) };

static struct pto_call_list *list_of(struct pto_runtime *rt, const struct pto_tensor *given, const struct variant *v) {
  struct pto_call_list *list = pto_call_list_begin(rt, given, 1);
  const struct pto_tensor flag = pto_tensor_slice(given, 0, v->element, v->element + 1, 1),
                          part = pto_tensor_slice(given, 0, 64, 128, 1), rest = pto_tensor_slice(given, 0, 128, 256, 1);
  struct pto_task first, second;
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, &first), PTO_OK);
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, &second), PTO_OK);
  fixture_expect(rt, v->work == 1 ? FIXTURE_SUBMIT(rt, "b", &part) : FIXTURE_SUBMIT(rt, "bb", &part, &rest), PTO_OK);
  struct pto_launch launch = {.after = v->is_after_second ? &second : &first,
                              .after_count = 1,
                              .sync_start = v->is_sync_start,
                              .block_count = 2};
  if (v->has_predicate) launch.predicate = (struct pto_predicate){&flag, PTO_IF_EQ, (int64_t)v->value};
  fixture_expect(rt, FIXTURE_TRY(rt, .modes = "b", .tensors = {&part}, .launch = launch), PTO_OK);
  assert_true(pto_call_list_end(rt, list));
  return list;
}

static int compare_all(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor given = fixture_bytes(f, 0, 256);
  struct pto_call_list *lists[2][VARIANTS];
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < VARIANTS; i++) lists[side][i] = list_of(rt, &given, &variants[i]);
  for (size_t i = 0; i < VARIANTS; i++)
    for (size_t k = 0; k < VARIANTS; k++) {
      struct pto_call_difference found = {0};
      const bool differs = pto_call_lists_differ(lists[0][i], lists[1][k], &found);
      if (differs != (i != k)) fail_msg("variants %zu and %zu: \"%s\" for \"%s\"", i, k, found.made, found.kept);
      if (differs) assert_int_equal(found.submits, variants[i].work == variants[k].work ? 3 : 2);
    }
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < VARIANTS; i++) pto_call_list_destroy(lists[side][i]);
  return 0;
}

/* ---- what is said ---- */

static int run_otherwise(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}

/* One call or a few; zeroed fields: a submit of a kernel on aiv0 without parameters. */
struct call {
  enum { SUBMIT, NOTHING, BUFFER, SCOPE, ENDED_SCOPE, BARRIER, ALLOC } what;
  uint32_t number; /* bytes of a buffer, kind of a scope, 2: allocated as signed */
  uint32_t before; /* barriers */
  uint32_t roles;
  const char *modes;
  enum { GIVEN, OTHER_GIVEN, PART, LATER, SHORT, SIGNED, FLAT, FUZZY, STRIDED, OWN } tensor;
  uint32_t made; /* a kernel made for the call: 1 with a name of its own, 2 with another function */
  bool has_initial, has_flag;
  struct pto_param scalar;
  struct pto_initial initial;
  struct pto_launch launch;
};

static struct pto_tensor tensor_of(struct pto_runtime *rt, const struct pto_tensor *given, const struct call *call) {
  const struct pto_tensor part = pto_tensor_slice(given, 0, 0, 64, 1);
  switch (call->tensor) {
  case GIVEN:
    return *given;
  case OTHER_GIVEN:
    return given[1];
  case PART:
    return part;
  case LATER:
    return pto_tensor_slice(given, 0, 64, 128, 1);
  case SHORT:
    return pto_tensor_slice(given, 0, 0, 32, 1);
  case SIGNED:
    return pto_tensor_reinterpret(&part, PTO_INT8);
  case FLAT:
    return pto_tensor_reshape(&part, 2, (const uint64_t[]){1, 64});
  case FUZZY:
    return pto_tensor_with_overlap(&part, PTO_OVERLAP_FUZZY);
  case STRIDED:
    return pto_tensor_slice(given, 0, 0, 128, 2);
  case OWN:
    break;
  }
  return fixture_managed(rt, call->number);
}

static void submit(struct pto_runtime *rt, const struct pto_tensor *given, const struct call *call) {
  static struct pto_kernel kernels[64]; /* a list has pointers to them */
  static uint32_t used;
  const char *modes = call->modes ? call->modes : "";
  struct pto_kernel *kernel = &kernels[used++ % PTO_ARRAY_LENGTH(kernels)];
  *kernel = fixture_kernel_with(modes, 0, call->made == 2 ? run_otherwise : NULL);
  if (call->made == 1) kernel->name = "other";
  const struct pto_tensor tensors[2] = {tensor_of(rt, given, call), tensor_of(rt, given, call)},
                          flag = pto_tensor_slice(given, 0, 200, 201, 1);
  struct pto_launch launch = call->launch;
  const uint32_t roles = call->roles ? call->roles : FIXTURE_AIV0;
  if (roles & FIXTURE_AIC) launch.aic = kernel;
  if (roles & FIXTURE_AIV0) launch.aiv0 = kernel;
  if (roles & FIXTURE_AIV1) launch.aiv1 = kernel;
  if (call->has_flag) launch.predicate.tensor = &flag;
  struct pto_task before[2];
  for (uint32_t i = 0; i < call->before; i++) fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, &before[i]), PTO_OK);
  launch.after = before;
  launch.initial = call->has_initial ? &call->initial : NULL;
  launch.initial_count = call->has_initial;
  struct pto_param params[2];
  const uint32_t count = (uint32_t)strlen(modes);
  for (uint32_t i = 0; i < count; i++)
    params[i] = modes[i] == 's' ? call->scalar : pto_param_tensor(kernel->params[i].mode, &tensors[i]);
  fixture_expect(rt, pto_submit(rt, &launch, params, count, NULL), PTO_OK);
}

static struct pto_call_list *list_of_call(struct pto_runtime *rt, const struct pto_tensor *given,
                                          const struct call *call) {
  struct pto_call_list *list = pto_call_list_begin(rt, given, 2);
  struct pto_tensor tensor;
  switch (call->what) {
  case SUBMIT:
    submit(rt, given, call);
    break;
  case NOTHING:
    break;
  case BUFFER:
    assert_true(pto_create_buffer(rt, call->number).id);
    break;
  case SCOPE:
  case ENDED_SCOPE:
    fixture_expect(rt, pto_scope_begin(rt, call->number), PTO_OK);
    if (call->what == SCOPE) fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
    break;
  case BARRIER:
    fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK);
    break;
  case ALLOC:
    tensor = pto_managed_tensor(rt, pto_create_buffer(rt, 128), PTO_UINT8, 1, (const uint64_t[]){128});
    if (call->number == 2) tensor = pto_tensor_reinterpret(&tensor, PTO_INT8);
    fixture_expect(rt, pto_alloc_tensors(rt, &tensor, 1, NULL), PTO_OK);
    break;
  }
  assert_true(pto_call_list_end(rt, list));
  return list;
}

static const struct {
  struct call kept, made;
  const char *kept_text, *made_text; /* NULL: no difference */
  const char *kernel;                /* of the submit that was made; NULL: none was */
  bool is_scalar;
} pairs[] = {
    /* steps */
    {{.what = NOTHING}, {.what = NOTHING}, NULL, NULL, NULL, false},
    {{.what = NOTHING}, {.what = BARRIER}, "no more calls", "a submit of no kernel", NULL, false},
    {{.what = NOTHING}, {.what = BUFFER, .number = 64}, "no more calls", "a buffer of 64 bytes", NULL, false},
    {{.what = BUFFER, .number = 64}, {.what = NOTHING}, "a buffer of 64 bytes", "no more calls", NULL, false},
    {{.what = BUFFER, .number = 64}, {.what = BUFFER, .number = 64}, NULL, NULL, NULL, false},
    {{.what = BUFFER, .number = 64},
     {.what = BUFFER, .number = 128},
     "a buffer of 64 bytes",
     "a buffer of 128 bytes",
     NULL,
     false},
    {{.what = BUFFER, .number = 64}, {.what = SCOPE}, "a buffer of 64 bytes", "the begin of a scope", NULL, false},
    {{.what = SCOPE}, {.what = SCOPE}, NULL, NULL, NULL, false},
    {{.what = SCOPE},
     {.what = SCOPE, .number = PTO_SCOPE_MANUAL},
     "the begin of a scope",
     "the begin of a scope",
     NULL,
     false},
    {{.what = SCOPE}, {.what = ENDED_SCOPE}, "a submit of no kernel", "the end of a scope", NULL, false},
    {{.what = BARRIER}, {0}, "a submit of no kernel", "a submit of kernel", "kernel", false},
    {{.what = BARRIER}, {.what = ALLOC}, "a submit of no kernel", "a buffer of 128 bytes", NULL, false},
    /* kernels */
    {{0}, {0}, NULL, NULL, NULL, false},
    {{.roles = FIXTURE_AIC}, {.roles = FIXTURE_AIC}, NULL, NULL, NULL, false},
    {{.roles = FIXTURE_AIV1}, {.roles = FIXTURE_AIV1}, NULL, NULL, NULL, false},
    {{.roles = FIXTURE_AIC}, {0}, "kernel kernel", "kernel kernel", "kernel", false},
    {{0}, {.roles = FIXTURE_AIV1}, "kernel kernel", "kernel kernel", "kernel", false},
    {{.roles = FIXTURE_AIC | FIXTURE_AIV0},
     {.roles = FIXTURE_AIC | FIXTURE_AIV0 | FIXTURE_AIV1},
     "kernel kernel + kernel",
     "kernel kernel + kernel + kernel",
     "kernel",
     false},
    {{0}, {.made = 1}, "kernel kernel", "kernel other", "other", false},
    {{0}, {.made = 2}, "kernel kernel", "kernel kernel", "kernel", false},
    {{.launch.block_count = 2},
     {.launch.block_count = 3},
     "kernel kernel in 2 blocks",
     "kernel kernel in 3 blocks",
     "kernel",
     false},
    /* scalars */
    {{.modes = "s", .scalar = {PTO_SCALAR, PTO_SCALAR_F32, {.scalar.f32 = 1.5f}}},
     {.modes = "s", .scalar = {PTO_SCALAR, PTO_SCALAR_F32, {.scalar.f32 = -2.25f}}},
     "1.5",
     "param 0 = -2.25",
     "kernel",
     true},
    {{.modes = "s", .scalar = {PTO_SCALAR, PTO_SCALAR_I64, {.scalar.i64 = -1}}},
     {.modes = "s", .scalar = {PTO_SCALAR, PTO_SCALAR_I64, {.scalar.i64 = 7}}},
     "-1",
     "param 0 = 7",
     "kernel",
     true},
    {{.modes = "s", .scalar = {PTO_SCALAR, PTO_SCALAR_U64, {.scalar.u64 = UINT64_MAX}}},
     {.modes = "s", .scalar = {PTO_SCALAR, PTO_SCALAR_U64, {.scalar.u64 = 7}}},
     "18446744073709551615",
     "param 0 = 7",
     "kernel",
     true},
    {{.modes = "s", .scalar = {PTO_SCALAR, PTO_SCALAR_U64, {.scalar.u64 = 7}}},
     {.modes = "i"},
     "mode 8, and not 1",
     "param 0 = another mode",
     "kernel",
     false},
    {{.modes = "i"}, {.modes = "b"}, "mode 1, and not 3", "param 0 = another mode", "kernel", false},
    {{.modes = "i"}, {.modes = "ii"}, "1 parameters", "2 parameters", "kernel", false},
    /* tensors */
    {{.modes = "i", .tensor = PART}, {.modes = "i", .tensor = PART}, NULL, NULL, NULL, false},
    {{.modes = "i"},
     {.modes = "i", .tensor = OTHER_GIVEN},
     "u8[256] from element 0 of operand 0",
     "param 0 = u8[256] from element 0 of operand 1",
     "kernel",
     false},
    {{.modes = "i", .tensor = PART},
     {.modes = "i", .tensor = LATER},
     "u8[64] from element 0 of operand 0",
     "param 0 = u8[64] from element 64 of operand 0",
     "kernel",
     false},
    {{.modes = "i", .tensor = PART},
     {.modes = "i", .tensor = SHORT},
     "u8[64] from element 0 of operand 0",
     "param 0 = u8[32] from element 0 of operand 0",
     "kernel",
     false},
    {{.modes = "i", .tensor = PART},
     {.modes = "i", .tensor = SIGNED},
     "u8[64] from element 0 of operand 0",
     "param 0 = i8[64] from element 0 of operand 0",
     "kernel",
     false},
    {{.modes = "i", .tensor = PART},
     {.modes = "i", .tensor = FLAT},
     "u8[64] from element 0 of operand 0",
     "param 0 = u8[1,64] from element 0 of operand 0",
     "kernel",
     false},
    {{.modes = "i", .tensor = PART},
     {.modes = "i", .tensor = FUZZY},
     "u8[64] from element 0 of operand 0",
     "param 0 = u8[64] from element 0 of operand 0",
     "kernel",
     false},
    {{.modes = "i", .tensor = PART},
     {.modes = "i", .tensor = STRIDED},
     "u8[64] from element 0 of operand 0",
     "param 0 = u8[64] from element 0 of operand 0",
     "kernel",
     false},
    {{.what = ALLOC},
     {.what = ALLOC, .number = 2},
     "u8[128] from element 0 of its buffer 0",
     "param 0 = i8[128] from element 0 of its buffer 0",
     NULL,
     false},
    /* the rest */
    {{.before = 2, .launch.after_count = 1},
     {.before = 2, .launch.after_count = 2},
     "1 dependencies, perhaps on other tasks",
     "2 explicit dependencies",
     "kernel",
     false},
    {{.before = 2},
     {.before = 2, .launch.after_count = 2},
     "0 dependencies, perhaps on other tasks",
     "2 explicit dependencies",
     "kernel",
     false},
    {{.modes = "o", .tensor = OWN, .number = 64},
     {.modes = "o", .tensor = OWN, .number = 64, .has_initial = true},
     "another launch",
     "sync_start 0 and 1 initial values",
     "kernel",
     false},
    {{.modes = "o", .tensor = OWN, .number = 64, .has_initial = true},
     {.modes = "o", .tensor = OWN, .number = 64, .has_initial = true},
     NULL,
     NULL,
     NULL,
     false},
    {{.modes = "o", .tensor = OWN, .number = 64, .has_initial = true},
     {.modes = "o", .tensor = OWN, .number = 64, .has_initial = true, .initial.bits = 5},
     "another launch",
     "sync_start 0 and 1 initial values",
     "kernel",
     false},
    {{.modes = "oo", .tensor = OWN, .number = 64, .has_initial = true},
     {.modes = "oo", .tensor = OWN, .number = 64, .has_initial = true, .initial.param = 1},
     "another launch",
     "sync_start 0 and 1 initial values",
     "kernel",
     false},
    {{.has_flag = true, .launch.predicate.compare = PTO_IF_EQ},
     {.has_flag = true, .launch.predicate.compare = PTO_IF_NE},
     "another one, or none",
     "a predicate of its own",
     "kernel",
     false},
    {{.has_flag = true, .launch.predicate.compare = PTO_IF_EQ},
     {.has_flag = true, .launch.predicate.compare = PTO_IF_EQ},
     NULL,
     NULL,
     NULL,
     false},
    {{.has_flag = true}, {0}, NULL, NULL, NULL, false}, /* nothing is compared with it */
};

static int say_differences(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor given[2] = {fixture_bytes(f, 0, 256), fixture_bytes(f, 1024, 256)};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(pairs); i++) {
    struct pto_call_list *kept = list_of_call(rt, given, &pairs[i].kept),
                         *made = list_of_call(rt, given, &pairs[i].made);
    struct pto_call_difference found = {0};
    if (pto_call_lists_differ(kept, made, &found) != (pairs[i].made_text != NULL))
      fail_msg("pair %zu: \"%s\" for \"%s\"", i, found.made, found.kept);
    if (pairs[i].made_text &&
        (strcmp(found.kept, pairs[i].kept_text) != 0 || strcmp(found.made, pairs[i].made_text) != 0))
      fail_msg("pair %zu: \"%s\" for \"%s\"", i, found.made, found.kept);
    assert_int_equal(found.is_scalar, pairs[i].is_scalar);
    if (pairs[i].kernel)
      assert_string_equal(found.kernel, pairs[i].kernel);
    else
      assert_null(found.kernel);
    pto_call_list_destroy(kept);
    pto_call_list_destroy(made);
    fixture_drain(rt);
  }
  return 0;
}

static const struct fixture_case cases[] = {
    {.name = "each pair of variants", .body = compare_all},
    {.name = "what is said of a difference", .body = say_differences, .window = 256},
};

int main(void) { return fixture_run_cases("call_list_compare", cases, PTO_ARRAY_LENGTH(cases)); }
