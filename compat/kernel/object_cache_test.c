/* SPDX-License-Identifier: MIT */
/*
 * Objects are compiled once, and again when a header changes; what does not compile is told by file and line, and
 * leaves no file.
 */
#include <compat/kernel/object_cache.h>

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/pto_object_cache_XXXXXX", source[64], header[64], cache[64], include[64];

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static int refuse_header(void *context, const char *path, struct pto_error *error) {
  return strcmp(path, context) == 0 ? pto_error_set(error, PTO_EINVAL, "%s: refused", path) : PTO_OK;
}

static int get(const char *compiler, char path[PATH_MAX], bool *is_new, struct pto_error *error) {
  const char *words[] = {compiler, "-shared", "-fPIC", include, source, NULL};
  const struct pto_object_request request = {.folder = cache, .source = source, .words = words};
  return pto_object_cache_get(&request, path, is_new, error);
}

static size_t count_files(void) {
  DIR *entries = opendir(cache);
  size_t count = 0;
  for (struct dirent *entry; entries && (entry = readdir(entries));) count += entry->d_name[0] != '.';
  if (entries) closedir(entries);
  return count;
}

static void test_contents(void **state) {
  char first[PATH_MAX], second[PATH_MAX];
  struct pto_error error;
  bool is_new;
  write_file(header, "#define VALUE 1\n");
  write_file(source, "#include \"a b.h\"\nint value(void);\nint value(void) { return VALUE; }\n");
  assert_int_equal(get("cc", first, &is_new, &error), PTO_OK);
  assert_true(is_new);
  assert_int_equal(get("cc", second, &is_new, &error), PTO_OK);
  assert_false(is_new);
  assert_string_equal(first, second);
  write_file(header, "#define VALUE 2\n");
  assert_int_equal(get("cc", second, &is_new, &error), PTO_OK);
  assert_true(is_new);
  assert_string_not_equal(first, second);
  write_file(header, "#define VALUE 1\n"); /* as before: the first object is still there */
  assert_int_equal(get("cc", second, &is_new, &error), PTO_OK);
  assert_false(is_new);
  assert_string_equal(first, second);
}

static void test_failures(void **state) {
  char path[PATH_MAX], expected[128];
  struct pto_error error;
  bool is_new;
  const size_t before = count_files();
  write_file(source, "int ok;\nint bad = unknown_name;\n");
  assert_int_equal(get("cc", path, &is_new, &error), PTO_EINVAL);
  snprintf(expected, sizeof expected, "%s:2: ", source);
  assert_memory_equal(error.sentence, expected, strlen(expected));
  assert_non_null(strstr(error.sentence, "unknown_name"));
  assert_int_equal(count_files(), before);
  assert_int_equal(get("no-such-cc", path, &is_new, &error), PTO_ENOTSUP);
  snprintf(expected, sizeof expected, "%s: there is no compiler no-such-cc to build it", source);
  assert_string_equal(error.sentence, expected);
}

static void test_a_refused_file_keeps_no_object(void **state) {
  char path[PATH_MAX];
  struct pto_error error;
  bool is_new;
  const char *words[] = {"cc", "-shared", "-fPIC", include, source, NULL};
  const struct pto_object_request request = {cache, source, words, refuse_header, header};
  write_file(header, "#define VALUE 3\n");
  write_file(source, "#include \"a b.h\"\nint value(void);\nint value(void) { return VALUE; }\n");
  const size_t before = count_files();
  assert_int_equal(pto_object_cache_get(&request, path, &is_new, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "a b.h: refused"));
  assert_int_equal(count_files(), before);
}

static int set_up(void **state) {
  if (!mkdtemp(folder)) return -1;
  snprintf(source, sizeof source, "%s/s.c", folder);
  snprintf(header, sizeof header, "%s/a b.h", folder);
  snprintf(cache, sizeof cache, "%s/x/y", folder);
  snprintf(include, sizeof include, "-I%s", folder);
  return 0;
}

static int tear_down(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_contents), cmocka_unit_test(test_failures),
                                     cmocka_unit_test(test_a_refused_file_keeps_no_object)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
