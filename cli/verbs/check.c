/* SPDX-License-Identifier: MIT */
/*
 * `ptosim check`: judges a program by what its tasks declare, by what its kernels do (--observe), or by the memory that
 * it needs (--advise): a file each.
 */
#include <stdio.h>
#include <string.h>

#include <check/ranks/ranks.h>
#include <report/findings/findings.h>
#include <cli/check/check.h>
#include <cli/run/request.h>
#include <cli/main/verb.h>

struct check_options {
  struct pto_run_options run;
  bool advises, observes;
  struct pto_observe_options observe;
};

/* "A-B", or one number. */
static int set_observe_tasks(void *target, const char *text, struct pto_error *error) {
  struct pto_observe_options *observe = &((struct check_options *)target)->observe;
  char first[24];
  const char *dash = strchr(text, '-');
  snprintf(first, sizeof first, "%.*s", (int)(dash ? dash - text : 23), text);
  int status = pto_parse_u64(first, 0, UINT64_MAX, &observe->first_task, error);
  if (status == PTO_OK) status = pto_parse_u64(dash ? dash + 1 : first, 0, UINT64_MAX, &observe->last_task, error);
  if (status == PTO_OK && observe->first_task > observe->last_task)
    status = pto_error_set(error, PTO_EINVAL, "\"%s\": the last task comes before the first", text);
  observe->has_tasks = status == PTO_OK;
  return status;
}

static const struct pto_option_spec extra[] = {
    {"observe", NULL, "run every kernel several times and find what it touches beyond what it declares",
     PTO_OPTION_FLAG(struct check_options, observes)},
    {"observe-tasks", "A-B", "observe tasks A to B alone", .set = set_observe_tasks},
    {"observe-calls", "N", "observe N calls of each kernel with the same shapes (default: all)",
     PTO_OPTION_NUMBER(struct check_options, observe.calls_a_form, 1, UINT64_MAX)},
    {"advise", NULL, "find the smallest window and heap that the program completes with, and what they cost",
     PTO_OPTION_FLAG(struct check_options, advises)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim check PROGRAM [OPTION...]\n\n"
       "Runs PROGRAM once, under exact rules and in virtual time unless --engine says otherwise, and tells every pair "
       "of\n"
       "conflicting accesses that nothing orders under the rules of --deps, with the line to add; and, as notes, "
       "explicit\n"
       "dependencies that others imply.  On several ranks it tells what they do to each other's windows, too.\n\n"
       "With --observe it runs one kernel at a time, each several times over different bytes, and tells what kernels "
       "touch\n"
       "and do not declare, on several ranks too.  With --advise it runs the program with ring after ring.  Neither "
       "takes\n"
       "an engine or writes files of one run (--output, --trace, --dot, --deps-json, --waits-dot).\n");
  pto_run_options_help(PTO_VERB_check, extra);
  puts("\nFindings (a note leaves the verdict alone), by how they are decided:");
  for (uint32_t decided = PTO_DECIDED_ALL_ORDERS; decided < PTO_DECIDED_COUNT; decided++) {
    printf(" %s: %s\n", pto_decided_name(decided), pto_decided_meaning(decided));
    for (uint32_t kind = 0; kind < PTO_FINDING_COUNT; kind++)
      if (pto_finding_kind_decided(kind) == decided)
        printf("  %-16s %s%s\n", pto_finding_kind_name(kind), pto_finding_kind_is_note(kind) ? "note: " : "",
               pto_finding_kind_meaning(kind));
  }
  puts("\nExit status 0 where nothing was found, 1 for findings (a wrong output is one), 2 for bad arguments, 3 where "
       "the\n"
       "run failed (what it had submitted by then is checked).");
}

/* On as many ranks as are asked for, or as the program wants. */
static int check_order(const struct pto_run_options *options) {
  struct pto_config config;
  const struct pto_session_options asked = pto_run_options_session(options, &config);
  const uint32_t rank_count = options->ranks ? options->ranks : pto_ranks_wanted(&asked);
  return rank_count ? pto_check_ranks(options, &asked, rank_count) : pto_check_order(options);
}

static int check(const struct check_options *options) {
  if (options->advises && options->observes)
    return pto_complain(PTO_EXIT_USAGE, "check: --observe or --advise, not both");
  const char *refused = options->observes  ? pto_run_options_refused(&options->run, PTO_TAKER_OBSERVE)
                        : options->advises ? pto_run_options_refused(&options->run, PTO_TAKER_ADVISE)
                                           : NULL;
  if (refused && options->observes && strcmp(refused, "no-compute") == 0)
    return pto_complain(PTO_EXIT_USAGE, "check: --observe does not take --no-compute: it compares what kernels touch, "
                                        "and then none is run");
  if (refused)
    return pto_complain(PTO_EXIT_USAGE, "check: %s does not take --%s", options->observes ? "--observe" : "--advise",
                        refused);
  if (pto_complain_unwritable(options->run.json_path)) return PTO_EXIT_USAGE;
  if (options->advises) return pto_check_advise(&options->run);
  if (options->observes) return pto_check_observe(&options->run, &options->observe);
  if (options->observe.calls_a_form || options->observe.has_tasks)
    return pto_complain(PTO_EXIT_USAGE, "check: --observe-tasks and --observe-calls go with --observe");
  return check_order(&options->run);
}

int pto_cmd_check(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_check, extra, help, true};
  struct check_options options = {0};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &options, &options.run, &code)) code = check(&options);
  pto_run_options_fini(&options.run);
  return code;
}
