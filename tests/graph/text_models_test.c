/* SPDX-License-Identifier: MIT */
/* Every model of the list goes through a file in text form, and through JSON after it, and is the same graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/models/graph_model.h>
#include <runtime/base/base.h>
#include <tests/support/graph_same.h>
#include <tests/support/test_folder.h>

#define MOST_SETTINGS 8

static const struct {
  const char *name, *settings[MOST_SETTINGS];
  uint32_t count;
} small[] = {
    {"mobilenet_v2", {"size=32", "width=10", "classes=5"}, 3},
    {"llama", {"layers=2", "width=12", "hidden=10", "heads=6", "kv_heads=2", "window=5", "vocabulary=11"}, 7},
    {"qwen3_layer",
     {"width=12", "hidden=10", "heads=6", "kv_heads=2", "head_width=2", "page=2", "pages=4", "table=3"},
     8},
    {"gpt2", {"layers=2", "width=12", "heads=3", "window=5", "vocabulary=11"}, 5},
};

static struct pto_graph *through(const struct pto_graph *graph, const char *name, uint32_t weights) {
  const struct pto_graph_file_options options = {.size = sizeof options, .weights = weights};
  struct pto_graph *read = NULL;
  char sentence[1024] = "", why[256];
  if (pto_graph_save(graph, path_of(name), &options, sentence, sizeof sentence) ||
      pto_graph_load(NULL, path_of(name), NULL, &read, sentence, sizeof sentence))
    fail_msg("%s", sentence);
  if (!pto_graph_is_same(graph, read, why)) fail_msg("%s differ", why);
  return read;
}

static void test_every_model_goes_through_text_and_back(void **state) {
  for (uint32_t m = 0;; m++) {
    const struct pto_graph_model_info *info = pto_graph_model_at(m);
    struct pto_graph *graph = NULL;
    struct pto_error error;
    size_t i = 0;
    if (!info) break;
    while (i < PTO_ARRAY_LENGTH(small) && strcmp(small[i].name, info->name) != 0) i++;
    if (i == PTO_ARRAY_LENGTH(small)) fail_msg("%s has no small sizes here", info->name);
    if (pto_graph_model_create(info, small[i].settings, small[i].count, 3, &graph, &error))
      fail_msg("%s", error.sentence);
    for (uint32_t weights = PTO_GRAPH_WEIGHTS_DEFAULT; weights <= PTO_GRAPH_WEIGHTS_MANIFEST; weights++) {
      struct pto_graph *text = through(graph, "m.webnn", weights);
      struct pto_graph *json = through(text, "m.json", weights);
      pto_graph_destroy(json);
      pto_graph_destroy(text);
    }
    pto_graph_destroy(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_model_goes_through_text_and_back)};
  return cmocka_run_group_tests(tests, test_folder_open, test_folder_close);
}
