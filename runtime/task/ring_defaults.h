/* SPDX-License-Identifier: MIT */
/*
 * What a pto_config of zeros stands for: the sizes of each ring.  For who makes a runtime, and who tells or compares
 * sizes.
 */
#ifndef PTO_RING_DEFAULTS_H
#define PTO_RING_DEFAULTS_H

#include <stdint.h>

#define PTO_DEFAULT_WINDOW UINT64_C(16384)           /* slots */
#define PTO_DEFAULT_HEAP_BYTES (UINT64_C(256) << 20) /* of a heap ring */

#endif
