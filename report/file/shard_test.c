/* SPDX-License-Identifier: MIT */
/* Shards: which items are whose, by option and by launcher, and lines that are read back or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <report/file/shard.h>
#include <runtime/base/base.h>

/* ---- which items ---- */

static void test_every_item_is_in_one_shard_and_shards_differ_by_one_item_at_most(void **state) {
  for (uint32_t count = 1; count <= 9; count++)
    for (uint64_t items = 0; items <= 40; items++) {
      uint64_t sum = 0, least = items, most = 0;
      for (uint32_t number = 1; number <= count; number++) {
        const struct pto_shard shard = {.number = number, .count = count};
        uint64_t mine = 0;
        for (uint64_t i = 0; i < items; i++) mine += pto_shard_has(&shard, i);
        assert_int_equal(mine, pto_shard_size(&shard, items));
        sum += mine;
        least = pto_min_u64(least, mine);
        most = pto_max_u64(most, mine);
      }
      assert_int_equal(sum, items);
      assert_true(most - least <= 1);
      for (uint64_t i = 0; i < items; i++) {
        uint32_t owners = 0;
        for (uint32_t number = 1; number <= count; number++)
          owners += pto_shard_has(&(struct pto_shard){.number = number, .count = count}, i);
        assert_int_equal(owners, 1);
      }
    }
}

static void test_what_is_no_share_is_refused_with_what_was_given(void **state) {
  static const char *const bad[] = {"",
                                    "1",
                                    "/",
                                    "1/",
                                    "/2",
                                    "0/2",
                                    "3/2",
                                    "-1/2",
                                    "1/-2",
                                    "1 /2",
                                    "1/2x",
                                    "1/2/3",
                                    "99999999999/99999999999",
                                    "1/1000001"};
  struct pto_shard shard = {.number = 7, .count = 9};
  struct pto_error error;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(bad); i++) {
    char quoted[64];
    assert_int_equal(pto_shard_parse(bad[i], &shard, &error), PTO_EINVAL);
    snprintf(quoted, sizeof quoted, "\"%s\"", bad[i]);
    assert_non_null(strstr(error.sentence, quoted));
    assert_int_equal(shard.count, 9);
  }
  assert_int_equal(pto_shard_parse("2/8", &shard, &error), PTO_OK);
  assert_int_equal(shard.number, 2);
  assert_int_equal(shard.count, 8);
}

/* ---- launchers ---- */

static const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "SLURM_PROCID",
                                        "SLURM_NTASKS",
                                        "SLURM_ARRAY_TASK_ID",
                                        "SLURM_ARRAY_TASK_COUNT",
                                        "SLURM_ARRAY_TASK_MIN",
                                        "SLURM_ARRAY_TASK_STEP"};

/* "A=1 B=2" and nothing else of the list. */
static int ask(const char *words, struct pto_shard *shard, struct pto_error *error) {
  char text[256], *rest = text;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(variables); i++) unsetenv(variables[i]);
  snprintf(text, sizeof text, "%s", words);
  for (char *word; (word = strsep(&rest, " ")) != NULL;) {
    char *value = strchr(word, '=');
    if (!value) continue;
    *value = '\0';
    setenv(word, value + 1, 1);
  }
  const int status = pto_shard_from_environment(shard, error);
  pto_shard_clear_environment();
  struct pto_shard none;
  struct pto_error reason;
  assert_int_equal(pto_shard_from_environment(&none, &reason), PTO_OK);
  assert_int_equal(none.count, 0);
  return status;
}

static void test_each_launcher_says_the_share(void **state) {
  static const struct {
    const char *words;
    uint32_t number, count;
    const char *from;
  } rows[] = {
      {"", 0, 0, ""},
      {"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4", 1, 4, "OMPI_COMM_WORLD_RANK"},
      {"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4", 4, 4, "OMPI_COMM_WORLD_RANK"},
      {"PMI_RANK=1 PMI_SIZE=2", 2, 2, "PMI_RANK"},
      {"SLURM_PROCID=2 SLURM_NTASKS=3", 3, 3, "SLURM_PROCID"},
      {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 SLURM_PROCID=0 SLURM_NTASKS=2", 2, 2, "OMPI_COMM_WORLD_RANK"},
      {"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=0", 1, 8, "SLURM_ARRAY_TASK_ID"},
      {"SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=1", 8, 8, "SLURM_ARRAY_TASK_ID"},
      {"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=4", 3, 3,
       "SLURM_ARRAY_TASK_ID"},
      {"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=1 SLURM_PROCID=1 SLURM_NTASKS=3", 5, 6,
       "SLURM_ARRAY_TASK_ID and SLURM_PROCID"},
      {"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=1 SLURM_PROCID=0 SLURM_NTASKS=1", 2, 2,
       "SLURM_ARRAY_TASK_ID"},
      {"SLURM_PROCID=0 SLURM_NTASKS=1", 0, 0, ""},
      {"OMPI_COMM_WORLD_SIZE=4", 0, 0, ""},
      {"SLURM_NTASKS=4", 0, 0, ""},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    struct pto_shard shard;
    struct pto_error error;
    if (ask(rows[i].words, &shard, &error) != PTO_OK) fail_msg("%s: %s", rows[i].words, error.sentence);
    assert_int_equal(shard.number, rows[i].number);
    assert_int_equal(shard.count, rows[i].count);
    assert_string_equal(shard.from, rows[i].from);
  }
}

static void test_variables_that_make_no_sense_are_named_with_their_values(void **state) {
  static const char *const rows[][2] = {
      {"OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=4 and OMPI_COMM_WORLD_SIZE=4"},
      {"PMI_RANK=x PMI_SIZE=4", "PMI_RANK=x"},
      {"SLURM_PROCID=-1 SLURM_NTASKS=4", "SLURM_PROCID=-1"},
      {"SLURM_PROCID=0 SLURM_NTASKS=", "SLURM_NTASKS="},
      {"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1", "SLURM_ARRAY_TASK_ID=7"},
      {"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=2", "SLURM_ARRAY_TASK_ID=1"},
      {"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=1000000 SLURM_PROCID=0 SLURM_NTASKS=2", "2000000 shares"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    struct pto_shard shard;
    struct pto_error error;
    assert_int_equal(ask(rows[i][0], &shard, &error), PTO_EINVAL);
    if (!strstr(error.sentence, rows[i][1])) fail_msg("%s: %s", rows[i][0], error.sentence);
    assert_int_equal(shard.count, 0);
  }
}

/* ---- lines ---- */

static char folder[] = "/tmp/pto-shards-XXXXXX";

static const char *path_of(int i) {
  static char paths[4][64];
  snprintf(paths[i % 4], sizeof paths[0], "%s/%d", folder, i);
  return paths[i % 4];
}

static void write_shard(int file, uint32_t number, uint32_t count, uint64_t items, uint64_t digest, const char *word) {
  struct pto_share share = {.shard = {.number = number, .count = count}, .path = path_of(file)};
  json_t *command = json_pack("[s, s]", "verb", word);
  const struct pto_share_list list = {"ptosim", command, items, digest};
  struct pto_error error;
  assert_int_equal(pto_share_begin(&share, &list, &error), PTO_OK);
  for (uint64_t i = 0; i < items; i++)
    if (pto_share_has(&share, i))
      pto_share_put(
          &share, i, (double)i / 2,
          json_pack("{s:I, s:o}", "square", (json_int_t)(i * i), "text", pto_shard_text("a \"quoted\"\n\\ text")));
  assert_int_equal(pto_share_end(&share, &error), PTO_OK);
  json_decref(command);
}

static int read_files(int count, struct pto_shard_lines *lines, struct pto_error *error) {
  const char *paths[4];
  for (int i = 0; i < count; i++) paths[i] = path_of(i);
  return pto_shard_lines_read(paths, (size_t)count, lines, error);
}

/* Files 0 … count − 1 are refused with a sentence that has `part`. */
static void refuses(int count, const char *part) {
  struct pto_shard_lines lines;
  struct pto_error error;
  assert_int_equal(read_files(count, &lines, &error), PTO_EINVAL);
  if (!strstr(error.sentence, part)) fail_msg("no \"%s\" in \"%s\"", part, error.sentence);
  pto_shard_lines_fini(&lines);
}

static void test_lines_are_read_back_whatever_the_order_of_files(void **state) {
  struct pto_shard_lines lines;
  struct pto_error error;
  write_shard(0, 3, 3, 10, 0xfedcba9876543210, "x");
  write_shard(1, 1, 3, 10, 0xfedcba9876543210, "x");
  write_shard(2, 2, 3, 10, 0xfedcba9876543210, "x");
  if (read_files(3, &lines, &error)) fail_msg("%s", error.sentence);
  struct pto_share share = {.lines = &lines};
  const struct pto_share_list same = {"ptosim", lines.command, 10, 0xfedcba9876543210};
  const struct pto_share_list fewer = {"ptosim", lines.command, 9, 0xfedcba9876543210};
  const struct pto_share_list other = {"ptosim", lines.command, 10, 1};
  assert_int_equal(pto_share_begin(&share, &same, &error), PTO_OK);
  for (uint64_t i = 0; i < 10; i++) {
    double seconds;
    json_t *result = pto_share_result(&share, i, &seconds);
    assert_true(pto_share_has(&share, i));
    assert_int_equal(json_integer_value(json_object_get(result, "square")), i * i);
    assert_string_equal(json_string_value(json_object_get(result, "text")), "a \"quoted\"\n\\ text");
    assert_true(seconds == (double)i / 2);
  }
  assert_int_equal(pto_share_begin(&share, &fewer, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "of a list of 10 items, and now it has 9"));
  assert_int_equal(pto_share_begin(&share, &other, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "fedcba9876543210"));
  pto_shard_lines_fini(&lines);
}

static void test_shards_that_do_not_make_one_list_are_refused(void **state) {
  write_shard(0, 1, 2, 6, 5, "x");
  refuses(1, "item 1 of 6 is missing: no file has shard 2/2");
  write_shard(1, 1, 2, 6, 5, "x");
  refuses(2, "shard 1/2 is there twice");
  write_shard(1, 2, 3, 6, 5, "x");
  refuses(2, "of shards 3, and");
  write_shard(1, 2, 2, 7, 5, "x");
  refuses(2, "of a list with items 7, and");
  write_shard(1, 2, 2, 6, 6, "x");
  refuses(2, "of a list \"0000000000000006\", and");
  write_shard(1, 2, 2, 6, 5, "y");
  refuses(2, "of ptosim verb y, and");
}

static void write_text(int file, const char *text) {
  FILE *out = fopen(path_of(file), "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
}

#define HEAD(shard)                                                                                                    \
  "{\"format\":\"pto-shard\",\"version\":1,\"shard\":" shard ",\"of\":2,\"program\":\"p\",\"build\":\"b\","            \
  "\"command\":[\"v\"],\"from\":null,\"items\":4,\"list\":\"0\"}\n"
#define ITEM(shard, item)                                                                                              \
  "{\"format\":\"pto-shard\",\"version\":1,\"shard\":" shard ",\"of\":2,\"item\":" item                                \
  ",\"seconds\":null,\"result\":{}}\n"

static void test_lines_that_are_none_are_refused_with_file_and_line(void **state) {
  struct pto_shard_lines lines;
  struct pto_error error;
  write_text(0, HEAD("1") ITEM("1", "0") HEAD("2") ITEM("2", "3") ITEM("1", "2") ITEM("2", "1"));
  assert_int_equal(read_files(1, &lines, &error), PTO_OK); /* as mpirun mixes them */
  pto_shard_lines_fini(&lines);
  write_text(0, HEAD("1") ITEM("1", "0"));
  refuses(1, "item 1 of 4 is missing: no file has shard 2/2");
  write_text(0, HEAD("1") ITEM("1", "0") HEAD("2") ITEM("2", "3") ITEM("2", "1"));
  refuses(1, "item 2 of 4 is missing: shard 1/2 of ");
  write_text(0, HEAD("1") ITEM("1", "0") HEAD("2") ITEM("2", "3") ITEM("1", "2") ITEM("2", "1") ITEM("2", "1"));
  refuses(1, "item 1 is there twice: ");
  write_text(0, HEAD("1") ITEM("1", "0") ITEM("1", "1"));
  refuses(1, "line 3: item 1 is none of shard 1/2");
  write_text(0, HEAD("1") ITEM("1", "0") ITEM("1", "2") HEAD("2") ITEM("2", "1") ITEM("2", "3") ITEM("1", "4"));
  refuses(1, "line 7: item 4, and the list has 4");
  write_text(0, HEAD("1") "mpirun: a warning\n");
  refuses(1, "line 2 is none of a shard");
  write_text(0, "{\"format\":\"pto-run\",\"version\":1}\n");
  refuses(1, "its format is \"pto-run\"");
  write_text(0, "");
  refuses(1, "no line says which list");
  write_text(0, ITEM("1", "0"));
  refuses(1, "no line says which list");
  unlink(path_of(0));
  assert_int_equal(read_files(1, &lines, &error), PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "No such file"));
  pto_shard_lines_fini(&lines);
}

static void test_a_line_cut_short_or_changed_crashes_nothing(void **state) {
  static const char whole[] = HEAD("1") ITEM("1", "0") ITEM("1", "2") HEAD("2") ITEM("2", "1") ITEM("2", "3");
  for (size_t i = 0; i < sizeof whole - 1; i++) {
    char text[sizeof whole];
    struct pto_shard_lines lines;
    struct pto_error error;
    memcpy(text, whole, sizeof whole);
    text[i] = '\0';
    write_text(0, text);
    if (read_files(1, &lines, &error) == PTO_OK) assert_int_equal(i, sizeof whole - 2); /* without its last newline */
    pto_shard_lines_fini(&lines);
    memcpy(text, whole, sizeof whole);
    text[i] = text[i] == '1' ? '9' : '1';
    write_text(0, text);
    if (read_files(1, &lines, &error) == PTO_OK) assert_int_equal(lines.item_count, lines.items);
    pto_shard_lines_fini(&lines);
  }
}

static int make_folder(void **state) { return mkdtemp(folder) == NULL; }
static int remove_folder(void **state) {
  for (int i = 0; i < 4; i++) unlink(path_of(i));
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_item_is_in_one_shard_and_shards_differ_by_one_item_at_most),
      cmocka_unit_test(test_what_is_no_share_is_refused_with_what_was_given),
      cmocka_unit_test(test_each_launcher_says_the_share),
      cmocka_unit_test(test_variables_that_make_no_sense_are_named_with_their_values),
      cmocka_unit_test(test_lines_are_read_back_whatever_the_order_of_files),
      cmocka_unit_test(test_shards_that_do_not_make_one_list_are_refused),
      cmocka_unit_test(test_lines_that_are_none_are_refused_with_file_and_line),
      cmocka_unit_test(test_a_line_cut_short_or_changed_crashes_nothing),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
