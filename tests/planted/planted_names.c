/* SPDX-License-Identifier: MIT */
/*
 * Labels, and mistakes whose reports must name them: one program, a mistake an option.
 *
 * Lines that reports are to name end in a comment "HERE: NAME", by which the test finds their numbers.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include <pto/pto.h>
#include <pto/world.h>

static int add_one(const struct pto_kernel_args *args) {
  float *x = args->tensors[0].addr;
  for (uint64_t i = 0; i < args->tensors[0].shape[0]; i++) x[i] += 1;
  return 0;
}
static int forever = 1;
/* An address that the compiler does not see to be none. */
static int *nowhere(void) { return (int *)(uintptr_t)strtoul("0x40", NULL, 16); }
static int crash(const struct pto_kernel_args *args) {
  *nowhere() = (int)args->tensor_count; /* HERE: crash */
  return 0;
}
static int stay(const struct pto_kernel_args *args) {
  while (__atomic_load_n(&forever, __ATOMIC_RELAXED)) {
  }
  return 0;
}
static const struct pto_kernel_param params[] = {
    {.name = "x", .mode = PTO_INOUT, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32)}};
static const struct pto_kernel add = {
    .name = "add", .cores = PTO_AIV, .param_count = 1, .params = params, .run = add_one};
static const struct pto_kernel bad = {
    .name = "bad", .cores = PTO_AIV, .param_count = 1, .params = params, .run = crash};

static const struct pto_kernel stays = {
    .name = "stays", .cores = PTO_AIV, .param_count = 1, .params = params, .run = stay};

static const struct pto_kernel bare = {.name = "bare", .cores = PTO_AIV, .run = stay};
/* Refused, and on no tensor. */
static int submit_too_many(struct pto_runtime *rt) {
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = &bare, .block_count = 1000, .sync_start = true};
  return pto_submit(rt, &launch, NULL, 0, NULL);
}

/* Out of line: its callers' lines are the orchestration's own. */
__attribute__((noinline)) static int add_to(struct pto_runtime *rt, const struct pto_kernel *kernel,
                                            const struct pto_tensor *t, const char *label) {
  const struct pto_launch launch = {.size = sizeof launch, .aiv0 = kernel, .label = label};
  const struct pto_param param = pto_inout(t);
  return pto_submit(rt, &launch, &param, 1, NULL); /* HERE: helper */
}

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[1] = {8};
  (void)pto_program_array(run, "field", PTO_ARRAY_INOUT, PTO_FLOAT32, 1, shape);
  (void)pto_program_array(run, "numbers", PTO_ARRAY_INPUT, PTO_INT32, 1, shape);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_tensor field = pto_array_tensor(rt, pto_program_find(run, "field"));
  const struct pto_tensor numbers = pto_array_tensor(rt, pto_program_find(run, "numbers"));
  const uint64_t shape[1] = {8};
  const char *mistake = pto_option_text(run, "mistake");
  struct pto_tensor scratch;
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO); /* HERE: scope */
  if (status) return status;
  pto_scope_label(rt, "sweep");
  scratch = pto_managed_tensor(rt, pto_create_buffer(rt, 8 * sizeof(float)), PTO_FLOAT32, 1, shape);
  pto_buffer_label(rt, scratch.buffer, "halo");
  for (int i = 0; i < 3 && !status; i++)
    status = add_to(rt, &add, &field, pto_program_text(run, "row %d", i)); /* HERE: rows */
  if (status) return status;
  if (mistake[0] == 'r') (void)add_to(rt, &add, &numbers, "wrong type"); /* HERE: refused */
  if (mistake[0] == 'e') status = add_to(rt, &add, &numbers, NULL);      /* HERE: returned */
  if (mistake[0] == 'k') status = add_to(rt, &bad, &field, "to crash");
  if (mistake[0] == 'b') status = submit_too_many(rt);
  if (mistake[0] == 'i') (void)submit_too_many(rt);
  if (mistake[0] == 'h' && pto_runtime_rank(rt) == 1) status = add_to(rt, &stays, &field, NULL);
  if (mistake[0] == 'q') exit(7);
  if (mistake[0] == 'c') *nowhere() = 1; /* HERE: orchestration */
  assert(mistake[0] != 'a');             /* HERE: assertion */
  if (mistake[0] == 's') return PTO_OK;
  if (mistake[0] == 'l') pto_program_print(run, "goes round\n");
  while (mistake[0] == 'l' && __atomic_load_n(&forever, __ATOMIC_RELAXED)) {
  }
  return status ? status : pto_scope_end(rt);
}

static int expect(struct pto_program_run *run) {
  double *golden = pto_array_golden(run, pto_program_find(run, "field"));
  for (int i = 0; golden && i < 8; i++) golden[i] = pto_option_text(run, "mistake")[0] == 'w' ? 4 : 3;
  return PTO_OK;
}

static const struct pto_option options[] = {
    {"mistake", PTO_OPTION_TEXT, "",
     "refused, error, bare, ignored, kernel, crash, assertion, scope, loop, hang, quit or "
     "wrong: a refused submit that is ignored, or returned, with tensors and without; a crash or an "
     "abort; a scope left open; no return of the orchestration, or of a "
     "kernel of rank 1; the process's end; a wrong golden"},
    {0}};
PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,
                                                .name = "planted_names",
                                                .summary = "labels, and mistakes that reports name",
                                                .options = options,
                                                .prepare = prepare,
                                                .orchestrate = orchestrate,
                                                .expect = expect};
