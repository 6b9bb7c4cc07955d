/* SPDX-License-Identifier: MIT */
#include <formats/mapped_file.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int pto_mapped_file_init(struct pto_mapped_file *file, const char *path, struct pto_error *error) {
  struct stat status;
  *file = (struct pto_mapped_file){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe has no writer to wait for */
  if (fd < 0) return pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(errno));
  void *data = NULL;
  bool is_good = fstat(fd, &status) == 0;
  if (is_good && !S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    is_good = false;
  }
  if (is_good && status.st_size > 0) {
    data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    is_good = data != MAP_FAILED;
  }
  int reason = errno;
  close(fd);
  if (!is_good) return pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(reason));
  file->data = data;
  file->size_bytes = (uint64_t)status.st_size;
  return PTO_OK;
}

void pto_mapped_file_fini(struct pto_mapped_file *file) {
  if (file->data) munmap((void *)(uintptr_t)file->data, file->size_bytes);
  *file = (struct pto_mapped_file){0};
}
