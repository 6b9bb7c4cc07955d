/* SPDX-License-Identifier: MIT */
/*
 * `ptosim perf` from outside: with the machine's perf where it may sample, and with stand-ins for every way in which it
 * may not, which work on any machine.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <runtime/base/sanitizer.h>
#include <tests/support/ptosim_child.h>

static char *path_before;

/* From now on perf is a shell script with these lines; NULL: there is none. */
static void stand_in(const char *lines) {
  char folder[4096], script[8192];
  snprintf(folder, sizeof folder, "%s", pto_ptosim_path("bin"));
  mkdir(folder, 0700);
  snprintf(script, sizeof script, "%s/perf", folder);
  remove(script);
  if (lines) {
    FILE *file = fopen(script, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", lines);
    fclose(file);
    assert_int_equal(chmod(script, 0700), 0);
  }
  setenv("PATH", folder, 1);
}

static int setup(void **state) {
  const char *path = getenv("PATH");
  path_before = strdup(path ? path : "");
  return pto_ptosim_setup(state);
}
static int teardown(void **state) {
  free(path_before);
  return pto_ptosim_teardown(state);
}
static int restore_path(void **state) { return setenv("PATH", path_before, 1); }

/* A perf record that takes commands, for any event, or for those that ACCEPTED matches. */
#define OBEY "trap 'exit 0' INT; while read -r word <&3; do printf 'ack\\n' >&4; done"
#define RECORD(body) "if [ $1 = record ]; then " body "; exit; fi\n"

/* ---- where perf cannot be had ---- */

static void test_a_missing_perf_is_one_sentence_that_names_the_package(void **state) {
  stand_in(NULL);
  pto_ptosim_run("perf vector_example");
  pto_ptosim_assert_complaint(2, "perf is not installed: sudo apt-get install linux-perf");
  assert_string_equal(pto_ptosim_last.out, "");
}

static void test_a_system_that_forbids_sampling_is_one_sentence_that_says_what_to_change(void **state) {
  static const char *const said[] = {
      "Error:\nAccess to performance monitoring and observability operations is limited.",
      "Consider adjusting /proc/sys/kernel/perf_event_paranoid setting",
      "Error:\nYou may not have permission to collect stats.", "perf_event_open(...): Operation not permitted"};
  for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
    char lines[1024];
    snprintf(lines, sizeof lines, "echo '%s' >&2\nexit 255", said[i]);
    stand_in(lines);
    pto_ptosim_run("perf vector_example");
    pto_ptosim_assert_complaint(2, "sudo sysctl kernel.perf_event_paranoid=1");
    assert_string_equal(pto_ptosim_last.out, "");
  }
}

static void test_an_unknown_event_and_a_perf_that_fails_otherwise_say_so(void **state) {
  stand_in("echo \"event syntax error: 'nonsense'\" >&2\nexit 129");
  pto_ptosim_run("perf vector_example --event nonsense");
  pto_ptosim_assert_complaint(2, "cannot sample by nonsense on this machine");
  stand_in("echo >&2; echo '  out of luck' >&2\nexit 5");
  pto_ptosim_run("perf vector_example");
  pto_ptosim_assert_complaint(2, "perf record left with 5: out of luck");
}

static void test_without_counters_the_software_clock_is_used(void **state) {
  stand_in(
      RECORD("case \"$*\" in *cpu-clock*) ;; *) echo 'cycles: PMU Hardware doesn'\\''t support sampling' >&2; exit "
             "255;; esac; " OBEY) "echo '1 1.000000001: 200000 cpu-clock: ff f (/a)'");
  assert_int_equal(pto_ptosim_run("perf vector_example --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_string_equal(pto_json_text(root, "event"), "cpu-clock");
  assert_int_equal(pto_json_integer(root, "samples"), 1);
  assert_int_equal(pto_json_integer(root, "round_samples"), 0); /* a moment long before the run */
  json_decref(root);
}

static void test_a_perf_that_breaks_off_or_prints_something_else_fails_the_verb(void **state) {
  stand_in(RECORD("read -r word <&3; printf 'ack\\n' >&4; echo 'no space left' >&2"));
  pto_ptosim_run("perf vector_example --quiet");
  pto_ptosim_assert_complaint(3, "does not answer: no space left");
  stand_in(RECORD(OBEY) "echo 'something else'");
  pto_ptosim_run("perf vector_example --quiet");
  pto_ptosim_assert_complaint(3, "none of the 1 lines of perf script is a sample");
  stand_in(RECORD(OBEY) "echo 'the file is no good' >&2\nexit 1");
  pto_ptosim_run("perf vector_example --quiet");
  pto_ptosim_assert_complaint(3, "perf script failed: the file is no good");
}

static void test_the_json_of_a_refusal_has_its_status_and_sentence(void **state) {
  stand_in(NULL);
  assert_int_equal(pto_ptosim_run("perf vector_example --json - --quiet"), 2);
  assert_string_equal(pto_ptosim_last.err, "");
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_string_equal(pto_json_text(root, "status"), "PTO_ENOTSUP");
  assert_int_equal(pto_json_integer(root, "exit"), 2);
  assert_non_null(strstr(pto_json_text(root, "error"), "perf is not installed"));
  json_decref(root);
}

static void test_bad_arguments_leave_with_2(void **state) {
  static const struct {
    const char *line, *part;
  } cases[] = {{"perf", "which program?"},
               {"perf vector_example bgemm", "one program at a time"},
               {"perf nosuch", "no program \"nosuch\""},
               {"perf vector_example --frequency 0", "--frequency"},
               {"perf vector_example --event a,b", "is not one event"},
               {"perf vector_example --data -", "--data"},
               {"perf vector_example --stats", "--stats is for `ptosim run`"},
               {"perf vector_example --engine virtual", "--engine threads"}};
  stand_in(NULL);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    pto_ptosim_run("%s", cases[i].line);
    pto_ptosim_assert_complaint(2, cases[i].part);
  }
}

static void test_a_program_that_fails_leaves_with_3_and_its_sentence(void **state) {
  stand_in(RECORD(OBEY) ":");
  pto_ptosim_run("perf errors/kernel --quiet");
  pto_ptosim_assert_complaint(3, "kernel check_positive failed");
}

/* ---- where it can ---- */

static double real_of(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  assert_true(json_is_number(value));
  return json_number_value(value);
}

/* Between a span's end and the kernel's own last instruction a sanitizer does work of its own. */
#define IS_INSTRUMENTED PTO_HAS_SANITIZER

/* NULL, with a sentence, where perf cannot sample here, or samples would say little. */
static json_t *sample(const char *arguments) {
  if (IS_INSTRUMENTED) {
    print_message("built with a sanitizer: samples are not compared with spans\n");
    return NULL;
  }
  if (pto_ptosim_run("perf %s --json -", arguments) == 2) {
    print_message("perf cannot sample here: %s", pto_ptosim_last.err);
    return NULL;
  }
  assert_int_equal(pto_ptosim_last.exit_code, 0);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

/* A kernel of vector_example is a function of the same name: where that function's samples fall is where the kernel was
 * running, if perf's clock and the timeline's are one. */
static void test_the_samples_of_a_kernels_function_fall_to_that_kernel(void **state) {
  json_t *root = sample("vector_example --rounds 400"), *row, *symbol;
  if (!root) skip();
  size_t i, k;
  double in_place = 0, elsewhere = 0, all = 0;
  json_array_foreach(json_object_get(root, "kernels"), i, row) {
    char function[64];
    snprintf(function, sizeof function, "%s_run", pto_json_text(row, "name"));
    all += real_of(row, "share");
    json_array_foreach(json_object_get(row, "symbols"), k, symbol) {
      const char *name = pto_json_text(symbol, "name");
      if (!strstr(pto_json_text(symbol, "module"), "vector_example")) continue;
      *(strncmp(name, function, strlen(function)) == 0 ? &in_place : &elsewhere) += real_of(symbol, "share");
    }
  }
  json_array_foreach(json_object_get(root, "control"), i, row) {
    all += real_of(row, "share");
    json_array_foreach(json_object_get(row, "symbols"), k, symbol)
      if (strstr(pto_json_text(symbol, "name"), "_run") && strstr(pto_json_text(symbol, "module"), "vector_example"))
        elsewhere += real_of(symbol, "share");
  }
  print_message("%" JSON_INTEGER_FORMAT " samples of %s: %.4f of them in a kernel's own function, %.4f not\n",
                pto_json_integer(root, "round_samples"), pto_json_text(root, "event"), in_place, elsewhere);
  assert_true(in_place > 0);
  assert_true(elsewhere <= 0.03 * in_place);
  if (pto_json_integer(root, "other_thread_samples") == 0) assert_true(fabs(all - 1) < 1e-6);
  json_decref(root);
}

/* Two contexts at once, with as many workers of the same names.  The hot kernel spins ten times as long as the mild
 * one, each in a function of its own. */
static void test_samples_of_contexts_that_run_at_once_fall_to_their_kernels(void **state) {
  char arguments[512];
  snprintf(arguments, sizeof arguments, "%s/planted/planted_hot.so --set calls=200 --rounds 3 --workers 3 --chip a2a3",
           pto_ptosim_build());
  json_t *root = sample(arguments), *row, *symbol;
  if (!root) skip();
  size_t i, k;
  double of_hot = 0, of_mild = 0, elsewhere = 0;
  json_array_foreach(json_object_get(root, "kernels"), i, row) {
    char function[64];
    snprintf(function, sizeof function, "%s_spin", pto_json_text(row, "name"));
    assert_int_equal(pto_json_integer(row, "calls"), 3 * 200);
    *(strcmp(pto_json_text(row, "name"), "hot") == 0 ? &of_hot : &of_mild) += real_of(row, "share");
    json_array_foreach(json_object_get(row, "symbols"), k, symbol) {
      const char *name = pto_json_text(symbol, "name");
      if (strstr(name, "_spin") && strcmp(name, function) != 0 &&
          strstr(pto_json_text(symbol, "module"), "planted_hot"))
        elsewhere += real_of(symbol, "share");
    }
  }
  print_message("%" JSON_INTEGER_FORMAT " samples: %.3f hot, %.3f mild, %.4f in the other one's function\n",
                pto_json_integer(root, "round_samples"), of_hot, of_mild, elsewhere);
  assert_true(of_hot > 3 * of_mild);
  assert_true(elsewhere <= 0.03 * of_hot);
  /* The thread that calls both contexts works too, a little. */
  assert_true(100 * pto_json_integer(root, "other_thread_samples") <= pto_json_integer(root, "round_samples"));
  json_decref(root);
}

/* How long kernels took by the timeline and how often they were sampled are two measures of one thing. */
static void test_shares_of_samples_agree_with_the_times_of_the_timeline(void **state) {
  json_t *root = sample("bgemm --chip a2a3 --workers 1 --rounds 60 --event cpu-clock"), *row;
  if (!root) skip();
  size_t i;
  double seconds = 0, shares = 0;
  json_array_foreach(json_object_get(root, "kernels"), i, row) {
    seconds += real_of(row, "call_seconds");
    shares += real_of(row, "share");
  }
  assert_true(pto_json_integer(root, "round_samples") > 100);
  json_array_foreach(json_object_get(root, "kernels"), i, row) {
    double by_time = real_of(row, "call_seconds") / seconds, by_samples = real_of(row, "share") / shares;
    print_message("%s: %.3f by the timeline, %.3f by samples\n", pto_json_text(row, "name"), by_time, by_samples);
    assert_true(fabs(by_time - by_samples) < 0.15);
  }
  assert_int_equal(json_array_size(json_object_get(root, "core_kinds")), 2);
  assert_int_equal(pto_json_integer(json_array_get(json_object_get(root, "core_kinds"), 0), "used"), 24);
  json_decref(root);
}

static void test_the_report_for_people_and_the_data_for_perf_are_written(void **state) {
  const char *data = pto_ptosim_path("perf.data");
  if (pto_ptosim_run("perf bgemm --rounds 20 --data %s", data) == 2) {
    print_message("perf cannot sample here: %s", pto_ptosim_last.err);
    skip();
  }
  pto_ptosim_assert_ok();
  static const char *const parts[] = {
      "verified", "kernels, and symbols within", "matmul", "control work", "cores", "AIC", "tasks"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) assert_non_null(strstr(pto_ptosim_last.out, parts[i]));
  struct stat file;
  assert_int_equal(stat(data, &file), 0);
  assert_true(file.st_size > 1000);
}

int main(void) {
#define TEST(name) cmocka_unit_test_teardown(test_##name, restore_path)
  const struct CMUnitTest tests[] = {
      TEST(a_missing_perf_is_one_sentence_that_names_the_package),
      TEST(a_system_that_forbids_sampling_is_one_sentence_that_says_what_to_change),
      TEST(an_unknown_event_and_a_perf_that_fails_otherwise_say_so),
      TEST(without_counters_the_software_clock_is_used),
      TEST(a_perf_that_breaks_off_or_prints_something_else_fails_the_verb),
      TEST(the_json_of_a_refusal_has_its_status_and_sentence),
      TEST(bad_arguments_leave_with_2),
      TEST(a_program_that_fails_leaves_with_3_and_its_sentence),
      TEST(the_samples_of_a_kernels_function_fall_to_that_kernel),
      TEST(samples_of_contexts_that_run_at_once_fall_to_their_kernels),
      TEST(shares_of_samples_agree_with_the_times_of_the_timeline),
      TEST(the_report_for_people_and_the_data_for_perf_are_written),
  };
#undef TEST
  return cmocka_run_group_tests(tests, setup, teardown);
}
