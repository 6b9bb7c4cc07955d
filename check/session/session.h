/* SPDX-License-Identifier: MIT */
/*
 * One program, ready to run and judged: what every verb of ptosim that runs a program does between its options and its
 * report.  include/pto/tools.h is its face for others; this is what ptosim and the judges see of it besides.
 *
 *   init (program, chip, options, inputs, runtime) → execute (all rounds) → judge → fini
 *
 * Owns program, program run and runtime until fini.  Options are borrowed until then.
 *
 * A program runs on the session's runtime, or drives contexts of its own, which the session is told of
 * (device/context_watch.h).  What contexts that the program reports have recorded is put one behind the other.
 *
 * Always true: result.exit_code and result.error say what it came to so far; after the first step that did not answer
 * PTO_EXIT_OK no further step is due but fini.
 *
 * Threads: the one that will be the control thread.
 */
#ifndef PTO_CHECK_SESSION_SESSION_H
#define PTO_CHECK_SESSION_SESSION_H

#include <check/order/order_check.h>
#include <check/session/captured_tasks.h>
#include <check/session/given_values.h>
#include <check/session/subject.h>
#include <device/context_watch.h>
#include <orchestration/loader/program_run.h>
#include <pto/tools.h>
#include <report/export/export.h>
#include <report/findings/coverage.h>
#include <report/run/exit.h>
#include <report/run/alike_tasks.h>
#include <report/run/group_times.h>
#include <report/run/label_groups.h>
#include <report/run/result.h>
#include <report/run/timeline_stats.h>
#include <runtime/deadlock/wait_picture.h>
#include <runtime/deps/rules.h>
#include <runtime/trace/trace.h>
#include <sim/chips/chip.h>

/* Who is told of the rounds, and of the contexts that the program drives.  Zeroed: no listener. */
struct pto_session_listener {
  /* A round has ended on the session's runtime, well or not, while its trace is there. */
  void (*round_ended)(void *argument, const struct pto_trace *trace);
  /* The program reports a context, before it is destroyed: what it has recorded; `first_task` is the number of its
   * first task among those of all contexts of the round. */
  void (*context_reported)(void *argument, const struct pto_trace *trace, uint64_t first_task);
  /* As those of struct pto_context_watch; of refusals the session keeps the account. */
  int (*context_created)(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes,
                         struct pto_error *error);
  void (*context_destroyed)(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters,
                            const struct pto_trace *recording);
  void *argument;
};

struct pto_session {
  struct pto_session_options options;
  struct pto_config asked; /* options.config, zeroed where there is none */
  struct pto_subject subject;
  struct pto_program_run *run;
  struct pto_runtime *rt; /* NULL for programs that drive contexts of their own */
  struct pto_config config;
  uint32_t rules;             /* as config.deps: those asked for, else the program's own, else exact */
  struct pto_trace recording; /* of contexts that the program drives and reports, where it is asked for; else zeroed */
  uint64_t reported_ps, reported_count; /* virtual time of the contexts in it, and how many they are */
  uint64_t context_count;               /* contexts that the program has made in the round, reported or not */
  uint64_t dispatches;                  /* of them */
  struct pto_context_watch context_watch;
  struct pto_runtime *context_rt;   /* of the context that was made last; NULL: it is gone */
  struct pto_wait_picture *stopped; /* of the first context that stopped; NULL: none did */
  FILE *nowhere;                    /* where the program's text goes that is not shown */
  struct pto_context_remark remarks[PTO_REMARK_COUNT];
  struct pto_finding refusal;               /* the first, without its sentence */
  char refusal_sentence[PTO_SENTENCE_SIZE]; /* result.first_refusal */
  size_t refusal_reason;                    /* where in it the sentence of the call begins */
  struct pto_failed_kernel failed_kernel;   /* of the first context that one has failed in; zeroed: none has */
  struct pto_chip chip;
  struct pto_deps_name deps_name, deps_list; /* of config.deps, for `result` */
  struct pto_run_result result;
  struct pto_timeline_stats timeline; /* where the time went, once it was asked, as what follows */
  struct pto_group_times node_times;  /* of a graph: by node */
  struct pto_label_groups labels;
  struct pto_group_times label_times; /* by these */
  struct pto_alike_tasks alike;
  struct pto_session_listener listener; /* set it after init */
  const struct pto_array *wrong_array;  /* of the first wrong element that judge has found; NULL: it has found none */
  uint64_t wrong_element;               /* its row-major index */
  struct pto_captured_tasks *captured;  /* NULL: none are */
  struct pto_given_values *values;      /* with no_compute: where elements come from; else NULL */
};

/* What the sizes of the caller's structs say is there, the rest zeroed; to->config is `config`.  PTO_OK, or PTO_EINVAL
 * with the sentence. */
int pto_session_copy_options(struct pto_session_options *to, struct pto_config *config,
                             const struct pto_session_options *from, struct pto_error *error);

/* Each returns an enum pto_exit; fini is due in any case. */
int pto_session_init(struct pto_session *session, const struct pto_session_options *options);
/* The same for a caller that judges the record of the run, its graph, under session->rules.  The run is made under
 * exact rules whatever these are, so that what the orchestration reads of its own results is right (but for graphs,
 * which are lowered by the rules that they run under); in virtual time unless an engine is asked for. */
int pto_session_init_judged(struct pto_session *session, const struct pto_session_options *options);
int pto_session_execute(struct pto_session *session);
int pto_session_judge(struct pto_session *session);
/* Adds the finding `wrong` of a session that was judged so: "BEFOREoutput z[2,0]: …BEHIND; …", with the last task that
 * declares to write the first wrong element. */
void pto_session_add_wrong(const struct pto_session *session, struct pto_findings *findings,
                           const struct pto_finding *wrong, const char *before, const char *behind);
/* What the contexts that the program has reported in the last round came to: the stats of `result`. */
void pto_session_take_counters(struct pto_session *session);
/* Whether submits of the last round were refused that the program does not expect to be. */
bool pto_session_has_bad_refusals(const struct pto_session *session);
/* A zeroed one is allowed. */
void pto_session_fini(struct pto_session *session);

/* Ends the session with this status and sentence; returns `exit_code`. */
int pto_session_end(struct pto_session *session, int exit_code, const struct pto_error *error);

/* What was recorded; NULL where nothing was. */
const struct pto_trace *pto_session_trace(const struct pto_session *session);
/* What exports are told besides. */
struct pto_export_info pto_session_info(const struct pto_session *session);
/* Of the run that goes on, the session's own or a context's; NULL: there is none. */
struct pto_runtime *pto_session_runtime(const struct pto_session *session);
/* The name of the program's array at an address, or NULL: for struct pto_order_question. */
const char *pto_session_array_at(void *session, uint64_t base);
/* "3 gemm query", the node of a graph that the task is of; NULL where the program is no graph, or the task of none. */
const char *pto_session_node_of(void *session, uint64_t task);
/* Whether tasks depend on the rules that they run under: graphs are lowered by them. */
bool pto_session_is_lowered(const struct pto_session *session);
/* Whether code of a program submits its tasks, which may use memory by itself: not of graphs and captures. */
bool pto_session_has_orchestration(const struct pto_session *session);

/* Where the time of the last round went; result.timeline and result.groups are set then.  has_gains: and what would
 * make it shorter (pto_timeline_stats_init).  PTO_OK, or PTO_ENOTSUP or PTO_ENOMEM with the sentence. */
PTO_MUST_CHECK int pto_session_take_account(struct pto_session *session, bool has_gains, struct pto_error *error);
/* Whether the graph of the last round was recorded: PTO_OK, or PTO_ENOTSUP with the sentence. */
PTO_MUST_CHECK int pto_session_has_graph(const struct pto_session *session, struct pto_error *error);
/* Pairs of conflicting accesses that nothing orders under `rules`, of what the last round has recorded; in sentences,
 * tasks of a graph are told with their nodes.  PTO_OK, or PTO_ENOMEM, PTO_EINVAL, PTO_ENOTSUP with the sentence. */
PTO_MUST_CHECK int pto_session_check_order(const struct pto_session *session, uint32_t rules,
                                           struct pto_findings *findings, struct pto_order_counts *counts,
                                           struct pto_error *error);

/* Findings of a session whose program is a graph tell the nodes of their tasks, and no lines; of several ranks those of
 * the session's own.  Once. */
void pto_session_name_nodes(const struct pto_session *session, struct pto_findings *findings);
/* Takes back what is told of seeds where the program has used none. */
void pto_session_cover_seeds(const struct pto_session *session, struct pto_coverage *coverage);

/* ---- files of arrays (check/session/arrays.c) ---- */

/* Whether the files of options name arrays and can be written; reads the inputs.  PTO_OK, or the sentence in
 * session->result.error. */
PTO_MUST_CHECK int pto_session_read_inputs(struct pto_session *session);
PTO_MUST_CHECK int pto_session_check_outputs(struct pto_session *session);
PTO_MUST_CHECK int pto_session_read_goldens(struct pto_session *session);
/* PTO_OK, or the status of the first file that cannot be written. */
PTO_MUST_CHECK int pto_session_put_outputs(struct pto_session *session, struct pto_error *error);

#endif
