/* SPDX-License-Identifier: MIT */
/*
 * Calls of the system of which the n-th of a kind fails, and that are counted by kind: for the one source of a test
 * program that includes this, whose own calls, and those of the archives and libraries that it is linked with, come
 * here.  What libc calls by itself does not.
 *
 * Standard error always works, so that what is said of a failure arrives.
 */
#ifndef PTO_FAILING_CALLS_H
#define PTO_FAILING_CALLS_H

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <pto/status.h>
#include <tests/support/failing_malloc.h>

/* X(kind, what an n-th of it is called) */
#define FAILING_KIND_LIST(X)                                                                                           \
  X(OPEN, "open fails")            /* files, folders, pipes, streams */                                                \
  X(FOLDER, "open gives a folder") /* which cannot be read */                                                          \
  X(READ, "read fails")                                                                                                \
  X(MAP, "mmap fails")                                                                                                 \
  X(WRITE, "write fails")                                                                                              \
  X(CLOSE, "close fails") /* of a descriptor or a stream, which is closed all the same; flushes too */                 \
  X(NAME, "rename fails") /* and what else changes folders and files as a whole */                                     \
  X(START, "no process or thread")
enum failing_kind {
  FAILING_NOTHING,
#define X(kind, text) FAILING_##kind,
  FAILING_KIND_LIST(X)
#undef X
      FAILING_KIND_COUNT
};

static enum failing_kind failing_kind;
static uint32_t call_countdown; /* the n-th call of the kind from now on fails; 0: none */
static uint64_t call_counts[FAILING_KIND_COUNT];
static void (*call_seen)(uint32_t kind, uint64_t n); /* is told of each call, where it is set */

static bool is_call_failing(enum failing_kind kind, int reason) {
  const uint64_t n = __atomic_add_fetch(&call_counts[kind], 1, __ATOMIC_RELAXED);
  if (call_seen) call_seen(kind, n);
  if (kind != failing_kind || call_countdown == 0 || --call_countdown > 0) return false;
  errno = reason;
  return true;
}

/* Where hwloc is linked, which has other names for the types. */
PTO_API int hwloc_topology_load(void *topology);
PTO_API int hwloc_get_cpubind(void *topology, void *set, int flags);

/* The functions of libraries, behind those below.  Looked for at once: looking takes memory. */
#define FAILING_CALL_LIST(X)                                                                                           \
  X(fopen)                                                                                                             \
  X(fdopen)                                                                                                            \
  X(tmpfile)                                                                                                           \
  X(opendir)                                                                                                           \
  X(memfd_create)                                                                                                      \
  X(pipe2)                                                                                                             \
  X(read)                                                                                                              \
  X(pread)                                                                                                             \
  X(mmap)                                                                                                              \
  X(write)                                                                                                             \
  X(pwrite)                                                                                                            \
  X(writev)                                                                                                            \
  X(close)                                                                                                             \
  X(fclose)                                                                                                            \
  X(fflush)                                                                                                            \
  X(rename)                                                                                                            \
  X(linkat)                                                                                                            \
  X(mkdir)                                                                                                             \
  X(ftruncate) X(posix_spawnp) X(fork) X(_Fork) X(pthread_create) X(open) X(hwloc_topology_load) X(hwloc_get_cpubind)
#define X(name) static __typeof__(&name) next_##name;
FAILING_CALL_LIST(X)
#undef X
static void find_calls(void) {
  if (next_open) return;
#define X(name) next_##name = (__typeof__(&name))dlsym(RTLD_NEXT, #name);
  FAILING_CALL_LIST(X)
#undef X
}

/* Constructors of libraries come here before anything of this program runs. */
#define NEXT(name) (find_calls(), next_##name)

/* ---- hwloc ---- */

/* Where all allocations fail, these go round for ever (2.9: they ask for a larger set of CPUs each time).  So the first
 * in there fails alone, and the others from its end on. */
static bool begin_alone(void) {
  const bool stays = fail_stays && fail_countdown > 0;
  if (stays) fail_stays = false;
  return stays;
}
static int end_alone(bool stays, int status) {
  if (stays && fail_countdown == 0) fail_countdown = 1;
  fail_stays |= stays;
  return status;
}
int hwloc_topology_load(void *topology) {
  const bool stays = begin_alone();
  return end_alone(stays, NEXT(hwloc_topology_load)(topology));
}
int hwloc_get_cpubind(void *topology, void *set, int flags) {
  const bool stays = begin_alone();
  return end_alone(stays, NEXT(hwloc_get_cpubind)(topology, set, flags));
}

/* ---- open ---- */

static bool reads_a_folder(int flags) {
  return (flags & O_ACCMODE) == O_RDONLY && !(flags & O_DIRECTORY) && is_call_failing(FAILING_FOLDER, 0);
}
PTO_API int open(const char *path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (is_call_failing(FAILING_OPEN, EMFILE)) return -1;
  return NEXT(open)(reads_a_folder(flags) ? "/" : path, flags, mode);
}
PTO_API FILE *fopen(const char *path, const char *mode) {
  if (is_call_failing(FAILING_OPEN, EMFILE)) return NULL;
  return NEXT(fopen)(mode[0] == 'r' && reads_a_folder(O_RDONLY) ? "/" : path, mode);
}
PTO_API FILE *fdopen(int fd, const char *mode) {
  return is_call_failing(FAILING_OPEN, ENOMEM) ? NULL : NEXT(fdopen)(fd, mode);
}
PTO_API FILE *tmpfile(void) { return is_call_failing(FAILING_OPEN, ENOSPC) ? NULL : NEXT(tmpfile)(); }
PTO_API DIR *opendir(const char *path) { return is_call_failing(FAILING_OPEN, EMFILE) ? NULL : NEXT(opendir)(path); }
PTO_API int memfd_create(const char *name, unsigned flags) {
  return is_call_failing(FAILING_OPEN, EMFILE) ? -1 : NEXT(memfd_create)(name, flags);
}
PTO_API int pipe2(int ends[2], int flags) {
  return is_call_failing(FAILING_OPEN, EMFILE) ? -1 : NEXT(pipe2)(ends, flags);
}

/* ---- read and write ---- */

PTO_API ssize_t read(int fd, void *bytes, size_t size) {
  return is_call_failing(FAILING_READ, EIO) ? -1 : NEXT(read)(fd, bytes, size);
}
PTO_API ssize_t pread(int fd, void *bytes, size_t size, off_t at) {
  return is_call_failing(FAILING_READ, EIO) ? -1 : NEXT(pread)(fd, bytes, size, at);
}
PTO_API void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t at) {
  return is_call_failing(FAILING_MAP, ENOMEM) ? MAP_FAILED : NEXT(mmap)(address, size, protection, flags, fd, at);
}
PTO_API ssize_t write(int fd, const void *bytes, size_t size) {
  return fd != STDERR_FILENO && is_call_failing(FAILING_WRITE, ENOSPC) ? -1 : NEXT(write)(fd, bytes, size);
}
PTO_API ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  return is_call_failing(FAILING_WRITE, ENOSPC) ? -1 : NEXT(pwrite)(fd, bytes, size, at);
}
PTO_API ssize_t writev(int fd, const struct iovec *pieces, int count) {
  return fd != STDERR_FILENO && is_call_failing(FAILING_WRITE, ENOSPC) ? -1 : NEXT(writev)(fd, pieces, count);
}

/* ---- close, and what changes files as a whole ---- */

PTO_API int close(int fd) {
  const int answer = NEXT(close)(fd);
  return is_call_failing(FAILING_CLOSE, EIO) ? -1 : answer;
}
PTO_API int fclose(FILE *stream) {
  const int answer = NEXT(fclose)(stream);
  return is_call_failing(FAILING_CLOSE, EIO) ? EOF : answer;
}
PTO_API int fflush(FILE *stream) {
  const int answer = NEXT(fflush)(stream);
  return stream != stderr && is_call_failing(FAILING_CLOSE, EIO) ? EOF : answer;
}
PTO_API int rename(const char *from, const char *to) {
  return is_call_failing(FAILING_NAME, EIO) ? -1 : NEXT(rename)(from, to);
}
PTO_API int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
  return is_call_failing(FAILING_NAME, EIO) ? -1 : NEXT(linkat)(from_folder, from, to_folder, to, flags);
}
PTO_API int mkdir(const char *path, mode_t mode) {
  return is_call_failing(FAILING_NAME, ENOSPC) ? -1 : NEXT(mkdir)(path, mode);
}
PTO_API int ftruncate(int fd, off_t size) {
  return is_call_failing(FAILING_NAME, ENOSPC) ? -1 : NEXT(ftruncate)(fd, size);
}

/* ---- processes and threads ---- */

PTO_API int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const words[], char *const environment[]) {
  return is_call_failing(FAILING_START, EAGAIN)
             ? EAGAIN
             : NEXT(posix_spawnp)(pid, file, actions, attributes, words, environment);
}
PTO_API pid_t fork(void) { return is_call_failing(FAILING_START, EAGAIN) ? -1 : NEXT(fork)(); }
PTO_API pid_t _Fork(void) { return is_call_failing(FAILING_START, EAGAIN) ? -1 : NEXT(_Fork)(); }
PTO_API int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context) {
  return is_call_failing(FAILING_START, EAGAIN) ? EAGAIN : NEXT(pthread_create)(thread, attributes, run, context);
}

#endif
