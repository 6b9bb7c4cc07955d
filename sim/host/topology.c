/* SPDX-License-Identifier: MIT */
#include <sim/host/topology.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <runtime/base/text.h>

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

uint32_t pto_topology_count_cpus(void) {
  struct pto_topology topology;
  cpus_of_libc(&topology);
  return topology.cpu_count;
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
static bool hwloc_can_look(void) { return access("/sys/devices/system/cpu/cpu0/topology", F_OK) == 0; }

/* hwloc loads its plug-ins for the first topology of a process and unloads them with the last, and they bring libraries
 * of graphics with them: most of the time to create an engine.  An empty topology that stays keeps them loaded. */
static hwloc_topology_t staying;
static pthread_once_t stays = PTHREAD_ONCE_INIT;
static void stay(void) { (void)hwloc_topology_init(&staying); }

/* How many physical cores there are; 0: not known, and the CPUs are not in order. */
static uint32_t order_cpus(struct pto_topology *topology) {
  hwloc_topology_t hwloc = NULL;
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  uint32_t cores = 0;
  if (hwloc_can_look()) pthread_once(&stays, stay);
  if (allowed && hwloc_can_look() && hwloc_topology_init(&hwloc) == 0) {
    hwloc_topology_set_all_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(hwloc) == 0 && hwloc_get_cpubind(hwloc, allowed, HWLOC_CPUBIND_THREAD) == 0)
      cores = cpus_by_core(topology, hwloc, allowed);
    hwloc_topology_destroy(hwloc);
  }
  hwloc_bitmap_free(allowed);
  return cores;
}

#else

static uint32_t order_cpus(struct pto_topology *topology) { return 0; }

#endif

void pto_topology_init(struct pto_topology *topology) {
  memset(topology, 0, sizeof *topology);
  const uint32_t cores = order_cpus(topology);
  if (cores == 0 || topology->cpu_count == 0) {
    cpus_of_libc(topology);
    snprintf(topology->report, sizeof topology->report, "%u CPU%s, %s", topology->cpu_count,
             topology->cpu_count == 1 ? "" : "s",
             PTO_HAVE_HWLOC ? "whose cores hwloc does not know" : "built without hwloc");
    return;
  }
  snprintf(topology->report, sizeof topology->report, "%u CPU%s on %u physical core%s, %u memory node%s%s",
           topology->cpu_count, topology->cpu_count == 1 ? "" : "s", cores, cores == 1 ? "" : "s", topology->node_count,
           topology->node_count == 1 ? "" : "s", PTO_HAVE_NUMA ? "" : "; built without libnuma, memory is not placed");
}

bool pto_topology_pin(const struct pto_topology *topology, uint32_t index, struct pto_topology_affinity *before) {
  cpu_set_t one;
  if (before) before->is_pinned = false;
  if (index >= topology->cpu_count) return false;
  CPU_ZERO(&one);
  CPU_SET(topology->cpus[index], &one);
  if (before && sched_getaffinity(0, sizeof before->set, &before->set) != 0) return false;
  const bool is_pinned = sched_setaffinity(0, sizeof one, &one) == 0;
  if (before) before->is_pinned = is_pinned;
  return is_pinned;
}

void pto_topology_unpin(struct pto_topology_affinity *before) {
  /* Where this fails the CPUs of before are gone; the thread stays where it is. */
  if (before->is_pinned) (void)!sched_setaffinity(0, sizeof before->set, &before->set);
  before->is_pinned = false;
}

/* ---- placement ---- */

/* A socket that says that this process has the CPU; -1 where another one has it. */
static int claim(uint32_t cpu) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "pto-cpu-%u", cpu);
  const int socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  if (socket_fd >= 0 && bind(socket_fd, (struct sockaddr *)&address, size) == 0) return socket_fd;
  if (socket_fd >= 0) close(socket_fd);
  return -1;
}

static void drop_claims(struct pto_topology *topology) {
  for (int *fd = topology->claims; fd && *fd >= 0; fd++) close(*fd);
  free(topology->claims);
  topology->claims = NULL;
}

/* CPUs that the container may use at a time (cgroup v2); UINT32_MAX: no limit is known. */
static uint32_t quota(void) {
  unsigned long long used, period;
  FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
  if (!file) return UINT32_MAX;
  const bool has_limit = fscanf(file, "%llu %llu", &used, &period) == 2 && period > 0;
  fclose(file);
  return has_limit ? (uint32_t)pto_min_u64(used / period, UINT32_MAX) : UINT32_MAX;
}

/* cpus[at] goes to place `to`, and its node with it; those between move up. */
static void move_cpu(struct pto_topology *topology, uint32_t at, uint32_t to) {
  const uint16_t cpu = topology->cpus[at], node = topology->nodes[at];
  memmove(&topology->cpus[to + 1], &topology->cpus[to], (at - to) * sizeof topology->cpus[0]);
  memmove(&topology->nodes[to + 1], &topology->nodes[to], (at - to) * sizeof topology->nodes[0]);
  topology->cpus[to] = cpu;
  topology->nodes[to] = node;
}

/* Claims the first `threads` CPUs that no other run has; NULL, or why not. */
static const char *spread(struct pto_topology *topology, uint32_t threads) {
  uint32_t count = 0;
  if (threads > topology->cpu_count) return "are more than the CPUs";
  if (threads > quota()) return "are more than the container's quota of CPUs";
  topology->claims = malloc((threads + 1) * sizeof *topology->claims);
  if (!topology->claims) return "are not bound: no memory";
  for (uint32_t i = 0; i < topology->cpu_count && count < threads; i++) {
    const int fd = claim(topology->cpus[i]);
    if (fd < 0) continue;
    move_cpu(topology, i, count);
    topology->claims[count++] = fd;
  }
  topology->claims[count] = -1;
  if (count == threads) return NULL;
  drop_claims(topology);
  return "are not bound: other runs have too many of the CPUs";
}

static int take_cpu(struct pto_topology *topology, unsigned long cpu, uint32_t *count, struct pto_error *error) {
  for (uint32_t i = *count; i < topology->cpu_count; i++) {
    if (topology->cpus[i] != cpu) continue;
    move_cpu(topology, i, (*count)++);
    return PTO_OK;
  }
  for (uint32_t i = 0; i < *count; i++)
    if (topology->cpus[i] == cpu) return pto_error_set(error, PTO_EINVAL, "placement: CPU %lu is there twice", cpu);
  return pto_error_set(error, PTO_EINVAL, "placement: CPU %lu is none that this process may use", cpu);
}

/* "0,2-3": thread by thread. */
static int take_list(struct pto_topology *topology, const char *list, uint32_t threads, struct pto_error *error) {
  uint32_t count = 0;
  const char *at = list;
  while (*at) {
    char *end;
    const unsigned long first = strtoul(at, &end, 10);
    unsigned long last = first;
    const bool is_number = end != at && *at >= '0'; /* no blank and no sign in front, which strtoul takes */
    if (is_number && *end == '-' && end[1] >= '0' && end[1] <= '9') last = strtoul(end + 1, &end, 10);
    if (!is_number || last < first || (*end && (*end != ',' || !end[1])))
      return pto_error_set(error, PTO_EINVAL, "placement: '%s' is neither none, spread nor CPUs such as 0,2-3", list);
    for (unsigned long cpu = first; cpu <= last; cpu++) {
      const int status = take_cpu(topology, cpu, &count, error);
      if (status) return status;
    }
    at = *end ? end + 1 : end;
  }
  if (count < threads)
    return pto_error_set(error, PTO_EINVAL, "placement: %u CPU%s in '%s' for %u threads", count, count == 1 ? "" : "s",
                         list, threads);
  return PTO_OK;
}

int pto_topology_place(struct pto_topology *topology, const char *placement, uint32_t threads,
                       struct pto_error *error) {
  const bool is_spread = placement && strcmp(placement, "spread") == 0;
  if (!placement || strcmp(placement, "none") == 0) {
    pto_text_append(topology->report, sizeof topology->report, "; threads on no CPU in particular");
    return PTO_OK;
  }
  const char *reason = is_spread ? spread(topology, threads) : NULL;
  const int status = is_spread ? PTO_OK : take_list(topology, placement, threads, error);
  if (status) return status;
  topology->is_placed = !reason;
  if (reason) {
    pto_text_append(topology->report, sizeof topology->report, "; %u threads %s", threads, reason);
    return PTO_OK;
  }
  pto_text_append(topology->report, sizeof topology->report, "; threads on CPUs");
  for (uint32_t i = 0; i < threads; i++)
    pto_text_append(topology->report, sizeof topology->report, "%s %u", i ? "," : "", topology->cpus[i]);
  return PTO_OK;
}

void pto_topology_fini(struct pto_topology *topology) { drop_claims(topology); }

void pto_topology_memory(const struct pto_topology *topology, uint32_t index, void *addr, uint64_t size_bytes) {
#if PTO_HAVE_NUMA
  if (topology->is_placed && topology->node_count > 1 && index < topology->cpu_count && numa_available() >= 0)
    numa_tonode_memory(addr, size_bytes, topology->nodes[index]);
#endif
}

const char *pto_topology_report(const struct pto_topology *topology) { return topology->report; }
