/* SPDX-License-Identifier: MIT */
#include <tests/support/runtime_fixture.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void fixture_open(struct fixture *f) {
  struct pto_config *c = &f->config;
  c->size = sizeof *c;
  if (!c->window) c->window = 64;
  if (!c->heap_bytes) c->heap_bytes = 65536;
  if (!c->policy) c->policy = "fifo";
  if (!c->record) c->record = PTO_RECORD_GRAPH;
  struct pto_error error = {0};
  if (pto_control_create(c, pto_serial_port_create(&f->port), &f->rt, &error)) fail_msg("%s", error.sentence);
}

void fixture_close(struct fixture *f) {
  pto_runtime_destroy(f->rt);
  f->rt = NULL;
}

struct body {
  struct fixture *f;
  int (*call)(struct pto_runtime *, struct fixture *);
};
static int call_body(struct pto_runtime *rt, void *context) {
  const struct body *body = context;
  return body->call(rt, body->f);
}

void fixture_run(struct fixture *f, int (*call)(struct pto_runtime *, struct fixture *), int expected_status) {
  struct body body = {f, call};
  fixture_expect(f->rt, pto_run(f->rt, call_body, &body), expected_status);
}

void fixture_expect(struct pto_runtime *rt, int status, int expected) {
  if (status != expected)
    fail_msg("%s instead of %s: %s", pto_status_name(status), pto_status_name(expected), pto_last_error(rt));
}

void fixture_expect_sentence(struct pto_runtime *rt, const char *part) {
  if (!strstr(pto_last_error(rt), part)) fail_msg("\"%s\" does not say \"%s\"", pto_last_error(rt), part);
}

/* ---- kernels ---- */

static int run_nothing(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}

struct made_kernel {
  char modes[PTO_MAX_PARAMS + 1];
  struct pto_kernel kernel;
};

static struct pto_kernel_param *make_params(const char *modes) {
  struct pto_kernel_param *params = calloc(strlen(modes) + 1, sizeof *params);
  for (size_t i = 0; modes[i]; i++)
    params[i] = (struct pto_kernel_param){
        .mode = modes[i] == 'i'   ? PTO_INPUT
                : modes[i] == 'o' ? PTO_OUTPUT
                : modes[i] == 'b' ? PTO_INOUT
                : modes[i] == 'a' ? PTO_ACCUMULATE
                : modes[i] == 's' ? PTO_SCALAR
                                  : PTO_UNUSED};
  return params;
}

struct pto_kernel fixture_kernel_with(const char *modes, uint32_t flags, int (*run)(const struct pto_kernel_args *)) {
  struct pto_kernel kernel = {.name = "kernel",
                              .cores = PTO_AIC | PTO_AIV,
                              .flags = flags,
                              .params = make_params(modes),
                              .param_count = (uint32_t)strlen(modes),
                              .run = run ? run : run_nothing};
  return kernel;
}

const struct pto_kernel *fixture_kernel(const char *modes) {
  static struct made_kernel made[64];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(made); i++) {
    if (made[i].kernel.run && strcmp(made[i].modes, modes) == 0) return &made[i].kernel;
    if (made[i].kernel.run) continue;
    strncpy(made[i].modes, modes, PTO_MAX_PARAMS);
    made[i].kernel = fixture_kernel_with(modes, 0, NULL);
    return &made[i].kernel;
  }
  fail_msg("more than %zu kinds of kernels", PTO_ARRAY_LENGTH(made));
  return NULL;
}

/* ---- tensors ---- */

struct pto_tensor fixture_bytes(struct fixture *f, uint64_t offset, uint64_t count) {
  return pto_external_tensor(f->rt, f->memory + offset, PTO_UINT8, 1, &count);
}
struct pto_tensor fixture_matrix(struct fixture *f, uint64_t rows, uint64_t columns) {
  uint64_t shape[2] = {rows, columns};
  return pto_external_tensor(f->rt, f->memory, PTO_UINT8, 2, shape);
}
struct pto_tensor fixture_box(const struct pto_tensor *t, uint64_t row, uint64_t rows, uint64_t column, uint64_t columns) {
  uint64_t offsets[2] = {row, column}, shape[2] = {rows, columns};
  return pto_tensor_view(t, offsets, shape);
}
struct pto_tensor fixture_managed(struct pto_runtime *rt, uint64_t count) {
  return pto_managed_tensor(rt, pto_create_buffer(rt, count), PTO_UINT8, 1, &count);
}

/* ---- tasks ---- */

int fixture_submit(struct pto_runtime *rt, const char *modes, const struct pto_tensor *const *tensors, struct pto_task *task_out) {
  struct pto_param params[PTO_MAX_PARAMS];
  uint32_t count = (uint32_t)strlen(modes);
  const struct pto_kernel *kernel = fixture_kernel(modes);
  for (uint32_t i = 0, t = 0; i < count; i++)
    params[i] = modes[i] == 's' ? pto_scalar_u64(i) : pto_param_tensor(kernel->params[i].mode, tensors[t++]);
  struct pto_launch launch = {.aiv0 = kernel};
  return pto_submit(rt, &launch, params, count, task_out);
}

uint64_t fixture_edges(struct pto_runtime *rt) {
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  return stats.edges;
}
uint64_t fixture_tasks(struct pto_runtime *rt) {
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  return stats.tasks;
}

uint32_t fixture_reasons(struct pto_runtime *rt, uint64_t producer, uint64_t consumer) {
  const struct pto_trace_log *edges = &pto_runtime_trace(rt)->edges;
  uint32_t reasons = 0;
  for (uint64_t i = 0; i < edges->count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(edges, i);
    if (edge->producer == producer && edge->consumer == consumer) reasons |= edge->reason;
  }
  return reasons;
}
