/* SPDX-License-Identifier: MIT */
#include <tests/support/ptosim_child.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/sanitizer.h>

#define MOST_WORDS 40

static char ptosim[PATH_MAX];
static char folder[PATH_MAX - 64]; /* for files */

/* ---- running it ---- */

struct pto_ptosim_outcome pto_ptosim_last;
const bool pto_ptosim_reports_faults = !PTO_HAS_SANITIZER;

static char *read_back(int fd) {
  off_t size = lseek(fd, 0, SEEK_END);
  char *text = calloc((size_t)size + 1, 1);
  assert_true(pread(fd, text, (size_t)size, 0) == size);
  close(fd);
  return text;
}

static void forget(void) {
  free(pto_ptosim_last.out);
  free(pto_ptosim_last.err);
  pto_ptosim_last = (struct pto_ptosim_outcome){0};
}

int pto_ptosim_run_words(char *const *words) {
  forget();
  int out = memfd_create("out", 0), err = memfd_create("err", 0), status = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t pid;
  assert_int_equal(posix_spawn(&pid, ptosim, &actions, NULL, words, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  while (waitpid(pid, &status, 0) < 0) assert_int_equal(errno, EINTR);
  pto_ptosim_last.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  pto_ptosim_last.out = read_back(out);
  pto_ptosim_last.err = read_back(err);
  return pto_ptosim_last.exit_code;
}

int pto_ptosim_run(const char *format, ...) {
  char line[4096], *words[MOST_WORDS + 1] = {(char *)"ptosim"}, *rest = line;
  size_t count = 1;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  for (char *word; (word = strsep(&rest, " ")) != NULL && count < MOST_WORDS;) words[count++] = word;
  words[count] = NULL;
  return pto_ptosim_run_words(words);
}

const char *pto_ptosim_path(const char *name) {
  static char paths[4][PATH_MAX];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

const char *pto_ptosim_build(void) {
  static char build[PATH_MAX];
  snprintf(build, sizeof build, "%.*s", (int)(strrchr(ptosim, '/') - ptosim), ptosim);
  return build;
}

int pto_ptosim_setup(void **state) {
  const char *build = getenv("PTO_BUILD_DIR"), *temporary = getenv("TMPDIR");
  if (build)
    snprintf(ptosim, sizeof ptosim, "%s/ptosim", build);
  else {
    ssize_t length = readlink("/proc/self/exe", ptosim, sizeof ptosim - 32);
    if (length < 0) return -1;
    ptosim[length] = '\0';
    for (int up = 0; up < 4; up++) *strrchr(ptosim, '/') = '\0';
    strcat(ptosim, "/ptosim");
  }
  snprintf(folder, sizeof folder, "%s/pto_cli_XXXXXX", temporary ? temporary : "/tmp");
  return mkdtemp(folder) ? 0 : -1;
}

int pto_ptosim_teardown(void **state) {
  char command[PATH_MAX];
  forget();
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

/* ---- what it said ---- */

json_t *pto_ptosim_parse(const char *text) {
  json_error_t error;
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!root) fail_msg("%s at %d:%d of %s", error.text, error.line, error.column, text);
  return root;
}

json_t *pto_ptosim_load(const char *path) {
  json_error_t error;
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!root) fail_msg("%s at %d:%d of %s", error.text, error.line, error.column, path);
  return root;
}

json_int_t pto_json_integer(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!json_is_integer(value)) fail_msg("%s is no integer", key);
  return json_integer_value(value);
}

const char *pto_json_text(json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  if (!text) fail_msg("%s is no string", key);
  return text;
}

void pto_ptosim_assert_complaint(int exit_code, const char *part) {
  if (pto_ptosim_last.exit_code != exit_code || !strstr(pto_ptosim_last.err, part) ||
      strncmp(pto_ptosim_last.err, "ptosim: ", 8) != 0 ||
      strchr(pto_ptosim_last.err, '\n') != pto_ptosim_last.err + strlen(pto_ptosim_last.err) - 1)
    fail_msg("exit %d instead of %d, or not one line about \"%s\": %s", pto_ptosim_last.exit_code, exit_code, part,
             pto_ptosim_last.err);
}

void pto_ptosim_assert_ok(void) {
  if (pto_ptosim_last.exit_code != 0)
    fail_msg("exit %d: %s%s", pto_ptosim_last.exit_code, pto_ptosim_last.out, pto_ptosim_last.err);
}

char *pto_ptosim_read_file(const char *path) {
  int fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  return read_back(fd);
}
