/* SPDX-License-Identifier: MIT */
/*
 * Programs that fail, from outside: each one in errors/ leaves ptosim with 3 and the sentence that says why, with the
 * values in it, on both engines and on small and large chips; war_reuse is right under exact rules and wrong under the
 * weaker ones.
 */
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/sanitizer.h>
#include <tests/support/ptosim_child.h>

struct expectation {
  const char *program, *case_name, *status, *words[4]; /* words: all in the sentence */
};

static const struct expectation expectations[] = {
    {"capacity", NULL, "PTO_ECAPACITY", {"live tasks", "region map of 64 entries"}},
    {"deadlock",
     NULL,
     "PTO_EDEADLOCK",
     {"task 0 (asker) block 0 AIC on core 0 waits", "(replier) block 0 AIV0 on core 1 waits", "from AIC on core 0"}},
    {"fit", "local", "PTO_EUSER", {"huge needs 1073741824 KiB of UB", "has 192"}},
    {"fit", "sync_start", "PTO_EUSER", {"sync_start", "can never start together"}},
    {"heap",
     "too_large",
     "PTO_EHEAP",
     {"outputs take 131072 bytes", "whole heap has 65536", "this task needs a heap of at least 131072 bytes"}},
    {"heap",
     "held",
     "PTO_EHEAP",
     {"65536 of 65536 used", "held by open scopes", "open scope 0 (depth 0) holds 4 tasks"}},
    {"invalid_argument", "count", "PTO_EUSER", {"takes 2 parameters, 3 were passed"}},
    {"invalid_argument", "mode", "PTO_EUSER", {"param 1", "inout", "output is expected"}},
    {"invalid_argument", "dtype", "PTO_EUSER", {"param 0", "dtype f32"}},
    {"invalid_argument", "rank", "PTO_EUSER", {"param 0", "rank 2"}},
    {"invalid_argument", "core_kind", "PTO_EUSER", {"copy_i32 does not run on AIC"}},
    {"invalid_argument", "view", "PTO_EUSER", {"param 0", "start 8, end 17", "0 … 16"}},
    {"invalid_argument", "aliasing", "PTO_EUSER", {"param 0 (input) and param 1 (output) share bytes"}},
    {"invalid_argument", "shared_bytes", "PTO_EUSER", {"param 1", "elements that share bytes"}},
    {"invalid_argument", "unwritten", "PTO_EUSER", {"param 0", "nothing has written yet"}},
    {"invalid_argument", "partial_allocation", "PTO_EUSER", {"param 1", "not the whole of it, dense"}},
    {"invalid_argument", "version", "PTO_EUSER", {"names version 3", "at version 0"}},
    {"kernel", NULL, "PTO_EKERNEL", {"check_positive failed on core", "element 11 is -3", "i32[16]"}},
    {"scope", NULL, "PTO_ESCOPE", {"scope holds 15 tasks", "window of 16", "at least 32"}},
    {"stale_handle", NULL, "PTO_EUSER", {"param 0: buffer 1", "after its scope has ended"}},
    {"user", NULL, "PTO_EUSER", {"length is above 64"}},
    {"window", NULL, "PTO_EWINDOW", {"nested scopes hold 15 tasks", "window of 16", "open scope 6 (depth 6)"}},
};

static void expect_failure(const struct expectation *e, const char *engine, const char *chip) {
  int code = pto_ptosim_run("run errors/%s%s%s --engine %s --chip %s --json -", e->program,
                            e->case_name ? " --case " : "", e->case_name ? e->case_name : "", engine, chip);
  if (code != 3)
    fail_msg("errors/%s %s on %s %s left with %d", e->program, e->case_name ? e->case_name : "", engine, chip, code);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  const char *sentence = pto_json_text(root, "error");
  assert_string_equal(pto_json_text(root, "status"), e->status);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(e->words) && e->words[i]; i++) {
    if (!strstr(sentence, e->words[i])) fail_msg("errors/%s: no \"%s\" in \"%s\"", e->program, e->words[i], sentence);
    assert_non_null(strstr(pto_ptosim_last.err, e->words[i]));
  }
  assert_true(json_is_null(json_object_get(root, "output_digest")));
  assert_false(json_is_true(json_object_get(root, "verified")));
  json_decref(root);
}

static void expect_failures(const char *engine, const char *chip) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(expectations); i++) expect_failure(&expectations[i], engine, chip);
}

static void test_each_error_program_leaves_with_3_and_its_sentence_on_threads(void **state) {
  expect_failures("threads", "tiny");
}
static void test_each_error_program_leaves_with_3_and_its_sentence_in_virtual_time(void **state) {
  expect_failures("virtual", "tiny");
}
static void test_each_error_program_says_the_same_on_a_large_chip(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(expectations); i++)
    if (!expectations[i].case_name || i % 2)
      expect_failure(&expectations[i], i % 4 < 2 ? "threads" : "virtual", "a2a3");
}

static void test_a_crash_and_a_kernel_without_end_are_named_on_both_engines(void **state) {
  static const char *const engines[] = {"threads", "virtual", "virtual --workers 2"};
  static const struct expectation faults[] = {
      {"crash", NULL, "PTO_EKERNEL", {"SIGSEGV at address 0x", "(crasher)", "core", "u32[16]"}},
      {"timeout", NULL, "PTO_ETIMEOUT", {"outlived the time-out of 200 ms", "(sleeper)", "core"}}};
  if (!pto_ptosim_reports_faults) skip();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++)
    for (size_t k = 0; k < PTO_ARRAY_LENGTH(faults); k++) expect_failure(&faults[k], engines[i], i ? "a2a3" : "tiny");
}

/* The sentence's first size is what the task needs, and may be too small for those behind it. */
static void test_the_rings_that_are_told_as_enough_are_enough_for_the_whole_run(void **state) {
  static const struct {
    const char *verb, *rings, *needs, *enough;
  } cases[] = {{"run", "--heap 1024", "heap of at least 3072 bytes", " --heap 5120"},
               {"run --engine virtual", "--heap 1024 --window 4", "heap of at least 3072", " --window 8 --heap 5120"},
               {"check", "--window 4", "window of at least 8", " --window 8"},
               {"check --observe", "--heap 1024", "heap of at least 3072 bytes", " --heap 5120"},
               {"explore", "--heap 1024", "heap of at least 3072 bytes", " --heap 5120"}};
  if (PTO_HAS_TSAN) skip(); /* check/predict/enough_rings.c */
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    assert_int_equal(pto_ptosim_run("%s paged_attention %s", cases[i].verb, cases[i].rings), 3);
    const char *told = strstr(pto_ptosim_last.err, "; enough for the whole run, in virtual time:");
    if (!told || !strstr(pto_ptosim_last.err, cases[i].needs) ||
        strncmp(strchr(told, ':') + 1, cases[i].enough, strlen(cases[i].enough)) != 0)
      fail_msg("%s %s: %s", cases[i].verb, cases[i].rings, pto_ptosim_last.err);
    assert_int_equal(pto_ptosim_run("run paged_attention --engine virtual%s", cases[i].enough), 0);
  }
  assert_int_equal(pto_ptosim_run("run paged_attention --heap 3072"), 3); /* what the first task needs */
  /* Its orchestration reads what kernels compute, so they are not run again. */
  assert_int_equal(pto_ptosim_run("run scalar_data --heap 1024"), 3);
  assert_non_null(strstr(pto_ptosim_last.err, "; `ptosim check --advise` tells what is enough for the whole run"));
  assert_int_equal(pto_ptosim_run("run errors/heap"), 3); /* it is there to fail so */
  assert_null(strstr(pto_ptosim_last.err, "enough for the whole run"));
}

static const char *const judging_verbs[] = {"run", "run --engine virtual", "check", "check --observe",
                                            "explore --schedules 3"};

static void expect_sentence(const char *verb, const char *program, const char *part) {
  assert_int_equal(pto_ptosim_run("%s %s/planted/%s", verb, pto_ptosim_build(), program), 3);
  if (!strstr(pto_ptosim_last.err, part)) fail_msg("%s %s: no \"%s\": %s", verb, program, part, pto_ptosim_last.err);
}

static void test_each_verb_says_where_a_scope_was_opened_and_a_refused_submit_is(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(judging_verbs); i++) {
    expect_sentence(judging_verbs[i], "planted_stops.so --case open_scope",
                    "the orchestration returned with 1 scope open, the innermost opened at planted_stops.c:");
    expect_sentence(judging_verbs[i], "planted_stops.so --case fifo_sizes",
                    i < 2 ? "; `ptosim check` says where it was submitted" : "; submitted at planted_stops.c:");
    expect_sentence(judging_verbs[i], "planted_stops.so --case fifo_sizes", ", the call is at planted_stops.c:");
    expect_sentence(judging_verbs[i], "planted_stops.so --case after_scope",
                    "buffer 1 is used after its scope has ended (task 1, digest, at planted_stops.c:");
  }
}

static void test_each_verb_that_runs_a_kernel_names_the_array_that_it_runs_off(void **state) {
  static const char *const verbs[] = {"check --advise", "run --ranks 2", "check --ranks 2", "explore --ranks 2",
                                      "explore --engine threads"};
  if (!pto_ptosim_reports_faults) skip();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(verbs); i++)
    expect_sentence(verbs[i], "planted_kernels.so --case past_array_written",
                    "the address is 0 bytes behind the end of array x (1024 bytes), in which its param 0 z is");
  char folder[512];
  snprintf(folder, sizeof folder, "%s", pto_ptosim_path("run_off"));
  assert_int_equal(pto_ptosim_run("run %s/planted/planted_kernels.so --case past_array_written --dump 0 %s",
                                  pto_ptosim_build(), folder),
                   3);
  assert_int_equal(pto_ptosim_run("task %s/0", folder), 3);
  assert_non_null(strstr(pto_ptosim_last.err, "the address is 0 bytes behind its param 0 z"));
}

/* The address lies in the guard between two arrays. */
static void test_each_verb_tells_the_distance_to_what_the_task_has(void **state) {
  if (!pto_ptosim_reports_faults) skip();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(judging_verbs); i++) {
    if (strcmp(judging_verbs[i], "check --observe") == 0) continue; /* goes on, and finds it */
    expect_sentence(judging_verbs[i], "planted_beside.so --case far_written",
                    "the address is 10236 bytes behind the end of array x (1024 bytes), in which its param 0 z is");
    expect_sentence(judging_verbs[i], "planted_beside.so --case far_of_slot",
                    "in which the task has no parameter; it is 200004 bytes before its param 0 z");
    expect_sentence(judging_verbs[i], "planted_beside.so --case far_behind",
                    "the address is 11999996 bytes behind its param 0 z; its tensors are x");
    expect_sentence(
        judging_verbs[i], "planted_beside.so --case too_long",
        "the address is 0 bytes behind the end of array z (64 bytes), in which its param 0 z begins and ends 4 "
        "bytes behind it: `ptosim check --observe` tells its accesses");
  }
}

/* ---- the process ---- */

static void expect_end(const char *verb, int how, int is_in_kernel, const char *part) {
  const int code = pto_ptosim_run("%s %s/planted/planted_exit.so --chip tiny --set how=%d --set in_kernel=%d", verb,
                                  pto_ptosim_build(), how, is_in_kernel);
  if (code != 3 || !strstr(pto_ptosim_last.err, part) || strncmp(pto_ptosim_last.err, "ptosim: ", 8) != 0)
    fail_msg("%s how=%d in_kernel=%d left with %d: %s", verb, how, is_in_kernel, code, pto_ptosim_last.err);
}

static void test_a_program_that_ends_the_process_has_not_ended_well(void **state) {
  expect_end("run", 0, 0, "the program ended the process by exit(0), outside of any kernel");
  expect_end("run", 0, 1, "by exit(0) in task 0 (ender)");
  expect_end("run --engine virtual", 1, 1, "by _exit(0) in task 0 (ender)");
  expect_end("check", 1, 0, "by _exit(0), outside");
  expect_end("explore", 0, 1, "by exit(0) in task 0 (ender)");
  static const char *const calls[] = {"_Exit(0)",
                                      "quick_exit",
                                      "execl(\"/bin/true\")",
                                      "execlp(\"true\")",
                                      "execle(\"/bin/true\")",
                                      "execv(\"/bin/true\")",
                                      "execvp(\"true\")",
                                      "execve(\"/bin/true\")"};
  for (int i = 0; i < (int)PTO_ARRAY_LENGTH(calls); i++)
    for (int is_in_kernel = 0; is_in_kernel < 2; is_in_kernel++) {
      char sentence[128];
      snprintf(sentence, sizeof sentence, "the program ended the process by %s%s", calls[i],
               is_in_kernel ? " in task 0 (ender)" : ", outside of any kernel");
      expect_end(judging_verbs[(size_t)i % PTO_ARRAY_LENGTH(judging_verbs)], 6 + i, is_in_kernel, sentence);
    }
  if (!pto_ptosim_reports_faults) skip();
  expect_end("check --observe", 2, 1, "SIGTERM, which the program sent to its own process, in ");
  expect_end("run", 3, 1, "SIGABRT in task 0 (ender)");
}

static void test_a_signal_that_a_program_sends_to_itself_is_named(void **state) {
  static const struct {
    int number;
    const char *name;
  } sent[] = {{SIGTERM, "SIGTERM"}, {SIGALRM, "SIGALRM"},     {SIGPIPE, "SIGPIPE"},
              {SIGPROF, "SIGPROF"}, {SIGVTALRM, "SIGVTALRM"}, {SIGXCPU, "SIGXCPU"}};
  if (!pto_ptosim_reports_faults) skip();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sent); i++) {
    char sentence[128];
    const int how = 100 + sent[i].number;
    snprintf(sentence, sizeof sentence, "%s, which the program sent to its own process, in task 0 (ender)",
             sent[i].name);
    expect_end("run", how, 1, sentence);
    expect_end("run --engine virtual", how, 1, sentence);
    snprintf(sentence, sizeof sentence, "%s, which the program sent to its own process, outside", sent[i].name);
    expect_end("check", how, 0, sentence);
  }
  expect_end("run", 100 + SIGTRAP, 1, "SIGTRAP in task 0 (ender)");
  expect_end("run", 14, 0, "SIGALRM, of a timer of its own process, outside of any kernel");
}

/* No child comes back. */
static void test_a_program_that_forks_is_ended_before_it_is_two(void **state) {
  if (PTO_HAS_SANITIZER) skip();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(judging_verbs); i++) {
    expect_end(judging_verbs[i], 15, 1, "the program forked the process in task 0 (ender)");
    expect_end(judging_verbs[i], 15, 0, "the program forked the process, outside of any kernel");
  }
}

/* Whatever runs programs. */
static void test_an_orchestration_without_end_is_ended_by_the_time_out_of_each_verb(void **state) {
  static const char *const verbs[] = {"run",
                                      "run --engine virtual",
                                      "run --ranks 2",
                                      "check",
                                      "check --observe",
                                      "check --advise",
                                      "explore",
                                      "explore --all",
                                      "explore --engine threads",
                                      "predict",
                                      "what-if"};
  if (!pto_ptosim_reports_faults) skip();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(verbs); i++) {
    const int code = pto_ptosim_run("%s %s/planted/planted_exit.so --chip tiny --set how=5 --timeout 0.2", verbs[i],
                                    pto_ptosim_build());
    if (code != 3 || !strstr(pto_ptosim_last.err, "the orchestration outlived the time-out of 200 ms"))
      fail_msg("%s left with %d: %s", verbs[i], code, pto_ptosim_last.err);
  }
}

static void expect_late(const char *verb, const char *rest, const char *step) {
  char sentence[128];
  snprintf(sentence, sizeof sentence, "ptosim: %s of ", step);
  const int code = pto_ptosim_run("%s %s/planted/planted_endless.so --timeout 0.2%s", verb, pto_ptosim_build(), rest);
  if (code != 3 || !strstr(pto_ptosim_last.err, sentence) ||
      !strstr(pto_ptosim_last.err, "planted_endless.so outlived the time-out of 200 ms"))
    fail_msg("%s%s left with %d: %s", verb, rest, code, pto_ptosim_last.err);
}

static void test_a_program_without_end_beside_its_run_is_ended_by_the_time_out(void **state) {
  static const char *const verbs[] = {"run", "check", "check --observe", "explore"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(verbs); i++) {
    expect_late(verbs[i], " --set where=prepare", "prepare");
    if (i == 0) expect_late(verbs[i], " --set where=expect", "expect");
    assert_int_equal(setenv("PLANTED_ENDLESS", "1", 1), 0);
    expect_late(verbs[i], "", "loading");
    if (i == 0) expect_late("list programs", "", "loading");
    assert_int_equal(unsetenv("PLANTED_ENDLESS"), 0);
  }
}

/* Neither a file nor a report takes the place of a stream that the program has closed. */
static void test_a_program_that_closes_the_standard_streams_spoils_no_file(void **state) {
  char json[512];
  snprintf(json, sizeof json, "%s", pto_ptosim_path("closed.json"));
  assert_int_equal(
      pto_ptosim_run("run %s/planted/planted_exit.so --chip tiny --set how=4 --json %s", pto_ptosim_build(), json), 3);
  json_t *root = pto_ptosim_load(json);
  assert_string_equal(pto_json_text(root, "status"), "PTO_OK");
  json_decref(root);
}

static void test_a_file_that_never_ends_is_refused(void **state) {
  const char *const fifo = pto_ptosim_path("fifo");
  assert_int_equal(mkfifo(fifo, 0600), 0);
  pto_ptosim_run("run vector_example --chip %s", fifo);
  pto_ptosim_assert_complaint(2, "fifo: no regular file");
  pto_ptosim_run("explore vector_example --replay /dev/zero");
  pto_ptosim_assert_complaint(2, "/dev/zero: no regular file");
  pto_ptosim_run("regress /dev/zero");
  pto_ptosim_assert_complaint(2, "/dev/zero: no regular file");
  pto_ptosim_run("merge /dev/zero");
  pto_ptosim_assert_complaint(2, "/dev/zero: no regular file");
  pto_ptosim_run("adopt /dev/zero");
  pto_ptosim_assert_complaint(2, "/dev/zero: no regular file");
}

static void expect_no_regular_file(const char *name, const char *verb, const char *rest) {
  char path[512];
  snprintf(path, sizeof path, "%s", pto_ptosim_path(name));
  if (mkfifo(path, 0600) != 0) assert_int_equal(errno, EEXIST);
  const int code = pto_ptosim_run("%s%s%s", verb, path, rest);
  if (code != 2 || !strstr(pto_ptosim_last.err, strstr(verb, "compare") ? "no program \"" : ": no regular file"))
    fail_msg("%s%s%s left with %d: %s", verb, path, rest, code, pto_ptosim_last.err);
}

/* What opens a FIFO waits for its other end. */
static void test_a_fifo_is_refused_wherever_a_file_is_meant(void **state) {
  static const char *const loading[] = {"run ", "check ", "explore ", "suite ", "list programs "};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(loading); i++) expect_no_regular_file("fifo.so", loading[i], "");
  assert_int_equal(setenv("PTO_OPERATIONS", pto_ptosim_path("fifo.so"), 1), 0);
  assert_int_equal(pto_ptosim_run("list ops"), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "fifo.so: no regular file"));
  assert_int_equal(unsetenv("PTO_OPERATIONS"), 0);
  expect_no_regular_file("fifo.npy", "run vector_example --input a=", "");
  expect_no_regular_file("fifo.baseline", "compare ", " vector_example");
  expect_no_regular_file("fifo.py", "adopt ", "");
  char folder[512];
  snprintf(folder, sizeof folder, "%s", pto_ptosim_path("fifo.py"));
  *strrchr(folder, '/') = '\0';
  pto_ptosim_run("adopt %s", folder);
  pto_ptosim_assert_complaint(2, "fifo.py: no regular file");
}

static void test_a_fifo_in_the_folder_of_a_task_is_refused(void **state) {
  char folder[512], pattern[520];
  glob_t found;
  snprintf(folder, sizeof folder, "%s", pto_ptosim_path("kept_fifo"));
  assert_int_equal(pto_ptosim_run("run vector_example --dump 0 %s", folder), 0);
  snprintf(pattern, sizeof pattern, "%s/0/*.bin", folder);
  assert_int_equal(glob(pattern, 0, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    char kept[600];
    snprintf(kept, sizeof kept, "%s.kept", found.gl_pathv[i]);
    assert_int_equal(rename(found.gl_pathv[i], kept), 0);
    assert_int_equal(mkfifo(found.gl_pathv[i], 0600), 0);
    pto_ptosim_run("task %s/0", folder);
    pto_ptosim_assert_complaint(2, ": no regular file");
    assert_int_equal(rename(kept, found.gl_pathv[i]), 0);
  }
  globfree(&found);
}

/* ---- rules ---- */

static void expect_war_reuse(int code, const char *options) {
  int got = pto_ptosim_run("run war_reuse %s --json -", options);
  if (got != code) fail_msg("war_reuse %s left with %d: %s%s", options, got, pto_ptosim_last.out, pto_ptosim_last.err);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal(json_is_true(json_object_get(root, "verified")), code == 0);
  json_decref(root);
}

static void test_writes_after_reads_are_right_under_exact_rules_everywhere(void **state) {
  static const char *const options[] = {
      "--engine threads --chip tiny --policy fifo --workers 1",
      "--engine threads --chip tiny --policy lifo --workers 2",
      "--engine threads --chip a2a3 --policy random:5 --workers 5",
      "--engine threads --chip a5 --policy lifo --workers 2",
      "--engine virtual --chip tiny --policy lifo",
      "--engine virtual --chip a2a3 --policy lifo",
      "--engine virtual --chip a5 --policy random:5",
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(options); i++) expect_war_reuse(0, options[i]);
}

static void test_writes_after_reads_are_wrong_under_the_weaker_rules_every_time(void **state) {
  for (int i = 0; i < 3; i++) {
    expect_war_reuse(1, "--engine virtual --chip tiny --deps pto --policy lifo");
    expect_war_reuse(1, "--engine virtual --chip tiny --deps pto --policy lifo --case short");
  }
  expect_war_reuse(1, "--engine virtual --chip tiny --deps pto --policy lifo --seed 7 --workers 5");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_error_program_leaves_with_3_and_its_sentence_on_threads),
      cmocka_unit_test(test_each_error_program_leaves_with_3_and_its_sentence_in_virtual_time),
      cmocka_unit_test(test_each_error_program_says_the_same_on_a_large_chip),
      cmocka_unit_test(test_a_crash_and_a_kernel_without_end_are_named_on_both_engines),
      cmocka_unit_test(test_the_rings_that_are_told_as_enough_are_enough_for_the_whole_run),
      cmocka_unit_test(test_each_verb_says_where_a_scope_was_opened_and_a_refused_submit_is),
      cmocka_unit_test(test_each_verb_tells_the_distance_to_what_the_task_has),
      cmocka_unit_test(test_each_verb_that_runs_a_kernel_names_the_array_that_it_runs_off),
      cmocka_unit_test(test_a_program_that_ends_the_process_has_not_ended_well),
      cmocka_unit_test(test_a_signal_that_a_program_sends_to_itself_is_named),
      cmocka_unit_test(test_a_program_that_forks_is_ended_before_it_is_two),
      cmocka_unit_test(test_an_orchestration_without_end_is_ended_by_the_time_out_of_each_verb),
      cmocka_unit_test(test_a_program_without_end_beside_its_run_is_ended_by_the_time_out),
      cmocka_unit_test(test_a_program_that_closes_the_standard_streams_spoils_no_file),
      cmocka_unit_test(test_a_file_that_never_ends_is_refused),
      cmocka_unit_test(test_a_fifo_is_refused_wherever_a_file_is_meant),
      cmocka_unit_test(test_a_fifo_in_the_folder_of_a_task_is_refused),
      cmocka_unit_test(test_writes_after_reads_are_right_under_exact_rules_everywhere),
      cmocka_unit_test(test_writes_after_reads_are_wrong_under_the_weaker_rules_every_time),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
