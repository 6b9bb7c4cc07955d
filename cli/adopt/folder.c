/* SPDX-License-Identifier: MIT */
#include <cli/adopt/adopt.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <check/session/python.h>
#include <cli/main/interrupt.h>
#include <cli/main/progress_line.h>
#include <formats/json_text.h>
#include <runtime/base/base.h>
#include <runtime/base/process.h>

#define RECORD_FD 3
#define LOOK_MS 100   /* between two looks at ^C */
#define KILL_LOOKS 10 /* after ^C, less than what ptosim itself has to end: what is imported may have swallowed it */
#define MOST_TEXT_BYTES (1u << 20)

struct child {
  pid_t pid;
  int records; /* to read from */
  int text;    /* what it said */
};

/* ---- the process ---- */

/* A file number that no file of the child gets. */
static int move_up(int fd) {
  const int other = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, RECORD_FD + 1) : -1;
  if (fd >= 0) close(fd);
  return other;
}

static int start(const char *const *words, struct child *child) {
  int ends[2];
  child->text = move_up(memfd_create("pytest", MFD_CLOEXEC));
  if (child->text < 0 || pipe2(ends, O_CLOEXEC) != 0) return errno;
  child->records = move_up(ends[0]);
  const int record_fd = move_up(ends[1]);
  const struct pto_process_fd fds[] = {
      {child->text, STDOUT_FILENO}, {child->text, STDERR_FILENO}, {record_fd, RECORD_FD}};
  const struct pto_process_request request = {.path = words[0], .words = words, .fds = fds, .fd_count = 3};
  const int reason = record_fd < 0 || child->records < 0 ? errno : pto_process_start(&request, &child->pid);
  if (record_fd >= 0) close(record_fd);
  return reason;
}

/* ---- where the plugin is ---- */

/* What every case gets; false where a path cannot be handed on. */
static bool set_options(const struct pto_run_options *options) {
  char text[2 * PATH_MAX] = "", clusters[32] = "";
  if (!options->no_compute) return true;
  if (options->values && strchr(options->values, '\'')) return false;
  if (options->clusters) snprintf(clusters, sizeof clusters, " --clusters %u", options->clusters);
  snprintf(text, sizeof text, "--no-compute%s%s%s%s%s", options->assume_zero ? " --assume-zero" : "", clusters,
           options->values ? " --values '" : "", options->values ? options->values : "", options->values ? "'" : "");
  return setenv("PTO_ADOPT_OPTIONS", text, 1) == 0;
}

static bool set_environment(const struct pto_adopt_options *options) {
  const char *before = getenv("PYTHONPATH");
  char executable[PATH_MAX], folder[PATH_MAX], whole[2 * PATH_MAX], path[32];
  const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
  if (length <= 0) return false;
  executable[length] = '\0';
  if (setenv("PTOSIM", executable, 1) != 0 || !pto_python_find_package("pto/adopt.py", folder)) return false;
  snprintf(whole, sizeof whole, "%s%s%s", folder, before && *before ? ":" : "", before ? before : "");
  snprintf(path, sizeof path, "/proc/self/fd/%d", RECORD_FD);
  return setenv("PYTHONPATH", whole, 1) == 0 && setenv("PTO_ADOPT_RECORD", path, 1) == 0 &&
         setenv("PYTHONDONTWRITEBYTECODE", "1", 1) == 0 &&
         setenv("PTO_ADOPT_MODE", options->is_list ? "list" : "all", 1) == 0;
}

/* ---- records ---- */

static const char *text_of(json_t *one, const char *key) {
  const char *text = json_string_value(json_object_get(one, key));
  return text ? text : "";
}

static void print_listed(json_t *one) {
  printf("%-4s  %12lld  %s  %s%s%s\n", text_of(one, "architecture"),
         (long long)json_integer_value(json_object_get(one, "bytes")), text_of(one, "scene"), text_of(one, "name"),
         text_of(one, "reason")[0] ? "  " : "", text_of(one, "reason"));
}

/* Waits for a record, or for the child's end.  ^C of a terminal reaches the child by itself; one that was sent to this
 * process alone is passed on. */
static void wait_for_record(const struct child *child, unsigned *looks) {
  struct pollfd records = {.fd = child->records, .events = POLLIN};
  while (poll(&records, 1, LOOK_MS) <= 0) {
    if (!pto_interrupted()) continue;
    if (*looks % KILL_LOOKS == 0) kill(child->pid, *looks == 0 ? SIGINT : SIGKILL);
    (*looks)++;
  }
}

/* A line each, until the child has closed its end. */
static void read_records(const struct pto_adopt_options *options, const struct child *child, bool has_text,
                         struct pto_adopt_cases *cases) {
  FILE *stream = fdopen(child->records, "r");
  char *line = NULL;
  size_t size = 0;
  unsigned looks = 0;
  if (stream) setvbuf(stream, NULL, _IONBF, 0); /* what was read ahead, poll would not see */
  while (stream && (wait_for_record(child, &looks), getline(&line, &size, stream) > 0)) {
    json_t *one = pto_json_load(line, strlen(line), 0, NULL);
    if (!json_is_object(one)) {
      json_decref(one);
      continue;
    }
    if (has_text && options->is_list)
      print_listed(one);
    else if (has_text)
      pto_adopt_case_print(one, stdout);
    fflush(stdout);
    json_array_append_new(cases->array, one);
  }
  free(line);
  if (stream)
    fclose(stream);
  else
    close(child->records);
}

/* The last line of what pytest said, or with its usage error the line that says so. */
static int tell_failure(const struct child *child, const char *folder, int code) {
  char *text = calloc(1, MOST_TEXT_BYTES + 1), *said = text;
  if (text && pread(child->text, text, MOST_TEXT_BYTES, 0) > 0) {
    char *mark = strstr(text, "ERROR: ");
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n') text[--length] = '\0';
    char *last = strrchr(text, '\n');
    said = mark ? mark + strlen("ERROR: ") : last ? last + 1 : text;
    said[strcspn(said, "\n")] = '\0';
  }
  pto_complain(0, "adopt: %s: pytest ended with status %d: %.900s", folder, code, said ? said : "");
  free(text);
  return code == 4 ? PTO_EXIT_USAGE : PTO_EXIT_FAILED;
}

/* ---- all ---- */

int pto_adopt_folder(const struct pto_adopt_options *options, const char *platform, bool has_text,
                     struct pto_adopt_cases *cases) {
  const char *folder = options->run.programs.items[0];
  const size_t before = json_array_size(cases->array);
  struct child child = {.records = -1, .text = -1};
  const char *python = pto_python_find("pytest,torch");
  if (pto_interrupted()) return PTO_EXIT_OK; /* a Python that was asked has ended by it too */
  if (!python)
    return pto_complain(PTO_EXIT_USAGE, "adopt: scene tests want a python3 with pytest and torch: apt-get install "
                                        "python3-pytest python3-torch");
  if (!set_options(&options->run))
    return pto_complain(PTO_EXIT_USAGE, "adopt: --values: a path with a quotation mark cannot be handed on");
  if (!set_environment(options))
    return pto_complain(PTO_EXIT_FAILED, "adopt: the plugin pto/adopt.py is not beside ptosim");
  const char *const words[] = {python,     "-m",        "pytest",     "-p",     "no:cacheprovider",
                               "-p",       "pto.adopt", "--platform", platform, "--continue-on-collection-errors",
                               "--manual", "include",   "-q",         folder,   NULL};
  const int reason = start(words, &child);
  if (reason) return pto_complain(PTO_EXIT_FAILED, "adopt: no process for %s: %s", python, strerror(reason));
  pto_progress_line_begin("adopt", !options->run.quiet && !isatty(STDOUT_FILENO)); /* there lines say enough */
  read_records(options, &child, has_text, cases);
  pto_progress_line_end();
  const int code = pto_process_exit_code(child.pid);
  /* 0: all well; 1: tests failed, which their records say; 5: there were none for this platform. */
  const bool is_told = code == 0 || code == 5 || (code == 1 && json_array_size(cases->array) > before);
  if (pto_interrupted()) pto_complain(0, "adopt: interrupted after %zu cases", json_array_size(cases->array) - before);
  const int answer = is_told || pto_interrupted() ? PTO_EXIT_OK : tell_failure(&child, folder, code);
  close(child.text);
  return answer;
}
