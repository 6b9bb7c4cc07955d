/* SPDX-License-Identifier: MIT */
/*
 * `ptosim import` and captures as programs, from outside.  The captures are ours: one small run, written as each form
 * that the existing runtime and its tools have had.
 *
 *   aic0: matmul [1000, 11000) ns;  aiv0, aiv1: two blocks of add [13000, 15000), [13100, 15400);  aiv0: sum [17000,
 * 19000) matmul → add → sum, and an allocation that add and sum use
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/ptosim_child.h>

/* ---- the forms ---- */

#define RING "429496729" /* ids 4294967296 on: ring 1 */
#define VIEW(n) "\"start_offset\":\"0\",\"strides\":[" n "]"
#define TENSORS(more)                                                                                                  \
  "\"tensors\":[{\"tensor_id\":\"11\",\"buffer_addr\":\"1000\",\"version\":0,\"dtype\":\"FLOAT32\"," more "},"         \
  "{\"tensor_id\":\"18446744073709551615\",\"buffer_addr\":\"2000\",\"version\":0,\"dtype\":\"FLOAT32\"," more "},"    \
  "{\"tensor_id\":\"13\",\"buffer_addr\":\"3000\",\"version\":0,\"dtype\":\"FLOAT32\"," more "}]"
#define EDGE(from, to, arg, source, more)                                                                              \
  "{\"pred\":\"" RING from "\",\"succ\":\"" RING to "\",\"arg\":" arg ",\"source\":\"" source "\"," more "}"
#define MADE(tensor) "\"tensor_id\":\"" tensor "\",\"consumer_dtype\":\"FLOAT32\",\"consumer_shape\":[64]"
#define BIG "18446744073709551615"
#define EDGES(flags)                                                                                                   \
  "\"edges\":[" EDGE("6", "7", "0", "creator", flags MADE(BIG)) "," EDGE(                                              \
      "8", "7", "1", "creator",                                                                                        \
      flags MADE("13")) "," EDGE("8", "9", "0", "creator",                                                             \
                                 flags MADE("13")) "," EDGE("7", "9", "0", "tensormap",                                \
                                                            flags MADE("13")) "," EDGE("7", "9", "-1", "explicit",     \
                                                                                       flags "\"x\":0") "]"
#define ARG(i, type, tensor, view)                                                                                     \
  "{\"idx\":" i ",\"type\":\"" type "\",\"tensor_id\":\"" tensor "\",\"dtype\":\"FLOAT32\",\"shape\":[64]," view "}"
#define TASKS(aic, aiv2, aiv1, view)                                                                                   \
  "\"tasks\":[{\"task_id\":\"" RING "6\",\"scope\":\"auto\"," aic "\"args\":[" ARG(                                    \
      "0", "INPUT", "11", view) ",{\"idx\":1,\"type\":\"OUTPUT\"}]},"                                                  \
                                "{\"task_id\":\"" RING "7\",\"scope\":\"auto\"," aiv2                                  \
                                "\"args\":[" ARG("0", "INPUT", BIG, view) "," ARG(                                     \
                                    "1", "INOUT", "13", view) "]},"                                                    \
                                                              "{\"task_id\":\"" RING "9\",\"scope\":\"auto\"," aiv1    \
                                                              "\"args\":[" ARG("0", "INPUT", "13", view) "]}]"

/* Since July 2026: kernels, blocks, flags. */
static const char deps_now[] =
    "{" TASKS("\"kernel_ids\":[3,-1,-1],\"block_num\":1,", "\"kernel_ids\":[-1,4,-1],\"block_num\":2,",
              "\"kernel_ids\":[-1,-1,5],\"block_num\":1,",
              VIEW("1")) "," TENSORS("\"buffer_numel\":\"64\"") "," EDGES("\"flags\":[\"wait\",\"retain\"],") "}";
/* 27 May 2026: strides, no version. */
static const char deps_strided[] =
    "{" TASKS("", "", "", VIEW("1")) "," TENSORS("\"buffer_numel\":\"64\"") "," EDGES("") "}";
/* 13 May 2026: version 2, offsets into raw shapes. */
static const char deps_2[] = "{\"version\":2," TASKS("", "", "", "\"offset\":[0]") "," TENSORS(
    "\"ndims\":1,\"raw_shapes\":[64]") "," EDGES("") "}";
/* 11 May 2026: version 1, pairs. */
static const char deps_1[] = "{\"version\":1,\"edges\":[[" RING "6," RING "7],[" RING "8," RING "7],[" RING "8," RING
                             "9],[" RING "7," RING "9]]}";

#define META "\"metadata\":{\"clock_freq_hz\":50000000,\"num_cores\":3,\"core_types\":[\"aic\",\"aiv\",\"aiv\"]},"
#define AICPU "\"aicpu_tasks\":[[0,1,950,1510],[1,1,1550,1710],[2,1,1555,1730],[1,2,1750,1910]]"
/* The edges from add to sum, and what may stand in their place: one that orders nothing. */
#define ADD_TO_SUM                                                                                                     \
  EDGE("7", "9", "0", "tensormap", "\"flags\":[\"wait\",\"retain\"]," MADE("13"))                                      \
  "," EDGE("7", "9", "-1", "explicit", "\"flags\":[\"wait\",\"retain\"],\"x\":0")
#define HELD EDGE("7", "9", "0", "creator", "\"flags\":[\"retain\"]," MADE("13"))

/* Since August 2026, and since 22 June: a sixth column. */
static const char records_now[] =
    "{\"chip_swimlane_level\":2," META "\"aicore_tasks\":[[0," RING "6,1,1000,1500,10],[1," RING "7,1,1600,1700,10],"
    "[2," RING "7,1,1605,1720,10],[1," RING "9,2,1800,1900,10]]," AICPU "}";
/* 4 June 2026: five columns and another key; level 1 has no dispatch. */
static const char records_june[] =
    "{\"l2_swimlane_level\":1," META "\"aicore_tasks\":[[0," RING "6,1,1000,1500],[1," RING "7,1,1600,1700],"
    "[2," RING "7,1,1605,1720],[1," RING "9,2,1800,1900]],\"aicpu_tasks\":[]}";

#define JOINED(id, func, core, type, begin, end, dispatch, finish, fanout)                                             \
  "{\"task_id\":" RING id ",\"func_id\":" func ",\"core_id\":" core ",\"core_type\":\"" type                           \
  "\",\"start_time_us\":" begin ",\"end_time_us\":" end ",\"dispatch_time_us\":" dispatch                              \
  ",\"finish_time_us\":" finish fanout "}"
#define JOINED_TASKS(to_add, to_sum, to_none)                                                                          \
  "\"tasks\":[" JOINED("6", "3", "0", "aic", "20.000", "30.000", "19.000", "30.200", to_add) "," JOINED(               \
      "7", "4", "1", "aiv", "32.000", "34.000", "31.000", "34.200",                                                    \
      to_sum) "," JOINED("7", "4", "2", "aiv", "32.100", "34.400", "31.100", "34.600",                                 \
                         to_sum) "," JOINED("9", "5", "1", "aiv", "36.000", "38.000", "35.000", "38.200", to_none) "]"
/* February to May 2026: versions 1 and 2, with fanout. */
static const char joined_1[] = "{\"version\":1," JOINED_TASKS(",\"fanout\":[" RING "7],\"fanout_count\":1",
                                                              ",\"fanout\":[" RING "9],\"fanout_count\":1",
                                                              ",\"fanout\":[],\"fanout_count\":0") "}";
/* 31 May 2026: a level and no fanout. */
static const char joined_may[] = "{\"l2_swimlane_level\":2," JOINED_TASKS("", "", "") "}";

#define NAME_OF(what, pid, tid, name)                                                                                  \
  "{\"args\":{\"name\":\"" name "\"},\"name\":\"" what "\",\"ph\":\"M\",\"pid\":" pid tid "}"
#define BAR(pid, task, func, core, name, ts, dur, more)                                                                \
  "{\"args\":{\"event-hint\":\"Task:" task ", FuncId:" func ", CoreId:" core "\"" more                                 \
  "},\"cat\":\"event\",\"name\":\"" name "(" task ")\",\"ph\":\"X\",\"pid\":" pid ",\"tid\":1,\"ts\":" ts              \
  ",\"dur\":" dur "}"
#define TRACE(worker, wpid, scheduler, spid, fan)                                                                                                                                                                                                      \
  "{\"traceEvents\":[" NAME_OF("process_name", wpid, "", worker) "," NAME_OF("process_name", spid, "", scheduler) "," NAME_OF("thread_name", wpid, ",\"tid\":10000", "AIC_0") "," NAME_OF("thread_name", wpid, ",\"tid\":10010", "AIV_1") "," NAME_OF( \
      "thread_name", wpid, ",\"tid\":10020",                                                                                                                                                                                                           \
      "AIV_2") "," BAR(wpid, "r1t0", "3", "0", "matmul", "20.0", "10.0",                                                                                                                                                                               \
                       ",\"fanout-hint\":\"" fan                                                                                                                                                                                                       \
                       "[r1t1]\"") "," BAR(wpid, "r1t1", "4", "1", "add", "32.0", "2.0",                                                                                                                                                               \
                                           ",\"fanout-hint\":\"" fan                                                                                                                                                                                   \
                                           "[r1t3]\"") "," BAR(wpid, "r1t1", "4", "2", "add", "32.1", "2.3",                                                                                                                                           \
                                                               ",\"fanout-hint\":\"" fan                                                                                                                                                               \
                                                               "[r1t3]\"") "," BAR(wpid, "r1t3", "5", "1", "sum",                                                                                                                                      \
                                                                                   "35.5", "2.5",                                                                                                                                                      \
                                                                                   ",\"local_"                                                                                                                                                         \
                                                                                   "setup_us\":"                                                                                                                                                       \
                                                                                   "0.5,"                                                                                                                                                              \
                                                                                   "\"fanout-"                                                                                                                                                         \
                                                                                   "hint\":\"[]"                                                                                                                                                       \
                                                                                   "\"") "," BAR(spid, "r1t0", "3",                                                                                                                                    \
                                                                                                 "0", "matmul",                                                                                                                                        \
                                                                                                 "19.0", "11.2",                                                                                                                                       \
                                                                                                 "") "," BAR(spid,                                                                                                                                     \
                                                                                                             "r1t1",                                                                                                                                   \
                                                                                                             "4", "1",                                                                                                                                 \
                                                                                                             "add",                                                                                                                                    \
                                                                                                             "31.0",                                                                                                                                   \
                                                                                                             "3.2",                                                                                                                                    \
                                                                                                             "") "," BAR(spid,                                                                                                                         \
                                                                                                                         "r1t1",                                                                                                                       \
                                                                                                                         "4",                                                                                                                          \
                                                                                                                         "2",                                                                                                                          \
                                                                                                                         "add",                                                                                                                        \
                                                                                                                         "31.1",                                                                                                                       \
                                                                                                                         "3.5",                                                                                                                        \
                                                                                                                         "") "," BAR(spid,                                                                                                             \
                                                                                                                                     "r1t3",                                                                                                           \
                                                                                                                                     "5",                                                                                                              \
                                                                                                                                     "1",                                                                                                              \
                                                                                                                                     "sum",                                                                                                            \
                                                                                                                                     "35.0",                                                                                                           \
                                                                                                                                     "3.2",                                                                                                            \
                                                                                                                                     "") "]}"
static const char trace_now[] = TRACE("Worker View", "4", "Scheduler View", "3", "1: ");
static const char trace_may[] = TRACE("AICore View", "1", "AICPU View", "2", "");

static const char table[] = "task,core_tid,dispatch_us,start_us,end_us,finish_us\n"
                            "matmul(r1t0),10000,19.00,20.00,30.00,30.20\n"
                            "add(r1t1),10240,31.00,32.00,34.00,34.20\n"
                            "sum(r1t3),10240,35.00,36.00,38.00,38.20\n";

/* ---- help ---- */

static void put(const char *name, const char *text) {
  FILE *file = fopen(pto_ptosim_path(name), "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  fclose(file);
}

/* Imports one text or two (NULL: one) as `name`; returns what it said. */
static json_t *import_as(const char *name, const char *first, const char *second) {
  char path[512];
  put("first", first);
  if (second) put("second", second);
  snprintf(path, sizeof path, "%s", pto_ptosim_path("second"));
  const int code = pto_ptosim_run("import %s %s -o %s --json -", pto_ptosim_path("first"), second ? path : "--quiet",
                                  pto_ptosim_path(name));
  if (code) fail_msg("exit %d: %s", code, pto_ptosim_last.err);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

static void assert_said(json_t *said, json_int_t tasks, json_int_t edges, json_int_t spans, json_int_t accesses) {
  assert_int_equal(pto_json_integer(said, "tasks"), tasks);
  assert_int_equal(pto_json_integer(said, "edges"), edges);
  assert_int_equal(pto_json_integer(said, "spans"), spans);
  assert_int_equal(pto_json_integer(said, "accesses"), accesses);
  json_decref(said);
}

static json_t *run(const char *name, const char *options) {
  const int code = pto_ptosim_run("run %s --stats --json - %s", pto_ptosim_path(name), options);
  if (code) fail_msg("exit %d: %s%s", code, pto_ptosim_last.out, pto_ptosim_last.err);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

/* Text in which one place is another. */
static const char *changed(const char *text, const char *from, const char *to) {
  static char buffer[16384];
  const char *at = strstr(text, from);
  assert_non_null(at);
  snprintf(buffer, sizeof buffer, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return buffer;
}

static void assert_refused(const char *first, const char *second, const char *part) {
  char path[512];
  put("first", first);
  if (second) put("second", second);
  snprintf(path, sizeof path, "%s", pto_ptosim_path("second"));
  pto_ptosim_run("import %s %s -o %s", pto_ptosim_path("first"), second ? path : "--quiet", pto_ptosim_path("no.json"));
  pto_ptosim_assert_complaint(2, part);
  FILE *made = fopen(pto_ptosim_path("no.json"), "r");
  assert_null(made);
}

/* ---- forms ---- */

static void test_every_form_of_dependencies_gives_the_same_edges(void **state) {
  static const struct {
    const char *text;
    json_int_t accesses;
  } forms[] = {{deps_now, 6}, {deps_strided, 6}, {deps_2, 6}, {deps_1, 0}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    assert_said(import_as("c.json", forms[i].text, NULL), 4, 4, 0, forms[i].accesses);
    assert_said(import_as("c.json", forms[i].text, records_now), 4, 4, 4, forms[i].accesses);
  }
  /* Which file comes first is the same. */
  assert_said(import_as("c.json", records_now, deps_now), 4, 4, 4, 6);
}

static void test_every_form_of_times_gives_the_same_times(void **state) {
  static const struct {
    const char *text;
    json_int_t edges, end_ns; /* edges are those of fanout; without dispatches time begins later */
  } forms[] = {{records_now, 0, 19000}, {records_june, 0, 18000}, {joined_1, 2, 19000},
               {joined_may, 0, 19000},  {trace_now, 2, 19000},    {trace_may, 2, 19000}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    json_t *said = import_as("c.json", forms[i].text, NULL);
    assert_int_equal(pto_json_integer(said, "busy_ns"), 16300);
    assert_int_equal(pto_json_integer(said, "end_ns"), forms[i].end_ns);
    assert_int_equal(json_is_true(json_object_get(said, "has_edges")), forms[i].edges > 0);
    assert_said(said, 3, forms[i].edges, 4, 0);
    /* Edges of fanout give way to those of a graph. */
    assert_said(import_as("c.json", deps_now, forms[i].text), 4, 4, 4, 6);
  }
  assert_said(import_as("c.json", table, NULL), 3, 0, 3, 0);
}

static void test_a_capture_is_read_as_it_was_written(void **state) {
  json_decref(import_as("c.json", deps_now, records_now));
  json_t *c = pto_ptosim_load(pto_ptosim_path("c.json"));
  assert_string_equal(pto_json_text(c, "format"), "pto-capture");
  assert_int_equal(pto_json_integer(c, "version"), 1);
  json_t *alloc = json_array_get(json_object_get(c, "tasks"), 1); /* in front of its first user */
  assert_string_equal(pto_json_text(alloc, "kind"), "alloc");
  assert_string_equal(pto_json_text(alloc, "id"), RING "8");
  json_t *add = json_array_get(json_object_get(c, "tasks"), 2);
  assert_int_equal(pto_json_integer(add, "blocks"), 2);
  json_t *span = json_array_get(json_object_get(add, "spans"), 1);
  assert_int_equal(pto_json_integer(span, "core"), 2);
  assert_int_equal(pto_json_integer(span, "dispatch_ns"), 12100);
  assert_int_equal(pto_json_integer(span, "end_ns"), 15400);
  /* Memory of the caller, that of matmul, that of the allocation. */
  assert_int_equal(json_array_size(json_object_get(c, "buffers")), 3);
  json_decref(c);
}

/* ---- replays ---- */

#define PLAIN "--chip tests/regress/plain.ini" /* control work in round numbers, no handshake */

static void test_replay_by_edges_keeps_durations_and_order(void **state) {
  json_decref(import_as("c.json", deps_now, records_now));
  json_t *result = run("c.json", PLAIN);
  assert_int_equal(pto_json_integer(result, "tasks"), 4);
  assert_int_equal(pto_json_integer(result, "edges"), 4);
  /* matmul, the longer block of add, and sum follow each other: 10000 + 2300 + 2000 ns, and control work. */
  const double us = json_number_value(json_object_get(result, "virtual_us"));
  assert_true(us > 14.3 && us < 17);
  json_decref(result);
  assert_int_equal(
      pto_ptosim_run("run %s " PLAIN " --quiet --trace %s", pto_ptosim_path("c.json"), pto_ptosim_path("t")), 0);
  char *trace = pto_ptosim_read_file(pto_ptosim_path("t"));
  assert_non_null(strstr(trace, "\"name\":\"func_3\""));
  assert_non_null(strstr(trace, "\"dur\":10,"));
  assert_non_null(strstr(trace, "\"dur\":2.300000,"));
  free(trace);
}

/* Of 10000, 2000, 2300 and 2000 ns; a chip file with stages, and one with its rates alone. */
static void test_captured_times_are_measured(void **state) {
  static const char *const chips[] = {"--chip a2a3", PLAIN};
  json_decref(import_as("c.json", deps_now, records_now));
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(chips); i++) {
    json_t *result = run("c.json", chips[i]);
    const json_t *us = json_object_get(result, "core_us");
    const double measured = json_number_value(json_object_get(us, "measured"));
    assert_true(measured > 16.29 && measured <= 16.3);
    assert_true(json_number_value(json_object_get(us, "modelled")) == 0);
    assert_true(json_number_value(json_object_get(us, "assumed")) == 0);
    json_decref(result);
  }
}

static void test_replay_by_accesses_finds_what_the_rules_find(void **state) {
  json_decref(import_as("c.json", deps_now, records_now));
  json_t *result = run("c.json", "--set replay=accesses");
  /* matmul → add, and allocation → add → sum: sum reads what add wrote over all of the allocation. */
  assert_int_equal(pto_json_integer(result, "edges"), 3);
  json_decref(result);
}

static void test_replay_as_recorded_keeps_cores_and_releases(void **state) {
  json_decref(import_as("c.json", records_now, NULL));
  assert_int_equal(
      pto_ptosim_run("run %s " PLAIN " --quiet --trace %s", pto_ptosim_path("c.json"), pto_ptosim_path("t")), 0);
  json_t *trace = pto_ptosim_load(pto_ptosim_path("t")), *event;
  static const struct {
    json_int_t tid;
    double begin_us, duration_us;
  } expected[] = {{0, 0, 10}, {1, 12, 2}, {2, 12.1, 2.3}, {1, 16, 2}};
  size_t i, found = 0;
  json_array_foreach(json_object_get(trace, "traceEvents"), i, event) {
    const char *category = json_string_value(json_object_get(event, "cat"));
    if (!category || strcmp(category, "kernel") != 0) continue;
    assert_true(found < 4);
    assert_int_equal(pto_json_integer(event, "tid"), expected[found].tid);
    const double begin = json_number_value(json_object_get(event, "ts"));
    assert_true(begin >= expected[found].begin_us && begin <= expected[found].begin_us + 1);
    const double duration = json_number_value(json_object_get(event, "dur"));
    assert_true(duration > expected[found].duration_us - 0.00002 && duration <= expected[found].duration_us);
    found++;
  }
  assert_int_equal(found, 4);
  json_decref(trace);
}

static void test_every_verb_that_takes_a_program_takes_a_capture(void **state) {
  json_decref(import_as("c.json", deps_now, records_now));
  assert_int_equal(pto_ptosim_run("check %s", pto_ptosim_path("c.json")), 0);
  assert_int_equal(pto_ptosim_run("why %s 0 3", pto_ptosim_path("c.json")), 0);
  assert_non_null(strstr(pto_ptosim_last.out, "task 2 (func_4)")); /* the way from matmul to sum */
  assert_int_equal(pto_ptosim_run("explore %s --schedules 4", pto_ptosim_path("c.json")), 0);
  assert_int_equal(pto_ptosim_run("explore %s --all", pto_ptosim_path("c.json")), 0);
  assert_null(strstr(pto_ptosim_last.out, "by pointers")); /* no orchestration but ptosim's own */
  assert_int_equal(pto_ptosim_run("run %s --engine threads", pto_ptosim_path("c.json")), 0);
}

/* The capture names the chip: what a command takes is what its gain says. */
static void test_what_does_it_again_is_of_the_captured_chip(void **state) {
  json_t *gain;
  size_t i;
  json_decref(import_as("c.json", deps_now, records_now));
  json_t *plain = run("c.json", "--seed 0");
  json_t *verdict = json_object_get(json_object_get(plain, "stats"), "verdict");
  assert_string_equal(json_string_value(json_object_get(plain, "chip")), "a2a3");
  assert_true(json_array_size(json_object_get(verdict, "gains")) > 1);
  json_array_foreach(json_object_get(verdict, "gains"), i, gain) {
    const char *command = json_string_value(json_object_get(gain, "command"));
    assert_int_equal(pto_ptosim_run("%s --json - --quiet", command + strlen("ptosim ")), 0);
    json_t *faster = pto_ptosim_parse(pto_ptosim_last.out);
    const double less = json_number_value(json_object_get(plain, "virtual_us")) -
                        json_number_value(json_object_get(faster, "virtual_us"));
    if (fabs(less - json_number_value(json_object_get(gain, "us"))) > 1e-5) fail_msg("%s: %f less", command, less);
    json_decref(faster);
  }
  json_decref(plain);
}

static void test_check_names_an_edge_that_was_not_captured(void **state) {
  /* Nothing orders the write of one and the read of the other. */
  json_decref(import_as("c.json", changed(deps_now, ADD_TO_SUM, HELD), NULL));
  assert_int_equal(pto_ptosim_run("check %s", pto_ptosim_path("c.json")), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "RAW"));
  assert_non_null(strstr(pto_ptosim_last.out, "again: ptosim why "));
  assert_null(strstr(pto_ptosim_last.out, "--chip")); /* it is that of the capture */
}

static void test_an_edge_that_only_holds_memory_orders_nothing(void **state) {
  const char *text = changed(deps_now, EDGE("8", "9", "0", "creator", "\"flags\":[\"wait\",\"retain\"]," MADE("13")),
                             EDGE("8", "9", "0", "creator", "\"flags\":[\"retain\"]," MADE("13")));
  assert_said(import_as("c.json", text, NULL), 4, 3, 0, 6);
}

static void test_a_task_without_kernels_keeps_what_it_touches(void **state) {
  /* add becomes a task that only orders: it still stands between matmul and sum, by edges and by accesses. */
  json_decref(import_as("c.json", changed(deps_now, "[-1,4,-1],\"block_num\":2", "[-1,-1,-1],\"block_num\":1"), NULL));
  json_t *c = pto_ptosim_load(pto_ptosim_path("c.json"));
  assert_string_equal(pto_json_text(json_array_get(json_object_get(c, "tasks"), 2), "kind"), "empty");
  json_decref(c);
  static const struct {
    const char *options;
    json_int_t edges;
  } replays[] = {{"--set replay=edges", 4}, {"--set replay=accesses", 3}};
  for (size_t i = 0; i < 2; i++) {
    json_t *result = run("c.json", replays[i].options);
    assert_int_equal(pto_json_integer(result, "edges"), replays[i].edges);
    json_decref(result);
  }
}

/* Level 4: the orchestrator's calls. */
#define CALL(task, from, to)                                                                                           \
  "{\"submit_idx\":0,\"task_id\":" RING task ",\"start_cycles\":" from ",\"end_cycles\":" to "}"
#define CALLS(calls) ",\"aicpu_orchestrator_phases\":[[" calls "]]}"

static void test_calls_of_the_orchestrator_are_kept_and_replayed(void **state) {
  static const char calls[] =
      CALLS(CALL("6", "900", "920") "," CALL("7", "4000", "4020") "," CALL("5", "4030", "4040"));
  char text[4096];
  snprintf(text, sizeof text, "%.*s%s", (int)strlen(records_now) - 1, records_now, calls);
  assert_said(import_as("c.json", deps_now, text), 4, 4, 4, 6); /* the call of a task that is not there is left out */
  json_t *root = pto_ptosim_load(pto_ptosim_path("c.json"));
  json_t *task = json_array_get(json_object_get(root, "tasks"), 0);
  assert_int_equal(pto_json_integer(task, "submit_begin_ns"), 0); /* times count from the first call */
  assert_int_equal(pto_json_integer(task, "submit_end_ns"), 400);
  assert_int_equal(pto_json_integer(json_array_get(json_object_get(task, "spans"), 0), "begin_ns"), 2000);
  json_decref(root);
  /* add was submitted 62 us after matmul, long behind the end of that. */
  json_t *with = run("c.json", "--chip a2a3");
  assert_said(import_as("c.json", deps_now, records_now), 4, 4, 4, 6);
  json_t *without = run("c.json", "--chip a2a3");
  assert_true(json_number_value(json_object_get(with, "virtual_us")) >
              json_number_value(json_object_get(without, "virtual_us")) + 30);
  json_decref(with);
  json_decref(without);
}

static void test_what_was_not_captured_cannot_be_replayed(void **state) {
  json_decref(import_as("c.json", records_now, NULL));
  assert_int_equal(pto_ptosim_run("run %s --set replay=edges --quiet", pto_ptosim_path("c.json")), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "no dependencies were captured"));
  assert_int_equal(pto_ptosim_run("run %s --set replay=accesses --quiet", pto_ptosim_path("c.json")), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "was not captured"));
  assert_int_equal(pto_ptosim_run("run %s --set replay=x --quiet", pto_ptosim_path("c.json")), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "edges, accesses or recorded was expected"));
  json_decref(import_as("c.json", deps_now, NULL));
  assert_int_equal(pto_ptosim_run("run %s --set replay=recorded --quiet", pto_ptosim_path("c.json")), 2);
  assert_non_null(strstr(pto_ptosim_last.err, "no times were captured"));
}

/* ---- what cannot be true ---- */

static void test_impossible_captures_are_refused_by_record(void **state) {
  char calls[4096];
  static const struct {
    const char *calls, *part;
  } odd[] = {{CALLS(CALL("6", "920", "900")), "aicpu_orchestrator_phases[0][0]: ends 20 ticks before it begins"},
             {CALLS("7"), "aicpu_orchestrator_phases[0][0]"},
             {CALLS("{\"task_id\":1}"), "aicpu_orchestrator_phases[0][0]"},
             {",\"aicpu_orchestrator_phases\":[3]}", "aicpu_orchestrator_phases[0]: a list of records was expected"},
             {",\"aicpu_orchestrator_phases\":3}", "aicpu_orchestrator_phases"}};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    snprintf(calls, sizeof calls, "%.*s%s", (int)strlen(records_now) - 1, records_now, odd[i].calls);
    assert_refused(calls, NULL, odd[i].part);
  }
  assert_refused(changed(deps_now, RING "9\",\"scope", RING "7\",\"scope"), NULL, "tasks[2]: task r1t1 is there twice");
  assert_refused(changed(deps_1, "8," RING "9]", "9," RING "9]"), NULL, "edges[2]: task r1t3 depends on itself");
  assert_refused(changed(deps_1, "8," RING "9]", "9," RING "7]"), NULL, "edges[2]: the dependencies go round");
  assert_refused(changed(records_now, "1600,1700", "1700,1600"), NULL,
                 "aicore_tasks[1]: ends 100 ticks before it begins");
  assert_refused(changed(records_now, "1550,1710", "1601,1710"), NULL, "aicore_tasks[1]: begins 20 ns before it was");
  assert_refused(changed(records_now, "1550,1710", "1550,1699"), NULL, "20 ns before it ended");
  assert_refused(changed(records_june, "2,1800,1900", "2,1690,1900"), NULL,
                 "aicore_tasks[3]: begins on core 1 while "
                 "aicore_tasks[1] runs there");
  assert_refused(changed(records_now, "[1,2,1750", "[1,3,1750"), NULL, "aicpu_tasks[3]: no row of aicore_tasks");
  assert_refused(changed(records_now, "7,1,1605", "7,0,1605"), NULL, "aicpu_tasks[2]: no row");
  assert_refused(changed(records_now, "[2," RING "7,1", "[1," RING "7,1"), NULL, "is the second of core 1");
  assert_refused(changed(records_now, "\"num_cores\":3", "\"num_cores\":4"), NULL, "is not the number of");
  assert_refused(changed(records_now, "50000000", "0"), NULL, "metadata: \"clock_freq_hz\" is 0");
  assert_refused(changed(joined_1, "\"fanout_count\":1", "\"fanout_count\":2"), NULL, "tasks[0]: \"fanout_count\"");
  assert_refused(changed(table, "10240,35.00", "10241,35.00"), NULL, "line 4: core_tid is \"10241\"");
  assert_refused(changed(table, "36.00", "33.00"), NULL, "line[4]: begins 2000 ns before it was dispatched");
  /* Of two files. */
  assert_refused(deps_now, changed(records_june, "1000,1500", "1000,1601"),
                 "aicore_tasks[1]: task r1t1 begins 20 ns before task r1t0 ends");
  assert_refused(deps_now, changed(records_now, "7,1,1605", "5,1,1605"), "aicore_tasks[2]: is of task");
  assert_refused(changed(deps_now, "\"block_num\":2", "\"block_num\":3"), records_now,
                 "3 blocks of 1 kernels were expected");
  assert_refused(changed(deps_now, "[3,-1,-1]", "[-1,3,-1]"), records_now, "ran on 1 AIC and 0 AIV cores");
  assert_refused(deps_now, deps_1, "another file gave dependencies already");
}

/* Cut at every place, and changed there: a sentence or a capture, never a crash. */
static void test_cut_captures_are_refused_with_a_sentence(void **state) {
  static const char *const texts[] = {deps_now, deps_2, deps_1, records_now, joined_1, trace_now};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (size_t cut = 1; cut < strlen(texts[i]); cut += strlen(texts[i]) / 7 + 1) {
      char *text = strndup(texts[i], cut);
      put("cut", text);
      pto_ptosim_run("import %s -o %s", pto_ptosim_path("cut"), pto_ptosim_path("no.json"));
      pto_ptosim_assert_complaint(2, "cut: line ");
      free(text);
    }
  assert_refused("{}", NULL, "is no capture");
  assert_refused("{\"format\":\"x\"}", NULL, "no file of the existing runtime");
  assert_refused("task,core_tid,x\na(r0t1),10000\n", NULL, "line 2: 2 columns, and 6 were expected");
  pto_ptosim_run("import /dev/zero -o %s", pto_ptosim_path("no.json"));
  pto_ptosim_assert_complaint(2, "no regular file");
  pto_ptosim_run("import %s", pto_ptosim_path("cut"));
  pto_ptosim_assert_complaint(2, "-o NAME.json is missing");
  pto_ptosim_run("run bgemm -o x");
  pto_ptosim_assert_complaint(2, "there is no option -o");
}

static void test_a_hostile_capture_file_is_refused_with_a_sentence(void **state) {
  static const struct {
    const char *from, *to, *part;
  } changes[] = {{"\"version\":1", "\"version\":2", "version 2, and 1 was expected"},
                 {"\"blocks\":2", "\"blocks\":0", "tasks[2]: \"blocks\" is 0"},
                 {"\"from\":0", "\"from\":9", "edges[0]: from 9 to 2 of 4 tasks"},
                 {"\"buffer\":0", "\"buffer\":7", "tasks[0].accesses[0]: buffer 7 of 3"},
                 {"\"shape\":[64]", "\"shape\":[65]", "reaches beyond buffer 0"},
                 {"\"creator\":0", "\"creator\":8", "buffers[1]: \"creator\" is task 8 of 4"},
                 {"\"end_ns\":11000", "\"end_ns\":10", "spans[0]: ends 990 ns before it begins"},
                 {"\"kernels\":[3,-1,-1]", "\"kernels\":[-1,-1,-1]", "tasks[0]: a task of kind kernel with 0 kernels"},
                 {"\"aic\",\"aiv\"", "null,\"aiv\"", "is on core 0, of which no kind is known"}};
  json_decref(import_as("c.json", deps_now, records_now));
  char *text = pto_ptosim_read_file(pto_ptosim_path("c.json"));
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    put("h.json", changed(text, changes[i].from, changes[i].to));
    pto_ptosim_run("run %s", pto_ptosim_path("h.json"));
    pto_ptosim_assert_complaint(2, changes[i].part);
  }
  free(text);
}

/* ---- diff ---- */

static void test_diff_names_edges_that_only_one_capture_has(void **state) {
  json_decref(import_as("a.json", deps_now, records_now));
  json_decref(import_as("b.json", changed(deps_now, ADD_TO_SUM, HELD), NULL));
  char a[512];
  snprintf(a, sizeof a, "%s", pto_ptosim_path("a.json"));
  assert_int_equal(pto_ptosim_run("diff %s %s", a, pto_ptosim_path("b.json")), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "the edge from task 2 (func_4) to task 3 (func_5) is only in A"));
  assert_int_equal(pto_ptosim_run("diff %s %s", pto_ptosim_path("b.json"), a), 1);
  assert_non_null(strstr(pto_ptosim_last.out, "to task 3 (func_5) is only in B"));
  assert_int_equal(pto_ptosim_run("diff %s %s", a, a), 0);
}

static void test_diff_compares_a_capture_with_a_program(void **state) {
  assert_int_equal(pto_ptosim_run("run vector_example --quiet --deps-json %s", pto_ptosim_path("d")), 0);
  json_t *graph = pto_ptosim_load(pto_ptosim_path("d")), *edge;
  char text[4096] = "{\"edges\":[";
  size_t i;
  json_array_foreach(json_object_get(graph, "edges"), i, edge)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s[%d,%d]", i ? "," : "",
             (int)pto_json_integer(edge, "from"), (int)pto_json_integer(edge, "to"));
  assert_true(strlen(text) + 64 < sizeof text && i > 2);
  char same[4200], fewer[4200];
  snprintf(same, sizeof same, "%s]}", text);
  snprintf(fewer, sizeof fewer, "{\"edges\":[%s]}", strstr(text, "],[") + 2); /* without the first */
  json_decref(import_as("a.json", same, NULL));
  assert_int_equal(pto_ptosim_run("diff %s vector_example", pto_ptosim_path("a.json")), 0);
  json_decref(import_as("a.json", fewer, NULL));
  assert_int_equal(pto_ptosim_run("diff %s vector_example --json -", pto_ptosim_path("a.json")), 1);
  json_t *result = pto_ptosim_parse(pto_ptosim_last.out);
  assert_int_equal(pto_json_integer(result, "edges_only_a"), 0);
  assert_int_equal(pto_json_integer(result, "edges_only_b"), 1);
  json_decref(result);
  json_decref(graph);
}

/* ---- the published table ---- */

static void test_the_published_table_is_replayed_as_recorded(void **state) {
  const char *folder = getenv("PTO_HW_DATA");
  if (!folder || !*folder) {
    puts("PTO_HW_DATA is not set: the published table is not read");
    skip();
  }
  const int code =
      pto_ptosim_run("import %s/block_table_swimlane.csv -o %s --json -", folder, pto_ptosim_path("hw.json"));
  if (code) fail_msg("exit %d: %s", code, pto_ptosim_last.err);
  json_t *said = pto_ptosim_parse(pto_ptosim_last.out);
  const json_int_t end = pto_json_integer(said, "end_ns");
  assert_said(said, 32, 0, 32, 0);
  json_t *result = run("hw.json", PLAIN);
  assert_int_equal(pto_json_integer(result, "tasks"), 32);
  /* Waits within the recorded run are our own; they make less than 2 % of it. */
  const double us = json_number_value(json_object_get(result, "virtual_us"));
  assert_true(us * 1000 > (double)end * 0.98 && us * 1000 < (double)end * 1.02);
  json_decref(result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form_of_dependencies_gives_the_same_edges),
      cmocka_unit_test(test_every_form_of_times_gives_the_same_times),
      cmocka_unit_test(test_a_capture_is_read_as_it_was_written),
      cmocka_unit_test(test_replay_by_edges_keeps_durations_and_order),
      cmocka_unit_test(test_captured_times_are_measured),
      cmocka_unit_test(test_replay_by_accesses_finds_what_the_rules_find),
      cmocka_unit_test(test_replay_as_recorded_keeps_cores_and_releases),
      cmocka_unit_test(test_every_verb_that_takes_a_program_takes_a_capture),
      cmocka_unit_test(test_what_does_it_again_is_of_the_captured_chip),
      cmocka_unit_test(test_check_names_an_edge_that_was_not_captured),
      cmocka_unit_test(test_an_edge_that_only_holds_memory_orders_nothing),
      cmocka_unit_test(test_a_task_without_kernels_keeps_what_it_touches),
      cmocka_unit_test(test_calls_of_the_orchestrator_are_kept_and_replayed),
      cmocka_unit_test(test_what_was_not_captured_cannot_be_replayed),
      cmocka_unit_test(test_impossible_captures_are_refused_by_record),
      cmocka_unit_test(test_cut_captures_are_refused_with_a_sentence),
      cmocka_unit_test(test_a_hostile_capture_file_is_refused_with_a_sentence),
      cmocka_unit_test(test_diff_names_edges_that_only_one_capture_has),
      cmocka_unit_test(test_diff_compares_a_capture_with_a_program),
      cmocka_unit_test(test_the_published_table_is_replayed_as_recorded),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
