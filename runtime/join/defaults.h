/* SPDX-License-Identifier: MIT */
/*
 * What a configuration is where it says nothing, for those that have to name it before a runtime is made.
 *
 * A function of its argument; any thread.
 */
#ifndef PTO_RUNTIME_JOIN_DEFAULTS_H
#define PTO_RUNTIME_JOIN_DEFAULTS_H

#include <pto/runtime.h>

/* Engine, chip and policy, where they are NULL: the first of their lists.  The strings live for ever. */
void pto_config_set_defaults(struct pto_config *config);

#endif
