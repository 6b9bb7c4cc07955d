/* SPDX-License-Identifier: MIT */
/*
 * The loader against real shared objects: small fixtures, compiled here from one line of C each (skipped where there is
 * no compiler), in folders of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <orchestration/loader/loader.h>
#include <pto/version.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tests/support/failing_malloc.h>

struct fixture {
  char folder[PATH_MAX]; /* first/, second/ and the sources */
  char include[PATH_MAX];
  bool has_compiler;
};

static struct fixture fixture;

/* A local text, printed. */
#define PATH(name, ...)                                                                                                \
  char name[8 * PATH_MAX];                                                                                             \
  assert_true(snprintf(name, sizeof name, __VA_ARGS__) < (int)sizeof name)

/* ---- fixtures ---- */

static const char prologue[] =
    "#include <pto/pto.h>\n"
    "static int globals;\n"
    "static int go(struct pto_runtime *rt, struct pto_program_run *run) { return ++globals; }\n";

/* A shared object at `path` below the folder, of the prologue and `text`. */
static void compile(const char *path, const char *text) {
  PATH(source, "%s/source.c", fixture.folder);
  FILE *file = fopen(source, "w");
  assert_non_null(file);
  fprintf(file, "%s%s\n", prologue, text);
  fclose(file);
  PATH(command, "${CC:-cc} -std=c17 -w -fPIC -shared -I%s -o %s/%s %s", fixture.include, fixture.folder, path, source);
  assert_int_equal(system(command), 0);
}

static void compile_named(const char *path, const char *name) {
  char text[256];
  snprintf(
      text, sizeof text,
      "PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI, .name = \"%s\", .orchestrate = go};",
      name);
  compile(path, text);
}

static int set_up(void **state) {
  char executable[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
  if (length <= 0) return -1;
  executable[length] = '\0';
  /* BUILD/tests/orchestration/loader/loader_test: the headers are beside the build folder. */
  for (int i = 0; i < 5; i++) *strrchr(executable, '/') = '\0';
  snprintf(fixture.include, sizeof fixture.include, "%.4000s/include", executable);
  const char *temporary = getenv("TMPDIR");
  snprintf(fixture.folder, sizeof fixture.folder, "%.2000s/loader-XXXXXX", temporary ? temporary : "/tmp");
  if (!mkdtemp(fixture.folder)) return -1;
  fixture.has_compiler = system("${CC:-cc} --version >/dev/null 2>&1") == 0;
  if (!fixture.has_compiler) return 0;
  static const char *const folders[] = {"first", "first/errors", "first/.hidden", "second", "second/errors"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    PATH(folder, "%s/%s", fixture.folder, folders[i]);
    if (mkdir(folder, 0700) != 0) return -1;
  }
  compile_named("first/beta.so", "first beta");
  compile_named("first/errors/scope.so", "first scope");
  compile_named("first/.hidden/ghost.so", "ghost");
  compile_named("second/alpha.so", "second alpha");
  compile_named("second/beta.so", "second beta");
  compile_named("second/errors/heap.so", "second heap");
  PATH(list, "%s/none:%s/first::%s/second", fixture.folder, fixture.folder, fixture.folder);
  return setenv("PTO_PROGRAM_PATH", list, 1);
}

static int tear_down(void **state) {
  PATH(command, "rm -rf %s", fixture.folder);
  return system(command);
}

static void need_compiler(void) {
  if (!fixture.has_compiler) skip();
}

static struct pto_loaded_program *load(const char *name) {
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error = {0};
  int status = pto_program_load(name, &loaded, &error);
  if (status != PTO_OK) fail_msg("%s", error.sentence);
  return loaded;
}

/* The loading of `name` fails with PTO_EINVAL, writes nothing, and its sentence contains `words`. */
static void refuses(const char *name, const char *words) {
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error = {0};
  assert_int_equal(pto_program_load(name, &loaded, &error), PTO_EINVAL);
  assert_null(loaded);
  if (!strstr(error.sentence, words)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, words);
}

static int call(const struct pto_loaded_program *loaded) { return loaded->program->orchestrate(NULL, NULL); }

/* ---- finding ---- */

static void test_a_name_is_found_in_the_first_folder_that_has_it(void **state) {
  need_compiler();
  struct pto_loaded_program *beta = load("beta"), *alpha = load("alpha");
  assert_string_equal(beta->program->name, "first beta");
  assert_string_equal(alpha->program->name, "second alpha");
  assert_string_equal(beta->name, "beta");
  pto_program_unload(beta);
  pto_program_unload(alpha);
}

static void test_a_name_in_a_sub_folder_is_found_with_its_slash(void **state) {
  need_compiler();
  struct pto_loaded_program *scope = load("errors/scope"), *heap = load("errors/heap");
  assert_string_equal(scope->program->name, "first scope");
  assert_string_equal(heap->program->name, "second heap");
  assert_string_equal(scope->name, "errors/scope");
  pto_program_unload(scope);
  pto_program_unload(heap);
}

static void test_a_path_is_that_file_and_named_after_it(void **state) {
  need_compiler();
  PATH(path, "%s/second/beta.so", fixture.folder);
  struct pto_loaded_program *beta = load(path);
  assert_string_equal(beta->program->name, "second beta");
  assert_string_equal(beta->name, "beta");
  assert_string_equal(beta->path, path);
  pto_program_unload(beta);
}

static void test_a_path_without_a_slash_is_a_file_of_the_working_directory(void **state) {
  need_compiler();
  char before[PATH_MAX];
  assert_non_null(getcwd(before, sizeof before));
  PATH(folder, "%s/second", fixture.folder);
  assert_int_equal(chdir(folder), 0);
  struct pto_loaded_program *alpha = load("alpha.so");
  assert_string_equal(alpha->program->name, "second alpha");
  pto_program_unload(alpha);
  assert_int_equal(chdir(before), 0);
}

static void test_an_unknown_name_is_refused_with_the_folders_that_were_searched(void **state) {
  need_compiler();
  PATH(folders, "no program \"gamma\" (looked in %s/none, %s/first, %s/second)", fixture.folder, fixture.folder,
       fixture.folder);
  refuses("gamma", folders);
  refuses("alpa", "did you mean \"alpha\"?");
  refuses("", "no program");
  refuses("errors", "no program");
  refuses("/no/such/file.so", "No such file");
}

/* ---- listing ---- */

struct listed {
  char names[512];
  int count, stop_after;
};

static int visit(void *context, const char *name, const char *path) {
  struct listed *listed = context;
  assert_int_equal(access(path, R_OK), 0);
  strcat(strcat(listed->names, name), " ");
  return ++listed->count == listed->stop_after ? 77 : 0;
}

static void test_the_list_is_sorted_with_sub_folders_last_and_each_name_once(void **state) {
  need_compiler();
  struct listed listed = {0};
  assert_int_equal(pto_program_list(visit, &listed), PTO_OK);
  assert_string_equal(listed.names, "alpha beta errors/heap errors/scope ");
}

static void test_a_visitor_ends_the_list_with_its_own_answer(void **state) {
  need_compiler();
  struct listed listed = {.stop_after = 2};
  assert_int_equal(pto_program_list(visit, &listed), 77);
  assert_string_equal(listed.names, "alpha beta ");
}

static void test_what_is_listed_can_be_loaded_by_the_listed_name(void **state) {
  need_compiler();
  static const char *const names[] = {"alpha", "beta", "errors/heap", "errors/scope"};
  for (size_t i = 0; i < 4; i++) pto_program_unload(load(names[i]));
}

static void test_the_programs_beside_the_executable_are_found_without_an_environment(void **state) {
  need_compiler();
  char *before = strdup(getenv("PTO_PROGRAM_PATH"));
  unsetenv("PTO_PROGRAM_PATH");
  /* There is no programs/ beside a test: what is left is a sentence that names where one would be. */
  refuses("gamma", "tests/orchestration/loader/programs, ");
  refuses("gamma", "/../lib/pto/programs)");
  setenv("PTO_PROGRAM_PATH", before, 1);
  free(before);
}

/* ---- what is refused ---- */

static void test_a_file_that_is_no_program_is_refused_with_the_reason(void **state) {
  need_compiler();
  PATH(text, "%s/text.so", fixture.folder);
  FILE *file = fopen(text, "w");
  fputs("not a shared object\n", file);
  fclose(file);
  refuses(text, "text.so");
  compile("empty.so", "");
  PATH(empty, "%s/empty.so", fixture.folder);
  refuses(empty, "no symbol pto_program");
}

static void test_another_abi_is_refused_with_both_numbers(void **state) {
  need_compiler();
  compile("abi.so", "PTO_API const struct pto_program pto_program = {.abi = 99, .name = \"x\", .orchestrate = go};");
  PATH(path, "%s/abi.so", fixture.folder);
  refuses(path, "loads 7: it needs a newer library");
  compile("abi1.so", "PTO_API const struct pto_program pto_program = {.abi = 1, .name = \"x\", .orchestrate = go};");
  PATH(older, "%s/abi1.so", fixture.folder);
  refuses(older, "has abi 1, this library (" PTO_VERSION ") loads 7: compile it again");
}

static void test_a_program_needs_a_name_and_exactly_one_way_to_run(void **state) {
  need_compiler();
  PATH(path, "%s/odd.so", fixture.folder);
  compile("odd.so", "PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI, .orchestrate = go};");
  refuses(path, "no name");
  compile("odd.so", "PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI, .name = \"x\"};");
  refuses(path, "neither orchestrate nor host");
  compile("odd.so",
          "static int host(struct pto_program_run *run) { return 0; }\n"
          "PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI, .name = \"x\", .orchestrate = go, "
          ".host = host};");
  refuses(path, "both orchestrate and host");
}

static void test_a_missing_symbol_is_found_at_the_load_and_not_in_the_run(void **state) {
  need_compiler();
  compile("unbound.so",
          "int pto_no_such_call(void);\n"
          "static int lost(struct pto_runtime *rt, struct pto_program_run *run) { return pto_no_such_call(); }\n"
          "PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI, .name = \"x\", .orchestrate = "
          "lost};");
  PATH(path, "%s/unbound.so", fixture.folder);
  refuses(path, "pto_no_such_call");
}

static void test_whichever_allocation_fails_it_is_told_as_memory(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  need_compiler();
  uint32_t failures = 0;
  bool is_done = false;
  for (uint32_t n = 1; !is_done; n++) {
    struct pto_loaded_program *loaded = NULL;
    struct pto_error error = {0};
    fail_countdown = n;
    const int status = pto_program_load("beta", &loaded, &error);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    if (status != PTO_ENOMEM && status != PTO_OK) fail_msg("allocation %u: %d, %s", n, status, error.sentence);
    failures += status != PTO_OK;
    pto_program_unload(loaded);
  }
  assert_true(failures > 5);
}

/* ---- globals ---- */

static void test_two_loads_of_one_library_do_not_share_globals(void **state) {
  need_compiler();
  struct pto_loaded_program *first = load("beta"), *second = load("beta"), *third = load("beta");
  assert_int_equal(call(first), 1);
  assert_int_equal(call(first), 2);
  assert_int_equal(call(second), 1);
  assert_int_equal(call(third), 1);
  pto_program_unload(first);
  assert_int_equal(call(second), 2);
  struct pto_loaded_program *fourth = load("beta");
  assert_int_equal(call(fourth), 1);
  assert_int_equal(call(third), 2);
  pto_program_unload(second);
  pto_program_unload(third);
  pto_program_unload(fourth);
}

/* A library that is not known to be there would be given out with the globals of the other load. */
static void test_without_memory_too_two_loads_do_not_share_globals(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  need_compiler();
  PATH(path, "%s/first/beta.so", fixture.folder);
  PATH(link_path, "%s/other.so", fixture.folder);
  assert_int_equal(symlink(path, link_path), 0);
  struct pto_loaded_program *first = load(path);
  assert_int_equal(call(first), 1);
  bool is_done = false;
  for (uint32_t n = 1; !is_done; n++) {
    struct pto_loaded_program *second = NULL;
    struct pto_error error = {0};
    fail_countdown = n;
    const int status = pto_program_load(link_path, &second, &error);
    is_done = fail_countdown != 0;
    fail_countdown = 0;
    if (status == PTO_OK) assert_int_equal(call(second), 1);
    pto_program_unload(second);
  }
  pto_program_unload(first);
}

static void test_another_path_to_a_loaded_library_is_a_load_of_its_own_too(void **state) {
  need_compiler();
  PATH(path, "%s/first/beta.so", fixture.folder);
  PATH(link_path, "%s/link.so", fixture.folder);
  assert_int_equal(symlink(path, link_path), 0);
  struct pto_loaded_program *first = load(path), *second = load(link_path);
  assert_int_equal(call(first), 1);
  assert_int_equal(call(second), 1);
  pto_program_unload(first);
  pto_program_unload(second);
}

static void test_a_load_after_the_unload_starts_from_fresh_globals(void **state) {
  need_compiler();
  for (int round = 0; round < 3; round++) {
    struct pto_loaded_program *beta = load("beta");
    assert_int_equal(call(beta), 1);
    pto_program_unload(beta);
  }
}

static void test_unloading_nothing_is_harmless(void **state) { pto_program_unload(NULL); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_name_is_found_in_the_first_folder_that_has_it),
      cmocka_unit_test(test_a_name_in_a_sub_folder_is_found_with_its_slash),
      cmocka_unit_test(test_a_path_is_that_file_and_named_after_it),
      cmocka_unit_test(test_a_path_without_a_slash_is_a_file_of_the_working_directory),
      cmocka_unit_test(test_an_unknown_name_is_refused_with_the_folders_that_were_searched),
      cmocka_unit_test(test_the_list_is_sorted_with_sub_folders_last_and_each_name_once),
      cmocka_unit_test(test_a_visitor_ends_the_list_with_its_own_answer),
      cmocka_unit_test(test_what_is_listed_can_be_loaded_by_the_listed_name),
      cmocka_unit_test(test_the_programs_beside_the_executable_are_found_without_an_environment),
      cmocka_unit_test(test_a_file_that_is_no_program_is_refused_with_the_reason),
      cmocka_unit_test(test_another_abi_is_refused_with_both_numbers),
      cmocka_unit_test(test_a_program_needs_a_name_and_exactly_one_way_to_run),
      cmocka_unit_test(test_a_missing_symbol_is_found_at_the_load_and_not_in_the_run),
      cmocka_unit_test(test_whichever_allocation_fails_it_is_told_as_memory),
      cmocka_unit_test(test_without_memory_too_two_loads_do_not_share_globals),
      cmocka_unit_test(test_two_loads_of_one_library_do_not_share_globals),
      cmocka_unit_test(test_another_path_to_a_loaded_library_is_a_load_of_its_own_too),
      cmocka_unit_test(test_a_load_after_the_unload_starts_from_fresh_globals),
      cmocka_unit_test(test_unloading_nothing_is_harmless),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
