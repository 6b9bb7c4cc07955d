/* SPDX-License-Identifier: MIT */
#include <check/observe/memory.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <pto/world.h>

/* Whether a fault says which of the two it was. */
#if defined(__x86_64__)
#define TELLS_STORES 1
#else
#define TELLS_STORES 0
#endif
/* Address space alone: five bytes of it a byte of a call's pages. */
#define MAX_PAGES (UINT32_C(1) << 19)
#define HASH_SLOTS (2 * MAX_PAGES)
#define MAX_AREAS UINT32_C(65536)
#define MAX_OWNERS UINT32_C(128)
#define MAX_EXTERNALS (UINT32_C(1) << 22)
/* Spans of up to so many pages are opened at once, longer ones piece by piece as they are read. */
#define SPAN_AT_ONCE 64u
#define SPAN_PIECE 16u
#define LATELY 256u

/* Handlers have no argument of ours; one observes in a process.  Where ranks have a thread each, one of them goes on at
 * a time. */
static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER; /* of guard.memory, where two begin at once */
static struct {
  struct pto_observe_memory *memory;
  pthread_t threads[PTO_MAX_RANKS]; /* that begin runs: control threads */
  uint32_t thread_count;
  pthread_t trying; /* the one that has called try last */
  struct sigaction old_actions[PTO_OBSERVE_SIGNALS];
  sigjmp_buf back;
} guard;
static const int signals[PTO_OBSERVE_SIGNALS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};

/* ---- lists ---- */

static bool list_init(struct pto_observe_list *list, uint32_t capacity, size_t item_bytes) {
  list->capacity = capacity;
  return pto_reserve_init(&list->memory, capacity * (uint64_t)item_bytes);
}

#define LIST_PUSH(list, type, ...)                                                                                     \
  ((list)->count < (list)->capacity ? (((type *)(list)->memory.addr)[(list)->count++] = (type)__VA_ARGS__, true)       \
                                    : false)
#define LIST_AT(list, type, i) (&((type *)(list)->memory.addr)[i])

/* The range that holds the address; NULL: none does. */
static const struct pto_observe_range *range_of(const struct pto_observe_list *ranges, uint64_t addr) {
  for (uint32_t i = 0; i < ranges->count; i++) {
    const struct pto_observe_range *range = LIST_AT(ranges, struct pto_observe_range, i);
    if (addr >= range->lo && addr < range->hi) return range;
  }
  return NULL;
}

/* ---- areas ---- */

/* The first area that ends after `addr`. */
static uint32_t area_after(const struct pto_observe_memory *m, uint64_t addr) {
  uint32_t lo = 0, hi = m->areas.count;
  while (lo < hi) {
    const uint32_t mid = (lo + hi) / 2;
    if (LIST_AT(&m->areas, struct pto_observe_area, mid)->hi > addr)
      hi = mid;
    else
      lo = mid + 1;
  }
  return lo;
}

static const struct pto_observe_area *area_of(const struct pto_observe_memory *m, uint64_t addr) {
  const uint32_t i = area_after(m, addr);
  if (i == m->areas.count) return NULL;
  const struct pto_observe_area *area = LIST_AT(&m->areas, struct pto_observe_area, i);
  return area->lo <= addr ? area : NULL;
}

bool pto_observe_memory_has(const struct pto_observe_memory *m, uint64_t addr) { return area_of(m, addr) != NULL; }
uint32_t pto_observe_memory_owner(const struct pto_observe_memory *m, uint64_t addr, uint32_t otherwise) {
  const struct pto_observe_area *area = area_of(m, addr);
  return area ? area->owner : otherwise;
}

/* Puts whole pages among the areas; what is in one already stays as it is. */
static void area_insert(struct pto_observe_memory *m, struct pto_observe_area area) {
  while (area.lo < area.hi) {
    const uint32_t i = area_after(m, area.lo);
    struct pto_observe_area *all = m->areas.memory.addr;
    if (i < m->areas.count && all[i].lo <= area.lo) {
      area.lo = all[i].hi;
      continue;
    }
    if (m->areas.count == m->areas.capacity) return; /* it stays open, and unobserved beyond its edges */
    struct pto_observe_area piece = area;
    if (i < m->areas.count) piece.hi = pto_min_u64(piece.hi, all[i].lo);
    memmove(&all[i + 1], &all[i], (m->areas.count - i) * sizeof *all);
    all[i] = piece;
    m->areas.count++;
    area.lo = piece.hi;
  }
}

/* False where the system has no room for one more mapping, which is what a page by itself is (vm.max_map_count). */
static bool protect(uint64_t lo, uint64_t hi, int protection) {
  return lo >= hi || mprotect((void *)(uintptr_t)lo, hi - lo, protection) == 0;
}
static bool open_range(uint64_t lo, uint64_t hi) { return protect(lo, hi, PROT_READ | PROT_WRITE); }

/* Each becomes one mapping.  A second time, where the first has only made room for that. */
static bool protect_areas(const struct pto_observe_memory *m, int protection) {
  bool is_ok = false;
  for (int round = 0; round < 2 && !is_ok; round++) {
    is_ok = true;
    for (uint32_t i = 0; i < m->areas.count; i++) {
      const struct pto_observe_area *area = LIST_AT(&m->areas, struct pto_observe_area, i);
      is_ok &= protect(area->lo, area->hi, protection);
    }
  }
  return is_ok;
}

static void close_areas(struct pto_observe_memory *m) { m->is_short |= !protect_areas(m, PROT_NONE); }

/* ---- init ---- */

static bool add_own_stack(struct pto_observe_memory *m) {
  pthread_attr_t attributes;
  void *addr;
  size_t bytes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
  const bool has_stack = pthread_attr_getstack(&attributes, &addr, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  return !has_stack || pto_observe_memory_add_stack(m, (uintptr_t)addr, (uintptr_t)addr + bytes);
}

/* Whether some of these bytes are on a stack. */
static bool is_on_stack(const struct pto_observe_memory *m, uint64_t lo, uint64_t hi) {
  for (uint32_t i = 0; i < m->stacks.count; i++) {
    const struct pto_observe_range *stack = LIST_AT(&m->stacks, struct pto_observe_range, i);
    if (lo < stack->hi && hi > stack->lo) return true;
  }
  return false;
}

bool pto_observe_memory_init(struct pto_observe_memory *m) {
  memset(m, 0, sizeof *m);
  m->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
  const uint64_t each = (uint64_t)MAX_PAGES * m->page_bytes;
  if (!list_init(&m->areas, MAX_AREAS, sizeof(struct pto_observe_area)) ||
      !list_init(&m->given, MAX_AREAS, sizeof(struct pto_observe_area)) ||
      !list_init(&m->stacks, MAX_OWNERS, sizeof(struct pto_observe_range)) ||
      !list_init(&m->hollow, MAX_AREAS, sizeof(struct pto_observe_range)) ||
      !list_init(&m->externals, MAX_EXTERNALS, sizeof(struct pto_observe_external)) ||
      !list_init(&m->ends, MAX_AREAS, sizeof(uint64_t)) || !list_init(&m->loose, MAX_PAGES, sizeof(uint64_t)) ||
      !list_init(&m->spans, MAX_PAGES, sizeof(struct pto_observe_range)) ||
      !list_init(&m->opened, MAX_PAGES, sizeof(struct pto_observe_range)) ||
      !list_init(&m->pages, MAX_PAGES, sizeof(struct pto_observe_page)) ||
      !pto_reserve_init(&m->hash_memory, HASH_SLOTS * sizeof *m->hash) ||
      !pto_reserve_init(&m->bytes_memory, 5 * each) || !add_own_stack(m)) {
    pto_observe_memory_fini(m);
    return false;
  }
  m->hash = m->hash_memory.addr;
  m->before = m->bytes_memory.addr;
  m->after = m->before + each;
  m->classes = m->after + each;
  m->written = m->classes + each;
  m->sel = m->written + each;
  return true;
}

void pto_observe_memory_fini(struct pto_observe_memory *m) {
  while (m->run_count) pto_observe_memory_end(m);
  struct pto_observe_list *lists[] = {&m->areas, &m->given, &m->stacks, &m->hollow, &m->externals,
                                      &m->ends,  &m->loose, &m->spans,  &m->opened, &m->pages};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(lists); i++) pto_reserve_fini(&lists[i]->memory);
  pto_reserve_fini(&m->hash_memory);
  pto_reserve_fini(&m->bytes_memory);
  memset(m, 0, sizeof *m);
}

bool pto_observe_memory_add(struct pto_observe_memory *m, struct pto_observe_area area) {
  area.lo = pto_align_up(area.lo, m->page_bytes);
  area.hi &= ~(m->page_bytes - 1);
  if (!LIST_PUSH(&m->given, struct pto_observe_area, area)) return false;
  if (!m->run_count) return true;
  area_insert(m, area);
  if (!m->is_all_open) m->is_short |= !protect(area.lo, area.hi, PROT_NONE);
  return true;
}
bool pto_observe_memory_is_stack(const struct pto_observe_memory *m, uint64_t addr) {
  return is_on_stack(m, addr, addr + 1);
}
bool pto_observe_memory_add_stack(struct pto_observe_memory *m, uint64_t lo, uint64_t hi) {
  if (is_on_stack(m, lo, hi)) return true;
  return LIST_PUSH(&m->stacks, struct pto_observe_range, {lo, hi});
}
bool pto_observe_memory_add_hollow(struct pto_observe_memory *m, uint64_t lo, uint64_t hi) {
  return LIST_PUSH(&m->hollow, struct pto_observe_range, {lo, hi});
}
bool pto_observe_memory_is_hollow(const struct pto_observe_memory *m, uint64_t addr) {
  return range_of(&m->hollow, addr) != NULL;
}

/* ---- the call's pages ---- */

static uint32_t *hash_entry(const struct pto_observe_memory *m, uint64_t page) {
  uint32_t at = (uint32_t)pto_mix64(page) & (HASH_SLOTS - 1);
  while (m->hash[at] && pto_observe_pages(m)[m->hash[at] - 1].addr != page) at = (at + 1) & (HASH_SLOTS - 1);
  return &m->hash[at];
}

uint32_t pto_observe_call_find(const struct pto_observe_memory *m, uint64_t addr) {
  return *hash_entry(m, addr & ~(m->page_bytes - 1)) - 1;
}

/* Of a page that is shared with strangers: which bytes are whose. */
static void classify_end(struct pto_observe_memory *m, uint64_t page, uint8_t *classes) {
  const uint64_t end = page + m->page_bytes;
  const bool is_stack = is_on_stack(m, page, end);
  memset(classes, PTO_OBSERVE_SKIP, m->page_bytes);
  for (int inner = 0; inner <= 1; inner++)
    for (uint32_t i = 0; i < m->externals.count; i++) {
      const struct pto_observe_external *e = LIST_AT(&m->externals, struct pto_observe_external, i);
      const uint64_t margin = inner ? 0 : PTO_OBSERVE_MARGIN_BYTES;
      if ((!inner && is_stack) || e->lo - margin >= end || e->hi + margin <= page) continue;
      const uint64_t lo = pto_max_u64(e->lo - margin, page), hi = pto_min_u64(e->hi + margin, end);
      memset(classes + (lo - page), inner ? 0 : PTO_OBSERVE_FOREIGN, hi - lo);
    }
}

/* The page is open and as it was when the call began. */
static uint32_t add_page(struct pto_observe_memory *m, uint64_t page) {
  uint32_t *entry = hash_entry(m, page);
  const uint32_t slot = m->pages.count;
  const bool is_guarded = area_of(m, page) != NULL;
  if (!LIST_PUSH(&m->pages, struct pto_observe_page, {page, (uint32_t)(entry - m->hash), is_guarded, false, 0})) {
    m->is_full = true;
    return PTO_OBSERVE_NO_SLOT;
  }
  *entry = slot + 1;
  memcpy(pto_observe_at(m, m->before, slot), (const void *)(uintptr_t)page, m->page_bytes);
  memcpy(pto_observe_at(m, m->after, slot), pto_observe_at(m, m->before, slot), m->page_bytes);
  memset(pto_observe_at(m, m->written, slot), 0, m->page_bytes);
  memset(pto_observe_at(m, m->sel, slot), 0, m->page_bytes);
  uint8_t *classes = pto_observe_at(m, m->classes, slot);
  if (!is_guarded)
    classify_end(m, page, classes);
  else
    memset(classes, range_of(&m->spans, page) ? PTO_OBSERVE_READ : 0, m->page_bytes);
  return slot;
}

uint32_t pto_observe_call_page(struct pto_observe_memory *m, uint64_t addr) {
  const uint64_t page = addr & ~(m->page_bytes - 1);
  const uint32_t slot = pto_observe_call_find(m, page);
  if (slot != PTO_OBSERVE_NO_SLOT) return slot;
  if (!area_of(m, page) || open_range(page, page + m->page_bytes)) return add_page(m, page);
  m->is_full = true;
  return PTO_OBSERVE_NO_SLOT;
}

bool pto_observe_call_pages(struct pto_observe_memory *m, uint64_t lo, uint64_t hi) {
  uint64_t page = lo & ~(m->page_bytes - 1);
  while (page < hi) {
    const struct pto_observe_area *area = area_of(m, page);
    const uint64_t end = area ? pto_min_u64(area->hi, pto_align_up(hi, m->page_bytes)) : page + m->page_bytes;
    if (area && !open_range(page, end)) {
      m->is_full = true;
      return false;
    }
    for (; page < end; page += m->page_bytes)
      if (pto_observe_call_find(m, page) == PTO_OBSERVE_NO_SLOT && add_page(m, page) == PTO_OBSERVE_NO_SLOT)
        return false;
  }
  return true;
}

void pto_observe_call_reads(struct pto_observe_memory *m, uint64_t lo, uint64_t hi) {
  if (lo < hi && !LIST_PUSH(&m->spans, struct pto_observe_range, {lo, hi})) m->is_full = true;
}

void pto_observe_call_begin(struct pto_observe_memory *m) {
  bool is_closed = !m->is_all_open;
  for (uint32_t i = 0; i < m->loose.count; i++) {
    const uint64_t page = *LIST_AT(&m->loose, uint64_t, i);
    is_closed = is_closed && protect(page, page + m->page_bytes, PROT_NONE);
  }
  if (!is_closed) close_areas(m);
  m->is_all_open = false;
  m->loose.count = m->pages.count = m->spans.count = m->opened.count = 0;
  m->is_full = false;
  m->is_in_call = true;
}

static bool open_span(struct pto_observe_memory *m, uint64_t lo, uint64_t hi) {
  const bool is_ok = protect(lo, hi, PROT_READ) && LIST_PUSH(&m->opened, struct pto_observe_range, {lo, hi});
  m->is_full |= !is_ok;
  return is_ok;
}

void pto_observe_call_open(struct pto_observe_memory *m) {
  for (uint32_t i = 0; i < m->spans.count; i++) {
    const struct pto_observe_range span = *LIST_AT(&m->spans, struct pto_observe_range, i);
    if (span.hi - span.lo <= SPAN_AT_ONCE * m->page_bytes) (void)open_span(m, span.lo, span.hi);
  }
  /* A span may hold a page that became the call's for another parameter. */
  for (uint32_t i = 0; m->spans.count && i < m->pages.count; i++) {
    const struct pto_observe_page *page = &pto_observe_pages(m)[i];
    if (page->is_guarded && range_of(&m->spans, page->addr))
      m->is_full |= !open_range(page->addr, page->addr + m->page_bytes);
  }
}

void pto_observe_call_note_stores(struct pto_observe_memory *m, bool notes) {
  m->notes_stores = notes && TELLS_STORES;
  for (uint32_t slot = 0; slot < m->pages.count; slot++) {
    struct pto_observe_page *page = &pto_observe_pages(m)[slot];
    const uint8_t *classes = pto_observe_at(m, m->classes, slot);
    bool is_written = !page->is_guarded;
    for (uint64_t i = 0; i < m->page_bytes; i++) is_written |= (classes[i] & PTO_OBSERVE_WRITE) != 0;
    const bool closes = m->notes_stores && !is_written;
    if (closes != page->is_closed_to_stores)
      m->is_full |= !protect(page->addr, page->addr + m->page_bytes, closes ? PROT_READ : PROT_READ | PROT_WRITE);
    page->is_closed_to_stores = closes;
  }
}

void pto_observe_call_end(struct pto_observe_memory *m) {
  struct pto_observe_range run = {0, 0};
  bool is_closed = !m->is_all_open;
  m->notes_stores = false;
  for (uint32_t i = 0; i < m->opened.count; i++) {
    const struct pto_observe_range *range = LIST_AT(&m->opened, struct pto_observe_range, i);
    is_closed = is_closed && protect(range->lo, range->hi, PROT_NONE);
  }
  for (uint32_t i = 0; i < m->pages.count; i++) m->hash[pto_observe_pages(m)[i].hash_index] = 0;
  /* Neighbours are closed by one call. */
  for (uint32_t i = 0; i < m->pages.count; i++) {
    const struct pto_observe_page *page = &pto_observe_pages(m)[i];
    if (!page->is_guarded) continue;
    if (page->addr != run.hi) {
      is_closed = is_closed && protect(run.lo, run.hi, PROT_NONE);
      run.lo = page->addr;
    }
    run.hi = page->addr + m->page_bytes;
  }
  is_closed = is_closed && protect(run.lo, run.hi, PROT_NONE);
  if (!is_closed) close_areas(m);
  m->is_all_open = false;
  m->pages.count = m->spans.count = m->opened.count = 0;
  m->is_in_call = false;
}

/* ---- the handler ---- */

/* 1, 0, or −1 where the machine does not say. */
static int is_write(const void *context) {
#if TELLS_STORES
  const ucontext_t *registers = context;
  return (registers->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return -1;
#endif
}

/* A touch that cannot be noted: the call goes on with everything open, and is observed no further.  False in a
 * repeated run, which ends there: what it did behind that would stay. */
static bool give_up(struct pto_observe_memory *m) {
  m->is_full = true;
  if (m->is_trying && !m->tries_time) return false;
  pto_observe_memory_open_all(m);
  return true;
}

/* A store to a page of the call that is closed to stores; false where it is none. */
static bool note_store(struct pto_observe_memory *m, uint32_t slot, uint64_t addr, int writes) {
  struct pto_observe_page *page = &pto_observe_pages(m)[slot];
  if (!page->is_closed_to_stores || writes != 1) return false; /* it is open: this is a fault of another kind */
  page->is_closed_to_stores = false;
  page->store = addr;
  return open_range(page->addr, page->addr + m->page_bytes) || give_up(m);
}

/* A touch of a closed page in a call; false where it is none. */
static bool touch(struct pto_observe_memory *m, uint64_t addr, int writes) {
  const uint64_t page = addr & ~(m->page_bytes - 1);
  const uint32_t known = pto_observe_call_find(m, page);
  if (known != PTO_OBSERVE_NO_SLOT) return note_store(m, known, addr, writes);
  const struct pto_observe_range *span = writes != 1 ? range_of(&m->spans, page) : NULL;
  if (span && !range_of(&m->opened, page)) { /* else it is open to be read, so this is a write */
    const uint64_t end = pto_min_u64(span->hi, page + SPAN_PIECE * m->page_bytes);
    return open_span(m, page, end) || give_up(m);
  }
  const bool is_load = m->notes_stores && writes == 0;
  if (!protect(page, page + m->page_bytes, is_load ? PROT_READ : PROT_READ | PROT_WRITE)) return give_up(m);
  const uint32_t slot = add_page(m, page);
  if (slot == PTO_OBSERVE_NO_SLOT) return give_up(m);
  pto_observe_pages(m)[slot].is_closed_to_stores = is_load;
  if (m->notes_stores && writes == 1) pto_observe_pages(m)[slot].store = addr;
  return true;
}

static bool resolve(struct pto_observe_memory *m, uint64_t addr, const void *context) {
  const uint64_t page = addr & ~(m->page_bytes - 1);
  if (m->is_all_open || !area_of(m, page)) return false;
  m->faults++;
  if (m->is_in_call) return touch(m, addr, is_write(context));
  if (!open_range(page, page + m->page_bytes) || !LIST_PUSH(&m->loose, uint64_t, page))
    pto_observe_memory_open_all(m); /* the next call closes all */
  return true;
}

/* As if this handler were not there. */
static void pass_on(int signal, siginfo_t *info, void *context) {
  for (size_t i = 0; i < PTO_OBSERVE_SIGNALS; i++) {
    const struct sigaction *old = &guard.old_actions[i];
    if (signals[i] != signal) continue;
    if (old->sa_flags & SA_SIGINFO)
      old->sa_sigaction(signal, info, context);
    else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
      old->sa_handler(signal);
    else if (signal != SIGVTALRM) {
      sigaction(signal, old, NULL); /* what faults does so again; what was raised is raised again */
      if (signal == SIGABRT) raise(signal);
    }
  }
}

static bool is_control_thread(void) {
  uint32_t i = 0;
  while (i < guard.thread_count && !pthread_equal(pthread_self(), guard.threads[i])) i++;
  return i < guard.thread_count;
}

static void on_signal(int signal, siginfo_t *info, void *context) {
  struct pto_observe_memory *m = guard.memory;
  const int saved = errno;
  if (signal == SIGVTALRM && !pthread_equal(pthread_self(), guard.trying)) {
    pthread_kill(guard.trying, signal); /* the clock is the process's, and so is its signal */
    return;
  }
  if (signal != SIGVTALRM && !is_control_thread()) {
    pass_on(signal, info, context);
    return;
  }
  if (signal == SIGSEGV && resolve(m, (uintptr_t)info->si_addr, context)) {
    errno = saved;
    return;
  }
  if (m->is_trying && (signal == SIGVTALRM || !m->tries_time)) {
    m->is_trying = false;
    m->caught = signal;
    m->caught_at = (uintptr_t)info->si_addr;
    siglongjmp(guard.back, 1);
  }
  errno = saved;
  pass_on(signal, info, context);
}

static void set_limit(uint64_t limit_us) {
  const struct itimerval limit = {
      .it_value = {.tv_sec = (time_t)(limit_us / 1000000), .tv_usec = (suseconds_t)(limit_us % 1000000)}};
  setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

static bool try_run(struct pto_observe_memory *m, void (*run)(void *context), void *context, uint64_t limit_us) {
  m->caught = 0;
  m->limit_us = limit_us;
  guard.trying = pthread_self();
  if (sigsetjmp(guard.back, 1) == 0) { /* with its mask: the jump is out of a handler that SIGVTALRM waits for */
    m->is_trying = true;
    set_limit(limit_us);
    run(context);
    m->is_trying = false;
  }
  set_limit(0);
  return m->caught == 0;
}

bool pto_observe_memory_try(struct pto_observe_memory *m, void (*run)(void *context), void *context,
                            uint64_t limit_us) {
  m->tries_time = false;
  return try_run(m, run, context, limit_us);
}
bool pto_observe_memory_try_time(struct pto_observe_memory *m, void (*run)(void *context), void *context,
                                 uint64_t limit_us) {
  m->tries_time = true;
  return try_run(m, run, context, limit_us);
}

uint64_t pto_observe_memory_try_pause(void) {
  const struct itimerval none = {.it_value = {0, 0}};
  struct itimerval left;
  setitimer(ITIMER_VIRTUAL, &none, &left);
  return (uint64_t)left.it_value.tv_sec * 1000000 + (uint64_t)left.it_value.tv_usec;
}
void pto_observe_memory_try_resume(uint64_t left_us) { set_limit(left_us); }

void pto_observe_memory_try_on(const struct pto_observe_memory *m) { set_limit(m->limit_us); }

/* ---- runs ---- */

/* False where another has it. */
static bool take_guard(struct pto_observe_memory *m) {
  pthread_mutex_lock(&guard_lock);
  const bool is_free = guard.memory == NULL;
  if (is_free) guard.memory = m;
  pthread_mutex_unlock(&guard_lock);
  return is_free;
}

static void leave_guard(void) {
  pthread_mutex_lock(&guard_lock);
  guard.memory = NULL;
  pthread_mutex_unlock(&guard_lock);
}

static void take_handlers(void) {
  struct sigaction action;
  guard.thread_count = 0;
  guard.trying = pthread_self();
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGVTALRM); /* it jumps: not out of the midst of our lists, but when the handler is done */
  for (size_t i = 0; i < PTO_OBSERVE_SIGNALS; i++) sigaction(signals[i], &action, &guard.old_actions[i]);
}

/* Of the thread that begins a run; its stack is one that orchestrations run on. */
static void take_thread(struct pto_observe_memory *m) {
  if (is_control_thread() || guard.thread_count == PTO_MAX_RANKS) return;
  guard.threads[guard.thread_count++] = pthread_self();
  (void)add_own_stack(m);
}

static void forget_externals(struct pto_observe_memory *m, uint32_t owner) {
  struct pto_observe_external *all = m->externals.memory.addr;
  uint32_t left = 0;
  for (uint32_t i = 0; i < m->externals.count; i++)
    if (all[i].owner != owner) all[left++] = all[i];
  m->externals.count = left;
  m->external_lists++;
}

bool pto_observe_memory_begin(struct pto_observe_memory *m, uint32_t owner, struct pto_observe_range arena) {
  if (m->run_count == 0) {
    if (!take_guard(m)) return false;
    m->areas.count = m->externals.count = m->ends.count = m->loose.count = m->pages.count = 0;
    m->is_all_open = m->is_in_call = m->is_trying = false;
    take_handlers();
  }
  m->run_count++;
  take_thread(m);
  forget_externals(m, owner);
  area_insert(m, (struct pto_observe_area){.lo = arena.lo, .hi = arena.hi & ~(m->page_bytes - 1), .owner = owner});
  for (uint32_t i = 0; i < m->given.count; i++) area_insert(m, *LIST_AT(&m->given, struct pto_observe_area, i));
  close_areas(m);
  m->is_all_open = false;
  m->loose.count = 0;
  return true;
}

static void note_end(struct pto_observe_memory *m, uint64_t page) {
  if (area_of(m, page)) return;
  for (uint32_t i = 0; i < m->ends.count; i++)
    if (*LIST_AT(&m->ends, uint64_t, i) == page) return;
  (void)LIST_PUSH(&m->ends, uint64_t, page);
}

/* Of external memory: where it begins and ends, and all of it on a stack. */
static void note_ends(struct pto_observe_memory *m, uint64_t lo, uint64_t hi) {
  const uint64_t mask = m->page_bytes - 1;
  note_end(m, lo & ~mask);
  note_end(m, (hi - 1) & ~mask);
  if (!is_on_stack(m, lo, hi)) return;
  for (uint64_t page = lo & ~mask; page < hi; page += m->page_bytes) note_end(m, page);
}

/* Programs register the same memory again and again: once is enough, if it was lately. */
static bool is_registered(const struct pto_observe_memory *m, const struct pto_observe_external *external) {
  for (uint32_t i = m->externals.count; i > 0 && m->externals.count - i < LATELY; i--) {
    const struct pto_observe_external *e = LIST_AT(&m->externals, struct pto_observe_external, i - 1);
    if (e->lo == external->lo && e->hi == external->hi && e->owner == external->owner) return true;
  }
  return false;
}

void pto_observe_memory_register(struct pto_observe_memory *m, struct pto_observe_external external) {
  const uint64_t mask = m->page_bytes - 1, lo = external.lo, hi = external.hi;
  if (is_registered(m, &external)) return;
  (void)LIST_PUSH(&m->externals, struct pto_observe_external, {lo, hi, external.buffer_number, external.owner});
  const struct pto_observe_area inner = {
      .lo = pto_align_up(lo, m->page_bytes), .hi = hi & ~mask, .owner = external.owner};
  const uint32_t areas = m->areas.count;
  if (inner.lo < inner.hi && !is_on_stack(m, lo, hi)) area_insert(m, inner);
  if (m->areas.count != areas && !m->is_all_open) m->is_short |= !protect(inner.lo, inner.hi, PROT_NONE);
  note_ends(m, lo, hi);
}

void pto_observe_memory_open_all(struct pto_observe_memory *m) {
  if (!m->is_all_open) (void)protect_areas(m, PROT_READ | PROT_WRITE); /* what was closed as a whole opens so */
  m->is_all_open = true;
  m->loose.count = 0;
}

void pto_observe_memory_end(struct pto_observe_memory *m) {
  if (!m->run_count) return;
  pto_observe_memory_open_all(m);
  if (--m->run_count) return;
  for (size_t i = 0; i < PTO_OBSERVE_SIGNALS; i++) sigaction(signals[i], &guard.old_actions[i], NULL);
  leave_guard();
}

static void forget_areas(struct pto_observe_list *list, uint32_t owner) {
  struct pto_observe_area *all = list->memory.addr;
  uint32_t left = 0;
  for (uint32_t i = 0; i < list->count; i++)
    if (all[i].owner != owner || all[i].is_window) all[left++] = all[i];
  list->count = left;
}

void pto_observe_memory_forget(struct pto_observe_memory *m, uint32_t owner) {
  if (m->run_count) pto_observe_memory_open_all(m);
  forget_areas(&m->areas, owner);
  forget_areas(&m->given, owner);
  forget_externals(m, owner);
  m->ends.count = 0;
  for (uint32_t i = 0; i < m->externals.count; i++) {
    const struct pto_observe_external *e = LIST_AT(&m->externals, struct pto_observe_external, i);
    note_ends(m, e->lo, e->hi);
  }
}

const struct pto_observe_area *pto_observe_memory_given(const struct pto_observe_memory *m, uint64_t addr) {
  for (uint32_t i = 0; i < m->given.count; i++) {
    const struct pto_observe_area *area = LIST_AT(&m->given, struct pto_observe_area, i);
    if (addr >= area->lo && addr < area->hi) return area;
  }
  return NULL;
}
