/* SPDX-License-Identifier: MIT */
/*
 * What ptosim tells of itself: its version with the libraries that it was built with, and where its pages are.
 *
 * Owns the path of the last page.  The main thread only.
 */
#ifndef PTO_CLI_MAIN_ABOUT_H
#define PTO_CLI_MAIN_ABOUT_H

/* Prints the version, the compiler, the optional libraries, and the instruction sets that kernels have. */
void pto_print_version(void);

/* The path of a page of docs/: the installed one, or "docs/NAME".  Borrowed until the next call. */
const char *pto_page(const char *name);

#endif
