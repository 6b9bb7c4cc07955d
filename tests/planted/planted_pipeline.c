/* SPDX-License-Identifier: MIT */
/*
 * Three tasks of three cores each: the AIC makes tiles in a ring of two, AIV0 changes them in place, AIV1 sums them.
 * The cores tell each other by signals; the mistake is who gives a slot of the ring back.
 */
#include <tests/planted/planted.h>

#define BUGS(X) X(slot_given_early, "AIV0, not AIV1, tells the AIC that a slot is free")

#define TILES 6u
#define TILE 8u
#define BUG (a->scalars[0].u64 != 0)
#define TRY(call)                                                                                                      \
  if (status == 0) status = (call)
#define TELL(role, flag) pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_##role), flag)

static uint32_t *tile_at(const struct pto_kernel_args *a, uint32_t number) {
  return (uint32_t *)a->tensors[1].addr + number % 2 * TILE;
}

static int make_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  int status = 0;
  for (uint32_t t = 0; t < TILES && status == 0; t++) {
    if (t >= 2) TRY(pto_core_wait(a, 1));
    for (uint32_t i = 0; status == 0 && i < TILE; i++) tile_at(a, t)[i] = x[(t * TILE + i) % PLANTED_COLUMNS] + t;
    TRY(TELL(AIV0, 0));
  }
  return status;
}
static int change_run(const struct pto_kernel_args *a) {
  int status = 0;
  for (uint32_t t = 0; t < TILES && status == 0; t++) {
    TRY(pto_core_wait(a, 0));
    for (uint32_t i = 0; status == 0 && i < TILE; i++) tile_at(a, t)[i] = tile_at(a, t)[i] * 3 + 1;
    TRY(TELL(AIV1, 0));
    if (BUG && t + 2 < TILES) TRY(TELL(AIC, 1));
  }
  return status;
}
static int sum_run(const struct pto_kernel_args *a) {
  uint32_t sum[TILE] = {0};
  int status = 0;
  for (uint32_t t = 0; t < TILES && status == 0; t++) {
    TRY(pto_core_wait(a, 0));
    for (uint32_t i = 0; status == 0 && i < TILE; i++) sum[i] = 5 * sum[i] + tile_at(a, t)[i];
    if (!BUG && t + 2 < TILES) TRY(TELL(AIC, 1));
  }
  if (status == 0) memcpy(a->tensors[2].addr, sum, sizeof sum);
  return status;
}

static const struct pto_kernel_param of_pipeline[] = {ANY("x", PTO_INPUT), ANY("ring", PTO_INOUT), ANY("z", PTO_OUTPUT),
                                                      U64("bug")};
#define KERNEL(name_, cores_)                                                                                          \
  {                                                                                                                    \
    .name = #name_, .cores = cores_, .flags = PTO_KERNEL_WAITS, .params = of_pipeline, .param_count = 4,               \
    .run = name_##_run                                                                                                 \
  }
static const struct pto_kernel make = KERNEL(make, PTO_AIC);
static const struct pto_kernel change = KERNEL(change, PTO_AIV);
static const struct pto_kernel sum = KERNEL(sum, PTO_AIV);

static void slot_given_early(struct planted *p) {
  struct pto_tensor x = array_x(p), z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));
  for (uint64_t i = 0; i < 3; i++) {
    struct pto_tensor ring = fresh(p, 1, 2 * TILE), from = row_of(&x, i), out = row_of(&x, 8 + i);
    const struct pto_launch launch = {.aic = &make, .aiv0 = &change, .aiv1 = &sum};
    out = box(&out, 0, 0, 1, TILE);
    put_fill(p, &ring, 0);
    put(p, launch, PARAMS(pto_input(&from), pto_inout(&ring), pto_output(&out), pto_scalar_u64(p->is_buggy)));
  }
  put_fill(p, &z, 0);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_pipeline",
                .summary = "cores of several tasks that hand tiles on, and one gives a slot back early");
