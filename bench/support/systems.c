/* SPDX-License-Identifier: MIT */
#include <bench/support/systems.h>

#include <bench/support/samples.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SECONDS 120 /* of a process */

/* LLVM's OpenMP does not look at dependencies in a team of one, so it has no line of one thread; nor has StarPU, whose
 * submitter does no tasks. */
const struct pto_system pto_systems[PTO_SYSTEM_COUNT] = {
    {"pto", "pto", 2, 0, 1, false},
    {"openmp-gcc", "openmp-gcc", 2, 0, 10, false},
    {"openmp-gcc-1+1", "openmp-gcc", 2, 0, 10, true},
    {"openmp-gcc-w256", "openmp-gcc", 2, 256, 1, false},
    {"openmp-gcc-w256-1+1", "openmp-gcc", 2, 256, 10, true},
    {"openmp-llvm", "openmp-llvm", 2, 0, 2, false},
    {"openmp-llvm-1+1", "openmp-llvm", 2, 0, 5, true},
    {"openmp-llvm-w256", "openmp-llvm", 2, 256, 2, false},
    {"openmp-llvm-w256-1+1", "openmp-llvm", 2, 256, 5, true},
    {"starpu", "starpu", 2, 0, 5, false},
    {"starpu", "starpu", 3, 0, 5, false},
    {"tbb", "tbb", 2, 0, 1, false},
    {"tbb-inline", "tbb", 2, 0, 1, true},
    {"pto", "pto", 1, 0, 1, false},
    {"openmp-gcc-w256", "openmp-gcc", 1, 256, 1, false},
    {"tbb", "tbb", 1, 0, 1, false},
    {"tbb-inline", "tbb", 1, 0, 1, true},
};

static char folder[PATH_MAX + 8]; /* of the peers */

static void path_of(const struct pto_system *system, char path[static PATH_MAX + 64]) {
  snprintf(path, PATH_MAX + 64, "%s/%s", folder, system->program);
}

bool pto_systems_find(const char *bench) {
  const char *last = "", *chosen = getenv("PTO_BENCH_PEERS");
  char self[PATH_MAX] = "";
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return false;
  *strrchr(self, '/') = '\0';
  snprintf(folder, sizeof folder, "%s%s", chosen ? chosen : self, chosen ? "" : "/peers");
  for (uint32_t s = 0; s < PTO_SYSTEM_COUNT && pto_systems[s].workers > 1; s++) {
    if (pto_system_is_there(&pto_systems[s]) || strcmp(pto_systems[s].program, last) == 0) continue;
    last = pto_systems[s].program;
    fprintf(stderr, "%s: without %s: its library or compiler is missing (scripts/deps --bench)\n", bench, last);
  }
  return true;
}

bool pto_system_is_there(const struct pto_system *system) {
  char path[PATH_MAX + 64];
  path_of(system, path);
  return access(path, X_OK) == 0;
}

const struct pto_system *pto_system_find(const char *name, uint32_t workers) {
  for (uint32_t s = 0; s < PTO_SYSTEM_COUNT; s++)
    if (strcmp(pto_systems[s].name, name) == 0 && pto_systems[s].workers == workers) return &pto_systems[s];
  return NULL;
}

void pto_system_command(const struct pto_system *system, const struct pto_system_job *job,
                        const char *args[PTO_SYSTEM_ARGS]) {
  static char path[PATH_MAX + 64], numbers[5][24];
  path_of(system, path);
  snprintf(numbers[0], sizeof numbers[0], "%u", job->tasks);
  snprintf(numbers[1], sizeof numbers[1], "%u", system->workers);
  snprintf(numbers[2], sizeof numbers[2], "%u", system->window);
  snprintf(numbers[3], sizeof numbers[3], "%u", job->rounds);
  snprintf(numbers[4], sizeof numbers[4], "%llu", (unsigned long long)job->body_steps);
  const char *all[PTO_SYSTEM_ARGS] = {path,       job->pattern, numbers[0],
                                      numbers[1], numbers[2],   system->is_option ? "1" : "0",
                                      numbers[3], numbers[4],   NULL};
  memcpy(args, all, sizeof all);
}

void pto_system_set_environment(const struct pto_system *system) {
  setenv("STARPU_SILENT", "1", 1);
  setenv("STARPU_HOME", folder, 1); /* it keeps files there */
  if (system->is_option) setenv("KMP_ENABLE_TASK_THROTTLING", "0", 1);
}

static bool read_times(FILE *from, const struct pto_system_job *job, struct pto_system_times *times) {
  struct pto_samples wall = {.count = 0}, cpu = {.count = 0};
  double wall_ns, cpu_ns;
  times->serial_ns = 0;
  if (job->body_steps && fscanf(from, "%lf", &times->serial_ns) != 1) return false;
  while (fscanf(from, "%lf %lf", &wall_ns, &cpu_ns) == 2) {
    pto_samples_add(&wall, wall_ns);
    pto_samples_add(&cpu, cpu_ns);
  }
  times->wall_ns = pto_samples_median(&wall);
  times->cpu_ns = pto_samples_median(&cpu);
  return wall.count == job->rounds;
}

bool pto_system_repeat(const struct pto_system *system, const struct pto_system_job *job,
                       struct pto_system_times *times) {
  int ends[2], status = 0;
  if (pipe(ends) != 0) return false;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    const char *args[PTO_SYSTEM_ARGS];
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    pto_system_set_environment(system);
    pto_system_command(system, job, args);
    alarm(MAX_SECONDS);
    execv(args[0], (char *const *)args);
    perror(args[0]);
    _exit(127);
  }
  close(ends[1]);
  FILE *from = fdopen(ends[0], "r");
  bool is_good = from != NULL && read_times(from, job, times);
  if (from != NULL) fclose(from);
  is_good = child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_good;
  if (!is_good)
    fprintf(stderr, "%s with %u threads failed on %s of %u tasks\n", system->name, system->workers, job->pattern,
            job->tasks);
  return is_good;
}
