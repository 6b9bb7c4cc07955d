/* SPDX-License-Identifier: MIT */
#include <tests/support/runtime_fixture.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <runtime/submit/template.h>

void fixture_open(struct fixture *f) {
  struct pto_config *c = &f->config;
  c->size = sizeof *c;
  if (!c->window) c->window = 64;
  if (!c->heap_bytes) c->heap_bytes = 65536;
  if (!c->policy) c->policy = "fifo";
  if (!c->record && !f->records_nothing) c->record = PTO_RECORD_GRAPH;
  struct pto_error error = {0};
  if (c->engine) {
    if (pto_runtime_create_explained(c, &f->rt, error.sentence, sizeof error.sentence)) fail_msg("%s", error.sentence);
    return;
  }
  if (pto_control_create(c, pto_serial_port_create(&f->port), NULL, &f->rt, &error)) fail_msg("%s", error.sentence);
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

struct fixture_call fixture_calls[FIXTURE_MAX_CALLS];
uint32_t fixture_call_count;

static int run_nothing(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}
static int run_logged(const struct pto_kernel_args *args) { /* on several threads at a time, too */
  uint32_t at = __atomic_load_n(&fixture_call_count, __ATOMIC_RELAXED);
  do {
    if (at == FIXTURE_MAX_CALLS) return 0;
  } while (!__atomic_compare_exchange_n(&fixture_call_count, &at, at + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  fixture_calls[at] = (struct fixture_call){args->scalars[0].u64, args->core->index, args->core->block_index};
  return 0;
}

uint32_t fixture_position(uint64_t label) {
  for (uint32_t i = 0; i < fixture_call_count; i++)
    if (fixture_calls[i].label == label) return i;
  return FIXTURE_MAX_CALLS;
}

struct made_kernel {
  char modes[PTO_MAX_PARAMS + 1];
  struct pto_kernel kernel;
};

#define MOST_MODES (2 * PTO_MAX_PARAMS) /* more than a kernel may have: that is tested too */

/* Parameter lists are made once and kept: kernels of tests are copied about, and none owns its list. */
static const struct pto_kernel_param *make_params(const char *modes) {
  static struct {
    char modes[MOST_MODES + 1];
    bool is_made;
    struct pto_kernel_param params[MOST_MODES + 1];
  } made[128];
  size_t which = 0;
  while (which < PTO_ARRAY_LENGTH(made) && made[which].is_made && strcmp(made[which].modes, modes) != 0) which++;
  if (which == PTO_ARRAY_LENGTH(made)) fail_msg("more than %zu lists of parameters", PTO_ARRAY_LENGTH(made));
  struct pto_kernel_param *params = made[which].params;
  if (made[which].is_made) return params;
  made[which].is_made = true;
  strncpy(made[which].modes, modes, MOST_MODES);
  for (size_t i = 0; i < MOST_MODES && modes[i]; i++)
    params[i] = (struct pto_kernel_param){.mode = modes[i] == 'i'   ? PTO_INPUT
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
struct pto_tensor fixture_box(const struct pto_tensor *t, uint64_t row, uint64_t rows, uint64_t column,
                              uint64_t columns) {
  uint64_t offsets[2] = {row, column}, shape[2] = {rows, columns};
  return pto_tensor_view(t, offsets, shape);
}
uint64_t fixture_heap_offset(struct pto_runtime *rt, uint32_t ring, struct pto_buffer buffer) {
  const struct pto_heap_ring *heap = &rt->rings.rings[ring].heap;
  return ((pto_get_buffer_addr(rt, buffer) - (uintptr_t)heap->base) >> heap->spread_log2) % heap->size_bytes;
}
struct pto_tensor fixture_managed(struct pto_runtime *rt, uint64_t count) {
  return pto_managed_tensor(rt, pto_create_buffer(rt, count), PTO_UINT8, 1, &count);
}

/* ---- tasks ---- */

int fixture_submit(struct pto_runtime *rt, const char *modes, const struct pto_tensor *const *tensors,
                   struct pto_task *task_out) {
  struct pto_param params[PTO_MAX_PARAMS];
  uint32_t count = (uint32_t)strlen(modes);
  const struct pto_kernel *kernel = fixture_kernel(modes);
  for (uint32_t i = 0, t = 0; i < count; i++)
    params[i] = modes[i] == 's' ? pto_scalar_u64(i) : pto_param_tensor(kernel->params[i].mode, tensors[t++]);
  struct pto_launch launch = {.aiv0 = kernel};
  return pto_submit(rt, &launch, params, count, task_out);
}

/* The logged kernel that takes a label and tensors of these modes. */
static const struct pto_kernel *logged_kernel(const char *modes) {
  static struct made_kernel made[64];
  char all[PTO_MAX_PARAMS + 1] = "s";
  strncat(all, modes, sizeof all - 2);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(made); i++) {
    if (made[i].kernel.run && strcmp(made[i].modes, all) == 0) return &made[i].kernel;
    if (made[i].kernel.run) continue;
    memcpy(made[i].modes, all, sizeof all);
    made[i].kernel = fixture_kernel_with(all, 0, run_logged);
    made[i].kernel.name = "logged";
    return &made[i].kernel;
  }
  fail_msg("more than %zu kinds of kernels", PTO_ARRAY_LENGTH(made));
  return NULL;
}

int fixture_try(struct pto_runtime *rt, const struct fixture_task *task) {
  struct pto_param params[9];
  const char *modes = task->modes ? task->modes : "";
  const struct pto_kernel *kernel = logged_kernel(modes);
  uint32_t roles = task->roles ? task->roles : FIXTURE_AIV0, count = 1 + (uint32_t)strlen(modes);
  assert_true(count <= PTO_ARRAY_LENGTH(params));
  params[0] = pto_scalar_u64(task->label);
  for (uint32_t i = 1; i < count; i++) params[i] = pto_param_tensor(kernel->params[i].mode, task->tensors[i - 1]);
  struct pto_launch launch = task->launch;
  if (roles & FIXTURE_AIC) launch.aic = kernel;
  if (roles & FIXTURE_AIV0) launch.aiv0 = kernel;
  if (roles & FIXTURE_AIV1) launch.aiv1 = kernel;
  return pto_submit(rt, &launch, params, count, task->out);
}
void fixture_do(struct pto_runtime *rt, const struct fixture_task *task) {
  fixture_expect(rt, fixture_try(rt, task), PTO_OK);
}

void fixture_step(struct pto_runtime *rt) { fixture_expect(rt, pto_progress_wait(rt), PTO_OK); }
void fixture_drain(struct pto_runtime *rt) {
  while (rt->completed_count < rt->task_count) fixture_step(rt);
}

/* ---- state ---- */

void fixture_state_take(struct pto_runtime *rt, struct fixture_state *s) {
  *s = (struct fixture_state){.tasks = rt->task_count,
                              .edges = rt->hazards.edges,
                              .completed = rt->completed_count,
                              .payloads = rt->payloads.live_count,
                              .buffers = rt->buffers.live_count,
                              .entries = rt->map.live_entries,
                              .chunks = rt->chunks.live_count,
                              .ready = rt->scheduler.ready_count,
                              .in_flight = rt->scheduler.cores.in_flight,
                              .depth = rt->scope_depth};
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    const struct pto_task_ring *ring = &rt->rings.rings[i];
    s->heads[i] = ring->head;
    s->tails[i] = ring->tail;
    s->heap_heads[i] = ring->heap.head;
    s->heap_tails[i] = ring->heap.tail;
  }
  const uint8_t *bytes = (const uint8_t *)rt->buffers.records;
  for (uint64_t i = 0; i < rt->buffers.used * sizeof *rt->buffers.records; i++)
    s->records = pto_mix64(s->records + bytes[i] + 1);
}

void fixture_state_expect(struct pto_runtime *rt, const struct fixture_state *before) {
  struct fixture_state now;
  fixture_state_take(rt, &now);
  assert_memory_equal(&now, before, sizeof now);
}

/* ---- cases ---- */

const struct fixture_case *fixture_current;

static int one_task_more(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_managed(rt, 100), b = fixture_bytes(f, 0, 100);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&a});
  FIXTURE_DO(rt, .modes = "ib", .tensors = {&a, &b});
  return 0;
}

/* What must hold of every runtime between runs. */
static void expect_whole(const struct pto_runtime *rt) {
  assert_true(pto_task_rings_is_valid(&rt->rings));
  assert_true(pto_access_map_is_valid(&rt->map));
  assert_true(pto_buffer_registry_is_valid(&rt->buffers));
  assert_int_equal(rt->scheduler.cores.in_flight, 0);
  assert_true(pto_core_tracker_is_valid(&rt->scheduler.cores));
  assert_int_equal(rt->chunks.live_count, 0);
  assert_int_equal(rt->scheduler.ready_count, 0);
  uint32_t outside = 0;
  for (uint32_t i = rt->outside_buffers; i != PTO_NONE; i = rt->buffers.records[i].next_in_scope) outside++;
  assert_int_equal(rt->buffers.live_count, outside);
  assert_int_equal(rt->payloads.live_count, 0);
  assert_int_equal(rt->map.live_entries, 0);
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    assert_true(rt->rings.rings[i].head == rt->rings.rings[i].tail);
    assert_true(pto_heap_ring_used(&rt->rings.rings[i].heap) == 0);
  }
}

static void run_case(void **state) {
  const struct fixture_case *c = fixture_current = *state;
  static struct fixture f;
  memset(&f, 0, sizeof f);
  f.config = (struct pto_config){.window = c->window,
                                 .heap_bytes = c->heap_bytes,
                                 .policy = c->policy,
                                 .engine = c->engine,
                                 .chip = c->chip,
                                 .poison = c->poison,
                                 .list_chunks = c->list_chunks,
                                 .map_entries = c->map_entries};
  memcpy(f.config.ring_window, c->ring_window, sizeof f.config.ring_window);
  memcpy(f.config.ring_heap_bytes, c->ring_heap_bytes, sizeof f.config.ring_heap_bytes);
  f.port = (struct pto_serial_port_config){
      .cluster_count = c->clusters, .slots_per_core = c->slots_per_core, .seed = c->seed};
  fixture_call_count = 0;
  fixture_open(&f);
  f.rt->first_sequence = c->first_sequence;
  fixture_run(&f, c->body, c->status);
  if (c->sentence) fixture_expect_sentence(f.rt, c->sentence);
  expect_whole(f.rt);
  if (c->after) c->after(&f);
  fixture_run(&f, one_task_more, PTO_OK);
  assert_string_equal(pto_last_error(f.rt), "");
  expect_whole(f.rt);
  fixture_close(&f);
}

int fixture_run_cases(const char *name, const struct fixture_case *cases, size_t count) {
  struct CMUnitTest *tests = calloc(count, sizeof *tests);
  for (size_t i = 0; i < count; i++)
    tests[i] = (struct CMUnitTest){
        .name = cases[i].name, .test_func = run_case, .initial_state = (void *)(uintptr_t)&cases[i]};
  int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
  free(tests);
  return failed;
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
