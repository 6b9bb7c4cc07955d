/* SPDX-License-Identifier: MIT */
/* `ptosim run --dump` and `ptosim task` from outside. */
#include <glob.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

static char build[PATH_MAX], include[PATH_MAX];

static int set_up(void **state) {
  if (pto_ptosim_setup(state)) return -1;
  return realpath(pto_ptosim_build(), build) && realpath("include", include) ? 0 : -1;
}

/* Keeps tasks of a run in the folder `name`, and returns how many there are. */
static size_t keep(const char *name, const char *tasks, const char *run) {
  char pattern[PATH_MAX];
  glob_t found;
  const char *folder = pto_ptosim_path(name);
  int code = pto_ptosim_run("run %s --quiet --dump %s %s", run, tasks, folder);
  if (code != 0) fail_msg("run %s ends with exit status %d: %s", run, code, pto_ptosim_last.err);
  snprintf(pattern, sizeof pattern, "%s/*", folder);
  size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
  if (count) globfree(&found);
  return count;
}

/* Runs each task of a folder again. */
static void assert_all_the_same(const char *name, const char *options) {
  char pattern[PATH_MAX];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s/*", pto_ptosim_path(name));
  assert_int_equal(glob(pattern, 0, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; i++) {
    int code = pto_ptosim_run("task %s%s", found.gl_pathv[i], options);
    if (code != 0) fail_msg("%s: %d: %s%s", found.gl_pathv[i], code, pto_ptosim_last.out, pto_ptosim_last.err);
    assert_non_null(strstr(pto_ptosim_last.out, "the same, bit by bit"));
  }
  globfree(&found);
}

static const char *task_path(const char *name, int number) {
  static char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%d", pto_ptosim_path(name), number);
  return path;
}

/* ---- the same again ---- */

static void test_every_captured_task_gives_the_same_again(void **state) {
  static const char *const runs[] = {
      "paged_attention --engine threads --workers 2",
      "paged_attention --engine virtual --chip a2a3 --policy random:3",
      "spmd --engine threads --workers 3",
      "spmd_sync_start --engine virtual --chip a2a3",
      "core_fifo --engine threads --workers 2",
      "mixed_example --engine virtual",
      "split_k --engine threads",
      "strided_views --engine threads --workers 2",
      "inplace_update --engine virtual",
  };
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    char name[16];
    snprintf(name, sizeof name, "same%zu", i);
    assert_true(keep(name, "0-12", runs[i]) > 0);
    assert_all_the_same(name, "");
  }
  assert_all_the_same("same0", " --engine virtual --repeat 3");
  assert_all_the_same("same2", " --engine virtual");
}

static void test_a_run_whose_tasks_are_kept_gives_the_same_bytes(void **state) {
  static const char *const programs[] = {"bgemm --case 500x128x2 --engine threads --workers 3", "spmd --engine virtual",
                                         "paged_attention --engine threads --rounds 3", "moe --engine threads"};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    assert_int_equal(pto_ptosim_run("run %s --json -", programs[i]), 0);
    json_t *plain = pto_ptosim_parse(pto_ptosim_last.out);
    assert_int_equal(pto_ptosim_run("run %s --json - --dump 0-9 %s", programs[i], pto_ptosim_path("bytes")), 0);
    json_t *kept = pto_ptosim_parse(pto_ptosim_last.out);
    assert_string_equal(pto_json_text(plain, "output_digest"), pto_json_text(kept, "output_digest"));
    json_decref(plain);
    json_decref(kept);
  }
}

static void test_views_through_two_registrations_and_other_dtypes_are_kept(void **state) {
  static const char *const views[] = {"whole", "tile", "slice", "transposed", "reshaped", "bytes", "alias", "padded"};
  static const char *const dtypes[] = {"f32", "fp16", "bf16", "i8"};
  for (size_t i = 0; i < 8; i++) {
    char run[PATH_MAX + 200], name[16];
    snprintf(name, sizeof name, "views%zu", i);
    snprintf(run, sizeof run, "%s/planted/planted_hazards.so --set view=%s --set dtype=%s --set bug=0", build, views[i],
             dtypes[i % 4]);
    assert_int_equal(keep(name, "0-3", run), 4);
    assert_all_the_same(name, "");
  }
}

static void test_tasks_are_chosen_by_number_range_and_kernel(void **state) {
  assert_int_equal(keep("by_kernel", "add_inplace", "bgemm --set task_num=4"), 4);
  assert_int_equal(keep("by_first", "first:add_inplace,0,6-7", "bgemm --set task_num=4"), 4);
  pto_ptosim_run("run bgemm --quiet --dump add_in_place %s", pto_ptosim_path("none"));
  pto_ptosim_assert_complaint(2, "--dump: no kernel ran for add_in_place");
  pto_ptosim_run("run bgemm --quiet --dump 3-1 %s", pto_ptosim_path("none"));
  pto_ptosim_assert_complaint(2, "--dump: \"3-1\" is neither");
  pto_ptosim_run("run bgemm --quiet --dump 3");
  pto_ptosim_assert_complaint(2, "--dump: takes TASKS DIR");
}

/* Each context that lives beside another has a folder and numbers of its own. */
static void test_tasks_of_contexts_at_the_same_time_are_kept(void **state) {
  static const char *const engines[] = {"threads", "virtual"};
  for (size_t i = 0; i < 2; i++) {
    char run[PATH_MAX + 100], name[32];
    snprintf(run, sizeof run, "%s/planted/planted_contexts.so --set both=true --engine %s", build, engines[i]);
    snprintf(name, sizeof name, "both_%s", engines[i]);
    assert_int_equal(keep(name, "0,first:copy", run), 2);
    assert_int_equal(pto_ptosim_run("task %s --quiet", task_path(name, 0)), 0);
    snprintf(name, sizeof name, "both_%s/context2", engines[i]);
    assert_int_equal(pto_ptosim_run("task %s --quiet", task_path(name, 0)), 0);
  }
}

/* ---- not the same ---- */

static void test_a_kernel_with_a_state_of_its_own_is_different_when_alone(void **state) {
  char run[PATH_MAX + 100];
  snprintf(run, sizeof run, "%s/planted/planted_kernels.so --case hidden_state --engine virtual", build);
  assert_int_equal(keep("hidden", "2", run), 1);
  assert_int_equal(pto_ptosim_run("task %s --json -", task_path("hidden", 2)), 1);
  json_t *result = pto_ptosim_parse(pto_ptosim_last.out),
         *finding = json_array_get(json_object_get(result, "findings"), 0);
  assert_string_equal(pto_json_text(finding, "kind"), "difference");
  assert_non_null(
      strstr(pto_json_text(finding, "sentence"), "param 0 (u32) [0]: 1 instead of 3 (0x00000001 instead of "));
  json_decref(result);
}

/* A library with one kernel called "step" of tests/planted, which computes `expression` of the word v. */
static void compile_step(const char *name, const char *expression) {
  char command[3 * PATH_MAX];
  const char *source = pto_ptosim_path("step.c");
  FILE *file = fopen(source, "w");
  assert_non_null(file);
  fprintf(file,
          "#include <pto/pto.h>\n"
          "static int run(const struct pto_kernel_args *a) {\n"
          "  const struct pto_kernel_tensor *t = a->tensors;\n"
          "  for (uint64_t i = 0; i < t->shape[0]; i++)\n"
          "    for (uint64_t j = 0; j < t->shape[1]; j++) {\n"
          "      uint32_t *z = (uint32_t *)t->addr + i * t->strides[0] + j * t->strides[1], v = *z;\n"
          "      *z = %s;\n"
          "    }\n"
          "  return 0;\n"
          "}\n"
          "static const struct pto_kernel_param params[] = {{.name = \"x\", .mode = PTO_INOUT}};\n"
          "const struct pto_kernel mine = {.name = \"step\", .cores = PTO_AIV, .params = params, .param_count = 1, "
          ".run = run};\n",
          expression);
  fclose(file);
  snprintf(command, sizeof command, "${CC:-cc} -std=c17 -fPIC -shared -I%s -o %s %s", include, pto_ptosim_path(name),
           source);
  assert_int_equal(system(command), 0);
}

static void test_another_kernel_of_the_same_name_is_compared(void **state) {
  char run[PATH_MAX + 100];
  if (system("${CC:-cc} --version >/dev/null 2>&1") != 0) skip();
  snprintf(run, sizeof run, "%s/planted/planted_manual.so --case skips_a_step --set bug=0", build);
  assert_int_equal(keep("steps", "1", run), 1);
  compile_step("good.so", "v + v + v + 1");
  assert_int_equal(pto_ptosim_run("task %s --kernel %s", task_path("steps", 1), pto_ptosim_path("good.so")), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "the same within tolerance"));
  compile_step("bad.so", "3 * v + 1 + (i == 2 && j == 5)");
  assert_int_equal(pto_ptosim_run("task %s --kernel %s", task_path("steps", 1), pto_ptosim_path("bad.so")), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "difference: param 0 (u32) [2, 5]: "));
  assert_non_null(strstr(pto_ptosim_last.out, "; 1 of 256 elements differ"));
  assert_int_equal(pto_ptosim_run("task %s --atol 1 --kernel %s", task_path("steps", 1), pto_ptosim_path("bad.so")), 0);
  pto_ptosim_run("task %s --kernel %s/planted/planted_race.so", task_path("steps", 1), build);
  pto_ptosim_assert_complaint(2, "the library has no kernel called step");
}

static void test_a_kernel_that_crashes_leaves_its_inputs(void **state) {
  if (!pto_ptosim_reports_faults) skip();
  assert_int_equal(pto_ptosim_run("run errors/crash --quiet --dump 0 %s", pto_ptosim_path("crash")), 3);
  json_t *task = pto_ptosim_load(pto_ptosim_path("crash/0/task.json"));
  assert_false(json_is_true(json_object_get(task, "ended")));
  json_decref(task);
  pto_ptosim_run("task %s", task_path("crash", 0));
  pto_ptosim_assert_complaint(3, "SIGSEGV");
}

/* ---- folders that are not what they have to be ---- */

static void assert_refused(json_t *task, const char *part) {
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/task.json", task_path("hostile", 0));
  assert_int_equal(json_dump_file(task, path, 0), 0);
  pto_ptosim_run("task %s", task_path("hostile", 0));
  pto_ptosim_assert_complaint(2, part);
}

/* Sets one value, sees the folder refused, and puts the old one back. */
static void assert_value_refused(json_t *task, json_t *object, const char *key, json_t *value, const char *part) {
  json_t *before = json_incref(json_object_get(object, key));
  json_object_set_new(object, key, value);
  assert_refused(task, part);
  json_object_set_new(object, key, before);
}

static void test_a_folder_that_is_not_what_it_says_is_refused(void **state) {
  assert_true(keep("hostile", "0", "bgemm --set task_num=2") > 0);
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/task.json", task_path("hostile", 0));
  json_t *task = pto_ptosim_load(path), *params = json_object_get(task, "params");
  json_t *param = json_array_get(params, 0), *memory = json_array_get(json_object_get(task, "memory"), 0);
  json_t *kernel = json_object_get(json_object_get(task, "kernels"), "aic"),
         *local = json_object_get(task, "local_bytes");
  assert_value_refused(task, task, "format", json_string("other"), "format \"other\" version 1 is read by no one");
  assert_value_refused(task, task, "version", json_integer(2), "version 2 is read by no one");
  assert_value_refused(task, task, "kernels", json_object(), "\"kernels\" names none");
  assert_value_refused(task, kernel, "name", json_string("nothing"), "there is no general kernel nothing");
  assert_value_refused(task, kernel, "general", json_false(), "program bgemm has no kernel matmul");
  assert_value_refused(task, memory, "bytes", json_integer(7), "not the 7 bytes of memory 0");
  assert_value_refused(task, memory, "bytes", json_integer(INT64_MAX), "\"bytes\" holds no whole number");
  assert_value_refused(task, memory, "bytes", json_integer(INT64_C(1) << 60), "bytes of memory 0");
  assert_value_refused(task, memory, "page_offset", json_integer(4096), "\"page_offset\" holds no whole number");
  assert_value_refused(task, param, "memory", json_integer(31), "there is no memory 31");
  assert_value_refused(task, param, "memory", json_null(), "params[0]: ");
  assert_value_refused(task, param, "dtype", json_string("f33"), "\"dtype\" is none");
  assert_value_refused(task, param, "mode", json_string("IN"), "\"mode\" is none");
  assert_value_refused(task, param, "offset_bytes", json_integer(INT64_C(1) << 61), "params[0]: ");
  assert_value_refused(task, param, "offset_bytes", json_integer(3), "params[0]: ");
  assert_value_refused(task, param, "shape", json_pack("[i,i]", 1 << 30, 1 << 30), "params[0]: ");
  assert_value_refused(task, param, "shape", json_pack("[i]", 4), "2 strides for 1 dimensions");
  assert_value_refused(task, param, "strides", json_pack("[I,i]", (json_int_t)1 << 61, 1), "params[0]: ");
  assert_value_refused(task, task, "blocks", json_integer(UINT32_MAX), "block_count is 4294967295");
  assert_value_refused(task, task, "blocks", json_integer(2), "block_count is 2, but the kernel does the whole");
  assert_value_refused(task, task, "blocks", json_true(), "\"blocks\" holds no whole number");
  assert_value_refused(task, local, "aiv", json_integer(5), "say which chip with --chip");
  assert_value_refused(task, task, "params", json_array(), "takes 3 parameters, 0 were passed");
  assert_value_refused(task, task, "params", json_string("x"), "\"params\" is no array");
  json_decref(task);
  pto_ptosim_run("task /nowhere");
  pto_ptosim_assert_complaint(2, "/nowhere/task.json: No such file");
}

static void test_bad_arguments_are_refused(void **state) {
  pto_ptosim_run("task");
  pto_ptosim_assert_complaint(2, "one folder");
  pto_ptosim_run("task a b");
  pto_ptosim_assert_complaint(2, "one folder");
  pto_ptosim_run("task a --set x=1");
  pto_ptosim_assert_complaint(2, "--set is for `ptosim run`");
  pto_ptosim_run("task a --repeat 0");
  pto_ptosim_assert_complaint(2, "--repeat: \"0\" is no number from 1");
  assert_int_equal(pto_ptosim_run("task --help"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "--kernel FILE.so"));
}

/* ---- under memcheck ---- */

static void test_a_task_alone_is_clean_under_memcheck(void **state) {
  char command[2 * PATH_MAX];
  if (!pto_ptosim_reports_faults || system("command -v valgrind >/dev/null") != 0) skip();
  assert_true(keep("valgrind", "1,3", "paged_attention") == 2);
  assert_true(keep("waiting", "0", "core_fifo") == 1);
  const char *folders[] = {"valgrind/1", "valgrind/3", "waiting/0"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    snprintf(command, sizeof command,
             "valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite %s/ptosim task %s "
             ">%s 2>&1",
             build, pto_ptosim_path(folders[i]), pto_ptosim_path("log"));
    int status = system(command);
    char *said = pto_ptosim_read_file(pto_ptosim_path("log"));
    if (status != 0) fail_msg("%s: %s", folders[i], said);
    free(said);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_captured_task_gives_the_same_again),
      cmocka_unit_test(test_a_run_whose_tasks_are_kept_gives_the_same_bytes),
      cmocka_unit_test(test_views_through_two_registrations_and_other_dtypes_are_kept),
      cmocka_unit_test(test_tasks_are_chosen_by_number_range_and_kernel),
      cmocka_unit_test(test_tasks_of_contexts_at_the_same_time_are_kept),
      cmocka_unit_test(test_a_kernel_with_a_state_of_its_own_is_different_when_alone),
      cmocka_unit_test(test_another_kernel_of_the_same_name_is_compared),
      cmocka_unit_test(test_a_kernel_that_crashes_leaves_its_inputs),
      cmocka_unit_test(test_a_folder_that_is_not_what_it_says_is_refused),
      cmocka_unit_test(test_bad_arguments_are_refused),
      cmocka_unit_test(test_a_task_alone_is_clean_under_memcheck),
  };
  return cmocka_run_group_tests(tests, set_up, pto_ptosim_teardown);
}
