/* SPDX-License-Identifier: MIT */
/*
 * The verbs of ptosim: one table, one file each, and their exit statuses.
 *
 * To add a verb: cli/verbs/NAME.c with a function of type pto_verb_main, and one line in PTO_VERB_LIST.
 *
 * The main thread only.  Constants; what a verb makes it frees before it returns.
 */
#ifndef PTO_CLI_MAIN_VERB_H
#define PTO_CLI_MAIN_VERB_H

#include <stdbool.h>
#include <stddef.h>

#include <formats/json_writer.h>
#include <report/run/exit.h>
#include <runtime/base/error.h>

/* argv[0] is the verb.  Returns an enum pto_exit; has said why where that is not 0. */
typedef int pto_verb_main(int argc, char **argv);

/* X(name of C, name, what it takes, one line of what it does) */
#define PTO_VERB_LIST(X)                                                                                               \
  X(list, "list", "[programs|kernels|ops|fusions|models|chips|policies] [NAME...]",                                    \
    "what there is to run, and on what")                                                                               \
  X(op, "op", "test|perf|support NAME [OPTION...]", "tries, times or lists kernels, and operations of graphs")         \
  X(run, "run", "PROGRAM [OPTION...]", "runs a program, verifies it, and reports, records or draws the run")           \
  X(check, "check", "PROGRAM [OPTION...]", "tells conflicting accesses that nothing orders, whatever order happened")  \
  X(why, "why", "PROGRAM A B [OPTION...]", "tells why task B comes after task A, or why nothing orders them")          \
  X(explore, "explore", "PROGRAM [--schedules N|--all] [OPTION...]",                                                   \
    "runs a program in many orders, and says where its outputs differ")                                                \
  X(perf, "perf", "PROGRAM [OPTION...]", "samples a run with perf: time by kernel, core, task and control work")       \
  X(import, "import", "FILE... -o NAME.json", "captures of the existing runtime as one file, which is a program")      \
  X(diff, "diff", "A B [OPTION...]", "what differs between the graphs of two runs: files, captures or programs")       \
  X(compare, "compare", "A B [OPTION...]", "what changed between two runs: recorded ones, programs or baselines")      \
  X(task, "task", "DIR/N [OPTION...]", "runs one task that --dump kept again, alone, and compares")                    \
  X(graph, "graph", "FILE|--model NAME [OPTION...]", "a graph of operations: what is in it, copies, pictures, runs")   \
  X(suite, "suite", "[PROGRAM...] [OPTION...]",                                                                        \
    "runs many programs on both engines, one process each, and prints a table")                                        \
  X(merge, "merge", "FILE... [OPTION...]", "what one run would have told, from the lines of its shards")               \
  X(predict, "predict", "PROGRAM [--runs N] [--jitter PERCENT] [OPTION...]",                                           \
    "how long a program takes on a chip, and how sure that is")                                                        \
  X(what_if, "what-if", "PROGRAM [--jobs N] [OPTION...]", "parts of a run and numbers of the chip halved, and curves") \
  X(validate, "validate", "ROWS.csv [-o PAGE.md] [OPTION...]",                                                         \
    "predictions beside measurements, and the errors as a page")                                                       \
  X(adopt, "adopt", "MANIFEST.json|DIR [OPTION...]", "runs programs and scene tests of the existing runtime")          \
  X(calibrate, "calibrate", "--chip CHIP [--data DIR] -o CHIP.ini", "a chip file from what was measured on hardware")  \
  X(regress, "regress", "LIST [OPTION...]", "runs a list of cases, and says what is not as a baseline has it")

#define X(name, word, arguments, summary) pto_verb_main pto_cmd_##name;
PTO_VERB_LIST(X)
#undef X

enum pto_verb_id {
#define X(name, word, arguments, summary) PTO_VERB_##name,
  PTO_VERB_LIST(X)
#undef X
      PTO_VERB_COUNT
};

struct pto_verb {
  const char *name, *arguments, *summary;
  pto_verb_main *main;
};

/* By index; NULL past the end. */
const struct pto_verb *pto_verb_at(size_t index);

/* "ptosim: SENTENCE" on standard error; returns `exit_code`. */
int pto_complain(int exit_code, const char *format, ...) PTO_PRINTF(2, 3);

/* "ptosim: VERB: no kernel …" with the nearest name; PTO_EXIT_USAGE. */
int pto_complain_no_kernel(const char *verb, const char *name);

/* What cannot be written afterwards is said before: "ptosim: PATH: REASON" and PTO_EXIT_USAGE for a file that could not
 * be opened, or PTO_EXIT_OK.  NULL is fine. */
int pto_complain_unwritable(const char *path);

/* Whether --json takes standard output: text for people would spoil it. */
bool pto_json_takes_stdout(const char *json_path);
/* The object of --json, whose members `put` writes; nothing where `path` is NULL.  Returns `exit_code`, or
 * PTO_EXIT_FAILED having said why. */
int pto_write_report(const char *path, void (*put)(struct pto_json_writer *w, const void *context), const void *context,
                     int exit_code);
/* How it ended: "status", "exit" and "error". */
void pto_put_end(struct pto_json_writer *w, const struct pto_error *error, int exit_code);

/* All of ptosim but main.  Memory that jansson does not get ends the process, with a sentence and PTO_EXIT_FAILED:
 * nothing is left of files that are open then (formats/new_file.h). */
int pto_ptosim(int argc, char **argv);

#endif
