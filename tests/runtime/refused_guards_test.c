/* SPDX-License-Identifier: MIT */
/*
 * The system refuses the n-th guard of a run and those after it (vm.max_map_count), n = 1, 2, … until none is refused:
 * this program's mprotect does so.  A kernel whose core has no guard is an error in one sentence, and no kernel of it
 * goes on; the same runtime asks again in its next run.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <pto/pto.h>
#include <runtime/base/base.h>
#include <sim/host/local_memory.h>

/* ---- what is refused ---- */

static enum { GUARDS_OF_LOCAL_MEMORIES, GUARDS_OF_STACKS } refuses;
static uint32_t refused_from; /* the n-th guard of that kind; 0: none is refused */
static uint32_t asked;        /* guards of that kind; any thread of a run asks */

PTO_API int mprotect(void *addr, size_t size, int protection) {
  const bool is_local = size == PTO_LOCAL_GUARD_BYTES;
  if (refused_from && protection == PROT_NONE && is_local == (refuses == GUARDS_OF_LOCAL_MEMORIES) &&
      __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED) >= refused_from) {
    errno = ENOMEM;
    return -1;
  }
  return (int)syscall(SYS_mprotect, addr, size, protection);
}

/* ---- what runs ---- */

static uint32_t gone_on; /* kernels that came to their end */

static int work(const struct pto_kernel_args *args) {
  memset(args->core->local.addr, 1, 64);
  __atomic_add_fetch(&gone_on, 1, __ATOMIC_RELAXED);
  return 0;
}
static int meet(const struct pto_kernel_args *args) {
  const int status = pto_core_barrier(args);
  return status ? status : work(args);
}
static const struct pto_kernel plain = {.name = "guarded", .cores = PTO_AIC | PTO_AIV, .run = work};
static const struct pto_kernel waits = {
    .name = "guarded", .cores = PTO_AIC | PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = meet};

static int submit(struct pto_runtime *rt, void *context) { return pto_submit(rt, context, NULL, 0, NULL); }

/* ---- the runs ---- */

static const struct pto_launch alone = {.aic = &plain}, together = {.aic = &waits, .aiv0 = &waits, .aiv1 = &waits};

static int run_submit(struct pto_runtime *rt, const struct pto_launch *launch) {
  asked = gone_on = 0;
  return pto_run(rt, submit, (void *)(uintptr_t)launch);
}

static void check_refused(struct pto_runtime *rt, const struct pto_launch *launch) {
  static const char *const reasons[] = {"no memory for the guards of its core's local memories",
                                        "no memory for the guard of its core's stack"};
  char words[128];
  snprintf(words, sizeof words, "): %s, status %d; ", reasons[refuses], PTO_ENOMEM);
  assert_int_equal(run_submit(rt, launch), PTO_EKERNEL);
  assert_non_null(strstr(pto_last_error(rt), "task 0: kernel guarded failed on core "));
  assert_non_null(strstr(pto_last_error(rt), words));
  assert_null(strchr(pto_last_error(rt), '\n'));
  assert_int_equal(gone_on, 0);
}

static void check_runs(struct pto_runtime *rt, const struct pto_launch *launch) {
  assert_int_equal(run_submit(rt, launch), PTO_OK);
  assert_int_equal(gone_on, launch == &together ? 3 : 1);
}

/* The cores of `launch` ask for `guards`. */
static void refuse_each(const char *engine, const struct pto_launch *launch, uint32_t guards) {
  for (uint32_t i = 0; i < 2 * guards + 2; i++) {
    const uint32_t n = i / 2 + 1;
    const struct pto_config config = {
        .size = sizeof config, .engine = engine, .chip = "tiny", .workers = i % 2 + 1, .window = 64};
    struct pto_runtime *rt = NULL;
    assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
    refused_from = n;
    if (n <= guards) {
      check_refused(rt, launch);
      refused_from = 1;
      check_refused(rt, launch);
      refused_from = 0;
    }
    check_runs(rt, launch);
    assert_int_equal(asked, refused_from ? guards : 0);
    refused_from = 0;
    pto_runtime_destroy(rt);
  }
}

static void test_guards_of_local_memories_may_be_refused(void **state) {
  refuses = GUARDS_OF_LOCAL_MEMORIES;
  refuse_each("virtual", &alone, 4);
  refuse_each("virtual", &together, 6);
  refuse_each("threads", &alone, 0); /* which has none */
  refuse_each("threads", &together, 0);
}

static void test_guards_of_stacks_may_be_refused(void **state) {
  refuses = GUARDS_OF_STACKS;
  refuse_each("virtual", &together, 3);
  refuse_each("threads", &together, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_guards_of_local_memories_may_be_refused),
      cmocka_unit_test(test_guards_of_stacks_may_be_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
