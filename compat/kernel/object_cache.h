/* SPDX-License-Identifier: MIT */
/*
 * Objects that a compiler makes of one source, kept by contents: an object is compiled when the command, the
 * compiler, the source or a header that it includes is another than before, and only then.
 *
 * Owns the files of its folder: KEY.d, which names what the object of a command was made of (the compiler's own list),
 * and DIGEST.so, by the contents of all that.  Always true: a DIGEST.so is whole; a compilation that fails leaves
 * nothing.
 *
 * Any thread, several at a time, and several processes on one folder: the last of them replaces a file by the same
 * one.
 */
#ifndef PTO_COMPAT_OBJECT_CACHE_H
#define PTO_COMPAT_OBJECT_CACHE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include <runtime/base/error.h>

#define PTO_OBJECT_MOST_WORDS 256u

struct pto_object_request {
  const char *folder;       /* made if it is not there */
  const char *source;       /* for sentences */
  const char *const *words; /* the command, all but -o and -MD; ended by NULL */
  /* NULL, or asked of each file that an object is made of, before it is kept: PTO_OK, or why it is refused. */
  int (*check_file)(void *context, const char *path, struct pto_error *error);
  void *context;
};

/* *path is the object's.  PTO_OK; PTO_EINVAL with "FILE:LINE: …" where the source does not compile or is refused;
 * PTO_ENOTSUP where there is no such compiler; PTO_ESYSTEM, PTO_ENOMEM. */
PTO_MUST_CHECK int pto_object_cache_get(const struct pto_object_request *request, char path[PATH_MAX], bool *is_new,
                                        struct pto_error *error);

/* What a compiler prints, as a string of at most size − 1 characters; false where it cannot be run, or fails. */
bool pto_object_compiler_tell(const char *const *words, char *text, size_t size);

#endif
