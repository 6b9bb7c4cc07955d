/* SPDX-License-Identifier: MIT */
/*
 * `ptosim import`: captures of the existing runtime as one file, which every verb that runs a program takes.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include <check/capture/import.h>
#include <cli/main/about.h>
#include <cli/main/progress_line.h>
#include <cli/run/request.h>
#include <report/file/output_file.h>
#include <report/run/exit.h>

struct import_options {
  const char *to;
};

static const struct pto_option_spec own_options[] = {
    {"to", "NAME.json", "the file that is made; -o is the same", PTO_OPTION_TEXT(struct import_options, to)}, {0}};

static void help(const struct pto_run_options *options) {
  puts("ptosim import FILE... -o NAME.json [OPTION...]\n\n"
       "Reads dependencies (deps.json) and times (swimlane records, a merged trace, or a table of them) of one run of "
       "the\nexisting runtime, checks them, and writes one capture.  `ptosim run NAME.json` replays it.\n");
  pto_run_options_help(PTO_VERB_import, own_options);
  printf("\nExit status 0, or 2 for files that are no capture or cannot be true.\n%s has the forms.\n",
         pto_page("captures.md"));
}

static uint64_t end_of(const struct pto_capture *c) {
  uint64_t end = 0;
  for (size_t i = 0; i < c->span_count; i++) end = c->spans[i].end_ns > end ? c->spans[i].end_ns : end;
  return end;
}

static uint64_t busy_of(const struct pto_capture *c) {
  uint64_t busy = 0;
  for (size_t i = 0; i < c->span_count; i++) busy += c->spans[i].end_ns - c->spans[i].begin_ns;
  return busy;
}

static void put(struct pto_json_writer *w, const void *context) {
  const struct pto_capture *c = context;
  pto_json_put_format(w, "pto-import", 1);
  pto_json_put_u64(w, "tasks", c->task_count);
  pto_json_put_u64(w, "edges", c->edge_count);
  pto_json_put_bool(w, "has_edges", c->has_edges);
  pto_json_put_u64(w, "spans", c->span_count);
  pto_json_put_u64(w, "buffers", c->buffer_count);
  pto_json_put_u64(w, "accesses", c->access_count);
  pto_json_put_u64(w, "busy_ns", busy_of(c));
  pto_json_put_u64(w, "end_ns", end_of(c));
}

static int import(const struct pto_run_options *options, const char *to) {
  struct pto_capture capture;
  struct pto_error error;
  int code = PTO_EXIT_OK;
  pto_progress_line_begin("import", !options->quiet);
  int status = pto_capture_import(options->programs.items, (uint32_t)options->programs.count, &capture, &error);
  if (status)
    code = pto_exit_of_setup(status);
  else if ((status = pto_capture_write(&capture, to, &error)))
    code = PTO_EXIT_FAILED;
  pto_progress_line_end();
  if (status)
    pto_complain(code, "import: %s", error.sentence);
  else if (!options->quiet && !pto_run_options_take_stdout(options))
    printf("%zu tasks, %zu edges%s, %zu spans, %" PRIu64 " ns busy until %" PRIu64 " ns: %s\n", capture.task_count,
           capture.edge_count, capture.has_edges ? "" : " (none were captured)", capture.span_count, busy_of(&capture),
           end_of(&capture), to);
  if (!status) code = pto_write_report(options->json_path, put, &capture, code);
  pto_capture_fini(&capture);
  return code;
}

int pto_cmd_import(int argc, char **argv) {
  static const struct pto_verb_form form = {PTO_VERB_import, own_options, help, false};
  struct pto_run_options options;
  struct import_options own = {0};
  int code;
  if (pto_run_options_begin(&form, argc, argv, &own, &options, &code)) {
    if (options.programs.count == 0)
      code = pto_complain(PTO_EXIT_USAGE, "import: which files?  deps.json, chip_swimlane_records.json, ...");
    else if (!own.to)
      code = pto_complain(PTO_EXIT_USAGE, "import: -o NAME.json is missing");
    else if ((code = pto_complain_unwritable(own.to)) == PTO_EXIT_OK &&
             (code = pto_complain_unwritable(options.json_path)) == PTO_EXIT_OK)
      code = import(&options, own.to);
  }
  pto_run_options_fini(&options);
  return code;
}
