/* SPDX-License-Identifier: MIT */
#include <pto/status.h>

#define TEXT(number, text) text " (runtime error " #number ")"

const char *pto_status_name(int status) {
  switch (status) {
#define X(name, value, number, ends_run, text)                                                                   \
  case name: return #name;
    PTO_STATUS_LIST(X)
#undef X
  default: return "PTO_UNKNOWN";
  }
}

const char *pto_strerror(int status) {
  if (status == PTO_ECAPACITY) return "a map or list is full of live work (runtime errors 4 and 11)";
  switch (status) {
#define X(name, value, number, ends_run, text)                                                                   \
  case name: return number ? TEXT(number, text) : text;
    PTO_STATUS_LIST(X)
#undef X
  default: return "unknown status";
  }
}
