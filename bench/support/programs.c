/* SPDX-License-Identifier: MIT */
#include <bench/support/programs.h>

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pto_bench_find_programs(const char *self) {
  char path[PATH_MAX], folder[PATH_MAX];
  if (getenv("PTO_PROGRAM_PATH") != NULL || strlen(self) + sizeof "/../programs" > sizeof path) return;
  strcpy(folder, self);
  if (snprintf(path, sizeof path, "%s/../programs", dirname(folder)) < (int)sizeof path)
    setenv("PTO_PROGRAM_PATH", path, 1);
}
