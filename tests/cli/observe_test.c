/* SPDX-License-Identifier: MIT */
/* `ptosim check --observe` from outside: its exit status, its JSON, and every program that comes with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

static void test_a_right_program_leaves_with_0_and_is_verified(void **state) {
  assert_int_equal(pto_ptosim_run("check vector_example --observe"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "vector_example"));
  assert_non_null(strstr(pto_ptosim_last.out, "nothing found"));
  assert_int_equal(pto_ptosim_run("check vector_example --observe --expect f=/dev/null"), 2);
}

static void test_outputs_that_are_written_in_part_are_counted(void **state) {
  assert_int_equal(pto_ptosim_run("check batch_paged_attention --case one --observe"), 0);
  if (strstr(pto_ptosim_last.out, "not compared")) skip();
  assert_non_null(strstr(pto_ptosim_last.out,
                         "  35 outputs were written in part; no task reads the rest before another writes it\n"));
}

static void test_json_has_what_was_done_and_found(void **state) {
  assert_int_equal(pto_ptosim_run("check vector_example --observe --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal(pto_json_integer(root, "tasks"), 5);
  assert_int_equal(pto_json_integer(root, "finding_count"), 0);
  assert_int_equal(pto_json_integer(root, "exit"), 0);
  if (json_is_true(json_object_get(root, "compared"))) {
    assert_int_equal(pto_json_integer(root, "calls"), 5);
    assert_true(pto_json_integer(root, "runs") >= 10);
  }
  json_decref(root);
}

static void test_findings_leave_with_1_and_are_one_line_a_mistake(void **state) {
  const char *build = pto_ptosim_build();
  const int code = pto_ptosim_run("check %s/planted/planted_kernels.so --case hidden_state --observe", build);
  if (strstr(pto_ptosim_last.out, "not compared")) skip();
  assert_int_equal(code, 1);
  const char *told = strstr(pto_ptosim_last.out, "state: task 0 (counting) changes 1 byte of the static variable ");
  assert_non_null(told);
  const char *name = strstr(told, "calls"); /* clang writes count_run.calls, gcc calls.1 */
  assert_true(name && name < strstr(told, " (planted_kernels.so+"));
  assert_non_null(strstr(pto_ptosim_last.out, " (and 3 more like it) [this order]\n"));
  assert_non_null(strstr(pto_ptosim_last.out, "  4 found\n"));
  assert_int_equal(pto_ptosim_run("check %s/planted/planted_kernels.so --case hidden_state --observe --json -", build),
                   1);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal(pto_json_integer(root, "finding_count"), 4);
  assert_int_equal(json_array_size(json_object_get(root, "findings")), 4);
  json_decref(root);
}

/* Not as an OUTPUT that is read: that is the cause where no other block writes the bytes. */
static void test_what_another_block_writes_is_told_as_that_for_each_block(void **state) {
  const char *build = pto_ptosim_build();
  const int code = pto_ptosim_run("check %s/planted/planted_blocks.so --case running_sum --observe", build);
  if (strstr(pto_ptosim_last.out, "not compared")) skip();
  assert_int_equal(code, 1);
  assert_non_null(strstr(pto_ptosim_last.out, "block 0 writes bytes [256, 320) of array x"));
  assert_non_null(strstr(pto_ptosim_last.out, "which its block 1 reads: nothing orders the two"));
  assert_non_null(strstr(pto_ptosim_last.out, " (and 2 more like it) [sampled]\n"));
  assert_null(strstr(pto_ptosim_last.out, "read output"));
}

static void test_a_promise_that_is_not_kept_has_a_remedy(void **state) {
  static const char *const cases[][2] = {
      {"planted_kernels.so --case not_in_place", "take PTO_KERNEL_IN_PLACE out"},
      {"planted_promises.so --case by_core", "take `args->core->block_index` in"},
      {"planted_kernels.so --case sum_lost",
       "add with `+=`, or declare param 1 OUTPUT: `.mode = PTO_OUTPUT` in the kernel's list"},
      {"planted_kernels.so --case by_address", "compute with elements and offsets"},
      {"planted_promises.so --case by_clock", "pass what is to vary as a scalar"},
      {"planted_promises.so --case local_over", "`.local_bytes = 128`"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pto_ptosim_run("check %s/planted/%s --observe --json -", pto_ptosim_build(), cases[i][0]);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    if (json_is_false(json_object_get(root, "compared"))) {
      json_decref(root);
      skip();
    }
    json_t *finding = json_array_get(json_object_get(root, "findings"), 0);
    if (!strstr(pto_json_text(finding, "remedy"), cases[i][1]))
      fail_msg("of %s: %s", cases[i][0], pto_json_text(finding, "remedy"));
    json_decref(root);
  }
}

/* Of small numbers only some bytes change: their elements are one piece all the same. */
static void test_what_two_blocks_write_is_told_whole(void **state) {
  const int code = pto_ptosim_run("check %s/planted/planted_blocks.so --case same_row --observe", pto_ptosim_build());
  if (strstr(pto_ptosim_last.out, "not compared")) skip();
  assert_int_equal(code, 1);
  assert_non_null(strstr(pto_ptosim_last.out, "block 0 writes bytes [0, 64) of array x (buffer 1) (elements [0,0] to "
                                              "[0,15] of u32[16,16]), through param 0 x (inout), which its block 1"));
  assert_non_null(strstr(pto_ptosim_last.out, "  2 found\n"));
  assert_null(strstr(pto_ptosim_last.out, "near: "));
}

/* Of both: they are of one task, which is named and placed once. */
static void test_blocks_that_share_a_byte_name_its_elements_and_a_remedy(void **state) {
  const char *build = pto_ptosim_build();
  const char *command = "check %s/planted/planted_blocks.so --case half_shared --observe --json -";
  const int code = pto_ptosim_run(command, build);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *tasks, *finding = NULL;
  if (json_is_false(json_object_get(root, "compared"))) {
    json_decref(root);
    skip();
  }
  assert_int_equal(code, 1);
  assert_int_equal(pto_json_integer(root, "finding_count"), 2);
  finding = json_array_get(json_object_get(root, "findings"), 0);
  tasks = json_object_get(finding, "tasks");
  const char *sentence = pto_json_text(finding, "sentence"), *place = strstr(sentence, "; submitted at ");
  assert_non_null(strstr(sentence, "block 0 writes bytes [3, 4) of buffer 1 (elements [6] to [7] of i4[28]), through "
                                   "param 0 z (output), which its block 1 writes too"));
  assert_non_null(place);
  assert_null(strstr(place, " and planted_blocks.c"));
  assert_non_null(strstr(pto_json_text(finding, "remedy"), "begin each part at an even element"));
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(json_integer_value(json_array_get(tasks, i)), 0);
    assert_true(json_is_object(json_array_get(json_object_get(finding, "places"), i)));
    assert_string_equal(json_string_value(json_array_get(json_object_get(finding, "extents"), i)), "bytes 3:4");
  }
  json_decref(root);
}

static void test_a_finding_names_parameter_bytes_and_elements(void **state) {
  const char *build = pto_ptosim_build();
  pto_ptosim_run("check %s/planted/planted_kernels.so --case tail_left --observe", build);
  if (strstr(pto_ptosim_last.out, "not compared")) skip();
  assert_non_null(strstr(pto_ptosim_last.out,
                         "not written: task 0 (fill_fours) does not write bytes [48, 56) of buffer 1 (elements [0,12] "
                         "to [0,13] of u32[1,14]), which param 0 z (output) declares; submitted at "));
  assert_int_equal(pto_ptosim_run("check %s/planted/planted_kernels.so --case tail_left --observe --json -", build), 1);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  bool is_there = false;
  json_t *finding;
  size_t i;
  json_array_foreach(json_object_get(root, "findings"), i, finding) {
    if (strcmp(pto_json_text(finding, "kind"), "not written") != 0) continue;
    is_there = true;
    assert_int_equal(json_integer_value(json_array_get(json_object_get(finding, "params"), 0)), 0);
  }
  assert_true(is_there);
  json_decref(root);
}

/* Each finding of these has the words and the remedy. */
static void test_a_broken_promise_is_told_with_what_keeps_it(void **state) {
  static const struct {
    const char *bug, *words, *remedy;
  } told[] = {
      {"core_number", "the result depends on the core's number, and which core", "take `args->core->block_index`"},
      {"lane_number", "the result depends on the core's lane, and which lane", "launch a kernel for each lane"},
      {"sum_scaled", "grows by another amount", "declare param 1 INOUT"},
      {"sum_of_steps", "grows by another amount", "which bf16 loses, add these up in float32 first; if"},
  };
  if (!pto_ptosim_reports_faults) skip(); /* a sanitizer's build compares nothing */
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
    assert_int_equal(pto_ptosim_run("check %s/planted/planted_promises.so --case %s --observe --json -",
                                    pto_ptosim_build(), told[i].bug),
                     1);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    json_t *finding = json_array_get(json_object_get(root, "findings"), 0);
    const char *sentence = pto_json_text(finding, "sentence"), *remedy = pto_json_text(finding, "remedy");
    if (!strstr(sentence, told[i].words) || !strstr(remedy, told[i].remedy)) fail_msg("%s; %s", sentence, remedy);
    json_decref(root);
  }
}

/* "write outside" of the one array that it has run off, and nothing else. */
static void test_a_far_write_is_told_of_one_array_alone(void **state) {
  static const struct {
    const char *bug, *words;
  } told[] = {
      {"far_between", "writes bytes [490060, 490064) of array z (buffer 1), which it does not declare: 489996 bytes "
                      "behind param 0 z"},
      {"far_below", "writes bytes [-560000, -559996) of array z (buffer 1), which it does not declare: 559996 bytes "
                    "before param 0 z"},
      {"far_of_slot", "writes bytes [-200004, -200000) of array z (buffer 1), which it does not declare"},
      {"edge_before", "writes bytes [-262140, -262136) of array x (buffer 1), which it does not declare: 262136 bytes "
                      "before param 0 z"},
  };
  if (!pto_ptosim_reports_faults) skip(); /* a sanitizer's build compares nothing */
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
    const int code = pto_ptosim_run("check %s/planted/planted_beside.so --case %s --observe --json -",
                                    pto_ptosim_build(), told[i].bug);
    assert_int_equal(code, 1);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    const char *sentence = pto_json_text(json_array_get(json_object_get(root, "findings"), 0), "sentence");
    assert_int_equal(pto_json_integer(root, "finding_count"), 1);
    if (!strstr(sentence, told[i].words)) fail_msg("%s", sentence);
    json_decref(root);
  }
}

/* What costs time alone is told, with what would do, and changes no exit status. */
static void test_what_a_kernel_declares_and_does_not_need_is_a_note(void **state) {
  static const char *const told[][2] = {
      {"only_written",
       "unneeded: kernel twice_inout declares param 1 y (inout), and each of its calls writes all of it "
       "and reads nothing of what was there; the first is task 1; submitted at planted_declared.c:"},
      {"only_written",
       "; declare param 1 OUTPUT: `.mode = PTO_OUTPUT` in the kernel's list, `pto_output` in its submits [sampled]\n"},
      {"often_written", "reads nothing of what was there (its first 256 were asked); the first is task 1"},
      {"only_read", "none of its calls writes it"},
      {"sum_left", "none of its calls adds to it; the first is task 1; submitted at planted_declared.c:"},
      {"sum_left", "; leave param 1 out [sampled]\n"},
      {"sum_looked_at",
       "; declare param 0 INPUT: `.mode = PTO_INPUT` in the kernel's list, `pto_input` in its submits [sampled]\n"},
      {"never_waits", "declares PTO_KERNEL_WAITS, and none of its calls makes one of pto/core.h"},
      {"turns_untaken", "; take PTO_KERNEL_TURNS out of its flags [sampled]\n"},
      {"part_filled",
       "unfilled: 1 of the 64 elements of array w, an output, no task declares to write, from [3,15] on"},
      {"rows_filled",
       "unfilled: 32 of the 64 elements of array w, an output, no task declares to write, from [1,0] on"},
  };
  if (!pto_ptosim_reports_faults) skip();
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
    assert_int_equal(
        pto_ptosim_run("check %s/planted/planted_declared.so --case %s --observe", pto_ptosim_build(), told[i][0]), 0);
    if (!strstr(pto_ptosim_last.out, told[i][1])) fail_msg("no \"%s\" in %s", told[i][1], pto_ptosim_last.out);
    assert_null(strstr(pto_ptosim_last.out, "again:")); /* its task alone would not show it */
  }
  /* Calls that are left out may need it. */
  assert_int_equal(
      pto_ptosim_run("check %s/planted/planted_declared.so --case only_written --observe --observe-tasks 0",
                     pto_ptosim_build()),
      0);
  assert_null(strstr(pto_ptosim_last.out, "unneeded"));
}

/* Each of these is told with these words, and as often as it is made: nothing of it stays for the calls behind. */
static void test_what_outlives_a_call_is_told_and_put_back(void **state) {
  static const struct {
    const char *bug, *words, *count;
  } told[] = {
      {"rounds_up",
       "state: task 0 (third) leaves the thread's floating-point mode changed (it rounds upward): it outlives the "
       "call, "
       "and other kernels compute with it",
       "  2 found\n"},
      {"counts_in_shape",
       "state: task 0 (copy_back) changes `args->tensors[1].shape[1]`, which the kernel may only read: it outlives the "
       "call, and other blocks and cores of the task share it",
       "  1 found\n"},
      {"core_sum",
       "state: task 0 (reduce) depends on bytes [0, 4) of the 80 that its core keeps (pto_core_private at "
       "planted_state.c:",
       "  1 found\n"},
      {"core_most", ", which it has not written itself: where no call has been there before, byte 4 of array z",
       "  1 found\n"},
      {"core_lane", ", which it has not written itself: where it is as task 0 leaves it, byte 4 of array z",
       "  1 found\n"},
      {"core_grown",
       "state: task 1 (gather) depends on bytes [0, 16) of the 16 that its core keeps (pto_core_private at "
       "planted_state.c:",
       "  1 found\n"},
      {"core_scratch", ", which it has not written itself: where the same call has been there before", "  4 found\n"},
  };
  if (!pto_ptosim_reports_faults) skip(); /* a sanitizer's build compares nothing */
  for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
    const int code =
        pto_ptosim_run("check %s/planted/planted_state.so --case %s --observe", pto_ptosim_build(), told[i].bug);
    if (code != 1 || !strstr(pto_ptosim_last.out, told[i].words) || !strstr(pto_ptosim_last.out, told[i].count))
      fail_msg("of %s: %s", told[i].bug, pto_ptosim_last.out);
    /* where its core has memory of an earlier call, a pointer may be one that a repeated run has freed */
    if (strcmp(told[i].bug, "core_scratch") != 0) assert_null(strstr(pto_ptosim_last.out, "unstable"));
    assert_string_equal(pto_ptosim_last.err, ""); /* repeated runs that crash say nothing */
  }
}

/* Each element that matters is among them, whichever of the two special values it had. */
static void test_what_special_values_show_is_told_whole(void **state) {
  static const char *const bugs[] = {"weight_zero", "asks_nan", "asks_infinite"};
  if (!pto_ptosim_reports_faults) skip(); /* a sanitizer's build compares nothing */
  for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
    assert_int_equal(
        pto_ptosim_run("check %s/planted/planted_state.so --case %s --observe", pto_ptosim_build(), bugs[i]), 1);
    assert_non_null(
        strstr(pto_ptosim_last.out, " reads bytes [0, 64) of buffer 2 (elements [0,0] to [0,15] of f32[1,16])"));
    assert_non_null(strstr(pto_ptosim_last.out, " (and 1 more like it) [sampled]\n"));
  }
}

static void test_only_the_tasks_asked_for_are_observed(void **state) {
  if (!pto_ptosim_reports_faults) skip(); /* a sanitizer's build compares nothing */
  assert_int_equal(pto_ptosim_run("check war_reuse --case short --observe --observe-tasks 3-7 --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal(pto_json_integer(root, "calls"), 5);
  assert_int_equal(pto_json_integer(root, "calls_left_out"), 195);
  json_decref(root);
  assert_int_equal(pto_ptosim_run("check war_reuse --case short --observe --observe-calls 2"), 0);
  assert_non_null(
      strstr(pto_ptosim_last.out, "kernel calls left out, as asked (ptosim check war_reuse --case short --observe)"));
}

static void test_a_run_that_fails_leaves_with_3_and_its_sentence(void **state) {
  assert_int_equal(pto_ptosim_run("check errors/kernel --observe --quiet"), 3);
  pto_ptosim_assert_complaint(3, "element 11 is -3, not positive");
  assert_int_equal(pto_ptosim_run("check errors/kernel --observe"), 3);
  assert_non_null(strstr(pto_ptosim_last.out, "the run failed; until then nothing was found"));
  if (!pto_ptosim_reports_faults) return;
  pto_ptosim_run("check errors/crash --observe --quiet");
  pto_ptosim_assert_complaint(3, "SIGSEGV at address 0x");
  assert_int_equal(pto_ptosim_run("check errors/crash --observe --json -"), 3);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_non_null(strstr(pto_json_text(root, "error"), "SIGSEGV at address 0x"));
  assert_int_equal(pto_json_integer(root, "exit"), 3);
  json_decref(root);
  pto_ptosim_run("check errors/timeout --observe --quiet");
  pto_ptosim_assert_complaint(3, "outlived the time-out of 200 ms");
}

/* A core that returns early, so that another one waits for ever: the finding has it, and the error of the run is that.
 */
static void test_cores_that_wait_for_ever_are_told_once(void **state) {
  const char *command = "check %s/planted/planted_cores.so --case too_few --observe%s";
  (void)state;
  if (!pto_ptosim_reports_faults) skip(); /* a sanitizer's build compares nothing */
  assert_int_equal(pto_ptosim_run(command, pto_ptosim_build(), ""), 3);
  assert_non_null(strstr(pto_ptosim_last.out, "stuck: cores wait for ever: task 0 (too_few) block 0 AIV1"));
  assert_string_equal(pto_ptosim_last.err, "");
  assert_int_equal(pto_ptosim_run(command, pto_ptosim_build(), " --quiet"), 3);
  assert_non_null(strstr(pto_ptosim_last.err, "ptosim: cores wait for ever: task 0 (too_few) block 0 AIV1"));
}

static void test_wrong_arguments_leave_with_2(void **state) {
  static const char *const lines[][2] = {
      {"check --observe", "which program?"},
      {"check vector_example bgemm --observe", "one program at a time"},
      {"check vector_example --observe --engine virtual", "--observe does not take --engine"},
      {"check vector_example --observe --observe-tasks x", "x"},
      {"check vector_example --observe --observe-tasks 90-99", "there is no task 99: the run has 5"},
      {"check vector_example --observe --observe-tasks 4-5", "there is no task 5: the run has 5"},
      {"check vector_example --observe --observe-tasks 7-3", "the last task comes before the first"},
      {"check vector_example --observe --observe-calls 0", "0"},
      {"check kv_cache --set steps=2 --observe --observe-tasks 32", "there is no task 32: the run has 32"},
  };
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    pto_ptosim_run("%s --quiet", lines[i][0]);
    pto_ptosim_assert_complaint(2, lines[i][1]);
  }
}

static void test_what_kernels_of_dispatches_touch_is_held_against_what_they_declare(void **state) {
  static const struct {
    const char *settings, *found; /* the start of each finding's line, which is of either dispatch */
    int contexts;
  } rows[] = {
      {"--set touch=0", NULL, 1},
      {"--set contexts=true", NULL, 2},
      {"--set report=false --observe-tasks 0-1", NULL, 1},
      {"--set recreate=true", NULL, 1},
      {"--set touch=1", "write outside: task 0 (copy) writes bytes [64, 68) of device tensor (buffer 2), ", 1},
      {"--set touch=2", "read outside: task 0 (copy) reads bytes [64, 68) of device tensor rewritten (buffer 1), ", 1},
      {"--set touch=3",
       "not written: task 0 (copy) does not write bytes [60, 64) of device tensor (buffer 2) (element [15] of "
       "f32[16]), ",
       1},
      {"--set touch=1 --set contexts=true", "write outside: task 0 (copy) writes bytes [64, 68)", 2}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const int code =
        pto_ptosim_run("check %s/planted/planted_contexts.so --observe %s", pto_ptosim_build(), rows[i].settings);
    if (strstr(pto_ptosim_last.out, "not compared")) skip();
    if (code != (rows[i].found ? 1 : 0))
      fail_msg("%s: %d: %s%s", rows[i].settings, code, pto_ptosim_last.out, pto_ptosim_last.err);
    assert_non_null(strstr(pto_ptosim_last.out, "observed 2 kernel calls of 2 tasks"));
    assert_non_null(strstr(pto_ptosim_last.out, rows[i].contexts == 2 ? ", 2 contexts\n" : ", 1 context\n"));
    if (rows[i].found && !strstr(pto_ptosim_last.out, rows[i].found)) fail_msg("%s", pto_ptosim_last.out);
  }
}

static void test_bytes_of_a_block_are_told_in_elements_of_its_parameter(void **state) {
  pto_ptosim_run("check %s/planted/planted_beside.so --case block_left --observe", pto_ptosim_build());
  if (strstr(pto_ptosim_last.out, "not compared")) skip();
  assert_non_null(strstr(pto_ptosim_last.out, "bytes [60, 64) of array pto_program_alloc "));
  assert_non_null(strstr(pto_ptosim_last.out, " (element [0,15] of u32[1,16]), which param 0 z (output) declares"));
}

/* By what it says of itself. */
static int is_of_several_ranks(const char *program) {
  assert_int_equal(pto_ptosim_run("list programs %s", program), 0);
  return strstr(pto_ptosim_last.out, "\n    runs on ") != NULL;
}

static void test_programs_that_come_with_it_are_clean(void **state) {
  static const char *const not_asked[] = {"errors/"};
  assert_int_equal(pto_ptosim_run("list programs"), 0);
  char *names = strdup(pto_ptosim_last.out), *rest = NULL;
  assert_non_null(names);
  for (char *line = strtok_r(names, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    int is_asked = 1;
    line[strcspn(line, " ")] = '\0';
    for (size_t i = 0; i < sizeof not_asked / sizeof not_asked[0]; i++)
      if (strncmp(line, not_asked[i], strlen(not_asked[i])) == 0) is_asked = 0;
    if (!is_asked || is_of_several_ranks(line)) continue;
    const int code = pto_ptosim_run("check %s --observe --chip a2a3%s", line,
                                    strcmp(line, "kv_cache") == 0     ? " --set steps=16"
                                    : strcmp(line, "task_bench") == 0 ? " --set tasks=1000"
                                                                      : "");
    if (code) fail_msg("%s ends with exit status %d: %s%s", line, code, pto_ptosim_last.out, pto_ptosim_last.err);
  }
  free(names);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_right_program_leaves_with_0_and_is_verified),
      cmocka_unit_test(test_outputs_that_are_written_in_part_are_counted),
      cmocka_unit_test(test_json_has_what_was_done_and_found),
      cmocka_unit_test(test_findings_leave_with_1_and_are_one_line_a_mistake),
      cmocka_unit_test(test_what_another_block_writes_is_told_as_that_for_each_block),
      cmocka_unit_test(test_a_promise_that_is_not_kept_has_a_remedy),
      cmocka_unit_test(test_what_two_blocks_write_is_told_whole),
      cmocka_unit_test(test_blocks_that_share_a_byte_name_its_elements_and_a_remedy),
      cmocka_unit_test(test_a_finding_names_parameter_bytes_and_elements),
      cmocka_unit_test(test_a_broken_promise_is_told_with_what_keeps_it),
      cmocka_unit_test(test_a_far_write_is_told_of_one_array_alone),
      cmocka_unit_test(test_what_a_kernel_declares_and_does_not_need_is_a_note),
      cmocka_unit_test(test_what_outlives_a_call_is_told_and_put_back),
      cmocka_unit_test(test_what_special_values_show_is_told_whole),
      cmocka_unit_test(test_only_the_tasks_asked_for_are_observed),
      cmocka_unit_test(test_a_run_that_fails_leaves_with_3_and_its_sentence),
      cmocka_unit_test(test_cores_that_wait_for_ever_are_told_once),
      cmocka_unit_test(test_wrong_arguments_leave_with_2),
      cmocka_unit_test(test_what_kernels_of_dispatches_touch_is_held_against_what_they_declare),
      cmocka_unit_test(test_bytes_of_a_block_are_told_in_elements_of_its_parameter),
      cmocka_unit_test(test_programs_that_come_with_it_are_clean),
  };
  return cmocka_run_group_tests_name("cli_observe", tests, pto_ptosim_setup, pto_ptosim_teardown);
}
