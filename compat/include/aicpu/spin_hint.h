/* SPDX-License-Identifier: MIT */
/*
 * SPIN_WAIT_HINT: an orchestration that polls memory lets tasks go on.  A loop that polls without it never ends here.
 */
#ifndef PTO_COMPAT_AICPU_SPIN_HINT_H
#define PTO_COMPAT_AICPU_SPIN_HINT_H

#include <cstdint>

#include "pto_compat/calls.h"

inline void pto_compat_spin(const char *file, std::uint32_t line) {
  const pto_compat_place here = {file, line};
  pto_compat_poll(&here);
}
#define SPIN_WAIT_HINT() pto_compat_spin(__FILE__, __LINE__)

#endif
