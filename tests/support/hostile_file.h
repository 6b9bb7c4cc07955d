/* SPDX-License-Identifier: MIT */
/*
 * For tests: files of 1 MB that are as bad as can be, each read or refused with a sentence in a process of its own,
 * with less memory than HOSTILE_FILE_MOST_KB at its peak and less processor time than would let work grow with the
 * square of the size: a reader that compares each of some 10^5 items with each other takes minutes, and is stopped.
 *
 * Owns nothing; what a file takes is printed.  One thread.
 */
#ifndef PTO_HOSTILE_FILE_H
#define PTO_HOSTILE_FILE_H

#include <runtime/base/sanitizer.h>
#include <tests/support/gguf_bytes.h>

enum {
  HOSTILE_FILE_BYTES = 1 << 20,
  /* The worst takes 193 MiB, with AddressSanitizer 423.  ThreadSanitizer keeps four bytes of its own for each one. */
  HOSTILE_FILE_MOST_KB = (1 << 19) * (PTO_HAS_TSAN ? 5 : 1),
  HOSTILE_FILE_MOST_SECONDS = 10 /* of a processor: the worst takes 0.3, with AddressSanitizer 0.8 */
};

struct hostile_file {
  const char *name;
  void (*make)(void); /* puts at most HOSTILE_FILE_BYTES */
  int (*read)(const char *path, char *sentence, size_t size);
  int status;       /* that must come */
  const char *part; /* of the sentence, where it is refused */
};

/* Makes one after the other into `bytes`, writes it, has it read, and fails the test where that is not as it must be.
 */
void hostile_files_try(const struct hostile_file *files, size_t count, struct pto_gguf_bytes *bytes);

#endif
