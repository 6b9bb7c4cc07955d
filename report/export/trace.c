/* SPDX-License-Identifier: MIT */
/*
 * --trace: the timeline of a run.  The name's ending says in which format: .pftrace for Perfetto's own, .et for
 * Chakra's execution trace, else JSON; each also with .gz behind it.
 */
#include <report/export/trace_events.h>

#include <string.h>

#include <report/file/gzip.h>
#include <report/file/output_file.h>

/* Whether the name ends so, with or without ".gz" behind it. */
static bool has_ending(const char *path, const char *ending) {
  const size_t length = strlen(path) - (pto_gzip_is_name(path) ? strlen(".gz") : 0), end = strlen(ending);
  return length > end && strncmp(path + length - end, ending, end) == 0;
}

const struct pto_trace_format *pto_trace_format_of(const char *path) {
  return has_ending(path, pto_trace_perfetto.ending) ? &pto_trace_perfetto
         : has_ending(path, pto_trace_chakra.ending) ? &pto_trace_chakra
                                                     : &pto_trace_json;
}

int pto_export_trace(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                     struct pto_error *error) {
  struct pto_trace_events events;
  int fd, status = pto_trace_events_init(&events, trace, info, error);
  if (status == PTO_OK) status = pto_output_open(path, &fd, error);
  if (status == PTO_OK) status = pto_output_close(path, fd, pto_trace_format_of(path)->write(&events, fd), error);
  pto_trace_events_fini(&events);
  return status;
}
