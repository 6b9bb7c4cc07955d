/* SPDX-License-Identifier: MIT */
#include <check/session/python.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/base.h>
#include <runtime/base/process.h>

#define HAS                                                                                                            \
  "import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, sys.argv[1].split(','))))"

static bool has(const char *python, const char *modules) {
  const char *const words[] = {python, "-c", HAS, modules, NULL};
  pid_t pid;
  return pto_process_start(&(struct pto_process_request){.path = python, .words = words}, &pid) == 0 &&
         pto_process_exit_code(pid) == 0;
}

const char *pto_python_find(const char *modules) {
  const char *const pythons[] = {getenv("PYTHON"), "python3", "/usr/bin/python3"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(pythons); i++)
    if (pythons[i] && *pythons[i] && has(pythons[i], modules)) return pythons[i];
  return NULL;
}

bool pto_python_find_package(const char *file, char folder[PATH_MAX]) {
  static const char *const relative[] = {"../python", "../lib/pto/python"};
  char own[PATH_MAX], path[2 * PATH_MAX];
  if (!pto_process_folder(own)) return false;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(relative); i++) {
    if ((size_t)snprintf(folder, PATH_MAX, "%s/%s", own, relative[i]) >= PATH_MAX) continue;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (access(path, R_OK) == 0) return true;
  }
  return false;
}
