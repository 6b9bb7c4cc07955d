/* SPDX-License-Identifier: MIT */
/*
 * --sarif and --junit of verbs that judge one program.
 *
 * Owns nothing.  The main thread only.
 */
#ifndef PTO_CLI_RUN_JUDGEMENT_H
#define PTO_CLI_RUN_JUDGEMENT_H

#include <cli/run/options.h>
#include <report/findings/findings.h>

struct pto_judgement {
  const char *verb, *program, *case_name; /* case_name NULL: none */
  const struct pto_findings *findings;    /* NULL: the verb has no such list */
  const char *error;                      /* why it failed, or is wrong; NULL or "": nothing to say */
  double seconds;                         /* 0: not measured */
  int exit_code;
};

/* Returns judgement->exit_code, or PTO_EXIT_FAILED having said why. */
int pto_write_judgement(const struct pto_run_options *options, const struct pto_judgement *judgement);

#endif
