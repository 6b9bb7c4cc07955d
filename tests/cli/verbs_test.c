/* SPDX-License-Identifier: MIT */
/* The other verbs of ptosim from outside: list, suite, help. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

/* ---- the other verbs ---- */

/* The first words of the lines of `text`, parted by blanks. */
static void first_words(const char *text, char *words, size_t size) {
  size_t used = 0;
  for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
    used += (size_t)snprintf(words + used, size - used, " %.*s", (int)strcspn(line, " \n"), line);
}

static void test_list_has_each_name_as_the_first_word_of_its_line(void **state) {
  char words[4096];
  assert_int_equal(pto_ptosim_run("list"), 0);
  first_words(pto_ptosim_last.out, words, sizeof words);
  assert_non_null(strstr(words, " vector_example"));
  assert_non_null(strstr(words, " paged_attention_ringbuffer"));
  assert_non_null(strstr(words, " errors/heap"));
  assert_int_equal(pto_ptosim_run("list kernels"), 0);
  first_words(pto_ptosim_last.out, words, sizeof words);
  assert_non_null(strstr(words, " matmul"));
  assert_int_equal(pto_ptosim_run("list chips"), 0);
  first_words(pto_ptosim_last.out, words, sizeof words);
  assert_string_equal(words, " tiny a2a3 a2a3-2026-04 a5");
  assert_int_equal(pto_ptosim_run("list policies"), 0);
  first_words(pto_ptosim_last.out, words, sizeof words);
  assert_string_equal(words, " fifo lifo random:SEED");
}

static void test_lists_are_not_wider_than_100_columns_and_a_name_shows_the_rest(void **state) {
  static const char *const lists[] = {"list kernels", "list ops"};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(pto_ptosim_run("%s", lists[i]), 0);
    for (const char *line = pto_ptosim_last.out, *end; (end = strchr(line, '\n')); line = end + 1)
      if (end - line > 102) fail_msg("%.*s", (int)(end - line), line); /* the dots are three bytes */
    assert_non_null(strstr(pto_ptosim_last.out, " …\n"));
  }
  assert_int_equal(pto_ptosim_run("list ops conv2d"), 0);
  assert_null(strstr(pto_ptosim_last.out, " …"));
}

static void test_a_limit_exceeded_is_told_before_any_work(void **state) {
  pto_ptosim_run("run paged_attention --set ctx=1000000000");
  pto_ptosim_assert_complaint(2, "take 62500000 blocks of 16, and at most 1048576 are taken");
  pto_ptosim_run("run bgemm --set task_num=1000000000");
  pto_ptosim_assert_complaint(2, "task_num 1000000000 is not in 1 … 1000000");
}

static void test_diff_of_recorded_runs_names_compare(void **state) {
  char path[] = "/tmp/pto-verbs-XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(pto_ptosim_run("run vector_example --quiet --json %s", path), 0);
  pto_ptosim_run("diff %s %s", path, path);
  pto_ptosim_assert_complaint(2,
                              "this is pto-run, not the pto-deps of --deps-json; `ptosim compare` takes recorded runs");
  unlink(path);
}

static void test_list_shows_options_and_cases_of_a_program(void **state) {
  assert_int_equal(pto_ptosim_run("list programs bgemm"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "--set task_num=64"));
  assert_non_null(strstr(pto_ptosim_last.out, "--case 500x128x2"));
  assert_non_null(strstr(pto_ptosim_last.out, "1000 tasks, 750 edges"));
  assert_non_null(strstr(pto_ptosim_last.out, "output, f32 [512, 1024]\n"));
}

static void test_a_mistyped_name_is_answered_with_the_nearest(void **state) {
  pto_ptosim_run("list programs bgem");
  pto_ptosim_assert_complaint(2, "did you mean \"bgemm\"?");
  pto_ptosim_run("lst programs");
  pto_ptosim_assert_complaint(2, "did you mean \"list\"?");
  pto_ptosim_run("run vector_example --statz");
  pto_ptosim_assert_complaint(2, "did you mean \"--stats\"?");
  pto_ptosim_run("list kernels --quiet");
  pto_ptosim_assert_complaint(2, "there is no option --quiet here");
  pto_ptosim_run("list chips --json file");
  pto_ptosim_assert_complaint(2, "there is no option --json here");
  pto_ptosim_run("regress some.list --jbos=3");
  pto_ptosim_assert_complaint(2, "did you mean \"--jobs\"?");
  pto_ptosim_run("check vector_example --statz"); /* check has no --stats */
  assert_null(strstr(pto_ptosim_last.err, "did you mean"));
  pto_ptosim_run("list kernels sofmax");
  pto_ptosim_assert_complaint(2, "did you mean \"softmax\"?");
}

static void test_a_mistyped_value_is_answered_with_the_nearest(void **state) {
  static const struct {
    const char *words, *nearest;
  } cases[] = {{"run bgemm --chip a2a4", "a2a3"},
               {"run bgemm --chip a2a3 --chip-set submt=1", "submit"},
               {"run bgemm --set task_nmu=4", "task_num"},
               {"run bgemm --case 500x128x3", "500x128x2"},
               {"run bgemm --deps exat", "exact"},
               {"run bgemm --deps pto,no-reduce-implid", "reduce-implied"},
               {"run vector_example --counters thread::cpu_n", "thread::cpu_ns"},
               {"run bgemm --dump matmull /nowhere-at-all", "matmul"},
               {"list kernles", "kernels"},
               {"list ops conv2", "conv2d"},
               {"list models mobilenet_v3", "mobilenet_v2"},
               {"list chips a5a", "a5"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char question[64];
    snprintf(question, sizeof question, "did you mean \"%s\"?", cases[i].nearest);
    pto_ptosim_run("%s", cases[i].words);
    if (!strstr(pto_ptosim_last.err, question)) fail_msg("%s: %s", cases[i].words, pto_ptosim_last.err);
    pto_ptosim_assert_complaint(2, question);
  }
}

static void test_two_files_of_one_name_are_refused(void **state) {
  pto_ptosim_run("run vector_example --trace /tmp/pto-verbs.json --json /tmp/pto-verbs.json");
  pto_ptosim_assert_complaint(2, "run: --json and --trace are both to write /tmp/pto-verbs.json");
  pto_ptosim_run("check vector_example --junit /tmp/pto-verbs.json --sarif /tmp/pto-verbs.json");
  pto_ptosim_assert_complaint(2, "check: --sarif and --junit are both to write");
  assert_int_equal(pto_ptosim_run("run vector_example --quiet --trace /dev/null --json /dev/null"), 0);
}

static void test_a_page_is_html_and_is_called_so(void **state) {
  pto_ptosim_run("run vector_example --report x.txt");
  if (!strstr(pto_ptosim_last.err, "this build has no pages"))
    pto_ptosim_assert_complaint(2, "--report: x.txt: a page is HTML, and its name ends in .html");
}

static void test_help_says_what_the_verb_itself_does(void **state) {
  static const struct {
    const char *words, *has;
  } cases[] = {{"run --help", "(exact virtual time); default: threads\n"},
               {"run --help", "or a chip file; default: tiny\n"},
               {"run --help", "a graph (.json, .webnn, .onnx, or\n--model NAME), a capture or a manifest (.json)"},
               {"check --help", "(exact virtual time); default: virtual\n"},
               {"why --help", "base-address; default: both\n"},
               {"adopt --help", "or a chip file; default: the manifest's\n"},
               {"adopt --help", "base-address; default: pto\n"},
               {"explore --help", "(exact virtual time); default: one of its own\n"},
               {"task --help", "or a chip file; default: the run's\n"},
               {"suite --help", "(exact virtual time); default: both\n"},
               {"calibrate --help", "or a chip file; default: a2a3\n"},
               {"graph --help", "of --check, the rules by which it is judged; default: exact\n"},
               {"predict --help", " FILE.json       elements that the orchestration or a predicate reads\n"},
               {"what-if --help", "the tables and curves as a page\n"},
               {"--help", "[programs|kernels|ops|fusions|models|chips|policies]"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_int_equal(pto_ptosim_run("%s", cases[i].words), 0);
    if (!strstr(pto_ptosim_last.out, cases[i].has)) fail_msg("%s: %s", cases[i].words, pto_ptosim_last.out);
  }
}

static void test_an_option_that_is_short_for_several_names_them(void **state) {
  pto_ptosim_run("run bgemm --c x");
  pto_ptosim_assert_complaint(2, "--c is short for --chip, --chip-set, --comm-stats, --clusters, …");
  pto_ptosim_run("run bgemm --chi=x");
  pto_ptosim_assert_complaint(2, "--chi=x is short for --chip, --chip-set; --help lists them");
  pto_ptosim_run("run bgemm --nosuch");
  pto_ptosim_assert_complaint(2, "there is no option --nosuch; --help lists them");
}

static void test_a_file_that_is_no_program_is_told_what_one_is(void **state) {
  char path[] = "/tmp/pto-verbs-XXXXXX.json";
  const int fd = mkstemps(path, 5);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, "{\"format\":\"pto-nosuch\"}", 23), 23);
  close(fd);
  pto_ptosim_run("run %s", path);
  pto_ptosim_assert_complaint(2,
                              ".json: \"format\" is none of webnn-graph-json (a graph), pto-capture (`ptosim import`), "
                              "pto-adopted (a manifest)");
  unlink(path);
  pto_ptosim_run("run README.md");
  pto_ptosim_assert_complaint(2, "README.md: a program's path ends in .so, .json, .webnn or .onnx");
}

static void test_list_shows_what_the_parameters_of_a_kernel_must_be(void **state) {
  assert_int_equal(pto_ptosim_run("list kernels add_scalar_int pv copy"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "SCALAR     value           i64\n"));
  assert_non_null(strstr(pto_ptosim_last.out, "INPUT      v               f32 fp16 bf16, rank 2 to 4\n"));
  assert_non_null(strstr(pto_ptosim_last.out, "OUTPUT     o_new           f32, rank 2 or more\n"));
  assert_non_null(strstr(pto_ptosim_last.out, "INPUT      x               any dtype, any rank\n"));
  assert_int_equal(pto_ptosim_run("list kernels layer* gather_?d"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "layernorm "));
  assert_non_null(strstr(pto_ptosim_last.out, "gather_nd "));
  assert_null(strstr(pto_ptosim_last.out, "rmsnorm"));
  pto_ptosim_run("list kernels nope");
  pto_ptosim_assert_complaint(2, "no kernel \"nope\"");
}

static void test_every_listed_program_can_be_run_by_its_name(void **state) {
  char words[4096], *rest = words;
  assert_int_equal(pto_ptosim_run("list programs"), 0);
  first_words(pto_ptosim_last.out, words, sizeof words);
  for (char *name; (name = strsep(&rest, " ")) != NULL;)
    if (*name) {
      pto_ptosim_run("list programs %s", name);
      pto_ptosim_assert_ok();
    }
}

static void test_help_and_version_are_no_mistakes(void **state) {
  static const char *const rows[][2] = {
      {"--help", "ptosim run"},   {"run --help", "--deps-json"},
      {"run -h", "--deps-json"},  {"check -h", "redundant        note: an explicit edge"},
      {"suite --help", "--long"}, {"list --help", "policies"},
      {"--version", "ptosim "},   {"-V", "  levels     plain"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    assert_int_equal(pto_ptosim_run("%s", rows[i][0]), 0);
    assert_non_null(strstr(pto_ptosim_last.out, rows[i][1]));
  }
  assert_int_equal(pto_ptosim_run("suite -h"), 0);
  assert_null(strstr(pto_ptosim_last.out, "--trace")); /* which it would refuse */
  char *const nothing[] = {(char *)"ptosim", NULL};
  pto_ptosim_run_words(nothing);
  pto_ptosim_assert_complaint(2, "no verb");
}

static void test_a_file_that_cannot_be_opened_is_refused_by_every_verb_before_it_does_anything(void **state) {
  static const char *const rows[] = {"run vector_example --json",
                                     "check vector_example --json",
                                     "check vector_example --observe --json",
                                     "check vector_example --advise --json",
                                     "why vector_example 0 1 --json",
                                     "explore vector_example --json",
                                     "perf vector_example --json",
                                     "diff a.json b.json --json",
                                     "task d/0 --json",
                                     "graph --model gpt2 --json",
                                     "op test exp --json",
                                     "op perf exp --json",
                                     "op support --json",
                                     "op support conv2d --json",
                                     "suite vector_example --json",
                                     "regress tests/regress/examples.list --junit"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int is_folder = 0; is_folder < 2; is_folder++) {
      const char *path = is_folder ? "/" : "/nonexistent/x";
      pto_ptosim_run("%s %s", rows[i], path);
      pto_ptosim_assert_complaint(2, is_folder ? "/: Is a directory" : "/nonexistent/x: No such file");
      assert_string_equal(pto_ptosim_last.out, "");
    }
}

static void test_an_option_that_a_verb_would_ignore_is_refused_and_not_in_its_help(void **state) {
  static const char *const rows[][3] = {
      {"check", "vector_example", "--dump 0 d"},
      {"check", "vector_example", "--stats"},
      {"why", "vector_example 0 1", "--dump 0 d"},
      {"why", "vector_example 0 1", "--stats"},
      {"perf", "vector_example", "--dump 0 d"},
      {"explore", "vector_example", "--dump 0 d"},
      {"explore", "vector_example", "--trace t"},
      {"explore", "vector_example", "--waits-dot w"},
      {"explore", "vector_example", "--rounds 2"},
      {"task", "d/0", "--seed 1"},
      {"task", "d/0", "--poison"},
      {"task", "d/0", "--deps pto"},
      {"task", "d/0", "--rounds 2"},
      {"task", "d/0", "--window 8"},
      {"task", "d/0", "--heap 1M"},
      {"task", "d/0", "--dot d"},
      {"suite", "vector_example", "--dump 0 d"},
  };
  static const char *const of_check[] = {"--engine virtual", "--trace t",     "--dot d",    "--deps-json d",
                                         "--output y=y.npy", "--waits-dot w", "--dump 0 d", "--stats"};
  char option[32];
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    snprintf(option, sizeof option, "%.*s", (int)strcspn(rows[i][2], " "), rows[i][2]);
    pto_ptosim_run("%s %s %s", rows[i][0], rows[i][1], rows[i][2]);
    pto_ptosim_assert_complaint(2, option);
    assert_int_equal(pto_ptosim_run("%s --help", rows[i][0]), 0);
    snprintf(option, sizeof option, "  %.*s ", (int)strcspn(rows[i][2], " "), rows[i][2]);
    if (strstr(pto_ptosim_last.out, option)) fail_msg("%s --help lists%s", rows[i][0], option);
  }
  for (size_t i = 0; i < sizeof of_check / sizeof of_check[0]; i++) {
    snprintf(option, sizeof option, "%.*s", (int)strcspn(of_check[i], " "), of_check[i]);
    pto_ptosim_run("check vector_example --observe %s", of_check[i]);
    pto_ptosim_assert_complaint(2, option);
    pto_ptosim_run("check vector_example --advise %s", of_check[i]);
    pto_ptosim_assert_complaint(2, option);
  }
  pto_ptosim_run("check vector_example --advise --rounds 2");
  pto_ptosim_assert_complaint(2, "--advise does not take --rounds");
}

static void test_a_suite_is_right_where_all_rows_are_as_expected(void **state) {
  assert_int_equal(
      pto_ptosim_run("suite vector_example errors/heap spmd_sync_start --json %s", pto_ptosim_path("s.json")), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "failed as expected (PTO_EHEAP)"));
  assert_non_null(strstr(pto_ptosim_last.out, "skipped: needs"));
  assert_non_null(strstr(pto_ptosim_last.out, " ok\n"));
  json_t *root = pto_ptosim_load(pto_ptosim_path("s.json")), *rows = json_object_get(root, "rows");
  assert_int_equal(pto_json_integer(root, "bad"), 0);
  assert_int_equal(pto_json_integer(root, "ok") + pto_json_integer(root, "failed_as_expected"), json_array_size(rows));
  assert_string_equal(pto_json_text(json_array_get(rows, 0), "program"), "vector_example");
  json_decref(root);
}

static void test_a_suite_with_a_wrong_row_leaves_with_1_and_goes_on(void **state) {
  assert_int_equal(pto_ptosim_run("suite inplace_update vector_example --engine virtual --deps pto --policy lifo"), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "WRONG"));
  assert_non_null(strstr(strstr(pto_ptosim_last.out, "WRONG"), "vector_example"));
}

static void test_a_crash_is_one_row_of_a_suite(void **state) {
  if (!pto_ptosim_reports_faults) skip();
  assert_int_equal(pto_ptosim_run("suite errors/crash vector_example --engine threads"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "failed as expected (PTO_EKERNEL)"));
  assert_non_null(strstr(pto_ptosim_last.out, "1 right, 1 failed as expected, 0 skipped, 0 not as expected"));
}

/* Scripts test these, and look for no leaks (scripts/run_tests): under AddressSanitizer a leak is another exit status.
 */
static void test_what_scripts_test_ends_with_its_status_and_without_leaks(void **state) {
  static const char *const runs[][2] = {
      {"0", "run vector_example --engine virtual --stats --quiet --json A"},
      {"0", "run vector_example --engine virtual --chip a2a3 --stats --quiet --json B"},
      {"0", "compare A A --junit C"},
      {"1", "compare A B --json C"},
      {"0", "compare vector_example vector_example --repeats 2"},
      {"0", "explore vector_example --schedules 4 --shard 1/2 --json S1"},
      {"0", "explore vector_example --schedules 4 --shard 2/2 --json S2"},
      {"0", "merge S1 S2 --json C"},
      {"2", "merge S1"},
      {"0", "run all_reduce --ranks 3 --stats --comm-stats --json C"},
      {"0", "run expert_parallel_moe --ranks 2 --quiet --trace C"},
      {"0", "check all_reduce --ranks 2 --json C"},
      {"0", "regress L --update"},
      {"0", "regress L"},
      {"0", "what-if vector_example --chip tiny --quiet"}};
  FILE *list = fopen(pto_ptosim_path("L"), "w");
  fputs("vector_example --engine virtual\n", list);
  fclose(list);
  for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
    char line[2048], text[128], *rest = text;
    size_t used = 0;
    snprintf(text, sizeof text, "%s", runs[i][1]);
    for (const char *word; (word = strsep(&rest, " ")) != NULL;) /* capitals are files */
      used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", used ? " " : "",
                               word[0] >= 'A' && word[0] <= 'Z' ? pto_ptosim_path(word) : word);
    const int code = pto_ptosim_run("%s", line);
    if (code != atoi(runs[i][0]) || strstr(pto_ptosim_last.err, "LeakSanitizer"))
      fail_msg("%s: exit status %d: %s", runs[i][1], code, pto_ptosim_last.err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_list_has_each_name_as_the_first_word_of_its_line),
      cmocka_unit_test(test_lists_are_not_wider_than_100_columns_and_a_name_shows_the_rest),
      cmocka_unit_test(test_a_limit_exceeded_is_told_before_any_work),
      cmocka_unit_test(test_diff_of_recorded_runs_names_compare),
      cmocka_unit_test(test_list_shows_options_and_cases_of_a_program),
      cmocka_unit_test(test_a_mistyped_name_is_answered_with_the_nearest),
      cmocka_unit_test(test_a_mistyped_value_is_answered_with_the_nearest),
      cmocka_unit_test(test_a_page_is_html_and_is_called_so),
      cmocka_unit_test(test_two_files_of_one_name_are_refused),
      cmocka_unit_test(test_list_shows_what_the_parameters_of_a_kernel_must_be),
      cmocka_unit_test(test_every_listed_program_can_be_run_by_its_name),
      cmocka_unit_test(test_help_and_version_are_no_mistakes),
      cmocka_unit_test(test_help_says_what_the_verb_itself_does),
      cmocka_unit_test(test_an_option_that_is_short_for_several_names_them),
      cmocka_unit_test(test_a_file_that_is_no_program_is_told_what_one_is),
      cmocka_unit_test(test_a_file_that_cannot_be_opened_is_refused_by_every_verb_before_it_does_anything),
      cmocka_unit_test(test_an_option_that_a_verb_would_ignore_is_refused_and_not_in_its_help),
      cmocka_unit_test(test_a_suite_is_right_where_all_rows_are_as_expected),
      cmocka_unit_test(test_a_suite_with_a_wrong_row_leaves_with_1_and_goes_on),
      cmocka_unit_test(test_a_crash_is_one_row_of_a_suite),
      cmocka_unit_test(test_what_scripts_test_ends_with_its_status_and_without_leaks),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
