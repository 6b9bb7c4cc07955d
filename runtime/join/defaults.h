/* SPDX-License-Identifier: MIT */
/*
 * What a configuration is where it says nothing, for those that have to name it before a runtime is made.
 *
 * A function of its argument; any thread.
 */
#ifndef PTO_RUNTIME_JOIN_DEFAULTS_H
#define PTO_RUNTIME_JOIN_DEFAULTS_H

#include <pto/runtime.h>
#include <sim/chips/chip.h>

/* A thread a core of the largest chip, and the control thread. */
#define PTO_MAX_WORKERS (3u * PTO_CHIP_MAX_CLUSTERS + 1u)

/* Engine, chip and policy, where they are NULL: the first of their lists.  The strings live for ever. */
void pto_config_set_defaults(struct pto_config *config);

#endif
