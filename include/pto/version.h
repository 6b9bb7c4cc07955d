/* SPDX-License-Identifier: MIT */
/*
 * The version of the library: what a program was compiled with, and what it runs with.
 *
 * The soname is libpto.so.MAJOR.  Within one major version what worked goes on working: functions stay, and structs
 * grow only as docs/embedding.md ("What may grow") says.  The Makefile, pto.pc and `ptosim --version` take it from
 * here.
 */
#ifndef PTO_VERSION_H
#define PTO_VERSION_H

#include <pto/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTO_VERSION "0.1.0"
#define PTO_VERSION_MAJOR 0
#define PTO_VERSION_MINOR 1
#define PTO_VERSION_PATCH 0

/* PTO_VERSION of the library that is loaded.  A static string; any thread. */
PTO_API const char *pto_version(void);

#ifdef __cplusplus
}
#endif
#endif
