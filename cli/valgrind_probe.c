/* SPDX-License-Identifier: MIT */
/* The one user of valgrind.h in the command line; the header is optional. */
#include <cli/valgrind_probe.h>

#if PTO_HAVE_VALGRIND
#include <valgrind/valgrind.h>
#endif

#ifndef RUNNING_ON_VALGRIND
#define RUNNING_ON_VALGRIND 0
#endif

bool pto_is_under_valgrind(void) { return RUNNING_ON_VALGRIND != 0; }
