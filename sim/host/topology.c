/* SPDX-License-Identifier: MIT */
#include <sim/host/topology.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef PTO_HAVE_HWLOC
#define PTO_HAVE_HWLOC 1
#endif
#ifndef PTO_HAVE_NUMA
#define PTO_HAVE_NUMA 1
#endif

#if PTO_HAVE_HWLOC
#include <hwloc.h>
#endif
#if PTO_HAVE_NUMA
#include <numa.h>
#endif

/* What libc alone knows: how many CPUs, in the system's order. */
static void cpus_of_libc(struct pto_topology *topology) {
  cpu_set_t set;
  topology->cpu_count = 0;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE && topology->cpu_count < PTO_TOPOLOGY_MAX_CPUS; cpu++)
      if (CPU_ISSET(cpu, &set)) topology->cpus[topology->cpu_count++] = (uint16_t)cpu;
  if (topology->cpu_count == 0) topology->cpus[topology->cpu_count++] = 0;
  topology->node_count = 1;
}

#if PTO_HAVE_HWLOC

static uint16_t node_of(hwloc_obj_t pu) {
  int node = pu->nodeset ? hwloc_bitmap_first(pu->nodeset) : -1;
  return node > 0 && node < UINT16_MAX ? (uint16_t)node : 0;
}

/* The sibling-th allowed CPU of that core, or of the whole machine where `core` is NULL. */
static int nth_cpu(hwloc_const_bitmap_t allowed, hwloc_obj_t core, uint32_t sibling) {
  int cpu = -1;
  for (uint32_t seen = 0;; seen++) {
    do cpu = hwloc_bitmap_next(allowed, cpu);
    while (cpu >= 0 && core && !hwloc_bitmap_isset(core->cpuset, (unsigned)cpu));
    if (cpu < 0 || seen == sibling) return cpu;
  }
}

/* One CPU of each core, then the second of each, and so on; returns how many cores have one. */
static uint32_t cpus_by_core(struct pto_topology *topology, hwloc_topology_t hwloc, hwloc_const_bitmap_t allowed) {
  int core_count = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_CORE);
  uint32_t cores = 0, found;
  hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
  topology->cpu_count = 0;
  for (uint32_t sibling = 0; nodes; sibling++) {
    found = 0;
    for (int c = 0; c < (core_count > 0 ? core_count : 1); c++) {
      hwloc_obj_t core = core_count > 0 ? hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_CORE, (unsigned)c) : NULL;
      int cpu = nth_cpu(allowed, core, sibling);
      hwloc_obj_t pu = cpu >= 0 ? hwloc_get_pu_obj_by_os_index(hwloc, (unsigned)cpu) : NULL;
      if (!pu || topology->cpu_count == PTO_TOPOLOGY_MAX_CPUS) continue;
      topology->nodes[topology->cpu_count] = node_of(pu);
      hwloc_bitmap_set(nodes, topology->nodes[topology->cpu_count]);
      topology->cpus[topology->cpu_count++] = (uint16_t)cpu;
      found++;
    }
    if (found == 0) break;
    if (sibling == 0) cores = found;
  }
  topology->node_count = nodes ? (uint32_t)hwloc_bitmap_weight(nodes) : 0;
  if (topology->node_count == 0) topology->node_count = 1;
  hwloc_bitmap_free(nodes);
  return cores;
}

/* hwloc writes to standard error where a container shows no sysfs, and a library prints nothing: then it is not asked.
 */
static bool hwloc_can_look(void) { return access("/sys/devices/system/cpu/cpu0/hwloc", F_OK) == 0; }

void pto_topology_init(struct pto_topology *topology) {
  hwloc_topology_t hwloc = NULL;
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  uint32_t cores = 0;
  memset(topology, 0, sizeof *topology);
  if (allowed && hwloc_can_look() && hwloc_topology_init(&hwloc) == 0) {
    hwloc_topology_set_all_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(hwloc) == 0 && hwloc_get_cpubind(hwloc, allowed, HWLOC_CPUBIND_THREAD) == 0)
      cores = cpus_by_core(topology, hwloc, allowed);
  }
  hwloc_bitmap_free(allowed);
  if (topology->cpu_count == 0) {
    if (hwloc) hwloc_topology_destroy(hwloc);
    cpus_of_libc(topology);
    snprintf(topology->report, sizeof topology->report,
             "%u CPU%s; hwloc does not know this machine, threads are not pinned", topology->cpu_count,
             topology->cpu_count == 1 ? "" : "s");
    return;
  }
  topology->hwloc = hwloc;
  snprintf(topology->report, sizeof topology->report, "%u CPU%s on %u physical core%s, %u memory node%s%s",
           topology->cpu_count, topology->cpu_count == 1 ? "" : "s", cores, cores == 1 ? "" : "s", topology->node_count,
           topology->node_count == 1 ? "" : "s", PTO_HAVE_NUMA ? "" : "; built without libnuma, memory is not placed");
}

void pto_topology_fini(struct pto_topology *topology) {
  if (topology->hwloc) hwloc_topology_destroy(topology->hwloc);
  topology->hwloc = NULL;
}

bool pto_topology_pin(const struct pto_topology *topology, uint32_t index, struct pto_topology_affinity *before) {
  bool is_pinned = false;
  hwloc_bitmap_t old = before ? hwloc_bitmap_alloc() : NULL, cpu = hwloc_bitmap_alloc();
  if (topology->hwloc && index < topology->cpu_count && cpu && (!before || old)) {
    hwloc_bitmap_only(cpu, topology->cpus[index]);
    is_pinned = (!before || hwloc_get_cpubind(topology->hwloc, old, HWLOC_CPUBIND_THREAD) == 0) &&
                hwloc_set_cpubind(topology->hwloc, cpu, HWLOC_CPUBIND_THREAD) == 0;
  }
  hwloc_bitmap_free(cpu);
  if (before) before->set = is_pinned ? old : NULL;
  if (!is_pinned) hwloc_bitmap_free(old);
  return is_pinned;
}

void pto_topology_unpin(const struct pto_topology *topology, struct pto_topology_affinity *before) {
  if (!before->set) return;
  /* Where this fails the CPUs of before are gone; the thread stays where it is. */
  (void)!hwloc_set_cpubind(topology->hwloc, before->set, HWLOC_CPUBIND_THREAD);
  hwloc_bitmap_free(before->set);
  before->set = NULL;
}

#else

void pto_topology_init(struct pto_topology *topology) {
  memset(topology, 0, sizeof *topology);
  cpus_of_libc(topology);
  snprintf(topology->report, sizeof topology->report, "%u CPU%s; built without hwloc, threads are not pinned",
           topology->cpu_count, topology->cpu_count == 1 ? "" : "s");
}
void pto_topology_fini(struct pto_topology *topology) { (void)topology; }
bool pto_topology_pin(const struct pto_topology *topology, uint32_t index, struct pto_topology_affinity *before) {
  if (before) before->set = NULL;
  return false;
}
void pto_topology_unpin(const struct pto_topology *topology, struct pto_topology_affinity *before) {
  before->set = NULL;
}

#endif

bool pto_topology_can_pin(const struct pto_topology *topology, uint32_t threads) {
  return topology->hwloc && threads > 1 && threads <= topology->cpu_count;
}

void pto_topology_memory(const struct pto_topology *topology, uint32_t index, void *addr, uint64_t size_bytes) {
#if PTO_HAVE_NUMA
  if (topology->node_count > 1 && index < topology->cpu_count && numa_available() >= 0)
    numa_tonode_memory(addr, size_bytes, topology->nodes[index]);
#endif
}

const char *pto_topology_report(const struct pto_topology *topology) { return topology->report; }
