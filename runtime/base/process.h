/* SPDX-License-Identifier: MIT */
/*
 * Starting programs: a compiler, Python, perf, this program again.
 *
 * Owns nothing: the caller has the process id, and reaps it once.  Its standard input is empty, and what it says is
 * dropped where no descriptor is given for it.  Any thread; each waits for its own children.
 */
#ifndef PTO_PROCESS_H
#define PTO_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor of this process, and its number in the child: another one, since dup2 onto itself would leave it
 * close-on-exec.  own < 0: not given. */
struct pto_process_fd {
  int own, theirs;
};

struct pto_process_request {
  const char *path;         /* looked for in PATH where it has no slash */
  const char *const *words; /* the first is the program's name; ended by NULL */
  const struct pto_process_fd *fds;
  uint32_t fd_count;
};

/* 0, or the errno value. */
int pto_process_start(const struct pto_process_request *request, pid_t *pid);
/* Waits for its end: as waitpid tells it. */
int pto_process_reap(pid_t pid);
/* The same: its exit code; -1: a signal ended it. */
int pto_process_exit_code(pid_t pid);

/* Where this process's executable lies, without a slash at the end; what is installed with it has a place relative to
 * that.  False: the system does not say. */
bool pto_process_folder(char folder[PATH_MAX]);

/* Ends this process by SIGALRM when so many seconds are over, also where the caller ignores that signal or the
 * thread that was forked blocks it (runtime/base/thread.h). */
void pto_process_limit(unsigned seconds);

#endif
