/* SPDX-License-Identifier: MIT */
/*
 * The outputs of a program run as they once were, and what later ones differ in, to the bit.
 *
 * Owns copies of all outputs until fini.  One thread.
 */
#ifndef PTO_CHECK_EXPLORE_OUTPUTS_H
#define PTO_CHECK_EXPLORE_OUTPUTS_H

#include <orchestration/loader/program_run.h>

struct pto_explore_outputs {
  void **copies; /* by array; NULL for what is no output */
  uint32_t count;
};

/* PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_explore_outputs_init(struct pto_explore_outputs *outputs, struct pto_program_run *run);
/* Takes zeroed structs too. */
void pto_explore_outputs_fini(struct pto_explore_outputs *outputs);

/* Whether the outputs are as they were; where not, writes the first that differs: "output f[3,17]: 46 instead of 47",
 * the bits too where the numbers look alike. */
bool pto_explore_outputs_are_same(const struct pto_explore_outputs *outputs, struct pto_program_run *run, char *text,
                                  size_t size);

#endif
