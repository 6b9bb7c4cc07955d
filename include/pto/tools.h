/* SPDX-License-Identifier: MIT */
/*
 * libptotools: what judges programs and tells of their runs.  It takes every program: one of the list or of a shared
 * object, a graph of operations, or a struct pto_program that the caller made at run time.
 *
 *   open (program, options, inputs, runtime) → run (all rounds) → verify → result, exports, check → close
 *
 * observe and explore run a program in their own ways, and so take the same options and no session.
 *
 * Errors.  A function that can fail returns PTO_OK or a negative status of pto/status.h; the sentence is written to the
 * caller's buffer (`sentence`, sentence_size bytes, may be NULL) or is the session's (pto_session_error).  The library
 * prints nothing, but for what a program prints to `text`.
 *
 * Ownership.  Strings and lists of options, and a program made by the caller, are borrowed until close.  What a call
 * gives through its last pointer is the caller's, and freed by the function that its comment names.
 *
 * Threads: a session is used by one thread, which is the control thread of its runs.  Two sessions share nothing; one
 * observation at a time in a process, which has signal handlers.
 */
#ifndef PTO_TOOLS_H
#define PTO_TOOLS_H

#include <stdio.h>

#include <pto/program.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_session;
struct pto_findings;
struct pto_report;
struct pto_baseline;

/* ---- sessions ---- */

/* A list of strings. */
struct pto_words {
  const char *const *items;
  uint32_t count;
};

/* Zeroed fields mean the default in brackets.  Start with `struct pto_session_options o = {.size = sizeof o};`. */
struct pto_session_options {
  size_t size;
  const char *program; /* a name of `ptosim list programs`, FILE.so, FILE.json (a graph or a capture), FILE.webnn, or
                          model:NAME */
  const struct pto_program *made;  /* instead of `program`, which is then its name [made->name] */
  const char *case_name;           /* [none] */
  struct pto_words settings;       /* KEY=VALUE each, as of --set */
  struct pto_words inputs;         /* NAME=FILE.npy: inputs that files give */
  struct pto_words expects;        /* NAME=FILE.npy: goldens of outputs */
  struct pto_words outputs;        /* NAME=FILE.npy: outputs that pto_session_write_outputs writes */
  uint64_t seed;                   /* of the inputs [0] */
  uint32_t rounds;                 /* how often it runs; all must give the same bytes [1] */
  const struct pto_config *config; /* fields that are not zero stand above what the program wants; copied [none] */
  bool has_deps, has_timeout;      /* config->deps, config->timeout_ms stand above it also where they are zero */
  bool has_rtol, has_atol;
  double rtol, atol; /* [the program's] */
  FILE *text;        /* where the program prints to [nowhere] */
  /* A power of two, at least a page: each array of the program has whole units of so many bytes for itself, and one in
   * front of it and behind [one without access on each side of most arrays, so that who runs off them ends there]. */
  uint64_t array_margin_bytes;
  /* With config->no_compute: kernels take their time and are not run, nothing is verified.  Elements that the
   * orchestration or a predicate reads are those of a file of format pto-values [none], else 0 where assume_zero. */
  const char *values;
  bool assume_zero;
  /* With config->no_compute: inputs of whole numbers, of up to a million elements, are made all the same, and elements
   * that no task has written are read there: lengths and tables by which an orchestration goes. */
  bool small_inputs;
  /* Called with what goes on: "running", 2, 10.  count 0: not known.  [none] */
  void (*progress)(const char *stage, unsigned done, unsigned count);
};

/* Loads the program, makes its inputs, and a runtime where it does not drive contexts of its own.  On failure
 * *session_out is untouched. */
PTO_API PTO_MUST_CHECK int pto_session_open(const struct pto_session_options *options, struct pto_session **session_out,
                                            char *sentence, size_t sentence_size);
/* NULL is allowed. */
PTO_API void pto_session_close(struct pto_session *session);
/* All rounds.  PTO_OK, or the status of the run that failed; PTO_EINVAL where two rounds differed. */
PTO_API PTO_MUST_CHECK int pto_session_run(struct pto_session *session);
/* Outputs against the program's golden, those of `expects`, and what its case states.  After a run that was PTO_OK.
 * PTO_OK, also where there is no golden; PTO_EINVAL where an output is wrong. */
PTO_API PTO_MUST_CHECK int pto_session_verify(struct pto_session *session);
/* The first failure's sentence, or what is wrong with the outputs; "" where nothing is.  Borrowed until close. */
PTO_API const char *pto_session_error(const struct pto_session *session);

/* The elements of an output (or input) of the program, dense; *size_bytes_out may be NULL.  NULL where there is no such
 * array.  Borrowed until close. */
PTO_API const void *pto_session_array(const struct pto_session *session, const char *name, uint64_t *size_bytes_out);
/* Writes the files of options.outputs, of the last round. */
PTO_API PTO_MUST_CHECK int pto_session_write_outputs(struct pto_session *session, char *sentence, size_t sentence_size);
/* Writes the object of `ptosim run --json` to the file; "-" is standard output. */
PTO_API PTO_MUST_CHECK int pto_session_write_result(const struct pto_session *session, const char *path, char *sentence,
                                                    size_t sentence_size);
/* The same for people, as `ptosim run` prints it. */
PTO_API void pto_session_print_result(const struct pto_session *session, FILE *to);
/* Finds where the time of the last round went, which the result tells then (`stats`; of a graph `node_times`,
 * where there are labels `label_times` too).
 * PTO_ENOTSUP where it was not recorded: config->record has PTO_RECORD_TIMELINE, and for the critical path
 * PTO_RECORD_GRAPH. */
PTO_API PTO_MUST_CHECK int pto_session_account(struct pto_session *session, char *sentence, size_t sentence_size);

/* ---- exports ---- */

/* What config->record must have for an export (enum pto_record bits, 0: nothing); UINT32_MAX where none has this name.
 * Names: "trace", "report" (after pto_session_account), "dot", "deps-json", "waits-dot".  The path's ending
 * says in which format a trace is: .pftrace, .et, else JSON. */
PTO_API uint32_t pto_export_record(const char *name);
/* Writes it, after a run, well or not.  PTO_EINVAL: no such export; PTO_ENOTSUP: nothing was recorded for it. */
PTO_API PTO_MUST_CHECK int pto_session_export(const struct pto_session *session, const char *name, const char *path,
                                              char *sentence, size_t sentence_size);

/* ---- findings ---- */

/* One thing that is wrong, or a note.  Strings are borrowed until pto_findings_destroy. */
struct pto_found {
  size_t size;
  const char *kind;     /* "RAW", "not written", "order", … */
  bool is_note;         /* told, and no verdict */
  uint64_t tasks[2];    /* numbers in submission order; UINT64_MAX: none */
  uint64_t params[2];   /* of tasks[i]; UINT64_MAX: none */
  const char *sentence; /* "task 4 (reader) reads …", without the kind */
  const char *remedy;   /* what to add or change, in code between `s where it is a line; NULL: none is known */
  const char *decided;  /* "all orders", "this order" or "sampled" */
};

/* How many there are, notes too; those that count, kept or not.  At most 10 000 are kept. */
PTO_API uint32_t pto_findings_count(const struct pto_findings *findings);
PTO_API uint64_t pto_findings_total(const struct pto_findings *findings);
/* Fills what fits into found->size bytes; false past the end. */
PTO_API bool pto_findings_at(const struct pto_findings *findings, uint32_t index, struct pto_found *found);
/* One JSON object: `findings` (an array of kind, note, tasks, params, sentence, remedy, more), `finding_count` and
 * `findings_lost`. */
PTO_API PTO_MUST_CHECK int pto_findings_write(const struct pto_findings *findings, const char *path, char *sentence,
                                              size_t sentence_size);
/* NULL is allowed. */
PTO_API void pto_findings_destroy(struct pto_findings *findings);

/* ---- reports: what a judge has to tell, as ptosim prints it and writes it with --json ---- */

/* What that means is said where a report is made. */
PTO_API bool pto_report_is_clean(const struct pto_report *report);
/* Perhaps none.  Borrowed until pto_report_destroy. */
PTO_API const struct pto_findings *pto_report_findings(const struct pto_report *report);
PTO_API void pto_report_print(const struct pto_report *report, FILE *to);
PTO_API PTO_MUST_CHECK int pto_report_write(const struct pto_report *report, const char *path, char *sentence,
                                            size_t sentence_size);
/* NULL is allowed. */
PTO_API void pto_report_destroy(struct pto_report *report);

/* ---- baselines: what runs came to before, each by a name, in a JSON file for git ---- */

/* Also an empty one where there is no such file and it may be missing.  The file of `ptosim regress` is one. */
PTO_API PTO_MUST_CHECK int pto_baseline_open(const char *path, bool may_be_missing, struct pto_baseline **baseline_out,
                                             char *sentence, size_t sentence_size);
/* Whether the session's run, which has been verified where it ended well, came to the same counts, virtual time,
 * outputs and status.  PTO_OK; PTO_EINVAL with what changed; PTO_ENOTSUP where the name is not in the baseline. */
PTO_API PTO_MUST_CHECK int pto_baseline_compare(const struct pto_baseline *baseline, const char *name,
                                                const struct pto_session *session, char *sentence,
                                                size_t sentence_size);
/* Puts it there, or in the place of what was. */
PTO_API PTO_MUST_CHECK int pto_baseline_put(struct pto_baseline *baseline, const char *name,
                                            const struct pto_session *session, char *sentence, size_t sentence_size);
/* Writes a new file, which then replaces the old one. */
PTO_API PTO_MUST_CHECK int pto_baseline_write(const struct pto_baseline *baseline, const char *path, char *sentence,
                                              size_t sentence_size);
/* NULL is allowed. */
PTO_API void pto_baseline_close(struct pto_baseline *baseline);

/* ---- one task ---- */

/* Before a run that records its graph: keeps tasks of it, "3,5-9", "down_proj", "first:down_proj", each in the folder
 * of its number in the folder `path`.  Kernels are constants of the library or of the program's file. */
PTO_API PTO_MUST_CHECK int pto_session_capture(struct pto_session *session, const char *tasks, const char *path,
                                               char *sentence, size_t sentence_size);
/* After it: *count_out is how many were kept.  PTO_OK, or the status of the first that could not be. */
PTO_API PTO_MUST_CHECK int pto_session_captured(struct pto_session *session, uint64_t *count_out, char *sentence,
                                                size_t sentence_size);

/* Zeroed fields mean the default in brackets. */
struct pto_replay_request {
  size_t size;
  const char *folder;  /* of one task */
  const char *library; /* its kernels of the same names run instead [none] */
  uint64_t runs;       /* each from the bytes that were kept [1] */
  bool has_tolerance;  /* rtol, atol [bit by bit; with a library by dtype] */
  double rtol, atol;
  const struct pto_config *config; /* engine and chip: those of the run unless given [none] */
};
/* Runs it again, alone, and compares what it leaves.  Clean: the same, in every run.  The report is given also where
 * the task could not be run, or failed; only for a wrong request, or without memory, it is not.  Strings are borrowed
 * until it is destroyed. */
PTO_API PTO_MUST_CHECK int pto_tools_replay(const struct pto_replay_request *request, struct pto_report **report_out,
                                            char *sentence, size_t sentence_size);

/* ---- judges ---- */

/* Pairs of conflicting accesses that nothing orders under `rules` (enum pto_deps_rules), whatever order happened. After
 * a run, failed or not, that recorded its graph (config->record has PTO_RECORD_GRAPH; else PTO_ENOTSUP). */
PTO_API PTO_MUST_CHECK int pto_session_check(const struct pto_session *session, uint32_t rules,
                                             struct pto_findings **findings_out, char *sentence, size_t sentence_size);

/* Zeroed fields mean the default in brackets. */
struct pto_why_request {
  size_t size;
  uint64_t tasks[2]; /* numbers in submission order, either first */
  bool has_rules;    /* only `rules` (enum pto_deps_rules) [all] */
  uint32_t rules;
};
/* Why one task comes after the other: the edge and its reasons, else a shortest path, else what both touch and why that
 * orders nothing.  Clean: an edge or a path is there, under all rules that were asked for.  After a run as of
 * pto_session_check.  The report is destroyed before the session. */
PTO_API PTO_MUST_CHECK int pto_session_why(const struct pto_session *session, const struct pto_why_request *request,
                                           struct pto_report **report_out, char *sentence, size_t sentence_size);

/* What differs between the graphs of two runs, files of the export "deps-json".  Clean: nothing does.  The paths are
 * borrowed until the report is destroyed. */
PTO_API PTO_MUST_CHECK int pto_tools_diff(const char *path_a, const char *path_b, struct pto_report **report_out,
                                          char *sentence, size_t sentence_size);

/* The same of programs: each side's options.program is such a file, or a program, which runs once, in virtual time
 * unless its config says otherwise.  Where a side is a capture, tasks are matched by number, without allocations, and
 * edges alone are compared.  PTO_OK, or the status of the run that failed.  Options are borrowed until the report is
 * destroyed. */
PTO_API PTO_MUST_CHECK int pto_tools_diff_programs(const struct pto_session_options *a,
                                                   const struct pto_session_options *b, struct pto_report **report_out,
                                                   char *sentence, size_t sentence_size);

/* Zeroed fields mean the default in brackets. */
struct pto_observe_request {
  size_t size;
  bool has_tasks; /* only those numbered first_task … last_task [all] */
  uint64_t first_task, last_task;
  uint64_t calls_a_form; /* of calls with the same kernels and shapes, so many [all] */
  uint32_t ranks;        /* that the program runs on, in virtual time [as many as it is for; else one chip] */
};
/* What kernels touch and their tasks do not declare: runs the program on the engine "observe"; on several ranks calls
 * that talk to other ranks are run once.  `request` may be NULL.  Findings are given also where the run failed. */
PTO_API PTO_MUST_CHECK int pto_tools_observe(const struct pto_session_options *options,
                                             const struct pto_observe_request *request,
                                             struct pto_findings **findings_out, char *sentence, size_t sentence_size);

/* Zeroed fields mean the default in brackets. */
struct pto_explore_request {
  size_t size;
  uint64_t schedules; /* orders that are tried [200; with is_all at most 10 000] */
  bool is_all;        /* every order that may matter, each once */
};
/* Where outputs depend on the order of tasks: runs the program in many orders, and compares each with sequential
 * execution, to the bit.  `request` may be NULL.  What the program prints goes nowhere. */
PTO_API PTO_MUST_CHECK int pto_tools_explore(const struct pto_session_options *options,
                                             const struct pto_explore_request *request,
                                             struct pto_findings **findings_out, char *sentence, size_t sentence_size);

/* The same questions of a program on several ranks (pto/world.h), one thread, in virtual time.  Findings are given also
 * where the run failed, if there are any.
 *
 * check: what pto_session_check finds on each rank, under the rules of options->config [exact]; accesses of two ranks
 * to a window that nothing orders; collectives that are not the same on all ranks; what waits for ever.
 * explore: outputs, or ends, that depend on how late a rank is: so many runs in which ranks are late [200] are compared
 * with one in which none is. */
PTO_API PTO_MUST_CHECK int pto_tools_check_ranks(const struct pto_session_options *options, uint32_t ranks,
                                                 struct pto_findings **findings_out, char *sentence,
                                                 size_t sentence_size);
PTO_API PTO_MUST_CHECK int pto_tools_explore_ranks(const struct pto_session_options *options, uint32_t ranks,
                                                   uint64_t runs, struct pto_findings **findings_out, char *sentence,
                                                   size_t sentence_size);

/* ---- interrupts ---- */

/* For bindings of languages whose handlers run only after a call has returned.  From begin to end SIGINT asks all runs
 * whose config->stop is what begin returned to end with PTO_EINTERRUPTED, and then goes to the handler that was there;
 * without a handler it does what it did.  A run ends when its kernels return: another SIGINT two seconds after the
 * first ends the process.  Any thread; each begin has its end, and the last end forgets what was asked. */
PTO_API struct pto_stop *pto_tools_interrupts_begin(void);
PTO_API void pto_tools_interrupts_end(void);

#ifdef __cplusplus
}
#endif
#endif
