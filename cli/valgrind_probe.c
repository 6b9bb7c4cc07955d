/* SPDX-License-Identifier: MIT */
/* The one user of valgrind.h in the command line; the header is optional. */
#include <cli/valgrind_probe.h>

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

bool pto_is_under_valgrind(void) { return RUNNING_ON_VALGRIND != 0; }
