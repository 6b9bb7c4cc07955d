/* SPDX-License-Identifier: MIT */
/*
 * Whether the process runs under valgrind, which wants its faults for itself.
 */
#ifndef PTO_VALGRIND_PROBE_H
#define PTO_VALGRIND_PROBE_H

#include <stdbool.h>

/* False also where valgrind's header was missing when this was built. */
bool pto_is_under_valgrind(void);

#endif
