/* SPDX-License-Identifier: MIT */
/*
 * The planted bugs of tests/planted/planted_list.h: each is found by the command that its line names, which says what
 * it is and names the task and the parameter; all that it finds there has what a finding has to have, with a command
 * that shows the bug again; and its clean twin is accused by no command at all.
 *
 * Prints the table: what was found, by which command, after how many runs (of its kernels for
 * `check --observe`, of the program else), and how long that took.  A
 * word as argument runs the lines that contain it: `planted_suite_test reuse`.
 */
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/clock.h>
#include <runtime/base/error.h>
#include <runtime/base/sanitizer.h>
#include <tests/planted/planted_list.h>
#include <tests/support/ptosim_child.h>

struct planted_row {
  const char *program, *what, *command, *kind;
  int64_t tasks[2], params[2]; /* PLANTED_ANY: any */
};

static struct planted_row rows[] = {
#define X(program, what, command, kind, task_a, param_a, task_b, param_b)                                              \
  {program, what, command, kind, {task_a, task_b}, {param_a, param_b}},
    PLANTED_LIST(X)
#undef X
};

/* What judges a program; a clean twin passes all of them. */
static const char *const judges[] = {"run --engine virtual", PLANTED_EXACT,   PLANTED_PTO,
                                     PLANTED_OBSERVE,        PLANTED_EXPLORE, PLANTED_EXPLORE_PTO};

/* Of the last command. */
static double last_ms;

static char build_folder[PATH_MAX];

static void find_build_folder(void) {
  const char *named = getenv("PTO_BUILD_DIR");
  if (named) {
    snprintf(build_folder, sizeof build_folder, "%s", named);
    return;
  }
  ssize_t length = readlink("/proc/self/exe", build_folder, sizeof build_folder - 32);
  assert_true(length > 0);
  build_folder[length] = '\0';
  for (int up = 0; up < 4; up++) *strrchr(build_folder, '/') = '\0';
}

/* "PROGRAM.so --case NAME --set bug=1", or the options that a line of planted_hazards stands for. */
static void describe_program(const struct planted_row *row, bool is_buggy, char *text, size_t size) {
  char view[32], dtype[32], hazard[32];
  int used = snprintf(text, size, "%s/planted/%s.so --set bug=%d", build_folder, row->program, is_buggy);
  if (sscanf(row->what, "%31s %31s %31s", view, dtype, hazard) == 3)
    snprintf(text + used, size - (size_t)used, " --set view=%s --set dtype=%s --set hazard=%s", view, dtype, hazard);
  else
    snprintf(text + used, size - (size_t)used, " --case %s", row->what);
}

static int run_command(const struct planted_row *row, const char *command, bool is_buggy) {
  char program[PATH_MAX + 256];
  describe_program(row, is_buggy, program, sizeof program);
  double begin = pto_clock_seconds() * 1e3;
  int code = pto_ptosim_run("%s %s --quiet --json -", command, program);
  last_ms = pto_clock_seconds() * 1e3 - begin;
  return code;
}

/* ---- findings ---- */

static bool is_number(json_t *list, size_t index, int64_t wanted) {
  json_t *number = json_array_get(list, index);
  return wanted == PLANTED_ANY || (json_is_integer(number) && json_integer_value(number) == wanted);
}

static bool is_finding(const struct planted_row *row, json_t *finding) {
  const char *kind = json_string_value(json_object_get(finding, "kind"));
  json_t *tasks = json_object_get(finding, "tasks"), *params = json_object_get(finding, "params");
  if (!kind || strcmp(kind, row->kind) != 0) return false;
  for (size_t i = 0; i < 2; i++)
    if (!is_number(tasks, i, row->tasks[i]) || !is_number(params, i, row->params[i])) return false;
  return true;
}

static bool is_among_findings(const struct planted_row *row, json_t *root) {
  json_t *finding;
  size_t i;
  json_array_foreach(json_object_get(root, "findings"), i, finding)
    if (is_finding(row, finding)) return true;
  return false;
}

/* Costs time alone, and so changes no exit status. */
static bool is_note(const struct planted_row *row) {
  return strcmp(row->kind, "unneeded") == 0 || strcmp(row->kind, "unfilled") == 0;
}

/* In a build with AddressSanitizer a kernel that leaves its tensors ends there, with the line; others tell of an access
 * to a page without access themselves. */
static bool is_sanitizer_report(void) {
  return PTO_HAS_SANITIZER && (strstr(pto_ptosim_last.err, "ERROR: AddressSanitizer") != NULL ||
                               strstr(pto_ptosim_last.err, "Sanitizer:DEADLYSIGNAL") != NULL);
}

/* There `check --observe` runs kernels once and compares nothing: the sanitizer watches, which sees other mistakes. */
static bool has_not_compared(int code) {
  if (!PTO_HAS_SANITIZER || code != 0) return false;
  json_t *result = pto_ptosim_parse(pto_ptosim_last.out);
  bool has_not = json_is_false(json_object_get(result, "compared"));
  json_decref(result);
  return has_not;
}

static void print_row(const struct planted_row *row, const char *by, int64_t runs) {
  printf("| %-15s | %-20s | %-23s | %-32s | %4" PRId64 " | %5.0f |\n", row->program, row->what, row->kind, by, runs,
         last_ms);
  fflush(stdout);
}

/* `check` needs one run; `check --observe` says how often it ran kernels, `explore` how many orders it tried. */
static int64_t count_runs(json_t *result) {
  static const char *const keys[] = {"schedules", "runs"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys); i++) {
    json_t *count = json_object_get(result, keys[i]);
    if (json_is_integer(count)) return json_integer_value(count);
  }
  return 1;
}

/* ---- what each finding has ---- */

static bool has_text(json_t *value) { return json_is_string(value) && json_string_length(value) > 0; }

/* Rule, severity, accesses, remedy, command, and how it was decided.  A scalar that is an address has no extent; what a
 * kernel declares without need, in all of its calls, has no memory. */
static void assert_is_complete(json_t *finding) {
  static const char *const decided[] = {"all orders", "this order", "sampled"};
  const char *kind = pto_json_text(finding, "kind"), *how = pto_json_text(finding, "decided");
  const char *remedy = json_string_value(json_object_get(finding, "remedy"));
  bool is_whole = has_text(json_object_get(finding, "sentence")) && remedy && remedy[0] &&
                  has_text(json_object_get(finding, "command")) && json_is_boolean(json_object_get(finding, "note"));
  is_whole &= remedy && strstr(pto_json_text(finding, "sentence"), remedy);
  size_t i = 0;
  while (i < PTO_ARRAY_LENGTH(decided) && strcmp(decided[i], how) != 0) i++;
  is_whole &= i < PTO_ARRAY_LENGTH(decided);
  for (size_t k = 0; k < 2; k++) {
    const bool has_task = json_is_integer(json_array_get(json_object_get(finding, "tasks"), k));
    const bool has_param = json_is_integer(json_array_get(json_object_get(finding, "params"), k));
    is_whole &= !has_task || has_text(json_array_get(json_object_get(finding, "kernels"), k));
    is_whole &= !has_task || json_is_object(json_array_get(json_object_get(finding, "places"), k));
    is_whole &= !has_param || has_text(json_array_get(json_object_get(finding, "arrays"), k)) ||
                strcmp(kind, "unneeded") == 0; /* of a kernel, whatever it is called with */
    is_whole &= !has_param || has_text(json_array_get(json_object_get(finding, "extents"), k)) ||
                strcmp(kind, "address") == 0 || strcmp(kind, "unneeded") == 0;
  }
  if (strcmp(kind, "RAW") == 0 || strcmp(kind, "WAW") == 0 || strcmp(kind, "WAR") == 0)
    is_whole &= has_text(json_array_get(json_object_get(finding, "extents"), 1));
  if (!is_whole) fail_msg("something is missing: %s", json_dumps(finding, 0));
}

static const struct {
  const char *program, *what, *kind, *part;
} remedies[] = {
#define X(program, what, kind, part) {program, what, kind, part},
    PLANTED_REMEDY_LIST(X)
#undef X
};

static void assert_has_remedy(const struct planted_row *row, json_t *finding) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(remedies); i++) {
    if (strcmp(remedies[i].program, row->program) != 0 || strcmp(remedies[i].what, row->what) != 0) continue;
    if (strcmp(remedies[i].kind, row->kind) == 0 && !strstr(pto_json_text(finding, "remedy"), remedies[i].part))
      fail_msg("%s: no \"%s\" in \"%s\"", row->what, remedies[i].part, pto_json_text(finding, "remedy"));
  }
}

/* The command, whose words have no spaces here, shows this kind again, or that nothing orders the two. */
static void assert_shows_again(const struct planted_row *row, const char *kind, const char *command) {
  assert_int_equal(strncmp(command, "ptosim ", 7), 0);
  command += 7;
  const bool is_why = strncmp(command, "why ", 4) == 0;
  const int code = pto_ptosim_run(is_why ? "%s" : "%s --quiet --json -", command);
  bool is_again = is_why && code == 0 && strstr(pto_ptosim_last.out, "neither edge nor path");
  if (!is_why && code == !is_note(row)) {
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *finding;
    size_t i;
    json_array_foreach(json_object_get(root, "findings"), i, finding)
      is_again |= strcmp(pto_json_text(finding, "kind"), kind) == 0;
    json_decref(root);
  }
  if (!is_again) fail_msg("%s, %s: %s does not show it: %s", row->what, kind, command, pto_ptosim_last.out);
}

static void test_found_by_judging(const struct planted_row *row) {
  int code = run_command(row, row->command, true);
  if (is_sanitizer_report()) {
    print_row(row, "AddressSanitizer", 1);
    return;
  }
  if (has_not_compared(code)) {
    printf("| %-15s | %-20s | left out: a sanitizer watches, nothing is compared\n", row->program, row->what);
    skip();
  }
  if (code != !is_note(row))
    fail_msg("%s ends with exit status %d: %s%s", row->command, code, pto_ptosim_last.out, pto_ptosim_last.err);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *findings = json_object_get(root, "findings"), *finding;
  const bool is_found = is_among_findings(row, root);
  json_t *shown = NULL;
  size_t i;
  int64_t run_count = count_runs(root);
  if (!is_found) fail_msg("%s says something else: %s", row->command, pto_ptosim_last.out);
  print_row(row, row->command, run_count);
  json_array_foreach(findings, i, finding) {
    assert_is_complete(finding);
    if (is_finding(row, finding)) shown = finding;
  }
  assert_has_remedy(row, shown);
  assert_shows_again(row, row->kind, pto_json_text(shown, "command"));
  json_decref(root);
}

/* The run ends in the status, with a sentence that names the task. */
static void test_found_by_running(const struct planted_row *row) {
  char task[32];
  int code = run_command(row, row->command, true);
  if (is_sanitizer_report()) {
    print_row(row, "a sanitizer", 1);
    return;
  }
  if (code != 3) fail_msg("the run ends with exit status %d: %s%s", code, pto_ptosim_last.out, pto_ptosim_last.err);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_string_equal(pto_json_text(root, "status"), row->kind);
  snprintf(task, sizeof task, "task %" PRId64, row->tasks[0]);
  if (row->tasks[0] != PLANTED_ANY) assert_non_null(strstr(pto_json_text(root, "error"), task));
  json_decref(root);
  print_row(row, row->command, 1);
}

static void test_found_by_memcheck(const struct planted_row *row) {
  char command[2 * PATH_MAX + 512], program[PATH_MAX + 256];
  const char *log = pto_ptosim_path("memcheck");
  if (PTO_HAS_SANITIZER || system("command -v valgrind >/dev/null") != 0) {
    printf("| %-15s | %-20s | no valgrind, or a build that it cannot run\n", row->program, row->what);
    skip();
  }
  describe_program(row, true, program, sizeof program);
  snprintf(command, sizeof command,
           "valgrind -q --error-exitcode=99 %s/ptosim run %s --quiet --engine virtual --timeout 0 >%s 2>&1",
           build_folder, program, log);
  double begin = pto_clock_seconds() * 1e3;
  int status = system(command);
  last_ms = pto_clock_seconds() * 1e3 - begin;
  char *said = pto_ptosim_read_file(log);
  bool is_found = status != 0 && strstr(said, row->kind) && strstr(said, row->program);
  if (!is_found) fail_msg("memcheck says something else: %s", said);
  free(said);
  print_row(row, row->command, 1);
}

static void test_found(void **state) {
  const struct planted_row *row = *state;
  if (strcmp(row->command, "valgrind") == 0)
    test_found_by_memcheck(row);
  else if (strcmp(row->command, "run") == 0)
    test_found_by_running(row);
  else
    test_found_by_judging(row);
}

/* ---- clean twins ---- */

static void test_twin_is_clean(void **state) {
  const struct planted_row *row = *state;
  const struct planted_row any = {
      .kind = row->kind, .tasks = {PLANTED_ANY, PLANTED_ANY}, .params = {PLANTED_ANY, PLANTED_ANY}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(judges); i++) {
    bool is_accused = run_command(row, judges[i], false) != 0;
    if (!is_accused && is_note(row)) {
      json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
      is_accused = is_among_findings(&any, root);
      json_decref(root);
    }
    if (is_accused) fail_msg("%s accuses the clean twin: %s%s", judges[i], pto_ptosim_last.out, pto_ptosim_last.err);
  }
}

/* What is wrong under rules pto alone is right under our own. */
static void test_right_under_exact(void **state) {
  const struct planted_row *row = *state;
  if (run_command(row, PLANTED_EXACT, true) != 0)
    fail_msg("accused under rules exact: %s%s", pto_ptosim_last.out, pto_ptosim_last.err);
}

/* ---- all of them ---- */

static struct CMUnitTest tests[3 * PTO_ARRAY_LENGTH(rows)];
static char names[PTO_ARRAY_LENGTH(tests)][128];
static size_t test_count;

static void add_test(struct planted_row *row, CMUnitTestFunction function, const char *format, ...) PTO_PRINTF(3, 4);
static void add_test(struct planted_row *row, CMUnitTestFunction function, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(names[test_count], sizeof names[0], format, arguments);
  va_end(arguments);
  tests[test_count] = (struct CMUnitTest){.name = names[test_count], .test_func = function, .initial_state = row};
  test_count++;
}

/* Whether an earlier line has the same program. */
static bool is_again(size_t index) {
  for (size_t i = 0; i < index; i++)
    if (strcmp(rows[i].program, rows[index].program) == 0 && strcmp(rows[i].what, rows[index].what) == 0) return true;
  return false;
}

int main(int argc, char **argv) {
  find_build_folder();
  printf("| %-15s | %-20s | %-23s | %-32s | %4s | %5s |\n", "program", "bug", "kind", "found by", "runs", "ms");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    struct planted_row *row = &rows[i];
    if (argc > 1 && !strstr(row->what, argv[1]) && !strstr(row->program, argv[1])) continue;
    add_test(row, test_found, "%s, %s: is found by %s", row->program, row->what, row->command);
    if (!is_again(i))
      add_test(row, test_twin_is_clean, "%s, %s: its clean twin is accused by none", row->program, row->what);
    if (strcmp(row->command, PLANTED_PTO) == 0)
      add_test(row, test_right_under_exact, "%s, %s: is right under rules exact", row->program, row->what);
  }
  return _cmocka_run_group_tests("planted bugs", tests, test_count, pto_ptosim_setup, pto_ptosim_teardown);
}
