/* SPDX-License-Identifier: MIT */
/*
 * The command-line tool.  Everything is in pto_ptosim, so that tests can link the rest of cli/ beside a main of their
 * own.
 */
#include <stdbool.h>
#include <stdio.h>

#include <cli/main/verb.h>

int main(int argc, char **argv) {
  int code = pto_ptosim(argc, argv);
  /* What was printed has arrived, or the run did not succeed: findings are on standard output too. */
  const bool is_lost = fflush(stdout) != 0 || ferror(stdout);
  if (is_lost && (code == PTO_EXIT_OK || code == PTO_EXIT_FINDINGS))
    return pto_complain(PTO_EXIT_FAILED, "standard output cannot be written");
  return code;
}
