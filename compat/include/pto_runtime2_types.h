/* SPDX-License-Identifier: MIT */
/*
 * The name under which some orchestrations include numbers of errors and types.
 */
#ifndef PTO_COMPAT_PTO_RUNTIME2_TYPES_H
#define PTO_COMPAT_PTO_RUNTIME2_TYPES_H

#include "pto_orchestration_api.h"

#endif
