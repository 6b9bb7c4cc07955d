/* SPDX-License-Identifier: MIT */
#include <cli/main/verb.h>

#include <cli/main/fault_report.h>
#include <cli/main/interrupt.h>

#include <stdarg.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

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

/* ---- the process ---- */

/* What jansson asks for.  Where it gets nothing it may lose parts of what it reads and writes, and say nothing. */
static void *take_json_memory(size_t size) {
  static const char message[] = "ptosim: no memory for JSON\n";
  void *memory = malloc(size);
  if (memory) return memory;
  (void)!write(STDERR_FILENO, message, sizeof message - 1);
  _exit(PTO_EXIT_FAILED);
}

/* Those that the caller has closed: a file that is opened would be taken for them. */
static void open_standard_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int run_verb(const struct pto_verb *verb, int argc, char **argv) {
  struct pto_error error;
  json_set_alloc_funcs(take_json_memory, free);
  pto_interrupt_begin();
  if (pto_fault_report_init(pto_fault_report_say, NULL, &error))
    return pto_complain(PTO_EXIT_FAILED, "%s", error.sentence);
  const int code = verb->main(argc, argv);
  pto_interrupt_let_finish();
  pto_fault_report_fini();
  return code;
}

static int run_words(int argc, char **argv) {
  if (argc < 2) {
    fputs("ptosim: no verb; `ptosim --help` lists them\n", stderr);
    return PTO_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) return help();
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) return pto_print_version(), PTO_EXIT_OK;
  const struct pto_verb *verb = find_verb(argv[1]);
  return verb ? run_verb(verb, argc - 1, argv + 1) : refuse_verb(argv[1]);
}

int pto_ptosim(int argc, char **argv) {
  open_standard_streams();
  const int code = run_words(argc, argv);
  /* What was printed has arrived, or the run did not succeed: findings are on standard output too. */
  const bool is_lost = fflush(stdout) != 0 || ferror(stdout);
  if (is_lost && (code == PTO_EXIT_OK || code == PTO_EXIT_FINDINGS))
    return pto_complain(PTO_EXIT_FAILED, "standard output cannot be written");
  return code;
}
