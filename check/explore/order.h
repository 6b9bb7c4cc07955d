/* SPDX-License-Identifier: MIT */
/*
 * An order of steps as what sets it apart from sequential execution: a list of holds.
 *
 * A hold keeps one step back until another step was made, or until the orchestration has come to some position.  A run
 * under a list of holds makes the first candidate, in natural order, that nothing holds; where everything is held it
 * makes the first all the same, for one of them is all that is legal.  No hold: the reference.
 *
 * Always true: the list made from the steps of a run gives the same order of calls again (proof: a step that natural
 * order prefers to the one that was made was overtaken by it, so its hold is open; all others come later anyway), with
 * at most two holds a step.  Lists are sorted by the step that is held, so any part of one is a list.
 *
 * One thread.
 */
#ifndef PTO_CHECK_EXPLORE_ORDER_H
#define PTO_CHECK_EXPLORE_ORDER_H

#include <stdio.h>

#include <runtime/base/error.h>
#include <sim/tools/explore.h>

struct pto_explore_hold {
  struct pto_explore_event event; /* a call */
  struct pto_explore_event until; /* a call that is to be made first; of kind PTO_EXPLORE_GO_ON: see position */
  uint64_t position;              /* where the orchestration has to be first */
};

/* A list that grows; zeroed: empty. */
struct pto_explore_holds {
  struct pto_explore_hold *items;
  size_t count, capacity;
};
void pto_explore_holds_fini(struct pto_explore_holds *holds);
PTO_MUST_CHECK bool pto_explore_holds_add(struct pto_explore_holds *holds, const struct pto_explore_hold *hold);
PTO_MUST_CHECK bool pto_explore_holds_copy(const struct pto_explore_holds *from, struct pto_explore_holds *to);
void pto_explore_holds_sort(struct pto_explore_holds *holds);

/* The list of a run's steps.  `reference`: the calls of the sequential run, sorted in natural order, for their
 * positions.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_explore_holds_make(const struct pto_explore_step *steps, uint64_t count,
                                          const struct pto_explore_step *reference, uint64_t reference_count,
                                          struct pto_explore_holds *holds);

/* Where the orchestration stood when the reference made this step; 0 where it made none such. */
uint64_t pto_explore_usual_position(const struct pto_explore_step *reference, uint64_t count,
                                    const struct pto_explore_event *event);

/* A run under a list. */
struct pto_explore_replay {
  const struct pto_explore_holds *holds; /* sorted; borrowed for the run */
  uint32_t *by_until;                    /* their indices by the step that they wait for */
  uint32_t *first_of_task;               /* by task: the first that holds a step of it or of a later one */
  uint64_t task_count;                   /* tasks from here on have none */
  bool *is_open;
  bool was_forced; /* a step was made that was held: the run is not the order that the list says */
};
/* Takes memory for each task up to the last that is held: holds of a file are checked first.  False without memory. */
PTO_MUST_CHECK bool pto_explore_replay_init(struct pto_explore_replay *replay, const struct pto_explore_holds *holds);
/* A zeroed struct is allowed. */
void pto_explore_replay_fini(struct pto_explore_replay *replay);
/* Before a run. */
void pto_explore_replay_begin(struct pto_explore_replay *replay);
/* Of struct pto_explore_chooser; the context is the replay. */
uint32_t pto_explore_replay_choose(void *context, const struct pto_explore_event *candidates, uint32_t count,
                                   uint64_t position);

/* Whether the orchestration has come that far: positions of one program only ever grow, in one way. */
static inline bool pto_explore_has_reached(uint64_t now, uint64_t position) {
  const uint64_t came = pto_explore_submits(now) + pto_explore_accesses(now);
  const uint64_t wanted = pto_explore_submits(position) + pto_explore_accesses(position);
  return came > wanted || (came == wanted && (now & PTO_EXPLORE_WAITS) >= (position & PTO_EXPLORE_WAITS));
}

/* Hash of the order of kernel calls alone. */
uint64_t pto_explore_order_hash(const struct pto_explore_step *steps, uint64_t count);

/* "hold TASK.BLOCK.ROLE.PIECE until TASK.BLOCK.ROLE.PIECE", "… until SUBMITS+ACCESSES", or "… until
 * SUBMITS+ACCESSES+wait".  Returns `text`. */
#define PTO_EXPLORE_HOLD_TEXT 192
const char *pto_explore_hold_format(const struct pto_explore_hold *hold, char *text, size_t size);
/* Such a line a hold; lines that begin with # are comments.  At least one hold; of tasks that there may not be
 * (pto_explore_replay checks).  PTO_OK, PTO_ENOMEM, or PTO_EINVAL with the line, or with why there is none. */
PTO_MUST_CHECK int pto_explore_holds_read(FILE *stream, struct pto_explore_holds *holds, struct pto_error *error);

#endif
