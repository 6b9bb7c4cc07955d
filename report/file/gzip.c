/* SPDX-License-Identifier: MIT */
#include <report/file/gzip.h>

#include <errno.h>
#include <unistd.h>

#include <runtime/base/text.h>

#ifndef PTO_HAVE_ZLIB
#define PTO_HAVE_ZLIB 0
#endif
#if PTO_HAVE_ZLIB
#include <zlib.h>
#endif

bool pto_gzip_is_name(const char *path) { return pto_text_ends_with(path, ".gz"); }

bool pto_gzip_can_write(void) { return PTO_HAVE_ZLIB; }

#if PTO_HAVE_ZLIB

int pto_gzip_copy(int from, int to) {
  char bytes[65536];
  ssize_t count;
  const int copy = dup(to);
  gzFile file = copy < 0 ? NULL : gzdopen(copy, "wb6");
  if (!file) {
    const int reason = errno ? errno : ENOMEM;
    if (copy >= 0) close(copy);
    return reason;
  }
  int reason = lseek(from, 0, SEEK_SET) < 0 ? errno : 0;
  while (reason == 0 && (count = read(from, bytes, sizeof bytes)) != 0) {
    if (count < 0)
      reason = errno == EINTR ? 0 : errno;
    else if (gzwrite(file, bytes, (unsigned)count) != count)
      reason = errno ? errno : EIO;
  }
  errno = 0;
  if (gzclose(file) != Z_OK && reason == 0) reason = errno ? errno : EIO;
  return reason;
}

#else

int pto_gzip_copy(int from, int to) { return ENOTSUP; }

#endif
