/* SPDX-License-Identifier: MIT */
#include <sim/host/watchdog.h>

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include <runtime/base/clock.h>
#include <runtime/base/thread.h>
#include <sim/host/current.h>

#define SAMPLES_PER_TIMEOUT 8 /* a time-out is noticed at most an eighth of it late */
#define MAX_LINES 256         /* as many as an engine has threads; more are not watched */

/* What the watchdog last saw of a line. */
struct seen {
  uint64_t turn;
  uint64_t since_ns;
};

uint64_t pto_watchdog_now_ns(void) { return pto_clock_ns(); }

/* A message with all that its description reads. */
struct snapshot {
  union {
    struct pto_message message;
    uint64_t words[PTO_WATCHDOG_MESSAGE_WORDS];
  } copy;
  uint64_t shapes[PTO_MAX_TENSORS][PTO_MAX_DIMS], strides[PTO_MAX_TENSORS][PTO_MAX_DIMS];
  union {
    struct pto_payload payload;
    uint64_t
        words[(sizeof(struct pto_payload) + PTO_MAX_TENSORS * sizeof(struct pto_kernel_tensor)) / sizeof(uint64_t) +
              PTO_MAX_SCALARS];
  } body;
};

/*
 * Copies words that another thread may be writing.  The payload of a kernel holds still while it runs and no longer:
 * should it return just now, the control thread may reuse the payload under our eyes.  So this one function races on
 * purpose, out of ThreadSanitizer's sight, and its caller uses the copy only where the turn is still the same
 * afterwards.  The arena that payloads live in outlives the run, so no read faults.  volatile: word by word, no call of
 * memcpy, which would be intercepted; it orders nothing, the acquire load of the turn does.
 */
__attribute__((no_sanitize("thread"), noinline)) static void copy_racing(uint64_t *to, const void *from, size_t words) {
  const volatile uint64_t *word = from;
  for (size_t i = 0; i < words; i++) to[i] = word[i];
}

static bool is_still(const struct pto_watchdog_line *line, uint64_t turn) {
  return atomic_load_explicit(&line->turn, memory_order_acquire) == turn;
}

/* Copies what the kernel of that turn was sent; false where it has returned. */
static bool take_snapshot(const struct pto_watchdog_line *line, uint64_t turn, struct snapshot *snapshot) {
  struct pto_message *message = &snapshot->copy.message;
  for (uint32_t i = 0; i < PTO_WATCHDOG_MESSAGE_WORDS; i++)
    snapshot->copy.words[i] = atomic_load_explicit(&line->message[i], memory_order_acquire);
  if (!is_still(line, turn)) return false;
  if (message->tensor_count > PTO_MAX_TENSORS) message->tensor_count = 0;
  if (message->scalar_count > PTO_MAX_SCALARS) message->scalar_count = 0;
  struct pto_payload *payload = &snapshot->body.payload;
  copy_racing(snapshot->body.words, message->payload,
              (sizeof *payload + message->tensor_count * sizeof payload->tensors[0]) / sizeof(uint64_t) +
                  message->scalar_count);
  if (!is_still(line, turn)) return false; /* the pointers in it are good */
  for (uint32_t i = 0; i < message->tensor_count; i++) {
    struct pto_kernel_tensor *tensor = &payload->tensors[i];
    if (tensor->ndims > PTO_MAX_DIMS) continue;
    copy_racing(snapshot->shapes[i], tensor->shape, tensor->ndims);
    copy_racing(snapshot->strides[i], tensor->strides, tensor->ndims);
    tensor->shape = snapshot->shapes[i];
    tensor->strides = snapshot->strides[i];
  }
  message->payload = payload;
  return is_still(line, turn);
}

static void report(const struct pto_watchdog_config *config, const char *who, const char *task) {
  char sentence[PTO_SENTENCE_SIZE];
  snprintf(sentence, sizeof sentence, "%s outlived the time-out of %u ms: %s", who, config->timeout_ms, task);
  config->on_timeout(config->context, sentence);
}

/* What was last seen of the orchestration. */
struct seen_orchestration {
  uint64_t counts[2]; /* submitted, completed */
  uint64_t since_ns;
};

/* True once it was reported.  The counts are words of the control thread's, read as copy_racing does: what matters is
 * that they stay. */
static bool sample_orchestration(const struct pto_watchdog_config *config, struct seen_orchestration *seen,
                                 bool kernels_go_on, uint64_t now) {
  char task[64];
  uint64_t counts[2] = {0, 0};
  const uint64_t *source =
      config->port ? atomic_load_explicit(&config->port->orchestration, memory_order_acquire) : NULL;
  if (source) copy_racing(counts, source, 2);
  if (!source || kernels_go_on || counts[0] != seen->counts[0] || counts[1] != seen->counts[1]) {
    *seen = (struct seen_orchestration){{counts[0], counts[1]}, now};
    return false;
  }
  if (now - seen->since_ns < config->timeout_ms * UINT64_C(1000000)) return false;
  snprintf(task, sizeof task, "it has submitted %llu task%s, and all is still since", (unsigned long long)counts[0],
           counts[0] == 1 ? "" : "s");
  report(config, "the orchestration", task);
  return true;
}

/* True once something was reported. */
static bool sample(const struct pto_watchdog_config *config, struct seen *seen, uint32_t line_count,
                   struct seen_orchestration *orchestration) {
  uint64_t now = pto_watchdog_now_ns();
  bool kernels_go_on = false;
  for (uint32_t i = 0; i < line_count; i++) {
    uint64_t turn = atomic_load_explicit(&config->lines[i].turn, memory_order_acquire);
    kernels_go_on |= turn % 2 || turn != seen[i].turn;
    if (turn != seen[i].turn) {
      seen[i] = (struct seen){turn, now};
      continue;
    }
    if (turn % 2 == 0 || now - seen[i].since_ns < config->timeout_ms * UINT64_C(1000000)) continue;
    struct snapshot snapshot;
    char task[PTO_WATCHDOG_TASK_BYTES];
    if (!take_snapshot(&config->lines[i], turn, &snapshot)) continue;
    pto_engine_describe_message(&snapshot.copy.message, task, sizeof task);
    report(config, "a kernel", task);
    return true;
  }
  return sample_orchestration(config, orchestration, kernels_go_on, now);
}

/* As if all had begun just now. */
static void forget(struct seen *seen, uint32_t line_count, struct seen_orchestration *orchestration) {
  const uint64_t now = pto_watchdog_now_ns();
  for (uint32_t i = 0; i < line_count; i++) seen[i].since_ns = now;
  orchestration->since_ns = now;
}

static void *watch(void *argument) {
  struct pto_watchdog *watchdog = argument;
  const struct pto_watchdog_config *config = &watchdog->config;
  uint32_t line_count = config->line_count < MAX_LINES ? config->line_count : MAX_LINES;
  uint64_t period_ns = config->timeout_ms * UINT64_C(1000000) / SAMPLES_PER_TIMEOUT;
  struct seen seen[MAX_LINES];
  struct seen_orchestration orchestration = {{0, 0}, pto_watchdog_now_ns()};
  bool has_reported = false;
  for (uint32_t i = 0; i < line_count; i++) seen[i] = (struct seen){0, pto_watchdog_now_ns()};
  pthread_mutex_lock(&watchdog->mutex);
  while (!watchdog->is_stopping) {
    if (has_reported) {
      pthread_cond_wait(&watchdog->wake, &watchdog->mutex);
      continue;
    }
    if (watchdog->overdue[0] != '\0') { /* it stays as it is from now on */
      pthread_mutex_unlock(&watchdog->mutex);
      report(config, "a kernel", watchdog->overdue);
      has_reported = true;
      pthread_mutex_lock(&watchdog->mutex);
      continue;
    }
    uint64_t until_ns = pto_watchdog_now_ns() + period_ns;
    struct timespec until = {(time_t)(until_ns / UINT64_C(1000000000)), (long)(until_ns % UINT64_C(1000000000))};
    if (pthread_cond_timedwait(&watchdog->wake, &watchdog->mutex, &until) != ETIMEDOUT) continue;
    if (atomic_load_explicit(&watchdog->is_paused, memory_order_relaxed)) {
      forget(seen, line_count, &orchestration);
      continue;
    }
    pthread_mutex_unlock(&watchdog->mutex);
    has_reported = sample(config, seen, line_count, &orchestration);
    pthread_mutex_lock(&watchdog->mutex);
  }
  pthread_mutex_unlock(&watchdog->mutex);
  return NULL;
}

void pto_watchdog_add_piece(struct pto_watchdog *watchdog, const struct pto_message *message, uint64_t begin_ns,
                            uint64_t *ran_ns) {
  const uint64_t limit_ns = watchdog->config.timeout_ms * UINT64_C(1000000), before_ns = *ran_ns;
  *ran_ns += pto_watchdog_now_ns() - begin_ns;
  if (PTO_LIKELY(*ran_ns < limit_ns) || before_ns >= limit_ns) return; /* not yet, or told before */
  pthread_mutex_lock(&watchdog->mutex);
  if (watchdog->overdue[0] == '\0') pto_engine_describe_message(message, watchdog->overdue, sizeof watchdog->overdue);
  pthread_cond_signal(&watchdog->wake);
  pthread_mutex_unlock(&watchdog->mutex);
}

int pto_watchdog_init(struct pto_watchdog *watchdog, const struct pto_watchdog_config *config) {
  pthread_condattr_t attributes;
  int error;
  *watchdog = (struct pto_watchdog){.config = *config};
  if (config->timeout_ms == 0 || !config->on_timeout) return PTO_OK;
  pthread_mutex_init(&watchdog->mutex, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&watchdog->wake, &attributes);
  pthread_condattr_destroy(&attributes);
  watchdog->is_running = pto_thread_start(&watchdog->thread, watch, watchdog, &error);
  if (watchdog->is_running) return PTO_OK;
  pthread_cond_destroy(&watchdog->wake);
  pthread_mutex_destroy(&watchdog->mutex);
  *watchdog = (struct pto_watchdog){0};
  return PTO_ESYSTEM;
}

void pto_watchdog_fini(struct pto_watchdog *watchdog) {
  if (!watchdog->is_running) return;
  pthread_mutex_lock(&watchdog->mutex);
  watchdog->is_stopping = true;
  pthread_cond_signal(&watchdog->wake);
  pthread_mutex_unlock(&watchdog->mutex);
  pthread_join(watchdog->thread, NULL);
  pthread_cond_destroy(&watchdog->wake);
  pthread_mutex_destroy(&watchdog->mutex);
  *watchdog = (struct pto_watchdog){0};
}
