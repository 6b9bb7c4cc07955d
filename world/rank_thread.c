/* SPDX-License-Identifier: MIT */
/*
 * A thread of a rank: what a fiber is, for code that does not go on on another stack, as an interpreter's does not. The
 * rank's thread and that of its part take turns, so one of them runs at a time.
 */
#include <world/world_state.h>

#include <stdlib.h>

#include <runtime/base/thread.h>

struct pto_rank_thread {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t turned;
  bool is_its_turn; /* guarded by the mutex, which also hands over all that a turn has changed */
  void (*run)(void *context);
  void *context;
};

static void wait_for_turn(struct pto_rank_thread *thread, bool is_its_turn) {
  while (thread->is_its_turn != is_its_turn) pthread_cond_wait(&thread->turned, &thread->mutex);
}

static void turn(struct pto_rank_thread *thread, bool is_its_turn) {
  thread->is_its_turn = is_its_turn;
  pthread_cond_signal(&thread->turned);
}

static void *run(void *argument) {
  struct pto_rank_thread *thread = argument;
  pthread_mutex_lock(&thread->mutex);
  wait_for_turn(thread, true);
  pthread_mutex_unlock(&thread->mutex);
  if (thread->run) thread->run(thread->context);
  pthread_mutex_lock(&thread->mutex);
  turn(thread, false);
  pthread_mutex_unlock(&thread->mutex);
  return NULL;
}

struct pto_rank_thread *pto_rank_thread_create(void (*its)(void *context), void *context) {
  int code;
  struct pto_rank_thread *thread = calloc(1, sizeof *thread);
  if (!thread) return NULL;
  *thread = (struct pto_rank_thread){
      .mutex = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER, .run = its, .context = context};
  if (pto_thread_start(&thread->thread, run, thread, &code)) return thread;
  free(thread);
  return NULL;
}

void pto_rank_thread_destroy(struct pto_rank_thread *thread, bool has_ended) {
  if (!thread) return;
  if (!has_ended) { /* it has had no turn */
    thread->run = NULL;
    pto_rank_thread_resume(thread);
  }
  pthread_join(thread->thread, NULL);
  pthread_cond_destroy(&thread->turned);
  pthread_mutex_destroy(&thread->mutex);
  free(thread);
}

void pto_rank_thread_resume(struct pto_rank_thread *thread) {
  pthread_mutex_lock(&thread->mutex);
  turn(thread, true);
  wait_for_turn(thread, false);
  pthread_mutex_unlock(&thread->mutex);
}

void pto_rank_thread_suspend(struct pto_rank_thread *thread) {
  pthread_mutex_lock(&thread->mutex);
  turn(thread, false);
  wait_for_turn(thread, true);
  pthread_mutex_unlock(&thread->mutex);
}
