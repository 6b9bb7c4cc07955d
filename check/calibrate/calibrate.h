/* SPDX-License-Identifier: MIT */
/*
 * A chip file from measurements: each number alone, from the figures of one component, never from a makespan.
 *
 *   pto_calibration_init (a chip file) → from_figures, from_captures → report, sheet
 *
 * A key for which nothing was measured keeps its value and its tag.  One makespan is read, that of a graph that was
 * there before the run: it gives one price, that of a notified consumer, since nothing else is left in it.
 *
 * What was fitted is a list of pto_fit, in the order of components; what does not suit (another era, another chip) is a
 * warning.  The same figures give the same file, whatever the file said before of the keys that they give.
 *
 * Owned by the caller, no memory to free but that of `warnings`.  The thread of sessions.
 */
#ifndef PTO_CHECK_CALIBRATE_CALIBRATE_H
#define PTO_CHECK_CALIBRATE_CALIBRATE_H

#include <stdio.h>

#include <check/calibrate/measurements.h>
#include <check/capture/capture.h>
#include <sim/chips/chip.h>

#define PTO_MAX_FITS 128u
#define PTO_MAX_CHECKS 32u

/* A number that was found. */
struct pto_fit {
  const char *component;
  char key[32], value[32], before[32];
  enum pto_chip_tag tag;
  char source[160];
  uint32_t rows;   /* that it was found from */
  double residual; /* what is left, of the measured value: the worst of the rows, where there are several */
  bool is_joint;   /* the rows do not tell it from others alone */
};

/* Something that comes out of the chip file and was measured. */
struct pto_calibration_check {
  char what[96];
  const char *unit;
  double measured, found, limit; /* limit: of |found / measured − 1|; 0: none is set */
  double most;                   /* not 0: there is no measured one, and `found` is at most this */
};

struct pto_calibration {
  const char *path; /* of the chip file, or its name; borrowed */
  struct pto_chip_sheet sheet;
  struct pto_chip chip; /* as it was loaded */
  struct pto_fit fits[PTO_MAX_FITS];
  uint32_t fit_count;
  struct pto_calibration_check checks[PTO_MAX_CHECKS];
  uint32_t check_count;
  char warnings[4096]; /* a line each */
};

/* All of these: PTO_OK, or a status with a sentence. */
PTO_MUST_CHECK int pto_calibration_init(const char *chip, struct pto_calibration *c, struct pto_error *error);
PTO_MUST_CHECK int pto_calibration_from_figures(struct pto_calibration *c, const struct pto_measurements *m,
                                                struct pto_error *error);
/* What recorders add, by single figures, where from_recorder has not found it. */
PTO_MUST_CHECK int pto_calibration_recorder_figures(struct pto_calibration *c, const struct pto_measurements *m,
                                                    struct pto_error *error);
/* What only running programs tells: prices of submits, of allocations, of a notified consumer.  After all others. */
PTO_MUST_CHECK int pto_calibration_from_runs(struct pto_calibration *c, const struct pto_measurements *m,
                                             struct pto_error *error);
/* What captures with dispatch times say: pickup, pending start, completion. */
PTO_MUST_CHECK int pto_calibration_from_captures(struct pto_calibration *c, const struct pto_capture *captures,
                                                 uint32_t count, struct pto_error *error);
/* What a recorder adds to the start of a message on a free core, to sending one and to taking in an end, from a
 * capture, where the rest of it is known. */
PTO_MUST_CHECK int pto_calibration_from_recorder(struct pto_calibration *c, const struct pto_capture *capture,
                                                 struct pto_error *error);
/* The capture's tasks again, on the chip as it is now: span, and head and tail of tasks.  `path` is the file. */
PTO_MUST_CHECK int pto_calibration_replay(struct pto_calibration *c, const char *path,
                                          const struct pto_capture *capture, struct pto_error *error);

/* Keys of the file that nothing was found for. */
void pto_calibration_print(const struct pto_calibration *c, FILE *to);

/* ---- for the parts of it ---- */

/* Sets the key in the sheet and lists it. */
PTO_MUST_CHECK int pto_calibration_set(struct pto_calibration *c, const struct pto_fit *fit, struct pto_error *error);
/* The number that the sheet has for a key; 0 where it has none. */
uint64_t pto_calibration_number(const struct pto_calibration *c, const char *key);
void pto_calibration_warn(struct pto_calibration *c, const char *format, ...) PTO_PRINTF(2, 3);
void pto_calibration_check(struct pto_calibration *c, const struct pto_calibration_check *check);

#endif
