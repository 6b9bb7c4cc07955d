/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of public calls, each run once for every allocation that fails in it, every reservation of address space
 * and every start of a thread: alone, and with all that follow (threads: alone).  For the one source of a test program
 * that includes this.
 *
 *   warm runs ──▶ one that counts ──▶ for each kind and each n: the n-th alone, all from the n-th on ──▶ one without
 *
 * A scenario makes objects, calls, looks at each result and destroys all that it made.  Calls go through these:
 *
 * - CALL(call, text): one that may be repeated.  Refused for want of memory, with a sentence in `text`, it is called
 *   again: where one allocation alone failed it succeeds then, for what it was called on is as it was.
 * - CALL_CLEARED(call, text, clear): the same of an object that keeps its failure, which `clear` takes away.
 * - CALL_ONCE(call, text): one whose failure ends the object's use, as that of a run.
 * - CHECK(condition): what holds whatever failed, as each call before it has succeeded.
 * - GIVEN_OR_REFUSED(is_given): as it is where the last call has given what it makes, and never after a refusal.
 * - AS_KEPT(index, bytes, size), FILE_AS_KEPT(index, path): what is as it was in the run in which nothing fails.
 * - AGAIN_IF_REFUSED { }: calls of which a later one may tell what an earlier one came to.  After a refusal the rest is
 *   left out, and then all of it is called again.
 *
 * Where a call has failed for good, the calls and checks that follow are left out, and what is there is destroyed; or
 * memory_is_back, and from there on all is called and nothing may be refused.  After each run there are as many live
 * blocks as before it.  Warm runs fill caches of libc and of the library.
 *
 * Every allocation of a scenario with up to EVERY_ALLOCATION of them.  Of more, those up to it, and of the others the
 * first, the second and the last of each call stack (tests/support/failing_points.h says why).  Where threads allocate
 * side by side the n-th is another one each time, and where fewer come than n nothing fails.  Calls and checks are made
 * by the scenario's own thread and stack, as cmocka's jumps do not go elsewhere; what runs on others returns a status.
 */
#ifndef PTO_MEMORY_SCENARIOS_H
#define PTO_MEMORY_SCENARIOS_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/error.h>
#include <runtime/base/reserve.h>
#include <runtime/base/thread.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/failing_points.h>

enum { EVERY_ALLOCATION = 300, MOST_SCENARIOS = 32 };

struct memory_scenario {
  const char *name;
  void (*run)(const void *context);
  const void *context; /* for a function that several share */
};

/* What fails. */
static const struct memory_kind {
  const char *name;
  uint32_t *countdown; /* the n-th from now on fails */
  bool *stays;         /* NULL: alone */
} memory_kinds[] = {{"allocation", &fail_countdown, &fail_stays},
                    {"reservation", &pto_reserve_fail_countdown, &pto_reserve_fail_stays},
                    {"thread", &pto_thread_fail_countdown, NULL}};

/* The run that is on. */
static struct memory_trial {
  const struct memory_scenario *scenario;
  const struct memory_kind *kind;
  uint32_t n; /* 0: none fails */
  bool stays; /* so do all that follow */
  uint32_t refusals;
  bool is_over;       /* a call has failed for good, or the round is over */
  bool is_in_round;   /* AGAIN_IF_REFUSED */
  bool is_round_over; /* the next one follows */
  bool has_memory;    /* again */
  bool was_reached;
  bool is_paused;
  uint32_t countdown; /* while it is */
} trial;

/* The test's own allocations do not fail. */
static inline void memory_pause(void) {
  trial.is_paused = true;
  trial.countdown = *trial.kind->countdown;
  *trial.kind->countdown = 0;
}
static inline void memory_resume(void) {
  trial.is_paused = false;
  *trial.kind->countdown = trial.countdown;
}

/* Whether one has failed so far.  With all from the first on it may have. */
static inline bool memory_has_failed(void) { return *trial.kind->countdown <= trial.stays; }

static inline void memory_is_back(void) {
  if (trial.has_memory) return;
  trial.was_reached = memory_has_failed();
  trial.has_memory = true;
  trial.is_over = false;
  *trial.kind->countdown = 0;
  if (trial.kind->stays) *trial.kind->stays = false;
}

static inline void memory_fail(int line, const char *what, const char *why) {
  memory_is_back(); /* cmocka allocates */
  fail_msg("line %d: %s, without %s %u%s: %s: %s", line, trial.scenario->name, trial.kind->name, trial.n,
           trial.stays ? " and all that follow" : "", what, why);
}

/* The refusal is one for want of memory, and says so; a kernel's has the status of kernels. */
static inline void memory_refuse(int status, const char *text, bool is_last, int line) {
  if (!text || text[0] == '\0' || strchr(text, '\n')) memory_fail(line, "no sentence", pto_status_name(status));
  if (trial.n == 0 || trial.has_memory || !memory_has_failed()) memory_fail(line, pto_status_name(status), text);
  if (!pto_status_is_shortage(status) && !(status == PTO_EKERNEL && (strstr(text, "memory") || strstr(text, " bytes"))))
    memory_fail(line, "no shortage", text);
  if (++trial.refusals > 1) memory_fail(line, "a second refusal", text);
  trial.is_round_over = trial.is_in_round && !is_last && !trial.stays;
  trial.is_over = trial.is_in_round || is_last || trial.stays;
}
/* Whether a round begins. */
static inline bool memory_round(void) {
  if (trial.is_round_over) trial.is_over = false;
  trial.is_in_round = trial.is_round_over || (!trial.is_in_round && !trial.is_over);
  trial.is_round_over = false;
  return trial.is_in_round;
}
static inline void memory_check(bool holds, const char *what, int line) {
  if (!holds) memory_fail(line, what, "does not hold");
}

#define CALL_AS(is_last, call, text, clear)                                                                            \
  for (int status_ = trial.is_over ? PTO_OK : (call);                                                                  \
       status_ != PTO_OK && (memory_refuse(status_, text, is_last, __LINE__), (void)(clear), !trial.is_over);          \
       status_ = (call)) {                                                                                             \
  }
#define CALL(call, text) CALL_AS(false, call, text, 0)
#define CALL_CLEARED(call, text, clear) CALL_AS(false, call, text, clear)
#define CALL_ONCE(call, text) CALL_AS(true, call, text, 0)
/* Of the test's context. */
#define OF_CONTEXT(call) CALL_CLEARED(call, pto_context_error(context), pto_context_clear_error(context))
#define AGAIN_IF_REFUSED while (memory_round())
#define CHECK(condition) memory_check(trial.is_over || (condition), #condition, __LINE__)
/* What the last call gives. */
#define GIVEN_OR_REFUSED(is_given) memory_check(trial.is_over != (is_given), #is_given " or a refusal", __LINE__)

enum { KEPT = 16, KEPT_BYTES = 1 << 19 };
static struct {
  size_t size;
  char bytes[KEPT_BYTES];
} kept[KEPT];

/* The run in which nothing fails says what is right. */
static inline void memory_compare(uint32_t index, const void *bytes, size_t size, int line) {
  if (trial.is_over) return;
  memory_check(index < KEPT && size <= KEPT_BYTES, "room", line);
  if (trial.n == 0) {
    memcpy(kept[index].bytes, bytes, size);
    kept[index].size = size;
  }
  const size_t shorter = (size_t)pto_min_u64(size, kept[index].size);
  size_t i = 0;
  while (i < shorter && kept[index].bytes[i] == ((const char *)bytes)[i]) i++;
  if (i == size && i == kept[index].size) return;
  char now[64], was[64];
  snprintf(now, sizeof now, "byte %zu of %zu: \"%.30s\"", i, size, i < size ? (const char *)bytes + i : "");
  snprintf(was, sizeof was, "\"%.30s\" without the failure", i < kept[index].size ? kept[index].bytes + i : "");
  memory_fail(line, now, was);
}
#define AS_KEPT(index, bytes, size) memory_compare(index, bytes, size, __LINE__)

/* What a file has, which is there. */
static inline size_t memory_read(const char *path, char *bytes, size_t room, int line) {
  const int fd = open(path, O_RDONLY);
  const ssize_t size = fd < 0 ? -1 : read(fd, bytes, room);
  memory_check(size > 0 && close(fd) == 0, path, line);
  return (size_t)size;
}
static inline void memory_compare_file(uint32_t index, const char *path, int line) {
  static char bytes[KEPT_BYTES];
  if (!trial.is_over) memory_compare(index, bytes, memory_read(path, bytes, sizeof bytes, line), line);
}
#define FILE_AS_KEPT(index, path) memory_compare_file(index, path, __LINE__)

static inline void memory_run(const struct memory_scenario *scenario, const struct memory_kind *kind, uint32_t n,
                              bool stays) {
  const int64_t before = live_blocks;
  char text[64];
  trial = (struct memory_trial){.scenario = scenario, .kind = kind, .n = n, .stays = stays};
  if (kind->stays) *kind->stays = stays;
  *kind->countdown = n;
  scenario->run(scenario->context);
  memory_is_back();
  snprintf(text, sizeof text, "%lld", (long long)(live_blocks - before));
  if (n > 0 && live_blocks != before) memory_fail(__LINE__, "blocks that are left", text);
}

static struct failing_points *seen_points;
static uint32_t seen_count;
static inline void memory_see(uint64_t n) {
  (void)n;
  if (trial.is_paused || trial.has_memory) return;
  failing_points_add(seen_points, 0, __atomic_add_fetch(&seen_count, 1, __ATOMIC_RELAXED));
}

/* The allocations that are to fail, by number, in seen_points; how many. */
static inline size_t memory_choose(const struct memory_scenario *scenario) {
  uint64_t stacks;
  seen_points->count = 0;
  seen_count = 0;
  allocation_seen = memory_see;
  memory_run(scenario, &memory_kinds[0], 0, false);
  allocation_seen = NULL;
  const uint64_t count = seen_points->count;
  size_t begin = 0, chosen = failing_points_choose(seen_points, &stacks);
  /* Those up to EVERY_ALLOCATION stand behind the chosen ones, which move up. */
  struct failing_point *points = seen_points->points;
  while (begin < chosen && points[begin].n <= EVERY_ALLOCATION) begin++;
  const size_t first = (size_t)pto_min_u64(count, EVERY_ALLOCATION);
  memmove(&points[first], &points[begin], (chosen - begin) * sizeof *points);
  for (size_t i = 0; i < first; i++) points[i].n = (uint32_t)(i + 1);
  return first + chosen - begin;
}

/* Allocations are the chosen ones, some of which a forked process may come to; the others are all that there are.  How
 * many runs had a refusal. */
static inline uint32_t memory_fail_each(const struct memory_scenario *scenario, const struct memory_kind *kind,
                                        size_t chosen) {
  const bool is_chosen = kind == &memory_kinds[0];
  uint32_t refusing = 0;
  bool goes_on = true;
  for (size_t i = 0; goes_on && (!is_chosen || i < chosen); i++)
    for (int stays = 0; stays <= (kind->stays != NULL) && goes_on; stays++) {
      memory_run(scenario, kind, is_chosen ? seen_points->points[i].n : (uint32_t)(i + 1), stays);
      goes_on = is_chosen || trial.was_reached;
      refusing += trial.refusals > 0;
    }
  return refusing;
}

/* The test of a scenario, which is its state. */
static inline void test_memory_scenario(void **state) {
  const struct memory_scenario *scenario = *state;
  if (!PTO_HAS_FAILING_MALLOC) skip();
  if (!seen_points) seen_points = failing_points_map();
  assert_non_null(seen_points);
  for (int i = 0; i < 2; i++) memory_run(scenario, &memory_kinds[0], 0, false);
  const size_t chosen = memory_choose(scenario);
  print_message("%zu of %u allocations; runs with a refusal:", chosen, seen_count);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(memory_kinds); i++) {
    const uint32_t refusing = memory_fail_each(scenario, &memory_kinds[i], chosen);
    print_message(" %s %u", memory_kinds[i].name, refusing);
    assert_true(i > 0 || refusing > 0 || chosen == 0);
  }
  print_message("\n");
  memory_run(scenario, &memory_kinds[0], 0, false); /* as well as ever */
}

/* `open` and `close` are of the group, `clear` comes after each; NULL: none. */
static inline int memory_run_scenarios(const char *name, const struct memory_scenario *scenarios, size_t count,
                                       CMFixtureFunction open, CMFixtureFunction clear, CMFixtureFunction close) {
  struct CMUnitTest tests[MOST_SCENARIOS];
  for (size_t i = 0; i < count; i++)
    tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
                                   .test_func = test_memory_scenario,
                                   .teardown_func = clear,
                                   .initial_state = (void *)(uintptr_t)&scenarios[i]};
  return _cmocka_run_group_tests(name, tests, count, open, close);
}

#endif
