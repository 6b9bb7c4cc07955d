/* SPDX-License-Identifier: MIT */
/*
 * `ptosim adopt`: programs and scene tests of the existing runtime, a line each.
 *
 * Exit status 0 where all are right, whatever order their tasks run in; 1 where one is wrong or right only by luck; 2
 * for bad arguments; 3 where one could not be built or failed.
 */
#include <cli/main/about.h>
#include <cli/adopt/adopt.h>

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cli/main/interrupt.h>
#include <cli/main/verb.h>
#include <runtime/base/text.h>

#define MOST_FOLDERS_OPEN 16

#define TEXT(field) PTO_OPTION_TEXT(struct pto_adopt_options, field)
static const struct pto_option_spec own_options[] = {
    {"platform", "PLATFORM", "of a folder: a2a3sim, a5sim (on threads; default: both), a2a3virtual, a5virtual",
     TEXT(platform)},
    {"list", NULL, "of a folder: its cases, with the bytes of their inputs; nothing is run",
     PTO_OPTION_FLAG(struct pto_adopt_options, is_list)},
    {"junit", "FILE", "results as JUnit's XML; - is standard output", TEXT(junit_path)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts(
      "ptosim adopt MANIFEST.json|DIR [OPTION...]\n\n"
      "Builds a program that was written in C++ for the existing runtime, with its kernels, runs it under --deps pto,\n"
      "verifies it, and tells each pair of accesses that these rules leave in any order.  Of a folder (or one file) "
      "it\n"
      "runs the scene tests, through pytest, and lets each judge its outputs.\n");
  pto_run_options_help(PTO_VERB_adopt, own_options);
  printf("\nEnvironment: PTO_ISA, a checkout of pto-isa for kernels; PTO_ADOPTED, where objects and cases are kept\n"
         "(build/adopted); CXX, the compiler of orchestrations.\n%s begins with a checkout.\n",
         pto_page("adopting.md"));
}

static bool is_manifest(const char *path) { return pto_text_ends_with(path, ".json"); }

/* What only a manifest takes; with --no-compute, how many clusters there are is the user's to say. */
static const char *find_refused(const struct pto_adopt_options *options) {
  static const char *const refused[] = {"engine", "chip",   "chip-set", "workers", "deps",
                                        "policy", "output", "rtol",     "atol",    "rounds",
                                        "window", "heap",   "timeout",  "poison",  "clusters"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused - options->run.no_compute; i++)
    if (pto_run_options_given(&options->run, own_options, refused[i])) return refused[i];
  return NULL;
}

static bool is_virtual(const char *platform) { return platform && strstr(platform, "virtual"); }

/* Whether pytest would open it, and wait for ever. */
static int visit(const char *path, const struct stat *about, int type, struct FTW *level) {
  static const char *const read[] = {".py", ".toml", ".ini", ".cfg"};
  const char *end = strrchr(path, '.');
  bool is_read = level->level == 0;
  for (size_t i = 0; end && i < sizeof read / sizeof *read; i++) is_read |= strcmp(end, read[i]) == 0;
  if (type != FTW_F || S_ISREG(about->st_mode) || !is_read) return 0;
  return pto_complain(PTO_EXIT_USAGE, "adopt: %s: no regular file", path);
}

static int adopt(const struct pto_adopt_options *options, struct pto_adopt_cases *cases, bool has_text) {
  const char *subject = options->run.programs.items[0];
  if (is_manifest(subject)) {
    if (options->platform || options->is_list)
      return pto_complain(PTO_EXIT_USAGE, "adopt: --%s is for a folder", options->platform ? "platform" : "list");
    const int code = pto_adopt_manifest(&options->run, cases);
    if (code == PTO_EXIT_OK && has_text) pto_adopt_case_print(json_array_get(cases->array, 0), stdout);
    return code;
  }
  struct stat about;
  const char *refused = find_refused(options);
  if (refused) return pto_complain(PTO_EXIT_USAGE, "adopt: --%s is for a manifest", refused);
  if (options->run.no_compute && !is_virtual(options->platform))
    return pto_complain(PTO_EXIT_USAGE, "adopt: --no-compute of a folder is for --platform a2a3virtual or a5virtual");
  if (stat(subject, &about) != 0)
    return pto_complain(PTO_EXIT_USAGE, "adopt: %s: no such folder, file or manifest", subject);
  if (nftw(subject, visit, MOST_FOLDERS_OPEN, 0) == PTO_EXIT_USAGE) return PTO_EXIT_USAGE;
  if (options->platform) return pto_adopt_folder(options, options->platform, has_text, cases);
  const int code = pto_adopt_folder(options, "a2a3sim", has_text, cases);
  return code || pto_interrupted() ? code : pto_adopt_folder(options, "a5sim", has_text, cases);
}

static int report(const struct pto_adopt_options *options, const struct pto_adopt_cases *cases, bool has_text) {
  struct pto_error error;
  const char *subject = options->run.programs.items[0];
  if (has_text && options->is_list)
    printf("%zu cases\n", json_array_size(cases->array));
  else if (has_text && json_array_size(cases->array) != 1)
    pto_adopt_cases_print_sum(cases, stdout);
  fflush(stdout);
  if (pto_adopt_cases_write_json(cases, options->run.json_path, &error) ||
      pto_adopt_cases_write_junit(cases, subject, options->junit_path, &error))
    return pto_complain(PTO_EXIT_FAILED, "adopt: %s", error.sentence);
  const int code = options->is_list ? PTO_EXIT_OK : pto_adopt_cases_exit(cases);
  const char *reason = pto_adopt_cases_reason(cases);
  const bool is_told = has_text || (options->run.quiet && options->run.json_path);
  return code == PTO_EXIT_FAILED && reason && !is_told ? pto_complain(code, "adopt: %s", reason) : code;
}

static int run(const struct pto_adopt_options *options) {
  struct pto_adopt_cases cases;
  const bool has_text = !options->run.quiet && !pto_run_options_take_stdout(&options->run) &&
                        !(options->junit_path && strcmp(options->junit_path, "-") == 0);
  if (pto_complain_unwritable(options->run.json_path) || pto_complain_unwritable(options->junit_path))
    return PTO_EXIT_USAGE;
  if (!pto_adopt_cases_init(&cases)) return pto_complain(PTO_EXIT_FAILED, "adopt: out of memory");
  int code = adopt(options, &cases, has_text);
  if (code == PTO_EXIT_OK && json_array_size(cases.array) == 0 && !pto_interrupted())
    code = pto_complain(
        PTO_EXIT_USAGE, "adopt: %s has no scene test (test_*.py with @scene_test(level=2)) and no kernel_config.py%s%s",
        options->run.programs.items[0], options->platform ? " for " : "", options->platform ? options->platform : "");
  if (code == PTO_EXIT_OK) code = report(options, &cases, has_text);
  pto_adopt_cases_fini(&cases);
  return code;
}

int pto_cmd_adopt(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_adopt, own_options, help, true};
  struct pto_adopt_options options = {0};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &options, &options.run, &code)) code = run(&options);
  pto_run_options_fini(&options.run);
  return code;
}
