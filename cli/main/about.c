/* SPDX-License-Identifier: MIT */
#include <cli/main/about.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include <kernels/levels/level.h>
#include <pto/version.h>
#include <runtime/base/process.h>

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
  char folder[PATH_MAX], page[PATH_MAX];
  if (pto_process_folder(folder)) {
    snprintf(path, sizeof path, "%s/" INSTALLED "/%s", folder, name);
    char *whole = realpath(path, page);
    if (whole) return snprintf(path, sizeof path, "%s", whole), path;
  }
  snprintf(path, sizeof path, "docs/%s", name);
  return path;
}
