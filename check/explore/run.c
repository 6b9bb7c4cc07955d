/* SPDX-License-Identifier: MIT */
#include <check/explore/run.h>

#include <stdio.h>
#include <string.h>

void pto_explore_run_once(struct pto_explore *explore, struct pto_runtime *rt,
                          const struct pto_explore_chooser *chooser, struct pto_explore_outcome *outcome) {
  memset(outcome, 0, sizeof *outcome);
  if (chooser) pto_engine_explore_set_chooser(pto_runtime_port(rt), chooser);
  pto_program_run_retry(explore->run);
  outcome->status = pto_program_run_orchestrate(explore->run, rt);
  if (!explore->has_reference) return;
  if (outcome->status != PTO_OK) {
    outcome->is_different = true;
    snprintf(outcome->text, sizeof outcome->text, "the run ended with %s (%.800s)", pto_status_name(outcome->status),
             pto_program_run_error(explore->run)->sentence);
  } else if (!pto_explore_outputs_are_same(&explore->outputs, explore->run, outcome->text, sizeof outcome->text)) {
    outcome->is_different = true;
    outcome->digest = pto_program_run_digest(explore->run);
  }
}

int pto_explore_run_named(struct pto_explore *explore, struct pto_schedule_name name,
                          struct pto_explore_outcome *outcome) {
  struct pto_strategy strategy;
  const struct pto_explore_chooser chooser = {pto_strategy_choose, &strategy};
  explore->current = name;
  pto_strategy_begin(&strategy, name, &explore->graph, explore->marks, explore->reference_steps);
  pto_explore_run_once(explore, explore->rt, &chooser, outcome);
  return PTO_OK;
}

int pto_explore_run_holds(struct pto_explore *explore, const struct pto_explore_holds *holds,
                          struct pto_explore_outcome *outcome) {
  struct pto_explore_replay replay = {0};
  const struct pto_explore_chooser chooser = {pto_explore_replay_choose, &replay};
  if (!pto_explore_replay_init(&replay, holds)) return PTO_ENOMEM;
  pto_explore_replay_begin(&replay);
  pto_explore_run_once(explore, explore->rt, &chooser, outcome);
  outcome->was_forced = replay.was_forced;
  pto_explore_replay_fini(&replay);
  return PTO_OK;
}
