/* SPDX-License-Identifier: MIT */
#include <check/session/watched_step.h>

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <runtime/base/clock.h>
#include <runtime/base/error.h>
#include <runtime/base/thread.h>

static void *watch(void *argument) {
  struct pto_watched_step *w = argument;
  const uint64_t until_ns = pto_clock_ns() + w->config->timeout_ms * UINT64_C(1000000);
  const struct timespec until = {(time_t)(until_ns / UINT64_C(1000000000)), (long)(until_ns % UINT64_C(1000000000))};
  char sentence[PTO_SENTENCE_SIZE];
  int waited = 0;
  pthread_mutex_lock(&w->mutex);
  while (!w->is_over && waited != ETIMEDOUT) waited = pthread_cond_timedwait(&w->wake, &w->mutex, &until);
  const bool is_late = !w->is_over;
  pthread_mutex_unlock(&w->mutex);
  if (!is_late) return NULL;
  snprintf(sentence, sizeof sentence, "%s of %.600s outlived the time-out of %u ms", w->step, w->program,
           w->config->timeout_ms);
  w->config->on_timeout(w->config->on_timeout_context, sentence);
  return NULL;
}

void pto_watched_step_begin(struct pto_watched_step *watched, const struct pto_session_options *options,
                            const char *step) {
  pthread_condattr_t attributes;
  int unused;
  *watched = (struct pto_watched_step){.config = options->config, .step = step, .program = options->program};
  if (!options->has_timeout || !options->program || !options->config) return;
  if (!options->config->timeout_ms || !options->config->on_timeout) return;
  pthread_mutex_init(&watched->mutex, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&watched->wake, &attributes);
  pthread_condattr_destroy(&attributes);
  watched->is_running = pto_thread_start(&watched->thread, watch, watched, &unused);
}

void pto_watched_step_end(struct pto_watched_step *watched) {
  if (!watched->is_running) return;
  pthread_mutex_lock(&watched->mutex);
  watched->is_over = true;
  pthread_cond_signal(&watched->wake);
  pthread_mutex_unlock(&watched->mutex);
  pthread_join(watched->thread, NULL);
  pthread_cond_destroy(&watched->wake);
  pthread_mutex_destroy(&watched->mutex);
  watched->is_running = false;
}
