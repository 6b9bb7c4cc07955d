/* SPDX-License-Identifier: MIT */
/*
 * `ptosim check`: judges a program by what its tasks declare and what its kernels do.
 */
#include <stdio.h>

#include <cli/check_observe.h>
#include <cli/verb.h>

struct check_options {
  struct pto_run_options run;
  bool observes;
  struct pto_observe_options observe;
};

static int set_observe(void *target, const char *value, struct pto_error *error) {
  ((struct check_options *)target)->observes = true;
  return PTO_OK;
}
static int set_observe_tasks(void *target, const char *value, struct pto_error *error) {
  return pto_check_observe_tasks(value, &((struct check_options *)target)->observe, error);
}
static int set_observe_calls(void *target, const char *value, struct pto_error *error) {
  return pto_parse_u64(value, 1, UINT64_MAX, &((struct check_options *)target)->observe.calls_a_form, error);
}

static const struct pto_option_spec extra[] = {
    {"observe", NULL, "run every kernel several times and find what it touches beyond what it declares", set_observe,
     false},
    {"observe-tasks", "A-B", "observe tasks A to B alone", set_observe_tasks, false},
    {"observe-calls", "N", "observe N calls of each kernel with the same shapes (default: all)", set_observe_calls,
     false},
    {0}};

static int help(void) {
  puts("ptosim check PROGRAM --observe [OPTION...]\n\n"
       "Runs the program, one kernel at a time, each several times over different bytes, and tells what the kernels "
       "touch and do\n"
       "not declare.  Options as of `ptosim run`.\n");
  pto_run_options_help(extra, true);
  puts("\nLeaves with 0 where nothing was found, 1 where something was or the output is wrong, 2 for bad arguments, 3 "
       "where the run\n"
       "failed.");
  return PTO_EXIT_OK;
}

int pto_cmd_check(int argc, char **argv) {
  struct check_options options = {0};
  struct pto_error error;
  int code;
  if (pto_run_options_parse(argc, argv, extra, &options, &options.run, &error))
    code = pto_complain(PTO_EXIT_USAGE, "check: %s", error.sentence);
  else if (options.run.help)
    code = help();
  else if (options.run.programs.count != 1)
    code = pto_complain(PTO_EXIT_USAGE, "check: which program?  One; `ptosim list programs` names them");
  else if (!options.observes)
    code = pto_complain(PTO_EXIT_USAGE, "check: --observe is what there is");
  else
    code = pto_check_observe(&options.run, &options.observe);
  pto_run_options_fini(&options.run);
  return code;
}
