/* SPDX-License-Identifier: MIT */
/*
 * `ptosim calibrate`: a chip file from what was measured on hardware.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/calibrate/kernels.h>
#include <check/capture/import.h>
#include <cli/main/about.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <formats/new_file.h>

#define DEFAULT_CHIP "a2a3"
#define MOST_CAPTURES 64u

struct calibrate {
  struct pto_run_options options;
  const char *data, *to, *kernels;
  struct pto_calibration calibration;
  struct pto_measurements measurements;
  struct pto_kernel_table table;
  struct pto_capture captures[MOST_CAPTURES];
  const char *paths[MOST_CAPTURES];
  uint32_t capture_count;
  char imported[64]; /* the folder's own capture as a file of ours; "": there is none */
  struct pto_error error;
};

static int add_capture(void *target, const char *value, struct pto_error *error) {
  return pto_string_list_add(target, value, error);
}

static const struct pto_option_spec own_options[] = {
    {"data", "DIR", "a folder with micro.csv, rows.csv, kernels.csv, block_table_swimlane.csv, any of them",
     PTO_OPTION_TEXT(struct calibrate, data)},
    {"capture", "NAME.json", "a capture of `ptosim import`; further words are captures too", .set = add_capture,
     .field = offsetof(struct calibrate, options.programs)},
    {"kernels", "TABLE.csv", "writes the table of kernel times that kernels.csv gives",
     PTO_OPTION_TEXT(struct calibrate, kernels)},
    {"to", "CHIP.ini", "the chip file that is made; -o is the same", PTO_OPTION_TEXT(struct calibrate, to)},
    {0}};

static void help(const struct pto_run_options *options) {
  puts(
      "ptosim calibrate [--chip CHIP] [--data DIR] [--capture NAME.json...] -o CHIP.ini\n\n"
      "Finds the numbers of a chip file, each alone, from measurements: single figures, times of kernels, "
      "orchestrators'\nwindows, and captures of `ptosim import`.  Numbers for which there is nothing are those of CHIP "
      "(a2a3).  Prints what\neach was found from, and what comes out with it; captures are run again.\n");
  pto_run_options_help(PTO_VERB_calibrate, own_options);
  printf("\nExit status 0, also where something comes out wrong, which the report says.\n%s has more.\n",
         pto_page("calibrating.md"));
}

/* ---- what was measured ---- */

static int read_capture(struct calibrate *calibrate, const char *path) {
  if (calibrate->capture_count == MOST_CAPTURES)
    return pto_error_set(&calibrate->error, PTO_EINVAL, "more than %u captures", MOST_CAPTURES);
  calibrate->paths[calibrate->capture_count] = path;
  return pto_capture_read(path, &calibrate->captures[calibrate->capture_count++], &calibrate->error);
}

static int read_captures(struct calibrate *calibrate) {
  const struct pto_string_list *paths = &calibrate->options.programs;
  int status = PTO_OK;
  for (size_t i = 0; i < paths->count && !status; i++) status = read_capture(calibrate, paths->items[i]);
  return status;
}

/* The capture of the folder, which tells what a recorder adds, as a file that a session takes. */
static int import_own(struct calibrate *calibrate) {
  char path[4096];
  struct pto_capture capture = {0};
  if ((size_t)snprintf(path, sizeof path, "%s/block_table_swimlane.csv", calibrate->data) >= sizeof path ||
      access(path, F_OK) != 0)
    return PTO_OK;
  const char *const only = path;
  int status = pto_capture_import(&only, 1, &capture, &calibrate->error);
  if (!status) {
    strcpy(calibrate->imported, "/tmp/pto-calibrate-XXXXXX");
    if (!mkdtemp(calibrate->imported))
      status = pto_error_set(&calibrate->error, PTO_ESYSTEM, "%s: %s", calibrate->imported, strerror(errno));
  }
  if (!status) {
    strcat(calibrate->imported, "/block_table.json");
    status = pto_capture_write(&capture, calibrate->imported, &calibrate->error);
  }
  if (!status) status = pto_calibration_from_recorder(&calibrate->calibration, &capture, &calibrate->error);
  pto_capture_fini(&capture);
  return status;
}

static int find_numbers(struct calibrate *calibrate) {
  struct pto_calibration *c = &calibrate->calibration;
  struct pto_error *error = &calibrate->error;
  int status = PTO_OK;
  if (calibrate->data) status = pto_measurements_read(calibrate->data, &calibrate->measurements, error);
  if (!status && calibrate->data) status = pto_measured_kernels_read(calibrate->data, &calibrate->table, c, error);
  if (!status && calibrate->data) status = pto_calibration_from_figures(c, &calibrate->measurements, error);
  if (!status && calibrate->data) status = import_own(calibrate);
  if (!status && calibrate->data) status = pto_calibration_recorder_figures(c, &calibrate->measurements, error);
  if (!status) status = pto_calibration_from_captures(c, calibrate->captures, calibrate->capture_count, error);
  if (!status) status = pto_calibration_fit_stages(c, &calibrate->table, error);
  if (!status && calibrate->data) status = pto_calibration_from_runs(c, &calibrate->measurements, error);
  return status;
}

/* Captured tasks on the chip that was found. */
static int replay(struct calibrate *calibrate) {
  struct pto_calibration *c = &calibrate->calibration;
  int status = calibrate->imported[0] ? read_capture(calibrate, calibrate->imported) : PTO_OK;
  for (uint32_t i = 0; i < calibrate->capture_count && !status; i++)
    status = pto_calibration_replay(c, calibrate->paths[i], &calibrate->captures[i], &calibrate->error);
  return status;
}

/* ---- what is made ---- */

static int write_kernels(struct calibrate *calibrate) {
  struct pto_error error;
  FILE *file = pto_new_file_create(calibrate->kernels, &error);
  if (!file) return pto_complain(PTO_EXIT_USAGE, "%s", error.sentence);
  const int status = pto_kernel_table_write(&calibrate->table, file);
  if (pto_new_file_finish(calibrate->kernels, file, status ? EIO : 0, &error))
    return pto_complain(PTO_EXIT_FAILED, "calibrate: %s cannot be written", calibrate->kernels);
  return PTO_EXIT_OK;
}

static int write_chip(struct calibrate *calibrate) {
  struct pto_error error;
  FILE *file = pto_new_file_create(calibrate->to, &error);
  if (!file) return pto_complain(PTO_EXIT_USAGE, "%s", error.sentence);
  const bool is_written = pto_chip_sheet_write(&calibrate->calibration.sheet, file);
  if (pto_new_file_finish(calibrate->to, file, is_written ? 0 : EIO, &error))
    return pto_complain(PTO_EXIT_FAILED, "calibrate: %s cannot be written", calibrate->to);
  return calibrate->kernels ? write_kernels(calibrate) : PTO_EXIT_OK;
}

static int run(struct calibrate *calibrate) {
  const char *const chip = calibrate->options.chip ? calibrate->options.chip : DEFAULT_CHIP;
  if (!calibrate->to) return pto_complain(PTO_EXIT_USAGE, "calibrate: -o CHIP.ini is missing");
  if (!calibrate->data && !calibrate->options.programs.count)
    return pto_complain(PTO_EXIT_USAGE, "calibrate: nothing was measured: give --data DIR or captures");
  int code = pto_complain_unwritable(calibrate->to);
  if (code) return code;
  pto_progress_line_begin("calibrate", !calibrate->options.quiet);
  int status = pto_calibration_init(chip, &calibrate->calibration, &calibrate->error);
  if (!status) status = read_captures(calibrate);
  if (!status) status = find_numbers(calibrate);
  struct pto_chip made;
  if (!status) /* figures that no chip can have */
    status = pto_chip_sheet_load(&calibrate->calibration.sheet, chip, &made, &calibrate->error);
  if (!status) status = replay(calibrate);
  pto_progress_line_end();
  if (status)
    return pto_complain(status == PTO_ENOMEM ? PTO_EXIT_FAILED : PTO_EXIT_USAGE, "calibrate: %s",
                        calibrate->error.sentence);
  if (!calibrate->options.quiet) pto_calibration_print(&calibrate->calibration, stdout);
  return write_chip(calibrate);
}

static void fini(struct calibrate *calibrate) {
  for (uint32_t i = 0; i < calibrate->capture_count; i++) pto_capture_fini(&calibrate->captures[i]);
  pto_measurements_fini(&calibrate->measurements);
  pto_kernel_table_free(&calibrate->table);
  if (calibrate->imported[0]) {
    (void)unlink(calibrate->imported);
    char *const slash = strrchr(calibrate->imported, '/');
    if (slash > calibrate->imported + 4) *slash = '\0';
    (void)rmdir(calibrate->imported);
  }
  pto_run_options_fini(&calibrate->options);
}

int pto_cmd_calibrate(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_calibrate, own_options, help, false};
  struct calibrate *calibrate = calloc(1, sizeof *calibrate);
  if (!calibrate) return pto_complain(PTO_EXIT_FAILED, "calibrate: no memory");
  int code;
  if (pto_run_options_begin(&form, argc, argv, calibrate, &calibrate->options, &code)) code = run(calibrate);
  fini(calibrate);
  free(calibrate);
  return code;
}
