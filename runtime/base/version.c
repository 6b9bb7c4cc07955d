/* SPDX-License-Identifier: MIT */
#include <pto/version.h>

/* The Makefile says so to this file alone. */
#ifndef PTO_COMPILER
#define PTO_COMPILER "cc"
#endif

const char *pto_version(void) { return PTO_VERSION; }

const char *pto_compiler(void) { return PTO_COMPILER; }
