/* SPDX-License-Identifier: MIT */
/*
 * A dependency that is missing: in a manual scope, a task reads what another one writes, and nothing orders them.  For
 * tests/long/planted_race_test.sh; the lines that a tool names end in "planted:".  With `race=false` the second task
 * comes after the first, explicitly.
 *
 * The tools report a race where two threads touch the bytes and nothing orders them.  So the writer begins to write
 * once the reader has begun: it cannot have completed before the reader was sent, which would order the two.  The
 * writer holds up its thread for that, so this is for builds that keep each core on a thread of its own (make
 * ANNOTATE=1).
 */
#include <pto/pto.h>

#include <semaphore.h>

#define NUMEL 20000u

static bool is_race;
static sem_t sum_has_begun;

static int write_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  while (is_race && sem_wait(&sum_has_begun)) {
  }
  for (uint64_t i = 0; i < NUMEL; i++) z[i] = (uint32_t)i; /* planted: race, written */
  return 0;
}
static int sum_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  uint32_t *z = a->tensors[1].addr, sum = 0;
  if (sem_post(&sum_has_begun)) return pto_kernel_error(a, "the writer cannot be told");
  for (uint64_t i = 0; i < NUMEL; i++) sum += x[i]; /* planted: race, read */
  z[0] = sum;
  return 0;
}

#define U32(parameter, way)                                                                                            \
  { .name = parameter, .mode = way, .dtypes = PTO_DTYPE_BIT(PTO_UINT32) }
static const struct pto_kernel_param of_write[] = {U32("z", PTO_OUTPUT)};
static const struct pto_kernel_param of_sum[] = {U32("x", PTO_INPUT), U32("z", PTO_OUTPUT)};
static const struct pto_kernel writer = {
    .name = "writer", .cores = PTO_AIV, .params = of_write, .param_count = 1, .run = write_run};
static const struct pto_kernel sum = {
    .name = "sum", .cores = PTO_AIV, .params = of_sum, .param_count = 2, .run = sum_run};

static int prepare(struct pto_program_run *run) {
  const uint64_t numel = NUMEL, one = 1;
  pto_program_array(run, "x", PTO_ARRAY_OUTPUT, PTO_UINT32, 1, &numel);
  pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_UINT32, 1, &one);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor x = pto_array_tensor(rt, pto_program_find(run, "x"));
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  struct pto_task written;
  is_race = pto_option_bool(run, "race");
  if (sem_init(&sum_has_begun, 0, 0)) return PTO_ESYSTEM;
  int status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
  if (!status)
    status = pto_submit(rt, &(struct pto_launch){.aiv0 = &writer}, (struct pto_param[]){pto_output(&x)}, 1, &written);
  struct pto_launch after = {.aiv0 = &sum, .after = &written, .after_count = !is_race};
  if (!status) status = pto_submit(rt, &after, (struct pto_param[]){pto_input(&x), pto_output(&z)}, 2, NULL);
  return status ? status : pto_scope_end(rt);
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "planted_race",
    .summary = "two tasks that nothing orders",
    .options = (const struct pto_option[]){{"race", PTO_OPTION_BOOL, "true", "leave the dependency out"}, {0}},
    .prepare = prepare,
    .orchestrate = orchestrate,
};
