/* SPDX-License-Identifier: MIT */
/*
 * Many runs in one process, each in a runtime of its own: what the process holds is the same after half of them
 * and at the end.  Random programs on both engines, and dispatches on each backend of a context.
 *
 * PTO_SOAK_RUNS says how many (2000; with a sanitizer 84; PTO_TEST_LONG=1: 100000).  With a sanitizer the heap is its
 * own: then descriptors and threads alone are compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <runtime/base/sanitizer.h>
#include <tests/support/context_fixture.h>
#include <tests/support/random_program.h>

/* Programs come around again, so that two moments are alike; an odd number, so that each runs on both engines. */
#define PROGRAMS 21u
/* A leak in one of the programs is a chunk in each round of them, and half of that is too much.  Nothing less is asked
 * for, since the chunks that the heap keeps for later count as in use. */
#define LEAST_CHUNK_BYTES 32u
/* Pages of the heap's own that a run may leave in use or not, by how requests fell. */
#define RESIDENT_SLACK_KIB 1024u

static struct random_program program;
static struct random_plan plan;
static struct random_result expected, actual;

/* ---- what the process holds ---- */

struct holdings {
  uint64_t heap_bytes; /* in use */
  uint64_t resident_kib;
  uint32_t descriptors, threads;
};

static uint32_t entries(const char *folder) {
  DIR *dir = opendir(folder);
  uint32_t count = 0;
  assert_non_null(dir);
  while (readdir(dir)) count++;
  closedir(dir);
  return count;
}

static struct holdings look(void) {
  const struct mallinfo2 heap = mallinfo2();
  struct holdings now = {.heap_bytes = heap.uordblks + heap.hblkhd,
                         .descriptors = entries("/proc/self/fd"),
                         .threads = entries("/proc/self/task")};
  unsigned long long size, resident;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%llu %llu", &size, &resident), 2);
  fclose(file);
  now.resident_kib = resident * (unsigned long long)sysconf(_SC_PAGESIZE) / 1024;
  return now;
}

/* ---- runs ---- */

static void run_program(uint64_t turn) {
  const struct pto_config config = {.size = sizeof config,
                                    .engine = turn % 2 ? "threads" : "virtual",
                                    .chip = "tiny",
                                    .workers = 2,
                                    .window = 512,
                                    .heap_bytes = 1 << 20};
  struct pto_runtime *rt;
  random_program_make(&program, 1 + turn % PROGRAMS);
  random_program_interpret(&program, PTO_DEPS_EXACT, 512, &plan, &expected);
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  random_program_run(&program, &plan, rt, &actual);
  if (actual.status) fail_msg("run %llu: %s", (unsigned long long)turn, actual.sentence);
  assert_memory_equal(actual.externals, expected.externals, sizeof actual.externals);
  pto_runtime_destroy(rt);
}

static void run_context(uint64_t turn) {
  open_context(&backends[turn % PTO_ARRAY_LENGTH(backends)]);
  const struct pto_device_tensor a = host_tensor(), b = host_tensor(), both = host_tensor();
  write4(a, 1, 2, 3, 4);
  dispatch1(&times_2, a, b);
  dispatch2(&plus, a, b, both);
  reads4(both, 3, 6, 9, 12);
  close_context();
}

static void the_process_holds_as_much_after_all_runs_as_after_half(void **state) {
  (void)state;
  const char *asked = getenv("PTO_SOAK_RUNS");
  const uint64_t usual = getenv("PTO_TEST_LONG") ? 100000 : PTO_HAS_SANITIZER ? 84 : 2000;
  const uint64_t runs = (asked ? strtoull(asked, NULL, 10) : usual) / (2 * PROGRAMS) * (2 * PROGRAMS);
  assert_true(runs > 0);
  struct holdings then = {0};
  for (uint64_t turn = 0; turn < runs; turn++) {
    if (turn == runs / 2) then = look();
    run_program(turn);
    if (turn % 10 == 0) run_context(turn / 10);
  }
  const struct holdings now = look();
  printf("%llu runs: heap %llu and %llu bytes, resident %llu and %llu KiB, descriptors %u and %u, threads %u and %u\n",
         (unsigned long long)runs, (unsigned long long)then.heap_bytes, (unsigned long long)now.heap_bytes,
         (unsigned long long)then.resident_kib, (unsigned long long)now.resident_kib, then.descriptors, now.descriptors,
         then.threads, now.threads);
  assert_int_equal(now.descriptors, then.descriptors);
  assert_int_equal(now.threads, then.threads);
  if (PTO_HAS_SANITIZER) return;
  const uint64_t rounds = runs / 2 / PROGRAMS;
  assert_in_range(now.heap_bytes, 0, then.heap_bytes + rounds * LEAST_CHUNK_BYTES / 2);
  assert_in_range(now.resident_kib, 0, then.resident_kib + RESIDENT_SLACK_KIB);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_process_holds_as_much_after_all_runs_as_after_half)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
