/* SPDX-License-Identifier: MIT */
/* `ptosim run` from outside: exit codes, sentences, JSON keys and files, with real programs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <formats/npy.h>
#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

/* ---- run: results ---- */

static void test_a_right_run_leaves_with_0_and_has_every_key(void **state) {
  static const char *const strings[] = {"program", "engine", "chip", "deps", "policy", "output_digest", "status"};
  static const char *const integers[] = {"workers",
                                         "seed",
                                         "rounds",
                                         "tasks",
                                         "edges",
                                         "live_edges",
                                         "window_high_water",
                                         "heap_high_water_bytes",
                                         "h2d_bytes",
                                         "d2h_bytes",
                                         "d2d_bytes",
                                         "lowering_cache_hits",
                                         "lowering_cache_misses",
                                         "exit"};
  assert_int_equal(pto_ptosim_run("run vector_example --json -"), 0);
  assert_string_equal(pto_ptosim_last.err, "");
  assert_ptr_equal(strchr(pto_ptosim_last.out, '\n'),
                   pto_ptosim_last.out + strlen(pto_ptosim_last.out) - 1); /* one line */
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) pto_json_text(root, strings[i]);
  for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) pto_json_integer(root, integers[i]);
  assert_int_equal(pto_json_integer(root, "tasks"), 5);
  assert_int_equal(pto_json_integer(root, "edges"), 6);
  assert_string_equal(pto_json_text(root, "program"), "vector_example");
  assert_string_equal(pto_json_text(root, "engine"), "threads");
  assert_string_equal(pto_json_text(root, "chip"), "tiny");
  assert_string_equal(pto_json_text(root, "deps"), "exact");
  assert_true(json_is_null(json_object_get(root, "case")));
  assert_true(json_is_real(json_object_get(root, "wall_seconds")));
  assert_true(json_is_null(json_object_get(root, "virtual_us")));
  assert_true(json_is_null(json_object_get(root, "trace_digest")));
  assert_true(json_is_true(json_object_get(root, "verified")));
  assert_true(json_number_value(json_object_get(root, "max_abs_error")) <= 1e-3);
  assert_true(json_is_null(json_object_get(root, "error")));
  json_decref(root);
}

static void test_virtual_time_is_the_same_for_any_number_of_workers(void **state) {
  char first[32] = "", outputs[32] = "";
  double us = 0;
  for (int workers = 1; workers <= 3; workers++) {
    assert_int_equal(pto_ptosim_run("run paged_attention --engine virtual --chip a2a3 --workers %d --json -", workers),
                     0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    if (workers == 1) {
      snprintf(first, sizeof first, "%s", pto_json_text(root, "trace_digest"));
      snprintf(outputs, sizeof outputs, "%s", pto_json_text(root, "output_digest"));
      us = json_number_value(json_object_get(root, "virtual_us"));
      assert_true(us > 0);
    }
    assert_string_equal(pto_json_text(root, "trace_digest"), first);
    assert_string_equal(pto_json_text(root, "output_digest"), outputs);
    assert_true(json_number_value(json_object_get(root, "virtual_us")) == us);
    json_decref(root);
  }
  assert_int_equal(
      pto_ptosim_run(
          "run paged_attention --engine threads --chip a5 --workers 2 --policy random:3 --window 64 --json -"),
      0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_string_equal(pto_json_text(root, "output_digest"), outputs);
  json_decref(root);
}

static void test_a_seed_makes_the_inputs(void **state) {
  char digests[2][32];
  for (int seed = 0; seed < 2; seed++) {
    assert_int_equal(pto_ptosim_run("run bgemm --case 32x64x4 --seed %d --json -", seed), 0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    snprintf(digests[seed], sizeof digests[seed], "%s", pto_json_text(root, "output_digest"));
    assert_int_equal(pto_json_integer(root, "seed"), seed);
    assert_string_equal(pto_json_text(root, "case"), "32x64x4");
    assert_int_equal(pto_json_integer(root, "tasks"), 64);
    json_decref(root);
  }
  assert_string_not_equal(digests[0], digests[1]);
}

static void test_rounds_agree_and_say_so(void **state) {
  assert_int_equal(pto_ptosim_run("run inplace_update --rounds 4 --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal(pto_json_integer(root, "rounds"), 4);
  assert_true(json_is_true(json_object_get(root, "verified")));
  json_decref(root);
  assert_int_equal(pto_ptosim_run("run scalar_data --engine virtual --rounds 3"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "3 rounds"));
}

static void test_weaker_rules_that_break_a_program_leave_with_1(void **state) {
  assert_int_equal(pto_ptosim_run("run war_reuse --case short --deps pto --engine virtual --policy lifo --json %s",
                                  pto_ptosim_path("war.json")),
                   1);
  pto_ptosim_assert_complaint(1, "instead of");
  assert_non_null(strstr(pto_ptosim_last.out, "WRONG"));
  json_t *root = pto_ptosim_load(pto_ptosim_path("war.json"));
  assert_true(json_is_false(json_object_get(root, "verified")));
  assert_string_equal(
      pto_json_text(root, "deps"),
      "pto,creator-edges,manual-enters-nothing,predicate-orders-nothing,host-waits-for-readers,base-address");
  assert_int_equal(pto_json_integer(root, "exit"), 1);
  assert_non_null(strstr(pto_json_text(root, "error"), "output"));
  json_decref(root);
  assert_int_equal(pto_ptosim_run("run war_reuse --case short --engine virtual --policy lifo --quiet"), 0);
}

static void test_quiet_means_nothing(void **state) {
  assert_int_equal(pto_ptosim_run("run vector_example --quiet"), 0);
  assert_string_equal(pto_ptosim_last.out, "");
  assert_string_equal(pto_ptosim_last.err, "");
  assert_int_equal(pto_ptosim_run("run errors/heap --quiet --json %s", pto_ptosim_path("quiet.json")), 3);
  assert_string_equal(pto_ptosim_last.out, "");
  assert_string_equal(pto_ptosim_last.err, "");
  json_t *root = pto_ptosim_load(pto_ptosim_path("quiet.json"));
  assert_string_equal(pto_json_text(root, "status"), "PTO_EHEAP");
  json_decref(root);
}

static void test_stats_say_where_the_time_went(void **state) {
  assert_int_equal(pto_ptosim_run("run bgemm --case 32x64x4 --engine virtual --stats --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *stats = json_object_get(root, "stats"),
         *kernels = json_object_get(stats, "kernels");
  assert_int_equal(pto_json_integer(stats, "calls"), 64);
  assert_true(json_array_size(kernels) >= 2);
  json_t *accounts = json_object_get(stats, "accounts"), *account;
  double total = 0, busy = 0;
  size_t k;
  json_array_foreach(accounts, k, account) {
    json_t *us = json_object_get(account, "us");
    static const char *const parts[] = {"compute", "memory", "contention"};
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(parts); i++) busy += json_number_value(json_object_get(us, parts[i]));
  }
  for (size_t i = 0; i < json_array_size(kernels); i++) {
    total += json_number_value(json_object_get(json_array_get(kernels, i), "total_us"));
    assert_true(strlen(pto_json_text(json_array_get(kernels, i), "name")) > 1);
  }
  assert_true(fabs(total - busy) <= 1e-9 * busy && busy > 0);
  json_decref(root);
}

static void test_stats_of_a_run_that_failed_at_once_are_no_empty_table(void **state) {
  static const char *const engines[] = {"threads", "virtual --chip a2a3"};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(pto_ptosim_run("run errors/heap --stats --engine %s", engines[i]), 3);
    assert_non_null(strstr(pto_ptosim_last.out, "stats    the run failed before any kernel ran"));
    assert_null(strstr(pto_ptosim_last.out, "of which %"));
    assert_null(strstr(pto_ptosim_last.out, "kernels "));
  }
}

/* A graph by `run` has its arrays on the chip; by `graph --run` they are transferred. */
static void test_the_time_on_the_chip_says_whether_transfers_are_in_it(void **state) {
  assert_int_equal(pto_ptosim_run("run --model mobilenet_v2 --engine virtual --chip a2a3 --no-compute"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, " us on the chip, without transfers\n"));
  assert_int_equal(pto_ptosim_run("graph --model llama --run --engine virtual --chip a2a3"), 0);
  assert_non_null(strstr(pto_ptosim_last.out, " on the chip, with transfers\n"));
}

static void test_stats_of_contexts_count_what_their_tasks_looked_up(void **state) {
  assert_int_equal(pto_ptosim_run("run kv_cache --set steps=8 --engine virtual --stats --json -"), 0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *stats = json_object_get(root, "stats");
  assert_true(pto_json_integer(stats, "lookups") > 0 && pto_json_integer(stats, "candidates") > 0);
  /* All core time is of some origin. */
  json_t *origin, *times = json_object_get(root, "core_us"), *kernels = json_object_get(stats, "kernels");
  double busy = 0, total = 0;
  for (size_t i = 0; i < json_array_size(kernels); i++)
    busy += json_number_value(json_object_get(json_array_get(kernels, i), "total_us"));
  const char *name;
  json_object_foreach(times, name, origin) total += json_number_value(origin);
  assert_true(busy > 0 && fabs(total - busy) <= 1e-9 * busy);
  json_decref(root);
}

/* Whose times begin before those of all that were reported before it: a minute is what no such run takes, and little
 * of what times below 0 would come to. */
static void test_times_of_a_context_that_began_first_and_is_reported_second_are_told(void **state) {
  static const char *const settings[] = {"--engine threads", "--engine virtual"};
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    assert_int_equal(pto_ptosim_run("run %s/planted/planted_contexts.so --set both=true --stats --json - %s",
                                    pto_ptosim_build(), settings[i]),
                     0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *stats = json_object_get(root, "stats");
    const double makespan_us = json_number_value(json_object_get(stats, "makespan_us"));
    assert_int_equal(pto_json_integer(stats, "calls"), 2);
    assert_true(makespan_us > 0 && makespan_us < 60e6);
    json_decref(root);
  }
}

static void test_a_report_on_standard_output_stands_there_alone(void **state) {
  assert_int_equal(pto_ptosim_run("run vector_example --deps-json -"), 0);
  json_decref(pto_ptosim_parse(pto_ptosim_last.out));
  assert_int_equal(pto_ptosim_run("run vector_example --trace -"), 0);
  json_decref(pto_ptosim_parse(pto_ptosim_last.out));
  assert_int_equal(pto_ptosim_run("why vector_example 0 1 --deps-json -"), 0);
  json_decref(pto_ptosim_parse(pto_ptosim_last.out));
  assert_int_equal(pto_ptosim_run("graph --model llama --set layers=1 --run --deps-json -"), 0);
  json_decref(pto_ptosim_parse(pto_ptosim_last.out));
}

static void test_stats_say_what_submits_had_to_wait_for(void **state) {
  static const char *const rows[][2] = {{"--window 16", "window"}, {"--heap 256K", "heap"}};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(pto_ptosim_run("run bgemm --engine virtual %s --stats --json -", rows[i][0]), 0);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *stats = json_object_get(root, "stats"),
           *stalls = json_object_get(stats, "stalls");
    const int64_t waits = pto_json_integer(stats, "submit_waits");
    double seconds = 0, waiting = json_number_value(json_object_get(stats, "wait_seconds"));
    const char *reason;
    json_t *stall;
    assert_true(waits > 0);
    json_object_foreach(stalls, reason, stall) {
      const bool is_it = strcmp(reason, rows[i][1]) == 0, is_end = strcmp(reason, "drain") == 0;
      assert_int_equal(pto_json_integer(stall, "count"), is_it ? waits : is_end ? 1 : 0);
      seconds += json_number_value(json_object_get(stall, "seconds"));
    }
    assert_true(fabs(seconds - waiting) <= 1e-9 * waiting);
    json_decref(root);
  }
}

static void test_counters_are_those_of_the_run_and_what_cannot_be_counted_is_said_once(void **state) {
  assert_int_equal(pto_ptosim_run("run bgemm --case 32x64x4 --engine virtual --rounds 2 --json - --counters "
                                  "pto::tasks,PAPI_L3_TCA,pto::edges,PAPI_VEC_DP"),
                   0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out), *counters = json_object_get(root, "counters");
  assert_int_equal(json_object_size(counters), 4);
  const char *said = strstr(pto_ptosim_last.err, "--counters: ");
  if (json_is_null(json_object_get(counters, "PAPI_L3_TCA")) ||
      json_is_null(json_object_get(counters, "PAPI_VEC_DP"))) {
    assert_non_null(said);
    assert_null(strstr(said + 1, "--counters: "));
  }
  if (!json_is_null(json_object_get(counters, "pto::tasks"))) { /* else it is built without PAPI or libsde */
    assert_int_equal(pto_json_integer(counters, "pto::tasks"), 2 * pto_json_integer(root, "tasks"));
    assert_int_equal(pto_json_integer(counters, "pto::edges"), 2 * pto_json_integer(root, "edges"));
  }
  json_decref(root);
  assert_int_equal(pto_ptosim_run("run bgemm --counters pto::tasks,,pto::edges"), 2);
}

/* ---- run: files ---- */

static void write_matrix(const char *name, uint64_t rows, float value) {
  static float data[128 * 128];
  struct pto_error error;
  for (size_t i = 0; i < 128 * 128; i++) data[i] = value;
  assert_int_equal(pto_npy_write(pto_ptosim_path(name), PTO_FLOAT32, 2, (const uint64_t[]){rows, 128}, data, &error),
                   PTO_OK);
}

static void test_inputs_come_from_files(void **state) {
  write_matrix("a.npy", 128, 1);
  /* a = 1, b = 3: (4 + 1)(4 + 2) + 4 = 34 */
  write_matrix("f34.npy", 128, 34);
  assert_int_equal(pto_ptosim_run("run vector_example --input a=%s --expect f=%s --json -", pto_ptosim_path("a.npy"),
                                  pto_ptosim_path("f34.npy")),
                   0);
  json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
  assert_true(json_is_true(json_object_get(root, "verified")));
  json_decref(root);
}

static void test_a_golden_from_a_file_decides_and_tolerances_move_it(void **state) {
  write_matrix("f46.npy", 128, 46); /* 47 is right */
  assert_int_equal(pto_ptosim_run("run vector_example --expect f=%s", pto_ptosim_path("f46.npy")), 1);
  pto_ptosim_assert_complaint(1, "47 instead of 46");
  assert_int_equal(pto_ptosim_run("run vector_example --expect f=%s --atol 1.5", pto_ptosim_path("f46.npy")), 0);
  assert_int_equal(pto_ptosim_run("run vector_example --expect f=%s --atol 0 --rtol 0.03", pto_ptosim_path("f46.npy")),
                   0);
  assert_int_equal(pto_ptosim_run("run vector_example --expect f=%s --atol 0 --rtol 0.02", pto_ptosim_path("f46.npy")),
                   1);
}

static void test_an_output_goes_to_a_file_and_comes_back_as_a_golden(void **state) {
  struct pto_npy npy;
  struct pto_error error;
  write_matrix("f46.npy", 128, 46);
  /* Wrong as it is by that golden, it is written. */
  assert_int_equal(pto_ptosim_run("run vector_example --output f=%s --expect f=%s", pto_ptosim_path("f.npy"),
                                  pto_ptosim_path("f46.npy")),
                   1);
  assert_int_equal(pto_npy_read(pto_ptosim_path("f.npy"), &npy, &error), PTO_OK);
  assert_int_equal(npy.ndims, 2);
  assert_int_equal(npy.numel, 128 * 128);
  assert_true(pto_npy_holds(&npy, PTO_FLOAT32));
  for (uint64_t i = 0; i < npy.numel; i++) assert_true(pto_npy_get(&npy, PTO_FLOAT32, i) == 47);
  pto_npy_fini(&npy);
  assert_int_equal(pto_ptosim_run("run vector_example --expect f=%s --atol 0 --rtol 0", pto_ptosim_path("f.npy")), 0);
  pto_ptosim_run("run vector_example --output a=%s", pto_ptosim_path("a.npy"));
  pto_ptosim_assert_complaint(2, "no output called \"a\"; it has f");
  assert_ptr_equal(strstr(pto_ptosim_last.out, "tasks"), NULL); /* before anything ran */
}

static void test_files_that_do_not_fit_are_refused(void **state) {
  write_matrix("short.npy", 64, 1);
  pto_ptosim_run("run vector_example --input a=%s", pto_ptosim_path("short.npy"));
  pto_ptosim_assert_complaint(2, "a is f32[128,128]");
  pto_ptosim_run("run vector_example --input f=%s", pto_ptosim_path("short.npy"));
  pto_ptosim_assert_complaint(2, "no input called \"f\"; it has a, b");
  pto_ptosim_run("run vector_example --expect a=%s", pto_ptosim_path("short.npy"));
  pto_ptosim_assert_complaint(2, "no output called \"a\"; it has f");
  pto_ptosim_run("run vector_example --input a=%s", pto_ptosim_path("missing.npy"));
  pto_ptosim_assert_complaint(2, "missing.npy");
}

static void test_a_trace_has_a_slice_for_each_call(void **state) {
  for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
    assert_int_equal(pto_ptosim_run("run vector_example --engine %s --trace %s", is_virtual ? "virtual" : "threads",
                                    pto_ptosim_path("t.json")),
                     0);
    json_t *root = pto_ptosim_load(pto_ptosim_path("t.json")), *events = json_object_get(root, "traceEvents"), *event;
    size_t index;
    int kernels = 0, starts = 0, ends = 0;
    json_array_foreach(events, index, event) {
      const char *phase = pto_json_text(event, "ph");
      json_t *category = json_object_get(event, "cat");
      kernels += strcmp(phase, "X") == 0 && strcmp(json_string_value(category), "kernel") == 0;
      starts += strcmp(phase, "s") == 0;
      ends += strcmp(phase, "f") == 0;
    }
    assert_int_equal(kernels, 5);
    assert_int_equal(starts, 6);
    assert_int_equal(ends, 6);
    json_decref(root);
  }
}

static void test_the_graph_is_the_same_text_on_every_engine(void **state) {
  static const char *const configurations[] = {"--engine threads --chip a2a3", "--engine virtual --policy lifo",
                                               "--engine threads --workers 1 --chip a5"};
  char *deps = NULL, *dot = NULL;
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(pto_ptosim_run("run paged_attention --case var4 %s --deps-json %s --dot %s --quiet",
                                    configurations[i], pto_ptosim_path("d.json"), pto_ptosim_path("d.dot")),
                     0);
    char *new_deps = pto_ptosim_read_file(pto_ptosim_path("d.json")),
         *new_dot = pto_ptosim_read_file(pto_ptosim_path("d.dot"));
    if (i == 0) {
      deps = new_deps;
      dot = new_dot;
      continue;
    }
    assert_string_equal(new_deps, deps);
    assert_string_equal(new_dot, dot);
    free(new_deps);
    free(new_dot);
  }
  json_t *root = pto_ptosim_parse(deps);
  assert_int_equal(json_array_size(json_object_get(root, "tasks")), 68);
  assert_int_equal(json_array_size(json_object_get(root, "edges")), 80);
  json_decref(root);
  free(deps);
  free(dot);
}

static void test_a_file_that_cannot_be_opened_is_said_before_the_run(void **state) {
  static const char *const options[] = {"--trace", "--dot", "--deps-json", "--json", "--output f="};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(options); i++) {
    pto_ptosim_run("run vector_example %s%s/nonexistent/f.npy", options[i], i < 4 ? " " : "");
    pto_ptosim_assert_complaint(2, "/nonexistent/f.npy");
    assert_null(strstr(pto_ptosim_last.out, "verified"));
  }
  pto_ptosim_run("run vector_example --output f=-");
  pto_ptosim_assert_complaint(2, "--output f=-: an array goes to a file");
}

static void test_a_report_that_cannot_be_written_is_a_failure(void **state) {
  if (access("/dev/full", W_OK) != 0) skip();
  pto_ptosim_run("run vector_example --trace /dev/full");
  pto_ptosim_assert_complaint(3, "/dev/full");
  pto_ptosim_run("run vector_example --output f=/dev/full");
  pto_ptosim_assert_complaint(3, "/dev/full");
  assert_non_null(strstr(pto_ptosim_last.out, "verified")); /* the verdict stands all the same */
  pto_ptosim_run("run vector_example --json /dev/full");
  pto_ptosim_assert_complaint(3, "/dev/full");
}

/* ---- run: mistakes ---- */

static void test_bad_arguments_leave_with_2_and_one_sentence(void **state) {
  static const char *const rows[][2] = {
      {"run", "which program"},
      {"run vector_example bgemm", "\"bgemm\""},
      {"run no_such_program", "no_such_program"},
      {"run /nonexistent/x.so", "/nonexistent/x.so"},
      {"run vector_example --speed", "--speed"},
      {"run vector_example --seed", "--seed"},
      {"run vector_example --workers 0", "--workers"},
      {"run vector_example --workers 99999", "99999"},
      {"run vector_example --engine steam", "steam"},
      {"run vector_example --chip no_such_chip", "no_such_chip"},
      {"run vector_example --policy best", "best"},
      {"run vector_example --deps loose", "loose"},
      {"run vector_example --window 1000", "1000"},
      {"run vector_example --heap 1500", "1500"},
      {"run vector_example --case nope", "nope"},
      {"run bgemm --set tile=many", "many"},
      {"run bgemm --set speed=1", "speed"},
      {"run spmd_sync_start --chip tiny", "clusters"},
      {"dance", "dance"},
      {"list colours", "colours"},
      {"list chips more", "more"},
      {"list programs nope", "nope"},
      {"suite --case x", "--case"},
      {"suite --engine steam", "steam"},
      {"suite nope", "nope"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    pto_ptosim_run("%s", rows[i][0]);
    pto_ptosim_assert_complaint(2, rows[i][1]);
  }
}

static void test_failures_after_the_options_are_in_the_json_too(void **state) {
  assert_int_equal(pto_ptosim_run("run no_such_program --json %s", pto_ptosim_path("none.json")), 2);
  json_t *root = pto_ptosim_load(pto_ptosim_path("none.json"));
  assert_int_equal(pto_json_integer(root, "exit"), 2);
  assert_non_null(strstr(pto_json_text(root, "error"), "no_such_program"));
  assert_true(json_is_null(json_object_get(root, "tasks")));
  json_decref(root);
}

/* ---- run: failures ---- */

static void test_each_error_program_leaves_with_3_and_its_status(void **state) {
  static const char *const rows[][2] = {{"errors/heap", "PTO_EHEAP"},         {"errors/scope", "PTO_ESCOPE"},
                                        {"errors/window", "PTO_EWINDOW"},     {"errors/kernel", "PTO_EKERNEL"},
                                        {"errors/capacity", "PTO_ECAPACITY"}, {"errors/user", "PTO_EUSER"},
                                        {"errors/deadlock", "PTO_EDEADLOCK"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
      assert_int_equal(pto_ptosim_run("run %s --engine %s --json %s", rows[i][0], is_virtual ? "virtual" : "threads",
                                      pto_ptosim_path("e.json")),
                       3);
      json_t *root = pto_ptosim_load(pto_ptosim_path("e.json"));
      assert_string_equal(pto_json_text(root, "status"), rows[i][1]);
      assert_non_null(strstr(pto_ptosim_last.err, pto_json_text(root, "error")));
      assert_true(json_is_null(json_object_get(root, "verified")));
      json_decref(root);
    }
}

/* The JSON of a process that had to leave: the same keys, status and sentence. */
static void assert_last_words(const char *program, const char *name, const char *options, const char *status,
                              const char *part) {
  for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
    assert_int_equal(
        pto_ptosim_run("run %s --engine %s %s --json -", program, is_virtual ? "virtual" : "threads", options), 3);
    json_t *root = pto_ptosim_parse(pto_ptosim_last.out);
    assert_string_equal(pto_json_text(root, "status"), status);
    assert_string_equal(pto_json_text(root, "program"), name);
    assert_int_equal(pto_json_integer(root, "exit"), 3);
    assert_non_null(strstr(pto_json_text(root, "error"), part));
    assert_non_null(strstr(pto_json_text(root, "error"), "task 0 ("));
    assert_non_null(strstr(pto_json_text(root, "error"), "on core"));
    assert_non_null(json_object_get(root, "output_digest"));
    json_decref(root);
  }
}

static void test_a_fault_in_a_kernel_is_reported_with_task_and_core(void **state) {
  if (!pto_ptosim_reports_faults) skip(); /* whose report it then is */
  assert_last_words("errors/crash", "errors/crash", "--quiet", "PTO_EKERNEL", "SIGSEGV at address 0x");
}

static void test_a_kernel_that_does_not_come_back_is_reported(void **state) {
  assert_last_words("errors/timeout", "errors/timeout", "--timeout 0.05", "PTO_ETIMEOUT", "time-out of 50 ms");
}

static void test_a_kernel_of_a_context_that_does_not_come_back_is_reported(void **state) {
  char program[4200];
  snprintf(program, sizeof program, "%.4000s/planted/planted_contexts.so", pto_ptosim_build());
  assert_last_words(program, "planted_contexts", "--set both=true --set touch=4 --timeout 0.05", "PTO_ETIMEOUT",
                    "50 ms: task 0 (copy)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_right_run_leaves_with_0_and_has_every_key),
      cmocka_unit_test(test_virtual_time_is_the_same_for_any_number_of_workers),
      cmocka_unit_test(test_a_seed_makes_the_inputs),
      cmocka_unit_test(test_rounds_agree_and_say_so),
      cmocka_unit_test(test_weaker_rules_that_break_a_program_leave_with_1),
      cmocka_unit_test(test_quiet_means_nothing),
      cmocka_unit_test(test_stats_say_where_the_time_went),
      cmocka_unit_test(test_stats_of_a_run_that_failed_at_once_are_no_empty_table),
      cmocka_unit_test(test_the_time_on_the_chip_says_whether_transfers_are_in_it),
      cmocka_unit_test(test_stats_of_contexts_count_what_their_tasks_looked_up),
      cmocka_unit_test(test_times_of_a_context_that_began_first_and_is_reported_second_are_told),
      cmocka_unit_test(test_a_report_on_standard_output_stands_there_alone),
      cmocka_unit_test(test_stats_say_what_submits_had_to_wait_for),
      cmocka_unit_test(test_counters_are_those_of_the_run_and_what_cannot_be_counted_is_said_once),
      cmocka_unit_test(test_inputs_come_from_files),
      cmocka_unit_test(test_a_golden_from_a_file_decides_and_tolerances_move_it),
      cmocka_unit_test(test_an_output_goes_to_a_file_and_comes_back_as_a_golden),
      cmocka_unit_test(test_files_that_do_not_fit_are_refused),
      cmocka_unit_test(test_a_trace_has_a_slice_for_each_call),
      cmocka_unit_test(test_the_graph_is_the_same_text_on_every_engine),
      cmocka_unit_test(test_a_file_that_cannot_be_opened_is_said_before_the_run),
      cmocka_unit_test(test_a_report_that_cannot_be_written_is_a_failure),
      cmocka_unit_test(test_bad_arguments_leave_with_2_and_one_sentence),
      cmocka_unit_test(test_failures_after_the_options_are_in_the_json_too),
      cmocka_unit_test(test_each_error_program_leaves_with_3_and_its_status),
      cmocka_unit_test(test_a_fault_in_a_kernel_is_reported_with_task_and_core),
      cmocka_unit_test(test_a_kernel_that_does_not_come_back_is_reported),
      cmocka_unit_test(test_a_kernel_of_a_context_that_does_not_come_back_is_reported),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
