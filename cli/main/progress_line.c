/* SPDX-License-Identifier: MIT */
#include <cli/main/progress_line.h>

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <runtime/base/clock.h>
#include <runtime/base/thread.h>

static struct {
  bool is_running, is_ending, is_shown;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards all but thread and is_running */
  pthread_cond_t end;
  const char *title, *stage;
  unsigned step, steps;
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void show(unsigned seconds) {
  char line[160];
  int length =
      snprintf(line, sizeof line, "\r\033[K%.60s: %.40s", progress.title, progress.stage ? progress.stage : "");
  if (progress.steps > 1)
    length += snprintf(line + length, sizeof line - (size_t)length, " %u of %u", progress.step, progress.steps);
  length += snprintf(line + length, sizeof line - (size_t)length, ", %u s", seconds);
  if (write(STDERR_FILENO, line, (size_t)length) > 0) progress.is_shown = true;
}

static void *show_main(void *unused) {
  const uint64_t now_ns = pto_clock_ns();
  struct timespec at = {(time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000)};
  pthread_mutex_lock(&progress.mutex);
  for (unsigned seconds = 1; !progress.is_ending; seconds++) {
    at.tv_sec++;
    while (!progress.is_ending && pthread_cond_timedwait(&progress.end, &progress.mutex, &at) == 0) {
    }
    if (!progress.is_ending) show(seconds);
  }
  pthread_mutex_unlock(&progress.mutex);
  return NULL;
}

void pto_progress_line_begin(const char *title, bool is_wanted) {
  pthread_condattr_t attributes;
  int reason;
  if (!is_wanted || progress.is_running || !isatty(STDERR_FILENO)) return;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&progress.end, &attributes);
  pthread_condattr_destroy(&attributes);
  progress.title = title;
  progress.stage = NULL;
  progress.steps = 0;
  progress.is_ending = progress.is_shown = false;
  progress.is_running = pto_thread_start(&progress.thread, show_main, NULL, &reason);
  if (!progress.is_running) pthread_cond_destroy(&progress.end);
}

void pto_progress_line_stage(const char *stage, unsigned step, unsigned steps) {
  pthread_mutex_lock(&progress.mutex);
  progress.stage = stage;
  progress.step = step;
  progress.steps = steps;
  pthread_mutex_unlock(&progress.mutex);
}

void pto_progress_line_end(void) {
  if (!progress.is_running) return;
  pthread_mutex_lock(&progress.mutex);
  progress.is_ending = true;
  pthread_cond_signal(&progress.end);
  pthread_mutex_unlock(&progress.mutex);
  pthread_join(progress.thread, NULL);
  pthread_cond_destroy(&progress.end);
  if (progress.is_shown) (void)!write(STDERR_FILENO, "\r\033[K", 4);
  progress.is_running = false;
}
