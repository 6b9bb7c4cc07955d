/* SPDX-License-Identifier: MIT */
/*
 * Every verb, with one failure at a time: the n-th allocation, open, read, write, rename, process ... fails.
 *
 * Whatever fails, a verb ends as it does without the failure and with the same output and files, or with 2 or 3 and one
 * sentence; each file is whole or as it was, none is left beside, and no signal and no endless loop ends it.  A verb
 * runs in a process forked off, which is linked with calls that fail (tests/support/failing_calls.h); its own processes
 * are this program again.
 *
 * The first point of each kind, of the quick verbs, which is the same on every machine; with PTO_TEST_LONG all points.
 * PTO_FAULTS=PATTERN: only the commands that have it; PTO_FAULTS_AT=N: only the n-th of each kind.  To add a command: a
 * line in commands[].
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cli/main/verb.h>
#include <runtime/base/base.h>
#include <runtime/base/clock.h>
#include <tests/support/failing_calls.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/file_tree.h>
#include <tests/support/temporary_path.h>

enum {
  POINTS = 1,      /* of a kind, without PTO_TEST_LONG */
  MORE_POINTS = 2, /* of commands with + */
  CPU_SECONDS = 5, /* after which a command has an endless loop */
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

#define RUN " --engine virtual --chip tiny"

/* A program of the existing runtime, of three tensors of 16 floats; no output is judged. */
#define MANIFEST(name, entry, scalars)                                                                                 \
  "{\"format\": \"pto-adopted\", \"version\": 1, \"name\": \"" name                                                    \
  "\", \"architecture\": \"a2a3\", \"mode\": \"tensormap_and_ringbuffer\", \"judge\": \"none\", \"orchestration\": "   \
  "{\"source\": \"@/tests/compat/scenes/" name ".cpp\", \"entry\": \"" entry                                           \
  "\"}, \"kernels\": [{\"func_id\": 0, \"core\": \"aiv\", \"name\": \"add\", \"source\": "                             \
  "\"@/tests/compat/scenes/add.cpp\"}, {\"func_id\": 1, \"core\": \"aiv\", \"name\": \"scale\", \"source\": "          \
  "\"@/tests/compat/scenes/scale_kernel.cpp\"}], \"tensors\": [{\"name\": \"a\", \"direction\": \"in\", \"dtype\": "   \
  "\"f32\", \"shape\": [16], \"bytes\": \"a.bin\"}, {\"name\": \"b\", \"direction\": \"inout\", \"dtype\": \"f32\", "  \
  "\"shape\": [16], \"bytes\": \"a.bin\"}, {\"name\": \"out\", \"direction\": \"out\", \"dtype\": \"f32\", "           \
  "\"shape\": [16]}], \"scalars\": [" scalars "], \"clusters\": 8}\n"

/* What commands read: files of these texts, and what these commands make, which do not fail. */
static const struct {
  const char *name, *text;
} texts[] = {
    {"cases.list", "vector_example" RUN "\ninplace_update" RUN "\n"},
    {"changed.list", "vector_example" RUN " --deps pto\ninplace_update" RUN "\n"},
    {"rows.csv",
     "row,program,settings,tasks_submitted,aicore_tasks,wait_edges,metric,value_us,spread_percent,date,era,source,"
     "set,base,run,chip\n"
     "narrow,,,,,,makespan,2.34,,,,,mine,,spmd --set tasks=aiv:48,@/tests/regress/plain.ini\n"},
    {"order.save",
     "# ptosim explore: inplace_update, rules pto: schedule newest, shrunk\nhold 0.0.1.0 until 1.0.1.0\n"},
    {"a.bin", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
    {"scale.json", MANIFEST("scale", "scale_entry", "{\"name\": \"factor\", \"bits\": \"0x40200000\"}")},
    {"luck.json", MANIFEST("luck", "luck_entry", "")},
    {"data/rows.csv", "row,metric,value_us,era,set,date,source\n"
                      "PAU C2,orchestrator,300,wiring in scheduler,calibrate,2026-01-01,ours\n"},
    {"data/host.csv", "key,value,low,high,unit,note,source\ncompletion_by_register,,150,,ns,,same\n"},
};
static const char *const preparations[] = {
    "run vector_example --quiet --json a.json --stats --no-gains --deps-json a.deps" RUN,
    "run inplace_update --quiet --json b.json --stats --no-gains --deps-json b.deps" RUN,
    "run vector_example --quiet --dump 1 kept" RUN,
    "regress cases.list --update --quiet",
    "explore vector_example --schedules 4 --quiet --shard 1/2 --json 1.lines --chip tiny",
    "explore vector_example --schedules 4 --quiet --shard 2/2 --json 2.lines --chip tiny",
    "import @/tests/fuzz/corpus/capture_fuzz/deps -o capture.json --quiet",
};

/* Their objects are kept, so that only luck.json is compiled at each point. */
static const char *const adopting[] = {"adopt scale.json --quiet"};

/* Those with ~ take long: only with PTO_TEST_LONG.  + is for more points, where it is not the first that finds what was
 * wrong once; ! for what is refused.  What needs a compiler of C++ or Python's onnx is left out where
 * that is not there. */
static const char *const commands[] = {
    "help",
    "--version",
    "list programs",
    "list programs vector_example",
    "list kernels matmul",
    "list ops add",
    "list models gpt2",
    "list chips tiny --json chip.json",
    "list programs vector_example --timeout 60",
    "op support add --json op.json",
    "op test add --dtype f32 --shape 16 --layout contiguous --json op.json",
    "op test graph:relu --dtype f32 --shape 16 --json op.json",
    "op perf add --dtype f32 --shape 16 --json op.json",
    "~op perf graph:relu --dtype f32 --shape 16 --json op.json",
    "run vector_example" RUN,
    "run train_mlp --set steps=2 --set check=false --set checkpoint=mlp.webnn" RUN,
    "~explore kv_cache --set steps=2 --schedules 2 --chip tiny",
    "graph @/tests/fuzz/corpus/graph_text_fuzz/all_operations.webnn --save graph.webnn",
    "~run vector_example --engine threads --workers 2 --chip tiny",
    "run vector_example --json run.json --stats --trace run.trace --report run.html --dot run.dot --deps-json run.deps "
    "--junit "
    "run.xml --dump 0 kept2 --output f=f.npy" RUN,
    "run vector_example --trace run.json.gz" RUN,
    "run vector_example --trace run.pftrace" RUN,
    "run errors/heap --json run.json --waits-dot waits.dot" RUN,
    "run war_reuse --deps pto --policy lifo --json run.json" RUN,
    "check vector_example --chip tiny --json check.json --report check.html",
    "check inplace_update --deps pto --chip tiny --json check.json --sarif check.sarif --junit check.xml",
    "check vector_example --observe --chip tiny --json check.json",
    "~check vector_example --advise --chip tiny --json check.json",
    "why inplace_update 0 1 --chip tiny --json why.json",
    "explore vector_example --schedules 3 --chip tiny --json explore.json",
    "explore vector_example --all --chip tiny --json explore.json",
    "~explore inplace_update --deps pto --replay newest --chip tiny --json explore.json",
    "explore inplace_update --deps pto --replay order.save --chip tiny",
    "explore inplace_update --deps pto --schedules 20 --chip tiny --json explore.json --save explore.save",
    "~explore vector_example --schedules 4 --quiet --shard 1/2 --json 1.lines --chip tiny",
    "merge 1.lines 2.lines --json merge.json",
    "import @/tests/fuzz/corpus/capture_fuzz/deps -o import.json",
    "run capture.json --chip tiny --json run.json",
    "diff a.deps b.deps --json diff.json",
    "compare a.json b.json --json compare.json --report compare.html --junit compare.xml",
    "compare cases.list.baseline cases.list.baseline",
    "task kept/1 --json task.json",
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --json graph.json --dot graph.dot",
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --save graph.json --save-weights safetensors",
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --save graph.json --save-weights manifest",
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --run --compare reference --json graph.json" RUN,
    "graph @/tests/fuzz/corpus/graph_json_fuzz/all_operations.json --run --check --json graph.json" RUN,
    "~graph model.onnx --run --json graph.json --save graph.webnn" RUN,
    "~run all_reduce --ranks 2 --json run.json --trace run.trace --report run.html --junit run.xml" RUN,
    "~run all_reduce --ranks 2 --comm-stats --stats --no-gains --dot run.dot --deps-json run.deps" RUN,
    "check all_reduce --ranks 2 --chip tiny --json check.json --sarif check.sarif",
    "~check tensor_parallel_mlp --ranks 2 --observe --chip tiny --json check.json",
    "~why all_reduce 0.0 1.0 --ranks 2 --chip tiny --json why.json",
    "+explore all_reduce --ranks 2 --schedules 2 --chip tiny --json explore.json",
    "~predict all_reduce --ranks 2 --chip tiny --runs 1 --json predict.json",
    "suite vector_example --engine virtual --chip tiny --json suite.json --junit suite.xml",
    "~predict vector_example --chip tiny --runs 2 --json predict.json",
    "~what-if vector_example --chip tiny --jobs 1 --json what.json",
    "~validate rows.csv --runs 0 -o page.md --json validate.json",
    "~calibrate --chip a2a3 --data data -o chip.ini",
    "~regress cases.list --json regress.json --report regress.html --junit regress.xml",
    "regress changed.list --baseline cases.list.baseline --update --quiet",
    "!adopt nothing.json",
    "~adopt scale.json --json adopt.json --junit adopt.xml",
    "~adopt luck.json --engine virtual --json adopt.json",
    "~check scale.json --deps pto --json check.json",
    "~perf vector_example --chip tiny",
};

/* ---- one run ---- */

struct outcome {
  int status; /* as waitpid tells it */
  bool is_stuck;
  char err[ERR_BYTES];
  struct pto_file_tree files; /* standard output is the file ".out" */
};

static struct shared { uint64_t counts[KIND_COUNT]; } * shared;
static char work[TEMPORARY_PATH_BYTES], sources[PATH_MAX];
static char stripped[TEMPORARY_PATH_BYTES]; /* programs: lines of sources, which may be absent, are in no output */
static struct pto_file_tree before;

static void arm(int kind, uint64_t n) {
  const struct rlimit room = {n - 1, n - 1}, cpu = {CPU_SECONDS, CPU_SECONDS};
  setrlimit(RLIMIT_CPU, &cpu);
  if (kind == KIND_ROOM) setrlimit(RLIMIT_FSIZE, &room);
  allocation_count = 0;
  memset(call_counts, 0, sizeof call_counts);
  fail_stays = kind == KIND_ALL_MEMORY;
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

/* Where two texts come apart: their ends, where they do not.  Times of this machine differ from run to run: numbers,
 * and blanks that align them, are not looked at. */
static void come_apart(const char **a, const char **b, bool has_times) {
  static const char skipped[] = "0123456789. -+eumnspx%#\xc2\xb5";
  for (;; ++*a, ++*b) {
    if (has_times) {
      *a += strspn(*a, skipped);
      *b += strspn(*b, skipped);
    }
    if (**a != **b || !**a) return;
  }
}

static bool is_alike(const char *a, const char *b, bool has_times) {
  come_apart(&a, &b, has_times);
  return *a == *b;
}

/* What perf prints of samples, which fall anywhere: of two texts that have them what stands before. */
static bool is_alike_but_for_samples(const char *a, const char *b) {
  static const char samples[] = " samples of ";
  const char *const ends[] = {strstr(a, samples), strstr(b, samples)};
  if (!ends[0] || !ends[1]) return false;
  char *heads[] = {strndup(a, (size_t)(ends[0] - a)), strndup(b, (size_t)(ends[1] - b))};
  assert_true(heads[0] && heads[1]);
  const bool is_so = is_alike(heads[0], heads[1], true);
  free(heads[0]);
  free(heads[1]);
  return is_so;
}

static bool is_same(const struct pto_tree_file *a, const struct pto_tree_file *b, bool has_times) {
  if (!a || !b) return false;
  if (a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0) return true;
  return has_times && (is_alike(a->bytes, b->bytes, true) || is_alike_but_for_samples(a->bytes, b->bytes));
}

struct expected {
  struct outcome outcome, again; /* what two runs without a failure left: where they differ, times stand */
};

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static bool has_times(const struct expected *expected, const char *path) {
  const struct pto_tree_file *one = pto_file_tree_find(&expected->outcome.files, path),
                             *two = pto_file_tree_find(&expected->again.files, path);
  return strcmp(path, ".out") == 0 || ends_with(path, ".xml") || !is_same(one, two, false);
}

/* JSON that differs in what the program's file says, which may not be there to be read: the function and the line of a
 * place. */
static void leave_out(json_t *value) {
  static const char *const places[] = {"function", "line"};
  const char *key;
  json_t *member;
  size_t i;
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(places); k++) json_object_del(value, places[k]);
  json_object_foreach(value, key, member) leave_out(member);
  for (i = json_array_size(value); i-- > 0;) {
    member = json_array_get(value, i);
    const char *kind = json_string_value(json_object_get(member, "kind"));
    if (kind && strcmp(kind, "function") == 0) /* SARIF's */
      json_array_remove(value, i);
    else
      leave_out(member);
  }
}

static char *text_without(const struct pto_tree_file *file) {
  json_t *root = json_loadb(file->bytes, file->size, JSON_REJECT_DUPLICATES, NULL);
  leave_out(root);
  char *text = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  return text;
}

static bool differs_in_places(const struct pto_tree_file *got, const struct pto_tree_file *good) {
  char *both[] = {text_without(got), text_without(good)};
  const bool is_so = both[0] && both[1] && is_alike(both[0], both[1], true);
  free(both[0]);
  free(both[1]);
  return is_so;
}

/* A report of what failed, or one that tells less, from its first byte to its last. */
static bool is_whole(const struct pto_tree_file *file) {
  json_t *root = json_loadb(file->bytes, file->size, JSON_REJECT_DUPLICATES, NULL);
  if (root) return json_decref(root), true;
  return ends_with(file->bytes, "</html>\n") || ends_with(file->bytes, "</testsuite>\n") ||
         (ends_with(file->path, ".dot") && ends_with(file->bytes, "}\n")) ||
         (ends_with(file->path, ".md") && ends_with(file->bytes, "\n"));
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
    if (is_short && (is_out || is_whole(file)) && !hides_lost(file)) continue;
    const struct pto_tree_file *good = pto_file_tree_find(all, file->path);
    if (is_same(file, good, has_times(expected, file->path))) continue;
    if (may_miss_places && good && differs_in_places(file, good)) continue;
    if (good && has_estimates && is_whole(file)) continue;
    if (may_tell_less && good && is_whole(file)) continue;
    if (kind == FAILING_MAP && strncmp(file->path, "kept2/", 6) == 0)
      continue; /* arrays lie elsewhere, and a dump numbers them by address */
    if (!has_ended_well && is_same(file, pto_file_tree_find(&before, file->path), false)) continue;
    if (!has_ended_well && good && is_whole(file)) continue;
    if (!good) return snprintf(text, size, "%s is left, %zu bytes", file->path, file->size), text;
    const char *here = file->bytes, *there = good->bytes;
    come_apart(&here, &there, has_times(expected, file->path));
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
    if (is_told && good && !is_same(&got->files.files[i], good, true)) return true;
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

static uint64_t tried, failed;

static void try_point(const char *command, const struct expected *expected, int kind, uint64_t n) {
  static struct outcome got;
  char text[512];
  run(command, kind, n, &got);
  const char *wrong = judge(expected, &got, kind, text, sizeof text);
  tried++;
  if (wrong) {
    failed++;
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

/* is_refused: it ends with PTO_EXIT_USAGE without a failure, too. */
static void try_command(const char *command, bool is_refused, uint64_t points) {
  static struct expected expected;
  uint64_t counts[KIND_COUNT];
  const uint64_t begin_ns = pto_clock_ns();
  const char *only = getenv("PTO_FAULTS_AT");
  has_rows = strncmp(command, "adopt ", strlen("adopt ")) == 0;
  uses_threads = strstr(command, "op test graph") || strstr(command, "--engine threads") || strstr(command, "perf ") ||
                 strstr(command, "--ranks");
  run(command, 0, 1, &expected.outcome);
  memcpy(counts, shared->counts, sizeof counts);
  run(command, 0, 1, &expected.again);
  counts[KIND_ROOM] = largest(&expected.outcome.files);
  if (getenv("PTO_FAULTS_COUNTS")) {
    printf("%-60.60s ends with %d:", command, WEXITSTATUS(expected.outcome.status));
    for (int kind = 1; kind < KIND_COUNT; kind++) printf(" %llu", (unsigned long long)counts[kind]);
    printf(" %llu ms\n%s", (unsigned long long)(pto_clock_ns() - begin_ns) / 2000000,
           WEXITSTATUS(expected.outcome.status) ? expected.outcome.err : "");
  }
  assert_true(WIFEXITED(expected.outcome.status));
  if (!is_refused && WEXITSTATUS(expected.outcome.status) >= PTO_EXIT_USAGE && !strstr(command, "errors/"))
    fail_msg("ptosim %s ends with %d: %s", command, WEXITSTATUS(expected.outcome.status), expected.outcome.err);
  for (int kind = 1; kind < KIND_COUNT; kind++) {
    if (only) {
      try_point(command, &expected, kind, strtoull(only, NULL, 10));
      continue;
    }
    const uint64_t most = kind == KIND_ROOM ? pto_min_u64(points, 8) : points;
    const uint64_t count = pto_min_u64(counts[kind], most);
    for (uint64_t i = 0; i < count; i++) try_point(command, &expected, kind, 1 + i * counts[kind] / count);
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

static void test_every_verb_ends_well_or_with_a_sentence_whatever_fails(void **state) {
  const char *points = getenv("PTO_FAULTS_POINTS");
  const bool is_long = getenv("PTO_TEST_LONG") != NULL;
  if (!PTO_HAS_FAILING_MALLOC) skip();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(commands); i++) {
    if ((!has_onnx && strstr(commands[i], ".onnx")) || (!has_cxx && is_adopting(commands[i]))) continue;
    const char mark = strchr("~+!", commands[i][0]) ? commands[i][0] : ' ';
    if (is_chosen(commands[i]) && (getenv("PTO_FAULTS") || is_long || mark != '~'))
      try_command(commands[i] + (mark != ' '), mark == '!',
                  points        ? strtoull(points, NULL, 10)
                  : is_long     ? UINT64_MAX
                  : mark == '+' ? MORE_POINTS
                                : POINTS);
  }
  printf("%llu failures tried\n", (unsigned long long)tried);
  assert_int_equal(failed, 0);
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
  temporary_template(stripped, "pto_faults_programs");
  if (!mkdtemp(stripped)) return -1;
  snprintf(command, sizeof command,
           "mkdir '%s/errors' && cd '%s/programs' && for p in vector_example inplace_update war_reuse spmd errors/heap "
           "all_reduce tensor_parallel_mlp kv_cache train_mlp paged_attention_unroll; do "
           "strip -g -o '%s'/$p.so $p.so || exit 1; done",
           stripped, build, stripped);
  if (system(command) != 0) return -1;
  setenv("PTO_PROGRAM_PATH", stripped, 1);
  setenv("PTO_FAULTS_ACT", "1", 1);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  temporary_template(work, "pto_faults");
  if (shared == MAP_FAILED || !getcwd(sources, sizeof sources) || !mkdtemp(work) || chdir(work) != 0) return -1;
  has_onnx = is_needed(".onnx") && make_onnx(build);
  make_texts();
  if (!prepare(preparations, PTO_ARRAY_LENGTH(preparations))) return -1;
  has_cxx = prepare_adopting();
  return 0;
}

static int teardown(void **state) {
  char command[2 * PATH_MAX];
  snprintf(command, sizeof command, "rm -rf '%s' '%s'", work, stripped);
  pto_file_tree_fini(&before);
  return chdir("/") == 0 ? system(command) : -1;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_verb_ends_well_or_with_a_sentence_whatever_fails),
  };
  /* A process that a verb has started, which is to be ptosim. */
  if (getenv("PTO_FAULTS_ACT")) return pto_ptosim(argc, argv);
  return cmocka_run_group_tests(tests, setup, teardown);
}
