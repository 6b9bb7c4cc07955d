/* SPDX-License-Identifier: MIT */
#include <sim/chips/chip_keys.h>

#include <string.h>

/* Upper bounds keep every product of timing.c inside 128 bits and every sum of a day of virtual time inside 64. */
#define MAX_LOCAL_BYTES (UINT64_C(256) << 20)
#define MAX_L2_BYTES (UINT64_C(1) << 40)
#define MAX_KHZ UINT64_C(100000000) /* 100 GHz */
#define MAX_PER_CYCLE UINT64_C(1000000000)
#define MAX_MBPS UINT64_C(1000000000)          /* 1 PB/s */
#define MAX_LATENCY_PS UINT64_C(1000000000000) /* 1 s */
#define MAX_WORK_PS UINT64_C(1000000000)       /* 1 ms */

#define KEY(section, name, field, min, max, ...)                                                                       \
  { section, name, offsetof(struct pto_chip, field), sizeof(((struct pto_chip *)0)->field), min, max, __VA_ARGS__ }
#define WORK_OFFSET(kind) (offsetof(struct pto_chip, work_ps) + (kind) * sizeof(uint64_t))
#define FIELD(section, name, field, min, max) KEY(section, name, field, min, max, false, PTO_CHIP_NO_FIELD, NULL)
#define OPTIONAL(section, name, field, min, max) KEY(section, name, field, min, max, true, PTO_CHIP_NO_FIELD, NULL)
#define LIKE(section, name, field, min, max, other)                                                                    \
  KEY(section, name, field, min, max, true, offsetof(struct pto_chip, other), NULL)
#define STAGE(name, field, min, max) OPTIONAL(PTO_CHIP_STAGES, name, stages.field, min, max)
#define TIER(name, tier)                                                                                               \
  OPTIONAL("fabric", name "_latency_ps", fabric.tiers[tier].latency_ps, 1, MAX_LATENCY_PS),                            \
      OPTIONAL("fabric", name "_bandwidth_mbps", fabric.tiers[tier].bandwidth_mbps, 1, MAX_MBPS),                      \
      WORD("fabric", name "_topology", fabric.tiers[tier].topology, topology_words)
#define WORD(section, name, field, words) KEY(section, name, field, 0, 0, true, PTO_CHIP_NO_FIELD, words)

static const char *const sharing_words[] = {"at_begin", "anew", NULL};
static const char *const wiring_words[] = {"orchestrator", "scheduler", NULL};

static const char *const dealing_words[] = {"ranges", "round_robin", NULL};

static const char *const graph_words[] = {"submitted", "prebuilt", NULL};

static const char *const profiling_words[] = {"off", "on", NULL};

static const char *const l2_words[] = {"static", "lru", NULL};

static const char *const topology_words[] = {"switch", "mesh", "ring", NULL};
_Static_assert(PTO_CHIP_SWITCH == 0 && PTO_CHIP_MESH == 1 && PTO_CHIP_RING == 2, "the words are in this order");

const struct pto_chip_key pto_chip_keys[] = {
    STAGE("start_ps", start_ps, 0, MAX_LATENCY_PS),
    STAGE("trip_ps", trip_ps, 0, MAX_LATENCY_PS),
    STAGE("gm_to_l1_mbps", gm_to_l1_mbps, 1, MAX_MBPS),
    STAGE("l1_to_l0a_mbps", l1_to_l0a_mbps, 1, MAX_MBPS),
    STAGE("l1_to_l0b_mbps", l1_to_l0b_mbps, 1, MAX_MBPS),
    STAGE("l0c_to_gm_mbps", l0c_to_gm_mbps, 1, MAX_MBPS),
    STAGE("gm_to_ub_mbps", gm_to_ub_mbps, 1, MAX_MBPS),
    STAGE("ub_to_gm_mbps", ub_to_gm_mbps, 1, MAX_MBPS),
    STAGE("cube_percent", cube_percent, 1, 100),
    FIELD("chip", "clusters", cluster_count, 1, PTO_CHIP_MAX_CLUSTERS),
    FIELD("chip", "schedulers", scheduler_count, 1, PTO_CHIP_MAX_SCHEDULERS),
    FIELD("chip", "slots_per_core", slots_per_core, 1, PTO_CHIP_MAX_SLOTS),
    FIELD("memory", "ub_bytes", ub_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("memory", "l1_bytes", l1_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("memory", "l0a_bytes", l0a_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("memory", "l0b_bytes", l0b_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("memory", "l0c_bytes", l0c_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("rate", "aic_clock_khz", aic_clock_khz, 1, MAX_KHZ),
    FIELD("rate", "aiv_clock_khz", aiv_clock_khz, 1, MAX_KHZ),
    FIELD("rate", "cube_macs_per_cycle", cube_macs_per_cycle, 1, MAX_PER_CYCLE),
    FIELD("rate", "vector_elems_per_cycle", vector_elems_per_cycle, 1, MAX_PER_CYCLE),
    LIKE("rate", "cube_macs_per_cycle_16bit", cube_macs_per_cycle_16bit, 1, MAX_PER_CYCLE, cube_macs_per_cycle),
    LIKE("rate", "cube_macs_per_cycle_8bit", cube_macs_per_cycle_8bit, 1, MAX_PER_CYCLE, cube_macs_per_cycle_16bit),
    LIKE("rate", "vector_elems_per_cycle_16bit", vector_elems_per_cycle_16bit, 1, MAX_PER_CYCLE,
         vector_elems_per_cycle),
    LIKE("rate", "vector_elems_per_cycle_8bit", vector_elems_per_cycle_8bit, 1, MAX_PER_CYCLE,
         vector_elems_per_cycle_16bit),
    FIELD("rate", "core_bandwidth_mbps", core_bandwidth_mbps, 1, MAX_MBPS),
    FIELD("rate", "chip_bandwidth_mbps", chip_bandwidth_mbps, 1, MAX_MBPS),
    OPTIONAL("memory", "l2_bytes", l2_bytes, 1, MAX_L2_BYTES),
    WORD("memory", "l2", has_lru_l2, l2_words),
    LIKE("rate", "l2_core_bandwidth_mbps", l2_core_bandwidth_mbps, 1, MAX_MBPS, core_bandwidth_mbps),
    LIKE("rate", "l2_chip_bandwidth_mbps", l2_chip_bandwidth_mbps, 1, MAX_MBPS, chip_bandwidth_mbps),
    WORD("rate", "sharing", shares_anew, sharing_words),
    WORD("chip", "dealing", deals_clusters, dealing_words),
    WORD("chip", "profiling", has_profiling, profiling_words),
    OPTIONAL("latency", "profiling_start_ps", profiling_start_ps, 0, MAX_LATENCY_PS),
    LIKE("latency", "profiling_pending_ps", profiling_pending_ps, 0, MAX_LATENCY_PS, profiling_start_ps),
    OPTIONAL("control_ps", "profiling_dispatch", profiling_dispatch_ps, 0, MAX_WORK_PS),
    OPTIONAL("control_ps", "profiling_poll", profiling_poll_ps, 0, MAX_WORK_PS),
    OPTIONAL("control_ps", "profiling_complete", profiling_complete_ps, 0, MAX_WORK_PS),
    WORD("chip", "graph", is_graph_prebuilt, graph_words),
    WORD("chip", "wiring", schedulers_wire, wiring_words),
    FIELD("latency", "kernel_start_ps", kernel_start_ps, 0, MAX_LATENCY_PS),
    LIKE("latency", "pending_start_ps", pending_start_ps, 0, MAX_LATENCY_PS, kernel_start_ps),
    OPTIONAL("latency", "cold_start_ps", cold_start_ps, 0, MAX_LATENCY_PS),
    OPTIONAL("latency", "handshake_ps", handshake_ps, 0, MAX_LATENCY_PS),
    FIELD("latency", "kernel_end_ps", kernel_end_ps, 0, MAX_LATENCY_PS),
    FIELD("rate", "fifo_bandwidth_mbps", fifo_bandwidth_mbps, 1, MAX_MBPS),
    FIELD("latency", "signal_ps", signal_ps, 0, MAX_LATENCY_PS),
    FIELD("latency", "host_latency_ps", host_latency_ps, 0, MAX_LATENCY_PS),
    FIELD("latency", "host_bandwidth_mbps", host_bandwidth_mbps, 1, MAX_MBPS),
#define X(kind, work_name) FIELD("control_ps", work_name, work_ps[kind], 0, MAX_WORK_PS),
    PTO_WORK_LIST(X)
#undef X
#define X(kind, work_name, other)                                                                                      \
  {"control_ps",                                                                                                       \
   work_name,                                                                                                          \
   WORK_OFFSET(kind),                                                                                                  \
   sizeof(uint64_t),                                                                                                   \
   0,                                                                                                                  \
   MAX_WORK_PS,                                                                                                        \
   true,                                                                                                               \
   other == PTO_WORK_COUNT ? PTO_CHIP_NO_FIELD : WORK_OFFSET(other),                                                   \
   NULL},
        PTO_MORE_WORK_LIST(X)
#undef X
            OPTIONAL("control_ps", "loop", loop_ps, 1, MAX_WORK_PS),
    OPTIONAL("control_ps", "look", look_ps, 0, MAX_WORK_PS),
    LIKE("control_ps", "dispatch_more", dispatch_more_ps, 0, MAX_WORK_PS, work_ps[PTO_WORK_DISPATCH]),
    OPTIONAL("fabric", "dies_per_package", fabric.dies_per_package, 1, PTO_CHIP_MAX_JOINED),
    OPTIONAL("fabric", "chips_per_node", fabric.chips_per_node, 1, PTO_CHIP_MAX_JOINED),
    OPTIONAL("fabric", "nodes", fabric.nodes, 1, PTO_CHIP_MAX_JOINED),
    OPTIONAL("fabric", "transfer_start_ps", fabric.start_ps, 0, MAX_LATENCY_PS),
    OPTIONAL("fabric", "link_percent", fabric.link_percent, 1, 100),
    TIER("package", PTO_CHIP_PACKAGE),
    TIER("node", PTO_CHIP_NODE),
    TIER("nodes", PTO_CHIP_NODES),
};

const size_t pto_chip_key_count = PTO_ARRAY_LENGTH(pto_chip_keys);
_Static_assert(PTO_ARRAY_LENGTH(pto_chip_keys) + PTO_CHIP_TEXT_COUNT <= PTO_CHIP_MAX_NOTES, "a sheet has all of them");

const char *const pto_chip_sections[PTO_CHIP_SECTION_COUNT] = {"chip",          "memory",     "rate",  "latency",
                                                               PTO_CHIP_STAGES, "control_ps", "fabric"};

const struct pto_chip_text pto_chip_texts[PTO_CHIP_TEXT_COUNT] = {
    [PTO_CHIP_TEXT_NAME] = {"name", "_-.", "letters, digits, '_', '-' and '.' only", offsetof(struct pto_chip, name)},
    [PTO_CHIP_TEXT_ERA] = {"era", " _-.", "letters, digits, blanks, '_', '-' and '.' only",
                           offsetof(struct pto_chip, era)},
    [PTO_CHIP_TEXT_KERNEL_TIMES] = {"kernel_times", "/_-.", "letters, digits, '/', '_', '-' and '.' only",
                                    offsetof(struct pto_chip, kernel_times)},
    [PTO_CHIP_TEXT_HALF_KERNEL] = {"half_kernel", "_-.+", "letters, digits, '_', '-' and '.' only, '+' between names",
                                   offsetof(struct pto_chip, half_kernel)},
};
_Static_assert(sizeof((struct pto_chip *)0)->name == sizeof((struct pto_chip *)0)->era &&
                   sizeof((struct pto_chip *)0)->name <= sizeof((struct pto_chip *)0)->half_kernel &&
                   sizeof((struct pto_chip *)0)->name < sizeof((struct pto_chip *)0)->kernel_times,
               "one limit for all texts of a file");

const char *pto_chip_find_difference(const struct pto_chip *a, const struct pto_chip *b) {
  const char *left = (const char *)a, *right = (const char *)b;
  for (size_t i = 0; i < pto_chip_key_count; i++) {
    const struct pto_chip_key *key = &pto_chip_keys[i];
    if (memcmp(left + key->offset, right + key->offset, key->size) != 0) return key->name;
  }
  for (size_t i = 0; i < PTO_CHIP_TEXT_COUNT; i++) {
    const struct pto_chip_text *text = &pto_chip_texts[i];
    const bool is_name = i == PTO_CHIP_TEXT_NAME || i == PTO_CHIP_TEXT_ERA;
    if (!is_name && strcmp(left + text->offset, right + text->offset) != 0) return text->name;
  }
  return NULL;
}
