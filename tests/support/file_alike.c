/* SPDX-License-Identifier: MIT */
#include <tests/support/file_alike.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <runtime/base/base.h>
#include <runtime/base/text.h>

void pto_text_come_apart(const char **a, const char **b, bool has_times) {
  static const char skipped[] = "0123456789. -+eumnspx%#\xc2\xb5";
  for (;; ++*a, ++*b) {
    if (has_times) {
      *a += strspn(*a, skipped);
      *b += strspn(*b, skipped);
    }
    if (**a != **b || !**a) return;
  }
}

static bool is_alike(const char *a, const char *b, bool has_times) {
  pto_text_come_apart(&a, &b, has_times);
  return *a == *b;
}

/* What perf prints of samples, which fall anywhere: of two texts that have them what stands before. */
static bool is_alike_but_for_samples(const char *a, const char *b) {
  static const char samples[] = " samples of ";
  const char *const ends[] = {strstr(a, samples), strstr(b, samples)};
  if (!ends[0] || !ends[1]) return false;
  char *heads[] = {strndup(a, (size_t)(ends[0] - a)), strndup(b, (size_t)(ends[1] - b))};
  assert_true(heads[0] && heads[1]);
  const bool is_so = is_alike(heads[0], heads[1], true);
  free(heads[0]);
  free(heads[1]);
  return is_so;
}

bool pto_file_is_same(const struct pto_tree_file *a, const struct pto_tree_file *b, bool has_times) {
  if (!a || !b) return false;
  if (a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0) return true;
  return has_times && (is_alike(a->bytes, b->bytes, true) || is_alike_but_for_samples(a->bytes, b->bytes));
}

static void leave_out(json_t *value) {
  static const char *const places[] = {"function", "line"};
  const char *key;
  json_t *member;
  size_t i;
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(places); k++) json_object_del(value, places[k]);
  json_object_foreach(value, key, member) leave_out(member);
  for (i = json_array_size(value); i-- > 0;) {
    member = json_array_get(value, i);
    const char *kind = json_string_value(json_object_get(member, "kind"));
    if (kind && strcmp(kind, "function") == 0) /* SARIF's */
      json_array_remove(value, i);
    else
      leave_out(member);
  }
}

static char *text_without(const struct pto_tree_file *file) {
  json_t *root = json_loadb(file->bytes, file->size, JSON_REJECT_DUPLICATES, NULL);
  leave_out(root);
  char *text = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  return text;
}

bool pto_file_differs_in_places(const struct pto_tree_file *got, const struct pto_tree_file *good) {
  char *both[] = {text_without(got), text_without(good)};
  const bool is_so = both[0] && both[1] && is_alike(both[0], both[1], true);
  free(both[0]);
  free(both[1]);
  return is_so;
}

bool pto_file_is_whole(const struct pto_tree_file *file) {
  json_t *root = json_loadb(file->bytes, file->size, JSON_REJECT_DUPLICATES, NULL);
  if (root) return json_decref(root), true;
  return pto_text_ends_with(file->bytes, "</html>\n") || pto_text_ends_with(file->bytes, "</testsuite>\n") ||
         (pto_text_ends_with(file->path, ".dot") && pto_text_ends_with(file->bytes, "}\n")) ||
         (pto_text_ends_with(file->path, ".md") && pto_text_ends_with(file->bytes, "\n"));
}
