/* SPDX-License-Identifier: MIT */
/*
 * --trace: the timeline of a run.  The name's ending says in which format: .pftrace for Perfetto's own, .et for
 * Chakra's execution trace, else JSON; each also with .gz behind it.
 */
#include <report/export/trace_events.h>

#include <string.h>

#include <report/file/output_file.h>

int pto_export_trace(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                     struct pto_error *error) {
  struct pto_trace_events events;
  int fd, status = pto_trace_events_init(&events, trace, info, error);
  if (status == PTO_OK) status = pto_output_open(path, &fd, error);
  if (status == PTO_OK) status = pto_output_close(path, fd, pto_trace_write_json(&events, fd), error);
  pto_trace_events_fini(&events);
  return status;
}
