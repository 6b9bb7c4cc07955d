/* SPDX-License-Identifier: MIT */
#include <runtime/base/ticks.h>

#if defined __x86_64__
#include <cpuid.h>

bool pto_ticks_are_steady(void) {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) && (edx & (1u << 8)) != 0;
}
#else
bool pto_ticks_are_steady(void) { return true; }
#endif
