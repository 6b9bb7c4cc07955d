/* SPDX-License-Identifier: MIT */
/*
 * What a context runs on: a simulated NPU by one of four engines, or the host.  The memory of all of them is this
 * process's.
 *
 * Owns nothing; a constant table, any thread.  To add a backend: a line in `backends`.
 */
#ifndef PTO_DEVICE_BACKEND_H
#define PTO_DEVICE_BACKEND_H

#include <pto/device.h>
#include <runtime/base/error.h>
#include <sim/chips/chip.h>

struct pto_device_backend {
  const char *name;
  bool is_accelerated;
  bool has_thread; /* the executor is a thread of its own; else the waiting thread runs what is queued */
  bool has_clock;  /* of virtual time */
  /* Without a thread: tasks that nothing waited for stay on their way while nothing is queued, as they may with one. */
  bool leaves_tasks;
  const char *engine;
};

/* The backend that options ask for.  Fills in the runtime's configuration where the options leave it open.  PTO_OK, or
 * PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_device_backend_choose(const struct pto_context_options *options, struct pto_config *config,
                                             const struct pto_device_backend **backend_out, struct pto_error *error);

/* Virtual time on the host link, and of a copy within the device, ps. */
uint64_t pto_device_transfer_ps(const struct pto_chip *chip, uint64_t size_bytes);
uint64_t pto_device_copy_ps(const struct pto_chip *chip, uint64_t size_bytes);

#endif
