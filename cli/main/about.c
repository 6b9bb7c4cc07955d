/* SPDX-License-Identifier: MIT */
#include <cli/main/about.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <kernels/levels/level.h>
#include <pto/version.h>

/* The libraries that scripts/probe found, each behind ", "; the Makefile says so to this file alone. */
#ifndef PTO_LIBRARIES
#define PTO_LIBRARIES ""
#endif
#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif
#define INSTALLED "../share/doc/pto/docs"

void pto_print_version(void) {
  printf("ptosim %s\n", PTO_VERSION);
  puts("  compiler   " COMPILER);
  printf("  libraries  jansson %s, inih%s\n", jansson_version_str(), PTO_LIBRARIES);
  printf("  levels    ");
  for (int level = 0; level < PTO_LEVEL_COUNT; level++)
    if (pto_level_is_supported(level))
      printf(" %s%s", pto_level_name(level), level == (int)pto_level_best() ? " (in use)" : "");
  putchar('\n');
}

const char *pto_page(const char *name) {
  static char path[PATH_MAX + 64];
  char executable[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
  if (length > 0) {
    executable[length] = '\0';
    *strrchr(executable, '/') = '\0';
    snprintf(path, sizeof path, "%s/" INSTALLED "/%s", executable, name);
    char *whole = realpath(path, executable);
    if (whole) return snprintf(path, sizeof path, "%s", whole), path;
  }
  snprintf(path, sizeof path, "docs/%s", name);
  return path;
}
