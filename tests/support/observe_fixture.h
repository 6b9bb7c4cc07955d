/* SPDX-License-Identifier: MIT */
/*
 * For tests of observed accesses: kernels that make one mistake each in what they touch, and the same tasks without it.
 *
 * A case is an orchestration; its kernels get the scalar `mistake`, 0 or 1. With 1 its findings are exactly those
 * stated, with the bytes in the sentence; with 0 there are none. Truth is what the kernel's source says. Each program
 * that includes this has its own `w`, the arrays that its orchestrations work on.
 */
#ifndef PTO_OBSERVE_FIXTURE_H
#define PTO_OBSERVE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <pto/pto.h>

#include <check/observe/observe.h>
#include <runtime/base/reserve.h>
#include <runtime/base/sanitizer.h>

#define PAGE 4096u
#define MARGIN PAGE
#define ARRAY_BYTES (4 * PAGE)
#define PLANTED_MOST 64u /* tests of a program */

/* Three arrays with pages of their own, a page of margin around each, as ptosim gives them; and one beside other data.
 */
static struct world {
  char *pages;
  float *a, *b, *out;
  struct {
    uint32_t before[64], array[64], behind[64];
  } beside;
  uint64_t mistake;
  struct pto_tensor ta, tb, tout;
} w;

#define X(a, i) (((float *)(a)->tensors[i].addr))
#define MISTAKE(a) ((a)->scalars[0].u64)
#define RUN(name) static int name(const struct pto_kernel_args *a)
#define LIST(...)                                                                                                      \
  (const struct pto_kernel_param[]) {                                                                                  \
    __VA_ARGS__, { .name = "mistake", .mode = PTO_SCALAR }                                                             \
  }
#define IN                                                                                                             \
  { .name = "x", .mode = PTO_INPUT }
#define OUT                                                                                                            \
  { .name = "z", .mode = PTO_OUTPUT }
#define BOTH                                                                                                           \
  { .name = "y", .mode = PTO_INOUT }
#define SUM                                                                                                            \
  { .name = "s", .mode = PTO_ACCUMULATE }
#define KERNEL(function, count, ...)                                                                                   \
  static const struct pto_kernel function##_kernel = {.name = #function,                                               \
                                                      .cores = PTO_AIV | PTO_AIC,                                      \
                                                      .params = LIST(__VA_ARGS__),                                     \
                                                      .param_count = count,                                            \
                                                      .run = function}

static inline uint64_t numel(const struct pto_kernel_args *a, uint32_t i) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < a->tensors[i].ndims; d++) n *= a->tensors[i].shape[d];
  return n;
}

/* ---- kernels ---- */

RUN(fill) { /* writes z, and of what follows it what a mistake is long */
  const uint64_t size = pto_dtype_size(a->tensors[0].dtype);
  memset(a->tensors[0].addr, 0x11, (numel(a, 0) + MISTAKE(a)) * size);
  return 0;
}
KERNEL(fill, 2, OUT);

RUN(copy) { /* z = x, in the dtype's bytes */
  const uint64_t size = pto_dtype_size(a->tensors[0].dtype);
  memcpy(a->tensors[1].addr, (char *)a->tensors[0].addr + MISTAKE(a) * size, numel(a, 1) * size);
  return 0;
}
KERNEL(copy, 3, IN, OUT);

/* ---- orchestrations ---- */

static inline struct pto_tensor fresh(struct pto_runtime *rt, uint32_t dtype, uint64_t n) {
  return pto_managed_tensor(rt, pto_create_buffer(rt, (n * pto_dtype_bits(dtype) + 7) / 8), dtype, 1, &n);
}
static inline struct pto_tensor part(const struct pto_tensor *t, uint64_t first, uint64_t end, uint64_t step) {
  return pto_tensor_slice(t, 0, first, end, step);
}
static inline int one(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *z,
                      uint64_t mistake) {
  struct pto_param params[] = {pto_param_tensor(kernel->params[0].mode, z), pto_scalar_u64(mistake)};
  return pto_submit_aiv(rt, kernel, params, 2);
}
static inline int two(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *x,
                      const struct pto_tensor *z, uint64_t mistake) {
  struct pto_param params[] = {pto_input(x), pto_output(z), pto_scalar_u64(mistake)};
  return pto_submit_aiv(rt, kernel, params, 3);
}
static inline int blocks(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *z) {
  struct pto_param params[] = {pto_param_tensor(kernel->params[0].mode, z), pto_scalar_u64(w.mistake)};
  return pto_submit(rt, &(struct pto_launch){.aiv0 = kernel, .block_count = 4}, params, 2, NULL);
}

#define BODY(name) static int name(struct pto_runtime *rt)
#define FIRST(call)                                                                                                    \
  int status = (call);                                                                                                 \
  (void)status

/* ---- running ---- */

struct planted {
  const char *sentence; /* what holds */
  int (*body)(struct pto_runtime *rt);
  const char *found[4][3]; /* kind, and two parts of the sentence; those that there must be, and no more */
};

static inline int orchestrate(struct pto_runtime *rt, void *context) {
  const struct planted *planted = context;
  const uint64_t n[] = {ARRAY_BYTES / sizeof(float)};
  w.ta = pto_external_tensor(rt, w.a, PTO_FLOAT32, 1, n);
  w.tb = pto_external_tensor(rt, w.b, PTO_FLOAT32, 1, n);
  w.tout = pto_external_tensor(rt, w.out, PTO_FLOAT32, 1, n);
  return planted->body(rt);
}

static inline void prepare_world(void) {
  for (uint64_t i = 0; i < ARRAY_BYTES / sizeof(float); i++) {
    w.a[i] = (float)(i % 97) + 1;
    w.b[i] = 5;
    w.out[i] = 0;
  }
}

struct run {
  struct pto_findings findings;
  struct pto_observe_summary summary;
  int status;
};

static inline void run(const struct planted *planted, uint64_t mistake, const struct pto_observe_options *options,
                       struct run *result) {
  const struct pto_config config = {
      .size = sizeof config, .engine = "observe", .chip = "tiny", .heap_bytes = 1 << 20, .window = 64};
  struct pto_runtime *rt;
  struct pto_observation *observation;
  struct pto_error error;
  prepare_world();
  w.mistake = mistake;
  pto_findings_init(&result->findings);
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_int_equal(pto_observation_create(rt, options, &result->findings, &observation, &error), PTO_OK);
  struct pto_array arrays[] = {{.name = "a", .data = w.a}, {.name = "b", .data = w.b}, {.name = "out", .data = w.out}};
  for (int i = 0; i < 3; i++) {
    arrays[i].dtype = PTO_FLOAT32;
    arrays[i].ndims = 1;
    arrays[i].shape[0] = ARRAY_BYTES / sizeof(float);
    arrays[i].size_bytes = ARRAY_BYTES;
    pto_observation_add_array(observation, &arrays[i], MARGIN);
  }
  result->status = pto_run(rt, orchestrate, (void *)(uintptr_t)planted);
  if (result->status) print_error("%s\n", pto_last_error(rt));
  result->summary = pto_observation_summary(observation);
  pto_observation_destroy(observation);
  pto_runtime_destroy(rt);
}

static inline bool is_told(const struct pto_findings *findings, const char *const expected[3]) {
  for (uint32_t i = 0; i < findings->count; i++) {
    const struct pto_finding *f = &findings->items[i];
    if (strcmp(pto_finding_kind_name(f->kind), expected[0]) == 0 && strstr(f->sentence, expected[1]) &&
        (!expected[2] || strstr(f->sentence, expected[2])))
      return true;
  }
  return false;
}

static inline void print_all(const struct pto_findings *findings) {
  for (uint32_t i = 0; i < findings->count; i++)
    print_error("%s: %s\n", pto_finding_kind_name(findings->items[i].kind), findings->items[i].sentence);
}

static inline void check_planted(void **state) {
  const struct planted *planted = *state;
  const struct pto_observe_options all = {0};
  struct run result;
  uint32_t expected = 0;
  run(planted, 0, &all, &result);
  if (result.findings.count) print_all(&result.findings);
  assert_int_equal(result.status, PTO_OK);
  assert_int_equal(result.findings.total, 0);
  pto_findings_fini(&result.findings);
  if (!planted->found[0][0]) return;
  run(planted, 1, &all, &result);
  assert_int_equal(result.status, PTO_OK);
  for (; expected < 4 && planted->found[expected][0]; expected++)
    if (!is_told(&result.findings, planted->found[expected])) {
      print_all(&result.findings);
      fail_msg("it does not say %s: %s", planted->found[expected][0], planted->found[expected][1]);
    }
  if (result.findings.total != expected) print_all(&result.findings);
  assert_int_equal(result.findings.total, expected);
  pto_findings_fini(&result.findings);
}

static inline int make_world(void **state) {
  const size_t bytes = 3 * (ARRAY_BYTES + 2 * MARGIN);
  w.pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (w.pages == MAP_FAILED) return -1;
  float **const arrays[] = {&w.a, &w.b, &w.out};
  for (size_t i = 0; i < 3; i++) *arrays[i] = (float *)(void *)(w.pages + MARGIN + i * (ARRAY_BYTES + 2 * MARGIN));
  return 0;
}

/* Every case of a table, behind tests of other promises. */
static inline int run_planted(const char *group, const struct planted *planted, size_t count,
                              const struct CMUnitTest *others, size_t other_count) {
  static struct CMUnitTest tests[PLANTED_MOST];
  assert_true(count + other_count <= PLANTED_MOST);
  for (size_t i = 0; i < other_count; i++) tests[i] = others[i];
  for (size_t i = 0; i < count; i++)
    tests[other_count + i] = (struct CMUnitTest){
        .name = planted[i].sentence, .test_func = check_planted, .initial_state = (void *)(uintptr_t)&planted[i]};
  if (PTO_HAS_SANITIZER) { /* nothing is compared then: tests/tree/memory_checkers_test.sh */
    print_message("skipped: a sanitizer watches\n");
    return 77;
  }
  return _cmocka_run_group_tests(group, tests, count + other_count, make_world, NULL);
}

#endif
