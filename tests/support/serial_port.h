/* SPDX-License-Identifier: MIT */
/*
 * A port for tests: cores that run one kernel at each wait, in an order that a seed decides.
 *
 * Every core keeps the order of its messages, as the contract says; which core runs next is drawn from the seed (0: the
 * core with the oldest message).  So one process explores many legal schedules, deterministically and without threads.
 * A kernel that waits runs up to where it has to wait, and is one of those drawn from when it can go on; where none
 * can, the cores that wait are answered PTO_EDEADLOCK.
 *
 * Owned by the runtime that it is handed to.
 */
#ifndef PTO_SERIAL_PORT_H
#define PTO_SERIAL_PORT_H

#include <runtime/port/port.h>

struct pto_serial_port_config {
  uint32_t cluster_count;  /* 0: 1 */
  uint32_t slots_per_core; /* 0: 2 */
  uint64_t seed;
  uint64_t aiv_local_bytes, aic_local_bytes; /* 0: 192 KiB, 512 KiB */
};

struct pto_port *pto_serial_port_create(const struct pto_serial_port_config *config);
/* Kernel calls of the port's life. */
uint64_t pto_serial_port_calls(const struct pto_port *port);

/* What was sent, in order, since the last begin of a run; up to PTO_SERIAL_MAX_SENT messages are kept. */
#define PTO_SERIAL_MAX_SENT 4096u
struct pto_serial_sent {
  uint64_t task_number;
  uint32_t core, block_index, role, flags;
  uint32_t load; /* messages that the core held before it */
};
const struct pto_serial_sent *pto_serial_port_sent(const struct pto_port *port, uint32_t *count);

#endif
