/* SPDX-License-Identifier: MIT */
/*
 * ptosim from outside: exit codes, sentences, JSON keys and files of the built executable, run as a child with real
 * programs.
 *
 * The executable is PTO_BUILD_DIR/ptosim, or the one two folders above this test.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <formats/npy.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

#define MOST_WORDS 40

static char ptosim[PATH_MAX];
static char folder[64]; /* for files */

/* ---- running it ---- */

struct outcome {
  int exit_code; /* -1: a signal */
  char *out, *err;
};
static struct outcome last;

static char *read_back(int fd) {
  off_t size = lseek(fd, 0, SEEK_END);
  char *text = calloc((size_t)size + 1, 1);
  assert_true(pread(fd, text, (size_t)size, 0) == size);
  close(fd);
  return text;
}

static void forget(void) {
  free(last.out);
  free(last.err);
  last = (struct outcome){0};
}

static void run_words(char *const *words) {
  forget();
  int out = memfd_create("out", 0), err = memfd_create("err", 0), status = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t pid;
  assert_int_equal(posix_spawn(&pid, ptosim, &actions, NULL, words, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  while (waitpid(pid, &status, 0) < 0) assert_int_equal(errno, EINTR);
  last.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  last.out = read_back(out);
  last.err = read_back(err);
}

/* Runs ptosim with the words of a line, parted by blanks, where %s are arguments. */
__attribute__((format(printf, 1, 2))) static int run(const char *format, ...) {
  char line[4096], *words[MOST_WORDS + 1] = {(char *)"ptosim"}, *rest = line;
  size_t count = 1;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  for (char *word; (word = strsep(&rest, " ")) != NULL && count < MOST_WORDS;) words[count++] = word;
  words[count] = NULL;
  run_words(words);
  return last.exit_code;
}

static const char *path_of(const char *name) {
  static char paths[4][128];
  static unsigned next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static int make_folder(void **state) {
  const char *build = getenv("PTO_BUILD_DIR"), *temporary = getenv("TMPDIR");
  if (build)
    snprintf(ptosim, sizeof ptosim, "%s/ptosim", build);
  else {
    ssize_t length = readlink("/proc/self/exe", ptosim, sizeof ptosim - 32);
    if (length < 0) return -1;
    ptosim[length] = '\0';
    for (int up = 0; up < 3; up++) *strrchr(ptosim, '/') = '\0';
    strcat(ptosim, "/ptosim");
  }
  snprintf(folder, sizeof folder, "%.40s/pto_cli_XXXXXX", temporary ? temporary : "/tmp");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  char command[128];
  forget();
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command);
}

/* ---- what it said ---- */

static json_t *parse(const char *text) {
  json_error_t error;
  json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!root) fail_msg("%s at %d:%d of %s", error.text, error.line, error.column, text);
  return root;
}

static json_t *load(const char *path) {
  json_error_t error;
  json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!root) fail_msg("%s at %d:%d of %s", error.text, error.line, error.column, path);
  return root;
}

static json_int_t integer(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!json_is_integer(value)) fail_msg("%s is no integer", key);
  return json_integer_value(value);
}

static const char *text_of(json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  if (!text) fail_msg("%s is no string", key);
  return text;
}

/* The run left with this code, and standard error is one line that begins with "ptosim: " and holds this part. */
static void assert_complaint(int exit_code, const char *part) {
  if (last.exit_code != exit_code || !strstr(last.err, part) || strncmp(last.err, "ptosim: ", 8) != 0 ||
      strchr(last.err, '\n') != last.err + strlen(last.err) - 1)
    fail_msg("exit %d instead of %d, or not one line about \"%s\": %s", last.exit_code, exit_code, part, last.err);
}

static void assert_ok(void) {
  if (last.exit_code != 0) fail_msg("exit %d: %s%s", last.exit_code, last.out, last.err);
}

/* ---- run: results ---- */

static void test_a_right_run_leaves_with_0_and_has_every_key(void **state) {
  static const char *const strings[] = {"program", "engine", "chip", "deps", "policy", "output_digest", "status"};
  static const char *const integers[] = {"workers",
                                         "seed",
                                         "rounds",
                                         "tasks",
                                         "edges",
                                         "live_edges",
                                         "window_high_water",
                                         "heap_high_water_bytes",
                                         "h2d_bytes",
                                         "d2h_bytes",
                                         "d2d_bytes",
                                         "exit"};
  assert_int_equal(run("run vector_example --json -"), 0);
  assert_string_equal(last.err, "");
  assert_ptr_equal(strchr(last.out, '\n'), last.out + strlen(last.out) - 1); /* one line */
  json_t *root = parse(last.out);
  for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) text_of(root, strings[i]);
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) integer(root, integers[i]);
  assert_int_equal(integer(root, "tasks"), 5);
  assert_int_equal(integer(root, "edges"), 6);
  assert_string_equal(text_of(root, "program"), "vector_example");
  assert_string_equal(text_of(root, "engine"), "threads");
  assert_string_equal(text_of(root, "chip"), "tiny");
  assert_string_equal(text_of(root, "deps"), "exact");
  assert_true(json_is_null(json_object_get(root, "case")));
  assert_true(json_is_real(json_object_get(root, "wall_seconds")));
  assert_true(json_is_null(json_object_get(root, "virtual_us")));
  assert_true(json_is_null(json_object_get(root, "trace_digest")));
  assert_true(json_is_true(json_object_get(root, "verified")));
  assert_true(json_number_value(json_object_get(root, "max_abs_error")) <= 1e-3);
  assert_true(json_is_null(json_object_get(root, "error")));
  json_decref(root);
}

static void test_virtual_time_is_the_same_for_any_number_of_workers(void **state) {
  char first[32] = "", outputs[32] = "";
  double us = 0;
  for (int workers = 1; workers <= 3; workers++) {
    assert_int_equal(run("run paged_attention --engine virtual --chip a2a3 --workers %d --json -", workers), 0);
    json_t *root = parse(last.out);
    if (workers == 1) {
      snprintf(first, sizeof first, "%s", text_of(root, "trace_digest"));
      snprintf(outputs, sizeof outputs, "%s", text_of(root, "output_digest"));
      us = json_number_value(json_object_get(root, "virtual_us"));
      assert_true(us > 0);
    }
    assert_string_equal(text_of(root, "trace_digest"), first);
    assert_string_equal(text_of(root, "output_digest"), outputs);
    assert_true(json_number_value(json_object_get(root, "virtual_us")) == us);
    json_decref(root);
  }
  assert_int_equal(
      run("run paged_attention --engine threads --chip a5 --workers 2 --policy random:3 --window 64 --json -"), 0);
  json_t *root = parse(last.out);
  assert_string_equal(text_of(root, "output_digest"), outputs);
  json_decref(root);
}

static void test_a_seed_makes_the_inputs(void **state) {
  char digests[2][32];
  for (int seed = 0; seed < 2; seed++) {
    assert_int_equal(run("run bgemm --case 32x64x4 --seed %d --json -", seed), 0);
    json_t *root = parse(last.out);
    snprintf(digests[seed], sizeof digests[seed], "%s", text_of(root, "output_digest"));
    assert_int_equal(integer(root, "seed"), seed);
    assert_string_equal(text_of(root, "case"), "32x64x4");
    assert_int_equal(integer(root, "tasks"), 64);
    json_decref(root);
  }
  assert_string_not_equal(digests[0], digests[1]);
}

static void test_rounds_agree_and_say_so(void **state) {
  assert_int_equal(run("run inplace_update --rounds 4 --json -"), 0);
  json_t *root = parse(last.out);
  assert_int_equal(integer(root, "rounds"), 4);
  assert_true(json_is_true(json_object_get(root, "verified")));
  json_decref(root);
  assert_int_equal(run("run scalar_data --engine virtual --rounds 3"), 0);
  assert_non_null(strstr(last.out, "3 rounds"));
}

static void test_weaker_rules_that_break_a_program_leave_with_1(void **state) {
  assert_int_equal(
      run("run war_reuse --case short --deps pto --engine virtual --policy lifo --json %s", path_of("war.json")), 1);
  assert_complaint(1, "instead of");
  assert_non_null(strstr(last.out, "WRONG"));
  json_t *root = load(path_of("war.json"));
  assert_true(json_is_false(json_object_get(root, "verified")));
  assert_string_equal(text_of(root, "deps"), "pto");
  assert_int_equal(integer(root, "exit"), 1);
  assert_non_null(strstr(text_of(root, "error"), "output"));
  json_decref(root);
  assert_int_equal(run("run war_reuse --case short --engine virtual --policy lifo --quiet"), 0);
}

static void test_quiet_means_nothing(void **state) {
  assert_int_equal(run("run vector_example --quiet"), 0);
  assert_string_equal(last.out, "");
  assert_string_equal(last.err, "");
  assert_int_equal(run("run errors/heap --quiet --json %s", path_of("quiet.json")), 3);
  assert_string_equal(last.out, "");
  assert_string_equal(last.err, "");
  json_t *root = load(path_of("quiet.json"));
  assert_string_equal(text_of(root, "status"), "PTO_EHEAP");
  json_decref(root);
}

static void test_stats_say_where_the_time_went(void **state) {
  assert_int_equal(run("run bgemm --case 32x64x4 --engine virtual --stats --json -"), 0);
  json_t *root = parse(last.out), *stats = json_object_get(root, "stats"), *kernels = json_object_get(stats, "kernels");
  assert_int_equal(integer(stats, "calls"), 64);
  assert_true(json_array_size(kernels) >= 2);
  double total = 0, busy = json_number_value(json_object_get(json_object_get(stats, "aic"), "busy_seconds")) +
                           json_number_value(json_object_get(json_object_get(stats, "aiv"), "busy_seconds"));
  for (size_t i = 0; i < json_array_size(kernels); i++) {
    total += json_number_value(json_object_get(json_array_get(kernels, i), "total_seconds"));
    assert_true(strlen(text_of(json_array_get(kernels, i), "name")) > 1);
  }
  assert_true(fabs(total - busy) <= 1e-9 * busy && busy > 0);
  json_decref(root);
}

/* ---- run: files ---- */

static void write_matrix(const char *name, uint64_t rows, float value) {
  static float data[128 * 128];
  struct pto_error error;
  for (size_t i = 0; i < 128 * 128; i++) data[i] = value;
  assert_int_equal(pto_npy_write(path_of(name), PTO_FLOAT32, 2, (const uint64_t[]){rows, 128}, data, &error), PTO_OK);
}

static void test_inputs_come_from_files(void **state) {
  write_matrix("a.npy", 128, 1);
  /* a = 1, b = 3: (4 + 1)(4 + 2) + 4 = 34 */
  write_matrix("f34.npy", 128, 34);
  assert_int_equal(run("run vector_example --input a=%s --expect f=%s --json -", path_of("a.npy"), path_of("f34.npy")),
                   0);
  json_t *root = parse(last.out);
  assert_true(json_is_true(json_object_get(root, "verified")));
  json_decref(root);
}

static void test_a_golden_from_a_file_decides_and_tolerances_move_it(void **state) {
  write_matrix("f46.npy", 128, 46); /* 47 is right */
  assert_int_equal(run("run vector_example --expect f=%s", path_of("f46.npy")), 1);
  assert_complaint(1, "47 instead of 46");
  assert_int_equal(run("run vector_example --expect f=%s --atol 1.5", path_of("f46.npy")), 0);
  assert_int_equal(run("run vector_example --expect f=%s --atol 0 --rtol 0.03", path_of("f46.npy")), 0);
  assert_int_equal(run("run vector_example --expect f=%s --atol 0 --rtol 0.02", path_of("f46.npy")), 1);
}

static void test_files_that_do_not_fit_are_refused(void **state) {
  write_matrix("short.npy", 64, 1);
  run("run vector_example --input a=%s", path_of("short.npy"));
  assert_complaint(2, "a is f32[128,128]");
  run("run vector_example --input f=%s", path_of("short.npy"));
  assert_complaint(2, "no input called \"f\"; it has a, b");
  run("run vector_example --expect a=%s", path_of("short.npy"));
  assert_complaint(2, "no output called \"a\"; it has f");
  run("run vector_example --input a=%s", path_of("missing.npy"));
  assert_complaint(2, "missing.npy");
}

static void test_a_trace_has_a_slice_for_each_call(void **state) {
  for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
    assert_int_equal(
        run("run vector_example --engine %s --trace %s", is_virtual ? "virtual" : "threads", path_of("t.json")), 0);
    json_t *root = load(path_of("t.json")), *events = json_object_get(root, "traceEvents"), *event;
    size_t index;
    int kernels = 0, starts = 0, ends = 0;
    json_array_foreach(events, index, event) {
      const char *phase = text_of(event, "ph");
      json_t *category = json_object_get(event, "cat");
      kernels += strcmp(phase, "X") == 0 && strcmp(json_string_value(category), "kernel") == 0;
      starts += strcmp(phase, "s") == 0;
      ends += strcmp(phase, "f") == 0;
    }
    assert_int_equal(kernels, 5);
    assert_int_equal(starts, 6);
    assert_int_equal(ends, 6);
    json_decref(root);
  }
}

static char *read_file(const char *path) {
  int fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  return read_back(fd);
}

static void test_the_graph_is_the_same_text_on_every_engine(void **state) {
  static const char *const configurations[] = {"--engine threads --chip a2a3", "--engine virtual --policy lifo",
                                               "--engine threads --workers 1 --chip a5"};
  char *deps = NULL, *dot = NULL;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(run("run paged_attention --case var4 %s --deps-json %s --dot %s --quiet", configurations[i],
                         path_of("d.json"), path_of("d.dot")),
                     0);
    char *new_deps = read_file(path_of("d.json")), *new_dot = read_file(path_of("d.dot"));
    if (i == 0) {
      deps = new_deps;
      dot = new_dot;
      continue;
    }
    assert_string_equal(new_deps, deps);
    assert_string_equal(new_dot, dot);
    free(new_deps);
    free(new_dot);
  }
  json_t *root = parse(deps);
  assert_int_equal(json_array_size(json_object_get(root, "tasks")), 68);
  assert_int_equal(json_array_size(json_object_get(root, "edges")), 80);
  json_decref(root);
  free(deps);
  free(dot);
}

static void test_a_report_that_cannot_be_written_is_a_failure(void **state) {
  run("run vector_example --trace /nonexistent/t.json");
  assert_complaint(3, "/nonexistent/t.json");
  run("run vector_example --json /nonexistent/r.json");
  assert_complaint(3, "/nonexistent/r.json");
}

/* ---- run: mistakes ---- */

static void test_bad_arguments_leave_with_2_and_one_sentence(void **state) {
  static const char *const rows[][2] = {
      {"run", "which program"},
      {"run vector_example bgemm", "\"bgemm\""},
      {"run no_such_program", "no_such_program"},
      {"run /nonexistent/x.so", "/nonexistent/x.so"},
      {"run vector_example --speed", "--speed"},
      {"run vector_example --seed", "--seed"},
      {"run vector_example --workers 0", "--workers"},
      {"run vector_example --workers 99999", "99999"},
      {"run vector_example --engine steam", "steam"},
      {"run vector_example --chip no_such_chip", "no_such_chip"},
      {"run vector_example --policy best", "best"},
      {"run vector_example --deps loose", "loose"},
      {"run vector_example --window 1000", "1000"},
      {"run vector_example --heap 1500", "1500"},
      {"run vector_example --case nope", "nope"},
      {"run bgemm --set tile=many", "many"},
      {"run bgemm --set speed=1", "speed"},
      {"run spmd_sync_start --chip tiny", "clusters"},
      {"dance", "dance"},
      {"list colours", "colours"},
      {"list chips more", "more"},
      {"list programs nope", "nope"},
      {"suite --case x", "--case"},
      {"suite --engine steam", "steam"},
      {"suite nope", "nope"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    run("%s", rows[i][0]);
    assert_complaint(2, rows[i][1]);
  }
}

static void test_failures_after_the_options_are_in_the_json_too(void **state) {
  assert_int_equal(run("run no_such_program --json %s", path_of("none.json")), 2);
  json_t *root = load(path_of("none.json"));
  assert_int_equal(integer(root, "exit"), 2);
  assert_non_null(strstr(text_of(root, "error"), "no_such_program"));
  assert_true(json_is_null(json_object_get(root, "tasks")));
  json_decref(root);
}

/* ---- run: failures ---- */

static void test_each_error_program_leaves_with_3_and_its_status(void **state) {
  static const char *const rows[][2] = {{"errors/heap", "PTO_EHEAP"},         {"errors/scope", "PTO_ESCOPE"},
                                        {"errors/window", "PTO_EWINDOW"},     {"errors/kernel", "PTO_EKERNEL"},
                                        {"errors/capacity", "PTO_ECAPACITY"}, {"errors/user", "PTO_EUSER"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
      assert_int_equal(
          run("run %s --engine %s --json %s", rows[i][0], is_virtual ? "virtual" : "threads", path_of("e.json")), 3);
      json_t *root = load(path_of("e.json"));
      assert_string_equal(text_of(root, "status"), rows[i][1]);
      assert_non_null(strstr(last.err, text_of(root, "error")));
      assert_true(json_is_null(json_object_get(root, "verified")));
      json_decref(root);
    }
}

/* The JSON of a process that had to leave: the same keys, status and sentence. */
static void assert_last_words(const char *program, const char *options, const char *status, const char *part) {
  for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
    assert_int_equal(run("run %s --engine %s %s --json -", program, is_virtual ? "virtual" : "threads", options), 3);
    json_t *root = parse(last.out);
    assert_string_equal(text_of(root, "status"), status);
    assert_string_equal(text_of(root, "program"), program);
    assert_int_equal(integer(root, "exit"), 3);
    assert_non_null(strstr(text_of(root, "error"), part));
    assert_non_null(strstr(text_of(root, "error"), "task 0 ("));
    assert_non_null(strstr(text_of(root, "error"), "on core"));
    assert_non_null(json_object_get(root, "output_digest"));
    json_decref(root);
  }
}

static void test_a_fault_in_a_kernel_is_reported_with_task_and_core(void **state) {
  if (HAS_SANITIZER) skip(); /* whose report it then is */
  assert_last_words("errors/crash", "--quiet", "PTO_EKERNEL", "SIGSEGV at address 0x");
}

static void test_a_kernel_that_does_not_come_back_is_reported(void **state) {
  assert_last_words("errors/timeout", "--timeout 0.05", "PTO_ETIMEOUT", "time-out of 50 ms");
}

/* ---- the other verbs ---- */

/* The first words of the lines of `text`, parted by blanks. */
static void first_words(const char *text, char *words, size_t size) {
  size_t used = 0;
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
    used += (size_t)snprintf(words + used, size - used, " %.*s", (int)strcspn(line, " \n"), line);
}

static void test_list_has_each_name_as_the_first_word_of_its_line(void **state) {
  char words[4096];
  assert_int_equal(run("list"), 0);
  first_words(last.out, words, sizeof words);
  assert_non_null(strstr(words, " vector_example"));
  assert_non_null(strstr(words, " paged_attention_ringbuffer"));
  assert_non_null(strstr(words, " errors/heap"));
  assert_int_equal(run("list kernels"), 0);
  first_words(last.out, words, sizeof words);
  assert_non_null(strstr(words, " matmul"));
  assert_int_equal(run("list chips"), 0);
  first_words(last.out, words, sizeof words);
  assert_string_equal(words, " tiny a2a3 a5");
  assert_int_equal(run("list policies"), 0);
  first_words(last.out, words, sizeof words);
  assert_string_equal(words, " fifo lifo random:SEED");
}

static void test_list_shows_options_and_cases_of_a_program(void **state) {
  assert_int_equal(run("list programs bgemm"), 0);
  assert_non_null(strstr(last.out, "--set task_num=64"));
  assert_non_null(strstr(last.out, "--case 500x128x2"));
  assert_non_null(strstr(last.out, "1000 tasks, 750 edges"));
}

static void test_every_listed_program_can_be_run_by_its_name(void **state) {
  char words[4096], *rest = words;
  assert_int_equal(run("list programs"), 0);
  first_words(last.out, words, sizeof words);
  for (char *name; (name = strsep(&rest, " ")) != NULL;)
    if (*name) {
      run("list programs %s", name);
      assert_ok();
    }
}

static void test_help_and_version_are_no_mistakes(void **state) {
  static const char *const rows[][2] = {{"--help", "ptosim run"},
                                        {"run --help", "--deps-json"},
                                        {"suite --help", "--long"},
                                        {"list --help", "policies"},
                                        {"--version", "ptosim "}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(run("%s", rows[i][0]), 0);
    assert_non_null(strstr(last.out, rows[i][1]));
  }
  char *const nothing[] = {(char *)"ptosim", NULL};
  run_words(nothing);
  assert_complaint(2, "no verb");
}

static void test_a_suite_is_right_where_all_rows_are_as_expected(void **state) {
  assert_int_equal(run("suite vector_example errors/heap spmd_sync_start --json %s", path_of("s.json")), 0);
  assert_non_null(strstr(last.out, "failed as expected (PTO_EHEAP)"));
  assert_non_null(strstr(last.out, "skipped: needs"));
  assert_non_null(strstr(last.out, " ok\n"));
  json_t *root = load(path_of("s.json")), *rows = json_object_get(root, "rows");
  assert_int_equal(integer(root, "bad"), 0);
  assert_int_equal(integer(root, "ok") + integer(root, "failed_as_expected"), json_array_size(rows));
  assert_string_equal(text_of(json_array_get(rows, 0), "program"), "vector_example");
  json_decref(root);
}

static void test_a_suite_with_a_wrong_row_leaves_with_1_and_goes_on(void **state) {
  assert_int_equal(run("suite war_reuse vector_example --engine virtual --deps pto --policy lifo"), 1);
  assert_non_null(strstr(last.out, "WRONG"));
  assert_non_null(strstr(strstr(last.out, "WRONG"), "vector_example"));
}

static void test_a_crash_is_one_row_of_a_suite(void **state) {
  if (HAS_SANITIZER) skip();
  assert_int_equal(run("suite errors/crash vector_example --engine threads"), 0);
  assert_non_null(strstr(last.out, "failed as expected (PTO_EKERNEL)"));
  assert_non_null(strstr(last.out, "1 right, 1 failed as expected, 0 skipped, 0 not as expected"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_right_run_leaves_with_0_and_has_every_key),
      cmocka_unit_test(test_virtual_time_is_the_same_for_any_number_of_workers),
      cmocka_unit_test(test_a_seed_makes_the_inputs),
      cmocka_unit_test(test_rounds_agree_and_say_so),
      cmocka_unit_test(test_weaker_rules_that_break_a_program_leave_with_1),
      cmocka_unit_test(test_quiet_means_nothing),
      cmocka_unit_test(test_stats_say_where_the_time_went),
      cmocka_unit_test(test_inputs_come_from_files),
      cmocka_unit_test(test_a_golden_from_a_file_decides_and_tolerances_move_it),
      cmocka_unit_test(test_files_that_do_not_fit_are_refused),
      cmocka_unit_test(test_a_trace_has_a_slice_for_each_call),
      cmocka_unit_test(test_the_graph_is_the_same_text_on_every_engine),
      cmocka_unit_test(test_a_report_that_cannot_be_written_is_a_failure),
      cmocka_unit_test(test_bad_arguments_leave_with_2_and_one_sentence),
      cmocka_unit_test(test_failures_after_the_options_are_in_the_json_too),
      cmocka_unit_test(test_each_error_program_leaves_with_3_and_its_status),
      cmocka_unit_test(test_a_fault_in_a_kernel_is_reported_with_task_and_core),
      cmocka_unit_test(test_a_kernel_that_does_not_come_back_is_reported),
      cmocka_unit_test(test_list_has_each_name_as_the_first_word_of_its_line),
      cmocka_unit_test(test_list_shows_options_and_cases_of_a_program),
      cmocka_unit_test(test_every_listed_program_can_be_run_by_its_name),
      cmocka_unit_test(test_help_and_version_are_no_mistakes),
      cmocka_unit_test(test_a_suite_is_right_where_all_rows_are_as_expected),
      cmocka_unit_test(test_a_suite_with_a_wrong_row_leaves_with_1_and_goes_on),
      cmocka_unit_test(test_a_crash_is_one_row_of_a_suite),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
