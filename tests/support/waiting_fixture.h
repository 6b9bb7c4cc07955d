/* SPDX-License-Identifier: MIT */
/*
 * A fixture for kernels that wait for each other: one case is a kernel, the roles and blocks that run it, and what must
 * come out; it is run on every engine, on small and large chips, under several policies and numbers of workers.
 *
 * Every task of a case has WAITING_CELLS numbers of its own, zero at first, in which its cores leave what they saw.
 * After each run, however it ended, the same runtime must run a task in which cores signal, push and meet: so a case
 * fails too where it leaves a signal, an element or a stack behind.
 *
 * Only public calls, so the cases hold for any implementation of them.  Kernels must not use cmocka: they run on stacks
 * and threads of their own, and report with pto_kernel_error.
 */
#ifndef PTO_WAITING_FIXTURE_H
#define PTO_WAITING_FIXTURE_H

#include <pto/pto.h>

#define WAITING_CELLS 1024u /* i64 numbers a task */
#define WAITING_ALL (PTO_ROLE_BIT(PTO_ROLE_AIC) | PTO_ROLE_BIT(PTO_ROLE_AIV0) | PTO_ROLE_BIT(PTO_ROLE_AIV1))

struct waiting_place {
  const char *engine, *chip, *policy;
  uint32_t workers;
};

struct waiting_case {
  const char *name;                               /* a sentence */
  int (*run)(const struct pto_kernel_args *args); /* of every role and block */
  uint32_t roles;                                 /* set of PTO_ROLE_BIT; 0: all three */
  uint32_t plain_roles;                           /* those whose kernel has no flag */
  uint32_t flags;                                 /* of the other kernels; 0: PTO_KERNEL_WAITS */
  uint32_t mode;                                  /* of the cells; 0: PTO_INOUT */
  uint32_t blocks;                                /* 0: 1 */
  bool is_sync_start;
  uint32_t tasks;    /* that are in flight together; 0: 3 */
  uint32_t clusters; /* smaller chips are left out */
  /* NULL, or instead of those tasks.  Cells of task i: waiting_cells_tensor. */
  int (*submit)(struct pto_runtime *rt, const struct waiting_case *c);
  void (*check)(const int64_t *cells); /* of each task, in the test's thread, however the run ended */
  int status;
  const char *words[8]; /* in the run's sentence */
};

/* What scalar 0 of each of its tasks has: the task's place among them. */
static inline uint64_t waiting_task(const struct pto_kernel_args *args) { return args->scalars[0].u64; }
static inline int64_t *waiting_cells(const struct pto_kernel_args *args) { return args->tensors[0].addr; }

/* For cases that submit by themselves. */
struct pto_tensor waiting_cells_tensor(struct pto_runtime *rt, uint32_t task);
struct pto_launch waiting_launch(const struct waiting_case *c);
int waiting_submit(struct pto_runtime *rt, const struct waiting_case *c, const struct pto_launch *launch,
                   uint32_t task);
/* The place of the run that goes on. */
extern const struct waiting_place *waiting_here;

/* Each case as a test; cmocka's answer. */
int waiting_run_cases(const char *name, const struct waiting_case *cases, size_t count);

#endif
