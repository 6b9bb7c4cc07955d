/* SPDX-License-Identifier: MIT */
/*
 * What `ptosim graph --steps` says of its steps.
 */
#include <cli/graph/command.h>

#include <inttypes.h>
#include <stdio.h>

#include <formats/units.h>
#include <report/run/result.h>

/* Tokens that are printed at most; --json has all. */
#define MOST_TOKENS 32u

static const char *kv_of(const struct pto_graph_command *command) {
  return command->steps.is_in_place ? "inplace" : "pingpong";
}

void pto_graph_steps_print(const struct pto_graph_command *command) {
  const struct pto_graph_steps_result *r = &command->stepped;
  const uint64_t steps = command->steps.count;
  char first[32], later[32];
  printf("steps      %" PRIu64 ", %" PRIu32 " states of %" PRIu64 " bytes %s; the first %s", steps, r->state_count,
         r->state_bytes, command->steps.is_in_place ? "in place" : "in two tensors each, in turn",
         pto_format_seconds(r->first_seconds, first, sizeof first));
  if (steps > 1) printf(", others %s", pto_format_seconds(r->later_seconds / (double)(steps - 1), later, sizeof later));
  printf("\nmoved by   the steps after the first: %" PRIu64 " bytes to the device, %" PRIu64 " back, %" PRIu64
         " on it; %" PRIu64 " allocations\n",
         r->all.h2d_bytes - r->first.h2d_bytes, r->all.d2h_bytes - r->first.d2h_bytes,
         r->all.d2d_bytes - r->first.d2d_bytes, r->all.allocations - r->first.allocations);
  if (r->tokens) printf("tokens    ");
  for (uint64_t t = 0; r->tokens && t < steps && t < MOST_TOKENS; t++) printf(" %" PRIu64, r->tokens[t]);
  if (r->tokens) puts(steps > MOST_TOKENS ? " …" : "");
  if (command->compare)
    printf("compared   outputs of every step: at step %" PRIu64 " they are %.3g of their size from the reference's\n",
           r->worst_step, r->worst_error);
}

void pto_graph_steps_put(struct pto_json_writer *w, const struct pto_graph_command *command) {
  const struct pto_graph_steps_result *r = &command->stepped;
  pto_json_put_object(w, "steps");
  pto_json_put_u64(w, "count", command->steps.count);
  pto_json_put_string(w, "kv", kv_of(command));
  pto_json_put_u64(w, "states", r->state_count);
  pto_json_put_u64(w, "state_bytes", r->state_bytes);
  pto_json_put_u64(w, "later_h2d_bytes", r->all.h2d_bytes - r->first.h2d_bytes);
  pto_json_put_u64(w, "later_d2h_bytes", r->all.d2h_bytes - r->first.d2h_bytes);
  pto_json_put_u64(w, "later_d2d_bytes", r->all.d2d_bytes - r->first.d2d_bytes);
  pto_json_put_u64(w, "later_allocations", r->all.allocations - r->first.allocations);
  pto_json_put_u64(w, "binding_copied_bytes", r->all.binding_copied_bytes);
  pto_json_put_double(w, "first_seconds", r->first_seconds);
  pto_json_put_double(w, "later_seconds", r->later_seconds);
  if (pto_json_try_key(w, "tokens", r->tokens)) {
    pto_json_array_begin(w);
    for (uint64_t t = 0; t < command->steps.count; t++) pto_json_u64(w, r->tokens[t]);
    pto_json_array_end(w);
  }
  if (command->compare) {
    pto_json_put_double(w, "worst_error", r->worst_error);
    pto_json_put_u64(w, "worst_step", r->worst_step);
  }
  pto_json_object_end(w);
}
