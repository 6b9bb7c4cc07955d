/* SPDX-License-Identifier: MIT */
/*
 * The cores' local memories (UB; L1, L0A, L0B, L0C) and what kernels see of the cores.
 *
 * Owns one reservation for all of them: address space, resident only where a kernel touches it.  Each memory starts on
 * a page and is followed by PTO_LOCAL_GUARD_BYTES, without access from its core's first kernel on, so that running off
 * its end faults in the kernel that does it (on sizes that are whole pages, as all shipped ones are, with the first
 * byte). init and fini by the owner; in between the memory of a core belongs to the thread that runs it.
 */
#ifndef PTO_SIM_HOST_LOCAL_MEMORY_H
#define PTO_SIM_HOST_LOCAL_MEMORY_H

#include <runtime/base/reserve.h>
#include <sim/chips/chip.h>

#define PTO_LOCAL_GUARD_BYTES (UINT64_C(256) << 10) /* address space alone */

#define PTO_LOCAL_MAX_VIEWS (3 * (PTO_CHIP_MAX_CLUSTERS + 1))

struct pto_local_memories {
  struct pto_reserve memory;
  const struct pto_core *views;                   /* the owner's */
  uint64_t guarded[PTO_LOCAL_MAX_VIEWS / 64 + 1]; /* bits by place in views: their guards are made */
};

/* Fills views[0 … 3 · clusters − 1] (message fields zero), at most PTO_LOCAL_MAX_VIEWS.  False where the system
 * refuses. */
bool pto_local_memories_init(struct pto_local_memories *memories, const struct pto_chip *chip, struct pto_core *views);
/* Makes the guards of `view`, one of those that init filled: two more ranges of the process's memory each, which take
 * the system longer than all else of a core. */
PTO_MUST_CHECK bool pto_local_memories_make_guards(struct pto_local_memories *memories, const struct pto_core *view);
/* Before each kernel that uses the memories of `view`; one thread.  False where the system refuses. */
PTO_MUST_CHECK static inline bool pto_local_memories_guard(struct pto_local_memories *memories,
                                                           const struct pto_core *view) {
  const size_t place = (size_t)(view - memories->views); /* a view may say that it is another core */
  const bool is_guarded = memories->guarded[place / 64] >> place % 64 & 1;
  return PTO_LIKELY(is_guarded) || pto_local_memories_make_guards(memories, view);
}
/* A zeroed struct is allowed. */
void pto_local_memories_fini(struct pto_local_memories *memories);

#endif
