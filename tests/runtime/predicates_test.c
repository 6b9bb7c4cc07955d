/* SPDX-License-Identifier: MIT */
/*
 * What a task waits for before it runs or is skipped: predicates of each dtype, barriers, long chains of what runs no
 * kernel, and what producers wrote, seen on other threads. Labels say what ran in which order.
 *
 * To add one: an orchestration and a line in `fixed`. Predicates of each dtype are made from a table.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/dispatch_checks.h>
#include <tests/support/runtime_fixture.h>

/* ---- predicates ---- */

static const struct comparison {
  const char *words;
  uint32_t compare;
} comparisons[] = {{"==", PTO_IF_EQ}, {"!=", PTO_IF_NE}, {"<", PTO_IF_LT},
                   {"<=", PTO_IF_LE}, {">", PTO_IF_GT},  {">=", PTO_IF_GE}};
static const uint32_t integer_dtypes[] = {PTO_INT8,   PTO_UINT8, PTO_INT16,  PTO_UINT16, PTO_INT32,
                                          PTO_UINT32, PTO_INT64, PTO_UINT64, PTO_BOOL};
_Static_assert(PTO_ARRAY_LENGTH(integer_dtypes) == PTO_DTYPE_COUNT - 9, "all but seven floats and two of 4 bits");
struct predicate_case {
  uint32_t dtype;
  struct comparison comparison;
};

/* Twos-complement bits as the number that the dtype means. */
static __int128 number_of(uint32_t dtype, uint64_t bits) {
  uint32_t width = pto_dtype_bits(dtype);
  bool is_signed = dtype == PTO_INT8 || dtype == PTO_INT16 || dtype == PTO_INT32 || dtype == PTO_INT64;
  __int128 value = width == 64 ? bits : bits & ((UINT64_C(1) << width) - 1);
  return is_signed && value >> (width - 1) ? value - ((__int128)1 << width) : value;
}
static bool holds(__int128 x, uint32_t compare, __int128 y) {
  switch (compare) {
  case PTO_IF_EQ:
    return x == y;
  case PTO_IF_NE:
    return x != y;
  case PTO_IF_LT:
    return x < y;
  case PTO_IF_LE:
    return x <= y;
  case PTO_IF_GT:
    return x > y;
  default:
    return x >= y;
  }
}
static int every_comparison(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t patterns[] = {
      0, 1, 5, 6, 0x7f, 0x80, UINT64_C(0x7fffffffffffffff), UINT64_C(0x8000000000000000), UINT64_MAX, UINT64_MAX - 4};
  const struct predicate_case *c = fixture_current->context;
  uint32_t size = (uint32_t)pto_dtype_size(c->dtype), expected = 0;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(patterns); i++)
    for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(patterns); k++) {
      __int128 x = number_of(c->dtype, patterns[i]), y = number_of(c->dtype, patterns[k]);
      if (c->dtype == PTO_BOOL && (patterns[i] > 1 || patterns[k] > 1)) continue;
      memcpy(f->memory, &patterns[i], size);
      fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
      struct pto_tensor t = pto_external_tensor(rt, f->memory, c->dtype, 0, NULL);
      fixture_call_count = 0;
      FIXTURE_DO(rt, .label = 1, .launch = {.predicate = {&t, c->comparison.compare, (int64_t)y}});
      fixture_drain(rt);
      assert_int_equal(fixture_call_count, holds(x, c->comparison.compare, y));
      expected += fixture_call_count;
      fixture_expect(rt, pto_scope_end(rt), PTO_OK);
    }
  assert_true(expected > 0);
  return 0;
}

static int write_seven(const struct pto_kernel_args *args) {
  *(int32_t *)args->tensors[0].addr = 7;
  return 0;
}
static const struct pto_kernel *seven(void) {
  static struct pto_kernel kernel;
  if (!kernel.run) kernel = fixture_kernel_with("o", 0, write_seven);
  return &kernel;
}
static int decided_when_producers_are_done(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL);
  struct pto_param param = pto_output(&flag);
  fixture_expect(rt, pto_submit_aiv(rt, seven(), &param, 1), PTO_OK);
  FIXTURE_DO(rt, .label = 7, .launch = {.predicate = {&flag, PTO_IF_EQ, 7}});
  FIXTURE_DO(rt, .label = 0, .launch = {.predicate = {&flag, PTO_IF_EQ, 0}});
  fixture_drain(rt);
  assert_int_equal(fixture_call_count, 1);
  assert_int_equal(fixture_calls[0].label, 7);
  return 0;
}
static int false_keeps_edges(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL);
  struct pto_tensor a = fixture_bytes(f, 64, 8), b = fixture_bytes(f, 128, 8);
  memset(f->memory + 128, 42, 8);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&a});
  FIXTURE_DO(rt, .label = 2, .modes = "io", .tensors = {&a, &b}, .launch = {.predicate = {&flag, PTO_IF_NE, 0}});
  FIXTURE_DO(rt, .label = 3, .modes = "i", .tensors = {&b});
  FIXTURE_DO(rt, .label = 4, .modes = "o", .tensors = {&flag});
  assert_int_equal(fixture_edges(rt), 3);
  assert_int_equal(fixture_reasons(rt, 1, 3), PTO_EDGE_WAR);
  fixture_drain(rt);
  assert_int_equal(fixture_call_count, 3);
  assert_true(fixture_position(1) < fixture_position(3));
  assert_int_equal(f->memory[131], 42);
  return 0;
}
static int false_runs_no_block_and_no_kernel(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL);
  for (uint32_t i = 0; i < 5; i++)
    FIXTURE_DO(rt, .roles = shapes[i].roles, .launch = {.block_count = 3, .predicate = {&flag, PTO_IF_GT, 0}});
  FIXTURE_DO(rt, .launch = {.block_count = 2, .sync_start = true, .predicate = {&flag, PTO_IF_GT, 0}});
  assert_int_equal(rt->completed_count, 6);
  assert_int_equal(fixture_call_count, 0);
  return 0;
}
static int always_runs(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL);
  struct pto_param param = pto_output(&flag);
  fixture_expect(rt, pto_submit_aiv(rt, seven(), &param, 1), PTO_OK);
  FIXTURE_DO(rt, .label = 1, .launch = {.predicate = {&flag, PTO_ALWAYS, 0}});
  assert_int_equal(fixture_edges(rt), 1);
  fixture_drain(rt);
  assert_int_equal(fixture_call_count, 1);
  return 0;
}
static int false_output_has_memory(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL), t = fixture_managed(rt, 8);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t}, .launch = {.predicate = {&flag, PTO_IF_GT, 0}});
  uint64_t index = 4;
  uint8_t x = 0;
  fixture_expect(rt, pto_read_element(rt, &t, &index, &x), PTO_OK);
  assert_int_equal(x, 0xff);
  return 0;
}

/* ---- long chains on a small stack ---- */

enum { CHAIN = 10000 };
static const struct pto_tensor *chain_flag;
static int chain_of_barriers(struct pto_runtime *rt, void *context) {
  struct pto_launch gate = {.aiv0 = fixture_kernel("")};
  struct pto_task last;
  int status = pto_submit(rt, &gate, NULL, 0, &last);
  for (int i = 0; i < CHAIN && !status; i++) status = pto_submit_barrier(rt, &last, 1, &last);
  return status;
}
static int chain_of_skipped_tasks(struct pto_runtime *rt, void *context) {
  struct pto_launch launch = {.aiv0 = fixture_kernel("")};
  struct pto_task last;
  int status = pto_submit(rt, &launch, NULL, 0, &last);
  launch.after = &last;
  launch.after_count = 1;
  launch.predicate = (struct pto_predicate){chain_flag, PTO_IF_NE, 0};
  for (int i = 0; i < CHAIN && !status; i++) status = pto_submit(rt, &launch, NULL, 0, &last);
  return status;
}
struct chain_run {
  struct pto_runtime *rt;
  int (*orchestration)(struct pto_runtime *, void *);
  int status;
};
static void *run_on_small_stack(void *context) {
  struct chain_run *run = context;
  run->status = pto_run(run->rt, run->orchestration, NULL);
  return NULL;
}
/* Were a frame needed for each link, ten thousand of them would not fit. */
static void on_small_stack(struct fixture *f, int (*orchestration)(struct pto_runtime *, void *)) {
  fixture_kernel("");
  struct chain_run run = {f->rt, orchestration, 1};
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  assert_int_equal(pthread_create(&thread, &attributes, run_on_small_stack, &run), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  fixture_expect(f->rt, run.status, PTO_OK);
  assert_int_equal(fixture_tasks(f->rt), CHAIN + 1);
}
static int nothing(struct pto_runtime *rt, struct fixture *f) { return 0; }
static void barriers_on_small_stack(struct fixture *f) { on_small_stack(f, chain_of_barriers); }
static void skipped_on_small_stack(struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(f->rt, f->memory, PTO_INT32, 0, NULL);
  chain_flag = &flag;
  on_small_stack(f, chain_of_skipped_tasks);
}
static int barrier_waits_for_all(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task before[20], barrier;
  for (uint64_t i = 0; i < 20; i++)
    FIXTURE_DO(rt, .label = i, .roles = i % 2 ? FIXTURE_AIC : FIXTURE_AIV0, .out = &before[i]);
  fixture_expect(rt, pto_submit_barrier(rt, before, 20, &barrier), PTO_OK);
  for (uint64_t i = 20; i < 30; i++) FIXTURE_DO(rt, .label = i, .launch = {.after = &barrier, .after_count = 1});
  fixture_drain(rt);
  for (uint64_t i = 0; i < 20; i++) assert_true(fixture_position(i) < 20);
  return 0;
}
static int barrier_of_nothing(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK);
  assert_int_equal(rt->completed_count, 1);
  return 0;
}

/* ---- what producers wrote, seen on other threads ---- */

enum { HALF = 2048, ROUNDS = 300 };
static int fill_with(const struct pto_kernel_args *args) {
  memset(args->tensors[0].addr, (int)args->scalars[0].u64, args->tensors[0].shape[0]);
  return 0;
}
static int expect_filled(const struct pto_kernel_args *args) {
  const uint8_t *bytes = args->tensors[0].addr;
  for (uint64_t i = 0; i < args->tensors[0].shape[0]; i++)
    if (bytes[i] != (uint8_t)args->scalars[0].u64)
      return pto_kernel_error(args, "byte %d of round %d is %d", (int)i, (int)args->scalars[0].u64, bytes[i]);
  return 0;
}
static int two_producers_and_a_consumer(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel writer, reader;
  if (!writer.run) {
    writer = fixture_kernel_with("os", 0, fill_with);
    reader = fixture_kernel_with("is", 0, expect_filled);
  }
  struct pto_tensor whole = fixture_bytes(f, 0, 2 * HALF), left = fixture_bytes(f, 0, HALF),
                    right = fixture_bytes(f, HALF, HALF);
  for (uint64_t i = 0; i < ROUNDS; i++) {
    struct pto_param a[2] = {pto_output(&left), pto_scalar_u64(i)}, b[2] = {pto_output(&right), pto_scalar_u64(i)},
                     c[2] = {pto_input(&whole), pto_scalar_u64(i)};
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    fixture_expect(rt, i % 2 ? pto_submit_aic(rt, &writer, a, 2) : pto_submit_aiv(rt, &writer, a, 2), PTO_OK);
    fixture_expect(rt, pto_submit_aiv(rt, &writer, b, 2), PTO_OK);
    fixture_expect(rt, i % 3 ? pto_submit_aic(rt, &reader, c, 2) : pto_submit_aiv(rt, &reader, c, 2), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}

static const struct fixture_case fixed[] = {
    {.name = "a predicate is decided when its producers are done", .body = decided_when_producers_are_done},
    {.name = "a task that is not run leaves its output and keeps its edges", .body = false_keeps_edges},
    {.name = "a false predicate runs no block and no kernel of any shape", .body = false_runs_no_block_and_no_kernel},
    {.name = "a predicate that always holds still waits for its tensor", .body = always_runs},
    {.name = "the output of a task that is not run has memory", .body = false_output_has_memory, .poison = true},
    {.name = "a barrier waits for all of many", .body = barrier_waits_for_all, .seed = 2},
    {.name = "a barrier of nothing is done at once", .body = barrier_of_nothing},
    {.name = "ten thousand barriers in a chain need no stack",
     .body = nothing,
     .window = 16384,
     .after = barriers_on_small_stack},
    {.name = "ten thousand skipped tasks in a chain need no stack",
     .body = nothing,
     .window = 16384,
     .after = skipped_on_small_stack},
    {.name = "a consumer sees what producers on two threads wrote",
     .body = two_producers_and_a_consumer,
     .engine = "threads"},
    {.name = "and so it does in virtual time", .body = two_producers_and_a_consumer, .engine = "virtual"},
    {.name = "and on the serial port in a random order of cores", .body = two_producers_and_a_consumer, .seed = 21},
};

int main(void) {
  enum {
    FIXED = PTO_ARRAY_LENGTH(fixed),
    PREDICATES = PTO_ARRAY_LENGTH(integer_dtypes) * PTO_ARRAY_LENGTH(comparisons)
  };
  static struct predicate_case predicates[PREDICATES];
  static struct fixture_case cases[FIXED + PREDICATES];
  static char names[PREDICATES][128];
  memcpy(cases, fixed, sizeof fixed);
  for (uint32_t i = 0; i < PREDICATES; i++) {
    predicates[i] = (struct predicate_case){integer_dtypes[i / 6], comparisons[i % 6]};
    snprintf(names[i], sizeof names[i], "a predicate %s %s a value runs where the numbers say so",
             pto_dtype_name(predicates[i].dtype), predicates[i].comparison.words);
    cases[FIXED + i] = (struct fixture_case){.name = names[i], .body = every_comparison, .context = &predicates[i]};
  }
  return fixture_run_cases("predicates", cases, PTO_ARRAY_LENGTH(cases));
}
