/* SPDX-License-Identifier: MIT */
#include <check/explore/order.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>
#include <runtime/base/text.h>

/* ---- lists ---- */

void pto_explore_holds_fini(struct pto_explore_holds *holds) {
  free(holds->items);
  memset(holds, 0, sizeof *holds);
}

bool pto_explore_holds_add(struct pto_explore_holds *holds, const struct pto_explore_hold *hold) {
  struct pto_explore_hold *fresh = pto_grow(&holds->items, &holds->count, &holds->capacity, sizeof *fresh);
  if (fresh) *fresh = *hold;
  return fresh;
}

bool pto_explore_holds_copy(const struct pto_explore_holds *from, struct pto_explore_holds *to) {
  to->count = 0;
  bool is_complete = true;
  for (uint32_t i = 0; i < from->count && is_complete; i++) is_complete = pto_explore_holds_add(to, &from->items[i]);
  return is_complete;
}

static int order_holds(const void *left, const void *right) {
  const struct pto_explore_hold *a = left, *b = right;
  const int order = pto_explore_event_compare(&a->event, &b->event);
  return order ? order : pto_explore_event_compare(&a->until, &b->until);
}

void pto_explore_holds_sort(struct pto_explore_holds *holds) {
  if (holds->count) qsort(holds->items, holds->count, sizeof *holds->items, order_holds);
}

/* ---- the list of a run ---- */

/* Where the orchestration stood when the reference made this step, through *position. */
static bool find_position(const struct pto_explore_step *reference, uint64_t count,
                          const struct pto_explore_event *event, uint64_t *position) {
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const int order = pto_explore_event_compare(&reference[middle].event, event);
    if (order == 0) {
      *position = reference[middle].position;
      return true;
    }
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

uint64_t pto_explore_usual_position(const struct pto_explore_step *reference, uint64_t count,
                                    const struct pto_explore_event *event) {
  uint64_t position = 0;
  return find_position(reference, count, event, &position) ? position : 0;
}

/* One step: the last one before it that natural order puts behind it, and the orchestration where it is further than
 * need be.  `later` are the earlier calls that no call since has exceeded, greatest first. */
static bool add_holds_of(const struct pto_explore_step *step, const struct pto_explore_event *overtaker,
                         const struct pto_explore_step *reference, uint64_t reference_count,
                         struct pto_explore_holds *holds) {
  uint64_t usual = 0;
  if (overtaker && !pto_explore_holds_add(holds, &(struct pto_explore_hold){step->event, *overtaker, 0})) return false;
  if (!find_position(reference, reference_count, &step->event, &usual)) return true;
  if (pto_explore_has_reached(usual, step->position)) return true;
  const struct pto_explore_hold hold = {step->event, {.kind = PTO_EXPLORE_GO_ON}, step->position};
  return pto_explore_holds_add(holds, &hold);
}

int pto_explore_holds_make(const struct pto_explore_step *steps, uint64_t count,
                           const struct pto_explore_step *reference, uint64_t reference_count,
                           struct pto_explore_holds *holds) {
  const struct pto_explore_event **later = malloc((count + 1) * sizeof *later);
  uint64_t later_count = 0;
  bool is_complete = later != NULL;
  for (uint64_t i = 0; i < count && is_complete; i++) {
    if (steps[i].event.kind != PTO_EXPLORE_CALL) continue;
    while (later_count && pto_explore_event_compare(later[later_count - 1], &steps[i].event) < 0) later_count--;
    const struct pto_explore_event *overtaker = later_count ? later[later_count - 1] : NULL;
    later[later_count++] = &steps[i].event;
    is_complete = add_holds_of(&steps[i], overtaker, reference, reference_count, holds);
  }
  free(later);
  pto_explore_holds_sort(holds);
  return is_complete ? PTO_OK : PTO_ENOMEM;
}

uint64_t pto_explore_order_hash(const struct pto_explore_step *steps, uint64_t count) {
  uint64_t hash = 0;
  for (uint64_t i = 0; i < count; i++) {
    const struct pto_explore_event *event = &steps[i].event;
    if (event->kind != PTO_EXPLORE_CALL) continue;
    hash = pto_mix64(hash + event->task + 1) ^
           ((uint64_t)event->block_index << 32 | (uint64_t)event->piece << 8 | event->role);
  }
  return pto_mix64(hash);
}

/* ---- a run under a list ---- */

static int order_untils(const void *left, const void *right, void *context) {
  const struct pto_explore_hold *items = context;
  return pto_explore_event_compare(&items[*(const uint32_t *)left].until, &items[*(const uint32_t *)right].until);
}

/* One entry more than tasks: where the last one's end. */
static bool index_tasks(struct pto_explore_replay *replay, const struct pto_explore_holds *holds) {
  replay->task_count = holds->count ? holds->items[holds->count - 1].event.task + 1 : 0;
  replay->first_of_task = malloc((replay->task_count + 1) * sizeof *replay->first_of_task);
  if (!replay->first_of_task) return false;
  uint32_t hold = 0;
  for (uint64_t task = 0; task <= replay->task_count; task++) {
    while (hold < holds->count && holds->items[hold].event.task < task) hold++;
    replay->first_of_task[task] = hold;
  }
  return true;
}

bool pto_explore_replay_init(struct pto_explore_replay *replay, const struct pto_explore_holds *holds) {
  replay->holds = holds;
  replay->by_until = malloc((holds->count + 1) * sizeof *replay->by_until);
  replay->is_open = malloc((holds->count + 1) * sizeof *replay->is_open);
  if (!index_tasks(replay, holds) || !replay->by_until || !replay->is_open) {
    pto_explore_replay_fini(replay);
    return false;
  }
  for (uint32_t i = 0; i < holds->count; i++) replay->by_until[i] = i;
  if (holds->count) qsort_r(replay->by_until, holds->count, sizeof *replay->by_until, order_untils, holds->items);
  return true;
}

void pto_explore_replay_fini(struct pto_explore_replay *replay) {
  free(replay->by_until);
  free(replay->first_of_task);
  free(replay->is_open);
  memset(replay, 0, sizeof *replay);
}

void pto_explore_replay_begin(struct pto_explore_replay *replay) {
  replay->was_forced = false;
  for (uint32_t i = 0; i < replay->holds->count; i++) replay->is_open[i] = true;
}

static bool is_held(const struct pto_explore_replay *replay, const struct pto_explore_event *event, uint64_t position) {
  if (event->task >= replay->task_count) return false;
  const uint32_t end = replay->first_of_task[event->task + 1];
  for (uint32_t i = replay->first_of_task[event->task]; i < end; i++) {
    const struct pto_explore_hold *hold = &replay->holds->items[i];
    if (hold->until.kind == PTO_EXPLORE_GO_ON ? pto_explore_has_reached(position, hold->position) : !replay->is_open[i])
      continue;
    if (pto_explore_event_compare(&hold->event, event) == 0) return true;
  }
  return false;
}

static void release(struct pto_explore_replay *replay, const struct pto_explore_event *made) {
  const struct pto_explore_hold *items = replay->holds->items;
  uint32_t low = 0, high = replay->holds->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (pto_explore_event_compare(&items[replay->by_until[middle]].until, made) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < replay->holds->count; low++) {
    const uint32_t index = replay->by_until[low];
    if (pto_explore_event_compare(&items[index].until, made) != 0) break;
    replay->is_open[index] = false;
  }
}

uint32_t pto_explore_replay_choose(void *context, const struct pto_explore_event *candidates, uint32_t count,
                                   uint64_t position) {
  struct pto_explore_replay *replay = context;
  uint32_t choice = 0;
  while (choice < count && candidates[choice].kind == PTO_EXPLORE_CALL &&
         is_held(replay, &candidates[choice], position))
    choice++;
  if (choice == count) {
    choice = 0;
    replay->was_forced = true;
  }
  if (candidates[choice].kind == PTO_EXPLORE_CALL) release(replay, &candidates[choice]);
  return choice;
}

/* ---- as text ---- */

static void append_event(const struct pto_explore_event *event, char *text, size_t size) {
  pto_text_append(text, size, "%" PRIu64 ".%u.%u.%u", event->task, event->block_index, event->role, event->piece);
}

const char *pto_explore_hold_format(const struct pto_explore_hold *hold, char *text, size_t size) {
  snprintf(text, size, "hold ");
  append_event(&hold->event, text, size);
  pto_text_append(text, size, " until ");
  if (hold->until.kind == PTO_EXPLORE_GO_ON)
    pto_text_append(text, size, "%" PRIu64 "+%" PRIu64 "%s", pto_explore_submits(hold->position),
                    pto_explore_accesses(hold->position), hold->position & PTO_EXPLORE_WAITS ? "+wait" : "");
  else
    append_event(&hold->until, text, size);
  return text;
}

static bool parse_event(const char *text, struct pto_explore_event *event) {
  uint64_t task;
  unsigned block, role, piece;
  int used = 0;
  if (sscanf(text, "%" SCNu64 ".%u.%u.%u%n", &task, &block, &role, &piece, &used) != 4 || text[used]) return false;
  *event = (struct pto_explore_event){
      .task = task, .block_index = block, .role = (uint8_t)role, .piece = (uint16_t)piece, .kind = PTO_EXPLORE_CALL};
  return role < 3 && piece <= UINT16_MAX;
}

static bool parse_line(const char *line, struct pto_explore_hold *hold) {
  char held[96], until[96], rest;
  unsigned submits, accesses;
  int used = 0;
  memset(hold, 0, sizeof *hold);
  if (sscanf(line, "hold %95s until %95s %c", held, until, &rest) != 2 || !parse_event(held, &hold->event))
    return false;
  if (parse_event(until, &hold->until)) return true;
  if (sscanf(until, "%u+%u%n", &submits, &accesses, &used) != 2 || submits > INT32_MAX) return false;
  hold->until = (struct pto_explore_event){.kind = PTO_EXPLORE_GO_ON};
  hold->position = pto_explore_position(submits, accesses);
  if (!until[used]) return true;
  hold->position |= PTO_EXPLORE_WAITS;
  return strcmp(until + used, "+wait") == 0;
}

int pto_explore_holds_read(FILE *stream, struct pto_explore_holds *holds, struct pto_error *error) {
  char line[256];
  for (uint32_t number = 1; fgets(line, sizeof line, stream); number++) {
    struct pto_explore_hold hold;
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '#' || line[0] == '\0') continue;
    if (!parse_line(line, &hold))
      return pto_error_set(error, PTO_EINVAL, "line %u: \"%.60s\" is no \"hold TASK.BLOCK.ROLE.PIECE until …\"", number,
                           line);
    if (!pto_explore_holds_add(holds, &hold)) return pto_error_set(error, PTO_ENOMEM, "no memory for the schedule");
  }
  if (ferror(stream)) return pto_error_set(error, PTO_EINVAL, "it cannot be read: %s", strerror(errno));
  if (holds->count == 0) return pto_error_set(error, PTO_EINVAL, "it has no line \"hold …\"");
  pto_explore_holds_sort(holds);
  return PTO_OK;
}
