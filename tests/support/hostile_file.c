/* SPDX-License-Identifier: MIT */
#include <tests/support/hostile_file.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Reads the file in a process of its own; exit status 0 if all is as it must be. */
_Noreturn static void read_and_leave(const struct hostile_file *hostile, const char *path) {
  const struct rlimit seconds = {HOSTILE_FILE_MOST_SECONDS, HOSTILE_FILE_MOST_SECONDS};
  char sentence[1024] = "";
  if (setrlimit(RLIMIT_CPU, &seconds)) _exit(3);
  const int status = hostile->read(path, sentence, sizeof sentence);
  if (status == hostile->status && (status == PTO_OK || (sentence[0] && strstr(sentence, hostile->part)))) _exit(0);
  fprintf(stderr, "%s: status %d, \"%s\"\n", hostile->name, status, sentence);
  _exit(1);
}

static void write_file(const char *path, const struct pto_gguf_bytes *bytes) {
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(bytes->data, 1, bytes->size, stream), bytes->size);
  fclose(stream);
}

static void try_file(const struct hostile_file *hostile, const char *path) {
  struct rusage used;
  int left;
  fflush(NULL); /* or the child may write what is waiting a second time */
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) read_and_leave(hostile, path);
  assert_int_equal(wait4(child, &left, 0, &used), child);
  const long milliseconds =
      (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
  print_message("%-34s %6ld ms of a processor, %5ld MiB\n", hostile->name, milliseconds, used.ru_maxrss / 1024);
  if (!WIFEXITED(left) || WEXITSTATUS(left)) fail_msg("%s: wait status 0x%x", hostile->name, left);
  if (used.ru_maxrss > HOSTILE_FILE_MOST_KB) fail_msg("%s: %ld KiB at its peak", hostile->name, used.ru_maxrss);
}

void hostile_files_try(const struct hostile_file *files, size_t count, struct pto_gguf_bytes *bytes) {
  const char *temporary = getenv("TMPDIR");
  char path[512];
  snprintf(path, sizeof path, "%s/hostile_file_%d", temporary ? temporary : "/tmp", (int)getpid());
  for (size_t i = 0; i < count; i++) {
    files[i].make();
    assert_true(bytes->size <= HOSTILE_FILE_BYTES);
    write_file(path, bytes);
    pto_gguf_bytes_fini(bytes);
    try_file(&files[i], path);
  }
  unlink(path);
}
