/* SPDX-License-Identifier: MIT */
/*
 * A program on several ranks: a session for each, in one world.
 *
 *   init (a world, and each rank's program, inputs and runtime) → execute, and judge → print, write → fini
 *
 * Owns world and sessions until fini.  Options are borrowed until then.
 *
 * Among several processes (world/exchange.h) each has the sessions of its ranks, and all do the same steps.  Then they
 * tell each other what there is to print and write, so that all end alike; is_told_here is true of one.  What a program
 * prints itself is rank 0's alone: the others say the same.
 *
 * Always true: exit_code and error say what it came to so far; after the first step that did not answer PTO_EXIT_OK no
 * further step is due but fini.  What is told of a rank is its session's result; of another process's rank it has
 * what is printed, and `texts` the rest.
 *
 * Threads: one calls; the ranks' sessions run on those of the world.
 */
#ifndef PTO_CHECK_RANKS_RANKS_H
#define PTO_CHECK_RANKS_RANKS_H

#include <pthread.h>

#include <check/ranks/comm_stats.h>
#include <check/ranks/ranks_path.h>
#include <check/session/session.h>
#include <pto/world.h>
#include <report/findings/source_lines.h>
#include <sim/fabric/fabric.h>
#include <world/exchange.h>

/* The object of a rank of another process. */
struct pto_rank_text {
  const char *json; /* NULL: it is of this one */
  size_t size;
};

/* Whom a time-out of a rank is told, and of which. */
struct pto_rank_timeout {
  uint32_t rank;
  void (*on_timeout)(void *context, const char *sentence);
  void *context;
};

struct pto_ranks {
  struct pto_exchange *processes; /* NULL: this one is alone */
  bool is_told_here, is_judged;
  bool wants_account;       /* set it after init: of where each rank's time went */
  bool wants_gains;         /* the same: and what would make it shorter */
  bool wants_path;          /* the same: of what bounds all of them */
  bool wants_comm_stats;    /* the same: of what went between them */
  const char *const *files; /* the same: exports that will be written, by enum pto_export; NULL: none.  Borrowed */
  uint64_t program_digest, options_digest; /* of what all processes were told alike */
  struct pto_world *world;
  struct pto_source_lines *lines; /* once a sentence needs them */
  pthread_mutex_t lines_mutex;
  struct pto_session *sessions; /* by rank */
  struct pto_rank_timeout timeouts[PTO_MAX_RANKS];
  uint32_t rank_count;
  struct pto_fabric_link *links; /* of the world, once it has run */
  uint32_t link_count;
  struct pto_ranks_path path;       /* where it is wanted */
  struct pto_comm_stats comm_stats; /* where they are wanted */
  struct pto_rank_text texts[PTO_MAX_RANKS];
  struct pto_exchange_bytes told; /* where they are */
  const char *program;
  const char *command; /* that does the run again; NULL: not known.  Borrowed; set it after init */
  double wall_seconds;
  uint64_t virtual_ps; /* the last rank's end */
  uint64_t trace_digest, output_digest;
  bool has_run;
  enum pto_verdict verified; /* of all: false where one is, null where none is known */
  int exit_code;             /* enum pto_exit */
  struct pto_error error;
};

/* How many ranks the program wants where none are asked for; 0: it is for one chip, or cannot be loaded. */
uint32_t pto_ranks_wanted(const struct pto_session_options *options);

/* Each returns an enum pto_exit; fini is due in any case. */
int pto_ranks_init(struct pto_ranks *ranks, const struct pto_session_options *options, uint32_t rank_count,
                   uint32_t thread_count);
/* The same for a caller that judges what the ranks do to each other (ranks_check.h), as pto_session_init_judged. */
int pto_ranks_init_judged(struct pto_ranks *ranks, const struct pto_session_options *options, uint32_t rank_count);
int pto_ranks_execute(struct pto_ranks *ranks);
/* A zeroed one is allowed. */
void pto_ranks_fini(struct pto_ranks *ranks);

/* For people, and the object of --json. */
void pto_ranks_print(const struct pto_ranks *ranks, FILE *to);
PTO_MUST_CHECK int pto_ranks_write_json(const struct pto_ranks *ranks, const char *path, struct pto_error *error);

#endif
