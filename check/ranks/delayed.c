/* SPDX-License-Identifier: MIT */
#include <check/ranks/delayed.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/ranks/ranks_state.h>
#include <formats/units.h>
#include <runtime/base/clock.h>
#include <runtime/base/text.h>

/* Runs that differ are as many as there are runs, and each is shrunk by running it a dozen times. */
#define MOST_SHRUNK 4u

/* Who is late: each rank; behind these each rank's puts and waits, by enum pto_late. */
#define MOST_LATE ((1u + PTO_LATE_KINDS) * PTO_MAX_RANKS)
static uint32_t late_count(const struct pto_delays *asked) { return (1u + PTO_LATE_KINDS) * asked->rank_count; }

static struct pto_delay_outcome run(const struct pto_delays *asked, const uint64_t delays[MOST_LATE]) {
  struct pto_ranks ranks;
  struct pto_delay_outcome outcome;
  struct pto_session_options silent = *asked->options;
  silent.text = NULL;
  int code = pto_ranks_init(&ranks, &silent, asked->rank_count, 1);
  if (code == PTO_EXIT_OK && ranks.processes) {
    code = PTO_EXIT_USAGE;
    pto_error_set(&ranks.error, PTO_ENOTSUP, "ranks are delayed in one process, not in several");
  }
  for (uint32_t i = 0; code == PTO_EXIT_OK && i < asked->rank_count; i++) pto_world_delay(ranks.world, i, delays[i]);
  for (uint32_t i = asked->rank_count; code == PTO_EXIT_OK && i < late_count(asked); i++)
    pto_world_delay_cores(ranks.world, i % asked->rank_count, (enum pto_late)(i / asked->rank_count - 1), delays[i]);
  const bool has_begun = code == PTO_EXIT_OK;
  if (asked->running) asked->running(&ranks);
  if (code == PTO_EXIT_OK) code = pto_ranks_execute(&ranks);
  if (asked->running) asked->running(NULL);
  outcome = (struct pto_delay_outcome){.has_begun = has_begun,
                                       .exit_code = code,
                                       .output_digest = ranks.output_digest,
                                       .virtual_ps = ranks.virtual_ps,
                                       .error = ranks.error};
  for (uint32_t i = 0; ranks.sessions && i < ranks.rank_count; i++)
    outcome.tasks += ranks.sessions[i].result.stats.tasks;
  if (ranks.rank_count && ranks.sessions[0].result.chip) {
    snprintf(outcome.chip, sizeof outcome.chip, "%s", ranks.sessions[0].result.chip);
    outcome.rules = ranks.sessions[0].rules;
  }
  pto_ranks_fini(&ranks);
  return outcome;
}

static bool differs(const struct pto_delay_outcome *outcome, const struct pto_delay_outcome *from) {
  return outcome->error.status != from->error.status || outcome->output_digest != from->output_digest;
}

/* Each alone, then all ranks. */
static void set_delays(const struct pto_delays *asked, uint64_t index, uint64_t most, uint64_t delays[MOST_LATE]) {
  memset(delays, 0, MOST_LATE * sizeof *delays);
  if (index < late_count(asked)) {
    delays[index] = most;
    return;
  }
  for (uint32_t i = 0; i < asked->rank_count; i++)
    delays[i] = pto_mix64(asked->seed ^ pto_mix64(index << 8 | i)) % (most + 1);
}

/* By an interrupt, or for want of what the machine has: that says nothing of the order of ranks.  The run without
 * delays began, so one that does not is in want too. */
static bool is_cut_short(const struct pto_delay_outcome *outcome) {
  const int status = outcome->error.status;
  return !outcome->has_begun || status == PTO_EINTERRUPTED || pto_status_is_shortage(status);
}

static int end_short(struct pto_delays *asked, const struct pto_delay_outcome *outcome) {
  asked->error = outcome->error;
  if (asked->error.status != PTO_EINTERRUPTED) return PTO_EXIT_FAILED;
  pto_error_set(&asked->error, PTO_EINTERRUPTED,
                "explore: interrupted after %" PRIu64 " of %" PRIu64 " runs with delays", asked->runs,
                pto_share_is_part(asked->share) ? pto_shard_size(&asked->share->shard, asked->run_count)
                                                : asked->run_count);
  return PTO_EXIT_INTERRUPTED;
}

/* What is found so far is left where something else ends it.  An enum pto_exit. */
static int shrink(struct pto_delays *asked, struct pto_delay_outcome *found, uint64_t delays[MOST_LATE]) {
  for (uint32_t i = 0; i < late_count(asked); i++) {
    const uint64_t delay = delays[i];
    if (!delay) continue;
    delays[i] = 0;
    const struct pto_delay_outcome outcome = run(asked, delays);
    const bool is_short = is_cut_short(&outcome);
    if (is_short || !differs(&outcome, &asked->reference))
      delays[i] = delay;
    else
      *found = outcome;
    if (is_short) return end_short(asked, &outcome);
  }
  return PTO_EXIT_OK;
}

/* Who is late, into `text`; whether puts are, and not all of a rank. */
static bool say_late(const struct pto_delays *asked, const uint64_t delays[MOST_LATE], struct pto_finding *finding,
                     char *text, size_t size) {
  static const char *const formats[] = {"%srank %" PRIu32 " is %s late",
                                        "%son rank %" PRIu32 " each put of a core but the first of a task is %s late",
                                        "%son rank %" PRIu32 " each put of the first core of a task is %s late",
                                        "%son rank %" PRIu32 " what follows a wait is %s late"};
  bool are_puts = false;
  char time[32];
  _Static_assert(sizeof formats / sizeof *formats == 1 + PTO_LATE_KINDS, "");
  *text = '\0';
  for (uint32_t i = 0; i < late_count(asked); i++) {
    const uint32_t rank = i % asked->rank_count, kind = i / asked->rank_count;
    if (!delays[i]) continue;
    if (finding->ranks[0] == PTO_FINDING_NONE) finding->ranks[0] = rank;
    finding->group = pto_mix64(finding->group ^ (kind ? PTO_MAX_RANKS + kind : rank + 1));
    are_puts |= kind == 1 + PTO_LATE_OTHER_PUTS || kind == 1 + PTO_LATE_FIRST_PUTS;
    pto_format_seconds((double)delays[i] * 1e-12, time, sizeof time);
    pto_text_append(text, size, formats[kind], text[0] ? ", " : "", rank, time);
  }
  return are_puts;
}

static void report(const struct pto_delays *asked, const struct pto_delay_outcome *outcome,
                   const uint64_t delays[MOST_LATE], struct pto_findings *findings) {
  const struct pto_delay_outcome *reference = &asked->reference;
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_ORDER), .has_ranks = true,
                                .ranks = {PTO_FINDING_NONE, PTO_FINDING_NONE}};
  static const char of_ranks[] = "order what ranks touch with `pto_core_notify` and `pto_core_wait_signal`, as "
                                 "`ptosim check` of the program names it";
  static const char of_puts[] = "let it be notified behind that put, by the same core or by a task that has it in its "
                                "`after`; or by another core behind a `pto_core_barrier(args)` of the task's";
  char who[512];
  const bool are_puts = say_late(asked, delays, &finding, who, sizeof who);
  if (outcome->error.status != reference->error.status)
    pto_findings_add(findings, &finding,
                     outcome->error.status == PTO_EDEADLOCK
                         ? "let each wait be for what comes in any case: `ptosim check` of the program names what "
                           "nothing orders, and signals that are set while others add to them"
                         : NULL,
                     "where %s: %.700s", who, outcome->error.sentence);
  else
    pto_findings_add(findings, &finding, are_puts ? of_puts : of_ranks,
                     "where %s the outputs are others: digest %016" PRIx64 ", not %016" PRIx64 "; %s", who,
                     outcome->output_digest, reference->output_digest,
                     are_puts ? "a signal that is waited for does not come behind that put"
                              : "`ptosim check` says what is not ordered, but for what a task touches between its own "
                                "waits");
}

/* ---- shards ---- */

static json_t *pack(const struct pto_delays *asked, const struct pto_delay_outcome *outcome) {
  char digest[20];
  snprintf(digest, sizeof digest, "%016" PRIx64, outcome->output_digest);
  return json_pack("{s:b, s:i, s:s, s:o}", "is_different", differs(outcome, &asked->reference), "status",
                   outcome->error.status, "digest", digest, "text", pto_shard_text(outcome->error.sentence));
}

static int unpack(json_t *result, uint64_t index, struct pto_delay_outcome *outcome, struct pto_error *error) {
  const char *digest, *text;
  memset(outcome, 0, sizeof *outcome);
  if (json_unpack(result, "{s:i, s:s, s:s}", "status", &outcome->error.status, "digest", &digest, "text", &text))
    return pto_error_set(error, PTO_EINVAL, "explore: item %" PRIu64 " of the lines is no run's of several ranks",
                         index);
  outcome->output_digest = strtoull(digest, NULL, 16);
  snprintf(outcome->error.sentence, sizeof outcome->error.sentence, "%s", text);
  return PTO_OK;
}

/* Here, or by a shard.  An enum pto_exit. */
static int make(struct pto_delays *asked, uint64_t index, const uint64_t delays[MOST_LATE],
                struct pto_delay_outcome *outcome) {
  json_t *result = pto_share_result(asked->share, index, NULL);
  if (result) return unpack(result, index, outcome, &asked->error) ? PTO_EXIT_FAILED : PTO_EXIT_OK;
  const double begin = pto_clock_seconds();
  *outcome = run(asked, delays);
  if (is_cut_short(outcome)) return end_short(asked, outcome);
  if (pto_share_is_part(asked->share))
    pto_share_put(asked->share, index, pto_clock_seconds() - begin, pack(asked, outcome));
  return PTO_EXIT_OK;
}

uint64_t pto_delays_digest(const struct pto_delays *asked) {
  const uint64_t counts[] = {asked->reference.tasks, asked->reference.virtual_ps, asked->reference.output_digest,
                             asked->rank_count};
  return pto_xxh64(counts, sizeof counts, 0);
}

int pto_delays_begin(struct pto_delays *asked) {
  static const uint64_t none[MOST_LATE];
  asked->reference = run(asked, none);
  asked->error = asked->reference.error;
  return asked->reference.exit_code;
}

int pto_delays_run(struct pto_delays *asked, struct pto_findings *findings) {
  uint64_t delays[MOST_LATE];
  for (uint64_t i = 0; i < asked->run_count; i++) {
    struct pto_delay_outcome outcome;
    if (!pto_share_has(asked->share, i)) continue;
    if (asked->tell) asked->tell(i, asked->run_count);
    set_delays(asked, i, asked->reference.virtual_ps, delays);
    int code = make(asked, i, delays, &outcome);
    if (code != PTO_EXIT_OK) return code;
    asked->runs++;
    if (!differs(&outcome, &asked->reference)) continue;
    if (asked->differing++ < MOST_SHRUNK && !pto_share_is_part(asked->share)) code = shrink(asked, &outcome, delays);
    report(asked, &outcome, delays, findings);
    if (code != PTO_EXIT_OK) return code;
  }
  return asked->differing ? PTO_EXIT_FINDINGS : PTO_EXIT_OK;
}
