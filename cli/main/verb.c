/* SPDX-License-Identifier: MIT */
#include <cli/main/verb.h>

#include <cli/main/interrupt.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cli/main/about.h>
#include <report/file/colour.h>
#include <report/file/output_file.h>
#include <pto/kernel.h>
#include <runtime/base/base.h>
#include <runtime/base/closest.h>

static const struct pto_verb verbs[] = {
#define X(name, word, arguments, summary) {word, arguments, summary, pto_cmd_##name},
    PTO_VERB_LIST(X)
#undef X
};

const struct pto_verb *pto_verb_at(size_t index) { return index < PTO_ARRAY_LENGTH(verbs) ? &verbs[index] : NULL; }

static const struct pto_verb *find_verb(const char *name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(verbs); i++)
    if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
  return NULL;
}

int pto_complain(int exit_code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  pto_colour_put(stderr, PTO_COLOUR_BAD, "ptosim:");
  fputc(' ', stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  return exit_code;
}

int pto_complain_no_kernel(const char *verb, const char *name) {
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  pto_closest_begin(&closest, name);
  for (uint32_t k = 0; k < pto_kernel_count(); k++) pto_closest_consider(&closest, pto_kernel_at(k)->name);
  return pto_complain(PTO_EXIT_USAGE, "%s: no kernel \"%s\"; `ptosim list kernels` names them%s", verb, name,
                      pto_closest_question(&closest, question));
}

int pto_complain_unwritable(const char *path) {
  struct pto_error error;
  return pto_output_probe(path, &error) ? pto_complain(PTO_EXIT_USAGE, "%s", error.sentence) : PTO_EXIT_OK;
}

bool pto_json_takes_stdout(const char *json_path) { return json_path && strcmp(json_path, "-") == 0; }

int pto_write_report(const char *path, void (*put)(struct pto_json_writer *w, const void *context), const void *context,
                     int exit_code) {
  struct pto_error error;
  fflush(stdout);
  if (!path || pto_output_json(path, put, context, &error) == PTO_OK) return exit_code;
  return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
}

void pto_put_end(struct pto_json_writer *w, const struct pto_error *error, int exit_code) {
  pto_json_put_string(w, "status", pto_status_name(error->status));
  pto_json_put_u64(w, "exit", (uint64_t)exit_code);
  pto_json_put_string(w, "error", error->sentence[0] ? error->sentence : NULL);
}

static int help(void) {
  puts("ptosim runs programs of the PTO task runtime on a simulated chip.\n");
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(verbs); i++)
    printf("  ptosim %-9s %-50s %s\n", verbs[i].name, verbs[i].arguments, verbs[i].summary);
  printf(
      "\n  ptosim VERB --help    the options of a verb\n"
      "  ptosim --version, -V  the version, the libraries, and the instruction sets of kernels\n\n"
      "Exit status 0 where all is well, 1 for a wrong result or a finding, 2 for bad arguments or input, 3 where the "
      "run\n"
      "failed, 130 where ^C ended it.  Colours are for terminals, where NO_COLOR is not set.\n"
      "%s has every verb, option and key.\n",
      pto_page("cli.md"));
  return PTO_EXIT_OK;
}

static int refuse_verb(const char *name) {
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  pto_closest_begin(&closest, name);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(verbs); i++) pto_closest_consider(&closest, verbs[i].name);
  return pto_complain(PTO_EXIT_USAGE, "no verb is called \"%s\"; `ptosim --help` lists them%s", name,
                      pto_closest_question(&closest, question));
}

int pto_ptosim(int argc, char **argv) {
  if (argc < 2) {
    fputs("ptosim: no verb; `ptosim --help` lists them\n", stderr);
    return PTO_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) return help();
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) return pto_print_version(), PTO_EXIT_OK;
  const struct pto_verb *verb = find_verb(argv[1]);
  if (!verb) return refuse_verb(argv[1]);
  pto_interrupt_begin();
  return verb->main(argc - 1, argv + 1);
}
