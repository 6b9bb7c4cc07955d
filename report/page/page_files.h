/* SPDX-License-Identifier: MIT */
/*
 * The page's own files, its library and that library's licence, as they are part of this build.
 *
 * The library is d3 of Debian (node-d3, `scripts/deps --report`): zoom, scales, axes and selections, the part of a page
 * that is the same in every page.  Of the drawing libraries that Debian has, it is the one that leaves the drawing
 * itself to us, which a million tasks need.  Debian's 5.16 has all that is used, and one package instead of a second
 * package manager.  A build without it has no pages.
 */
#ifndef PTO_REPORT_PAGE_PAGE_FILES_H
#define PTO_REPORT_PAGE_PAGE_FILES_H

#include <stdbool.h>
#include <stdio.h>

/* The library and zlib are there. */
bool pto_page_is_built(void);
void pto_page_put_style(FILE *to);
/* With the library before them. */
void pto_page_put_scripts(FILE *to);
void pto_page_put_body(FILE *to);

#endif
