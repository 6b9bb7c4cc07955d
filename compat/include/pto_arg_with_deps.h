/* SPDX-License-Identifier: MIT */
/*
 * The name under which some orchestrations include CoreTaskArgsWithDeps.
 */
#ifndef PTO_COMPAT_PTO_ARG_WITH_DEPS_H
#define PTO_COMPAT_PTO_ARG_WITH_DEPS_H

#include "pto_orchestration_api.h"

#endif
