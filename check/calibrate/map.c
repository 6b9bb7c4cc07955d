/* SPDX-License-Identifier: MIT */
/*
 * The list.  What a component is, in terms of what was measured:
 *
 *   a message that a core waits for begins `dispatch_to_start_steady` after it was sent; what the first one of a core
 *   takes more is the start of a cold core
 *   the least time from a kernel's end to where a scheduler has seen it is the core's part and one look at it
 *   a recorder's own prices are what was measured under it less what was without
 *   tiles lie in pieces of some 32 KiB, so the chip's memory is taken to give the lowest of the sustained rates: which
 * of them holds for a program is assumed
 */
#include <check/calibrate/map.h>

#define VALUE(figure)                                                                                                  \
  { figure, PTO_MICRO_VALUE, NULL, 1, 0 }
#define TIMES(figure, factor)                                                                                          \
  { figure, PTO_MICRO_VALUE, NULL, factor, 0 }
#define LOW(figure)                                                                                                    \
  { figure, PTO_MICRO_LOW, NULL, 1, 0 }
#define MEAN(figure)                                                                                                   \
  { figure, PTO_MICRO_MEAN, NULL, 1, 0 }
#define NOTE(figure, pattern)                                                                                          \
  { figure, PTO_MICRO_NOTE, pattern, 1, 0 }
#define LESS(figure)                                                                                                   \
  { figure, PTO_MICRO_VALUE, NULL, -1, 0 }
#define LESS_LOW(figure)                                                                                               \
  { figure, PTO_MICRO_LOW, NULL, -1, 0 }
#define LESS_MEAN(figure)                                                                                              \
  { figure, PTO_MICRO_MEAN, NULL, -1, 0 }
#define LESS_BYTES(figure, bytes)                                                                                      \
  { figure, PTO_MICRO_VALUE, NULL, -1, bytes }

#define MEASURED PTO_CHIP_MEASURED
#define FITTED PTO_CHIP_FITTED
#define VENDOR PTO_CHIP_VENDOR
#define ASSUMED PTO_CHIP_ASSUMED

static const struct pto_map_rule rules[] = {
    {"pickup", "kernel_start_ps", NULL, MEASURED, {MEAN("dispatch_to_start_steady")}, {0}},
    {"pickup",
     "cold_start_ps",
     NULL,
     FITTED,
     {NOTE("dispatch_to_start_first", "mean #"), LESS_MEAN("dispatch_to_start_steady")},
     {0}},
    {"pending start",
     "pending_start_ps",
     NULL,
     FITTED,
     {VALUE("pending_start"), LESS_LOW("completion_by_register"), VALUE("poll_core")},
     {0}},
    {"dispatch and completion", "handshake_ps", "wiring in scheduler", MEASURED, {NOTE("handshake", "# before")}, {0}},
    {"dispatch and completion", "handshake_ps", "wiring in orchestrator", MEASURED, {VALUE("handshake")}, {0}},
    {"dispatch and completion", "kernel_end_ps", NULL, FITTED, {LOW("completion_by_register"), LESS("poll_core")}, {0}},
    {"dispatch and completion", "dispatch_more", NULL, MEASURED, {VALUE("register_write")}, {0}},
    {"loop and poll", "loop", NULL, MEASURED, {VALUE("scheduler_loop_idle")}, {0}},
    {"loop and poll", "look", NULL, MEASURED, {VALUE("poll_core")}, {0}},
    {"submit", "first_submit", NULL, MEASURED, {VALUE("first_submit")}, {0}},
    {"submit", "edge", NULL, MEASURED, {VALUE("edge_wired_by_orchestrator")}, {0}},
    {"scope", "scope", NULL, FITTED, {VALUE("scope_begin_or_end")}, {0}},
    {"HBM and cap", "chip_bandwidth_mbps", NULL, ASSUMED, {LOW("hbm_sustained")}, {0}},
    {"HBM and cap", "core_bandwidth_mbps", NULL, MEASURED, {MEAN("hbm_one_core")}, {0}},
    {"HBM and cap", "l2_core_bandwidth_mbps", NULL, MEASURED, {VALUE("gm_to_ub")}, {0}},
    {"HBM and cap", "host_bandwidth_mbps", NULL, MEASURED, {VALUE("host_to_device")}, {0}},
    {"HBM and cap",
     "host_latency_ps",
     NULL,
     FITTED,
     {VALUE("host_to_device_1mib"), LESS_BYTES("host_to_device", 1048576)},
     {0}},
    {"stages", "gm_to_l1_mbps", NULL, FITTED, {VALUE("gm_to_l1")}, {0}},
    {"stages", "l1_to_l0a_mbps", NULL, FITTED, {VALUE("l1_to_l0a")}, {0}},
    {"stages", "l1_to_l0b_mbps", NULL, FITTED, {VALUE("l1_to_l0b")}, {0}},
    {"stages", "l0c_to_gm_mbps", NULL, FITTED, {VALUE("l0c_to_gm")}, {0}},
    {"stages", "gm_to_ub_mbps", NULL, FITTED, {VALUE("gm_to_ub")}, {0}},
    {"stages", "ub_to_gm_mbps", NULL, FITTED, {VALUE("ub_to_gm")}, {0}},
    {"sizes and clocks", "l2_bytes", NULL, VENDOR, {VALUE("l2_size")}, {0}},
    {"sizes and clocks", "aic_clock_khz", NULL, VENDOR, {VALUE("clock")}, {0}},
    {"sizes and clocks", "aiv_clock_khz", NULL, VENDOR, {VALUE("clock")}, {0}},
    {"sizes and clocks", "cube_macs_per_cycle", NULL, VENDOR, {TIMES("cube_macs_fp16", 0.25)}, {0}},
    {"sizes and clocks", "cube_macs_per_cycle_16bit", NULL, VENDOR, {VALUE("cube_macs_fp16")}, {0}},
    {"sizes and clocks", "cube_macs_per_cycle_8bit", NULL, VENDOR, {TIMES("cube_macs_fp16", 2)}, {0}},
    {"sizes and clocks", "vector_elems_per_cycle", NULL, VENDOR, {TIMES("vector_width", 0.25)}, {0}},
    {"sizes and clocks", "vector_elems_per_cycle_16bit", NULL, VENDOR, {TIMES("vector_width", 0.5)}, {0}},
    {"sizes and clocks", "vector_elems_per_cycle_8bit", NULL, VENDOR, {VALUE("vector_width")}, {0}},
    {PTO_MAP_RECORDER,
     "profiling_pending_ps",
     NULL,
     FITTED,
     {NOTE("pending_start", "# with level-4 profiling"), LESS("pending_start")},
     {0}},
    {PTO_MAP_RECORDER, "profiling_dispatch", NULL, FITTED, {VALUE("dispatch_profiled")}, {"dispatch"}},
    {PTO_MAP_RECORDER,
     "profiling_complete",
     NULL,
     FITTED,
     {VALUE("completion_profiled")},
     {"poll", "profiling_poll", "complete"}},
};

const struct pto_map_rule *pto_map_rule_at(uint32_t index) {
  return index < PTO_ARRAY_LENGTH(rules) ? &rules[index] : NULL;
}
