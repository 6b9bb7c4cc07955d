/* SPDX-License-Identifier: MIT */
/*
 * tests/pages/webnn_behaviours.txt: every test of device/webnn_*_test.c has its row, every row names a test or says why
 * there is none, and every name of the list of behaviours has a row, where WEBNN_DATA names the folder that has the
 * list.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

#define PAGE "tests/pages/webnn_behaviours.txt"
#define NONE "| none: "
#define DECLARED "\nstatic void test_"

static const char *const sources[] = {"device/webnn_dispatch_test.c", "device/webnn_tensor_test.c"};
static char *page, *texts[PTO_ARRAY_LENGTH(sources)];

static int read_files(void **state) {
  page = pto_ptosim_read_file(PAGE);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sources); i++) texts[i] = pto_ptosim_read_file(sources[i]);
  return 0;
}

static int free_files(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sources); i++) free(texts[i]);
  free(page);
  return 0;
}

static void test_every_test_has_a_row(void **state) {
  char wanted[256];
  uint32_t count = 0;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sources); i++)
    for (const char *at = texts[i]; (at = strstr(at, DECLARED)) != NULL; count++) {
      at += strlen("\nstatic void ");
      snprintf(wanted, sizeof wanted, "`%.*s`", (int)strcspn(at, "("), at);
      if (!strstr(page, wanted)) fail_msg(PAGE " does not name %s", wanted);
    }
  assert_true(count > 40);
}

/* Whether a row, up to its line's end, names a test that there is. */
static bool has_test(const char *row) {
  char wanted[256];
  const char *end = row + strcspn(row, "\n"), *name = strstr(row, "`test_");
  if (!name || name > end) return false;
  snprintf(wanted, sizeof wanted, "\nstatic void %.*s(", (int)strcspn(name + 1, "`"), name + 1);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sources); i++)
    if (strstr(texts[i], wanted)) return true;
  return false;
}

static bool has_reason(const char *row) {
  const char *reason = strstr(row, NONE);
  return reason && reason < row + strcspn(row, "\n");
}

static void test_every_row_has_a_test_or_a_reason(void **state) {
  uint32_t count = 0;
  for (const char *row = strstr(page, "\n|---"); row && (row = strchr(row + 1, '\n')) != NULL && row[1] == '|'; count++)
    if (!has_test(row + 1) && !has_reason(row + 1)) fail_msg("%.*s", (int)strcspn(row + 1, "\n"), row + 1);
  assert_true(count >= 60);
}

static void test_every_behaviour_has_a_row(void **state) {
  const char *folder = getenv("WEBNN_DATA");
  char path[1024], wanted[256];
  if (!folder) {
    printf("WEBNN_DATA is not set: the list of behaviours is not there\n");
    skip();
  }
  snprintf(path, sizeof path, "%s/behavioural_tests.json", folder);
  json_error_t error;
  json_t *behaviours = json_load_file(path, 0, &error), *behaviour;
  size_t i;
  if (!behaviours) fail_msg("%s: %s", path, error.text);
  json_array_foreach(behaviours, i, behaviour) {
    const char *file = json_string_value(json_object_get(behaviour, "file"));
    const char *name = json_string_value(json_object_get(behaviour, "name"));
    snprintf(wanted, sizeof wanted, "\n| %.*s | %s | ", (int)strcspn(file, "."), file, name);
    if (!strstr(page, wanted)) fail_msg(PAGE " has no row for \"%s\" of %s", name, file);
  }
  assert_true(i >= 60);
  json_decref(behaviours);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_test_has_a_row),
      cmocka_unit_test(test_every_row_has_a_test_or_a_reason),
      cmocka_unit_test(test_every_behaviour_has_a_row),
  };
  return cmocka_run_group_tests(tests, read_files, free_files);
}
