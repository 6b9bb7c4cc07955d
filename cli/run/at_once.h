/* SPDX-License-Identifier: MIT */
/* How many processes run side by side where nothing is said.  Any thread. */
#ifndef PTO_CLI_RUN_AT_ONCE_H
#define PTO_CLI_RUN_AT_ONCE_H

#include <sched.h>
#include <stdint.h>

/* The CPUs that this process may use. */
static inline uint32_t pto_at_once_default(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

#endif
