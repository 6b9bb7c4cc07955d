/* SPDX-License-Identifier: MIT */
/*
 * What a chip file may say: the one list of its keys, each once, each a whole number in a range or one of a few words,
 * nothing else allowed, and the few keys that are free text.
 *
 * An optional key that is absent has another key's value where the list names one, else 0 or the first of its words.  A
 * new key is one line of chip_keys.c; one that is not optional is one in each shipped file too.  A name stands for one
 * key, whatever its section.  Constant; any thread.
 */
#ifndef PTO_SIM_CHIPS_CHIP_KEYS_H
#define PTO_SIM_CHIPS_CHIP_KEYS_H

#include <sim/chips/chip.h>

#define PTO_CHIP_NO_FIELD SIZE_MAX
#define PTO_CHIP_STAGES "stages" /* a section that is there as a whole or not at all */

struct pto_chip_key {
  const char *section, *name;
  size_t offset, size;
  uint64_t min, max;
  bool is_optional;
  size_t fallback;          /* of an optional one: the offset of the field whose value it has where it is absent */
  const char *const *words; /* what it may say, by value, ended by NULL; NULL: a number */
};
extern const struct pto_chip_key pto_chip_keys[];
extern const size_t pto_chip_key_count; /* less than PTO_CHIP_MAX_NOTES, with the texts */

/* In the order in which files have them; the texts stand in the first. */
#define PTO_CHIP_SECTION_COUNT 7
extern const char *const pto_chip_sections[PTO_CHIP_SECTION_COUNT];

enum {
  PTO_CHIP_TEXT_NAME,
  PTO_CHIP_TEXT_ERA,
  PTO_CHIP_TEXT_KERNEL_TIMES,
  PTO_CHIP_TEXT_HALF_KERNEL,
  PTO_CHIP_TEXT_COUNT
};
struct pto_chip_text {
  const char *name, *more, *what; /* characters beside letters and digits */
  size_t offset;
};
extern const struct pto_chip_text pto_chip_texts[PTO_CHIP_TEXT_COUNT];

#endif
