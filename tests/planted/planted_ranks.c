/* SPDX-License-Identifier: MIT */
/* Ranks of which the last does not do its part. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pto/collectives.h>
#include <pto/program.h>

static bool has(struct pto_program_run *run, const char *mistake) {
  return pto_program_rank(run) + 1 == pto_program_rank_count(run) &&
         strcmp(pto_option_text(run, "mistake"), mistake) == 0;
}

static int prepare(struct pto_program_run *run) {
  return has(run, "refused") ? pto_program_fail(run, "the last rank is refused") : PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  struct pto_comm comm;
  if (has(run, "crash")) abort();
  if (has(run, "silent")) return PTO_OK;
  const int status = pto_comm_create_for_collectives(rt, NULL, 0, 64, &comm);
  return status ? status : pto_submit_comm_barrier(rt, comm, NULL);
}

static const struct pto_option options[] = {
    {"mistake", PTO_OPTION_TEXT, "silent", "silent, refused, crash: makes no communicator; cannot be set up; aborts"},
    {0}};
PTO_API const struct pto_program pto_program = {.abi = PTO_PROGRAM_ABI,
                                                .name = "planted_ranks",
                                                .summary = "ranks of which the last does not do its part",
                                                .options = options,
                                                .prepare = prepare,
                                                .orchestrate = orchestrate};
