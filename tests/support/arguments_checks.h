/* SPDX-License-Identifier: MIT */
/*
 * For tests of refused arguments: a world of memory of every kind with work that has not run yet, attempts in it, and
 * what a refusal must leave alone.
 */
#ifndef PTO_ARGUMENTS_CHECKS_H
#define PTO_ARGUMENTS_CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

#define REFUSALS_MOST 128u /* cases of a program */

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

static inline void make_world(struct pto_runtime *rt, struct fixture *f, struct world *w) {
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
static inline int refused(struct pto_runtime *rt, struct fixture *f) {
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

/* ---- attempts ---- */

static inline struct pto_kernel kernel_for(uint32_t cores, const char *modes, uint32_t flags) {
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
static inline int submit(struct pto_runtime *rt, const struct pto_launch *launch, const struct pto_param *params,
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
static inline int try_kernel(struct pto_runtime *rt, const char *modes, uint32_t flags, const struct pto_param *params,
                             uint32_t count) {
  static struct pto_kernel kept[32]; /* those that are accepted run later */
  static uint32_t next;
  struct pto_kernel *kernel = &kept[next++ % PTO_ARRAY_LENGTH(kept)];
  *kernel = kernel_for(PTO_AIV, modes, flags);
  struct pto_launch launch = {.aiv0 = kernel};
  return submit(rt, &launch, params, count);
}

static inline struct pto_tensor rows_of_one(struct world *w) {
  static const uint64_t shape[2] = {4, 64};
  return pto_tensor_broadcast(&w->bytes, 2, shape);
}

/* Cases of their own, and one for each refusal. */
static inline int run_refusals(const char *group, const struct fixture_case *fixed, size_t fixed_count,
                               const struct refusal *refusals, size_t refusal_count) {
  static struct fixture_case cases[REFUSALS_MOST];
  static char names[REFUSALS_MOST][128];
  assert_true(fixed_count + refusal_count <= REFUSALS_MOST);
  memcpy(cases, fixed, fixed_count * sizeof *fixed);
  for (size_t i = 0; i < refusal_count; i++) {
    snprintf(names[i], sizeof names[i], "%s is refused and changes nothing", refusals[i].name);
    cases[fixed_count + i] = (struct fixture_case){.name = names[i], .body = refused, .context = &refusals[i]};
  }
  return fixture_run_cases(group, cases, fixed_count + refusal_count);
}

#endif
