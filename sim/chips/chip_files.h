/* SPDX-License-Identifier: MIT */
/*
 * The shipped chip descriptions, byte for byte as in sim/chips, inside the library: an installed binary needs no data
 * path.
 *
 * Constant; any thread; nothing to free.  A new chip is one line in PTO_CHIP_LIST and its file sim/chips/NAME.ini.
 */
#ifndef PTO_SIM_CHIPS_CHIP_FILES_H
#define PTO_SIM_CHIPS_CHIP_FILES_H

#include <stddef.h>
#include <stdint.h>

/* X(identifier, name): the chip's name, and its file's without ".ini".  The first is the default. */
#define PTO_CHIP_LIST(X)                                                                                               \
  X(tiny, "tiny")                                                                                                      \
  X(a2a3, "a2a3")                                                                                                      \
  X(a2a3_2026_04, "a2a3-2026-04")                                                                                      \
  X(a5, "a5")

/* Their names in one text, for sentences: ", tiny, a2a3, a2a3-2026-04, a5". */
#define PTO_CHIP_NAME(identifier, name) ", " name
#define PTO_CHIP_NAMES PTO_CHIP_LIST(PTO_CHIP_NAME)

struct pto_chip_file {
  const char *name;
  const char *text; /* size_bytes bytes, no NUL after them */
  size_t size_bytes;
};

/* False past the end. */
_Bool pto_chip_file_at(uint32_t index, struct pto_chip_file *file);

#endif
