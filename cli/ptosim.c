/* SPDX-License-Identifier: MIT */
/*
 * The command-line tool.  Everything is in pto_ptosim, so that tests can link the rest of cli/ beside a main of their
 * own.
 */
#include <stdio.h>

#include <cli/verb.h>

int main(int argc, char **argv) {
  int code = pto_ptosim(argc, argv);
  /* What was printed has arrived, or the run did not succeed. */
  if (fflush(stdout) != 0 || ferror(stdout))
    return code ? code : pto_complain(PTO_EXIT_FAILED, "standard output cannot be written");
  return code;
}
