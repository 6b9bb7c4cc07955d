/* SPDX-License-Identifier: MIT */
/*
 * What a program does before and after its run, loading, prepare and expect, under a time-out that was asked for: the
 * watchdog of the engine (sim/host/watchdog.h) is there for the run alone.
 *
 * Owns a thread between begin and end, which calls config.on_timeout once.  Begin and end are of one thread.
 */
#ifndef PTO_CHECK_SESSION_WATCHED_STEP_H
#define PTO_CHECK_SESSION_WATCHED_STEP_H

#include <pthread.h>
#include <stdbool.h>

#include <check/session/session.h>

struct pto_watched_step {
  const struct pto_config *config;
  const char *step, *program;
  bool is_running;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards what follows */
  pthread_cond_t wake;
  bool is_over;
};

/* "STEP of PROGRAM outlived the time-out of 200 ms".  The words are borrowed until end.  Nothing is watched where no
 * time-out was asked for (options->has_timeout), and where no thread starts. */
void pto_watched_step_begin(struct pto_watched_step *watched, const struct pto_session_options *options,
                            const char *step);
void pto_watched_step_end(struct pto_watched_step *watched);

#endif
