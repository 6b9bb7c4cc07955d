/* SPDX-License-Identifier: MIT */
#include <cli/measure/perf_recording.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <runtime/base/base.h>
#include <runtime/base/process.h>

/* Numbers of these files in perf, and above them ours: what a number is dup2'ed onto must be no other's source. */
#define COMMAND_FD 3
#define ANSWER_FD 4
#define DATA_FD 5
#define FIRST_FD 10
#define CONTROL "fd:3,4"
#define DATA_FD_PATH "/dev/fd/5"
#define ANSWER_TIMEOUT_MS 60000
#define TEXT_BYTES 4096

static const char no_perf[] = "perf is not installed: sudo apt-get install linux-perf (Debian), linux-tools-generic "
                              "(Ubuntu); `make valgrind TOOL=callgrind` needs none";

/* ---- a sample ---- */

#define NANOSECONDS UINT64_C(1000000000)

static const char *skip_blanks(const char *at) { return at + strspn(at, " \t"); }

/* At least one digit, and no overflow. */
static bool take_decimal(const char **at, uint64_t *value) {
  const char *begin = *at;
  for (*value = 0; isdigit((unsigned char)**at); (*at)++) {
    const uint64_t digit = (uint64_t)(**at - '0');
    if (*value > (UINT64_MAX - digit) / 10) return false;
    *value = *value * 10 + digit;
  }
  return *at > begin;
}

/* "6349.864897009:", exactly; digits behind the ninth are dropped. */
static bool take_time(const char **at, uint64_t *time_ns) {
  uint64_t seconds, fraction = 0, unit = NANOSECONDS;
  if (!take_decimal(at, &seconds) || seconds > UINT64_MAX / NANOSECONDS - 1 || **at != '.') return false;
  for ((*at)++; isdigit((unsigned char)**at); (*at)++) {
    unit /= 10;
    fraction += (uint64_t)(**at - '0') * unit;
  }
  if (unit == NANOSECONDS || **at != ':') return false;
  (*at)++;
  *time_ns = seconds * NANOSECONDS + fraction;
  return true;
}

static void copy_text(char *to, size_t size, const char *from, size_t length) {
  if (length >= size) length = size - 1;
  memcpy(to, from, length);
  to[length] = '\0';
}

/* "cycles:u:": up to the colon before a blank. */
static bool take_event(const char **at, struct pto_perf_sample *sample) {
  size_t length = strcspn(*at, " \t\n");
  if (length < 2 || (*at)[length - 1] != ':') return false;
  copy_text(sample->event, sizeof sample->event, *at, length - 1);
  *at += length;
  return true;
}

/* Symbols and paths may hold blanks and parentheses ("f(int)", "x (deleted)"), but a module begins with / or [. */
static const char *find_module(const char *text) {
  const char *last = NULL;
  for (const char *at = strstr(text, " ("); at; at = strstr(at + 1, " (")) {
    if (at[2] == '/' || at[2] == '[') return at;
    last = at;
  }
  return last;
}

bool pto_perf_sample_parse(const char *line, struct pto_perf_sample *sample) {
  uint64_t tid;
  const char *at = skip_blanks(line);
  if (!take_decimal(&at, &tid) || tid > UINT32_MAX || (*at != ' ' && *at != '\t')) return false;
  sample->tid = (uint32_t)tid;
  at = skip_blanks(at);
  if (!take_time(&at, &sample->time_ns)) return false;
  at = skip_blanks(at);
  if (!take_decimal(&at, &sample->period)) return false;
  at = skip_blanks(at);
  if (!take_event(&at, sample)) return false;
  at = skip_blanks(at);
  size_t digits = strspn(at, "0123456789abcdefABCDEF");
  if (digits == 0 || !strchr(" \t\n", at[digits])) return false;
  at = skip_blanks(at + digits);
  size_t length = strcspn(at, "\n");
  const char *module = find_module(at);
  sample->module[0] = '\0';
  if (module && module < at + length && length > 0 && at[length - 1] == ')') {
    copy_text(sample->module, sizeof sample->module, module + 2, (size_t)(at + length - 1 - (module + 2)));
    length = (size_t)(module - at);
  }
  while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t')) length--;
  if (length)
    copy_text(sample->symbol, sizeof sample->symbol, at, length);
  else
    strcpy(sample->symbol, "[unknown]");
  return true;
}

/* ---- files and processes ---- */

/* Takes `fd`; the same file by a number of at least FIRST_FD, which children do not inherit. */
static int move_up(int fd) {
  if (fd < 0) return fd;
  int other = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
  close(fd);
  return other;
}

static void close_fd(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static int fail_system(struct pto_error *error, const char *what) {
  return pto_error_set(error, PTO_ESYSTEM, "perf: %s: %s", what, strerror(errno));
}

static int reap(pid_t *pid) {
  const int status = pto_process_reap(*pid);
  *pid = 0;
  return status;
}

/* What was written to the file, as much as fits. */
static void read_text(int fd, char *text, size_t size) {
  ssize_t have = pread(fd, text, size - 1, 0);
  text[have > 0 ? have : 0] = '\0';
}

/* ---- commands ---- */

/* One command and its answer.  False where perf is gone or does not answer. */
static bool command(const struct pto_perf_recording *recording, const char *text) {
  char answer[32];
  size_t used = 0;
  if (send(recording->socket_fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text)) return false;
  /* The answer is "ack\n" and a NUL. */
  while (!memmem(answer, used, "ack\n", 4)) {
    struct pollfd coming = {.fd = recording->socket_fd, .events = POLLIN};
    int count;
    do count = poll(&coming, 1, ANSWER_TIMEOUT_MS);
    while (count < 0 && errno == EINTR);
    if (count <= 0 || used == sizeof answer) return false;
    ssize_t have = recv(recording->socket_fd, answer + used, sizeof answer - used, 0);
    if (have <= 0) return false;
    used += (size_t)have;
  }
  return true;
}

/* ---- why not ---- */

static bool says_any(const char *text, const char *const *phrases) {
  for (; *phrases; phrases++)
    if (strcasestr(text, *phrases)) return true;
  return false;
}

static int read_paranoid(void) {
  int value = INT32_MIN;
  FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
  if (!file) return value;
  if (fscanf(file, "%d", &value) != 1) value = INT32_MIN;
  fclose(file);
  return value;
}

/* The first line that says something, without its "Error:". */
static const char *first_line(char *text) {
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    line += strspn(line, " \t");
    if (*line && strcasecmp(line, "error:") != 0) return line;
  }
  return "it said nothing";
}

int pto_perf_recording_explain(struct pto_error *error, const char *event, int exit_status, int paranoid, char *text) {
  static const char *const forbidden[] = {"permission",  "not permitted",  "paranoid",
                                          "not allowed", "Access to perf", NULL};
  static const char *const absent[] = {"not supported", "doesn't support sampling", "not find event",
                                       "syntax error",  "No such device",           NULL};
  char level[64] = "";
  if (paranoid != INT32_MIN) snprintf(level, sizeof level, " (kernel.perf_event_paranoid is %d)", paranoid);
  if (says_any(text, forbidden))
    return pto_error_set(error, PTO_ENOTSUP,
                         "perf may not sample here%s: sudo sysctl kernel.perf_event_paranoid=1, or run as root; a "
                         "container needs the capability PERFMON and a seccomp profile that lets perf_event_open by",
                         level);
  if (says_any(text, absent))
    return pto_error_set(error, PTO_ENOTSUP,
                         "perf cannot sample by %s on this machine; `perf list` shows what it can (--event NAME): "
                         "%.300s",
                         event, first_line(text));
  return pto_error_set(error, PTO_ENOTSUP, "perf record left with %d: %.300s", exit_status, first_line(text));
}

/* ---- start ---- */

static void clear(struct pto_perf_recording *recording) {
  *recording = (struct pto_perf_recording){.socket_fd = -1, .data_fd = -1, .text_fd = -1};
}

static int open_files(struct pto_perf_recording *recording, int *other_fd, struct pto_error *error) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return fail_system(error, "no socket");
  recording->socket_fd = move_up(pair[0]);
  *other_fd = move_up(pair[1]);
  recording->text_fd = move_up(memfd_create("perf-text", MFD_CLOEXEC));
  if (!recording->data_path) recording->data_fd = move_up(memfd_create("perf-data", MFD_CLOEXEC));
  const bool has_all = recording->socket_fd >= 0 && *other_fd >= 0 && recording->text_fd >= 0;
  return has_all && (recording->data_path || recording->data_fd >= 0) ? PTO_OK : fail_system(error, "no file");
}

/* perf with one event; PTO_OK once it has answered. */
static int start_with(struct pto_perf_recording *recording, const struct pto_perf_request *request, const char *event,
                      struct pto_error *error) {
  int other_fd = -1;
  char pid[16], frequency[16], text[TEXT_BYTES];
  clear(recording);
  recording->data_path = request->data_path;
  int status = open_files(recording, &other_fd, error);
  snprintf(pid, sizeof pid, "%d", (int)getpid());
  snprintf(frequency, sizeof frequency, "%u", request->frequency_hz);
  /* -B -N: build ids are of no use to who reads the samples at once. */
  const char *const words[] = {"perf",
                               "record",
                               "-q",
                               "-B",
                               "-N",
                               "-k",
                               "CLOCK_MONOTONIC",
                               "-D",
                               "-1",
                               "--control",
                               CONTROL,
                               "-e",
                               event,
                               "-F",
                               frequency,
                               "-o",
                               request->data_path ? request->data_path : DATA_FD_PATH,
                               "-p",
                               pid,
                               NULL};
  const struct pto_process_fd fds[] = {{other_fd, COMMAND_FD},
                                       {other_fd, ANSWER_FD},
                                       {recording->data_fd, DATA_FD},
                                       {recording->text_fd, STDERR_FILENO}};
  const struct pto_process_request perf = {
      .path = words[0], .words = words, .fds = fds, .fd_count = PTO_ARRAY_LENGTH(fds)};
  int reason = status ? 0 : pto_process_start(&perf, &recording->pid);
  close_fd(&other_fd);
  if (reason) {
    recording->pid = 0;
    status = reason == ENOENT ? pto_error_set(error, PTO_ENOTSUP, "%s", no_perf)
                              : pto_error_set(error, PTO_ENOTSUP, "perf cannot be started: %s", strerror(reason));
  } else if (!status && !command(recording, "disable\n")) {
    kill(recording->pid, SIGKILL); /* it has ended, but for one that does not answer */
    int ending = reap(&recording->pid);
    read_text(recording->text_fd, text, sizeof text);
    const int exit_status = WIFEXITED(ending) ? WEXITSTATUS(ending) : -1;
    status = pto_perf_recording_explain(error, event, exit_status, read_paranoid(), text);
  }
  if (status) pto_perf_recording_fini(recording);
  return status;
}

int pto_perf_recording_start(struct pto_perf_recording *recording, const struct pto_perf_request *request,
                             struct pto_error *error) {
  /* ":u" alone is what a paranoid system still permits; perf makes that step itself in most cases. */
  static const char *const events[] = {"cycles", "cycles:u", "cpu-clock", "cpu-clock:u"};
  if (request->event) return start_with(recording, request, request->event, error);
  int status = PTO_OK;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(events); i++) {
    status = start_with(recording, request, events[i], error);
    if (status == PTO_OK || strcmp(error->sentence, no_perf) == 0) break;
  }
  return status;
}

/* ---- while it runs, and after ---- */

int pto_perf_recording_enable(struct pto_perf_recording *recording, bool is_on, struct pto_error *error) {
  char text[TEXT_BYTES];
  if (command(recording, is_on ? "enable\n" : "disable\n")) return PTO_OK;
  read_text(recording->text_fd, text, sizeof text);
  return pto_error_set(error, PTO_ESYSTEM, "perf record does not answer: %.300s", first_line(text));
}

int pto_perf_recording_stop(struct pto_perf_recording *recording, struct pto_error *error) {
  char text[TEXT_BYTES];
  kill(recording->pid, SIGINT);
  int ending = reap(&recording->pid);
  close_fd(&recording->socket_fd);
  if (WIFEXITED(ending) ? WEXITSTATUS(ending) == 0 : WTERMSIG(ending) == SIGINT) return PTO_OK;
  read_text(recording->text_fd, text, sizeof text);
  return pto_error_set(error, PTO_ESYSTEM, "perf record did not end well: %.300s", first_line(text));
}

int pto_perf_recording_read(struct pto_perf_recording *recording,
                            void (*visit)(void *context, const struct pto_perf_sample *sample), void *context,
                            uint64_t *refused_count, struct pto_error *error) {
  const char *const words[] = {"perf", "script",
                               "-f",   "--ns",
                               "-F",   PTO_PERF_SAMPLE_FIELDS,
                               "-i",   recording->data_path ? recording->data_path : DATA_FD_PATH,
                               NULL};
  int ends[2];
  char text[TEXT_BYTES];
  *refused_count = 0;
  if (ftruncate(recording->text_fd, 0) || lseek(recording->text_fd, 0, SEEK_SET) || pipe2(ends, O_CLOEXEC))
    return fail_system(error, "no pipe");
  for (size_t i = 0; i < 2; i++) ends[i] = move_up(ends[i]);
  const struct pto_process_fd fds[] = {
      {ends[1], STDOUT_FILENO}, {recording->data_fd, DATA_FD}, {recording->text_fd, STDERR_FILENO}};
  const struct pto_process_request perf = {
      .path = words[0], .words = words, .fds = fds, .fd_count = PTO_ARRAY_LENGTH(fds)};
  int reason = pto_process_start(&perf, &recording->pid);
  close_fd(&ends[1]);
  FILE *lines = reason ? NULL : fdopen(ends[0], "r");
  char *line = NULL;
  size_t size = 0;
  struct pto_perf_sample sample;
  while (lines && getline(&line, &size, lines) > 0) {
    if (pto_perf_sample_parse(line, &sample))
      visit(context, &sample);
    else if (line[strspn(line, " \t\n")])
      ++*refused_count;
  }
  free(line);
  if (lines)
    fclose(lines);
  else
    close_fd(&ends[0]);
  if (reason) {
    recording->pid = 0;
    return pto_error_set(error, PTO_ESYSTEM, "perf script cannot be started: %s", strerror(reason));
  }
  int ending = reap(&recording->pid);
  if (WIFEXITED(ending) && WEXITSTATUS(ending) == 0) return PTO_OK;
  read_text(recording->text_fd, text, sizeof text);
  return pto_error_set(error, PTO_ESYSTEM, "perf script failed: %.300s", first_line(text));
}

void pto_perf_recording_fini(struct pto_perf_recording *recording) {
  if (recording->pid > 0) {
    kill(recording->pid, SIGKILL);
    reap(&recording->pid);
  }
  if (recording->socket_fd > 0) close_fd(&recording->socket_fd);
  if (recording->data_fd > 0) close_fd(&recording->data_fd);
  if (recording->text_fd > 0) close_fd(&recording->text_fd);
  clear(recording);
}
