/* SPDX-License-Identifier: MIT */
/*
 * A session on the engine "explore": where a program's outputs depend on the order of its tasks.
 *
 *   open → begin (the sequential run, held against the golden) → one of pto_explore_… on `explore` → close
 *
 * A program that drives contexts makes these on the engine in every run, and their tasks are explored as those of one
 * run (check/explore/explore.h).
 *
 * Owns the session, the findings and the runtime of threads until close.  The control thread.
 */
#ifndef PTO_CHECK_SESSION_EXPLORED_H
#define PTO_CHECK_SESSION_EXPLORED_H

#include <check/explore/explore.h>
#include <check/session/session.h>

struct pto_explored {
  struct pto_session session;
  struct pto_explore explore;
  struct pto_findings findings;
  bool has_threads;
  uint64_t dispatches;         /* of a run, of which it was judged what they borrow */
  struct pto_runtime *threads; /* of exploring with real threads; NULL where contexts are, too */
  struct pto_error error;      /* what the exploration failed with; sentence "" where it did not */
};

/* Returns an enum pto_exit, the sentence in `error`.  `has_threads`: delays are planted in real threads besides. */
int pto_explored_open(struct pto_explored *explored, const struct pto_session_options *options, bool has_threads);
int pto_explored_begin(struct pto_explored *explored, void (*progress)(uint64_t done, uint64_t count));
/* The exit status of an exploration that answered `status`. */
int pto_explored_exit(const struct pto_explored *explored, int status);
void pto_explored_close(struct pto_explored *explored);

/* Whether a session's program is right where each task runs within its submit.  Runs it anew.  If so, and if what its
 * tasks declare is ordered, memory that is used beside that is the reason why the session's run was wrong. */
bool pto_session_is_right_in_sequence(const struct pto_session *session);

#endif
