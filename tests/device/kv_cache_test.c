/* SPDX-License-Identifier: MIT */
/* What kv_cache moves, mode by mode: the equalities follow from its sizes, 256 steps of 4 heads × 16 floats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

#define STEPS 256
#define ROW_BYTES (4 * 16 * 4)
#define CACHE_BYTES (128 * ROW_BYTES)

static const char *const engines[] = {"threads --workers 2", "virtual", "threads --workers 1 --chip a2a3"};

static json_t *run(const char *mode, const char *engine) {
  assert_int_equal(pto_ptosim_run("run kv_cache --set mode=%s --engine %s --json -", mode, engine), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(json_is_true(json_object_get(root, "verified")));
  return root;
}

static json_int_t number(json_t *root, const char *key) {
  assert_true(json_is_integer(json_object_get(root, key)));
  return json_integer_value(json_object_get(root, key));
}

static void check_moves(const char *mode, json_int_t h2d_bytes, json_int_t d2h_bytes) {
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    json_t *root = run(mode, engines[e]);
    assert_int_equal(number(root, "h2d_bytes"), h2d_bytes);
    assert_int_equal(number(root, "d2h_bytes"), d2h_bytes);
    assert_int_equal(number(root, "d2d_bytes"), 0);
    assert_int_equal(number(root, "tasks"), STEPS * 4 * 4);
    json_decref(root);
  }
}

static void test_ping_pong_moves_two_rows_in_and_one_out_a_step(void **state) {
  check_moves("pingpong", STEPS * 2 * ROW_BYTES, STEPS * ROW_BYTES);
  assert_int_equal(STEPS * 2 * ROW_BYTES, 131072);
  assert_int_equal(STEPS * ROW_BYTES, 65536);
}

static void test_in_place_moves_no_more(void **state) {
  check_moves("inplace", STEPS * 2 * ROW_BYTES, STEPS * ROW_BYTES);
}

static void test_the_host_round_trip_adds_the_cache_each_way_in_each_step(void **state) {
  check_moves("host", STEPS * 2 * (ROW_BYTES + CACHE_BYTES), STEPS * (ROW_BYTES + 2 * CACHE_BYTES));
  assert_int_equal(STEPS * 2 * CACHE_BYTES, 16777216);
}

static void test_all_modes_and_engines_give_the_same_bytes(void **state) {
  static const char *const modes[] = {"host", "pingpong", "inplace"};
  char first[17] = "";
  for (size_t m = 0; m < PTO_ARRAY_LENGTH(modes); m++)
    for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
      json_t *root = run(modes[m], engines[e]);
      const char *digest = json_string_value(json_object_get(root, "output_digest"));
      if (!first[0]) strncpy(first, digest, 16);
      assert_string_equal(digest, first);
      json_decref(root);
    }
}

static void test_no_step_allocates_and_no_byte_stays_live(void **state) {
  static const char *const modes[] = {"host", "pingpong", "inplace"};
  for (size_t m = 0; m < PTO_ARRAY_LENGTH(modes); m++)
    for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
      json_t *root = run(modes[m], engines[e]), *figures = json_object_get(root, "figures");
      assert_true(json_is_number(json_object_get(figures, "allocations_in_steps")));
      assert_int_equal((int)json_number_value(json_object_get(figures, "allocations_in_steps")), 0);
      assert_true(json_is_number(json_object_get(figures, "live_bytes")));
      assert_int_equal((int)json_number_value(json_object_get(figures, "live_bytes")), 0);
      json_decref(root);
    }
}

/* What was submitted for a set of tensors is submitted again: ping-pong alternates between two. */
static void test_a_step_is_lowered_once_for_each_set_of_tensors(void **state) {
  static const struct {
    const char *mode;
    json_int_t misses;
  } modes[] = {{"host", 2}, {"pingpong", 2}, {"inplace", 1}};
  for (size_t m = 0; m < PTO_ARRAY_LENGTH(modes); m++)
    for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
      json_t *root = run(modes[m].mode, engines[e]);
      assert_int_equal(number(root, "lowering_cache_misses"), modes[m].misses);
      assert_int_equal(number(root, "lowering_cache_hits"), STEPS - modes[m].misses);
      json_decref(root);
    }
}

/* A head's query is 1 KiB of the heap, and a step has four heads. */
static void test_a_heap_that_is_too_small_is_a_run_that_failed(void **state) {
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    pto_ptosim_run("run kv_cache --heap 1024 --engine %s --quiet", engines[e]);
    pto_ptosim_assert_complaint(3, "heap ring 1: 1024 bytes wanted, 1024 of 1024 used");
    pto_ptosim_run("run kv_cache --heap 1024 --engine %s", engines[e]);
    assert_non_null(strstr(pto_ptosim_last.err, "\n  * the orchestration, in the submit of task 4 (kv_query"));
    assert_int_equal(pto_ptosim_run("run kv_cache --heap 1024 --engine %s --json -", engines[e]), 3);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    assert_string_equal(json_string_value(json_object_get(root, "status")), "PTO_EHEAP");
    json_decref(root);
  }
}

static void test_the_link_makes_the_round_trip_slower_in_virtual_time(void **state) {
  json_t *host = run("host", "virtual --chip a2a3"), *pingpong = run("pingpong", "virtual --chip a2a3");
  assert_true(json_number_value(json_object_get(host, "virtual_us")) >
              1.5 * json_number_value(json_object_get(pingpong, "virtual_us")));
  json_decref(pingpong);
  json_decref(host);
}

/* What a trace file says of kernels, and of transfers by name. */
struct traced {
  json_int_t kernels, to_device_bytes, to_host_bytes;
  double transfer_us, end_us;
};

static struct traced read_trace(const char *path) {
  struct traced sum = {0};
  double control_end = 0;
  json_t *root = pto_ptosim_load(path), *event;
  size_t index;
  json_array_foreach(json_object_get(root, "traceEvents"), index, event) {
    const char *category = json_string_value(json_object_get(event, "cat"));
    if (!category || strcmp(json_string_value(json_object_get(event, "ph")), "X") != 0) continue;
    const double duration = json_number_value(json_object_get(event, "dur"));
    const double end = json_number_value(json_object_get(event, "ts")) + duration;
    if (end > sum.end_us) sum.end_us = end;
    sum.kernels += strcmp(category, "kernel") == 0;
    if (strcmp(category, "control") == 0) {
      assert_true(end - duration >= control_end - 1e-6); /* the orchestration does one thing at a time */
      control_end = end;
    }
    if (strcmp(category, "transfer") != 0) continue;
    sum.transfer_us += duration;
    *(strcmp(json_string_value(json_object_get(event, "name")), "transfers to the device") ? &sum.to_host_bytes
                                                                                           : &sum.to_device_bytes) +=
        json_integer_value(json_object_get(json_object_get(event, "args"), "bytes"));
  }
  json_decref(root);
  return sum;
}

static void test_a_trace_has_every_task_and_every_transfer_of_all_runs(void **state) {
  static const char *const modes[] = {"host", "pingpong"};
  for (size_t m = 0; m < PTO_ARRAY_LENGTH(modes); m++)
    for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
      char options[600];
      snprintf(options, sizeof options, "%s --stats --trace %s", engines[e], pto_ptosim_path("t.json"));
      json_t *root = run(modes[m], options);
      const struct traced traced = read_trace(pto_ptosim_path("t.json"));
      assert_int_equal(traced.kernels, number(root, "tasks"));
      assert_int_equal(traced.to_device_bytes, number(root, "h2d_bytes"));
      assert_int_equal(traced.to_host_bytes, number(root, "d2h_bytes"));
      if (strcmp(engines[e], "virtual") == 0) {
        /* Each read is a run of its own: their times follow each other, up to what the run says in all. */
        const double virtual_us = json_number_value(json_object_get(root, "virtual_us"));
        assert_true(traced.end_us <= virtual_us + 1e-6);
        assert_true(traced.end_us > virtual_us - 1);
        assert_true(traced.transfer_us > 0 && traced.transfer_us < virtual_us);
      }
      json_decref(root);
    }
}

static void test_a_recording_changes_no_time_and_no_value(void **state) {
  char options[600];
  snprintf(options, sizeof options, "virtual --trace %s", pto_ptosim_path("t.json"));
  json_t *plain = run("pingpong", "virtual"), *traced = run("pingpong", options);
  assert_true(json_equal(json_object_get(plain, "virtual_us"), json_object_get(traced, "virtual_us")));
  assert_true(json_equal(json_object_get(plain, "output_digest"), json_object_get(traced, "output_digest")));
  json_decref(traced);
  json_decref(plain);
}

static void test_the_graph_of_all_runs_is_one_list_of_tasks_and_edges(void **state) {
  for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
    char options[600];
    snprintf(options, sizeof options, "%s --deps-json %s", engines[e], pto_ptosim_path("d.json"));
    json_t *root = run("inplace", options), *graph = pto_ptosim_load(pto_ptosim_path("d.json"));
    assert_int_equal(json_array_size(json_object_get(graph, "edges")), number(root, "edges"));
    assert_int_equal(json_array_size(json_object_get(graph, "tasks")), number(root, "tasks"));
    json_decref(graph);
    json_decref(root);
  }
}

static void test_several_rounds_leave_the_recording_of_the_last(void **state) {
  char options[600];
  snprintf(options, sizeof options, "virtual --rounds 2 --trace %s", pto_ptosim_path("t.json"));
  json_t *root = run("pingpong", options);
  assert_int_equal(read_trace(pto_ptosim_path("t.json")).kernels, number(root, "tasks"));
  json_decref(root);
}

static void test_sizes_and_modes_that_make_no_sense_are_refused(void **state) {
  pto_ptosim_run("run kv_cache --set mode=cloud");
  pto_ptosim_assert_complaint(2, "mode is \"cloud\"");
  pto_ptosim_run("run kv_cache --set window=0");
  pto_ptosim_assert_complaint(2, "window is 0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ping_pong_moves_two_rows_in_and_one_out_a_step),
      cmocka_unit_test(test_in_place_moves_no_more),
      cmocka_unit_test(test_the_host_round_trip_adds_the_cache_each_way_in_each_step),
      cmocka_unit_test(test_all_modes_and_engines_give_the_same_bytes),
      cmocka_unit_test(test_no_step_allocates_and_no_byte_stays_live),
      cmocka_unit_test(test_a_step_is_lowered_once_for_each_set_of_tensors),
      cmocka_unit_test(test_a_heap_that_is_too_small_is_a_run_that_failed),
      cmocka_unit_test(test_the_link_makes_the_round_trip_slower_in_virtual_time),
      cmocka_unit_test(test_a_trace_has_every_task_and_every_transfer_of_all_runs),
      cmocka_unit_test(test_a_recording_changes_no_time_and_no_value),
      cmocka_unit_test(test_the_graph_of_all_runs_is_one_list_of_tasks_and_edges),
      cmocka_unit_test(test_several_rounds_leave_the_recording_of_the_last),
      cmocka_unit_test(test_sizes_and_modes_that_make_no_sense_are_refused),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
