/* SPDX-License-Identifier: MIT */
/*
 * ContinuousTensor, under the name of its header until June 2026.
 */
#ifndef PTO_COMPAT_TENSOR_ARG_H
#define PTO_COMPAT_TENSOR_ARG_H

#include "task_args.h"

#endif
