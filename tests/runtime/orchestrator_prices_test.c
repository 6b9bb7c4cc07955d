/* SPDX-License-Identifier: MIT */
/*
 * What the orchestrator pays for each call, price by price: a chip on which one price alone is not 0, and the clock
 * after each call of a small program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pto/pto.h>

#include <runtime/control/control.h>
#include <runtime/control/runtime_state.h>
#include <sim/chips/chip_files.h>
#include <tests/support/temporary_path.h>

#include <stdio.h>
#include <string.h>

#define CALLS 6
#define PS 1000u

static int run_nothing(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}
static const struct pto_kernel_param params[] = {{.mode = PTO_INPUT}, {.mode = PTO_INOUT}};
static const struct pto_kernel kernel = {
    .name = "nothing", .cores = PTO_AIV, .params = params, .param_count = 2, .run = run_nothing};

static float memory[4][16];

static int submit_one(struct pto_runtime *rt, struct pto_tensor *whole, uint64_t in, uint64_t out) {
  const uint64_t tile[] = {1, 16};
  struct pto_tensor a = pto_tensor_view(whole, (uint64_t[]){in, 0}, tile);
  struct pto_tensor b = pto_tensor_view(whole, (uint64_t[]){out, 0}, tile);
  return pto_submit_aiv(rt, &kernel, (const struct pto_param[]){pto_input(&a), pto_inout(&b)}, 2);
}

/* alloc_tensors of two, two tasks of which the second comes after the first, and a manual scope with one task.  What
 * the orchestrator has paid in each call, in prices. */
static int orchestrate(struct pto_runtime *rt, void *context) {
  uint64_t *paid = context, last = rt->port->clock;
  const uint64_t shape[] = {4, 16}, small[] = {16};
  struct pto_tensor whole = pto_external_tensor(rt, memory, PTO_FLOAT32, 2, shape);
  const struct pto_tensor made[] = {pto_managed_tensor(rt, pto_create_buffer(rt, 64), PTO_FLOAT32, 1, small),
                                    pto_managed_tensor(rt, pto_create_buffer(rt, 64), PTO_FLOAT32, 1, small)};
  for (uint32_t i = 0; i < CALLS; i++) {
    const int status = i == 0   ? pto_alloc_tensors(rt, made, 2, NULL)
                       : i == 1 ? submit_one(rt, &whole, 0, 1)
                       : i == 2 ? submit_one(rt, &whole, 1, 2)
                       : i == 3 ? pto_scope_begin(rt, PTO_SCOPE_MANUAL)
                       : i == 4 ? submit_one(rt, &whole, 2, 3)
                                : pto_scope_end(rt);
    if (status) return status;
    paid[i] = (rt->port->clock - last) / PS;
    last = rt->port->clock;
  }
  return PTO_OK;
}

/* tiny, but for the prices, which are 0 unless `lines` say otherwise; `chip_lines` go into [chip]. */
static void run_with(const char *chip_lines, const char *const zero[], const char *lines, uint64_t paid[CALLS]) {
  char path[TEMPORARY_PATH_BYTES], sentence[1024] = "";
  struct pto_chip_file tiny;
  assert_true(pto_chip_file_at(0, &tiny));
  const char *prices = strstr(tiny.text, "[control_ps]"), *rest = strstr(tiny.text, "[chip]\n") + 7;
  temporary_path(path, "prices.ini");
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "[chip]\n%s\n%.*s[control_ps]\n%s\n", chip_lines, (int)(prices - rest), rest, lines);
  for (uint32_t i = 0; zero[i]; i++)
    if (!strstr(lines, zero[i])) fprintf(file, "%s 0\n", zero[i]);
  assert_int_equal(fclose(file), 0);
  const struct pto_config config = {.size = sizeof config, .engine = "virtual", .chip = path, .heap_bytes = 1 << 20};
  struct pto_runtime *rt = NULL;
  if (pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence)) fail_msg("%s", sentence);
  if (pto_run(rt, orchestrate, paid)) fail_msg("%s", pto_last_error(rt));
  pto_runtime_destroy(rt);
  remove(path);
}

/* Each at the begin of a line, so that none is found in another. */
static const char *const required[] = {
    "\nsubmit =",      "\nparam =",    "\nlookup =", "\nedge =",   "\nalloc =",    "\nscope =",
    "\nhost_access =", "\ndispatch =", "\npoll =",   "\nfanout =", "\ncomplete =", NULL};

static void test_each_price_is_paid_once_for_what_it_is_of(void **state) {
  static const struct {
    const char *chip_lines, *lines;
    uint64_t paid[CALLS];
  } cases[] = {
      {"", "\nsubmit = 1000", {1, 1, 1, 0, 1, 0}},
      {"", "\nsubmit = 1000\nalloc_tensors = 3000", {3, 1, 1, 0, 1, 0}},
      {"", "\nsubmit = 1000\nalloc_tensors = 0", {0, 1, 1, 0, 1, 0}},
      {"", "\nalloc_tensors = 3000", {3, 0, 0, 0, 0, 0}},
      {"", "\nfirst_submit = 7000", {7, 0, 0, 0, 0, 0}},
      {"", "\nparam = 1000", {2, 2, 2, 0, 2, 0}},
      {"", "\nalloc = 1000", {2, 0, 0, 0, 0, 0}},
      {"", "\nscope = 1000", {0, 0, 0, 1, 0, 1}},
      {"", "\nedge = 1000", {0, 0, 1, 0, 0, 0}},
      {"wiring = orchestrator", "\nedge = 1000", {0, 0, 1, 0, 0, 0}},
      {"wiring = scheduler", "\nedge = 1000", {0, 0, 0, 0, 0, 0}},
      {"", "\nlookup = 1000", {2, 2, 2, 0, 2, 0}},
      {"", "\nlookup = 1000\nmanual_lookup = 0", {2, 2, 2, 0, 0, 0}},
      {"", "\nmanual_lookup = 5000", {0, 0, 0, 0, 10, 0}},
      /* the two outputs, each in a buffer of its own; tiles 0 and 1; these and tile 2 */
      {"", "\nlookup_entry = 1000", {2, 4, 6, 0, 0, 0}},
  };
  (void)state;
  for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t paid[CALLS];
    run_with(cases[i].chip_lines, required, cases[i].lines, paid);
    for (uint32_t call = 0; call < CALLS; call++)
      if (paid[call] != cases[i].paid[call])
        fail_msg("%s: call %u paid %llu, not %llu", cases[i].lines + 1, call, (unsigned long long)paid[call],
                 (unsigned long long)cases[i].paid[call]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_price_is_paid_once_for_what_it_is_of)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
