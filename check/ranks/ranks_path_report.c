/* SPDX-License-Identifier: MIT */
/* How the critical path over ranks is told. */
#include <check/ranks/ranks_path.h>

#include <inttypes.h>

#include <formats/units.h>
#include <runtime/base/base.h>

#define MOST_PRINTED 5u
#define MOST_STEPS 1000u /* in JSON: the last ones */
#define PS_DIGITS 6      /* of a microsecond */
#define TEXT 96

/* A rank or a link, and its time on the path. */
struct part {
  uint32_t source, target; /* target PTO_RANK_NO_PEER: a rank */
  uint64_t time;
};

static void take_larger(struct part *best, const struct part *before, const struct part *part) {
  /* Behind `before` in order of time, source and target. */
  const bool is_behind =
      !before->time || part->time < before->time ||
      (part->time == before->time &&
       (part->source > before->source || (part->source == before->source && part->target > before->target)));
  if (part->time && is_behind && part->time > best->time) *best = *part;
}

/* The one with the most time among those behind `before` (zeroed: all): links, ranks, or both. */
static struct part find_next(const struct pto_ranks_path *path, const struct part *before, bool has_ranks,
                             bool has_links) {
  struct part best = {0};
  for (uint32_t i = 0; i < PTO_MAX_RANKS; i++) {
    for (uint32_t k = 0; has_links && k < PTO_MAX_RANKS; k++)
      take_larger(&best, before, &(struct part){i, k, path->link_times[i][k]});
    if (has_ranks) take_larger(&best, before, &(struct part){i, PTO_RANK_NO_PEER, path->rank_times[i]});
  }
  return best;
}

static const char *name_of(const struct part *part, char *text, size_t size) {
  if (part->target == PTO_RANK_NO_PEER)
    snprintf(text, size, "rank %" PRIu32, part->source);
  else
    snprintf(text, size, "rank %" PRIu32 " -> rank %" PRIu32, part->source, part->target);
  return text;
}

/* Where most of what bounds the run is: a link, or of all else a rank. */
static struct part find_most(const struct pto_ranks_path *path) {
  const struct part none = {0};
  if (path->group == PTO_GROUP_LINK) return find_next(path, &none, false, true);
  uint64_t times[PTO_MAX_RANKS] = {0};
  struct part most = {0, PTO_RANK_NO_PEER, 0};
  for (size_t i = 0; i < path->step_count; i++)
    if (pto_activity_group(path->steps[i].activity) == path->group)
      times[path->steps[i].rank] += path->steps[i].end - path->steps[i].begin;
  for (uint32_t i = 0; i < PTO_MAX_RANKS; i++)
    if (times[i] > most.time) most = (struct part){i, PTO_RANK_NO_PEER, times[i]};
  return most;
}

static double percent(const struct pto_ranks_path *path, uint64_t time) {
  return 100 * (double)time / (double)path->makespan;
}

static const char *time_text(uint64_t ps, char *text) { return pto_format_seconds((double)ps * 1e-12, text, TEXT); }

static void print_activities(const struct pto_ranks_path *path, FILE *to) {
  uint64_t told = 0, left = path->makespan;
  fputs("  path     ", to);
  for (uint32_t count = 0; count < MOST_PRINTED; count++) { /* the largest that has not been told */
    uint32_t next = PTO_ACTIVITY_COUNT;
    for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++)
      if (!(told >> i & 1) && path->times[i] && (next == PTO_ACTIVITY_COUNT || path->times[i] > path->times[next]))
        next = i;
    if (next == PTO_ACTIVITY_COUNT) break;
    told |= UINT64_C(1) << next;
    left -= path->times[next];
    fprintf(to, "%s%s %.1f %%", count ? ", " : "", pto_activity_text(next), percent(path, path->times[next]));
  }
  if (left) fprintf(to, ", others %.1f %%", percent(path, left));
  fprintf(to, "; %zu steps\n", path->step_count);
}

void pto_ranks_path_print(const struct pto_ranks_path *path, const struct pto_gains *gains, FILE *to) {
  char text[TEXT], more[TEXT], name[TEXT];
  if (!path->makespan) return;
  const struct part most = find_most(path);
  fprintf(to, "  bound    by %s, %.1f %%: %s of %s on the critical path over ranks, %s the largest part (",
          pto_activity_group_text(path->group), percent(path, path->groups[path->group]),
          time_text(path->groups[path->group], text), time_text(path->makespan, more),
          name_of(&most, name, sizeof name));
  fprintf(to, "%s)\n", time_text(most.time, text));
  pto_gains_print(gains, to);
  if (path->why_no_gains[0]) fprintf(to, "             in half the time: not told, as %s\n", path->why_no_gains);
  print_activities(path, to);
  struct part part = {0};
  uint64_t left = path->makespan;
  const char *label = "           on ";
  for (uint32_t i = 0; i < MOST_PRINTED; i++) {
    part = find_next(path, &part, true, true);
    if (!part.time) break;
    fprintf(to, "%s%s %.1f %%", label, name_of(&part, name, sizeof name), percent(path, part.time));
    label = ", ";
    left -= part.time;
  }
  if (left) fprintf(to, ", others %.1f %%", percent(path, left));
  putc('\n', to);
}

/* ---- JSON ---- */

static void put_us(struct pto_json_writer *w, const char *key, uint64_t ps) {
  pto_json_key(w, key);
  pto_json_decimal(w, ps, PS_DIGITS);
}

static void put_part(struct pto_json_writer *w, const struct part *part) {
  pto_json_object_begin(w);
  pto_json_put_u64(w, "rank", part->source);
  if (pto_json_try_key(w, "to", part->target != PTO_RANK_NO_PEER)) pto_json_u64(w, part->target);
  put_us(w, "us", part->time);
  pto_json_object_end(w);
}

static void put_step(struct pto_json_writer *w, const struct pto_rank_step *step) {
  char name[TEXT];
  pto_json_object_begin(w);
  pto_json_put_u64(w, "rank", step->rank);
  if (pto_json_try_key(w, "peer", step->peer != PTO_RANK_NO_PEER)) pto_json_u64(w, step->peer);
  pto_json_put_string(w, "resource", pto_resource_name(step->resource, name, sizeof name));
  pto_json_put_string(w, "activity", pto_activity_name(step->activity));
  pto_json_put_string(w, "group", pto_activity_group_name(pto_activity_group(step->activity)));
  put_us(w, "begin_us", step->begin);
  put_us(w, "end_us", step->end);
  if (pto_json_try_key(w, "task", step->task != PTO_SEGMENT_NO_TASK)) pto_json_u64(w, step->task);
  pto_json_put_string(w, "kernel", step->kernel[0] ? step->kernel : NULL);
  pto_json_object_end(w);
}

void pto_ranks_path_put(const struct pto_ranks_path *path, const struct pto_gains *gains, struct pto_json_writer *w) {
  if (!pto_json_try_key(w, "path", path->makespan > 0)) return;
  const struct part most = find_most(path);
  pto_json_object_begin(w);
  pto_json_put_string(w, "bound_by", pto_activity_group_text(path->group));
  pto_json_put_double(w, "share", (double)path->groups[path->group] / (double)path->makespan);
  put_us(w, "makespan_us", path->makespan);
  pto_json_key(w, "most");
  put_part(w, &most);
  pto_gains_put(gains, w);
  pto_json_put_string(w, "why_no_gains", path->why_no_gains[0] ? path->why_no_gains : NULL);
  pto_json_put_object(w, "us");
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++)
    if (path->times[i]) put_us(w, pto_activity_name(i), path->times[i]);
  pto_json_object_end(w);
  pto_json_put_array(w, "on");
  for (struct part part = find_next(path, &(struct part){0}, true, true); part.time;
       part = find_next(path, &part, true, true))
    put_part(w, &part);
  pto_json_array_end(w);
  const size_t left = path->step_count > MOST_STEPS ? path->step_count - MOST_STEPS : 0;
  pto_json_put_array(w, "steps");
  for (size_t i = left; i < path->step_count; i++) put_step(w, &path->steps[i]);
  pto_json_array_end(w);
  pto_json_put_u64(w, "steps_left", left);
  pto_json_object_end(w);
}
