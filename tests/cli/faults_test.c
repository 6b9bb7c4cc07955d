/* SPDX-License-Identifier: MIT */
/*
 * Every verb, with one failure at a time: the n-th allocation, open, read, write, rename, process ... fails.  The verbs
 * are in faults_commands.h.
 *
 * Whatever fails, a verb ends as it does without the failure and with the same output and files, or with 2 or 3 and one
 * sentence; each file is whole or as it was, none is left beside, and no signal and no endless loop ends it.  A verb
 * runs in a process forked off, which is linked with calls that fail (tests/support/failing_calls.h); its own processes
 * are this program again.
 *
 * The first point of each kind, of the quick verbs, which is the same on every machine.  With PTO_TEST_LONG all points
 * of all verbs that may end in another way: of the calls with the same stack, in the verb's process and those that it
 * forks, the first, the second and the last fail (tests/support/failing_points.h says why); and as many processes as
 * the machine has CPUs take the commands in turn, each in a folder of its own.
 *
 * PTO_FAULTS=PATTERN: only the commands that have it; PTO_FAULTS_AT=N: only the n-th of each kind; PTO_FAULTS_POINTS=N:
 * so many of each kind, spread evenly, in place of those above.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cli/main/verb.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>
#include <runtime/base/text.h>
#include <tests/cli/faults_commands.h>
#include <tests/support/failing_calls.h>
#include <tests/support/failing_points.h>
#include <tests/support/file_alike.h>
#include <tests/support/file_tree.h>
#include <tests/support/temporary_path.h>

enum {
  POINTS = 1,        /* of a kind, without PTO_TEST_LONG */
  MORE_POINTS = 2,   /* of commands with + */
  CHOSEN_POINTS = 0, /* in place of a number: those that failing_points_choose says */
  ROOMS = 8,
  CPU_SECONDS = 2, /* after which a command has an endless loop; each takes tenths of one */
  PATIENCE_SECONDS = 120,
  MOST_WORDS = 40,
  ERR_BYTES = 1 << 16, /* that are looked at */
  KIND_MEMORY = FAILING_KIND_COUNT,
  KIND_ALL_MEMORY, /* from the n-th allocation on all fail */
  KIND_ROOM,       /* files have room for n bytes */
  KIND_COUNT
};

static const char *const kinds[KIND_COUNT] = {
#define X(kind, text) [FAILING_##kind] = text,
    FAILING_KIND_LIST(X)
#undef X
        [KIND_MEMORY] = "no memory",
    [KIND_ALL_MEMORY] = "no memory from then on",
    [KIND_ROOM] = "no room in files behind byte",
};

/* ---- one run ---- */

struct outcome {
  int status; /* as waitpid tells it */
  bool is_stuck;
  char err[ERR_BYTES];
  struct pto_file_tree files; /* standard output is the file ".out" */
};

/* What a process of this test shares with those that it forks to run a command. */
static struct shared { uint64_t counts[KIND_COUNT]; } * shared;
static struct failing_points *met; /* NULL: calls are not written down */
/* What all processes of this test share. */
static struct totals { uint64_t commands, tried, failed, stacks; } * totals;

static pid_t first_process;
static char folder[TEMPORARY_PATH_BYTES]; /* of this test, with all that follow */
static char work[TEMPORARY_PATH_BYTES + 16], sources[PATH_MAX];
static char stripped[TEMPORARY_PATH_BYTES + 16]; /* programs: lines of sources, which may be absent, are in no output */
static struct pto_file_tree before;

static void see_call(uint32_t kind, uint64_t n) { failing_points_add(met, kind, n); }
static void see_allocation(uint64_t n) { failing_points_add(met, KIND_MEMORY, n); }

static void arm(int kind, uint64_t n) {
  const struct rlimit room = {n - 1, n - 1}, cpu = {CPU_SECONDS, CPU_SECONDS};
  setrlimit(RLIMIT_CPU, &cpu);
  if (kind == KIND_ROOM) setrlimit(RLIMIT_FSIZE, &room);
  allocation_count = 0;
  memset(call_counts, 0, sizeof call_counts);
  fail_stays = kind == KIND_ALL_MEMORY;
  if (kind == FAILING_NOTHING && met) {
    call_seen = see_call;
    allocation_seen = see_allocation;
  }
  if (kind == KIND_MEMORY || kind == KIND_ALL_MEMORY)
    fail_countdown = (uint32_t)n;
  else if (kind < FAILING_KIND_COUNT) {
    failing_kind = (enum failing_kind)kind;
    call_countdown = (uint32_t)n;
  }
}

/* @ is the folder of the sources. */
static void fill_in(const char *text, char *filled, size_t size) {
  const char *at = strchr(text, '@');
  snprintf(filled, size, "%.*s", (int)(at ? at - text : (ptrdiff_t)strlen(text)), text);
  for (; at; at = strchr(at + 1, '@')) {
    const size_t used = strlen(filled), length = strcspn(at + 1, "@");
    snprintf(filled + used, size - used, "%s%.*s", sources, (int)length, at + 1);
  }
}

_Noreturn static void act(const char *command, int err, int kind, uint64_t n) {
  char line[1024], *words[MOST_WORDS + 1] = {(char *)"ptosim"}, *rest = line;
  int count = 1;
  fill_in(command, line, sizeof line);
  for (char *word; (word = strsep(&rest, " ")) != NULL && count < MOST_WORDS;) words[count++] = word;
  words[count] = NULL;
  const int out = open(".out", O_WRONLY | O_CREAT | O_TRUNC, 0666), nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(nothing);
  close(err);
  arm(kind, n);
  const int code = pto_ptosim(count, words);
  fail_countdown = call_countdown = 0;
  call_seen = NULL;
  allocation_seen = NULL;
  memcpy(shared->counts, call_counts, sizeof call_counts);
  shared->counts[KIND_MEMORY] = shared->counts[KIND_ALL_MEMORY] = allocation_count;
  exit(code);
}

/* Reads standard error until the process and all of its own have closed it. */
static bool read_err(int fd, char *text) {
  size_t used = 0;
  const uint64_t end_ns = pto_clock_ns() + PATIENCE_SECONDS * UINT64_C(1000000000);
  for (;;) {
    char more[4096];
    struct pollfd look = {.fd = fd, .events = POLLIN};
    if (pto_clock_ns() > end_ns) return false;
    if (poll(&look, 1, 1000) <= 0) continue;
    const ssize_t size = read(fd, more, sizeof more);
    if (size <= 0) break;
    const size_t kept = pto_min_u64((size_t)size, ERR_BYTES - 1 - used);
    memcpy(text + used, more, kept);
    used += kept;
  }
  text[used] = '\0';
  return true;
}

static void run(const char *command, int kind, uint64_t n, struct outcome *outcome) {
  int ends[2];
  pto_file_tree_restore(&before, work);
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(ends[0]);
    act(command, ends[1], kind, n);
  }
  close(ends[1]);
  outcome->is_stuck = !read_err(ends[0], outcome->err);
  if (outcome->is_stuck) kill(child, SIGKILL);
  close(ends[0]);
  while (waitpid(child, &outcome->status, 0) < 0) assert_int_equal(errno, EINTR);
  pto_file_tree_read(&outcome->files, work);
}

/* ---- what may be ---- */

struct expected {
  struct outcome outcome, again; /* what two runs without a failure left: where they differ, times stand */
};

static bool has_times(const struct expected *expected, const char *path) {
  const struct pto_tree_file *one = pto_file_tree_find(&expected->outcome.files, path),
                             *two = pto_file_tree_find(&expected->again.files, path);
  return strcmp(path, ".out") == 0 || pto_text_ends_with(path, ".xml") || !pto_file_is_same(one, two, false);
}

/* Whether some file has the words, and none has them without the failure. */
static bool says_only(const struct outcome *got, const struct expected *expected, const char *words) {
  bool says = false, said = false;
  for (size_t i = 0; i < got->files.count; i++) says |= strstr(got->files.files[i].bytes, words) != NULL;
  const struct pto_file_tree *good = &expected->outcome.files;
  for (size_t i = 0; i < good->count; i++) said |= strstr(good->files[i].bytes, words) != NULL;
  return says && !said;
}

/* Whether a file of findings, as JSON or SARIF, does not say that it has not all of them. */
static bool hides_lost(const struct pto_tree_file *file) {
  const bool is_sarif = strstr(file->bytes, "\"executionSuccessful\"") != NULL;
  return strstr(file->bytes, "\"findings_lost\":false") || (is_sarif && !strstr(file->bytes, "memory ran out"));
}

/* An object of adopted programs, and the list of what it was made of, which names a file of the process that made it:
 * they are made anew where they cannot be read.  Those that are half done have more points in their names. */
static bool is_of_cache(const char *path) {
  const char *name = strrchr(path, '/'), *point = name ? strchr(name, '.') : NULL;
  return strncmp(path, "adopted/", strlen("adopted/")) == 0 && point && !strchr(point + 1, '.');
}

/* NULL, or what is wrong with the files. */
static const char *judge_files(const struct expected *expected, const struct outcome *got, bool has_ended_well,
                               int kind, char *text, size_t size) {
  const struct pto_file_tree *all = &expected->outcome.files;
  const int code = WEXITSTATUS(expected->outcome.status);
  /* findings have lines of sources where the program's file can be read */
  const bool is_memory = kind == KIND_MEMORY || kind == KIND_ALL_MEMORY;
  const bool may_miss_places = is_memory || kind <= FAILING_READ || kind == FAILING_MAP;
  const bool may_tell_less = code == PTO_EXIT_FINDINGS && may_miss_places && !is_memory;
  /* Of what is proposed some was not run, or nothing, which is told: an estimate, which may no more be among the best.
   */
  const bool has_estimates =
      says_only(got, expected, "\"not_run\":{") || says_only(got, expected, "\"why_no_gains\":\"");
  const bool is_short = says_only(got, expected, "memory ran out: there are more than are told here");
  for (size_t i = 0; i < got->files.count; i++) {
    const struct pto_tree_file *file = &got->files.files[i];
    const bool is_out = strcmp(file->path, ".out") == 0;
    if (is_out && (!has_ended_well || code > PTO_EXIT_FINDINGS || may_tell_less)) continue;
    if (is_out && has_estimates) continue;
    if (is_of_cache(file->path)) continue;
    if (is_short && (is_out || pto_file_is_whole(file)) && !hides_lost(file)) continue;
    const struct pto_tree_file *good = pto_file_tree_find(all, file->path);
    if (pto_file_is_same(file, good, has_times(expected, file->path))) continue;
    if (may_miss_places && good && pto_file_differs_in_places(file, good)) continue;
    if (good && has_estimates && pto_file_is_whole(file)) continue;
    if (may_tell_less && good && pto_file_is_whole(file)) continue;
    if (kind == FAILING_MAP && strncmp(file->path, "kept2/", 6) == 0)
      continue; /* arrays lie elsewhere, and a dump numbers them by address */
    if (!has_ended_well && pto_file_is_same(file, pto_file_tree_find(&before, file->path), false)) continue;
    if (!has_ended_well && good && pto_file_is_whole(file)) continue;
    if (!good) return snprintf(text, size, "%s is left, %zu bytes", file->path, file->size), text;
    const char *here = file->bytes, *there = good->bytes;
    pto_text_come_apart(&here, &there, has_times(expected, file->path));
    const ptrdiff_t begin = here - file->bytes, end = there - good->bytes;
    snprintf(text, size, "%s is another: from byte %td on %.80s in place of %.80s", file->path, begin,
             file->bytes + (begin < 40 ? 0 : begin - 40), good->bytes + (end < 40 ? 0 : end - 40));
    return text;
  }
  const bool has_all = has_ended_well && code <= PTO_EXIT_FINDINGS;
  for (size_t i = 0; has_all && i < all->count; i++)
    if (!pto_file_tree_find(&got->files, all->files[i].path) && !is_of_cache(all->files[i].path) &&
        !(kind == FAILING_MAP && strncmp(all->files[i].path, "kept2/", 6) == 0)) {
      snprintf(text, size, "%s is missing", all->files[i].path);
      return text;
    }
  return NULL;
}

static bool has_rows; /* the output of the command is a table that has what failed, or was not built */

/* A table of runs, each in a process of its own, one of which failed: it stands in the table. */
static bool tells_failed_row(const struct expected *expected, const struct outcome *got) {
  for (size_t i = 0; i < got->files.count; i++) {
    const struct pto_tree_file *good = pto_file_tree_find(&expected->outcome.files, got->files.files[i].path);
    const char *bytes = got->files.files[i].bytes;
    const bool is_told = strcasestr(bytes, "fail") || (has_rows && strstr(bytes, "not built"));
    if (is_told && good && !pto_file_is_same(&got->files.files[i], good, true)) return true;
  }
  return false;
}

static bool uses_threads; /* the command does, and so hwloc */

static const char *judge(const struct expected *expected, const struct outcome *got, int kind, char *text,
                         size_t size) {
  /* docs/limits.md: libraries that end the process by themselves, or never, without memory */
  const bool is_memory = kind == KIND_MEMORY || kind == KIND_ALL_MEMORY;
  if (is_memory && uses_threads && WIFSIGNALED(got->status) && WTERMSIG(got->status) == SIGKILL) return NULL;
  if (is_memory && WIFEXITED(got->status) && WEXITSTATUS(got->status) == 127 &&
      strcmp(got->err, "out of memory\n") == 0)
    return NULL;
  if (is_memory && strstr(got->err, "libdw.so")) return NULL;
  if (got->is_stuck) return "never ended";
  if (WIFSIGNALED(got->status)) {
    snprintf(text, size, "%s", strsignal(WTERMSIG(got->status)));
    return text;
  }
  const int code = WEXITSTATUS(got->status);
  const bool has_ended_well = code == WEXITSTATUS(expected->outcome.status) &&
                              (code <= PTO_EXIT_FINDINGS || strcmp(got->err, expected->outcome.err) == 0);
  if (!has_ended_well && (code == PTO_EXIT_FINDINGS || (has_rows && code == PTO_EXIT_FAILED)) &&
      tells_failed_row(expected, got))
    return judge_files(expected, got, false, kind, text, size);
  if (!has_ended_well && code != PTO_EXIT_USAGE && code != PTO_EXIT_FAILED) {
    snprintf(text, size, "exit status %d", code);
    return text;
  }
  if (!has_ended_well && strncmp(got->err, "ptosim: ", 8) != 0 && !strstr(got->err, "\nptosim: ")) return "no sentence";
  return judge_files(expected, got, has_ended_well, kind, text, size);
}

/* ---- all of them ---- */

static void try_point(const char *command, const struct expected *expected, int kind, uint64_t n) {
  static struct outcome got;
  char text[512];
  run(command, kind, n, &got);
  const char *wrong = judge(expected, &got, kind, text, sizeof text);
  __atomic_add_fetch(&totals->tried, 1, __ATOMIC_RELAXED);
  if (wrong) {
    __atomic_add_fetch(&totals->failed, 1, __ATOMIC_RELAXED);
    const struct pto_tree_file *out = pto_file_tree_find(&got.files, ".out");
    printf("ptosim %s\n    %s %llu: %s (exit status %d)\n      %.300s\n      %.300s\n", command, kinds[kind],
           (unsigned long long)n, wrong, WEXITSTATUS(got.status), got.err, out ? out->bytes : "");
  }
  pto_file_tree_fini(&got.files);
}

static uint64_t largest(const struct pto_file_tree *tree) {
  uint64_t size = 0;
  for (size_t i = 0; i < tree->count; i++)
    if (!pto_file_tree_find(&before, tree->files[i].path)) size = pto_max_u64(size, tree->files[i].size);
  return size;
}

/* Some of a kind, spread evenly over all. */
static void try_some(const char *command, const struct expected *expected, int kind, uint64_t all, uint64_t points) {
  const uint64_t count = pto_min_u64(all, points);
  for (uint64_t i = 0; i < count; i++) try_point(command, expected, kind, 1 + i * all / count);
}

static void try_chosen(const char *command, const struct expected *expected, uint64_t begin_ns) {
  uint64_t stacks;
  const uint64_t calls = met->count;
  if (calls > MOST_POINTS) fail_msg("ptosim %s: %llu calls are too many", command, (unsigned long long)calls);
  const size_t count = failing_points_choose(met, &stacks);
  for (size_t i = 0; i < count; i++) {
    const struct failing_point point = met->points[i];
    try_point(command, expected, (int)point.kind, point.n);
    if (point.kind == KIND_MEMORY) try_point(command, expected, KIND_ALL_MEMORY, point.n);
  }
  __atomic_add_fetch(&totals->stacks, stacks, __ATOMIC_RELAXED);
  printf("%5.1f s, %llu calls, %llu stacks, %zu points: %s\n", (double)(pto_clock_ns() - begin_ns) / 1e9,
         (unsigned long long)calls, (unsigned long long)stacks, count, command);
  fflush(stdout);
}

/* is_refused: it ends with PTO_EXIT_USAGE without a failure, too. */
static void try_command(const char *command, bool is_refused, uint64_t points) {
  static struct expected expected;
  const uint64_t begin_ns = pto_clock_ns();
  const char *only = getenv("PTO_FAULTS_AT");
  has_rows = strncmp(command, "adopt ", strlen("adopt ")) == 0;
  uses_threads = strstr(command, "op test graph") || strstr(command, "--engine threads") || strstr(command, "perf ") ||
                 strstr(command, "--ranks");
  run(command, FAILING_NOTHING, 1, &expected.again);
  if (met) met->count = 0;
  run(command, FAILING_NOTHING, 1, &expected.outcome);
  assert_true(WIFEXITED(expected.outcome.status));
  if (!is_refused && WEXITSTATUS(expected.outcome.status) >= PTO_EXIT_USAGE && !strstr(command, "errors/"))
    fail_msg("ptosim %s ends with %d: %s", command, WEXITSTATUS(expected.outcome.status), expected.outcome.err);
  const uint64_t room = largest(&expected.outcome.files);
  if (only) {
    for (int kind = 1; kind < KIND_COUNT; kind++) try_point(command, &expected, kind, strtoull(only, NULL, 10));
  } else if (points == CHOSEN_POINTS) {
    try_some(command, &expected, KIND_ROOM, room, ROOMS);
    try_chosen(command, &expected, begin_ns);
  } else {
    uint64_t counts[KIND_COUNT];
    memcpy(counts, shared->counts, sizeof counts);
    for (int kind = 1; kind < KIND_ROOM; kind++) try_some(command, &expected, kind, counts[kind], points);
    try_some(command, &expected, KIND_ROOM, room, pto_min_u64(points, ROOMS));
  }
  pto_file_tree_fini(&expected.outcome.files);
  pto_file_tree_fini(&expected.again.files);
}

static bool has_onnx, has_cxx;

static bool is_chosen(const char *command) {
  const char *pattern = getenv("PTO_FAULTS");
  return !pattern || strstr(command, pattern);
}

/* Whether a command with these words is tried: of what takes long to prepare. */
static bool is_needed(const char *words) {
  bool is_so = false;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(commands); i++) is_so |= strstr(commands[i], words) && is_chosen(commands[i]);
  return is_so && getenv("PTO_TEST_LONG");
}

static bool is_adopting(const char *command) { return strstr(command, "scale.json") || strstr(command, "luck.json"); }

/* Takes commands, as the other processes of the test do, until none is left: the last first, which take longest. */
static void take_commands(void) {
  const char *points = getenv("PTO_FAULTS_POINTS");
  const bool is_long = getenv("PTO_TEST_LONG") != NULL;
  for (size_t taken;
       (taken = __atomic_fetch_add(&totals->commands, 1, __ATOMIC_RELAXED)) < PTO_ARRAY_LENGTH(commands);) {
    const size_t i = PTO_ARRAY_LENGTH(commands) - 1 - taken;
    if ((!has_onnx && strstr(commands[i], ".onnx")) || (!has_cxx && is_adopting(commands[i]))) continue;
    const char mark = strchr("~+!", commands[i][0]) ? commands[i][0] : ' ';
    if (is_chosen(commands[i]) && (getenv("PTO_FAULTS") || is_long || mark != '~'))
      try_command(commands[i] + (mark != ' '), mark == '!',
                  points        ? strtoull(points, NULL, 10)
                  : is_long     ? CHOSEN_POINTS
                  : mark == '+' ? MORE_POINTS
                                : POINTS);
  }
}

static void *share(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  return memory;
}

/* Of the long form: what another process of it does. */
static void take_commands_beside(int number) {
  snprintf(work, sizeof work, "%s/%d", folder, number);
  assert_int_equal(mkdir(work, 0777), 0);
  assert_int_equal(chdir(work), 0);
  shared = share(sizeof *shared);
  met = failing_points_map();
  assert_non_null(met);
  take_commands();
}

static void test_every_verb_ends_well_or_with_a_sentence_whatever_fails(void **state) {
  const int processes = getenv("PTO_TEST_LONG") ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 0;
  int failed = 0;
  if (!PTO_HAS_FAILING_MALLOC) skip();
  for (int i = 1; i <= processes; i++) {
    fflush(NULL);
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process > 0) continue;
    take_commands_beside(i);
    exit(EXIT_SUCCESS);
  }
  for (int i = 1; i <= processes; i++) {
    int status;
    assert_true(wait(&status) > 0);
    failed += status != 0;
  }
  take_commands();
  printf("%llu failures tried", (unsigned long long)totals->tried);
  if (totals->stacks > 0) printf(", of %llu call stacks", (unsigned long long)totals->stacks);
  printf("\n");
  assert_int_equal(failed + (int)totals->failed, 0);
}

static void test_chosen_are_the_first_the_second_and_the_last_of_each_stack(void **state) {
  static const uint32_t wanted[][2] = {{1, 1}, {1, 2}, {1, 1000}, {1, 1001}, {2, 1}};
  uint64_t stacks;
  struct failing_points *all = failing_points_map();
  assert_non_null(all);
  for (uint64_t n = 1; n <= 1000; n++) failing_points_add(all, 1, n);
  failing_points_add(all, 1, 1001);
  failing_points_add(all, 2, 1);
  assert_int_equal(failing_points_choose(all, &stacks), PTO_ARRAY_LENGTH(wanted));
  assert_int_equal(stacks, 3);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wanted); i++) {
    assert_int_equal(all->points[i].kind, wanted[i][0]);
    assert_int_equal(all->points[i].n, wanted[i][1]);
  }
  munmap(all, sizeof *all);
}

/* ---- around it ---- */

static void make_texts(void) {
  char text[4096];
  assert_int_equal(mkdir("data", 0777), 0);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(texts); i++) {
    fill_in(texts[i].text, text, sizeof text);
    FILE *file = fopen(texts[i].name, "w");
    assert_true(file && fputs(text, file) >= 0 && fclose(file) == 0);
  }
  pto_file_tree_read(&before, work);
}

/* A graph of one node, where Python has onnx; the package is looked for beside this program. */
static bool make_onnx(const char *build) {
  char package[PATH_MAX + 32], from[PATH_MAX + 32];
  snprintf(package, sizeof package, "%s/tests/tests/python", build);
  snprintf(from, sizeof from, "%s/python", sources);
  if (symlink(from, package) != 0 && errno != EEXIST) return false;
  return system(
             "for p in python3 /usr/bin/python3; do $p -c \"import cffi, numpy, onnx\nfrom onnx import TensorProto as "
             "t, "
             "helper as h\nx, y = (h.make_tensor_value_info(n, t.FLOAT, [2, 3]) for n in 'xy')\nonnx.save(h.make_model("
             "h.make_graph([h.make_node('Relu', ['x'], ['y'])], 'g', [x], [y])), 'model.onnx')\" 2>/dev/null && exit "
             "0; "
             "done; exit 1") == 0;
}

static bool prepare(const char *const *runs, size_t count) {
  static struct outcome outcome;
  for (size_t i = 0; i < count; i++) {
    run(runs[i], 0, 1, &outcome);
    if (outcome.status != 0) printf("ptosim %s: %s\n", runs[i], outcome.err);
    if (outcome.status != 0) return false;
    pto_file_tree_fini(&before);
    before = outcome.files;
  }
  return true;
}

/* C++ is compiled as it is for adopted programs, into the folder of the test. */
static bool prepare_adopting(void) {
  char isa[PATH_MAX + 32], compat[PATH_MAX + 32];
  snprintf(isa, sizeof isa, "%s/tests/compat/isa", sources);
  snprintf(compat, sizeof compat, "%s/compat", sources);
  setenv("PTO_ISA", isa, 1);
  setenv("PTO_COMPAT", compat, 1);
  setenv("PTO_ADOPTED", "adopted", 1);
  return (is_needed("scale.json") || is_needed("luck.json")) && prepare(adopting, PTO_ARRAY_LENGTH(adopting));
}

/* Whole, as the test changes its folder; the one four folders above this program where nothing says. */
static bool find_build(char build[PATH_MAX]) {
  const char *said = getenv("PTO_BUILD_DIR");
  if (said) return realpath(said, build) != NULL;
  const ssize_t length = readlink("/proc/self/exe", build, PATH_MAX - 1);
  if (length < 0) return false;
  build[length] = '\0';
  for (int up = 0; up < 4; up++) *strrchr(build, '/') = '\0';
  return true;
}

static int setup(void **state) {
  char build[PATH_MAX], command[3 * PATH_MAX];
  if (!find_build(build)) return -1;
  temporary_template(folder, "pto_faults");
  if (!mkdtemp(folder)) return -1;
  snprintf(stripped, sizeof stripped, "%s/programs", folder);
  snprintf(work, sizeof work, "%s/0", folder);
  snprintf(
      command, sizeof command,
      "mkdir -p '%s/errors' && cd '%s/programs' && for p in vector_example inplace_update war_reuse spmd errors/heap "
      "all_reduce tensor_parallel_mlp kv_cache train_mlp paged_attention_unroll; do "
      "strip -g -o '%s'/$p.so $p.so || exit 1; done",
      stripped, build, stripped);
  if (system(command) != 0) return -1;
  setenv("PTO_PROGRAM_PATH", stripped, 1);
  setenv("PTO_FAULTS_ACT", "1", 1);
  first_process = getpid();
  totals = share(sizeof *totals);
  shared = share(sizeof *shared);
  if (!getcwd(sources, sizeof sources) || mkdir(work, 0777) != 0 || chdir(work) != 0) return -1;
  has_onnx = is_needed(".onnx") && make_onnx(build);
  make_texts();
  if (!prepare(preparations, PTO_ARRAY_LENGTH(preparations))) return -1;
  has_cxx = prepare_adopting();
  return 0;
}

static int teardown(void **state) {
  char command[2 * PATH_MAX];
  pto_file_tree_fini(&before);
  if (getpid() != first_process) return 0;
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return chdir("/") == 0 ? system(command) : -1;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chosen_are_the_first_the_second_and_the_last_of_each_stack),
      cmocka_unit_test(test_every_verb_ends_well_or_with_a_sentence_whatever_fails),
  };
  /* A process that a verb has started, which is to be ptosim. */
  if (getenv("PTO_FAULTS_ACT")) return pto_ptosim(argc, argv);
  return cmocka_run_group_tests(tests, setup, teardown);
}
