/* SPDX-License-Identifier: MIT */
#include <report/export/export.h>

#include <report/file/output_file.h>
#include <report/page/page.h>

static const struct {
  uint32_t record;
  pto_export_write *write;
} exports[] = {
#define X(name, option, argument, help, record, write) {record, write},
    PTO_EXPORT_LIST(X)
#undef X
};

uint32_t pto_exports_record(const char *const paths[PTO_EXPORT_COUNT]) {
  uint32_t record = 0;
  for (int i = 0; i < PTO_EXPORT_COUNT; i++)
    if (paths[i]) record |= exports[i].record;
  return record;
}

int pto_exports_probe(const char *const paths[PTO_EXPORT_COUNT], struct pto_error *error) {
  int status = pto_report_page_probe(paths[PTO_EXPORT_page], error);
  for (int i = 0; i < PTO_EXPORT_COUNT && status == PTO_OK; i++) status = pto_output_probe(paths[i], error);
  return status;
}

int pto_exports_write(const char *const paths[PTO_EXPORT_COUNT], const struct pto_trace *trace,
                      const struct pto_export_info *info, struct pto_error *error) {
  int first = PTO_OK;
  for (int i = 0; i < PTO_EXPORT_COUNT; i++) {
    struct pto_error reason;
    if (!paths[i] || (exports[i].record && !trace)) continue;
    const int status = exports[i].write(trace, info, paths[i], &reason);
    if (status == PTO_OK || first) continue;
    first = status;
    *error = reason;
  }
  return first;
}
