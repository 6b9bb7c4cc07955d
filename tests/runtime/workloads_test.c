/* SPDX-License-Identifier: MIT */
/*
 * What the programs promise about themselves and about each other, beyond that each run is right (system_matrix_test):
 * cases that state their counts and stand in docs/tables/cases.txt, one digest for the variants of paged attention,
 * experts that no token chose and that do not run, rings that come round.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

/* ---- cases ---- */

/* All that is wrong with any program, a line each. */
struct findings {
  const char *page; /* docs/tables/cases.txt */
  char text[4096];
  size_t used;
  uint32_t case_count;
};

__attribute__((format(printf, 2, 3))) static void find(struct findings *findings, const char *format, ...) {
  va_list list;
  va_start(list, format);
  size_t left = sizeof findings->text - findings->used;
  int length = vsnprintf(findings->text + findings->used, left, format, list);
  va_end(list);
  findings->used += length < 0 ? 0 : (size_t)length < left ? (size_t)length : left - 1;
}

static void check_case(struct findings *findings, const struct pto_program *program, const struct pto_case *one) {
  struct pto_program_run *run = NULL;
  struct pto_error error = {0};
  char entry[160];
  findings->case_count++;
  const struct pto_program_request request = {.case_name = one->name};
  if (pto_program_run_create(program, &request, &run, &error) != PTO_OK)
    find(findings, "%s %s: %s\n", program->name, one->name, error.sentence);
  pto_program_run_destroy(run);
  if (pto_program_case(program, one->name) != one) find(findings, "%s: two cases %s\n", program->name, one->name);
  if (one->tasks == 0) find(findings, "%s %s states no tasks\n", program->name, one->name);
  snprintf(entry, sizeof entry, "\n%s %s %llu / %llu\n", program->name, one->name, (unsigned long long)one->tasks,
           (unsigned long long)one->edges);
  if (strstr(findings->page, entry) == NULL) find(findings, "docs/tables/cases.txt: no line%s", entry);
}

static int check_program(void *context, const char *name, const char *path) {
  struct findings *findings = context;
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error = {0};
  if (strchr(name, '/') != NULL) return 0; /* errors/… report no counts */
  if (pto_program_load(path, &loaded, &error) != PTO_OK) {
    find(findings, "%s: %s\n", name, error.sentence);
    return 0;
  }
  const struct pto_case *one = loaded->program->cases;
  if (loaded->program->ranks) { /* counts are of a rank each */
    pto_program_unload(loaded);
    return 0;
  }
  if (one == NULL || one->name == NULL) find(findings, "%s has no case\n", name);
  for (; one != NULL && one->name != NULL; one++) check_case(findings, loaded->program, one);
  pto_program_unload(loaded);
  return 0;
}

static void test_every_case_states_its_counts_and_stands_in_the_table_with_them(void **state) {
  static struct findings findings;
  char *page = pto_ptosim_read_file("docs/tables/cases.txt");
  findings = (struct findings){.page = page};
  (void)pto_program_list(check_program, &findings);
  free(page);
  if (findings.used != 0) fail_msg("%s", findings.text);
  assert_true(findings.case_count > 80);
}

/* ---- paged attention ---- */

static void digest_of(const char *program, const char *options, char *digest, size_t size) {
  pto_ptosim_run("run %s %s --json -", program, options);
  pto_ptosim_assert_ok();
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(json_is_true(json_object_get(root, "verified")));
  snprintf(digest, size, "%s", pto_json_text(root, "output_digest"));
  json_decref(root);
}

static void test_variants_that_merge_blocks_in_one_order_leave_the_same_bytes(void **state) {
  static const char *const variants[] = {"paged_attention_manual", "paged_attention_ringbuffer",
                                         "batch_paged_attention", "spmd_paged_attention"};
  static const char *const inputs[] = {
      "--set lens=33,17",
      "--set lens=33,64,128,15 --set dtype=fp16",
      "--set lens=33,64,128,15 --set dtype=bf16",
      "--set batch=3 --set ctx=100 --set pool_blocks=2 --set kv_heads=4",
  };
  static const char *const places[] = {"--engine threads --chip a2a3", "--engine virtual --chip tiny"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(inputs); i++) {
    char wanted[32], got[32], options[256];
    digest_of("paged_attention", inputs[i], wanted, sizeof wanted);
    for (size_t v = 0; v < PTO_ARRAY_LENGTH(variants); v++) {
      snprintf(options, sizeof options, "%s %s", inputs[i], places[(i + v) % 2]);
      digest_of(variants[v], options, got, sizeof got);
      if (strcmp(wanted, got) != 0) fail_msg("%s %s: %s instead of %s", variants[v], options, got, wanted);
    }
  }
}

static void test_one_block_a_task_is_paged_attention_itself(void **state) {
  char wanted[32], got[32];
  digest_of("paged_attention", "--set lens=33,64,128,15", wanted, sizeof wanted);
  digest_of("paged_attention_unroll", "--set lens=33,64,128,15 --set unroll=1", got, sizeof got);
  assert_string_equal(wanted, got);
}

/* And one that does not hold it gives other bytes. */
static void test_a_window_that_holds_the_context_is_paged_attention_itself(void **state) {
  char wanted[32], got[32], narrow[32];
  digest_of("paged_attention", "--set lens=33,64,128,15", wanted, sizeof wanted);
  digest_of("sliding_window_attention", "--set lens=33,64,128,15 --set window=128", got, sizeof got);
  digest_of("sliding_window_attention", "--set lens=33,64,128,15 --set window=127", narrow, sizeof narrow);
  assert_string_equal(wanted, got);
  assert_string_not_equal(wanted, narrow);
}

/* Three widths under either kind of scopes: what is found and what is written down are one graph. */
static void test_a_layer_has_the_same_bytes_for_any_width_and_scopes(void **state) {
  static const char *const places[] = {"--engine threads --chip a2a3", "--engine virtual --chip tiny"};
  static const char *const cases[] = {"auto8", "auto24", "manual", "manual8", "manual24"};
  char wanted[32], got[32], options[256];
  digest_of("qwen3_decode", "--case auto", wanted, sizeof wanted);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    snprintf(options, sizeof options, "--case %s %s", cases[i], places[i % 2]);
    digest_of("qwen3_decode", options, got, sizeof got);
    if (strcmp(wanted, got) != 0) fail_msg("qwen3_decode %s: %s instead of %s", options, got, wanted);
  }
}

/* The edge to the creator beside that to the last writer is what makes counts those of the existing runtime: small
 * cases by the programs' formulas, the measured benchmarks by tests/long/measured_counts_test.sh. */
static void test_under_pto_counts_have_creator_edges(void **state) {
  static const struct {
    const char *run;
    json_int_t tasks, edges;
  } rows[] = {
      {"paged_attention_unroll --case tile", 24, 6 * 5 - 4}, /* 4 tiles, 5 groups */
      {"paged_attention_unroll --case manual", 24, 5 * 5},   /* explicit: nothing is looked up, no creator asked for */
      {"batch_paged_attention --case one", 33, 6 * 8 - 1},   /* a chunk, 8 block numbers */
      {"bgemm --case tiles", 32, 24},
      {"alternating_matmul_add --case flat", 120, 0},
      {"sliding_window_deps --case C0", 1001, 15865},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    pto_ptosim_run("run %s --engine virtual --chip a2a3 --deps pto --json -", rows[i].run);
    pto_ptosim_assert_ok();
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    assert_true(json_is_true(json_object_get(root, "verified")));
    assert_int_equal(pto_json_integer(root, "tasks"), rows[i].tasks);
    assert_int_equal(pto_json_integer(root, "edges"), rows[i].edges);
    json_decref(root);
  }
}

/* With one block a task there is a message a task. */
static void test_a_single_block_sends_one_message_a_task(void **state) {
  static const char *const blocks[] = {"request", "one"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(blocks); i++) {
    pto_ptosim_run("run batch_paged_attention --case var4 --set blocks=%s --engine virtual --stats --json -",
                   blocks[i]);
    pto_ptosim_assert_ok();
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    assert_int_equal(pto_json_integer(json_object_get(root, "stats"), "calls"), i == 0 ? 32 * 4 : 32);
    json_decref(root);
  }
}

/* In virtual time, where whether a submit waits is no matter of the machine's load. */
static void test_the_ring_buffer_program_comes_round_and_waits(void **state) {
  pto_ptosim_run("run paged_attention_ringbuffer --case 32x16x128x128x4096 --engine virtual --stats --json -");
  pto_ptosim_assert_ok();
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(pto_json_integer(root, "window_high_water") <= 64);
  assert_true(pto_json_integer(root, "heap_high_water_bytes") <= 4 << 20);
  assert_true(pto_json_integer(root, "tasks") > 50 * 64);
  assert_true(pto_json_integer(json_object_get(root, "stats"), "submit_waits") > 0);
  json_decref(root);
}

/* ---- moe ---- */

/* How often kernels were called: `name`, or all for NULL. */
static json_int_t calls_of(json_t *root, const char *name) {
  json_t *stats = json_object_get(root, "stats"), *kernel;
  size_t i;
  if (name == NULL) return pto_json_integer(stats, "calls");
  json_array_foreach(json_object_get(stats, "kernels"), i, kernel) {
    if (strcmp(pto_json_text(kernel, "name"), name) == 0) return pto_json_integer(kernel, "calls");
  }
  return 0;
}

/* Runs moe and reads `load`: an .npy file ends with its elements. */
static json_t *run_moe(const char *options, int32_t load[8]) {
  char path[512];
  snprintf(path, sizeof path, "%s", pto_ptosim_path("load.npy"));
  pto_ptosim_run("run moe %s --output load=%s --stats --json -", options, path);
  pto_ptosim_assert_ok();
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, -8 * (long)sizeof load[0], SEEK_END), 0);
  assert_int_equal(fread(load, sizeof load[0], 8, file), 8);
  fclose(file);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

static void test_experts_that_no_token_chose_do_not_run(void **state) {
  static const char *const options[] = {"--case same --engine threads", "--case same --engine virtual --chip a5"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(options); i++) {
    int32_t load[8];
    json_t *root = run_moe(options[i], load);
    for (int e = 0; e < 8; e++) assert_int_equal(load[e], e == 5 ? 64 : 0);
    /* Four tiles of one expert, three tasks of each of four tiles of tokens, dispatch, four of combine. */
    assert_int_equal(calls_of(root, NULL), 4 * 7 + 4 * 3 + 1 + 4);
    assert_int_equal(calls_of(root, "gather"), 4);
    assert_int_equal(calls_of(root, "matmul"), 4 * 3 + 4);
    assert_int_equal(pto_json_integer(root, "tasks"), 242);
    json_decref(root);
  }
}

static void test_an_expert_runs_as_many_tiles_as_its_tokens_fill(void **state) {
  static const char *const options[] = {"--case 64x8x2", "--case idle", "--case 64x8x2 --set tile=8 --seed 3"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(options); i++) {
    int32_t load[8], tiles = 0, sum = 0, tile = i == 2 ? 8 : 16;
    json_t *root = run_moe(options[i], load);
    for (int e = 0; e < 8; e++) {
      tiles += (load[e] + tile - 1) / tile;
      sum += load[e];
    }
    assert_int_equal(sum, 64 * 2);
    assert_int_equal(calls_of(root, "gather"), tiles);
    if (i == 1) assert_int_equal(load[3], 0);
    json_decref(root);
  }
}

static void test_of_two_equal_probabilities_the_lower_expert_is_chosen(void **state) {
  int32_t load[8], sum = 0;
  json_decref(run_moe("--set ties=true --set k=1", load));
  for (int e = 0; e < 8; e++) {
    sum += load[e];
    if (e % 2 == 1) assert_int_equal(load[e], 0);
  }
  assert_int_equal(sum, 64);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_case_states_its_counts_and_stands_in_the_table_with_them),
      cmocka_unit_test(test_variants_that_merge_blocks_in_one_order_leave_the_same_bytes),
      cmocka_unit_test(test_one_block_a_task_is_paged_attention_itself),
      cmocka_unit_test(test_a_layer_has_the_same_bytes_for_any_width_and_scopes),
      cmocka_unit_test(test_a_window_that_holds_the_context_is_paged_attention_itself),
      cmocka_unit_test(test_under_pto_counts_have_creator_edges),
      cmocka_unit_test(test_a_single_block_sends_one_message_a_task),
      cmocka_unit_test(test_the_ring_buffer_program_comes_round_and_waits),
      cmocka_unit_test(test_experts_that_no_token_chose_do_not_run),
      cmocka_unit_test(test_an_expert_runs_as_many_tiles_as_its_tokens_fill),
      cmocka_unit_test(test_of_two_equal_probabilities_the_lower_expert_is_chosen),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
