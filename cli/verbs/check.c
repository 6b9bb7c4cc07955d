/* SPDX-License-Identifier: MIT */
/*
 * `ptosim check`: judges a program by what its tasks declare, by what its kernels do (--observe), or by the memory that
 * it needs (--advise): a file each.
 */
#include <stdio.h>

#include <report/findings/findings.h>
#include <cli/check/advise.h>
#include <cli/check/observe.h>
#include <cli/check/order.h>
#include <cli/main/verb.h>

struct check_options {
  struct pto_run_options run;
  bool advises, observes;
  struct pto_observe_options observe;
};

static int set_observe_tasks(void *target, const char *value, struct pto_error *error) {
  return pto_check_observe_tasks(value, &((struct check_options *)target)->observe, error);
}
static int set_observe_calls(void *target, const char *value, struct pto_error *error) {
  return pto_parse_u64(value, 1, UINT64_MAX, &((struct check_options *)target)->observe.calls_a_form, error);
}

static const struct pto_option_spec extra[] = {
    {"observe", NULL, "run every kernel several times and find what it touches beyond what it declares",
     pto_option_set_flag, offsetof(struct check_options, observes), 0},
    {"observe-tasks", "A-B", "observe tasks A to B alone", set_observe_tasks, 0, 0},
    {"observe-calls", "N", "observe N calls of each kernel with the same shapes (default: all)", set_observe_calls, 0,
     0},
    {"advise", NULL, "find the smallest window and heap that the program completes with, and what they cost",
     pto_option_set_flag, offsetof(struct check_options, advises), 0},
    {0}};

static int help(void) {
  puts(
      "ptosim check PROGRAM [OPTION...]\n\n"
      "Runs PROGRAM once, under exact rules and in virtual time unless --engine says otherwise, and tells every pair "
      "of\n"
      "conflicting accesses that nothing orders under the rules of --deps, with the line to add; and, as notes, "
      "explicit\n"
      "dependencies that others imply.\n\n"
      "With --observe it runs one kernel at a time, each several times over different bytes, and tells what kernels "
      "touch\n"
      "and do not declare.  With --advise it runs the program with ring after ring.  Neither takes an engine or writes "
      "files\n"
      "of one run (--output, --trace, --dot, --deps-json, --waits-dot).\n");
  pto_run_options_help(PTO_VERB_check, extra);
  puts("\nFindings (a note leaves the verdict alone):");
  for (uint32_t kind = 0; kind < PTO_FINDING_COUNT; kind++)
    printf("  %-16s %s%s\n", pto_finding_kind_name(kind), pto_finding_kind_is_note(kind) ? "note: " : "",
           pto_finding_kind_meaning(kind));
  puts("\nLeaves with 0 where nothing was found, 1 for findings (a wrong output is one), 2 for bad arguments, 3 where "
       "the\n"
       "run failed (what it had submitted by then is checked).");
  return PTO_EXIT_OK;
}

static int check(const struct check_options *options) {
  if (options->advises && options->observes)
    return pto_complain(PTO_EXIT_USAGE, "check: --observe or --advise, not both");
  const char *refused = options->observes  ? pto_run_options_refused(&options->run, PTO_TAKER_OBSERVE)
                        : options->advises ? pto_run_options_refused(&options->run, PTO_TAKER_ADVISE)
                                           : NULL;
  if (refused)
    return pto_complain(PTO_EXIT_USAGE, "check: %s does not take --%s", options->observes ? "--observe" : "--advise",
                        refused);
  if (pto_complain_unwritable(options->run.json_path)) return PTO_EXIT_USAGE;
  if (options->advises) return pto_check_advise(&options->run, options->run.json_path);
  if (options->observes) return pto_check_observe(&options->run, &options->observe);
  if (options->observe.calls_a_form || options->observe.has_tasks)
    return pto_complain(PTO_EXIT_USAGE, "check: --observe-tasks and --observe-calls go with --observe");
  return pto_check_order(&options->run);
}

int pto_cmd_check(int argc, char **argv) {
  struct check_options options = {0};
  struct pto_error error;
  int code;
  if (pto_run_options_parse(PTO_VERB_check, argc, argv, extra, &options, &options.run, &error))
    code = pto_complain(PTO_EXIT_USAGE, "check: %s", error.sentence);
  else if (options.run.help)
    code = help();
  else if (options.run.programs.count == 0)
    code = pto_complain(PTO_EXIT_USAGE, "check: which program?  `ptosim list programs` names them");
  else if (options.run.programs.count > 1)
    code = pto_complain(PTO_EXIT_USAGE, "check: one program at a time, not also \"%s\"", options.run.programs.items[1]);
  else
    code = check(&options);
  pto_run_options_fini(&options.run);
  return code;
}
