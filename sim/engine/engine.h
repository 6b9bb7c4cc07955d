/* SPDX-License-Identifier: MIT */
/*
 * Engines: the implementers of the port that the simulated chip has; two for users, the others for tools.
 *
 * Owned by the caller until it is handed to a runtime; freed through ops->destroy.
 */
#ifndef PTO_SIM_ENGINE_ENGINE_H
#define PTO_SIM_ENGINE_ENGINE_H

#include <pto/runtime.h>
#include <runtime/base/error.h>
#include <runtime/port/port.h>

struct pto_chip;

struct pto_engine_config {
  const struct pto_chip *chip; /* borrowed for the engine's life */
  uint32_t workers;            /* 0: CPUs of the process; more than cores + 1 is cut down to what makes sense */
  uint32_t timeout_ms;         /* watchdog; 0: none */
  void (*on_timeout)(void *context, const char *sentence);
  void *on_timeout_context;
};

/* Simulated cores multiplexed over threads.  PTO_OK, or a negative status with the sentence in `error`. */
int pto_engine_threads_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error);
/* Simulated cores in integer virtual time, on the caller's thread. */
int pto_engine_virtual_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error);

/* One step at a time in an order that a chooser decides (sim/tools/explore.h), on the caller's thread. */
int pto_engine_explore_create(const struct pto_engine_config *config, struct pto_port **port_out,
                              struct pto_error *error);

/* Threads with delays that a seed plants (sim/threads/delays.h). */
int pto_engine_delayed_threads_create(const struct pto_engine_config *config, struct pto_port **port_out,
                                      struct pto_error *error);

#endif
