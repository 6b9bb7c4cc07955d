/* SPDX-License-Identifier: MIT */
/*
 * A whole file as read-only memory.
 *
 * Owns the mapping until fini.  The file must not be cut while it is mapped.  Any thread.
 */
#ifndef PTO_MAPPED_FILE_H
#define PTO_MAPPED_FILE_H

#include <runtime/base/error.h>
#include <stdint.h>

struct pto_mapped_file {
  const unsigned char *data; /* page-aligned; NULL where the file is empty */
  uint64_t size_bytes;
};

/* PTO_OK, or PTO_ESYSTEM with path and reason. */
PTO_MUST_CHECK int pto_mapped_file_init(struct pto_mapped_file *file, const char *path, struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_mapped_file_fini(struct pto_mapped_file *file);

#endif
