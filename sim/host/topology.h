/* SPDX-License-Identifier: MIT */
/*
 * Where threads and memory go: the one home of hwloc and libnuma.
 *
 * Owns what is known of the machine: the CPUs that the creating thread may use, in the order in which workers should
 * take them (one of each physical core first, then their siblings), and the memory node of each.  Constant after place,
 * so any thread may ask.  A machine without these libraries, or where they fail, is a normal state: nothing is pinned,
 * everything works, and the report says so.
 *
 * Threads are pinned where the user asks for it alone: with other work on the machine a pinned thread waits for its CPU
 * while others are idle.  "spread" claims its CPUs, so that a second run takes others: a claim is the abstract socket
 * "pto-cpu-N", which ends with the process, and is seen by processes of the same network namespace.
 *
 * Built without a library: -DPTO_HAVE_HWLOC=0, -DPTO_HAVE_NUMA=0.  Only topology.c looks at these.
 */
#ifndef PTO_SIM_HOST_TOPOLOGY_H
#define PTO_SIM_HOST_TOPOLOGY_H

#include <sched.h>

#include <runtime/base/base.h>
#include <runtime/base/error.h>

#define PTO_TOPOLOGY_MAX_CPUS 1024

struct pto_topology {
  uint32_t cpu_count;                    /* ≥ 1 */
  uint32_t node_count;                   /* memory nodes of these CPUs; 1 where not known */
  uint16_t cpus[PTO_TOPOLOGY_MAX_CPUS];  /* operating system's numbers, in the order to use them */
  uint16_t nodes[PTO_TOPOLOGY_MAX_CPUS]; /* of cpus[i] */
  bool is_placed;                        /* thread i is pinned to cpus[i] */
  int *claims;                           /* sockets, -1 behind the last; NULL: none */
  char report[256];
};

/* What a thread was bound to before it was pinned. */
struct pto_topology_affinity {
  bool is_pinned; /* `set` is to be restored */
  cpu_set_t set;
};

/* cpu_count alone, by libc: for hwloc the system is read each time, which takes milliseconds. */
uint32_t pto_topology_count_cpus(void);
void pto_topology_init(struct pto_topology *topology);
/* A zeroed struct is allowed. */
void pto_topology_fini(struct pto_topology *topology);

/* Decides where `threads` threads go: "none" (NULL), "spread", or CPUs by number, "0,2-3".  Where "spread" cannot give
 * each a CPU, because there are fewer, other runs have them, or a quota of the container allows less, nothing is
 * pinned. PTO_OK; PTO_EINVAL for a list that is none, too short, or has CPUs that the thread may not use. */
PTO_MUST_CHECK int pto_topology_place(struct pto_topology *topology, const char *placement, uint32_t threads,
                                      struct pto_error *error);
/* Pins the calling thread to CPU cpus[index].  False where that is not possible.  `before`, unless NULL, keeps what
 * pto_topology_unpin restores on the same thread. */
bool pto_topology_pin(const struct pto_topology *topology, uint32_t index, struct pto_topology_affinity *before);
/* A zeroed struct is allowed. */
void pto_topology_unpin(struct pto_topology_affinity *before);
/* Asks for the pages of [addr, addr + size_bytes) to come from the node of cpus[index]; nothing where there is one
 * node. */
void pto_topology_memory(const struct pto_topology *topology, uint32_t index, void *addr, uint64_t size_bytes);
/* "2 CPUs on 2 physical cores, 1 memory node", or what is missing; behind place "; threads on CPUs 0, 2", or why on
 * none in particular.  Borrowed from `topology`. */
const char *pto_topology_report(const struct pto_topology *topology);

#endif
