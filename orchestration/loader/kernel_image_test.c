/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <orchestration/loader/kernel_image.h>

static struct pto_error error;

static struct pto_loaded_program *load(const char *name) {
  struct pto_loaded_program *loaded;
  if (pto_program_load(name, &loaded, &error)) fail_msg("%s", error.sentence);
  return loaded;
}

static void test_a_static_kernel_is_found_by_its_name(void **state) {
  struct pto_loaded_program *loaded = load("war_reuse");
  const struct pto_kernel *kernel = pto_kernel_image_find(loaded->handle, "writer", 0);
  uint32_t nth = 7;
  assert_non_null(kernel);
  assert_string_equal(kernel->name, "writer");
  assert_int_equal(kernel->param_count, 3);
  assert_non_null(kernel->cost);
  assert_true(pto_kernel_image_number(loaded->handle, kernel, &nth));
  assert_int_equal(nth, 0);
  assert_null(pto_kernel_image_find(loaded->handle, "writer", 1));
  assert_null(pto_kernel_image_find(loaded->handle, "x", 0)); /* the name of a parameter */
  assert_null(pto_kernel_image_find(loaded->handle, "", 0));
  pto_program_unload(loaded);
}

static void test_a_kernel_of_another_object_is_not_of_this_one(void **state) {
  struct pto_loaded_program *loaded = load("war_reuse"), *other = load("inplace_update");
  const struct pto_kernel *kernel = pto_kernel_image_find(other->handle, "step", 0);
  uint32_t nth;
  assert_non_null(kernel);
  assert_false(pto_kernel_image_number(loaded->handle, kernel, &nth));
  assert_false(pto_kernel_image_number(loaded->handle, pto_kernel_find("add"), &nth));
  pto_program_unload(other);
  pto_program_unload(loaded);
}

static void test_a_second_load_of_a_file_has_kernels_of_its_own(void **state) {
  struct pto_loaded_program *first = load("war_reuse"), *second = load("war_reuse");
  const struct pto_kernel *a = pto_kernel_image_find(first->handle, "reader", 0);
  const struct pto_kernel *b = pto_kernel_image_find(second->handle, "reader", 0);
  assert_true(a && b && a != b);
  pto_program_unload(second);
  pto_program_unload(first);
}

static void test_what_is_no_library_is_refused(void **state) {
  struct pto_kernel_library library;
  assert_int_equal(pto_kernel_library_open("/nowhere.so", &library, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "No such file"));
  assert_int_equal(pto_kernel_library_open("/proc/self/status", &library, &error), PTO_EINVAL);
  assert_true(error.sentence[0] != '\0');
  pto_kernel_library_close(&library);
}

/* BUILD/tests/orchestration/loader/kernel_image_test: the programs are in BUILD. */
static int set_up(void **state) {
  char folder[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 16);
  if (length <= 0) return -1;
  folder[length] = '\0';
  for (int i = 0; i < 4; i++) *strrchr(folder, '/') = '\0';
  strcat(folder, "/programs");
  return setenv("PTO_PROGRAM_PATH", folder, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_static_kernel_is_found_by_its_name),
      cmocka_unit_test(test_a_kernel_of_another_object_is_not_of_this_one),
      cmocka_unit_test(test_a_second_load_of_a_file_has_kernels_of_its_own),
      cmocka_unit_test(test_what_is_no_library_is_refused),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
