/* SPDX-License-Identifier: MIT */
/*
 * A program that drives two contexts at once, with one kernel that costs much and one that costs little: for tests of
 * what tells kernels apart, tests/cli/counters_test.c and tests/cli/perf_test.c.
 *
 * A call of `hot` spins ten times as long as one of `mild`, and is the first to touch HOT_PAGES pages; each is in a
 * function of its own, hot_spin and mild_spin.
 */
#include <pto/pto.h>

#include <sys/mman.h>

#define HOT_PAGES 64u
#define PAGE_BYTES 4096u
#define HOT_ROUNDS 200000u
#define CONTEXTS 2u
#define NUMEL 16u

/* Nothing of it can be foreseen or left out. */
#define SPIN(rounds, x)                                                                                                \
  for (uint32_t i = 0; i < (rounds); i++) __asm__ volatile("" : "+r"(x))

__attribute__((noinline)) static void hot_spin(uint64_t x) { SPIN(HOT_ROUNDS, x); }
__attribute__((noinline)) static void mild_spin(uint64_t x) { SPIN(HOT_ROUNDS / 10, x); }

static int hot_run(const struct pto_kernel_args *a) {
  char *pages = mmap(NULL, HOT_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return pto_kernel_error(a, "no pages");
  (void)madvise(pages, HOT_PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
  for (uint32_t i = 0; i < HOT_PAGES; i++) pages[i * PAGE_BYTES] = 1;
  munmap(pages, HOT_PAGES * PAGE_BYTES);
  hot_spin(a->core->index);
  ((float *)a->tensors[1].addr)[0] = ((const float *)a->tensors[0].addr)[0];
  return 0;
}
static int mild_run(const struct pto_kernel_args *a) {
  mild_spin(a->core->index);
  ((float *)a->tensors[1].addr)[0] = ((const float *)a->tensors[0].addr)[0];
  return 0;
}

static const struct pto_kernel_param of_both[] = {{.name = "x", .mode = PTO_INPUT}, {.name = "z", .mode = PTO_OUTPUT}};
static const struct pto_kernel hot = {
    .name = "hot", .cores = PTO_AIV, .params = of_both, .param_count = 2, .run = hot_run};
static const struct pto_kernel mild = {
    .name = "mild", .cores = PTO_AIC, .params = of_both, .param_count = 2, .run = mild_run};

/* As many of each, on the two kinds of cores, side by side. */
static int submit_both(struct pto_runtime *rt, const struct pto_bound *bound) {
  const struct pto_param from_x[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[0])};
  const struct pto_param from_y[] = {pto_input(&bound->inputs[0]), pto_output(&bound->outputs[1])};
  const int status = pto_submit_aiv(rt, &hot, from_x, 2);
  return status ? status : pto_submit_aic(rt, &mild, from_y, 2);
}

struct pass {
  struct pto_context *context;
  struct pto_device_tensor tensors[3];
};

static int open_pass(struct pass *pass, struct pto_program_run *run) {
  static const struct pto_device_tensor_desc desc = {.dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}};
  const struct pto_context_options options = {.size = sizeof options, .runtime = *pto_program_config(run)};
  char sentence[256];
  int status = pto_context_create(&options, &pass->context, sentence, sizeof sentence);
  if (status) return pto_program_fail(run, "%s", sentence);
  for (int i = 0; i < 3 && !status; i++) status = pto_device_tensor_create(pass->context, &desc, &pass->tensors[i]);
  return status;
}

static int dispatch(struct pass *pass) {
  static const struct pto_operand x = {.name = "x", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}};
  static const struct pto_operand outs[] = {{.name = "z0", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}},
                                            {.name = "z1", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {NUMEL}}};
  static const struct pto_device_program program = {
      .name = "both", .inputs = &x, .outputs = outs, .input_count = 1, .output_count = 2, .orchestrate = submit_both};
  const struct pto_binding in = {"x", pass->tensors[0]};
  const struct pto_binding out[] = {{"z0", pass->tensors[1]}, {"z1", pass->tensors[2]}};
  const struct pto_dispatch_bindings bindings = {.inputs = &in, .outputs = out, .input_count = 1, .output_count = 2};
  return pto_context_dispatch(pass->context, &program, &bindings);
}

static int host(struct pto_program_run *run) {
  struct pass passes[CONTEXTS] = {0};
  const uint64_t rounds = (uint64_t)pto_option_int(run, "calls") / CONTEXTS;
  int status = PTO_OK;
  for (uint32_t i = 0; i < CONTEXTS && !status; i++) status = open_pass(&passes[i], run);
  for (uint64_t n = 0; n < rounds * CONTEXTS && !status; n++) status = dispatch(&passes[n % CONTEXTS]);
  for (uint32_t i = 0; i < CONTEXTS; i++) {
    if (!status) status = pto_context_sync(passes[i].context);
    if (passes[i].context) pto_program_report(run, passes[i].context);
  }
  for (uint32_t i = 0; i < CONTEXTS; i++) pto_context_destroy(passes[i].context);
  return status;
}

static int prepare(struct pto_program_run *run) { return PTO_OK; }

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "planted_hot",
    .summary = "two contexts, a kernel that costs much and one that costs little",
    .options = (const struct pto_option[]){{"calls", PTO_OPTION_INT, "100", "of each kernel"}, {0}},
    .prepare = prepare,
    .host = host,
};
