/* SPDX-License-Identifier: MIT */
/*
 * Colours of verdicts on a terminal: for people alone, and never the only sign of anything.
 *
 * Always true: a stream that is no terminal, TERM=dumb, or NO_COLOR set to anything (no-color.org), gets no escape.
 * Owns nothing; any thread.
 */
#ifndef PTO_REPORT_FILE_COLOUR_H
#define PTO_REPORT_FILE_COLOUR_H

#include <stdio.h>

enum pto_colour { PTO_COLOUR_NONE, PTO_COLOUR_GOOD, PTO_COLOUR_NOTE, PTO_COLOUR_BAD };

/* Prints `text` to `to`, in this colour where it shows colours. */
void pto_colour_put(FILE *to, enum pto_colour colour, const char *text);

#endif
