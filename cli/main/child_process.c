/* SPDX-License-Identifier: MIT */
#include <cli/main/child_process.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cli/main/interrupt.h>
#include <formats/json_text.h>
#include <report/file/shard.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>
#include <runtime/base/process.h>

#define JSON_FD 3 /* PTO_CHILD_JSON_PATH */
#define PAGE_FD 4 /* PTO_CHILD_PAGE_PATH */
#define LOOK_MS 100
#define MOST_OUTPUT_BYTES (16u << 20)

/* All that was written to the file, as a string; NULL with errno. */
static char *read_all(int fd) {
  off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0 || size > (off_t)MOST_OUTPUT_BYTES) size = size < 0 ? 0 : (off_t)MOST_OUTPUT_BYTES;
  char *text = malloc((size_t)size + 1);
  if (!text) return NULL;
  ssize_t have = pread(fd, text, (size_t)size, 0);
  if (have < 0) {
    free(text);
    return NULL;
  }
  text[have] = '\0';
  return text;
}

/* A file in memory whose number is none that the child's files get: dup2 onto itself would leave it close-on-exec. */
static int make_file(const char *name) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd < 0 || fd > PAGE_FD) return fd;
  int other = fcntl(fd, F_DUPFD_CLOEXEC, PAGE_FD + 1);
  close(fd);
  return other;
}

static int start(char *const *words, int json_fd, int text_fd, int page_fd, pid_t *pid) {
  const struct pto_process_fd fds[] = {{text_fd, STDERR_FILENO}, {json_fd, JSON_FD}, {page_fd, PAGE_FD}};
  return pto_process_start(
      &(struct pto_process_request){
          .path = "/proc/self/exe", .words = (const char *const *)words, .fds = fds, .fd_count = PTO_ARRAY_LENGTH(fds)},
      pid);
}

/* Waits for the child to end; false where it did not in time. */
static bool wait_until(pid_t pid, uint32_t timeout_ms) {
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd < 0) return true; /* an old kernel: waitpid then waits without limit */
  struct pollfd ending = {.fd = fd, .events = POLLIN};
  const uint64_t end_ns = pto_clock_ns() + timeout_ms * UINT64_C(1000000);
  bool is_told = false;
  int answer = 0;
  /* ^C of a terminal reaches the child by itself; one that was sent to this process alone is passed on */
  while (answer <= 0 && (!timeout_ms || pto_clock_ns() < end_ns)) {
    answer = poll(&ending, 1, LOOK_MS);
    if (answer < 0 && errno != EINTR) break;
    if (!is_told && pto_interrupted()) is_told = kill(pid, SIGINT) == 0;
  }
  close(fd);
  return answer != 0;
}

static void reap(pid_t pid, uint32_t timeout_ms, struct pto_child_result *result) {
  result->is_timed_out = !wait_until(pid, timeout_ms);
  if (result->is_timed_out) kill(pid, SIGKILL);
  const int status = pto_process_reap(pid);
  result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int pto_child_run(char *const *words, uint32_t timeout_ms, struct pto_child_result *result, struct pto_error *error) {
  *result = (struct pto_child_result){.page_fd = make_file("page")};
  pid_t pid;
  int status = PTO_OK, json_fd = make_file("json"), text_fd = make_file("text");
  int reason =
      result->page_fd < 0 || json_fd < 0 || text_fd < 0 ? errno : start(words, json_fd, text_fd, result->page_fd, &pid);
  if (reason) {
    pto_child_result_fini(result);
    status = pto_error_set(error, PTO_ESYSTEM, "no process for %s: %s", words[0], strerror(reason));
  } else {
    reap(pid, timeout_ms, result);
    result->json = read_all(json_fd);
    if (result->json) result->text = read_all(text_fd);
    if (!result->text) {
      status = pto_error_set(error, errno == ENOMEM ? PTO_ENOMEM : PTO_ESYSTEM, "what %s said cannot be read: %s",
                             words[0], strerror(errno));
      pto_child_result_fini(result);
    }
  }
  if (json_fd >= 0) close(json_fd);
  if (text_fd >= 0) close(text_fd);
  return status;
}

json_t *pto_child_result_pack(const struct pto_child_result *result) {
  json_t *object = pto_json_load(result->json, strlen(result->json), 0, NULL);
  return json_pack("{s:i, s:i, s:b, s:o, s:o}", "exit", result->exit_code, "signal", result->signal, "is_timed_out",
                   result->is_timed_out, "text", pto_shard_text(result->text), "json", object ? object : json_null());
}

int pto_child_result_unpack(json_t *packed, struct pto_child_result *result, struct pto_error *error) {
  const char *text;
  json_t *object;
  int is_timed_out;
  *result = (struct pto_child_result){.page_fd = -1};
  if (json_unpack(packed, "{s:i, s:i, s:b, s:s, s:o}", "exit", &result->exit_code, "signal", &result->signal,
                  "is_timed_out", &is_timed_out, "text", &text, "json", &object))
    return pto_error_set(error, PTO_EINVAL, "the lines do not have what a process left");
  result->is_timed_out = is_timed_out;
  result->text = strdup(text);
  result->json = json_is_null(object) ? strdup("") : pto_json_dump(object, JSON_COMPACT);
  if (result->text && result->json) return PTO_OK;
  pto_child_result_fini(result);
  return pto_error_set(error, PTO_ENOMEM, "no memory for what a process left");
}

void pto_child_result_fini(struct pto_child_result *result) {
  free(result->json);
  free(result->text);
  if (result->page_fd > 0) close(result->page_fd);
  *result = (struct pto_child_result){.page_fd = -1};
}
