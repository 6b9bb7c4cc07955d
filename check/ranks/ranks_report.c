/* SPDX-License-Identifier: MIT */
/* What is told of a run on several ranks. */
#include <check/ranks/ranks_state.h>

#include <inttypes.h>

#include <formats/json_writer.h>
#include <formats/units.h>
#include <report/file/output_file.h>

#define MOST_LINKS 8u /* that are told to people */
#define PS_PER_US 6   /* digits */

/* ---- links ---- */

/* The one that has carried the most among those after `last` in that order; false: there is none that carried any. */
static bool find_next_link(const struct pto_ranks *ranks, const struct pto_fabric_link *last, uint32_t last_index,
                           uint32_t *index) {
  bool has_found = false;
  uint64_t most = 0;
  for (uint32_t i = 0; i < ranks->link_count; i++) {
    const struct pto_fabric_link link = ranks->links[i];
    if (!link.flows || (last && (link.bytes > last->bytes || (link.bytes == last->bytes && i <= last_index)))) continue;
    if (has_found && link.bytes <= most) continue;
    has_found = true;
    most = link.bytes;
    *index = i;
  }
  return has_found;
}

static void print_links(const struct pto_ranks *ranks, FILE *to) {
  const struct pto_fabric *fabric = pto_world_part(ranks->world)->fabric;
  struct pto_fabric_link link;
  uint32_t index = 0, used = 0, told = 0;
  for (uint32_t i = 0; i < ranks->link_count; i++) used += ranks->links[i].flows > 0;
  for (; told < MOST_LINKS && find_next_link(ranks, told ? &link : NULL, index, &index); told++) {
    char name[PTO_FABRIC_LINK_NAME], bytes[32], time[32];
    link = ranks->links[index];
    fprintf(to, "  %-8s %s: %s in %" PRIu64 " messages, busy for %s\n", told ? "" : "links",
            pto_fabric_link_name(fabric, index, name), pto_format_bytes(link.bytes, bytes, sizeof bytes), link.flows,
            pto_format_seconds((double)link.busy_ps * 1e-12, time, sizeof time));
  }
  if (used > told) fprintf(to, "           and %" PRIu32 " more that carried less, or as much\n", used - told);
}

static struct pto_gains gains_of(const struct pto_ranks *ranks) {
  struct pto_gains gains = {.items = ranks->path.gains,
                            .count = ranks->path.gain_count,
                            .untried = &ranks->path.untried,
                            .makespan = ranks->path.makespan};
  for (uint32_t i = 0; i < ranks->rank_count && !gains.chip; i++)
    if (ranks->sessions[i].result.timeline) gains.chip = ranks->sessions[i].result.timeline->chip;
  gains.command = ranks->command;
  return gains;
}

/* What bounds all, and where the time of the rank went that ends last, where that was asked. */
static void print_account(const struct pto_ranks *ranks, FILE *to) {
  uint32_t last = 0;
  for (uint32_t i = 1; i < ranks->rank_count; i++)
    if (ranks->sessions[i].result.stats.virtual_ps > ranks->sessions[last].result.stats.virtual_ps) last = i;
  const struct pto_run_result *result = &ranks->sessions[last].result;
  if (!ranks->wants_account) return;
  const struct pto_gains gains = gains_of(ranks);
  pto_ranks_path_print(&ranks->path, &gains, to);
  if (!result->timeline) return;
  fprintf(to, "rank %" PRIu32 ", the last to end\n", last);
  pto_timeline_stats_print_accounts(result->timeline, &result->stats, to);
}

static void put_links(struct pto_json_writer *w, const struct pto_ranks *ranks) {
  const struct pto_fabric *fabric = pto_world_part(ranks->world)->fabric;
  pto_json_put_array(w, "links");
  for (uint32_t i = 0; i < ranks->link_count; i++) {
    const struct pto_fabric_link link = ranks->links[i];
    char name[PTO_FABRIC_LINK_NAME];
    if (!link.flows) continue;
    pto_json_object_begin(w);
    pto_json_put_string(w, "link", pto_fabric_link_name(fabric, i, name));
    pto_json_put_u64(w, "messages", link.flows);
    pto_json_put_u64(w, "bytes", link.bytes);
    pto_json_key(w, "busy_us");
    pto_json_decimal(w, link.busy_ps, PS_PER_US);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

/* ---- the whole ---- */

static const char *verdict_of(const struct pto_run_result *result) {
  if (result->error.status) return result->error.status == PTO_EDEADLOCK ? "waits for ever" : "failed";
  return result->verified == PTO_VERDICT_TRUE ? "verified" : result->verified == PTO_VERDICT_FALSE ? "WRONG" : "run";
}

void pto_ranks_print(const struct pto_ranks *ranks, FILE *to) {
  const struct pto_run_result *first = &ranks->sessions[0].result;
  char text[32];
  fprintf(to, "%s", ranks->program);
  if (first->case_name) fprintf(to, ", case %s", first->case_name);
  fprintf(to, "\n  on       %" PRIu32 " rank%s of %s, %s engine, %s dependencies, seed %" PRIu64 "\n",
          ranks->rank_count, pto_plural(ranks->rank_count), first->chip, first->engine, first->deps, first->seed);
  for (uint32_t i = 0; i < ranks->rank_count; i++) {
    const struct pto_run_result *result = &ranks->sessions[i].result;
    fprintf(to, "  rank %-3" PRIu32 " %" PRIu64 " task%s, %" PRIu64 " edge%s, %s, %s\n", i, result->stats.tasks,
            pto_plural(result->stats.tasks), result->stats.edges, pto_plural(result->stats.edges),
            pto_format_seconds((double)result->stats.virtual_ps * 1e-12, text, sizeof text), verdict_of(result));
  }
  fprintf(to, "  time     %s, ", pto_format_seconds(ranks->wall_seconds, text, sizeof text));
  fprintf(to, "%s on the chips\n", pto_format_seconds((double)ranks->virtual_ps * 1e-12, text, sizeof text));
  print_links(ranks, to);
  fprintf(to, "  trace    %016" PRIx64 "\n  digest   %016" PRIx64 "\n", ranks->trace_digest, ranks->output_digest);
  if (ranks->wants_comm_stats) pto_comm_stats_print(&ranks->comm_stats, to);
  print_account(ranks, to);
}

static void put_verdict(struct pto_json_writer *w, enum pto_verdict verdict) {
  if (pto_json_try_key(w, "verified", verdict != PTO_VERDICT_NONE)) pto_json_bool(w, verdict == PTO_VERDICT_TRUE);
}

void pto_ranks_put(struct pto_json_writer *w, const void *context) {
  const struct pto_ranks *ranks = context;
  pto_json_put_format(w, "pto-ranks", 1);
  pto_json_put_string(w, "program", ranks->program);
  pto_json_put_u64(w, "ranks", ranks->rank_count);
  if (pto_json_try_key(w, "virtual_us", ranks->has_run)) pto_json_decimal(w, ranks->virtual_ps, PS_PER_US);
  if (pto_json_try_key(w, "wall_seconds", ranks->has_run)) pto_json_double(w, ranks->wall_seconds);
  put_verdict(w, ranks->verified);
  if (pto_json_try_key(w, "trace_digest", ranks->has_run)) pto_json_hex(w, ranks->trace_digest);
  if (pto_json_try_key(w, "output_digest", ranks->has_run)) pto_json_hex(w, ranks->output_digest);
  pto_json_put_string(w, "status", pto_status_name(ranks->error.status));
  pto_json_put_u64(w, "exit", (uint64_t)ranks->exit_code);
  pto_json_put_string(w, "error", ranks->error.sentence[0] ? ranks->error.sentence : NULL);
  if (ranks->world) put_links(w, ranks);
  const struct pto_gains gains = gains_of(ranks);
  if (ranks->wants_account) pto_ranks_path_put(&ranks->path, &gains, w);
  if (ranks->wants_comm_stats) pto_comm_stats_put(&ranks->comm_stats, w);
  pto_json_put_array(w, "results");
  for (uint32_t i = 0; i < ranks->rank_count; i++) {
    if (ranks->texts[i].json) pto_json_raw(w, ranks->texts[i].json, ranks->texts[i].size);
    if (!ranks->world || !pto_world_rank(ranks->world, i)) continue;
    pto_json_object_begin(w);
    pto_run_result_put(&ranks->sessions[i].result, w);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

int pto_ranks_write_json(const struct pto_ranks *ranks, const char *path, struct pto_error *error) {
  return pto_output_json(path, pto_ranks_put, ranks, error);
}
