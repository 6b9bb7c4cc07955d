/* SPDX-License-Identifier: MIT */
#include <check/ranks/delayed.h>

#include <inttypes.h>
#include <string.h>

#include <check/ranks/ranks_state.h>
#include <formats/units.h>
#include <runtime/base/text.h>

/* Runs that differ are as many as there are runs, and each is shrunk by running it a dozen times. */
#define MOST_SHRUNK 4u

struct outcome {
  int exit_code;
  uint64_t output_digest, tasks;
  uint64_t virtual_ps;
  char chip[64];
  uint32_t rules;
  struct pto_error error;
};

static struct outcome run(const struct pto_delay_question *question, const uint64_t delays[PTO_MAX_RANKS]) {
  struct pto_ranks ranks;
  struct outcome outcome = {0};
  struct pto_session_options silent = *question->options;
  silent.text = NULL;
  int code = pto_ranks_init(&ranks, &silent, question->rank_count, 1);
  if (code == PTO_EXIT_OK && ranks.processes) {
    code = PTO_EXIT_USAGE;
    pto_error_set(&ranks.error, PTO_ENOTSUP, "ranks are delayed in one process, not in several");
  }
  for (uint32_t i = 0; code == PTO_EXIT_OK && i < question->rank_count; i++) pto_world_delay(ranks.world, i, delays[i]);
  if (question->running) question->running(&ranks);
  if (code == PTO_EXIT_OK) code = pto_ranks_execute(&ranks);
  if (question->running) question->running(NULL);
  outcome = (struct outcome){
      .exit_code = code, .output_digest = ranks.output_digest, .virtual_ps = ranks.virtual_ps, .error = ranks.error};
  for (uint32_t i = 0; ranks.sessions && i < ranks.rank_count; i++)
    outcome.tasks += ranks.sessions[i].result.stats.tasks;
  if (ranks.rank_count && ranks.sessions[0].result.chip) {
    snprintf(outcome.chip, sizeof outcome.chip, "%s", ranks.sessions[0].result.chip);
    outcome.rules = ranks.sessions[0].rules;
  }
  pto_ranks_fini(&ranks);
  return outcome;
}

static bool differs(const struct outcome *outcome, const struct outcome *from) {
  return outcome->error.status != from->error.status || outcome->output_digest != from->output_digest;
}

/* Each rank alone, then all. */
static void set_delays(const struct pto_delay_question *question, uint64_t index, uint64_t most,
                       uint64_t delays[PTO_MAX_RANKS]) {
  memset(delays, 0, PTO_MAX_RANKS * sizeof *delays);
  if (index < question->rank_count) {
    delays[index] = most;
    return;
  }
  for (uint32_t i = 0; i < question->rank_count; i++)
    delays[i] = pto_mix64(question->seed ^ pto_mix64(index << 8 | i)) % (most + 1);
}

/* By an interrupt, or for want of what the machine has: that says nothing of the order of ranks. */
static bool is_cut_short(const struct outcome *outcome) {
  const int status = outcome->error.status;
  return status == PTO_EINTERRUPTED || status == PTO_ENOMEM || status == PTO_ESYSTEM;
}

static int end_short(const struct pto_delay_question *question, const struct outcome *outcome, uint64_t done,
                     struct pto_error *error) {
  *error = outcome->error;
  if (error->status != PTO_EINTERRUPTED) return PTO_EXIT_FAILED;
  pto_error_set(error, PTO_EINTERRUPTED, "explore: interrupted after %" PRIu64 " of %" PRIu64 " runs with delays", done,
                question->runs);
  return PTO_EXIT_INTERRUPTED;
}

/* What is found so far is given where something else ends it. */
static struct outcome shrink(const struct pto_delay_question *question, const struct outcome *reference,
                             struct outcome found, uint64_t delays[PTO_MAX_RANKS]) {
  for (uint32_t i = 0; i < question->rank_count; i++) {
    const uint64_t delay = delays[i];
    if (!delay) continue;
    delays[i] = 0;
    const struct outcome outcome = run(question, delays);
    if (!is_cut_short(&outcome) && differs(&outcome, reference))
      found = outcome;
    else
      delays[i] = delay;
  }
  return found;
}

static void report(const struct pto_delay_question *question, const struct outcome *reference,
                   const struct outcome *outcome, const uint64_t delays[PTO_MAX_RANKS], struct pto_findings *findings) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_ORDER), .has_ranks = true,
                                .ranks = {PTO_FINDING_NONE, PTO_FINDING_NONE}};
  char who[512] = "", time[32];
  for (uint32_t i = 0; i < question->rank_count; i++) {
    if (!delays[i]) continue;
    if (finding.ranks[0] == PTO_FINDING_NONE) finding.ranks[0] = i;
    finding.group = pto_mix64(finding.group ^ (i + 1));
    pto_text_append(who, sizeof who, "%srank %" PRIu32 " is %s late", who[0] ? ", " : "", i,
                    pto_format_seconds((double)delays[i] * 1e-12, time, sizeof time));
  }
  if (outcome->error.status != reference->error.status)
    pto_findings_add(findings, &finding, NULL, "where %s: %.700s", who, outcome->error.sentence);
  else
    pto_findings_add(findings, &finding, NULL,
                     "where %s the outputs are others: digest %016" PRIx64 ", not %016" PRIx64
                     "; `ptosim check` says what is not ordered, but for what a task touches between its own waits",
                     who, outcome->output_digest, reference->output_digest);
}

int pto_delay_ranks(const struct pto_delay_question *question, struct pto_findings *findings,
                    struct pto_delay_counts *counts, struct pto_error *error) {
  uint64_t delays[PTO_MAX_RANKS] = {0};
  const struct outcome reference = run(question, delays);
  *counts = (struct pto_delay_counts){.tasks = reference.tasks, .rules = reference.rules};
  memcpy(counts->chip, reference.chip, sizeof counts->chip);
  *error = reference.error;
  if (reference.exit_code != PTO_EXIT_OK) return reference.exit_code;
  for (uint64_t i = 0; i < question->runs; i++) {
    if (question->tell) question->tell(i, question->runs);
    set_delays(question, i, reference.virtual_ps, delays);
    struct outcome outcome = run(question, delays);
    if (is_cut_short(&outcome)) return end_short(question, &outcome, i, error);
    counts->runs++;
    if (!differs(&outcome, &reference)) continue;
    if (counts->differing++ < MOST_SHRUNK) outcome = shrink(question, &reference, outcome, delays);
    report(question, &reference, &outcome, delays, findings);
  }
  return counts->differing ? PTO_EXIT_FINDINGS : PTO_EXIT_OK;
}
