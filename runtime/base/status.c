/* SPDX-License-Identifier: MIT */
#include <pto/status.h>

#include <stddef.h>

/* The list as a table.  Both texts of an entry are made here, so that answers are static strings. */
struct status_entry {
  int status;
  int number; /* in the existing runtime's reports, or 0 */
  const char *name, *text, *text_with_number;
};

static const struct status_entry entries[] = {
#define X(name, value, number, ends_run, text) {name, number, #name, text, text " (runtime error " #number ")"},
    PTO_STATUS_LIST(X)
#undef X
};

static const struct status_entry *find(int status) {
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
    if (entries[i].status == status) return &entries[i];
  return NULL;
}

const char *pto_status_name(int status) {
  const struct status_entry *entry = find(status);
  return entry ? entry->name : "PTO_UNKNOWN";
}

const char *pto_strerror(int status) {
  /* The one status that stands for two of the existing runtime's numbers. */
  if (status == PTO_ECAPACITY) return "a map or list is full of live work (runtime errors 4 and 11)";
  const struct status_entry *entry = find(status);
  if (!entry) return "unknown status";
  return entry->number ? entry->text_with_number : entry->text;
}
