/* SPDX-License-Identifier: MIT */
/*
 * One question: how many instructions does an empty task take, here and in other task runtimes, with one thread?
 *
 * One JSON line a system and pattern, the same graphs as bench_task_overhead's: instructions from the first submit
 * until the last task is done, divided by the tasks; callgrind counts them in pto_peer_run and in all that it calls.
 * What else the machine does makes no difference, and so one run is enough ("exact": true).  Memory that is slow, and
 * waiting for another thread, cannot be seen here.  Without valgrind there are no lines, which is said once.
 */
#include <bench/support/bench_line.h>
#include <bench/support/systems.h>
#include <orchestration/basics/task_patterns.h>
#include <runtime/base/base.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS 10000
#define ROUNDS 1u
#define MAX_SECONDS 300

static const char *const names[] = {"pto", "openmp-gcc-w256", "tbb", "tbb-inline"};

static void become_callgrind(const struct pto_system *system, const struct pto_system_job *job) {
  const char *args[PTO_SYSTEM_ARGS];
  pto_system_set_environment(system);
  pto_system_command(system, job, args);
  alarm(MAX_SECONDS);
  execlp("valgrind", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=pto_peer_run",
         args[0], args[1], args[2], args[3], args[4], args[5], args[6], args[7], (char *)NULL);
  _exit(127);
}

/* Instructions in all rounds; 0: there was an error, which is told. */
static double count(const struct pto_system *system, const struct pto_system_job *job) {
  char line[512], last[512] = "";
  int ends[2], status = 0;
  unsigned long long collected = 0;
  if (pipe(ends) != 0) return 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    become_callgrind(system, job);
  }
  close(ends[1]);
  FILE *from = fdopen(ends[0], "r");
  while (from != NULL && fgets(line, sizeof line, from) != NULL) {
    const char *found = strstr(line, "Collected : ");
    if (found != NULL) collected = strtoull(found + strlen("Collected : "), NULL, 10);
    strcpy(last, line);
  }
  if (from != NULL) fclose(from);
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0 && collected > 0) return (double)collected;
  fprintf(stderr, "bench_instructions: %s failed on %s: %s\n", system->name, job->pattern, last);
  return 0;
}

static bool bench(const struct pto_system *system, const char *pattern) {
  const struct pto_system_job job = {.pattern = pattern, .tasks = TASKS, .rounds = ROUNDS};
  const double per_task = count(system, &job) / (TASKS * (ROUNDS + 1)); /* the round to warm up counts too */
  struct pto_samples samples = {.count = 0};
  if (per_task == 0) return false;
  pto_samples_add(&samples, per_task);
  struct pto_bench_line *line = pto_bench_line_begin("instructions", system->name);
  pto_bench_line_text(line, "pattern", pattern);
  pto_bench_line_count(line, "workers", system->workers);
  pto_bench_line_count(line, "tasks", TASKS);
  pto_bench_line_text(line, "unit", "instructions");
  pto_bench_line_bool(line, "exact", true);
  pto_bench_line_real(line, "instructions_per_task", per_task);
  pto_bench_line_print(line, &samples);
  return true;
}

int main(void) {
  bool is_good = true;
  if (!pto_systems_find("bench_instructions")) return 1;
  if (system("valgrind --version >/dev/null 2>&1") != 0) {
    fprintf(stderr, "bench_instructions: without valgrind, no instructions are counted\n");
    return 0;
  }
  for (size_t p = 0; p < PTO_ARRAY_LENGTH(task_patterns); p++)
    for (size_t s = 0; s < PTO_ARRAY_LENGTH(names); s++) {
      const struct pto_system *system = pto_system_find(names[s], 1);
      if (pto_system_is_there(system)) is_good &= bench(system, task_patterns[p].name);
    }
  return is_good ? 0 : 1;
}
