/* SPDX-License-Identifier: MIT */
#include <runtime/base/process.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int pto_process_start(const struct pto_process_request *request, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  int reason = posix_spawn_file_actions_init(&actions);
  if (reason) return reason;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && !reason; fd++)
    reason = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  for (uint32_t i = 0; i < request->fd_count && !reason; i++)
    if (request->fds[i].own >= 0)
      reason = posix_spawn_file_actions_adddup2(&actions, request->fds[i].own, request->fds[i].theirs);
  if (!reason)
    reason = posix_spawnp(pid, request->path, &actions, NULL, (char *const *)(uintptr_t)request->words, environ);
  posix_spawn_file_actions_destroy(&actions);
  return reason;
}

int pto_process_reap(pid_t pid) {
  int status = 255 << 8; /* where there is none to be had */
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int pto_process_exit_code(pid_t pid) {
  const int status = pto_process_reap(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool pto_process_folder(char folder[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX);
  if (length <= 0 || length >= PATH_MAX) return false;
  folder[length] = '\0';
  char *slash = strrchr(folder, '/');
  if (slash) *slash = '\0';
  return slash != NULL;
}

void pto_process_limit(unsigned seconds) {
  sigset_t alarms;
  signal(SIGALRM, SIG_DFL);
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
  alarm(seconds);
}
