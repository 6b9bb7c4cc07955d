/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of which each allocation fails: alone, and with all that follow.  For the one source of a test program that
 * includes this.
 *
 * A scenario makes objects, calls public functions, says what each came to (went, holds), and destroys all; it
 * allocates nothing itself.  It runs without failures, and then for each of its allocations, reservations of address
 * space and starts of threads; of more than MEMORY_POINTS allocations the first ones and as many others, evenly spread.
 * After each run there are as many live blocks as before it.  What the C library and others keep (stacks of threads
 * that have ended) is there after the first runs, so a scenario has few threads.
 *
 * Where threads allocate side by side the n-th is another one each time, and where fewer come than n nothing fails.
 *
 * Orchestrations and kernels run on stacks and threads of their own, where cmocka's jumps do not go: they return a
 * status, and the scenario looks at it.
 */
#ifndef PTO_MEMORY_POINTS_H
#define PTO_MEMORY_POINTS_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <pto/status.h>
#include <runtime/base/reserve.h>
#include <runtime/base/thread.h>
#include <tests/support/failing_malloc.h>

#define MEMORY_POINTS 300u

/* hwloc is not there, as in a container that shows no sysfs: where an allocation of its own fails it crashes, or goes
 * round for ever (2.9). */
PTO_API int access(const char *path, int mode) {
  return strncmp(path, "/sys/devices/system/cpu", 23) == 0 ? -1 : faccessat(AT_FDCWD, path, mode, 0);
}

struct memory_scenario {
  const char *name;
  void (*run)(const void *context);
  const void *context; /* for a function that several share */
};

/* ---- what fails ---- */

static const struct memory_kind {
  const char *name;
  uint32_t *countdown; /* the n-th from now on fails */
  bool *stays;         /* NULL: alone */
} memory_kinds[] = {{"allocation", &fail_countdown, &fail_stays},
                    {"reservation", &pto_reserve_fail_countdown, &pto_reserve_fail_stays},
                    {"thread", &pto_thread_fail_countdown, NULL}};

static struct memory_now {
  const struct memory_kind *kind;
  uint64_t point; /* 0: nothing fails */
  bool stays;
  bool has_memory;  /* again */
  bool was_reached; /* the point */
  uint64_t end;     /* allocation_count when memory came back */
  uint32_t refused; /* calls of this run */
} memory_now;

/* From here on nothing fails: what there is has to do what it was made for. */
static inline void memory_is_back(void) {
  if (memory_now.has_memory) return;
  memory_now.was_reached = memory_now.stays || *memory_now.kind->countdown == 0;
  *memory_now.kind->countdown = 0;
  memory_now.has_memory = true;
  memory_now.end = allocation_count;
}

/* ---- what calls come to ---- */

static inline void memory_fail(const char *what, int status, const char *sentence) {
  fail_countdown = 0;
  fail_msg("%s: %d \"%s\", %s %llu%s", what, status, sentence, memory_now.kind->name,
           (unsigned long long)memory_now.point, memory_now.stays ? " and all that follow" : "");
}

/* Whether a call went well; else it has to be for want of memory, in a sentence. */
static inline bool went_or(const char *call, int status, const char *sentence, int other_status) {
  if (status == PTO_OK) return true;
  const bool is_refusal = status == PTO_ENOMEM || (other_status && status == other_status);
  if (!memory_now.point || memory_now.has_memory || !is_refusal || !sentence[0]) memory_fail(call, status, sentence);
  memory_now.refused++;
  return false;
}
static inline bool went(const char *call, int status, const char *sentence) {
  return went_or(call, status, sentence, PTO_OK);
}
static inline void holds(bool is_so, const char *what) {
  if (!is_so) memory_fail(what, PTO_OK, "not so");
}
#define HOLDS(what) holds(what, #what)

/* ---- all points ---- */

/* How many allocations it made, until memory came back. */
static inline uint64_t memory_run(const struct memory_scenario *scenario, const struct memory_kind *kind,
                                  uint64_t point, bool stays) {
  const uint64_t before = allocation_count;
  memory_now = (struct memory_now){.kind = kind, .point = point, .stays = stays};
  if (kind->stays) *kind->stays = stays;
  *kind->countdown = (uint32_t)point;
  scenario->run(scenario->context);
  memory_is_back();
  return memory_now.end - before;
}

/* How many runs had a refusal. */
static inline uint32_t memory_fail_each(const struct memory_scenario *scenario, const struct memory_kind *kind,
                                        uint64_t step, int64_t live) {
  uint32_t refusing = 0;
  bool was_reached = true;
  for (uint64_t point = 1; was_reached; point += point < MEMORY_POINTS ? 1 : step)
    for (int stays = 0; stays <= (kind->stays != NULL) && was_reached; stays++) {
      (void)memory_run(scenario, kind, point, stays);
      was_reached = memory_now.was_reached;
      refusing += memory_now.refused > 0;
      if (live_blocks != live) memory_fail("blocks are lost", (int)(live_blocks - live), scenario->name);
    }
  return refusing;
}

/* The test of a scenario, which is its state. */
static inline void test_memory_points(void **state) {
  const struct memory_scenario *scenario = *state;
  if (!PTO_HAS_FAILING_MALLOC) skip();
  for (int i = 0; i < 2; i++) (void)memory_run(scenario, &memory_kinds[0], 0, false);
  const int64_t live = live_blocks;
  const uint64_t count = memory_run(scenario, &memory_kinds[0], 0, false);
  const uint64_t step = count > 2 * MEMORY_POINTS ? (count - MEMORY_POINTS) / MEMORY_POINTS : 1;
  print_message("%llu allocations; runs with a refusal:", (unsigned long long)count);
  for (size_t i = 0; i < sizeof memory_kinds / sizeof memory_kinds[0]; i++) {
    const uint32_t refusing = memory_fail_each(scenario, &memory_kinds[i], step, live);
    print_message(" %s %u", memory_kinds[i].name, refusing);
    assert_true(i > 0 || refusing > 0);
  }
  print_message("\n");
  (void)memory_run(scenario, &memory_kinds[0], 0, false); /* as well as ever */
  assert_int_equal(live_blocks, live);
}

static inline int memory_run_scenarios(const char *name, const struct memory_scenario *scenarios, size_t count) {
  struct CMUnitTest tests[32];
  for (size_t i = 0; i < count; i++)
    tests[i] = (struct CMUnitTest){
        .name = scenarios[i].name, .test_func = test_memory_points, .initial_state = (void *)(uintptr_t)&scenarios[i]};
  return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}

#endif
