/* SPDX-License-Identifier: MIT */
/*
 * What bounds a run in virtual time: its critical path, and what would make it shorter.
 *
 * The path goes from the end of the run back, from each node of the event graph to the cause that ended last, and is
 * told from its begin.  Each step takes the time from the end of the one before to its own, so the steps add up to the
 * makespan.  Neighbours on one resource, of one group of activities and on a core of one task, are one step.
 *
 * A gain is by how much the run would be shorter, did something take half as long, all that the event graph holds
 * stayed the same, and schedulers did first what comes up first.  It is never more than half of that something's time
 * on the path.
 *
 * Owns its steps until fini.  Made from an event graph.
 */
#ifndef PTO_REPORT_RUN_RUN_PATH_H
#define PTO_REPORT_RUN_RUN_PATH_H

#include <report/run/event_graph.h>

#define PTO_PATH_GAINS 12u     /* that are looked for */
#define PTO_PATH_GAINS_TOLD 3u /* the best of them */

struct pto_path_step {
  uint64_t begin, end; /* ps */
  struct pto_resource resource;
  uint32_t group;                  /* enum pto_activity_group */
  uint32_t first_task, last_task;  /* PTO_SEGMENT_NO_TASK: of none */
  const struct pto_kernel *kernel; /* on a core */
};

/* Of a path over the ranks of a world (check/ranks/ranks_path.h). */
#define PTO_RANK_NO_PEER UINT32_MAX
struct pto_rank_step {
  uint64_t begin, end; /* ps */
  uint32_t rank, peer; /* peer: on links, the other rank; PTO_RANK_NO_PEER: on this one */
  bool is_back;        /* from the peer to the rank, as a get */
  uint32_t activity;   /* enum pto_activity */
  struct pto_resource resource;
  uint32_t task;   /* the first; PTO_SEGMENT_NO_TASK: of none */
  char kernel[48]; /* on a core; else "" */
};

struct pto_path_gain {
  char what[96];      /* what takes half as long */
  const char *keys;   /* of chip files, with blanks between them, that say how long that takes; NULL: of a kernel */
  const char *kernel; /* its name; NULL: of none alone */
  uint64_t gain;      /* ps that the run would be shorter */
  bool is_run;        /* that is of a run of its own (check/predict/gains.h); else the order of events was held */
};

/* Gains that were to be run and were not: what is told of them, if anything is, is an estimate. */
struct pto_path_untried {
  uint32_t count, of;
  char why[256]; /* of the first */
};

struct pto_run_path {
  uint64_t makespan;                  /* ps; 0: there is no path */
  uint64_t times[PTO_ACTIVITY_COUNT]; /* of the path, ps: they add up to the makespan */
  uint64_t groups[PTO_GROUP_COUNT];
  uint32_t group, activity; /* that takes most of it, and of the group's activities the one that takes most of that */
  struct pto_path_step *steps;
  size_t step_count, step_capacity;
  struct pto_path_gain gains[PTO_PATH_GAINS]; /* the largest first */
  uint32_t gain_count;
  struct pto_path_untried untried;
};

/* PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_run_path_init(const struct pto_event_graph *graph, struct pto_run_path *path,
                                     struct pto_error *error);
/* What a trial of another run would halve: "lookups", of keys of the chip file; of ranks links too; NULL at the end of
 * the list. */
const char *pto_path_trial_at(uint32_t index, bool of_ranks, const char **keys);
/* The trials that take most of a path over ranks of these times, by activity: the largest first, each with the most
 * that it can give.  Links are among them, kernels are not.  Returns how many. */
uint32_t pto_path_find_trials(const uint64_t *times, struct pto_path_gain gains[PTO_PATH_GAINS]);
/* What would make the run shorter; takes some replays of the graph, which is that of the path. */
PTO_MUST_CHECK int pto_run_path_find_gains(struct pto_run_path *path, const struct pto_event_graph *graph,
                                           struct pto_error *error);
/* A zeroed one is allowed. */
void pto_run_path_fini(struct pto_run_path *path);

/* The activity that a node's time counts for, and on a core the kernel; NULL: none. */
uint32_t pto_path_activity(const struct pto_event_graph *graph, uint32_t node);
const struct pto_kernel *pto_path_kernel(const struct pto_event_graph *graph, uint32_t node);

/* "orchestrator", "scheduler 2", "resolver", "core 17".  Returns `text`. */
const char *pto_resource_name(struct pto_resource resource, char *text, size_t size);
/* "submit", "wait_core"; "submits", "waiting for cores"; its group. */
const char *pto_activity_name(uint32_t activity);
const char *pto_activity_text(uint32_t activity);
uint32_t pto_activity_group(uint32_t activity);
/* Of the name in JSON; PTO_ACTIVITY_COUNT: there is none of that name. */
uint32_t pto_activity_find(const char *name);
/* What the orchestration did, of the words of segments: a submit whole, or what it waited for. */
uint32_t pto_control_activity(const struct pto_trace_control *control);
/* Whether the group has an activity besides `activity` on the path. */
bool pto_run_path_group_has_more(const struct pto_run_path *path);
/* "submit"; "submitting tasks". */
const char *pto_activity_group_name(uint32_t group);
const char *pto_activity_group_text(uint32_t group);

#endif
