/* SPDX-License-Identifier: MIT */
/*
 * More live accesses than the region map was made for: every tile is written once in one scope, so none of them may be
 * forgotten.
 */
#include <orchestration/support/mark.h>

#define TILES 256u
static const struct pto_config config = {.size = sizeof config, .map_entries = 64};

static int prepare(struct pto_program_run *run) { return DECLARE_ARRAYS(run, OUTPUT("z", PTO_UINT32, TILES)); }

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_tensor z = tensor_of(rt, run, "z");
  int status = PTO_OK;
  for (uint64_t i = 0; i < TILES && status == PTO_OK; i++) {
    struct pto_tensor tile = rows_of(&z, i, 1);
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
