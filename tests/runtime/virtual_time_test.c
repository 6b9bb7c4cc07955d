/* SPDX-License-Identifier: MIT */
/*
 * Random programs through the public interface in virtual time, on every shipped chip and policy: the bytes are those
 * of sequential execution, the timeline keeps every edge, and the same program gives the same timeline again, in the
 * same runtime, in a second one, and in one that ran something else before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pto/pto.h>

#include <runtime/control/control.h>
#include <runtime/trace/trace_digest.h>
#include <sim/chips/chip.h>

#include <stdio.h>
#include <string.h>

#define TILES 48
#define TILE_ELEMS 16
#define MAX_TASKS 600

/* out = mix of its inputs and of what it was, so that every order but the right one shows. */
static void mix_tile(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t salt) {
  for (uint32_t i = 0; i < TILE_ELEMS; i++) out[i] = (out[i] * 31 + a[i]) * 17 + b[i] * 7 + salt;
}

static int mix_run(const struct pto_kernel_args *args) {
  mix_tile(args->tensors[2].addr, args->tensors[0].addr, args->tensors[1].addr, (uint32_t)args->scalars[0].u64);
  return 0;
}

static struct pto_cost mix_cost(const struct pto_kernel_args *args) {
  uint64_t size = args->scalars[0].u64 % 4096;
  return (struct pto_cost){.bytes_in = size * 16, .bytes_out = size % 7 * 64, .vector_elems = size * 3};
}

static const struct pto_kernel_param mix_params[] = {
    {.mode = PTO_INPUT}, {.mode = PTO_INPUT}, {.mode = PTO_INOUT}, {.mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
static const struct pto_kernel mix = {.name = "mix",
                                      .cores = PTO_AIC | PTO_AIV,
                                      .params = mix_params,
                                      .param_count = 4,
                                      .run = mix_run,
                                      .cost = mix_cost};
/* The same without a cost of its own. */
static const struct pto_kernel plain_mix = {
    .name = "plain_mix", .cores = PTO_AIC | PTO_AIV, .params = mix_params, .param_count = 4, .run = mix_run};

struct step {
  uint32_t a, b, out, salt;
  bool is_aic, is_plain, ends_scope;
};

struct random_program {
  struct step steps[MAX_TASKS];
  uint32_t count;
  uint32_t memory[TILES][TILE_ELEMS];
};

static void program_make(struct random_program *program, uint64_t seed) {
  struct pto_rng rng = {seed};
  program->count = 50 + (uint32_t)pto_rng_below(&rng, MAX_TASKS - 50);
  uint32_t spread = 3 + (uint32_t)pto_rng_below(&rng, TILES - 2);
  for (uint32_t i = 0; i < program->count; i++) {
    struct step *step = &program->steps[i];
    step->out = (uint32_t)pto_rng_below(&rng, spread);
    do step->a = (uint32_t)pto_rng_below(&rng, spread);
    while (step->a == step->out);
    do step->b = (uint32_t)pto_rng_below(&rng, spread);
    while (step->b == step->out);
    step->salt = (uint32_t)pto_rng_next(&rng);
    step->is_aic = pto_rng_below(&rng, 3) == 0;
    step->is_plain = pto_rng_below(&rng, 4) == 0;
    step->ends_scope = pto_rng_below(&rng, 100) == 0;
  }
}

static void program_fill(struct random_program *program) {
  for (uint32_t t = 0; t < TILES; t++)
    for (uint32_t i = 0; i < TILE_ELEMS; i++) program->memory[t][i] = t * 1000 + i;
}

static void program_run_sequentially(struct random_program *program) {
  program_fill(program);
  for (uint32_t i = 0; i < program->count; i++) {
    const struct step *step = &program->steps[i];
    mix_tile(program->memory[step->out], program->memory[step->a], program->memory[step->b], step->salt);
  }
}

static int orchestrate(struct pto_runtime *rt, void *context) {
  struct random_program *program = context;
  const uint64_t shape[] = {TILES, TILE_ELEMS}, tile[] = {1, TILE_ELEMS};
  struct pto_tensor whole = pto_external_tensor(rt, program->memory, PTO_UINT32, 2, shape);
  if (pto_scope_begin(rt, PTO_SCOPE_AUTO)) return 1;
  for (uint32_t i = 0; i < program->count; i++) {
    const struct step *step = &program->steps[i];
    struct pto_tensor a = pto_tensor_view(&whole, (uint64_t[]){step->a, 0}, tile);
    struct pto_tensor b = pto_tensor_view(&whole, (uint64_t[]){step->b, 0}, tile);
    struct pto_tensor out = pto_tensor_view(&whole, (uint64_t[]){step->out, 0}, tile);
    const struct pto_param params[] = {pto_input(&a), pto_input(&b), pto_inout(&out), pto_scalar_u64(step->salt)};
    const struct pto_kernel *kernel = step->is_plain ? &plain_mix : &mix;
    int status = step->is_aic ? pto_submit_aic(rt, kernel, params, 4) : pto_submit_aiv(rt, kernel, params, 4);
    if (status) return status;
    if (step->ends_scope && (pto_scope_end(rt) || pto_scope_begin(rt, PTO_SCOPE_AUTO))) return 1;
  }
  return pto_scope_end(rt);
}

static struct pto_runtime *make_runtime(const char *chip, const char *policy) {
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = chip,
                                    .policy = policy,
                                    .window = 1024,
                                    .heap_bytes = 1 << 20,
                                    .record = PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE};
  struct pto_runtime *rt = NULL;
  char sentence[1024] = "";
  int status = pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence);
  if (status) fail_msg("%s", sentence);
  return rt;
}

static uint64_t run(struct pto_runtime *rt, struct random_program *program) {
  program_fill(program);
  int status = pto_run(rt, orchestrate, program);
  if (status) fail_msg("%s", pto_last_error(rt));
  return pto_trace_digest(pto_runtime_trace(rt));
}

/* One block a task here, so spans can be found by task. */
static void check_timeline(const struct pto_trace *trace, const struct pto_chip *chip, uint32_t task_count,
                           uint64_t elapsed) {
  static uint64_t begins[MAX_TASKS], ends[MAX_TASKS];
  uint64_t core_free[3 * 36] = {0}, last_begin = 0;
  assert_int_equal(trace->spans[0].count, task_count);
  for (uint32_t i = 0; i < task_count; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(&trace->spans[0], i);
    assert_true(span->begin >= last_begin && span->end >= span->begin && span->end + chip->kernel_end_ps <= elapsed);
    assert_true(span->begin >= core_free[span->core] + chip->kernel_start_ps);
    last_begin = span->begin;
    core_free[span->core] = span->end + chip->kernel_end_ps;
    begins[span->task] = span->begin;
    ends[span->task] = span->end;
  }
  assert_true(trace->edges.count > 0);
  for (uint64_t i = 0; i < trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, i);
    assert_true(begins[edge->consumer] >= ends[edge->producer] + chip->kernel_end_ps);
  }
}

static void test_random_programs_are_right_ordered_and_repeatable(void **state) {
  static struct random_program program, other;
  static uint32_t expected[TILES][TILE_ELEMS];
  static const char *const policies[] = {"fifo", "lifo", "random:7"};
  print_message("seeds 100 to 119\n");
  program_make(&other, 1);
  for (uint32_t c = 0; pto_chip_name_at(c); c++) {
    struct pto_chip chip;
    struct pto_error error;
    assert_int_equal(pto_chip_load(pto_chip_name_at(c), &chip, &error), PTO_OK);
    for (uint32_t p = 0; p < PTO_ARRAY_LENGTH(policies); p++) {
      struct pto_runtime *rt = make_runtime(chip.name, policies[p]), *second = make_runtime(chip.name, policies[p]);
      for (uint64_t seed = 100; seed < 120; seed++) {
        program_make(&program, seed);
        program_run_sequentially(&program);
        memcpy(expected, program.memory, sizeof expected);
        uint64_t digest = run(rt, &program);
        struct pto_stats stats = {.size = sizeof stats};
        assert_memory_equal(program.memory, expected, sizeof expected);
        pto_runtime_stats(rt, &stats);
        check_timeline(pto_runtime_trace(rt), &chip, program.count, stats.virtual_ps);
        assert_true(run(rt, &program) == digest);
        assert_true(run(second, &other) != digest);
        assert_true(run(second, &program) == digest);
      }
      pto_runtime_destroy(rt);
      pto_runtime_destroy(second);
    }
  }
}

/* Long enough that cores and not submits are what there is too little of. */
static struct pto_cost heavy_cost(const struct pto_kernel_args *args) {
  return (struct pto_cost){.vector_elems = 1000000};
}
static const struct pto_kernel heavy = {
    .name = "heavy", .cores = PTO_AIV, .params = mix_params, .param_count = 4, .run = mix_run, .cost = heavy_cost};

static int wide(struct pto_runtime *rt, void *context) {
  static uint32_t memory[MAX_TASKS][TILE_ELEMS];
  const uint64_t shape[] = {MAX_TASKS, TILE_ELEMS}, tile[] = {1, TILE_ELEMS};
  struct pto_tensor whole = pto_external_tensor(rt, memory, PTO_UINT32, 2, shape);
  for (uint64_t i = 0; i + 3 <= MAX_TASKS; i += 3) {
    struct pto_tensor a = pto_tensor_view(&whole, (uint64_t[]){i, 0}, tile),
                      b = pto_tensor_view(&whole, (uint64_t[]){i + 1, 0}, tile);
    struct pto_tensor out = pto_tensor_view(&whole, (uint64_t[]){i + 2, 0}, tile);
    const struct pto_param params[] = {pto_input(&a), pto_input(&b), pto_inout(&out), pto_scalar_u64(1)};
    int status = pto_submit_aiv(rt, &heavy, params, 4);
    if (status) return status;
  }
  return 0;
}

static void test_more_cores_take_less_time_for_a_wide_program(void **state) {
  uint64_t elapsed[2];
  static const char *const chips[] = {"tiny", "a2a3"};
  for (uint32_t i = 0; i < 2; i++) {
    struct pto_runtime *rt = make_runtime(chips[i], "fifo");
    struct pto_stats stats = {.size = sizeof stats};
    assert_int_equal(pto_run(rt, wide, NULL), PTO_OK);
    pto_runtime_stats(rt, &stats);
    elapsed[i] = stats.virtual_ps;
    pto_runtime_destroy(rt);
  }
  assert_true(elapsed[1] * 4 < elapsed[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_programs_are_right_ordered_and_repeatable),
      cmocka_unit_test(test_more_cores_take_less_time_for_a_wide_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
