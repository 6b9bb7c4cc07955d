/* SPDX-License-Identifier: MIT */
/*
 * Random programs of creates, writes, copies, dispatches, reads and destroys, on each backend, against a model that
 * does each call at once; each once with programs that repeat, whose submits are kept, and once without, in the same
 * virtual time.  PTO_SEED is the first seed, PTO_DEVICE_PROGRAMS how many.
 */
#include <pto/device.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>

#define MOST_TENSORS 12u
#define MOST_NUMEL 64u
#define STEPS 400u

/* z = 3 x + y + salt, element by element, modulo 2^32: order and operands show in every bit. */
static int mix_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr, *y = a->tensors[1].addr;
  uint32_t *z = a->tensors[2].addr;
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++) z[i] = 3 * x[i] + y[i] + (uint32_t)a->scalars[0].u64;
  return 0;
}
static const struct pto_kernel_param mix_params[] = {
    {.mode = PTO_INPUT}, {.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}};
static const struct pto_kernel mix = {
    .name = "mix", .cores = PTO_AIV, .params = mix_params, .param_count = 4, .run = mix_run};

/* Through a temporary, in two tasks: t = mix(x, y), z = mix(t, y). */
static int submit_mix(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_tensor *x = &bound->inputs[0], *y = &bound->inputs[1], *z = &bound->outputs[0];
  const struct pto_tensor t =
      pto_managed_tensor(rt, pto_create_buffer(rt, x->shape[0] * sizeof(uint32_t)), PTO_UINT32, 1, x->shape);
  const struct pto_param first[] = {pto_input(x), pto_input(y), pto_output(&t), pto_scalar_u64(1)};
  const struct pto_param second[] = {pto_input(&t), pto_input(y), pto_output(z), pto_scalar_u64(2)};
  int status = pto_submit_aiv(rt, &mix, first, 4);
  return status ? status : pto_submit_aiv(rt, &mix, second, 4);
}

struct model {
  struct pto_context *context;
  uint64_t repeats; /* of its programs */
  struct pto_rng rng;
  uint32_t count;
  struct {
    struct pto_device_tensor tensor;
    uint32_t numel;
    uint32_t values[MOST_NUMEL];
  } tensors[MOST_TENSORS];
  uint64_t h2d_bytes, d2h_bytes, d2d_bytes, dispatches;
  struct pto_device_tensor recent[4][3]; /* what dispatches had bound, to be bound again */
  struct pto_operand inputs[MOST_NUMEL + 1][2], outputs[MOST_NUMEL + 1][1];
  struct pto_device_program programs[MOST_NUMEL + 1]; /* by size: borrowed until the dispatch is done */
};

static uint32_t below(struct model *m, uint32_t bound) { return (uint32_t)pto_rng_below(&m->rng, bound); }

static void step_create(struct model *m) {
  if (m->count == MOST_TENSORS) return;
  uint32_t numel = 1 + below(m, 4) * 21; /* few sizes, so that partners are found */
  const struct pto_device_tensor_desc desc = {.dtype = PTO_UINT32, .ndims = 1, .shape = {numel}};
  assert_int_equal(pto_device_tensor_create_host(m->context, &desc, &m->tensors[m->count].tensor), PTO_OK);
  m->tensors[m->count].numel = numel;
  memset(m->tensors[m->count++].values, 0, sizeof m->tensors[0].values);
}

static void step_write(struct model *m) {
  uint32_t i = below(m, m->count);
  for (uint32_t k = 0; k < m->tensors[i].numel; k++) m->tensors[i].values[k] = (uint32_t)pto_rng_next(&m->rng);
  assert_int_equal(pto_device_tensor_write(m->context, m->tensors[i].tensor, m->tensors[i].values,
                                           m->tensors[i].numel * sizeof(uint32_t)),
                   PTO_OK);
  m->h2d_bytes += m->tensors[i].numel * sizeof(uint32_t);
}

static void check_one(struct model *m, uint32_t i) {
  uint32_t values[MOST_NUMEL];
  const uint64_t size_bytes = m->tensors[i].numel * sizeof(uint32_t);
  assert_int_equal(pto_device_tensor_read(m->context, m->tensors[i].tensor, values, size_bytes), PTO_OK);
  assert_memory_equal(values, m->tensors[i].values, size_bytes);
  m->d2h_bytes += size_bytes;
}

static void step_copy(struct model *m) {
  uint32_t from = below(m, m->count), to = below(m, m->count);
  if (from == to || m->tensors[from].numel != m->tensors[to].numel) return;
  assert_int_equal(pto_device_tensor_copy(m->context, m->tensors[from].tensor, m->tensors[to].tensor), PTO_OK);
  memcpy(m->tensors[to].values, m->tensors[from].values, sizeof m->tensors[0].values);
  m->d2d_bytes += m->tensors[from].numel * sizeof(uint32_t);
}

static void step_destroy(struct model *m) {
  if (m->count < 3) return;
  uint32_t i = below(m, m->count);
  assert_int_equal(pto_device_tensor_destroy(m->context, m->tensors[i].tensor), PTO_OK);
  m->tensors[i] = m->tensors[--m->count];
}

static uint32_t find(const struct model *m, struct pto_device_tensor tensor) {
  uint32_t i = 0;
  while (i < m->count && m->tensors[i].tensor.id != tensor.id) i++;
  return i;
}

/* Often what a dispatch has had before, where it is still there. */
static void draw_tensors(struct model *m, uint32_t drawn[3]) {
  const struct pto_device_tensor *before = m->recent[below(m, PTO_ARRAY_LENGTH(m->recent))];
  const bool is_again = below(m, 4) != 0;
  for (int i = 0; i < 3; i++) drawn[i] = is_again ? find(m, before[i]) : m->count;
  if (drawn[0] < m->count && drawn[1] < m->count && drawn[2] < m->count) return;
  for (int i = 0; i < 3; i++) drawn[i] = below(m, m->count);
}

static void step_dispatch(struct model *m) {
  uint32_t drawn[3];
  draw_tensors(m, drawn);
  const uint32_t x = drawn[0], y = drawn[1], z = drawn[2];
  uint32_t numel = m->tensors[x].numel;
  if (x == y || y == z || x == z || m->tensors[y].numel != numel || m->tensors[z].numel != numel) return;
  struct pto_device_program *program = &m->programs[numel];
  if (!program->orchestrate) {
    const struct pto_operand operand = {.dtype = PTO_UINT32, .ndims = 1, .shape = {numel}};
    m->inputs[numel][0] = m->inputs[numel][1] = m->outputs[numel][0] = operand;
    m->inputs[numel][0].name = "x";
    m->inputs[numel][1].name = "y";
    m->outputs[numel][0].name = "z";
    *program = (struct pto_device_program){.name = "mix",
                                           .inputs = m->inputs[numel],
                                           .outputs = m->outputs[numel],
                                           .input_count = 2,
                                           .output_count = 1,
                                           .orchestrate = submit_mix,
                                           .repeats = m->repeats};
  }
  const struct pto_binding inputs[] = {{"x", m->tensors[x].tensor}, {"y", m->tensors[y].tensor}};
  const struct pto_binding outputs[] = {{"z", m->tensors[z].tensor}};
  const struct pto_dispatch_bindings bindings = {
      .inputs = inputs, .outputs = outputs, .input_count = 2, .output_count = 1};
  assert_int_equal(pto_context_dispatch(m->context, program, &bindings), PTO_OK);
  for (int i = 0; i < 3; i++) m->recent[m->dispatches % PTO_ARRAY_LENGTH(m->recent)][i] = m->tensors[drawn[i]].tensor;
  m->dispatches++;
  for (uint32_t k = 0; k < numel; k++) {
    uint32_t t = 3 * m->tensors[x].values[k] + m->tensors[y].values[k] + 1;
    m->tensors[z].values[k] = 3 * t + m->tensors[y].values[k] + 2;
  }
}

/* The virtual time that it took. */
static uint64_t run_program(uint64_t seed, uint64_t repeats, const struct pto_context_options *options,
                            uint64_t *hits) {
  static struct model m;
  memset(&m, 0, sizeof m);
  m.rng.state = seed;
  m.repeats = repeats;
  assert_int_equal(pto_context_create(options, &m.context, NULL, 0), PTO_OK);
  step_create(&m);
  for (uint32_t i = 0; i < STEPS; i++) {
    static void (*const steps[])(struct model *) = {step_create,   step_write,    step_write,    step_copy,
                                                    step_destroy,  step_dispatch, step_dispatch, step_dispatch,
                                                    step_dispatch, step_dispatch};
    uint32_t which = below(&m, PTO_ARRAY_LENGTH(steps) + 1);
    if (which < PTO_ARRAY_LENGTH(steps))
      steps[which](&m);
    else
      check_one(&m, below(&m, m.count));
  }
  for (uint32_t i = 0; i < m.count; i++) check_one(&m, i);
  struct pto_context_counters counters = {.size = sizeof counters};
  pto_context_counters(m.context, &counters);
  assert_int_equal(counters.h2d_bytes, m.h2d_bytes);
  assert_int_equal(counters.d2h_bytes, m.d2h_bytes);
  assert_int_equal(counters.d2d_bytes, m.d2d_bytes);
  assert_int_equal(counters.dispatches, m.dispatches);
  assert_int_equal(counters.tasks, 2 * m.dispatches);
  assert_int_equal(counters.lowering_cache_hits + counters.lowering_cache_misses, repeats ? m.dispatches : 0);
  assert_int_equal(counters.lowering_cache_unusable, 0);
  *hits += counters.lowering_cache_hits;
  while (m.count) assert_int_equal(pto_device_tensor_destroy(m.context, m.tensors[--m.count].tensor), PTO_OK);
  assert_int_equal(pto_context_sync(m.context), PTO_OK);
  pto_context_counters(m.context, &counters);
  assert_int_equal(counters.live_bytes, 0);
  assert_int_equal(counters.allocations, counters.frees);
  assert_int_equal(counters.lowering_cache_entries, 0);
  assert_int_equal(counters.lowering_cache_bytes, 0);
  pto_context_destroy(m.context);
  return counters.virtual_ps;
}

static void run_programs(struct pto_context_options options) {
  const char *text = getenv("PTO_SEED");
  const uint64_t first = text ? strtoull(text, NULL, 10) : 20261122;
  text = getenv("PTO_DEVICE_PROGRAMS");
  const uint64_t count = text ? strtoull(text, NULL, 10) : 40;
  options.size = sizeof options;
  options.memory_bytes = 1 << 16;
  options.tensor_count = MOST_TENSORS + 4; /* so that creating has to wait for destroying */
  options.runtime.window = 16;
  options.runtime.heap_bytes = 16384;
  printf("%llu programs from seed %llu on\n", (unsigned long long)count, (unsigned long long)first);
  uint64_t hits = 0;
  for (uint64_t seed = first; seed < first + count; seed++) {
    const uint64_t virtual_ps = run_program(seed, 0, &options, &hits);
    assert_int_equal(run_program(seed, 1, &options, &hits), virtual_ps);
  }
  printf("%llu dispatches were submitted from the cache\n", (unsigned long long)hits);
  assert_true(count < 10 || hits > 10 * count);
}

static void test_random_programs_on_threads_leave_what_the_model_has(void **state) {
  run_programs((struct pto_context_options){.runtime = {.chip = "tiny", .workers = 2}});
}
static void test_random_programs_in_virtual_time_leave_what_the_model_has(void **state) {
  run_programs((struct pto_context_options){.runtime = {.chip = "tiny", .engine = "virtual"}});
}
static void test_random_programs_on_the_host_leave_what_the_model_has(void **state) {
  run_programs((struct pto_context_options){.acceleration = PTO_ACCELERATION_NO});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_programs_on_threads_leave_what_the_model_has),
      cmocka_unit_test(test_random_programs_in_virtual_time_leave_what_the_model_has),
      cmocka_unit_test(test_random_programs_on_the_host_leave_what_the_model_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
