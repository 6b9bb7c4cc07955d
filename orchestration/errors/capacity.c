/* SPDX-License-Identifier: MIT */
/*
 * More live accesses than the region map was made for: every tile is written once in one scope, so none of them may be
 * forgotten.
 */
#include <orchestration/support/mark.h>

#define TILES 256u
static const struct pto_config config = {.size = sizeof config, .map_entries = 64};

static int prepare(struct pto_program_run *run) {
  const uint64_t shape[] = {TILES};
  pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_UINT32, 1, shape);
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  int status = PTO_OK;
  for (uint64_t i = 0; i < TILES && status == PTO_OK; i++) {
    struct pto_tensor tile = pto_tensor_slice(&z, 0, i, i + 1, 1);
    status = submit_mark_of(rt, &tile);
  }
  return status;
}

const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "errors/capacity",
    .summary = "PTO_ECAPACITY: 256 live tiles in a region map of 64 entries",
    .config = &config,
    .prepare = prepare,
    .expected_status = PTO_ECAPACITY,
    .orchestrate = orchestrate,
};
