/* SPDX-License-Identifier: MIT */
/* A program that does not come to an end beside its run: in its prepare, in its expect, or, where the environment has
 * PLANTED_ENDLESS, as it is loaded.  For tests/cli/system_errors_test.c. */
#include <orchestration/support/program.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct pto_option options[] = {{"where", PTO_OPTION_TEXT, "", "prepare, expect"}, {0}};
static const struct pto_case cases[] = {{0}};

_Noreturn static void stay(void) {
  for (;;) pause();
}

static void stay_in(struct pto_program_run *run, const char *where) {
  if (strcmp(pto_option_text(run, "where"), where) == 0) stay();
}

__attribute__((constructor)) static void begin(void) {
  if (getenv("PLANTED_ENDLESS")) stay();
}

static int prepare(struct pto_program_run *run) {
  stay_in(run, "prepare");
  return 0;
}
static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return 0; }
static int expect(struct pto_program_run *run) {
  stay_in(run, "expect");
  return 0;
}

PROGRAM("planted_endless", "ends in its run, and not beside it");
