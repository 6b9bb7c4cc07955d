/* SPDX-License-Identifier: MIT */
/*
 * The name under which some orchestrations include the calls; nothing of the runtime's inside is there.
 */
#ifndef PTO_COMPAT_PTO_RUNTIME2_H
#define PTO_COMPAT_PTO_RUNTIME2_H

#include "pto_orchestration_api.h"

#endif
