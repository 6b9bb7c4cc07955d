/* SPDX-License-Identifier: MIT */
/*
 * The name under which some orchestrations include assertions.
 */
#ifndef PTO_COMPAT_COMMON_H
#define PTO_COMPAT_COMMON_H

#include "assert_compat.h"

#endif
