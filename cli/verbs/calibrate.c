/* SPDX-License-Identifier: MIT */
/*
 * `ptosim calibrate`: a chip file from what was measured on hardware.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check/calibrate/calibrate.h>
#include <check/capture/import.h>
#include <cli/run/request.h>

#define DEFAULT_CHIP "a2a3"

struct calibrate {
  struct pto_run_options options;
  const char *data, *to;
  struct pto_calibration calibration;
  struct pto_error error;
};

static int add_capture(void *target, const char *value, struct pto_error *error) {
  return pto_string_list_add(target, value, error);
}

static const struct pto_option_spec own_options[] = {
    {"data", "DIR", "a folder with micro.csv, rows.csv, block_table_swimlane.csv, any of them",
     PTO_OPTION_TEXT(struct calibrate, data)},
    {"capture", "NAME.json", "a capture of `ptosim import`, as a word without an option; may be repeated",
     .set = add_capture, .field = offsetof(struct calibrate, options.programs)},
    {"to", "CHIP.ini", "the chip file that is made; -o is the same", PTO_OPTION_TEXT(struct calibrate, to)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim calibrate --chip CHIP [--data DIR] [--capture NAME.json...] -o CHIP.ini\n\n"
       "Finds the numbers of a chip file, each alone, from measurements: single figures, orchestrators' windows, and "
       "captures\nof `ptosim import`.  Numbers for which there is nothing are those of CHIP.  Prints what each was "
       "found "
       "from, and what\ncomes out with it.\n");
  pto_run_options_help(PTO_VERB_calibrate, own_options);
  puts("\nLeaves with 0, also where something comes out wrong; the report says so.  docs/calibrating.md tells the "
       "rest.");
}

static int write_chip(struct calibrate *calibrate) {
  FILE *file = fopen(calibrate->to, "we");
  if (!file) return pto_complain_unwritable(calibrate->to);
  pto_chip_sheet_write(&calibrate->calibration.sheet, file);
  if (fclose(file)) return pto_complain(PTO_EXIT_FAILED, "calibrate: %s cannot be written", calibrate->to);
  return PTO_EXIT_OK;
}

static int from_folder(struct calibrate *calibrate) {
  struct pto_measurements measurements;
  int status = pto_measurements_read(calibrate->data, &measurements, &calibrate->error);
  if (!status) status = pto_calibration_from_figures(&calibrate->calibration, &measurements, &calibrate->error);
  pto_measurements_fini(&measurements);
  return status;
}

static int run(struct calibrate *calibrate) {
  const char *const chip = calibrate->options.chip ? calibrate->options.chip : DEFAULT_CHIP;
  if (!calibrate->to) return pto_complain(PTO_EXIT_USAGE, "calibrate: -o CHIP.ini is missing");
  if (!calibrate->data && !calibrate->options.programs.count)
    return pto_complain(PTO_EXIT_USAGE, "calibrate: nothing was measured: give --data DIR or captures");
  int code = pto_complain_unwritable(calibrate->to);
  if (code) return code;
  int status = pto_calibration_init(chip, &calibrate->calibration, &calibrate->error);
  if (!status && calibrate->data) status = from_folder(calibrate);
  if (status)
    return pto_complain(status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE, "calibrate: %s",
                        calibrate->error.sentence);
  if (!calibrate->options.quiet) pto_calibration_print(&calibrate->calibration, stdout);
  return write_chip(calibrate);
}

int pto_cmd_calibrate(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_calibrate, own_options, help, false};
  struct calibrate *calibrate = calloc(1, sizeof *calibrate);
  if (!calibrate) return pto_complain(PTO_EXIT_FAILED, "calibrate: no memory");
  int code;
  if (pto_run_options_begin(&form, argc, argv, calibrate, &calibrate->options, &code)) code = run(calibrate);
  pto_run_options_fini(&calibrate->options);
  free(calibrate);
  return code;
}
