/* SPDX-License-Identifier: MIT */
/*
 * The name under which some orchestrations include graphs.
 */
#ifndef PTO_COMPAT_GRAPH_CACHE_H
#define PTO_COMPAT_GRAPH_CACHE_H

#include "pto_orchestration_api.h"

#endif
