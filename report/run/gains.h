/* SPDX-License-Identifier: MIT */
/*
 * How the gains of a path are told: what in half the time would make the run how much shorter, and the option that runs
 * it.  Of one chip (timeline_stats.h) and of ranks (check/ranks/ranks_path.h).  Owns nothing.
 */
#ifndef PTO_REPORT_RUN_GAINS_H
#define PTO_REPORT_RUN_GAINS_H

#include <stdio.h>

#include <formats/json_writer.h>
#include <report/run/chip_keys.h>
#include <report/run/run_path.h>

struct pto_gains {
  const struct pto_path_gain *items; /* the first PTO_PATH_GAINS_TOLD are told */
  uint32_t count;
  const struct pto_path_untried *untried;
  uint64_t makespan;                 /* ps */
  const struct pto_chip_sheet *chip; /* NULL: not known, as of the next */
  const char *command;               /* that does the run again */
  bool has_what_if;                  /* which runs it on other numbers */
};

/* What --chip-set takes for what the gain proposes; "" where no chip says it.  Returns `text`. */
#define PTO_CHIP_SET_SIZE 512u /* for the longest list of keys of a trial, with their numbers */
const char *pto_gain_chip_set(const struct pto_chip_sheet *chip, const struct pto_path_gain *gain, char *text,
                              size_t size);

void pto_gains_print(const struct pto_gains *gains, FILE *to);
/* The keys "gains" and "not_run". */
void pto_gains_put(const struct pto_gains *gains, struct pto_json_writer *w);

#endif
