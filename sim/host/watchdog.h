/* SPDX-License-Identifier: MIT */
/*
 * The watchdog: one thread that notices a kernel, or an orchestration, which does not come back.
 *
 * Owns that thread and nothing else: the lines that it samples belong to the engine, one for each thread that runs
 * kernels. A line's `turn` is odd while a kernel runs and even otherwise; its thread bumps it around each call (a
 * handful of stores to a line of its own, no clock).  The watchdog takes the time: a line that shows the same odd turn
 * for timeout_ms makes it call on_timeout once, on its own thread, with "a kernel outlived the time-out of 60000 ms:
 * task 17 (matmul) …". After that it samples no more.
 *
 * A kernel that waits runs in pieces, each a turn of its own: there the kernel's thread takes the time, and hands the
 * watchdog one whose pieces have come to timeout_ms.  What it waited is not counted.
 *
 * The orchestration that pto_run calls is told by port->orchestration: where no kernel runs or has run, and no task was
 * submitted or has completed for timeout_ms, it is to blame.
 *
 * While it is paused no time is counted: what runs then has a limit of its own.
 *
 * Threads: begin and end by the line's thread; add_piece by any that runs kernels; init and fini by the engine's owner,
 * fini never from within on_timeout. Nothing is allocated.  Both engines use it: the virtual one with a single line.
 */
#ifndef PTO_SIM_HOST_WATCHDOG_H
#define PTO_SIM_HOST_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>

#include <runtime/base/error.h>
#include <runtime/port/port.h>

#define PTO_WATCHDOG_TASK_BYTES (PTO_SENTENCE_SIZE - 64) /* of what is said of a task */
#define PTO_WATCHDOG_MESSAGE_WORDS (sizeof(struct pto_message) / sizeof(uint64_t))

/* Zeroed: no kernel runs. */
struct pto_watchdog_line {
  /* kernel thread → watchdog.  begin stores the words, then the odd turn; end stores the even one.  Release on each,
   * acquire on each load: a reader that finds the same odd turn before and after reading the words has the words of
   * that turn, because a word of a later turn would bring the even turn in between with it. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint64_t turn;
  _Atomic uint64_t message[PTO_WATCHDOG_MESSAGE_WORDS];
};
_Static_assert(sizeof(struct pto_watchdog_line) == PTO_CACHE_LINE, "one line a thread");

static inline void pto_watchdog_begin(struct pto_watchdog_line *line, const struct pto_message *message) {
  uint64_t words[PTO_WATCHDOG_MESSAGE_WORDS];
  __builtin_memcpy(words, message, sizeof words);
#pragma GCC unroll 4 /* or the words take a way through the stack, and twice as many instructions */
  for (uint32_t i = 0; i < PTO_WATCHDOG_MESSAGE_WORDS; i++)
    atomic_store_explicit(&line->message[i], words[i], memory_order_release);
  /* Relaxed load: this thread alone stores turn. */
  atomic_store_explicit(&line->turn, atomic_load_explicit(&line->turn, memory_order_relaxed) + 1, memory_order_release);
}
static inline void pto_watchdog_end(struct pto_watchdog_line *line) {
  atomic_store_explicit(&line->turn, atomic_load_explicit(&line->turn, memory_order_relaxed) + 1, memory_order_release);
}

struct pto_watchdog_config {
  uint32_t timeout_ms; /* > 0 */
  void (*on_timeout)(void *context, const char *sentence);
  void *context;
  const struct pto_watchdog_line *lines; /* borrowed until fini */
  uint32_t line_count;
  const struct pto_port *port; /* borrowed likewise; NULL: no orchestration is watched */
};

/* Zeroed: not running. */
struct pto_watchdog {
  struct pto_watchdog_config config;
  bool is_running;
  pthread_t thread;
  _Atomic bool is_paused; /* kernel thread → watchdog; relaxed: it guards nothing, and a sample may be a late one */
  pthread_mutex_t mutex;  /* guards the rest */
  pthread_cond_t wake;
  bool is_stopping;
  char overdue[PTO_WATCHDOG_TASK_BYTES]; /* the first kernel whose pieces took too long together; "": none */
};

/* Starts the thread.  Does nothing and succeeds where timeout_ms is 0 or on_timeout is NULL.  PTO_OK, or PTO_ESYSTEM
 * with the watchdog zeroed. */
PTO_MUST_CHECK int pto_watchdog_init(struct pto_watchdog *watchdog, const struct pto_watchdog_config *config);
/* Whether time is counted from now on. */
static inline void pto_watchdog_pause(struct pto_watchdog *watchdog, bool is_paused) {
  atomic_store_explicit(&watchdog->is_paused, is_paused, memory_order_relaxed);
}
/* The clock of pieces. */
uint64_t pto_watchdog_now_ns(void);
/* A running watchdog: a kernel that has not returned has run from `begin_ns` until now, and `*ran_ns` before. */
void pto_watchdog_add_piece(struct pto_watchdog *watchdog, const struct pto_message *message, uint64_t begin_ns,
                            uint64_t *ran_ns);
/* Stops and joins the thread.  A zeroed struct is allowed. */
void pto_watchdog_fini(struct pto_watchdog *watchdog);

#endif
