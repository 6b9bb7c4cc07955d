/* SPDX-License-Identifier: MIT */
/*
 * Engines: the implementers of the port that the simulated chip has; two for users, the others for tools.
 *
 * Owned by the caller until it is handed to a runtime; freed through ops->destroy.
 *
 * To add an engine: a line in PTO_ENGINE_LIST, and its function pto_engine_ID_create.
 */
#ifndef PTO_SIM_ENGINE_ENGINE_H
#define PTO_SIM_ENGINE_ENGINE_H

#include <string.h>

#include <pto/runtime.h>
#include <runtime/base/error.h>
#include <runtime/port/port.h>

struct pto_chip;
struct pto_rank_clock;

struct pto_engine_config {
  const struct pto_chip *chip; /* borrowed for the engine's life */
  uint32_t workers;            /* 0: CPUs of the process, in virtual time 1; at most one a core is made */
  const char *placement;       /* threads: of pto_config; NULL: "none" */
  bool orders_conflicts;       /* tasks whose accesses conflict are ordered: the rules are exact */
  uint32_t timeout_ms;         /* watchdog; 0: none */
  void (*on_timeout)(void *context, const char *sentence);
  void *on_timeout_context;
  uint32_t jitter_ppm; /* virtual: of pto_config, as its seed */
  uint64_t jitter_seed;
  struct pto_rank_clock *rank; /* virtual: of a rank of a world; NULL: the chip is alone */
};

/* X(id, name, whether its time is virtual, what it runs in): for users, the first by default, and for tools alone,
 * offered nowhere. */
#define PTO_ENGINE_LIST(X)                                                                                             \
  X(threads, "threads", false, "real threads")                                                                         \
  X(virtual, "virtual", true, "exact virtual time")
#define PTO_TOOL_ENGINE_LIST(X)                                                                                        \
  X(observe, "observe", false, "one kernel at a time, as often as an observer likes")                                  \
  X(observed_virtual, "observed virtual", true, "virtual time, and kernels as often as an observer likes")             \
  X(explore, "explore", false, "one step at a time, in an order that a chooser decides")                               \
  X(delayed_threads, "delayed threads", false, "threads with delays that a seed plants")

/* PTO_OK, or a negative status with the sentence in `error`. */
typedef int pto_engine_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error);
#define X(id, name, is_virtual, meaning) pto_engine_create pto_engine_##id##_create;
PTO_ENGINE_LIST(X)
PTO_TOOL_ENGINE_LIST(X)
#undef X

/* Those for users in one text, for sentences: ", threads, virtual"; the same with their meanings in brackets. */
#define PTO_ENGINE_NAME(id, name, is_virtual, meaning) ", " name
#define PTO_ENGINE_MEANING(id, name, is_virtual, meaning) ", " name " (" meaning ")"
#define PTO_ENGINE_NAMES PTO_ENGINE_LIST(PTO_ENGINE_NAME)
#define PTO_ENGINE_MEANINGS PTO_ENGINE_LIST(PTO_ENGINE_MEANING)

/* Whether the time of an engine is virtual. */
static inline bool pto_engine_is_virtual(const char *name) {
#define X(id, text, is_virtual, meaning) ((is_virtual) && strcmp(name, text) == 0) ||
  return PTO_ENGINE_LIST(X) PTO_TOOL_ENGINE_LIST(X) false;
#undef X
}

#endif
