/* SPDX-License-Identifier: MIT */
/* Runs that stop, from outside: what ptosim run says of who waits for whom, in text, JSON and the file of --waits-dot.
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

/* "orchestration>ring0>task0>scope0>orchestration": the nodes of the marked path.  The caller frees it. */
static char *path_of(json_t *stopped) {
  json_t *path = json_object_get(stopped, "path"), *waits = json_object_get(stopped, "waits");
  char *text = calloc(1, 1024);
  size_t used = 0;
  for (size_t i = 0; i < json_array_size(path); i++) {
    json_t *link = json_array_get(waits, (size_t)json_integer_value(json_array_get(path, i)));
    json_t *to = json_object_get(link, "to");
    assert_true(json_is_true(json_object_get(link, "marked")));
    if (i == 0) used += (size_t)snprintf(text, 1024, "%s", pto_json_text(link, "from"));
    used += (size_t)snprintf(text + used, 1024 - used, ">%s", json_is_null(to) ? "null" : json_string_value(to));
  }
  return text;
}

static const struct expectation {
  const char *program, *path, *needs, *text[3];
} expectations[] = {
    {"scope",
     "orchestration>ring0>task0>scope0>orchestration",
     "slot",
     {"  who waits for whom:\n", "in the submit of task 15 (mark, outputs of 1024 bytes)", "scope 0 (depth 0, auto"}},
    {"window",
     "orchestration>ring3>task8>scope3>orchestration",
     "slot",
     {"a free slot of ring 3", "the circle closes"}},
    {"heap --case too_large", "orchestration>heap0", "heap", {"for room in heap ring 0 (0 of 65536 bytes)"}},
    {"heap --case held",
     "orchestration>heap0>task0>scope0>orchestration",
     "heap",
     {"for room in heap ring 0 (65536 of 65536 bytes)", "keeps 4 tasks and 65536 bytes"}},
    {"capacity",
     "orchestration>table>ring0>task0>scope0>orchestration",
     "table",
     {"for room in the region map (of 64)"}},
    {"deadlock",
     "orchestration>task0>core0>core1>core0",
     NULL,
     {"the end of the run (0 of 1 tasks have completed)", "AIV0 on core 1 waits for an element from AIC on core 0"}},
    {"kernel", "orchestration>task0", NULL, {"task 1 (check_positive, WAITING) waits for its producer, task 0"}},
};

static void expect_stopped(const struct expectation *e, const char *engine) {
  assert_int_equal(pto_ptosim_run("run errors/%s --engine %s --json -", e->program, engine), 3);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(e->text) && e->text[i]; i++)
    if (!strstr(pto_ptosim_last.err, e->text[i])) fail_msg("no \"%s\" in\n%s", e->text[i], pto_ptosim_last.err);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *stopped = json_object_get(root, "stopped");
  json_t *needs = json_object_get(json_object_get(stopped, "doing"), "needs");
  char *path = path_of(stopped);
  assert_string_equal(path, e->path);
  if (e->needs)
    assert_string_equal(json_string_value(needs), e->needs);
  else
    assert_true(json_is_null(needs));
  assert_int_equal(json_array_size(json_object_get(stopped, "rings")), 4);
  free(path);
  json_decref(root);
}

static void test_each_program_that_stops_has_its_picture_on_threads(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(expectations); i++) expect_stopped(&expectations[i], "threads");
}
static void test_each_program_that_stops_has_its_picture_in_virtual_time(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(expectations); i++) expect_stopped(&expectations[i], "virtual");
}

static void test_runs_that_do_not_stop_by_waiting_have_none(void **state) {
  static const char *const programs[] = {"vector_example", "errors/user", "errors/fit"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(programs); i++) {
    pto_ptosim_run("run %s --json -", programs[i]);
    assert_null(strstr(pto_ptosim_last.err, "who waits"));
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    assert_true(json_is_null(json_object_get(root, "stopped")));
    json_decref(root);
  }
}

static void test_quiet_runs_say_the_sentence_alone(void **state) {
  assert_int_equal(pto_ptosim_run("run errors/scope --quiet"), 3);
  pto_ptosim_assert_complaint(3, "the scope holds 15 tasks");
}

static size_t count_of(const char *text, const char *part) {
  size_t count = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
  return count;
}

static void test_the_graph_marks_the_circle(void **state) {
  const char *path = pto_ptosim_path("waits.dot");
  assert_int_equal(pto_ptosim_run("run errors/window --engine virtual --quiet --waits-dot %s", path), 3);
  char *text = pto_ptosim_read_file(path);
  assert_non_null(strstr(text, "stopped\" {"));
  assert_non_null(strstr(text, "orchestration -> ring3 [label=\"slot\", color=red, penwidth=2];"));
  assert_non_null(strstr(text, "ring3 -> task8 [label=\"retire\", color=red, penwidth=2];"));
  assert_non_null(strstr(text, "scope3 -> orchestration [label=\"submits\", color=red, penwidth=2];"));
  assert_int_equal(count_of(text, "color=red"), 4);
  assert_int_equal(count_of(text, "task8 [label=\"task 8 (mark, COMPLETED, 1024 bytes)\", shape=box];"), 1);
  assert_null(strstr(text, "0x"));
  free(text);
}

static void test_the_graph_of_a_run_that_did_not_stop_is_empty(void **state) {
  const char *path = pto_ptosim_path("none.dot");
  assert_int_equal(pto_ptosim_run("run vector_example --waits-dot %s", path), 0);
  char *text = pto_ptosim_read_file(path);
  assert_null(strstr(text, "->"));
  free(text);
}

/* A kernel that does not come back: the runtime goes on, so a forked process looks at it. */
static void test_a_kernel_that_hangs_is_where_the_run_waits(void **state) {
  static const char *const engines[] = {"threads", "virtual"};
  if (!pto_ptosim_reports_faults) return; /* under a sanitizer nothing forks */
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++) {
    const char *path = pto_ptosim_path("hang.dot");
    assert_int_equal(
        pto_ptosim_run("run errors/timeout --engine %s --timeout 0.2 --json - --waits-dot %s", engines[i], path), 3);
    assert_non_null(strstr(pto_ptosim_last.err, "waits for the end of task 0 (sleeper, RUNNING"));
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *stopped = json_object_get(root, "stopped");
    assert_string_equal(pto_json_text(root, "status"), "PTO_ETIMEOUT");
    assert_string_equal(pto_json_text(json_object_get(stopped, "doing"), "what"), "end_of_run");
    char *text = path_of(stopped);
    assert_int_equal(strncmp(text, "orchestration>task0>core", 24), 0);
    free(text);
    json_decref(root);
    text = pto_ptosim_read_file(path);
    assert_non_null(strstr(text, "orchestration -> task0 [label=\"end\", penwidth=2];"));
    free(text);
  }
}

static void test_a_kernel_that_crashes_has_its_picture_in_the_json(void **state) {
  if (!pto_ptosim_reports_faults) return;
  assert_int_equal(pto_ptosim_run("run errors/crash --json -"), 3);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  json_t *task = json_array_get(json_object_get(json_object_get(root, "stopped"), "tasks"), 0);
  assert_string_equal(pto_json_text(task, "kernels"), "crasher");
  json_decref(root);
}

/* The picture's graph goes to a pipe that is full and that is never read: without its limit the run would not end. */
static void test_a_picture_that_does_not_come_to_an_end_is_done_without(void **state) {
  static const char block[4096];
  char pipe_path[PATH_MAX];
  if (!pto_ptosim_reports_faults) return;
  snprintf(pipe_path, sizeof pipe_path, "%s", pto_ptosim_path("full"));
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  const int fd = open(pipe_path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  assert_true(fd >= 0);
  while (write(fd, block, sizeof block) > 0) {
  }
  assert_int_equal(
      pto_ptosim_run("run errors/timeout --quiet --waits-dot %s --json %s", pipe_path, pto_ptosim_path("t.json")), 3);
  close(fd);
  json_t *root = pto_ptosim_load(pto_ptosim_path("t.json"));
  assert_string_equal(pto_json_text(root, "status"), "PTO_ETIMEOUT");
  assert_true(json_is_null(json_object_get(root, "stopped")));
  json_decref(root);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_program_that_stops_has_its_picture_on_threads),
      cmocka_unit_test(test_each_program_that_stops_has_its_picture_in_virtual_time),
      cmocka_unit_test(test_runs_that_do_not_stop_by_waiting_have_none),
      cmocka_unit_test(test_quiet_runs_say_the_sentence_alone),
      cmocka_unit_test(test_the_graph_marks_the_circle),
      cmocka_unit_test(test_the_graph_of_a_run_that_did_not_stop_is_empty),
      cmocka_unit_test(test_a_kernel_that_hangs_is_where_the_run_waits),
      cmocka_unit_test(test_a_kernel_that_crashes_has_its_picture_in_the_json),
      cmocka_unit_test(test_a_picture_that_does_not_come_to_an_end_is_done_without),
  };
  return cmocka_run_group_tests_name("stopped_runs", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
