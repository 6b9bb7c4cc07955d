/* SPDX-License-Identifier: MIT */
/*
 * Scenarios of public calls, each run once for every allocation that fails in it: alone, and with all that follow.
 *
 *   warm run, which counts ──▶ for each n: the n-th alone ──▶ for each n: all from the n-th on
 *
 * A scenario makes objects, calls, looks at each result and destroys all that it made.  Calls go through these:
 *
 * - CALL(call, text): one that may be repeated.  Refused for want of memory, with a sentence in `text`, it is called
 *   again: where one allocation alone failed it succeeds then, for what it was called on is as it was.
 * - CALL_ONCE(call, text): one whose failure ends the object's use, as that of a run.
 * - CHECK(condition): what holds whatever failed, as each call before it has succeeded.
 * - AS_KEPT(index, bytes, size), FILE_AS_KEPT(index, path): what is as it was in the run in which nothing fails.
 *
 * Where a call has failed for good, the calls and checks that follow are left out, and what is there is destroyed.
 * After each run there are as many live blocks as after the warm run, which fills caches of libc and of the library.
 *
 * Every allocation of a scenario with up to EVERY_ALLOCATION of them.  Of more, those up to it, and of the others the
 * first, the second and the last of each call stack (tests/support/failing_points.h says why).  One thread.
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
#include <tests/support/failing_malloc.h>
#include <tests/support/failing_points.h>

enum { EVERY_ALLOCATION = 100 };

struct memory_scenario {
  const char *name;
  void (*run)(void);
};

/* The run that is on. */
static struct memory_trial {
  const char *name;
  uint32_t n; /* 0: none fails */
  uint32_t refusals;
  bool is_over; /* a call has failed for good */
  bool is_paused;
  uint32_t countdown; /* while it is */
  uint32_t seen;      /* allocations that may fail */
  uint32_t ends;      /* of the scenario's trials, those in which it was over */
} trial;

/* The test's own allocations do not fail. */
static inline void memory_pause(void) {
  trial.is_paused = true;
  trial.countdown = fail_countdown;
  fail_countdown = 0;
}
static inline void memory_resume(void) {
  trial.is_paused = false;
  fail_countdown = trial.countdown;
}

static inline void memory_fail(int line, const char *what, const char *why) {
  const char *how = fail_stays ? " and all that follow" : "";
  fail_countdown = 0; /* cmocka allocates */
  fail_stays = false;
  fail_msg("line %d: %s, without allocation %u%s: %s: %s", line, trial.name, trial.n, how, what, why);
}

/* Whether an allocation has failed so far.  With all from the first on it may have. */
static inline bool memory_has_failed(void) { return trial.n > 0 && fail_countdown <= fail_stays; }

/* Whether the call is to be tried again.  Its refusal is one for want of memory, and says so. */
static inline bool memory_refused(int status, const char *text, bool is_last, int line) {
  if (status == PTO_OK || trial.is_over) return false;
  if (!memory_has_failed()) memory_fail(line, pto_status_name(status), text);
  if (!pto_status_is_shortage(status)) memory_fail(line, "no shortage", text);
  if (!text || text[0] == '\0' || strchr(text, '\n')) memory_fail(line, "no sentence", pto_status_name(status));
  if (++trial.refusals > 1) memory_fail(line, "a second refusal", text);
  trial.is_over = is_last || fail_stays;
  return !trial.is_over;
}
static inline void memory_check(bool holds, const char *what, int line) {
  if (!holds) memory_fail(line, what, "does not hold");
}

#define CALL_AS(is_last, call, text)                                                                                   \
  for (int status_ = trial.is_over ? PTO_OK : (call); memory_refused(status_, text, is_last, __LINE__);                \
       status_ = (call)) {                                                                                             \
  }
#define CALL(call, text) CALL_AS(false, call, text)
#define CALL_ONCE(call, text) CALL_AS(true, call, text)
#define CHECK(condition) memory_check(trial.is_over || (condition), #condition, __LINE__)

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

static inline void memory_trial(const struct memory_scenario *scenario, uint32_t n, bool stays) {
  trial.n = fail_countdown = n;
  fail_stays = stays;
  trial.is_over = false;
  trial.refusals = 0;
  scenario->run();
  fail_countdown = 0;
  fail_stays = false;
  trial.ends += trial.is_over;
}

static struct failing_points *seen_points;
static inline void memory_see(uint64_t n) {
  (void)n;
  if (!trial.is_paused) failing_points_add(seen_points, 0, ++trial.seen);
}

/* The allocations that are to fail, by number, in seen_points; how many. */
static inline size_t memory_choose(const struct memory_scenario *scenario) {
  uint64_t stacks;
  seen_points->count = 0;
  trial.seen = 0;
  allocation_seen = memory_see;
  memory_trial(scenario, 0, false);
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

static inline void memory_run(const struct memory_scenario *scenario) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  if (!seen_points) seen_points = failing_points_map();
  assert_non_null(seen_points);
  trial.name = scenario->name;
  memory_trial(scenario, 0, false);
  const size_t count = memory_choose(scenario);
  trial.ends = 0;
  for (int stays = 0; stays < 2; stays++)
    for (size_t i = 0; i < count; i++) {
      const int64_t before = live_blocks;
      memory_trial(scenario, seen_points->points[i].n, stays);
      if (live_blocks == before) continue;
      char text[64];
      snprintf(text, sizeof text, "%lld", (long long)(live_blocks - before));
      fail_stays = stays;
      memory_fail(__LINE__, "blocks that are left", text);
    }
  assert_true(trial.ends > 0 || count == 0); /* some call has failed */
}

#endif
