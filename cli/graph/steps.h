/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph --steps N`: a graph run step after step on one context, its state fed back on the device.
 *
 * Inputs are of four kinds:
 *   state      "past_NAME" where there is an output NAME of the same dtype and shape, or INPUT of --state INPUT=OUTPUT:
 *              zeroed, or from its file, then what the step before has left in the output; never on the host
 *   "position" one integer: that of its file, else 0, and one more with each step
 *   "token"    one integer: its own at first, then the index of the largest of the last row of output "logits"
 *   others     written once
 *
 * Two tensors of a state take turns (pingpong), or the step consumes its state and writes it in place (inplace).
 *
 * Owns nothing after the call but the tokens in the result.  One thread.
 */
#ifndef PTO_CLI_GRAPH_STEPS_H
#define PTO_CLI_GRAPH_STEPS_H

#include <cli/run/options.h>
#include <pto/device.h>
#include <runtime/base/error.h>

/* What the options ask for. */
struct pto_graph_steps_request {
  uint64_t count;               /* 0: no steps */
  bool is_in_place;             /* --kv inplace */
  struct pto_string_list pairs; /* of --state */
};

/* What came of it. */
struct pto_graph_steps_result {
  uint32_t state_count;
  uint64_t state_bytes;                   /* of one set */
  uint64_t *tokens;                       /* that "token" was, by step; NULL without that input; freed by fini */
  struct pto_context_counters first, all; /* after the first step, which moves weights and lowers; after the last one */
  double first_seconds, later_seconds;    /* wall time of the first, and of all others */
  double least_later_seconds;             /* of the fastest of the others; 0 where there is none */
  double worst_error; /* with --compare: largest difference over largest magnitude of an output that is read, of any
                         step */
  uint64_t worst_step;
};

struct pto_graph_command;
struct pto_program_run;
/* Runs the steps on a context, which it reports; outputs of the last one, states too, go to command->outputs.  PTO_OK,
 * or the sentence in `error`. */
PTO_MUST_CHECK int pto_graph_command_steps(struct pto_graph_command *command, struct pto_program_run *run,
                                           struct pto_error *error);
void pto_graph_steps_print(const struct pto_graph_command *command);
struct pto_json_writer;
/* The member "steps" of the object of --json; null where it has not stepped. */
void pto_graph_steps_put(struct pto_json_writer *w, const struct pto_graph_command *command);

#endif
