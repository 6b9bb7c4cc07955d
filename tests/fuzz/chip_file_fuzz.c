/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a chip file: loaded within the limits that engines rely on, or refused with a sentence.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <sim/chips/chip.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_error error = {0};
  struct pto_chip chip;
  memset(&chip, 0xa5, sizeof chip);
  fuzz_file_open(&file, data, size);
  int status = pto_chip_load(file.path, &chip, &error);
  fuzz_file_close(&file);
  if (status != PTO_OK) {
    FUZZ_HOLDS(status == PTO_EINVAL || status == PTO_ESYSTEM);
    FUZZ_HOLDS(error.sentence[0] != '\0');
    return 0;
  }
  FUZZ_HOLDS(memchr(chip.era, '\0', sizeof chip.era));
  FUZZ_HOLDS(memchr(chip.name, '\0', sizeof chip.name));
  FUZZ_HOLDS(chip.cluster_count >= 1 && chip.cluster_count <= PTO_CHIP_MAX_CLUSTERS);
  FUZZ_HOLDS(chip.scheduler_count >= 1 && chip.scheduler_count <= PTO_CHIP_MAX_SCHEDULERS);
  FUZZ_HOLDS(chip.slots_per_core >= 1 && chip.slots_per_core <= PTO_CHIP_MAX_SLOTS);
  FUZZ_HOLDS(chip.aic_clock_khz && chip.aiv_clock_khz && chip.cube_macs_per_cycle && chip.vector_elems_per_cycle);
  FUZZ_HOLDS(chip.core_bandwidth_mbps && chip.chip_bandwidth_mbps && chip.host_bandwidth_mbps);
  FUZZ_HOLDS(chip.fabric.nodes >= 1 && chip.fabric.nodes * chip.fabric.chips_per_node <= PTO_CHIP_MAX_JOINED);
  FUZZ_HOLDS(chip.fabric.dies_per_package >= 1 && chip.fabric.chips_per_node % chip.fabric.dies_per_package == 0);
  return 0;
}
