/* SPDX-License-Identifier: MIT */
/* [fabric] of chip files: what is there by default, what is refused, and what the shipped ones say. */
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

/* tiny.ini with `lines` as its [fabric], which is its last section. */
static int load_fabric(const char *lines, struct pto_chip *chip, struct pto_error *error) {
  struct pto_chip_file tiny;
  char path[] = "/tmp/pto-chip-XXXXXX";
  assert_true(pto_chip_file_at(0, &tiny));
  assert_string_equal(tiny.name, "tiny");
  const char *const end = memmem(tiny.text, tiny.size_bytes, "[fabric]\n", 9);
  const int fd = mkstemp(path);
  assert_true(fd >= 0 && end);
  assert_int_equal(write(fd, tiny.text, (size_t)(end - tiny.text)), end - tiny.text);
  assert_int_equal(write(fd, lines, strlen(lines)), strlen(lines));
  close(fd);
  const int status = pto_chip_load(path, chip, error);
  unlink(path);
  if (status) memmove(error->sentence, error->sentence + strlen(path), strlen(error->sentence) + 1 - strlen(path));
  return status;
}

static void test_a_chip_file_without_a_fabric_is_one_chip(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(load_fabric("", &chip, &error), PTO_OK);
  assert_int_equal(chip.fabric.dies_per_package, 1);
  assert_int_equal(chip.fabric.chips_per_node, 1);
  assert_int_equal(chip.fabric.nodes, 1);
  assert_int_equal(chip.fabric.link_percent, 100);
  /* A package alone, with a switch in it; the other tiers join nothing and need nothing. */
  assert_int_equal(load_fabric("[fabric]\ndies_per_package = 4\npackage_latency_ps = 5\npackage_bandwidth_mbps = 6\n",
                               &chip, &error),
                   PTO_OK);
  assert_int_equal(chip.fabric.chips_per_node, 4);
  assert_int_equal(chip.fabric.nodes, 1);
  assert_int_equal(chip.fabric.tiers[PTO_CHIP_PACKAGE].topology, PTO_CHIP_SWITCH);
}

static void test_a_fabric_says_all_of_each_tier_that_joins_chips(void **state) {
  static const struct {
    const char *lines, *sentence;
  } cases[] = {
      {"chips_per_node = 2\n", ": [fabric] node_latency_ps is missing"},
      {"nodes = 2\nnodes_latency_ps = 1\n", ": [fabric] nodes_bandwidth_mbps is missing"},
      {"dies_per_package = 2\npackage_bandwidth_mbps = 1\n", ": [fabric] package_latency_ps is missing"},
      {"dies_per_package = 4\nchips_per_node = 6\n", ": chips_per_node = 6 is no multiple of dies_per_package = 4"},
      {"chips_per_node = 13\nnodes = 5\n", ": nodes = 5 of chips_per_node = 13 are more than 64 chips"},
      {"nodes = 65\n", " line 47: nodes = 65 is not within 1 to 64"},
      {"node_topology = star\n", " line 47: node_topology = star is neither switch nor mesh nor ring"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    char lines[256];
    struct pto_chip chip;
    struct pto_error error;
    snprintf(lines, sizeof lines, "[fabric]\n%s", cases[i].lines);
    assert_int_equal(load_fabric(lines, &chip, &error), PTO_EINVAL);
    assert_string_equal(error.sentence, cases[i].sentence);
  }
}

static void test_the_shipped_chips_are_joined_as_their_hardware(void **state) {
  struct pto_chip chip;
  struct pto_error error;
  assert_int_equal(pto_chip_load("a2a3", &chip, &error), PTO_OK);
  assert_int_equal(chip.fabric.dies_per_package, 2);
  assert_int_equal(chip.fabric.chips_per_node, 16);
  assert_int_equal(chip.fabric.tiers[PTO_CHIP_PACKAGE].topology, PTO_CHIP_MESH);
  assert_int_equal(chip.fabric.tiers[PTO_CHIP_NODE].topology, PTO_CHIP_SWITCH);
  /* An A2: eight chips, 56 GB/s for each pair, and RoCE. */
  assert_int_equal(
      pto_chip_load("a2a3,dies_per_package=1,chips_per_node=8,node_topology=mesh,node_bandwidth_mbps=56000,"
                    "nodes_latency_ps=1500000,nodes_bandwidth_mbps=25000",
                    &chip, &error),
      PTO_OK);
  assert_int_equal(chip.fabric.tiers[PTO_CHIP_NODE].topology, PTO_CHIP_MESH);
  assert_int_equal(pto_chip_load("a5", &chip, &error), PTO_OK);
  assert_int_equal(chip.fabric.dies_per_package, 1);
  assert_int_equal(chip.fabric.tiers[PTO_CHIP_NODE].topology, PTO_CHIP_MESH);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_chip_file_without_a_fabric_is_one_chip),
      cmocka_unit_test(test_a_fabric_says_all_of_each_tier_that_joins_chips),
      cmocka_unit_test(test_the_shipped_chips_are_joined_as_their_hardware),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
