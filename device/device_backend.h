/* SPDX-License-Identifier: MIT */
/*
 * What a context runs on: one table of functions a kind of device.
 *
 * Owns nothing; constant tables.  allocate and free are called by the thread that holds the context's lock; the others
 * by its executor, within a run of its runtime, in the order in which things were asked for.  To add a backend: a table
 * and a line in `backends`.
 */
#ifndef PTO_DEVICE_BACKEND_H
#define PTO_DEVICE_BACKEND_H

#include <device/device_memory.h>
#include <pto/device.h>
#include <runtime/base/error.h>
#include <sim/chips/chip.h>

struct pto_device_backend {
  const char *name;
  bool is_accelerated;
  bool has_thread; /* the executor is a thread of its own; else the waiting thread runs what is queued */
  bool has_clock;  /* of virtual time */
  const char *engine;
  uint32_t dtypes; /* bit 1 << enum pto_dtype: what tensors may have */
  uint32_t max_rank;
  /* A zeroed block of the device's memory, PTO_DEVICE_NO_BLOCK where none is large enough; and back. */
  uint32_t (*allocate)(struct pto_device_memory *memory, uint64_t size_bytes);
  void (*free)(struct pto_device_memory *memory, uint32_t block);
  /* `size_bytes` of memory get from one side to the other once all tasks that use them have let go of them.  `device`
   * (and `from`) are tensors over device memory in the current scope. */
  int (*host_to_device)(struct pto_runtime *rt, const struct pto_chip *chip, const struct pto_tensor *device,
                        const void *host, uint64_t size_bytes);
  int (*device_to_host)(struct pto_runtime *rt, const struct pto_chip *chip, const struct pto_tensor *device,
                        void *host, uint64_t size_bytes);
  int (*device_to_device)(struct pto_runtime *rt, const struct pto_chip *chip, const struct pto_tensor *from,
                          const struct pto_tensor *to, uint64_t size_bytes);
  /* Waits until no task uses these bytes, and forgets those that did: then they may be freed. */
  int (*release)(struct pto_runtime *rt, const struct pto_tensor *device);
  /* Device memory as a tensor of the current scope. */
  struct pto_tensor (*bind)(struct pto_runtime *rt, void *device, uint32_t dtype, uint32_t ndims,
                            const uint64_t *shape);
  /* Submits what an orchestration is; does not wait for it. */
  int (*run)(struct pto_runtime *rt, const struct pto_device_program *program, const struct pto_bound *bound);
};

/* The backend that options ask for.  Fills in the runtime's configuration where the options leave it open.  PTO_OK, or
 * PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_device_backend_choose(const struct pto_context_options *options, struct pto_config *config,
                                             const struct pto_device_backend **backend_out, struct pto_error *error);

/* Virtual time on the host link, ps. */
uint64_t pto_device_transfer_ps(const struct pto_chip *chip, uint64_t size_bytes);

#endif
