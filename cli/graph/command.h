/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph`: what its files share: the command, and the engines that run a graph.
 *
 * A run is that of a session (check/session/session.h), whose program is the graph with a host function: on a context,
 * so that states can stay on the device and transfers are counted.
 *
 * Owns the graph, its program and the session of a command until its fini; strings are argv's or the graph's.
 *
 * To add an engine: a function and its line in `engines` of cli/graph/command.c.  One thread.
 */
#ifndef PTO_CLI_GRAPH_COMMAND_H
#define PTO_CLI_GRAPH_COMMAND_H

#include <check/session/graph_program.h>
#include <check/session/session.h>
#include <cli/graph/steps.h>
#include <cli/run/options.h>
#include <formats/json_writer.h>
#include <graph/reference/reference.h>
#include <graph/run/explain.h>
#include <report/findings/findings.h>

struct pto_graph_command;

/* What a run on a simulated chip came to; zeroed: it was on the host. */
struct pto_graph_record {
  bool has_device, is_virtual;
  char chip[64];
  uint32_t workers;
  double wall_seconds; /* from the first call to the last output */
  struct pto_context_counters counters;
};

/* What an engine is given.  `observe` (may be NULL) sees the results of each node, in their order, as that of
 * pto_graph_reference_run does.  `run` is the program run of the session that runs it. */
struct pto_graph_job {
  struct pto_graph_command *command;
  struct pto_program_run *run;
  struct pto_graph *graph;
  const void *const *inputs;
  void *const *outputs;
  pto_reference_observer *observe;
  void *observe_context;
};
typedef int pto_graph_engine_run(const struct pto_graph_job *job, struct pto_error *error);
struct pto_graph_engine {
  const char *name;
  pto_graph_engine_run *run;
};
/* On a simulated chip, by a context of its own, which it reports (cli/graph/context.c).  What observe sees is of a
 * second run, in which the result of every node is an output, but of those inside a fused group, which it does not see;
 * the outputs themselves are those of the plain run. */
pto_graph_engine_run pto_graph_run_on_device;
/* NULL where there is none of this name. */
const struct pto_graph_engine *pto_graph_engine_find(const char *name);

/* A context with room for the graph; `config` may leave chip and heap open.  The sentence goes to `error`. */
PTO_MUST_CHECK int pto_graph_open_context(const struct pto_graph *graph, const struct pto_config *config,
                                          struct pto_context **context_out, struct pto_error *error);
/* Takes what the context has counted since it was made. */
void pto_graph_record_take(struct pto_graph_record *record, struct pto_context *context);

/* What a comparison of the results of nodes came to. */
struct pto_graph_divergence {
  uint64_t nodes, elements;    /* compared */
  uint64_t fused_nodes;        /* inside groups, which are compared at their last node */
  uint64_t diverging_nodes;    /* beyond tolerance; 1 at most where the first ends it */
  uint64_t diverging_elements; /* of all of them */
  double worst_ulps;           /* of all elements */
  double worst_of_tolerance;   /* of all elements: difference over what is allowed */
  double end_error;            /* of outputs: largest difference over largest magnitude, the reference left alone */
  bool is_found;
  /* Of the first node beyond tolerance, its worst element: */
  uint32_t node, result;
  const char *fused;               /* the pattern, where it is the last of a group; else NULL */
  uint64_t element, node_elements; /* index, row-major; how many of this result are beyond */
  double got, expected, ulps, tolerance;
};

struct pto_graph_command {
  struct pto_run_options options;
  const char *path; /* of the graph; NULL: a model */
  const char *model, *save_path, *weights_path, *manifest_path, *output_dir, *compare, *dot_path;
  uint32_t save_weights; /* enum pto_graph_weights_form */
  bool validate, run, check, explain, first_divergence, has_kv, is_unfused;
  struct pto_graph *graph;
  struct pto_graph_program *program; /* NULL: there was nothing to run */
  struct pto_session session;
  void **inputs, **outputs; /* dense bytes of the session's arrays, in the graph's order */
  const struct pto_graph_engine *on;
  struct pto_graph_job job;
  const char *engine; /* that it ran on; NULL: on none */
  struct pto_graph_record record;
  bool has_checked; /* of --check, what follows */
  struct pto_findings findings;
  struct pto_order_counts counts;
  struct pto_graph_divergence divergence;
  struct pto_graph_explanation explanation;
  struct pto_graph_record explained; /* of the run that explains */
  struct pto_graph_steps_request steps;
  struct pto_graph_steps_result stepped;
  bool has_run, has_compared, has_explained, has_stepped;
  int exit_code;
  struct pto_error error;
};

/* The session, with arrays for the graph's inputs, from --input or the seed, and for its outputs.  PTO_OK, or the
 * sentence in command->error, as the others. */
PTO_MUST_CHECK int pto_graph_command_open(struct pto_graph_command *command);
/* What was asked for, for a context without a session. */
struct pto_config pto_graph_command_config(const struct pto_graph_command *command);
void pto_graph_command_fini(struct pto_graph_command *command);
/* Runs it on `engine`, step after step with --steps; takes what --stats and --check ask for, and writes files. */
PTO_MUST_CHECK int pto_graph_command_run(struct pto_graph_command *command, const struct pto_graph_engine *engine);
/* The same, and compares the results of all nodes with the reference's, or up to the first beyond tolerance, whose
 * tensors go to --output-dir. */
PTO_MUST_CHECK int pto_graph_command_compare(struct pto_graph_command *command, const struct pto_graph_engine *engine);
/* The options without the verb's own JSON. */
struct pto_run_options pto_graph_command_files(const struct pto_graph_command *command);
/* Explains it on --chip, in virtual time; the table, and the member of the object of --json. */
PTO_MUST_CHECK int pto_graph_command_explain(struct pto_graph_command *command);
void pto_graph_explain_print(const struct pto_graph_command *command);
void pto_graph_explain_put(struct pto_json_writer *w, const struct pto_graph_command *command);
/* Writes dense bytes to DIR/NAME.ENDING.npy; letters that a file name may not have are written as %XX. */
PTO_MUST_CHECK int pto_graph_write_npy(const char *dir, const char *name, const char *ending,
                                       const struct pto_graph_desc *desc, const void *data, struct pto_error *error);

/* The summary and what was run, compared or explained, on standard output. */
void pto_graph_report_print(const struct pto_graph_command *command);
/* The members of the object of --json; `command` is a pto_graph_command. */
void pto_graph_report_put(struct pto_json_writer *w, const void *command);

/* Distance of two values in units of the last place of `dtype`, both rounded to it: how many values of the dtype lie
 * between, plus one; for integers the difference.  Two NaN are equal, NaN and a number infinitely far. */
double pto_graph_ulps(uint32_t dtype, double a, double b);
/* An element as a number. */
double pto_graph_element(const struct pto_reference_tensor *tensor, uint64_t i);
/* The largest difference of two tensors' elements over the largest magnitude of those expected; a NaN that the other
 * does not have is left out, or infinitely far.  False without memory. */
PTO_MUST_CHECK bool pto_graph_distance(const struct pto_graph_desc *desc, const void *got_bytes,
                                       const void *expected_bytes, bool counts_nan, double *distance_out);

#endif
