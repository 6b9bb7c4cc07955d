/* SPDX-License-Identifier: MIT */
/*
 * Which figure of micro.csv is which number of a chip file: one list, in the order in which components are fitted.
 *
 * A rule is a sum of figures, less what other keys of the file say.  One figure alone is measured; a difference of
 * several is fitted.  To map a further figure: a line in map.c.
 *
 * Constants; any thread.
 */
#ifndef PTO_CHECK_CALIBRATE_MAP_H
#define PTO_CHECK_CALIBRATE_MAP_H

#include <check/calibrate/measurements.h>
#include <sim/chips/chip.h>

/* The component of a recorder's prices, which are found last, and not where a capture has given them. */
#define PTO_MAP_RECORDER "recorder"

struct pto_map_term {
  const char *figure; /* in micro.csv; NULL: no further term */
  enum pto_micro_take take;
  const char *note; /* of PTO_MICRO_NOTE */
  double factor;
  double bytes; /* not 0: the figure is a rate, and the term the time of so many bytes at it */
};

struct pto_map_rule {
  const char *component, *key;
  const char *era; /* of the chip files that it is for; NULL: all */
  enum pto_chip_tag tag;
  struct pto_map_term terms[3];
  const char *less[3]; /* keys of the file whose numbers are taken off */
};

/* NULL past the end. */
const struct pto_map_rule *pto_map_rule_at(uint32_t index);

#endif
