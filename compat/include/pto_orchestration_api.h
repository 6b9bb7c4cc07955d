/* SPDX-License-Identifier: MIT */
/*
 * What an orchestration includes: all of the existing runtime's API, over the adapter.
 */
#ifndef PTO_COMPAT_PTO_ORCHESTRATION_API_H
#define PTO_COMPAT_PTO_ORCHESTRATION_API_H

#include "pto_compat/aliases.h"
#include "pto_compat/graph.h"

#endif
