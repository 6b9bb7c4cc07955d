/* SPDX-License-Identifier: MIT */
/*
 * Texts of chip files for tests: those that are shipped, changed in a place, loaded as files.
 *
 * A file is there while it is loaded.  One thread.
 */
#ifndef PTO_CHIP_TEXT_H
#define PTO_CHIP_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sim/chips/chip.h>
#include <sim/chips/chip_files.h>

#define TEXT_SIZE 16384

static inline void shipped_text(const char *name, char *text) {
  struct pto_chip_file file;
  for (uint32_t i = 0; pto_chip_file_at(i, &file); i++) {
    if (strcmp(file.name, name) != 0) continue;
    assert_true(file.size_bytes < TEXT_SIZE);
    memcpy(text, file.text, file.size_bytes);
    text[file.size_bytes] = '\0';
    return;
  }
  fail_msg("no shipped chip %s", name);
}

/* Loads `text` as a file of its own; *path (64 bytes) is its name while it lasted. */
static inline int load_sheet(const char *text, size_t size, struct pto_chip *chip, struct pto_chip_sheet *sheet,
                             struct pto_error *error, char *path) {
  strcpy(path, "/tmp/pto-chip-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, size), size);
  close(fd);
  int status = pto_chip_load_sheet(path, chip, sheet, error);
  unlink(path);
  return status;
}

/* `text` with its first `from` replaced by `to`. */
static inline void replace(char *text, const char *from, const char *to) {
  char *at = strstr(text, from);
  assert_non_null(at);
  memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
  memcpy(at, to, strlen(to));
}

#endif
