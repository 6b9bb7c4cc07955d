/* SPDX-License-Identifier: MIT */
#include <check/explore/shrink.h>

#include <string.h>

/* 1, 0 or a negative status; where the budget is spent nothing fails any more, so nothing changes. */
static int run_under(struct pto_explore_trial *trial, const struct pto_explore_holds *holds) {
  if (trial->run_count == trial->budget) return 0;
  trial->run_count++;
  return trial->fails(trial->context, holds);
}

/* ---- fewest ---- */

/* `holds` without those from `begin` to `end`. */
static bool leave_out(const struct pto_explore_holds *holds, uint32_t begin, uint32_t end,
                      struct pto_explore_holds *rest) {
  rest->count = 0;
  for (uint32_t i = 0; i < holds->count; i++)
    if ((i < begin || i >= end) && !pto_explore_holds_add(rest, &holds->items[i])) return false;
  return true;
}

static bool take_only(const struct pto_explore_holds *holds, uint32_t begin, uint32_t end,
                      struct pto_explore_holds *part) {
  part->count = 0;
  for (uint32_t i = begin; i < end; i++)
    if (!pto_explore_holds_add(part, &holds->items[i])) return false;
  return true;
}

/* One round over the parts, each alone and each left out.  1: `holds` has become smaller, and *parts fits it. */
static int reduce(struct pto_explore_trial *trial, struct pto_explore_holds *holds, struct pto_explore_holds *scratch,
                  uint32_t *parts) {
  for (int alone = 1; alone >= 0; alone--) {
    if (*parts == 2 && !alone) break; /* one left out is the other alone */
    for (uint32_t part = 0; part < *parts; part++) {
      const uint32_t begin = (uint32_t)((uint64_t)holds->count * part / *parts);
      const uint32_t end = (uint32_t)((uint64_t)holds->count * (part + 1) / *parts);
      if (!(alone ? take_only : leave_out)(holds, begin, end, scratch)) return PTO_ENOMEM;
      const int answer = run_under(trial, scratch);
      if (answer < 0) return answer;
      if (answer == 0) continue;
      const struct pto_explore_holds smaller = *scratch;
      *scratch = *holds;
      *holds = smaller;
      *parts = alone ? 2 : *parts - 1;
      return 1;
    }
  }
  return 0;
}

static int minimize(struct pto_explore_trial *trial, struct pto_explore_holds *holds) {
  struct pto_explore_holds scratch = {0};
  uint32_t parts = 2;
  int answer = 1;
  while (holds->count >= 2 && trial->run_count < trial->budget) {
    if (parts > holds->count) parts = holds->count;
    answer = reduce(trial, holds, &scratch, &parts);
    if (answer < 0) break;
    if (answer) continue;
    if (parts == holds->count) break;
    parts = 2 * parts;
  }
  pto_explore_holds_fini(&scratch);
  return answer < 0 ? answer : PTO_OK;
}

/* ---- nearest ---- */

/* One hold of a list, which is to be narrowed. */
struct narrowing {
  struct pto_explore_trial *trial;
  const struct pto_explore_step *reference; /* `count` calls in natural order */
  uint64_t count;
  struct pto_explore_holds *holds;
  uint32_t which;
};

static struct pto_explore_hold *hold_of(const struct narrowing *n) { return &n->holds->items[n->which]; }

/* Calls of the reference that come before `event`. */
static uint64_t index_of(const struct narrowing *n, const struct pto_explore_event *event) {
  uint64_t low = 0, high = n->count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (pto_explore_event_compare(&n->reference[middle].event, event) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Asks whether the hold may be `narrower`, and keeps it where it may. */
static int try_narrower(const struct narrowing *n, const struct pto_explore_hold *narrower) {
  struct pto_explore_holds tried = {0};
  int answer = PTO_ENOMEM;
  if (pto_explore_holds_copy(n->holds, &tried)) {
    tried.items[n->which] = *narrower;
    pto_explore_holds_sort(&tried);
    answer = run_under(n->trial, &tried);
  }
  if (answer == 1) *hold_of(n) = *narrower;
  pto_explore_holds_fini(&tried);
  return answer;
}

/* What of a hold is set to a call of the reference; false where that would narrow nothing. */
typedef bool set_hold(struct pto_explore_hold *hold, const struct pto_explore_step *call);

static bool set_until(struct pto_explore_hold *hold, const struct pto_explore_step *call) {
  hold->until = call->event;
  return true;
}
static bool set_event(struct pto_explore_hold *hold, const struct pto_explore_step *call) {
  hold->event = call->event;
  return true;
}
static bool set_position(struct pto_explore_hold *hold, const struct pto_explore_step *call) {
  const bool is_narrower = !pto_explore_has_reached(call->position, hold->position);
  hold->position = call->position;
  return is_narrower;
}

/* The first of calls low … high − 1 that is enough, high where none of them is; or (`is_last`) the last of low + 1 …
 * high − 1, low where none is. */
static int narrow_to(const struct narrowing *n, uint64_t low, uint64_t high, set_hold *set, bool is_last) {
  while (low + is_last < high) {
    const uint64_t middle = low + (high - low) / 2;
    struct pto_explore_hold narrower = *hold_of(n);
    const int answer = set(&narrower, &n->reference[middle]) ? try_narrower(n, &narrower) : 1;
    if (answer < 0) return answer;
    if (is_last)
      *(answer ? &low : &high) = middle;
    else if (answer)
      high = middle;
    else
      low = middle + 1;
  }
  return PTO_OK;
}

/* Waiting for a step is waiting for the orchestration to come to it as well: where that alone is enough, it is what
 * matters. */
static int prefer_position(const struct narrowing *n) {
  const uint64_t until = index_of(n, &hold_of(n)->until);
  if (until >= n->count) return PTO_OK;
  const struct pto_explore_hold instead = {
      hold_of(n)->event, {.kind = PTO_EXPLORE_GO_ON}, n->reference[until].position};
  const int answer = try_narrower(n, &instead);
  return answer < 0 ? answer : PTO_OK;
}

static int narrow(const struct narrowing *n) {
  const struct pto_explore_hold *hold = hold_of(n);
  int status = PTO_OK;
  if (hold->until.kind != PTO_EXPLORE_GO_ON) {
    /* The nearest step that it has to wait for, and the latest that has to be held. */
    const uint64_t until = index_of(n, &hold->until);
    if (until < n->count) status = narrow_to(n, index_of(n, &hold->event) + 1, until, set_until, false);
    if (status == PTO_OK) status = narrow_to(n, index_of(n, &hold->event), index_of(n, &hold->until), set_event, true);
    if (status == PTO_OK) status = prefer_position(n);
  }
  /* As far as the orchestration has to be. */
  if (status == PTO_OK && hold->until.kind == PTO_EXPLORE_GO_ON)
    status = narrow_to(n, index_of(n, &hold->event) + 1, n->count, set_position, false);
  return status;
}

/* Without the orchestration's part, where that is enough: steps that wait for steps say more. */
static int drop_positions(struct pto_explore_trial *trial, struct pto_explore_holds *holds) {
  struct pto_explore_holds steps = {0};
  int answer = 0;
  for (uint32_t i = 0; i < holds->count && answer == 0; i++)
    if (holds->items[i].until.kind == PTO_EXPLORE_CALL && !pto_explore_holds_add(&steps, &holds->items[i]))
      answer = PTO_ENOMEM;
  if (answer == 0 && steps.count < holds->count) answer = run_under(trial, &steps);
  if (answer == 1) {
    const struct pto_explore_holds all = *holds;
    *holds = steps;
    steps = all;
  }
  pto_explore_holds_fini(&steps);
  return answer < 0 ? answer : PTO_OK;
}

int pto_explore_shrink(struct pto_explore_trial *trial, const struct pto_explore_step *reference,
                       uint64_t reference_count, struct pto_explore_holds *holds) {
  struct narrowing narrowing = {trial, reference, reference_count, holds, 0};
  int status = drop_positions(trial, holds);
  if (status == PTO_OK) status = minimize(trial, holds);
  for (; narrowing.which < holds->count && status == PTO_OK; narrowing.which++) status = narrow(&narrowing);
  pto_explore_holds_sort(holds);
  return status;
}
