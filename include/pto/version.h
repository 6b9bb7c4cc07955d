/* SPDX-License-Identifier: MIT */
/*
 * The version of the library: what a program was compiled with, and what it runs with.
 *
 * The soname is libpto.so.MAJOR.  Within one major version functions stay, and a struct gets fields in one of two ways
 * alone:
 *
 * - One that begins with `size_t size` grows at its end.  The caller sets the size, and the library reads or fills that
 *   much.  A field that is zero, or beyond the size, means what it meant before it was there; one that is set and that
 *   the library does not know is refused.  Such a struct is passed by pointer, or is the last field of another.
 * - pto_program and what it points to are constants of a program file, and have no size.  Where their layout changes,
 *   PTO_PROGRAM_ABI is raised, and the loader refuses files of another number.
 *
 * The Makefile, pto.pc and `ptosim --version` take the version from here.
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

/* The command of the C compiler that built it, as make was told: "cc", "clang", "ccache gcc".  What compiles kernels at
 * run time begins with it.  A static string; any thread. */
PTO_API const char *pto_compiler(void);

#ifdef __cplusplus
}
#endif
#endif
