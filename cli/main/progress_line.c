/* SPDX-License-Identifier: MIT */
#include <cli/main/progress_line.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cli/main/interrupt.h>
#include <runtime/base/clock.h>
#include <runtime/base/thread.h>

static struct {
  bool is_running, is_ending, is_shown;
  pthread_t thread;
  pthread_mutex_t mutex; /* guards all but thread and is_running */
  pthread_cond_t end;
  const char *title, *stage;
  unsigned step, steps;
  uint64_t stage_ns; /* when the stage began */
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ", 3.1/s, 12 s left" of what is done one after the other, once a rate is known. */
static size_t put_rate(char *text, size_t size, double done, double count) {
  const double seconds = (double)(pto_clock_ns() - progress.stage_ns) * 1e-9, rate = seconds > 0 ? done / seconds : 0;
  if (done <= 0 || rate <= 0) return 0;
  const int used = snprintf(text, size, ", %.*f/s", rate < 10, rate);
  if (count <= done || used < 0) return (size_t)(used > 0 ? used : 0);
  return (size_t)used + (size_t)snprintf(text + used, size - (size_t)used, ", %.0f s left", (count - done) / rate);
}

/* What one run is at, where its tasks say so. */
static size_t put_tasks(char *text, size_t size) {
  const uint64_t done = atomic_load_explicit(&pto_interrupt_stop()->counted, memory_order_relaxed);
  if (!done) return 0;
  const int used = snprintf(text, size, ", %" PRIu64 " tasks", done);
  return (size_t)used + put_rate(text + used, size - (size_t)used, (double)done, 0);
}

static void show(unsigned seconds) {
  char line[256];
  size_t length =
      (size_t)snprintf(line, sizeof line, "\r\033[K%.60s: %.40s", progress.title, progress.stage ? progress.stage : "");
  if (progress.steps > 1) {
    length += (size_t)snprintf(line + length, sizeof line - length, " %u of %u", progress.step, progress.steps);
    length += put_rate(line + length, sizeof line - length, progress.step ? progress.step - 1.0 : 0, progress.steps);
  } else if (progress.steps == 1) {
    length += put_tasks(line + length, sizeof line - length);
  }
  length += (size_t)snprintf(line + length, sizeof line - length, ", %u s", seconds);
  if (write(STDERR_FILENO, line, length) > 0) progress.is_shown = true;
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
  if (progress.stage != stage) progress.stage_ns = pto_clock_ns();
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
