/* SPDX-License-Identifier: MIT */
/*
 * The name under which some orchestrations include the calls.
 */
#ifndef PTO_COMPAT_RUNTIME_H
#define PTO_COMPAT_RUNTIME_H

#include "pto_orchestration_api.h"

#endif
