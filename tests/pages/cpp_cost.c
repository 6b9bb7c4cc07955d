/* SPDX-License-Identifier: MIT */
/* An orchestration whose instructions cpp_test.sh counts: rows of a matrix, each the sum of its neighbours. */
#include <pto/pto.h>

#include <stdio.h>

#define ROWS 64u
#define COLUMNS 16u
#define ROUNDS 5u

static float data[ROWS * COLUMNS];

__attribute__((noinline)) static int orchestrate(struct pto_runtime *rt, void *context) {
  const struct pto_kernel *add = context;
  const uint64_t shape[] = {ROWS, COLUMNS};
  const struct pto_tensor whole = pto_external_tensor(rt, data, PTO_FLOAT32, 2, shape);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    for (uint64_t i = 2; i < ROWS && status == PTO_OK; i++) {
      const struct pto_tensor a = pto_tensor_slice(&whole, 0, i - 2, i - 1, 1);
      const struct pto_tensor b = pto_tensor_view(&whole, (uint64_t[]){i - 1, 0}, (uint64_t[]){1, COLUMNS});
      const struct pto_tensor c = pto_tensor_slice(&whole, 0, i, i + 1, 1);
      const struct pto_param params[] = {pto_input(&a), pto_input(&b), pto_output(&c)};
      struct pto_task task;
      if (i % 2) {
        status = pto_submit_aiv(rt, add, params, 3);
      } else {
        const struct pto_launch launch = {.size = sizeof launch, .aiv0 = add};
        status = pto_submit(rt, &launch, params, 3, &task);
      }
    }
    if (status == PTO_OK) status = pto_scope_end(rt);
    if (status != PTO_OK) return status;
  }
  return PTO_OK;
}

int main(void) {
  const struct pto_config config = {.size = sizeof config, .engine = "virtual"};
  struct pto_runtime *rt;
  data[0] = data[COLUMNS] = 1e-20f;
  if (pto_runtime_create(&config, &rt) != PTO_OK) return 1;
  if (pto_run(rt, orchestrate, (void *)pto_kernel_find("add")) != PTO_OK) return puts(pto_last_error(rt)), 1;
  printf("%g\n", data[(ROWS - 1) * COLUMNS]);
  pto_runtime_destroy(rt);
  return 0;
}
