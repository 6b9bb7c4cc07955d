/* SPDX-License-Identifier: MIT */
/* `ptosim check`: what is to be known of a program besides its result. */
#include <stdio.h>

#include <cli/check_advise.h>
#include <cli/verb.h>

struct check {
  struct pto_run_options options;
  bool advises;
};

static int set_advise(void *target, const char *value, struct pto_error *error) {
  ((struct check *)target)->advises = true;
  return PTO_OK;
}
static const struct pto_option_spec extra[] = {
    {"advise", NULL, "the smallest rings that it completes with, and what they cost", set_advise, false}, {0}};

int pto_cmd_check(int argc, char **argv) {
  struct check check = {0};
  struct pto_error error;
  int code;
  if (pto_run_options_parse(argc, argv, extra, &check, &check.options, &error))
    code = pto_complain(PTO_EXIT_USAGE, "check: %s", error.sentence);
  else if (check.options.help) {
    puts("ptosim check PROGRAM --advise [OPTION...]\n\nOptions as of `ptosim run`.\n");
    pto_run_options_help(extra, false);
    code = PTO_EXIT_OK;
  } else if (check.options.programs.count != 1)
    code = pto_complain(PTO_EXIT_USAGE, "check: one program, not %u", check.options.programs.count);
  else if (!check.advises)
    code = pto_complain(PTO_EXIT_USAGE, "check: what of it?  --advise");
  else
    code = pto_check_advise(&check.options, check.options.json_path);
  pto_run_options_fini(&check.options);
  return code;
}
