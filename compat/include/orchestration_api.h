/* SPDX-License-Identifier: MIT */
/*
 * Refused: host_build_graph as it was until July 2026, another API under the same name.
 */
#ifndef PTO_COMPAT_ORCHESTRATION_API_H
#define PTO_COMPAT_ORCHESTRATION_API_H

#error "orchestration_api.h: host_build_graph before 11 July 2026 is another API; include pto_orchestration_api.h"

#endif
