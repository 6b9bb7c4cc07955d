/* SPDX-License-Identifier: MIT */
/*
 * Guarded memory: the pages that kernels may reach, closed unless a kernel call has touched them; and the pages of the
 * call that is being looked at, with what is known of each of their bytes.
 *
 * Areas are whole pages that belong to what is observed alone: the runtime's arena, memory that the caller gave for
 * that (pto_observe_memory_add), and of any other external memory the pages inside.  While a run is observed they are
 * closed.  A touch outside of a call (the orchestration reads an element) opens the page until the next call; a touch
 * in a call makes the page one of the call's, with its bytes as they were.  So a call costs what it touches, whatever
 * there is besides.
 *
 * The pages at the ends of other external memory belong to other code too.  They are never closed, and of them only
 * the registered bytes and PTO_OBSERVE_MARGIN_BYTES around are looked at.  Those around (FOREIGN) are never written,
 * and what the first run changes there is all that is seen of them: the heap may write its links there between runs.
 *
 * Always true of a call's page: `before` holds what it held when the call began.  Bytes of class SKIP are neither
 * compared nor written.
 *
 * Owns the handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT and SIGVTALRM from the first begin of a run to its end:
 * what is no touch of a closed page goes to who had them before, unless a repeated call (pto_observe_memory_try) raised
 * it: that call ends there.  SIGVTALRM, which ends one that does not come back, waits while another of them is handled.
 * The system itself touches nothing that is closed: a system call that is given such memory fails with EFAULT.
 *
 * Several runtimes may share one, as the ranks of a world do, each an owner with its runs: what any of them has is
 * closed in a call of each, from the first begin to the last end.  A run that is over while others go on leaves its
 * memory open until the next call.
 *
 * The system has room for so many mappings (vm.max_map_count), and a page that is open by itself is one.  Where it has
 * no more, the call is one of too many pages.
 *
 * One at a time observes in a process; one thread, the control thread, or of ranks with a thread each the one whose
 * turn it is.
 */
#ifndef PTO_CHECK_OBSERVE_MEMORY_H
#define PTO_CHECK_OBSERVE_MEMORY_H

#include <runtime/base/error.h>
#include <runtime/base/reserve.h>

#define PTO_OBSERVE_MARGIN_BYTES 64u
#define PTO_OBSERVE_NO_SLOT UINT32_MAX
/* So many shared pages are looked at in every call; where there are more, in calls that declare bytes in them. */
#define PTO_OBSERVE_MAX_ENDS 32u
#define PTO_OBSERVE_SIGNALS 6u

/* What a call may do with a byte, and what is known of it; 0: nothing, it is not declared. */
enum pto_observe_class {
  PTO_OBSERVE_READ = 1,       /* declared to be read */
  PTO_OBSERVE_WRITE = 2,      /* declared to be written */
  PTO_OBSERVE_ACCUMULATE = 4, /* by blocks one after another */
  PTO_OBSERVE_UNWRITTEN = 8,  /* to be read, and never written */
  PTO_OBSERVE_SHARED = 16,    /* to be read, and another kernel of the task may write it */
  PTO_OBSERVE_FOREIGN = 32,   /* beside external memory: its owner is unknown */
  PTO_OBSERVE_SKIP = 64,
  PTO_OBSERVE_HALF = 128 /* the end of an odd number of 4-bit elements, to be written: in its upper half is none */
};

/* Bytes of others, whose owner may write them between two runs: the heap has its links there. */
static inline bool pto_observe_is_of_others(uint8_t byte_class) {
  return (byte_class & (PTO_OBSERVE_SKIP | PTO_OBSERVE_FOREIGN)) != 0;
}

struct pto_observe_range {
  uint64_t lo, hi;
};
struct pto_observe_area {
  uint64_t lo, hi;               /* whole pages */
  const char *name;              /* the caller's, for people; NULL */
  const struct pto_array *array; /* the caller's; NULL: it is none */
  uint32_t owner;
  bool is_window;
  bool is_device; /* memory of a context, in which its tensors lie */
};
struct pto_observe_external {
  uint64_t lo, hi, buffer_number;
  uint32_t owner;
};
/* A list in reserved memory. */
struct pto_observe_list {
  struct pto_reserve memory;
  uint32_t count, capacity;
};

struct pto_observe_page {
  uint64_t addr;
  uint32_t hash_index;
  bool is_guarded; /* of an area: it is closed when the call is over */
  bool is_closed_to_stores;
  uint64_t store; /* the first byte that was stored to while the page was closed to that; 0: none */
};

struct pto_observe_memory {
  uint64_t page_bytes;
  struct pto_observe_list areas;     /* of struct pto_observe_area, sorted, disjoint */
  struct pto_observe_list given;     /* of struct pto_observe_area: what the caller gave, for all runs */
  struct pto_observe_list stacks;    /* of struct pto_observe_range: that orchestrations run on */
  struct pto_observe_list hollow;    /* of struct pto_observe_range: address space without memory, for all runs */
  struct pto_observe_list externals; /* of struct pto_observe_external, in order of registration */
  struct pto_observe_list ends;      /* of uint64_t: pages at the ends of external memory that are shared */
  struct pto_observe_list loose;     /* of uint64_t: pages open since a touch outside of calls */
  struct pto_observe_list spans;     /* of struct pto_observe_range: whole pages that the call declares to read alone */
  struct pto_observe_list opened;    /* of struct pto_observe_range: of these, what is open */
  struct pto_observe_list pages;     /* of struct pto_observe_page: the call's, by slot */
  struct pto_reserve hash_memory, bytes_memory;
  uint32_t *hash;                                    /* page → slot */
  uint8_t *before, *after, *classes, *written, *sel; /* by slot, page_bytes each */
  uint32_t run_count;                                /* that go on; 0: nothing is observed */
  bool is_all_open, is_in_call, notes_stores;
  bool is_full;            /* the call has more pages than there is room for, or than the system opens one by one */
  bool is_short;           /* some memory could not be closed: touches of it are not seen */
  bool is_trying;          /* a repeated call: a signal ends it */
  uint64_t limit_us;       /* of what is tried */
  uint64_t external_lists; /* how many there were: externals have been taken out between two of them, else only added */
  bool tries_time;         /* of signals, only the one that its time is over */
  int caught;              /* that signal, */
  uint64_t caught_at;      /* and the address that it is of */
  uint64_t faults;         /* touches of closed pages, for the summary */
};

static inline uint8_t *pto_observe_at(const struct pto_observe_memory *m, uint8_t *bytes, uint32_t slot) {
  return bytes + (uint64_t)slot * m->page_bytes;
}
static inline struct pto_observe_page *pto_observe_pages(const struct pto_observe_memory *m) {
  return m->pages.memory.addr;
}

/* False where the system refuses memory.  fini takes zeroed structs and half-made ones. */
bool pto_observe_memory_init(struct pto_observe_memory *m);
void pto_observe_memory_fini(struct pto_observe_memory *m);

/* External memory of area.owner, and nothing else that anybody uses; its name is borrowed.  Between its runs; a window
 * also in one. */
bool pto_observe_memory_add(struct pto_observe_memory *m, struct pto_observe_area area);
/* Between runs of `owner`: its memory but for windows is no longer there. */
void pto_observe_memory_forget(struct pto_observe_memory *m, uint32_t owner);
/* An orchestration runs on this stack, beside the thread's own. */
bool pto_observe_memory_add_stack(struct pto_observe_memory *m, uint64_t lo, uint64_t hi);
bool pto_observe_memory_is_stack(const struct pto_observe_memory *m, uint64_t addr);
/* A touch there is none of ours: it ends the run. */
bool pto_observe_memory_add_hollow(struct pto_observe_memory *m, uint64_t lo, uint64_t hi);
bool pto_observe_memory_is_hollow(const struct pto_observe_memory *m, uint64_t addr);
/* A run of `owner` begins, whose arena is [lo, hi): of its own memory nothing is registered, what was given is closed.
 * False where runs of another one are going on in the process: nothing is guarded, and no end is due. */
PTO_MUST_CHECK bool pto_observe_memory_begin(struct pto_observe_memory *m, uint32_t owner,
                                             struct pto_observe_range arena);
void pto_observe_memory_register(struct pto_observe_memory *m, struct pto_observe_external external);
/* A run is over, and everything is open; with the last one the handlers are as they were. */
void pto_observe_memory_end(struct pto_observe_memory *m);
/* For calls that are not looked at. */
void pto_observe_memory_open_all(struct pto_observe_memory *m);

/* ---- a call ---- */

/* Closes what is open; the call has no page yet. */
void pto_observe_call_begin(struct pto_observe_memory *m);
/* The slot of the page that `addr` is in, made where there is none: `before` is filled, classes are 0 (or as the page's
 * owners have it).  NO_SLOT where there are too many, and the call is_full. */
uint32_t pto_observe_call_page(struct pto_observe_memory *m, uint64_t addr);
/* The same for all pages of [lo, hi), with one call of the system; false where there are too many. */
bool pto_observe_call_pages(struct pto_observe_memory *m, uint64_t lo, uint64_t hi);
/* NO_SLOT where it is none of the call's. */
uint32_t pto_observe_call_find(const struct pto_observe_memory *m, uint64_t addr);
/* Whether the page of `addr` is closed between calls. */
bool pto_observe_memory_has(const struct pto_observe_memory *m, uint64_t addr);
/* Whose it is then; else `otherwise`. */
uint32_t pto_observe_memory_owner(const struct pto_observe_memory *m, uint64_t addr, uint32_t otherwise);
/* Whole pages that the call reads and that need no looking at. */
void pto_observe_call_reads(struct pto_observe_memory *m, uint64_t lo, uint64_t hi);
/* After the pages are known: opens them. */
void pto_observe_call_open(struct pto_observe_memory *m);
/* While `notes` is set, pages of which the call declares to write nothing are closed to stores; the first store to each
 * is noted, whatever value it has, and opens it.  Nothing where the machine does not tell stores from loads. */
void pto_observe_call_note_stores(struct pto_observe_memory *m, bool notes);
/* Closes them again. */
void pto_observe_call_end(struct pto_observe_memory *m);

/* Calls `run(context)`; false where a signal ended it, or it took `limit_us` of processor time: m->caught.  So ends
 * what touches more pages than there is room for, too: m->is_full. */
bool pto_observe_memory_try(struct pto_observe_memory *m, void (*run)(void *context), void *context, uint64_t limit_us);
/* The same for the time alone: other signals are not caught. */
bool pto_observe_memory_try_time(struct pto_observe_memory *m, void (*run)(void *context), void *context,
                                 uint64_t limit_us);
/* Within `run`: the limit begins anew. */
void pto_observe_memory_try_on(const struct pto_observe_memory *m);
/* Within `run`, around what the observer does itself: the limit stands still.  What is left of it. */
uint64_t pto_observe_memory_try_pause(void);
void pto_observe_memory_try_resume(uint64_t left_us);

/* What the caller gave at `addr`; NULL where it gave nothing. */
const struct pto_observe_area *pto_observe_memory_given(const struct pto_observe_memory *m, uint64_t addr);

#endif
