/* SPDX-License-Identifier: MIT */
/*
 * The cores' local memories (UB; L1, L0A, L0B, L0C) and what kernels see of the cores.
 *
 * Owns one reservation for all of them: address space, resident only where a kernel touches it.  Each memory starts on
 * a page and is followed by PTO_LOCAL_GUARD_BYTES without access, so that running off its end faults in the kernel that
 * does it (on sizes that are whole pages, as all shipped ones are, with the first byte). init and fini by the owner; in
 * between the memory of a core belongs to the thread that runs it.
 */
#ifndef PTO_SIM_HOST_LOCAL_MEMORY_H
#define PTO_SIM_HOST_LOCAL_MEMORY_H

#include <runtime/base/reserve.h>
#include <sim/chips/chip.h>

#define PTO_LOCAL_GUARD_BYTES (UINT64_C(256) << 10) /* address space alone */

struct pto_local_memories {
  struct pto_reserve memory;
};

/* Whether pages without access are made for all at once, or for each core by pto_local_memory_guard: each makes two
 * more ranges of the process's memory, which take the system most of the time of a creation. */
enum pto_local_guards { PTO_LOCAL_GUARDS_NOW, PTO_LOCAL_GUARDS_LATER };

/* Fills views[0 … 3 · clusters − 1] (message fields zero).  False where the system refuses. */
bool pto_local_memories_init(struct pto_local_memories *memories, const struct pto_chip *chip, struct pto_core *views,
                             enum pto_local_guards guards);
/* Before the first kernel that uses the memories of `view`.  False where the system refuses. */
PTO_MUST_CHECK bool pto_local_memory_guard(const struct pto_core *view);
/* A zeroed struct is allowed. */
void pto_local_memories_fini(struct pto_local_memories *memories);

#endif
