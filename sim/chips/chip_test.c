/* SPDX-License-Identifier: MIT */
/* Chip files: what the shipped ones say, and that every fault of a file is named with its line, key and value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/chips/chip.h>
#include <sim/chips/chip_files.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tests/support/chip_text.h>

static int load_text(const char *text, size_t size, struct pto_chip *chip, struct pto_error *error, char *path) {
  return load_sheet(text, size, chip, NULL, error, path);
}

static void test_the_shipped_chips_have_the_shapes_of_the_hardware(void **state) {
  static const struct {
    const char *name;
    uint32_t clusters, schedulers;
    uint64_t ub_kib, l1_kib, l0a_kib, l0b_kib, l0c_kib;
  } expected[] = {
      {"tiny", 1, 1, 192, 512, 64, 64, 128},
      {"a2a3", 24, 3, 192, 512, 64, 64, 128},
      {"a2a3-2026-04", 24, 3, 192, 512, 64, 64, 128},
      {"a5", 36, 4, 248, 512, 64, 64, 256},
  };
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(expected); i++) {
    struct pto_chip chip;
    struct pto_error error;
    assert_string_equal(pto_chip_name_at(i), expected[i].name);
    assert_int_equal(pto_chip_load(expected[i].name, &chip, &error), PTO_OK);
    assert_string_equal(chip.name, expected[i].name);
    assert_int_equal(chip.cluster_count, expected[i].clusters);
    assert_int_equal(chip.scheduler_count, expected[i].schedulers);
    assert_int_equal(chip.slots_per_core, 2);
    assert_int_equal(chip.ub_bytes, expected[i].ub_kib << 10);
    assert_int_equal(chip.l1_bytes, expected[i].l1_kib << 10);
    assert_int_equal(chip.l0a_bytes, expected[i].l0a_kib << 10);
    assert_int_equal(chip.l0b_bytes, expected[i].l0b_kib << 10);
    assert_int_equal(chip.l0c_bytes, expected[i].l0c_kib << 10);
  }
  assert_null(pto_chip_name_at(PTO_ARRAY_LENGTH(expected)));
}

/* Guards against a stale object: the build must know that it depends on the files. */
static void test_the_embedded_text_is_that_of_the_file_in_the_tree(void **state) {
  struct pto_chip_file file;
  for (uint32_t i = 0; pto_chip_file_at(i, &file); i++) {
    char path[64], text[TEXT_SIZE];
    snprintf(path, sizeof path, "sim/chips/%s.ini", file.name);
    FILE *stream = fopen(path, "r");
    if (!stream) skip();
    size_t size = fread(text, 1, sizeof text, stream);
    fclose(stream);
    assert_int_equal(size, file.size_bytes);
    assert_memory_equal(text, file.text, size);
  }
}

static void test_a_file_by_path_gives_the_same_chip_as_the_shipped_one(void **state) {
  char text[TEXT_SIZE], path[64];
  struct pto_chip shipped, loaded;
  struct pto_error error;
  shipped_text("a2a3", text);
  assert_int_equal(pto_chip_load("a2a3", &shipped, &error), PTO_OK);
  assert_int_equal(load_text(text, strlen(text), &loaded, &error, path), PTO_OK);
  assert_memory_equal(&shipped, &loaded, sizeof shipped);
}

/* tiny.ini, and the optional keys that are numbers beside those of their section. */
static void full_text(char *text) {
  static const struct {
    const char *section, *lines;
  } optional[] = {{"[rate]\n", "cube_macs_per_cycle_16bit = 1\ncube_macs_per_cycle_8bit = 1\n"
                               "vector_elems_per_cycle_16bit = 1\nvector_elems_per_cycle_8bit = 1\n"},
                  {"[control_ps]\n",
                   "alloc_tensors = 1\nmanual_lookup = 1\nlookup_entry = 1\nfirst_submit = 1\ndispatch_more = 1\n"
                   "loop = 1\nlook = 1\n"
                   "profiling_dispatch = 1\nprofiling_poll = 1\nprofiling_complete = 1\n"},
                  {"[memory]\n", "l2_bytes = 1\n"},
                  {"[fabric]\n", "transfer_start_ps = 1\nlink_percent = 1\n"},
                  {"[rate]\n", "sharing = anew\nl2_core_bandwidth_mbps = 1\nl2_chip_bandwidth_mbps = 1\n"},
                  {"[latency]\n", "pending_start_ps = 1\ncold_start_ps = 1\nhandshake_ps = 1\nprofiling_start_ps = "
                                  "1\nprofiling_pending_ps = 1\n"}};
  shipped_text("tiny", text);
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(optional); i++) {
    char to[1024];
    snprintf(to, sizeof to, "%s%s", optional[i].section, optional[i].lines);
    replace(text, optional[i].section, to);
  }
  /* So that each of these may be 7. */
  replace(text, "dies_per_package = 2", "dies_per_package = 1");
  replace(text, "chips_per_node = 8", "chips_per_node = 7");
  replace(text, "nodes = 8", "nodes = 2");
}

static void test_every_key_of_the_file_reaches_its_field(void **state) {
#define FIELD(name, field)                                                                                             \
  { name, offsetof(struct pto_chip, field), sizeof(((struct pto_chip *)0)->field) }
#define SAME(field) FIELD(#field, field)
  static const struct {
    const char *name;
    size_t offset, size;
  } fields[] = {FIELD("clusters", cluster_count),
                SAME(slots_per_core),
                SAME(ub_bytes),
                SAME(l1_bytes),
                SAME(l0a_bytes),
                SAME(l0b_bytes),
                SAME(l0c_bytes),
                SAME(aic_clock_khz),
                SAME(aiv_clock_khz),
                SAME(cube_macs_per_cycle),
                SAME(vector_elems_per_cycle),
                SAME(cube_macs_per_cycle_16bit),
                SAME(cube_macs_per_cycle_8bit),
                SAME(vector_elems_per_cycle_16bit),
                SAME(vector_elems_per_cycle_8bit),
                SAME(core_bandwidth_mbps),
                SAME(chip_bandwidth_mbps),
                SAME(kernel_start_ps),
                SAME(kernel_end_ps),
                SAME(fifo_bandwidth_mbps),
                SAME(signal_ps),
                SAME(host_latency_ps),
                SAME(host_bandwidth_mbps),
                FIELD("submit", work_ps[PTO_WORK_SUBMIT]),
                FIELD("param", work_ps[PTO_WORK_PARAM]),
                FIELD("lookup", work_ps[PTO_WORK_LOOKUP]),
                FIELD("edge", work_ps[PTO_WORK_EDGE]),
                FIELD("alloc", work_ps[PTO_WORK_ALLOC]),
                FIELD("scope", work_ps[PTO_WORK_SCOPE]),
                FIELD("host_access", work_ps[PTO_WORK_HOST_ACCESS]),
                FIELD("dispatch", work_ps[PTO_WORK_DISPATCH]),
                FIELD("poll", work_ps[PTO_WORK_POLL]),
                FIELD("fanout", work_ps[PTO_WORK_FANOUT]),
                FIELD("complete", work_ps[PTO_WORK_COMPLETE]),
                SAME(l2_bytes),
                SAME(profiling_start_ps),
                SAME(profiling_pending_ps),
                FIELD("profiling_dispatch", profiling_dispatch_ps),
                FIELD("profiling_poll", profiling_poll_ps),
                FIELD("profiling_complete", profiling_complete_ps),
                SAME(l2_core_bandwidth_mbps),
                SAME(l2_chip_bandwidth_mbps),
                SAME(pending_start_ps),
                SAME(cold_start_ps),
                SAME(handshake_ps),
                FIELD("dispatch_more", dispatch_more_ps),
                FIELD("loop", loop_ps),
                FIELD("look", look_ps),
                FIELD("alloc_tensors", work_ps[PTO_WORK_ALLOC_TENSORS]),
                FIELD("manual_lookup", work_ps[PTO_WORK_MANUAL_LOOKUP]),
                FIELD("lookup_entry", work_ps[PTO_WORK_LOOKUP_ENTRY]),
                FIELD("first_submit", work_ps[PTO_WORK_FIRST_SUBMIT]),
                FIELD("dies_per_package", fabric.dies_per_package),
                FIELD("chips_per_node", fabric.chips_per_node),
                FIELD("nodes", fabric.nodes),
                FIELD("transfer_start_ps", fabric.start_ps),
                FIELD("link_percent", fabric.link_percent),
                FIELD("package_latency_ps", fabric.tiers[PTO_CHIP_PACKAGE].latency_ps),
                FIELD("package_bandwidth_mbps", fabric.tiers[PTO_CHIP_PACKAGE].bandwidth_mbps),
                FIELD("node_latency_ps", fabric.tiers[PTO_CHIP_NODE].latency_ps),
                FIELD("node_bandwidth_mbps", fabric.tiers[PTO_CHIP_NODE].bandwidth_mbps),
                FIELD("nodes_latency_ps", fabric.tiers[PTO_CHIP_NODES].latency_ps),
                FIELD("nodes_bandwidth_mbps", fabric.tiers[PTO_CHIP_NODES].bandwidth_mbps)};
  char text[TEXT_SIZE], path[64];
  struct pto_chip expected, loaded;
  struct pto_error error;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(fields); i++) {
    char from[64], to[64];
    full_text(text);
    assert_int_equal(load_text(text, strlen(text), &expected, &error, path), PTO_OK);
    snprintf(from, sizeof from, "\n%s = ", fields[i].name);
    snprintf(to, sizeof to, "\n%s = 7 ;", fields[i].name);
    replace(text, from, to);
    memset((char *)&expected + fields[i].offset, 0, fields[i].size);
    memcpy((char *)&expected + fields[i].offset, &(uint8_t){7}, 1); /* little end first */
    assert_int_equal(load_text(text, strlen(text), &loaded, &error, path), PTO_OK);
    assert_memory_equal(&expected, &loaded, sizeof expected);
  }
}

/* tiny.ini with `line` as the first of section [`section`]. */
static int load_with(const char *section, const char *line, struct pto_chip *chip, struct pto_error *error) {
  char text[TEXT_SIZE], from[64], to[256], path[64];
  shipped_text("tiny", text);
  snprintf(from, sizeof from, "[%s]\n", section);
  snprintf(to, sizeof to, "[%s]\n%s\n", section, line);
  replace(text, from, to);
  const int status = load_text(text, strlen(text), chip, error, path);
  if (status != PTO_OK)
    memmove(error->sentence, error->sentence + strlen(path), strlen(error->sentence) + 1 - strlen(path));
  return status;
}

static void test_chips_differ_by_the_first_key_that_does_and_not_by_their_names(void **state) {
  static const char *const rows[][2] = {{"tiny", NULL},
                                        {"tiny,name=other,era=later", NULL},
                                        {"tiny,clusters=2,half_kernel=add", "clusters"},
                                        {"tiny,half_kernel=add", "half_kernel"}};
  struct pto_chip tiny, other;
  struct pto_error error;
  assert_int_equal(pto_chip_load("tiny", &tiny, &error), PTO_OK);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(rows); i++) {
    assert_int_equal(pto_chip_load(rows[i][0], &other, &error), PTO_OK);
    const char *key = pto_chip_find_difference(&tiny, &other);
    if (rows[i][1])
      assert_string_equal(key, rows[i][1]);
    else
      assert_null(key);
  }
}

static void test_an_optional_text_is_empty_where_it_is_absent(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("tiny", &chip, &error), PTO_OK);
  assert_string_equal(chip.era, "");
  assert_int_equal(load_with("chip", "era = wiring in scheduler", &chip, &error), PTO_OK);
  assert_string_equal(chip.era, "wiring in scheduler");
  assert_int_equal(load_with("chip", "era = a/b", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, " line 5: era = 'a/b': letters, digits, blanks, '_', '-' and '.' only");
}

/* Each optional key alone: its field has it, and so have those that are like it and absent. */
static void test_an_optional_key_is_another_one_where_it_is_absent(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("tiny", &chip, &error), PTO_OK);
  assert_int_equal(chip.cube_macs_per_cycle_16bit, 1000);
  assert_int_equal(chip.cube_macs_per_cycle_8bit, 1000);
  assert_int_equal(chip.vector_elems_per_cycle_16bit, 50);
  assert_int_equal(chip.vector_elems_per_cycle_8bit, 50);
  assert_int_equal(load_with("rate", "cube_macs_per_cycle_16bit = 7", &chip, &error), PTO_OK);
  assert_int_equal(chip.cube_macs_per_cycle, 1000);
  assert_int_equal(chip.cube_macs_per_cycle_16bit, 7);
  assert_int_equal(chip.cube_macs_per_cycle_8bit, 7);
  assert_int_equal(load_with("rate", "vector_elems_per_cycle_8bit = 7", &chip, &error), PTO_OK);
  assert_int_equal(chip.vector_elems_per_cycle_16bit, 50);
  assert_int_equal(chip.vector_elems_per_cycle_8bit, 7);
  assert_int_equal(chip.pending_start_ps, chip.kernel_start_ps);
  assert_int_equal(chip.l2_bytes, 0);
  assert_int_equal(chip.l2_core_bandwidth_mbps, chip.core_bandwidth_mbps);
  assert_int_equal(chip.l2_chip_bandwidth_mbps, chip.chip_bandwidth_mbps);
  assert_int_equal(chip.dispatch_more_ps, chip.work_ps[PTO_WORK_DISPATCH]);
  assert_int_equal(chip.cold_start_ps + chip.handshake_ps + chip.loop_ps + chip.look_ps, 0);
  assert_int_equal(chip.work_ps[PTO_WORK_ALLOC_TENSORS], chip.work_ps[PTO_WORK_SUBMIT]);
  assert_int_equal(chip.work_ps[PTO_WORK_MANUAL_LOOKUP], chip.work_ps[PTO_WORK_LOOKUP]);
  assert_int_equal(chip.work_ps[PTO_WORK_LOOKUP_ENTRY] + chip.work_ps[PTO_WORK_FIRST_SUBMIT], 0);
  assert_int_equal(load_with("rate", "vector_elems_per_cycle_8bit = 0", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence,
                      " line 18: vector_elems_per_cycle_8bit = 0 is not within 1 to 1000000000 a cycle");
}

static void test_a_word_is_one_of_its_list(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("tiny", &chip, &error), PTO_OK);
  assert_false(chip.shares_anew);
  assert_int_equal(load_with("rate", "sharing = anew", &chip, &error), PTO_OK);
  assert_true(chip.shares_anew);
  assert_int_equal(load_with("rate", "sharing = at_begin", &chip, &error), PTO_OK);
  assert_false(chip.shares_anew);
  assert_int_equal(load_with("rate", "sharing = 1", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, " line 18: sharing = 1 is neither at_begin nor anew");
}

static void test_a_key_that_means_nothing_without_another_one_is_refused(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(load_with("control_ps", "look = 7", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, ": look needs loop");
  assert_int_equal(load_with("control_ps", "loop = 7\nlook = 7", &chip, &error), PTO_OK);
  assert_int_equal(load_with("memory", "l2 = lru", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, ": l2 = lru needs l2_bytes");
  assert_int_equal(load_with("memory", "l2 = lru\nl2_bytes = 7", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, ": l2_bytes needs sharing = anew");
}

static void test_stages_are_there_as_a_whole_or_not_at_all(void **state) {
  static const char *const all = "[stages]\nstart_ps = 1\ntrip_ps = 2\ngm_to_l1_mbps = 3\nl1_to_l0a_mbps = 4\n"
                                 "l1_to_l0b_mbps = 5\nl0c_to_gm_mbps = 6\ngm_to_ub_mbps = 7\nub_to_gm_mbps = 8\n"
                                 "cube_percent = 9\n[latency]\n";
  char text[TEXT_SIZE], path[64];
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("tiny", &chip, &error), PTO_OK);
  assert_false(chip.has_stages);
  shipped_text("tiny", text);
  replace(text, "[latency]\n", all);
  assert_int_equal(load_text(text, strlen(text), &chip, &error, path), PTO_OK);
  assert_true(chip.has_stages);
  const struct pto_chip_stages *s = &chip.stages;
  const uint64_t values[] = {s->start_ps,       s->trip_ps,        s->gm_to_l1_mbps,
                             s->l1_to_l0a_mbps, s->l1_to_l0b_mbps, s->l0c_to_gm_mbps,
                             s->gm_to_ub_mbps,  s->ub_to_gm_mbps,  s->cube_percent};
  for (uint64_t i = 0; i < PTO_ARRAY_LENGTH(values); i++) assert_int_equal(values[i], i + 1);
  replace(text, "gm_to_ub_mbps = 7\n", "");
  assert_int_equal(load_text(text, strlen(text), &chip, &error, path), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, ": [stages] gm_to_ub_mbps is missing"));
}

static void test_a_table_of_kernel_times_is_shipped_or_lies_beside_the_chip_file(void **state) {
  static const struct {
    const char *line, *is;
  } cases[] = {{"kernel_times = a2a3", "a2a3"},
               {"kernel_times = mine.csv", "/tmp/mine.csv"},
               {"kernel_times = sub/mine", "/tmp/sub/mine"},
               {"kernel_times = /a/b.csv", "/a/b.csv"}};
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("tiny", &chip, &error), PTO_OK);
  assert_string_equal(chip.kernel_times, "");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    assert_int_equal(load_with("chip", cases[i].line, &chip, &error), PTO_OK);
    assert_string_equal(chip.kernel_times, cases[i].is);
  }
  assert_int_equal(load_with("chip", "kernel_times = a b", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, " line 5: kernel_times = 'a b': letters, digits, '/', '_', '-' and '.' only");
}

static void test_prices_of_profiling_count_where_it_is_on(void **state) {
  static const char *const prices = "profiling_dispatch = 7\nprofiling_poll = 9";
  char text[TEXT_SIZE], to[256], path[64];
  struct pto_chip off, on;
  struct pto_error error;
  for (uint32_t is_on = 0; is_on <= 1; is_on++) {
    shipped_text("tiny", text);
    snprintf(to, sizeof to, "[control_ps]\n%s\n", prices);
    replace(text, "[control_ps]\n", to);
    replace(text, "[latency]\n", "[latency]\nprofiling_start_ps = 5\n");
    replace(text, "[chip]\n", is_on ? "[chip]\nprofiling = on\n" : "[chip]\nprofiling = off\n");
    assert_int_equal(load_text(text, strlen(text), is_on ? &on : &off, &error, path), PTO_OK);
  }
  assert_int_equal(off.kernel_start_ps, 100000);
  assert_int_equal(on.kernel_start_ps, 100005);
  assert_int_equal(off.pending_start_ps, 100000);
  assert_int_equal(on.pending_start_ps, 100005);
  assert_int_equal(off.work_ps[PTO_WORK_DISPATCH], 100000);
  assert_int_equal(on.work_ps[PTO_WORK_DISPATCH], 100007);
  assert_int_equal(on.dispatch_more_ps, 100007);
  assert_int_equal(off.work_ps[PTO_WORK_POLL], 50000);
  assert_int_equal(on.work_ps[PTO_WORK_POLL], 50009);
  assert_int_equal(on.work_ps[PTO_WORK_COMPLETE], off.work_ps[PTO_WORK_COMPLETE]);
}

/* Each case alters tiny.ini and must be refused with exactly these words after the file's name. */
static void test_every_fault_of_a_file_is_named(void **state) {
  static const struct {
    const char *from, *to, *expected;
  } cases[] = {
      {"clusters = 1 ", "clusters = 0 ", " line 6: clusters = 0 is not within 1 to 1024"},
      {"clusters = 1 ", "clusters = 1025 ", " line 6: clusters = 1025 is not within 1 to 1024"},
      {"clusters = 1 ", "clusters = -1 ", " line 6: clusters = '-1' is not a whole number"},
      {"clusters = 1 ", "clusters = 1.5 ", " line 6: clusters = '1.5' is not a whole number"},
      {"clusters = 1 ", "clusters = 0x10 ", " line 6: clusters = '0x10' is not a whole number"},
      {"clusters = 1 ", "clusters = ", " line 6: clusters = '' is not a whole number"},
      {"clusters = 1 ", "clusters = 99999999999999999999999 ",
       " line 6: clusters = 99999999999999999999999 is not within 1 to 1024"},
      {"clusters = 1 ", "clusters = 1\nclusters = 1 ", " line 7: clusters = 1: clusters is there twice"},
      {"clusters = 1 ", "cluster_count = 1 ", " line 6: unknown key cluster_count = 1 in [chip]"},
      {"clusters = 1 ", "; clusters = 1 ", ": [chip] clusters is missing"},
      {"clusters = 1 ", "  clusters = 1 ",
       " line 6: 'clusters = 1                      ; 1 AIC + 2 AIV' does not begin in the first column"},
      {"clusters = 1 ", "clusters ", " line 6: neither [section] nor key = value"},
      {"schedulers = 1 ", "schedulers = 2 ",
       ": schedulers = 2 but clusters = 1; each scheduler owns a cluster or more"},
      {"schedulers = 1 ", "schedulers = 17 ", " line 7: schedulers = 17 is not within 1 to 16"},
      {"slots_per_core = 2 ", "slots_per_core = 17 ", " line 8: slots_per_core = 17 is not within 1 to 16"},
      {"name = tiny", "name = ", " line 5: name = '': must have 1 to 63 characters"},
      {"name = tiny", "name = a/b", " line 5: name = 'a/b': letters, digits, '_', '-' and '.' only"},
      {"name = tiny", "name = tiny\nname = tiny", " line 6: name = tiny: name is there twice"},
      {"name = tiny\n", "", ": [chip] name is missing"},
      {"[memory]", "[chip]", " line 10: section [chip] is there twice"},
      {"[memory]", "[memories]", " line 10: unknown section [memories]"},
      {"[memory]", "[memory", " line 10: '[memory' has no ']'"},
      {"[chip]\n", "", " line 4: name = tiny stands before the first section"},
      {"aic_clock_khz = 1000000 ", "aic_clock_khz = 0 ",
       " line 18: aic_clock_khz = 0 is not within 1 to 100000000 kHz"},
      {"ub_bytes = 196608 ", "ub_bytes = 268435457 ",
       " line 11: ub_bytes = 268435457 is not within 1 to 268435456 bytes"},
      {"kernel_end_ps = 100000 ", "kernel_end_ps = 1000000000001 ",
       " line 28: kernel_end_ps = 1000000000001 is not within 0 to 1000000000000 ps"},
      {"complete = 50000", "complete = 1000000001", " line 44: complete = 1000000001 is not within 0 to 1000000000 ps"},
      {"fanout = 20000\n", "", ": [control_ps] fanout is missing"},
      {"ub_bytes =", "l2_bytes = 1\nub_bytes =", ": l2_bytes needs sharing = anew"},
  };
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    char text[TEXT_SIZE], path[64], expected[PTO_SENTENCE_SIZE];
    struct pto_chip chip = {.cluster_count = 7};
    struct pto_error error = {0};
    shipped_text("tiny", text);
    replace(text, cases[i].from, cases[i].to);
    int status = load_text(text, strlen(text), &chip, &error, path);
    snprintf(expected, sizeof expected, "%s%s", path, cases[i].expected);
    assert_string_equal(error.sentence, expected);
    assert_int_equal(status, PTO_EINVAL);
    assert_int_equal(error.status, PTO_EINVAL);
    assert_int_equal(chip.cluster_count, 7); /* written on success only */
  }
}

static void test_a_line_that_is_too_long_is_refused(void **state) {
  char text[TEXT_SIZE], comment[400], path[64];
  struct pto_chip chip;
  struct pto_error error;
  memset(comment, 'x', sizeof comment);
  memcpy(comment, "clusters = 1 ;", 14);
  comment[sizeof comment - 1] = '\0';
  shipped_text("tiny", text);
  replace(text, "clusters = 1 ", comment);
  assert_int_equal(load_text(text, strlen(text), &chip, &error, path), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, " line 6: longer than "));
}

static void test_windows_line_ends_and_a_missing_last_one_are_fine(void **state) {
  char text[TEXT_SIZE], crlf[TEXT_SIZE], path[64];
  struct pto_chip shipped, loaded;
  struct pto_error error;
  size_t size = 0;
  shipped_text("tiny", text);
  for (const char *c = text; *c; c++) {
    if (*c == '\n') crlf[size++] = '\r';
    crlf[size++] = *c;
  }
  assert_int_equal(load_text(crlf, size - 2, &loaded, &error, path), PTO_OK);
  assert_int_equal(pto_chip_load("tiny", &shipped, &error), PTO_OK);
  assert_memory_equal(&shipped, &loaded, sizeof shipped);
}

static void test_lines_of_blanks_say_nothing(void **state) {
  char text[TEXT_SIZE], path[64];
  struct pto_chip shipped, loaded;
  struct pto_error error;
  shipped_text("tiny", text);
  replace(text, "clusters = 1 ", "\n   \n\t\n \t\r\nclusters = 1 ");
  strcat(text, "  ");
  assert_int_equal(load_text(text, strlen(text), &loaded, &error, path), PTO_OK);
  assert_int_equal(pto_chip_load("tiny", &shipped, &error), PTO_OK);
  assert_memory_equal(&shipped, &loaded, sizeof shipped);
}

static void test_a_name_that_is_cut_says_so(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("tiny,submit=1,scope=2", &chip, &error), PTO_OK);
  assert_string_equal(chip.name, "tiny,submit=1,scope=2");
  /* 63 bytes fit. */
  assert_int_equal(pto_chip_load("tiny,submit=1,submit=1,submit=1,submit=1,submit=1,submit=100000", &chip, &error),
                   PTO_OK);
  assert_string_equal(chip.name, "tiny,submit=1,submit=1,submit=1,submit=1,submit=1,submit=100000");
  assert_int_equal(pto_chip_load("tiny,submit=1,submit=1,submit=1,submit=1,submit=1,submit=1000000", &chip, &error),
                   PTO_OK);
  assert_string_equal(chip.name, "tiny,submit=1,submit=1,submit=1,submit=1,submit=1,submit=100…");
}

static void test_what_is_no_chip_and_no_file_is_a_system_error_that_lists_the_chips(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("no-such-chip", &chip, &error), PTO_ESYSTEM);
  assert_string_equal(error.sentence,
                      "chip 'no-such-chip' is neither shipped (tiny, a2a3, a2a3-2026-04, a5) nor a file that opens: "
                      "No such file or directory");
  assert_int_equal(pto_chip_load("/tmp", &chip, &error), PTO_ESYSTEM);
  assert_string_equal(
      error.sentence,
      "chip '/tmp' is neither shipped (tiny, a2a3, a2a3-2026-04, a5) nor a file that opens: Is a directory");
  assert_int_equal(pto_chip_load("/dev/null", &chip, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "/dev/null: no regular file");
}

/* No file makes the loader do worse than refuse: every prefix of a good one, and good ones with a byte changed. */
static void test_damaged_files_are_refused_or_mean_what_they_say(void **state) {
  char text[TEXT_SIZE], path[64];
  struct pto_chip chip;
  struct pto_error error;
  struct pto_rng rng = {20};
  print_message("seed 20\n");
  shipped_text("a5", text);
  size_t size = strlen(text);
  for (uint32_t i = 0; i < 2000; i++) {
    char damaged[TEXT_SIZE];
    memcpy(damaged, text, size);
    size_t length = i % 2 ? size : pto_rng_below(&rng, size);
    if (i % 2) damaged[pto_rng_below(&rng, size)] = (char)pto_rng_next(&rng);
    int status = load_text(damaged, length, &chip, &error, path);
    if (status != PTO_OK)
      assert_true(error.sentence[0] != '\0');
    else
      assert_true(chip.scheduler_count <= chip.cluster_count && chip.chip_bandwidth_mbps > 0);
  }
}

static void test_a_cache_of_lines_has_a_size_and_a_table_a_path_that_fits(void **state) {
  char text[TEXT_SIZE], path[64], file[sizeof(struct pto_chip)];
  struct pto_chip chip;
  struct pto_error error;
  shipped_text("tiny", text);
  replace(text, "[rate]", "l2 = lru\n[rate]\nsharing = anew");
  assert_int_equal(load_text(text, strlen(text), &chip, &error, path), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "l2 = lru needs l2_bytes"));
  /* beside a chip file, which may be said by a path of any length */
  shipped_text("tiny", text);
  replace(text, "[memory]", "kernel_times = a_table.csv\n[memory]");
  strcpy(path, "/tmp/pto-chip-XXXXXX");
  const int fd = mkstemp(path);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
  memset(file, 0, sizeof file);
  while (strlen(file) < sizeof chip.kernel_times) strcat(file, "/tmp/..");
  strcat(file, path);
  const int status = pto_chip_load(file, &chip, &error);
  unlink(path);
  assert_int_equal(status, PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "the path of the chip file is too long for that"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_shipped_chips_have_the_shapes_of_the_hardware),
      cmocka_unit_test(test_the_embedded_text_is_that_of_the_file_in_the_tree),
      cmocka_unit_test(test_a_file_by_path_gives_the_same_chip_as_the_shipped_one),
      cmocka_unit_test(test_every_key_of_the_file_reaches_its_field),
      cmocka_unit_test(test_chips_differ_by_the_first_key_that_does_and_not_by_their_names),
      cmocka_unit_test(test_an_optional_text_is_empty_where_it_is_absent),
      cmocka_unit_test(test_an_optional_key_is_another_one_where_it_is_absent),
      cmocka_unit_test(test_a_word_is_one_of_its_list),
      cmocka_unit_test(test_a_key_that_means_nothing_without_another_one_is_refused),
      cmocka_unit_test(test_stages_are_there_as_a_whole_or_not_at_all),
      cmocka_unit_test(test_a_table_of_kernel_times_is_shipped_or_lies_beside_the_chip_file),
      cmocka_unit_test(test_prices_of_profiling_count_where_it_is_on),
      cmocka_unit_test(test_every_fault_of_a_file_is_named),
      cmocka_unit_test(test_a_line_that_is_too_long_is_refused),
      cmocka_unit_test(test_windows_line_ends_and_a_missing_last_one_are_fine),
      cmocka_unit_test(test_lines_of_blanks_say_nothing),
      cmocka_unit_test(test_a_name_that_is_cut_says_so),
      cmocka_unit_test(test_what_is_no_chip_and_no_file_is_a_system_error_that_lists_the_chips),
      cmocka_unit_test(test_damaged_files_are_refused_or_mean_what_they_say),
      cmocka_unit_test(test_a_cache_of_lines_has_a_size_and_a_table_a_path_that_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
