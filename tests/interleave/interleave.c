/* SPDX-License-Identifier: MIT */
#include <tests/interleave/interleave.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include <runtime/base/atomic.h>
#include <runtime/base/wait.h>

#if defined(__has_feature)
#define INTERLEAVE_HAS_FEATURE(x) __has_feature(x)
#else
#define INTERLEAVE_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || INTERLEAVE_HAS_FEATURE(thread_sanitizer)
#define INTERLEAVE_IS_BLIND                                                                                            \
  1 /* ThreadSanitizer does not follow contexts, and one real thread leaves it nothing to find */
#else
#define INTERLEAVE_IS_BLIND 0
#endif
#if defined(__SANITIZE_ADDRESS__) || INTERLEAVE_HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define FORGET_STACK(addr, size) __asan_unpoison_memory_region(addr, size)
#else
#define FORGET_STACK(addr, size) ((void)0)
#endif

#define WORDS 12
#define STORES 48 /* of a word in one execution */
#define PLAINS 24
#define CHOICES 400 /* on one path */
#define STEPS 400   /* of one execution: none of our scenarios needs half as many */
#define STACK_BYTES (64 * 1024)
#define SERIAL PTO_INTERLEAVE_THREADS /* who runs init and finish: sees all, is seen by all */

struct view {
  uint8_t oldest[WORDS]; /* index of the oldest store that may be read */
};
struct clock {
  uint16_t at[PTO_INTERLEAVE_THREADS + 1];
};

struct store {
  uint32_t value;
  bool is_release; /* carries view and clock */
  struct view view;
  struct clock clock;
};

struct word {
  const void *address;
  uint32_t store_count;
  uint32_t newest_seq_cst;
  struct store stores[STORES];
};

/* Who accessed a plain object, at what time of its own clock; 0: never. */
struct plain {
  const void *address;
  uint32_t writer;
  uint16_t written_at;
  uint16_t read_at[PTO_INTERLEAVE_THREADS + 1];
};

/* What a thread does next.  Two of them commute unless they touch one word and one of them changes it; a futex call
 * counts as a change. */
struct operation {
  const void *address; /* NULL: it has only just begun */
  bool is_change;
};

enum thread_state { RUNNABLE, ASLEEP, ENDED };
struct thread {
  ucontext_t context;
  enum thread_state state;
  struct operation next;
  struct view view;
  struct clock clock;
};

struct choice {
  uint32_t taken, count;
};
struct step {
  uint32_t thread;
  const char *what;
  int word; /* −1: none */
  uint32_t value;
  memory_order order;
};

static struct {
  const struct interleave_scenario *scenario;
  ucontext_t explorer;
  struct thread threads[PTO_INTERLEAVE_THREADS + 1];
  uint32_t current;
  struct word words[WORDS];
  uint32_t word_count;
  struct plain plains[PLAINS];
  uint32_t plain_count;
  struct choice choices[CHOICES];
  uint32_t depth, choice_count;
  struct step steps[STEPS];
  uint32_t step_count;
  const char *failure;
} model;
static _Alignas(64) char stacks[PTO_INTERLEAVE_THREADS][STACK_BYTES];

/* Ends the execution.  The contexts of its threads are abandoned: they hold nothing. */
static void fail(const char *failure) {
  if (!model.failure) model.failure = failure;
  if (model.current != SERIAL) setcontext(&model.explorer);
}

void interleave_check(bool condition, const char *failure) {
  if (!condition) fail(failure);
}

static uint32_t choose(uint32_t count) {
  if (count == 1 || model.failure) return 0;
  if (model.depth == model.choice_count) {
    if (model.choice_count == CHOICES) {
      fail("the scenario has more choices than the explorer can hold");
      return 0;
    }
    model.choices[model.choice_count++] = (struct choice){0, count};
  }
  return model.choices[model.depth++].taken;
}

/* The next path; false after the last. */
static bool advance(void) {
  while (model.choice_count) {
    struct choice *last = &model.choices[model.choice_count - 1];
    if (++last->taken < last->count) return true;
    model.choice_count--;
  }
  return false;
}

static void note_step(const char *what, int word, uint32_t value, memory_order order) {
  if (model.step_count == STEPS) {
    fail("an execution does not end");
    return;
  }
  model.steps[model.step_count++] = (struct step){model.current, what, word, value, order};
}

/* Before each visible operation: anyone may go first. */
static void hand_over(const void *address, bool is_change) {
  if (model.current == SERIAL) return;
  struct thread *self = &model.threads[model.current];
  self->next = (struct operation){address, is_change};
  self->clock.at[model.current]++;
  swapcontext(&self->context, &model.explorer);
}

static struct word *word_of(const void *address) {
  for (uint32_t i = 0; i < model.word_count; i++)
    if (model.words[i].address == address) return &model.words[i];
  if (model.word_count == WORDS) {
    fail("more atomic words than the explorer can hold");
    return &model.words[0];
  }
  struct word *word = &model.words[model.word_count++];
  /* Its value so far was put there by init, through atomic_init or before the threads: everybody has seen that. */
  *word = (struct word){.address = address, .store_count = 1};
  word->stores[0].value = atomic_load_explicit((const _Atomic uint32_t *)address, memory_order_relaxed);
  return word;
}

static bool has_acquire(memory_order order) {
  return order == memory_order_acquire || order == memory_order_acq_rel || order == memory_order_seq_cst;
}
static bool has_release(memory_order order) {
  return order == memory_order_release || order == memory_order_acq_rel || order == memory_order_seq_cst;
}

static void join(struct view *view, struct clock *clock, const struct view *other_view,
                 const struct clock *other_clock) {
  for (uint32_t i = 0; i < WORDS; i++)
    if (view->oldest[i] < other_view->oldest[i]) view->oldest[i] = other_view->oldest[i];
  for (uint32_t i = 0; i <= PTO_INTERLEAVE_THREADS; i++)
    if (clock->at[i] < other_clock->at[i]) clock->at[i] = other_clock->at[i];
}

static uint32_t read_store(struct word *word, uint32_t index, memory_order order) {
  struct thread *self = &model.threads[model.current];
  const struct store *store = &word->stores[index];
  self->view.oldest[word - model.words] = (uint8_t)index;
  if (has_acquire(order) && store->is_release) join(&self->view, &self->clock, &store->view, &store->clock);
  return store->value;
}

static void append_store(struct word *word, uint32_t value, memory_order order, bool continues_sequence) {
  struct thread *self = &model.threads[model.current];
  if (word->store_count == STORES) {
    fail("more stores than the explorer can hold");
    return;
  }
  struct store *store = &word->stores[word->store_count], *before = store - 1;
  *store = (struct store){.value = value};
  self->view.oldest[word - model.words] = (uint8_t)word->store_count;
  if (has_release(order)) {
    store->is_release = true;
    store->view = self->view;
    store->clock = self->clock;
  }
  if (continues_sequence && before->is_release) {
    store->is_release = true;
    join(&store->view, &store->clock, &before->view, &before->clock);
  }
  if (order == memory_order_seq_cst) word->newest_seq_cst = word->store_count;
  word->store_count++;
}

uint32_t pto_atomic_load(const _Atomic uint32_t *address, memory_order order) {
  hand_over(address, false);
  struct word *word = word_of(address);
  uint32_t newest = word->store_count - 1, oldest = newest;
  if (model.current != SERIAL) {
    oldest = model.threads[model.current].view.oldest[word - model.words];
    if (order == memory_order_seq_cst && oldest < word->newest_seq_cst) oldest = word->newest_seq_cst;
  }
  uint32_t value = read_store(word, newest - choose(newest - oldest + 1), order);
  note_step("load", (int)(word - model.words), value, order);
  return value;
}

void pto_atomic_store(_Atomic uint32_t *address, uint32_t value, memory_order order) {
  hand_over(address, true);
  struct word *word = word_of(address);
  append_store(word, value, order, false);
  note_step("store", (int)(word - model.words), value, order);
}

uint32_t pto_atomic_exchange(_Atomic uint32_t *address, uint32_t value, memory_order order) {
  hand_over(address, true);
  struct word *word = word_of(address);
  uint32_t before = read_store(word, word->store_count - 1, order);
  append_store(word, value, order, true);
  note_step("exchange", (int)(word - model.words), value, order);
  return before;
}

bool pto_atomic_compare_exchange(_Atomic uint32_t *address, uint32_t expected, uint32_t value, memory_order order) {
  hand_over(address, true);
  struct word *word = word_of(address);
  const bool has_swapped = word->stores[word->store_count - 1].value == expected;
  read_store(word, word->store_count - 1, has_swapped ? order : memory_order_relaxed);
  if (has_swapped) append_store(word, value, order, true);
  note_step(has_swapped ? "swap" : "no swap", (int)(word - model.words), value, order);
  return has_swapped;
}

/* The kernel compares with the newest value, under a lock that a waker takes as well. */
void pto_futex_wait(_Atomic uint32_t *address, uint32_t expected) {
  hand_over(address, true);
  struct word *word = word_of(address);
  struct thread *self = &model.threads[model.current];
  uint32_t value = word->stores[word->store_count - 1].value;
  note_step("sleep", (int)(word - model.words), value, memory_order_relaxed);
  if (value == expected) {
    self->state = ASLEEP;
    swapcontext(&self->context, &model.explorer);
  }
  self->view.oldest[word - model.words] = (uint8_t)(word->store_count - 1);
}

void pto_futex_wake(_Atomic uint32_t *address) {
  hand_over(address, true);
  note_step("wake", (int)(word_of(address) - model.words), 0, memory_order_relaxed);
  for (uint32_t t = 0; t < model.scenario->thread_count; t++)
    if (model.threads[t].state == ASLEEP && model.threads[t].next.address == address) {
      model.threads[t].state = RUNNABLE;
      return;
    }
}

/* ---- plain accesses ---- */

static struct plain *plain_of(const void *address) {
  for (uint32_t i = 0; i < model.plain_count; i++)
    if (model.plains[i].address == address) return &model.plains[i];
  if (model.plain_count == PLAINS) {
    fail("more plain objects than the explorer can hold");
    return &model.plains[0];
  }
  model.plains[model.plain_count] = (struct plain){.address = address, .writer = SERIAL};
  return &model.plains[model.plain_count++];
}

static bool is_after_writer(const struct plain *plain) {
  return plain->written_at <= model.threads[model.current].clock.at[plain->writer];
}

void pto_atomic_note_read(const void *address) {
  if (model.current == SERIAL) return;
  struct plain *plain = plain_of(address);
  interleave_check(is_after_writer(plain), "data race: a read is not ordered after the write");
  plain->read_at[model.current] = model.threads[model.current].clock.at[model.current];
}

void pto_atomic_note_write(const void *address) {
  if (model.current == SERIAL) return;
  struct plain *plain = plain_of(address);
  const struct clock *clock = &model.threads[model.current].clock;
  interleave_check(is_after_writer(plain), "data race: a write is not ordered after another");
  for (uint32_t t = 0; t < PTO_INTERLEAVE_THREADS; t++)
    interleave_check(plain->read_at[t] <= clock->at[t], "data race: a write is not ordered after a read");
  plain->writer = model.current;
  plain->written_at = clock->at[model.current];
}

/* ---- the explorer ---- */

static void thread_main(void) {
  model.scenario->threads[model.current]();
  model.threads[model.current].state = ENDED;
  setcontext(&model.explorer);
}

static void start_thread(uint32_t t) {
  struct thread *thread = &model.threads[t];
  FORGET_STACK(stacks[t], STACK_BYTES);
  getcontext(&thread->context);
  thread->context.uc_stack.ss_sp = stacks[t];
  thread->context.uc_stack.ss_size = STACK_BYTES;
  thread->context.uc_link = NULL;
  makecontext(&thread->context, thread_main, 0);
  thread->clock.at[t] = 1;
}

static bool commute(const struct operation *a, const struct operation *b) {
  return a->address == NULL || a->address != b->address || !(a->is_change || b->is_change);
}

/*
 * Chooses who goes on.  `skipped` is the sleep set of Godefroid (1996), a bit a thread: those whose next operation has
 * been tried first in an execution already explored, and commutes with everything done since.  Going on with one of
 * them would repeat that execution with independent steps swapped.  SERIAL where only such threads are left.
 */
static uint32_t choose_thread(uint32_t *skipped) {
  uint32_t candidates[PTO_INTERLEAVE_THREADS], count = 0;
  for (uint32_t t = 0; t < model.scenario->thread_count; t++)
    if (model.threads[t].state == RUNNABLE && !(*skipped >> t & 1)) candidates[count++] = t;
  if (count == 0) return SERIAL;
  uint32_t taken = choose(count), thread = candidates[taken];
  for (uint32_t i = 0; i < taken; i++) *skipped |= 1u << candidates[i];
  for (uint32_t t = 0; t < model.scenario->thread_count; t++)
    if (!commute(&model.threads[t].next, &model.threads[thread].next)) *skipped &= ~(1u << t);
  return thread;
}

/* One execution along the path in model.choices, which it extends. */
static void execute(void) {
  uint32_t skipped = 0;
  model.word_count = model.plain_count = model.depth = model.step_count = 0;
  model.failure = NULL;
  model.current = SERIAL;
  model.scenario->init();
  memset(model.threads, 0, sizeof model.threads);
  for (uint32_t t = 0; t < model.scenario->thread_count; t++) start_thread(t);
  for (;;) {
    uint32_t runnable = 0, asleep = 0;
    for (uint32_t t = 0; t < model.scenario->thread_count; t++) {
      runnable += model.threads[t].state == RUNNABLE;
      asleep += model.threads[t].state == ASLEEP;
    }
    model.current = SERIAL;
    if (runnable == 0 && asleep) fail("lost wake-up: every thread that has not ended is asleep");
    if (model.failure) return;
    if (runnable == 0) break;
    uint32_t next = choose_thread(&skipped);
    if (model.failure || next == SERIAL) return;
    model.current = next;
    swapcontext(&model.explorer, &model.threads[next].context);
    if (model.failure) return;
  }
  if (model.scenario->finish) model.scenario->finish();
}

struct interleave_result interleave_explore(const struct interleave_scenario *scenario, uint64_t max_executions) {
  struct interleave_result result = {0};
  model.scenario = scenario;
  model.choice_count = 0;
  do {
    execute();
    result.executions++;
    result.failure = model.failure;
    if (result.failure || result.executions == max_executions) return result;
  } while (advance());
  result.is_complete = true;
  return result;
}

void interleave_print_last(void) {
  static const char *const orders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
  for (uint32_t i = 0; i < model.step_count; i++) {
    const struct step *step = &model.steps[i];
    printf("  thread %u: %s word %d = %u (%s)\n", step->thread, step->what, step->word, step->value,
           orders[step->order]);
  }
}
