/* SPDX-License-Identifier: MIT */
/*
 * Where threads and memory go: the one home of hwloc and libnuma.
 *
 * Owns what is known of the machine: the CPUs that the creating thread may use, in the order in which workers should
 * take them (one of each physical core first, then their siblings), and the memory node of each.  Constant after init,
 * so any thread may ask.  A machine without these libraries, or where they fail, is a normal state: nothing is pinned
 * or placed, everything works, and pto_topology_report says so in one sentence that the caller may print.
 *
 * Built without a library: -DPTO_HAVE_HWLOC=0, -DPTO_HAVE_NUMA=0.  Only topology.c looks at these.
 */
#ifndef PTO_SIM_HOST_TOPOLOGY_H
#define PTO_SIM_HOST_TOPOLOGY_H

#include <runtime/base/base.h>

#define PTO_TOPOLOGY_MAX_CPUS 1024

struct pto_topology {
  void *hwloc;                           /* hwloc's; NULL: not known */
  uint32_t cpu_count;                    /* ≥ 1 */
  uint32_t node_count;                   /* memory nodes of these CPUs; 1 where not known */
  uint16_t cpus[PTO_TOPOLOGY_MAX_CPUS];  /* operating system's numbers, in the order to use them */
  uint16_t nodes[PTO_TOPOLOGY_MAX_CPUS]; /* of cpus[i] */
  char report[192];
};

/* What a thread was bound to before it was pinned. */
struct pto_topology_affinity {
  void *set; /* hwloc's; NULL: not pinned */
};

void pto_topology_init(struct pto_topology *topology);
/* Takes zeroed structs too. */
void pto_topology_fini(struct pto_topology *topology);

/* True where `threads` of them each can have a CPU of their own, and there is more than one to keep apart. */
bool pto_topology_can_pin(const struct pto_topology *topology, uint32_t threads);
/* Pins the calling thread to CPU cpus[index].  False where that is not possible.  `before`, unless NULL, keeps what
 * pto_topology_unpin restores on the same thread. */
bool pto_topology_pin(const struct pto_topology *topology, uint32_t index, struct pto_topology_affinity *before);
/* Takes zeroed structs too. */
void pto_topology_unpin(const struct pto_topology *topology, struct pto_topology_affinity *before);
/* Asks for the pages of [addr, addr + size_bytes) to come from the node of cpus[index]; nothing where there is one
 * node. */
void pto_topology_memory(const struct pto_topology *topology, uint32_t index, void *addr, uint64_t size_bytes);
/* "2 CPUs on 2 physical cores, 1 memory node" or what is missing.  Borrowed from `topology`. */
const char *pto_topology_report(const struct pto_topology *topology);

#endif
