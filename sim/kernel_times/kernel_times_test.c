/* SPDX-License-Identifier: MIT */
/* Tables as files, what they say of a key, stages by hand, and that calls that are alike are asked once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/kernel_times/call_times.h>

#include <stdlib.h>
#include <string.h>

#include <tests/support/failing_malloc.h>

#include <unistd.h>

#define HEAD "kernel,core,key,count,mean_ps,p10_ps,p90_ps,active_cores,source,commit,date\n"

static char path[] = "/tmp/pto_kernel_times_XXXXXX";
static struct pto_error error;

static int make_path(void **state) {
  const int file = mkstemp(path);
  return file < 0 ? -1 : close(file);
}
static int remove_path(void **state) { return unlink(path); }

static void write_text(const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void load(struct pto_kernel_table *table, const char *rows) {
  char text[4096];
  snprintf(text, sizeof text, "%s%s", HEAD, rows);
  write_text(text);
  if (pto_kernel_table_load(path, table, &error) != PTO_OK) fail_msg("%s", error.sentence);
}

/* ---- files ---- */

static void test_a_table_is_written_as_it_was_read(void **state) {
  const char rows[] = "a,AIC,16x128 bf16 n4,9,1000,800,1300,24,a report,abc1,2026-03\n"
                      "a,AIV,16x128,0,7,0,0,0,the same,,2026\n"
                      "b,MIX,n,0,5,0,0,0,,,\n";
  char read[sizeof HEAD + sizeof rows] = "";
  struct pto_kernel_table table = {0};
  load(&table, rows);
  assert_int_equal(table.count, 3);
  assert_string_equal(table.rows[0].key, "16x128 bf16 n4");
  assert_int_equal(table.rows[0].p90_ps, 1300);
  assert_int_equal(table.rows[0].active_cores, 24);
  FILE *file = fopen(path, "w+");
  assert_non_null(file);
  assert_int_equal(pto_kernel_table_write(&table, file), PTO_OK);
  rewind(file);
  assert_int_equal(fread(read, 1, sizeof read - 1, file), strlen(HEAD) + strlen(rows));
  assert_memory_equal(read, HEAD, strlen(HEAD));
  assert_string_equal(read + strlen(HEAD), rows);
  assert_int_equal(fclose(file), 0);
  pto_kernel_table_free(&table);
}

static void test_rows_are_kept_in_order_and_replaced(void **state) {
  struct pto_kernel_table table = {0};
  struct pto_kernel_row row = {.kernel = "b", .core = "AIC", .key = "n1", .mean_ps = 1};
  assert_true(pto_kernel_table_add(&table, &row));
  memcpy(row.kernel, "a", 2);
  assert_true(pto_kernel_table_add(&table, &row));
  memcpy(row.key, "n0", 3);
  row.mean_ps = 2;
  assert_true(pto_kernel_table_add(&table, &row));
  row.mean_ps = 3;
  assert_true(pto_kernel_table_add(&table, &row));
  assert_int_equal(table.count, 3);
  assert_string_equal(table.rows[0].key, "n0");
  assert_int_equal(table.rows[0].mean_ps, 3);
  assert_string_equal(table.rows[2].kernel, "b");
  memcpy(row.source, "a,b", 4);
  assert_true(pto_kernel_table_add(&table, &row));
  assert_int_equal(pto_kernel_table_write(&table, stdout), PTO_EINVAL);
  pto_kernel_table_free(&table);
}

static void test_a_fault_is_told_with_its_line(void **state) {
  static const struct {
    const char *text, *sentence;
  } faults[] = {
      {"", "line 1: the columns are not"},
      {"kernel,core\n", "line 1: the columns are not"},
      {HEAD "a,AIC,n1,1,5,0,0,0,,\n", "line 2: too few fields"},
      {HEAD "a,AIC,n1,1,5,0,0,0,,,,\n", "line 2: more fields than columns"},
      {HEAD "\na,AIC,n1,1,5x,0,0,0,,,\n", "line 3: mean_ps is no whole number of 0 to 1000000000000: 5x"},
      {HEAD "a,AIC,n1,1,0,0,0,0,,,\n", "line 2: mean_ps is 0"},
      {HEAD "a,AIC,n1,1,5,0,0,4000,,,\n", "line 2: active_cores is no whole number of 0 to 3072: 4000"},
      {HEAD "a,AI,n1,1,5,0,0,0,,,\n", "line 2: core is neither AIC, AIV nor MIX"},
      {HEAD "a,AIC,N1,1,5,0,0,0,,,\n", "line 2: key has more than words"},
      {HEAD "a,AIC,,1,5,0,0,0,,,\n", "line 2: key has more than words"},
      {HEAD "a,AIC,n1  n2,1,5,0,0,0,,,\n", "line 2: key has more than words"},
      {HEAD "a,AIC,n1 ,1,5,0,0,0,,,\n", "line 2: key has more than words"},
      {HEAD "a,AIC, n1,1,5,0,0,0,,,\n", "line 2: key has more than words"},
      {HEAD "a,AIC,n1,1,5,0,0,0,,", "line 2: too few fields"}, /* the last line has no end */
      {"kernel,core,key,count,mean_ps,p10_ps,p90_ps,active_cores,source,commit,dat_\n", "line 1: the columns are not"},
      {HEAD "a_kernel_whose_name_is_longer_than_any_name_of_a_kernel_that_a_table_has_room_for_in_its_"
            "first_column,AIC,n1,1,5,0,0,0,,,\n",
       "line 2: kernel has more than"},
      {HEAD "a,AIC,n1,1,,0,0,0,,,\n", "line 2: mean_ps is no whole number of 0 to 1000000000000"},
      {HEAD "a,AIC,n1,1,99999999999999999999999,0,0,0,,,\n",
       "line 2: mean_ps is no whole number of 0 to 1000000000000: 99"},
      {HEAD ",AIC,n1,1,5,0,0,0,,,\n", "line 2: kernel is empty"},
      {HEAD "a,AIC,n1,1,5,0,0,0,\"b\",,\n", "line 2: source has more than 111 characters, or a quote: \"b\""},
      {HEAD "a,AIC,n1,1,5,0,0,0,,,\na,AIC,n1,1,6,0,0,0,,,\n", "line 3: is there twice: n1"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(faults); i++) {
    struct pto_kernel_table table = {0};
    write_text(faults[i].text);
    assert_int_equal(pto_kernel_table_load(path, &table, &error), PTO_EINVAL);
    if (!strstr(error.sentence, faults[i].sentence)) fail_msg("%s\nis not: %s", error.sentence, faults[i].sentence);
    assert_null(table.rows);
  }
  struct pto_kernel_table table = {0};
  assert_int_equal(pto_kernel_table_load("/tmp/no such table", &table, &error), PTO_ESYSTEM);
  assert_int_equal(pto_kernel_table_load("/tmp", &table, &error), PTO_ESYSTEM);
  assert_string_equal(error.sentence, "/tmp: cannot be read");
}

static void test_line_ends_of_any_kind_are_read_and_no_memory_is_told(void **state) {
  static char large[200000];
  struct pto_kernel_table table = {0};
  write_text("kernel,core,key,count,mean_ps,p10_ps,p90_ps,active_cores,source,commit,date\r\n"
             "a,AIC,n1,1,5,0,0,0,,,\r\n\r\na,AIC,n2,1,6,0,0,0,,,");
  assert_int_equal(pto_kernel_table_load(path, &table, &error), PTO_OK);
  assert_int_equal(table.count, 2);
  assert_int_equal(table.rows[1].mean_ps, 6);
  table.rows[0].mean_ps = 0; /* which no file may say */
  assert_int_equal(pto_kernel_table_write(&table, stdout), PTO_EINVAL);
  pto_kernel_table_free(&table);
  size_t used = (size_t)snprintf(large, sizeof large, "%s", HEAD);
  for (uint32_t i = 0; used + 64 < sizeof large; i++)
    used += (size_t)snprintf(large + used, sizeof large - used, "a,AIC,n%u,1,5,0,0,0,,,\n", i);
  write_text(large);
  if (!PTO_HAS_FAILING_MALLOC) skip();
  uint32_t told[2] = {0};
  const int64_t live_before = live_blocks;
  for (uint32_t n = 1; n < 30; n++) { /* a stream does without its buffer */
    fail_countdown = n;
    const int status = pto_kernel_table_load(path, &table, &error);
    fail_countdown = 0;
    told[status == PTO_ENOMEM] += status != PTO_OK;
    if (status != PTO_OK) assert_null(table.rows);
    pto_kernel_table_free(&table);
  }
  assert_int_equal(live_blocks, live_before);
  if (told[0] < 2 || told[1] < 2) fail_msg("%u of the text, %u of rows", told[0], told[1]);
}

static void test_the_shipped_tables_load(void **state) {
  struct pto_kernel_table_file file;
  uint32_t count = 0;
  for (; pto_kernel_table_file_at(count, &file); count++) {
    struct pto_kernel_table table = {0};
    if (pto_kernel_table_load(file.name, &table, &error) != PTO_OK) fail_msg("%s", error.sentence);
    assert_true(table.count > 0);
    for (uint32_t i = 0; i < table.count; i++) assert_true(table.rows[i].source[0] && table.rows[i].date[0]);
    pto_kernel_table_free(&table);
  }
  assert_true(count > 0);
}

/* ---- looking up ---- */

static void expect(const struct pto_kernel_table *table, const char *kernel, uint32_t kind, const char *key,
                   enum pto_origin origin, uint64_t ps, uint32_t cores) {
  const struct pto_kernel_found found = pto_kernel_table_find(table, kernel, kind, key);
  if (found.origin != origin || (origin != PTO_ORIGIN_ASSUMED && (found.ps != ps || found.active_cores != cores)))
    fail_msg("%s %s: %d, %llu ps, %u cores", kernel, key, (int)found.origin, (unsigned long long)found.ps,
             found.active_cores);
}

static void test_a_key_is_found_or_lies_between_two(void **state) {
  char long_word[256];
  memset(long_word, 'x', sizeof long_word - 1);
  long_word[sizeof long_word - 1] = '\0';
  struct pto_kernel_table table = {0};
  load(&table,
       "a,AIC,16x128 bf16 n4,0,1000,0,0,24,,,\na,AIC,16x128 bf16 n10,0,1601,0,0,24,,,\n"
       "a,AIC,16x128 bf16 n100,0,100,0,0,12,,,\na,AIC,32x128 bf16 n4,0,5000,0,0,1,,,\n"
       "a,AIC,16x128 f32 n4,0,9000,0,0,1,,,\na,AIC,16x128 f64 n4,0,9000,0,0,1,,,\na,AIV,16x128 n4,0,77,0,0,2,,,\n"
       "b,MIX,n1,0,5,0,0,0,,,\n");
  expect(&table, "a", PTO_AIC, "16x128 bf16 n4", PTO_ORIGIN_MEASURED, 1000, 24);
  expect(&table, "a", PTO_AIC, "16x128 bf16 n7", PTO_ORIGIN_INTERPOLATED, 1301, 24); /* 1300.5, up */
  expect(&table, "a", PTO_AIC, "16x128 bf16 n55", PTO_ORIGIN_INTERPOLATED, 851, 0);  /* falling; other cores */
  expect(&table, "a", PTO_AIC, "24x128 bf16 n4", PTO_ORIGIN_INTERPOLATED, 3000, 0);
  /* beyond all rows, or other in two numbers, in a word, in a dtype */
  expect(&table, "a", PTO_AIC, "16x128 bf16 n3", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "a", PTO_AIC, "16x128 bf16 n101", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "a", PTO_AIC, "24x128 bf16 n5", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "a", PTO_AIC, "16x128 bf16 m7", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "a", PTO_AIC, "16x128 f40 n4", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "a", PTO_AIC, "16x128 bf16 n7 last", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "a", PTO_AIV, "16x128 n4", PTO_ORIGIN_MEASURED, 77, 2);
  expect(&table, "a", PTO_AIC, "16x128 bf16 n", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "a", PTO_AIC, "16x128 bf16 n4x1", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "a", PTO_AIC, "16x128 bf16 n4000000000000000000", PTO_ORIGIN_ASSUMED, 0, 0); /* a word */
  expect(&table, "a", PTO_AIC, long_word, PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, long_word, PTO_AIC, "n1", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "c", PTO_AIC, "16x128 bf16 n4", PTO_ORIGIN_ASSUMED, 0, 0);
  expect(&table, "b", PTO_AIC, "n1", PTO_ORIGIN_MEASURED, 5, 0);
  expect(&table, "b", PTO_AIV, "n1", PTO_ORIGIN_MEASURED, 5, 0);
  pto_kernel_table_free(&table);
}

/* ---- stages ---- */

/* A byte a picosecond is 10⁶ MB/s. */
static struct pto_chip a_chip(void) {
  return (struct pto_chip){.name = "hand",
                           .cluster_count = 1,
                           .aic_clock_khz = 1000000000,
                           .aiv_clock_khz = 1000000000,
                           .cube_macs_per_cycle = 2,
                           .cube_macs_per_cycle_16bit = 8,
                           .cube_macs_per_cycle_8bit = 16,
                           .vector_elems_per_cycle = 1,
                           .vector_elems_per_cycle_16bit = 2,
                           .vector_elems_per_cycle_8bit = 4,
                           .core_bandwidth_mbps = 1000000,
                           .chip_bandwidth_mbps = 2000000,
                           .fifo_bandwidth_mbps = 1,
                           .has_stages = 1,
                           .stages = {.start_ps = 1000,
                                      .trip_ps = 100,
                                      .gm_to_l1_mbps = 2000000,
                                      .l1_to_l0a_mbps = 4000000,
                                      .l1_to_l0b_mbps = 500000,
                                      .l0c_to_gm_mbps = 100000,
                                      .gm_to_ub_mbps = 1000000,
                                      .ub_to_gm_mbps = 500000,
                                      .cube_percent = 50}};
}

static struct pto_timing_load stages_of(struct pto_cost cost, uint32_t kind) {
  const struct pto_chip chip = a_chip();
  struct pto_timing timing;
  pto_timing_init(&timing, &chip);
  return pto_stages_load(&chip.stages, &timing, &cost, kind);
}

static void expect_load(struct pto_cost cost, uint32_t kind, uint64_t beside, uint64_t serial) {
  const struct pto_timing_load load = stages_of(cost, kind);
  assert_int_equal(load.bytes, cost.bytes_in + cost.bytes_out);
  assert_int_equal(load.compute_ps, beside);
  assert_int_equal(load.serial_ps, serial);
}

static void test_stages_by_hand(void **state) {
  /* a vector core loads 600 bytes in 600 ps and stores 100 in 200, and computes after that: 50 elements */
  expect_load((struct pto_cost){.bytes_in = 600, .bytes_out = 100, .vector_elems = 50}, PTO_AIV, 800, 1000 + 200 + 50);
  expect_load((struct pto_cost){.bytes_in = 600, .vector_elems = 50, .trips = 7}, PTO_AIV, 600, 1000 + 700 + 50);
  expect_load((struct pto_cost){.vector_elems = 50}, PTO_AIV, 0, 50); /* moves nothing */
  /* a cube core does all of that at once; the longest decides: 600 bytes from global memory, */
  expect_load((struct pto_cost){.bytes_in = 600, .vector_elems = 50}, PTO_AIC, 300, 1100);
  /* 100 into it, */
  expect_load((struct pto_cost){.bytes_in = 600, .bytes_out = 100}, PTO_AIC, 1000, 1200);
  /* 400 to L0A, 900 to L0B, */
  expect_load((struct pto_cost){.multiply_adds = 1, .l0a_bytes = 4400, .l0b_bytes = 5}, PTO_AIC, 1100, 0);
  expect_load((struct pto_cost){.multiply_adds = 1, .l0a_bytes = 400, .l0b_bytes = 900}, PTO_AIC, 1800, 0);
  expect_load((struct pto_cost){.multiply_adds = 1, .l0b_bytes = 900}, PTO_AIC, 1800, 0);
  /* or the cube: 8000 multiply-adds in f32 at half of 2 a ps, in bf16 of 8 */
  expect_load((struct pto_cost){.multiply_adds = 8000, .l0a_bytes = 1}, PTO_AIC, 8000, 0);
  expect_load((struct pto_cost){.multiply_adds = 8000, .l0a_bytes = 1, .dtype = PTO_BFLOAT16}, PTO_AIC, 2000, 0);
  /* which says no bytes to L0: 2 a multiply-add over 128 to L0B, a 500th of them a ps */
  expect_load((struct pto_cost){.multiply_adds = 1280000, .dtype = PTO_FLOAT16}, PTO_AIC, 320000, 0);
  /* what is no dtype counts as f32: 320000 bytes to L0B, and the cube in 4 ps a multiply-add and a half */
  expect_load((struct pto_cost){.multiply_adds = 1280000, .dtype = PTO_DTYPE_COUNT}, PTO_AIC, 1280000, 0);
  /* a vector core has no cube */
  expect_load((struct pto_cost){.multiply_adds = 30, .vector_elems = 20}, PTO_AIV, 0, 50);
}

/* ---- calls ---- */

static uint32_t keys_asked;

static int shape_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  keys_asked++;
  return snprintf(text, size, "n%llu", (unsigned long long)args->tensors[0].shape[0]);
}
static int long_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  return snprintf(text, size, "n%0200u", args->tensor_count);
}

static void test_each_call_has_its_origin_and_is_asked_once(void **state) {
  struct pto_kernel_table table = {0};
  load(&table, "a,AIV,n10,0,5000,0,0,3,,,\na,AIV,n30,0,7000,0,0,3,,,\nlong,AIV,n0,0,7000,0,0,3,,,\n");
  pto_kernel_table_free(&table);
  struct pto_chip chip = a_chip();
  memcpy(chip.kernel_times, path, sizeof path);
  struct pto_timing timing;
  struct pto_call_times times;
  const struct pto_kernel a = {.name = "a", .cores = PTO_AIV, .key = shape_key},
                          other = {.name = "long", .cores = PTO_AIV, .key = long_key},
                          bare = {.name = "a", .cores = PTO_AIV};
  const struct pto_core core = {.kind = PTO_AIV, .block_count = 1};
  uint64_t shape = 10, stride = 1;
  const struct pto_kernel_tensor tensor = {.shape = &shape, .strides = &stride, .ndims = 1};
  const struct pto_kernel_args args = {.tensors = &tensor, .core = &core, .tensor_count = 1};
  struct pto_cost cost = {.bytes_in = 40};
  pto_timing_init(&timing, &chip);
  assert_int_equal(pto_call_times_init(&times, &chip, &timing, &error), PTO_OK);
  keys_asked = 0;
  for (int i = 0; i < 3; i++) {
    const struct pto_call_time time = pto_call_times_find(&times, &a, &args, &cost);
    assert_int_equal(time.origin, PTO_ORIGIN_MEASURED);
    assert_int_equal(time.load.compute_ps, 5000);
    assert_int_equal(time.load.serial_ps, 0);
    assert_int_equal(time.load.bytes, 40);
    assert_int_equal(time.active_cores, 3);
  }
  assert_int_equal(keys_asked, 1);
  shape = 20; /* the same kernel and cost */
  assert_int_equal(pto_call_times_find(&times, &a, &args, &cost).origin, PTO_ORIGIN_INTERPOLATED);
  assert_int_equal(pto_call_times_find(&times, &a, &args, &cost).load.compute_ps, 6000);
  /* the same kernel, cost and shape, and another dtype, number of tensors or of blocks; more than is kept */
  shape = 20;
  static const uint64_t eight[PTO_MAX_DIMS] = {10};
  const struct pto_kernel_tensor half = {.shape = &shape, .strides = &stride, .ndims = 1, .dtype = PTO_FLOAT16};
  const struct pto_core two_blocks = {.kind = PTO_AIV, .block_count = 2};
  struct pto_kernel_tensor many[PTO_MAX_TENSORS];
  for (uint32_t i = 0; i < PTO_MAX_TENSORS; i++)
    many[i] = (struct pto_kernel_tensor){.shape = eight, .strides = eight, .ndims = PTO_MAX_DIMS};
  const struct pto_kernel_args others[] = {{.tensors = &half, .core = &core, .tensor_count = 1},
                                           {.tensors = many, .core = &core, .tensor_count = 2},
                                           {.tensors = &tensor, .core = &two_blocks, .tensor_count = 1},
                                           {.tensors = many, .core = &core, .tensor_count = PTO_MAX_TENSORS}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(others); i++)
    for (int again = 0; again < 2; again++) {
      const uint32_t asked_before = keys_asked;
      (void)pto_call_times_find(&times, &a, &others[i], &cost);
      assert_int_equal(keys_asked - asked_before, again == 0 || i == 3); /* what is too large is asked each time */
    }
  shape = 31;
  assert_int_equal(pto_call_times_find(&times, &a, &args, &cost).origin, PTO_ORIGIN_MODELLED);
  assert_int_equal(pto_call_times_find(&times, &a, &args, &cost).load.serial_ps, 1100);
  shape = 10;
  assert_int_equal(pto_call_times_find(&times, &other, &args, &cost).origin, PTO_ORIGIN_MODELLED);
  assert_int_equal(pto_call_times_find(&times, &bare, &args, &cost).origin, PTO_ORIGIN_MODELLED);
  cost.bytes_in = 50;
  assert_int_equal(pto_call_times_find(&times, &a, &args, &cost).load.bytes, 50);
  const uint32_t asked = keys_asked;
  pto_call_times_reset(&times); /* the kernel may be another one now */
  assert_int_equal(pto_call_times_find(&times, &a, &args, &cost).origin, PTO_ORIGIN_MEASURED);
  assert_int_equal(keys_asked, asked + 1);
  pto_call_times_fini(&times);
  chip.has_stages = 0;
  assert_int_equal(pto_call_times_init(&times, &chip, &timing, &error), PTO_OK);
  shape = 31;
  const struct pto_call_time time = pto_call_times_find(&times, &a, &args, &cost);
  assert_int_equal(time.origin, PTO_ORIGIN_ASSUMED);
  assert_int_equal(time.load.compute_ps, 0);
  pto_call_times_fini(&times);
  if (PTO_HAS_FAILING_MALLOC) { /* the last allocation is that of the places */
    const uint64_t before = allocation_count;
    assert_int_equal(pto_call_times_init(&times, &chip, &timing, &error), PTO_OK);
    fail_countdown = (uint32_t)(allocation_count - before);
    pto_call_times_fini(&times);
    assert_int_equal(pto_call_times_init(&times, &chip, &timing, &error), PTO_ENOMEM);
    fail_countdown = 0;
    assert_non_null(strstr(error.sentence, "no memory for its kernel times"));
    assert_null(times.places);
  }
  chip.kernel_times[0] = '\0';
  assert_int_equal(pto_call_times_init(&times, &chip, &timing, &error), PTO_OK);
  assert_null(times.places);
  memcpy(chip.kernel_times, "/tmp/none.csv", 14);
  assert_int_equal(pto_call_times_init(&times, &chip, &timing, &error), PTO_ESYSTEM);
}

static void test_a_kernel_is_halved_as_often_as_it_is_named(void **state) {
  const struct pto_chip chip = {.half_kernel = "add+mul+add"}, none = {0};
  (void)state;
  assert_int_equal(pto_half_kernel_times(&chip, "add"), 2);
  assert_int_equal(pto_half_kernel_times(&chip, "mul"), 1);
  assert_int_equal(pto_half_kernel_times(&chip, "ad"), 0);
  assert_int_equal(pto_half_kernel_times(&chip, "add+mul"), 0);
  assert_int_equal(pto_half_kernel_times(&none, ""), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_table_is_written_as_it_was_read),
                                     cmocka_unit_test(test_rows_are_kept_in_order_and_replaced),
                                     cmocka_unit_test(test_a_fault_is_told_with_its_line),
                                     cmocka_unit_test(test_line_ends_of_any_kind_are_read_and_no_memory_is_told),
                                     cmocka_unit_test(test_the_shipped_tables_load),
                                     cmocka_unit_test(test_a_key_is_found_or_lies_between_two),
                                     cmocka_unit_test(test_stages_by_hand),
                                     cmocka_unit_test(test_each_call_has_its_origin_and_is_asked_once),
                                     cmocka_unit_test(test_a_kernel_is_halved_as_often_as_it_is_named)};
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
