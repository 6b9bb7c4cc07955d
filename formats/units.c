/* SPDX-License-Identifier: MIT */
#include <formats/units.h>

#include <inttypes.h>
#include <stdio.h>

const char *pto_format_seconds(double seconds, char *text, size_t size) {
  if (seconds < 1e-6)
    snprintf(text, size, "%.0f ns", seconds * 1e9);
  else if (seconds < 1e-3)
    snprintf(text, size, "%.1f us", seconds * 1e6);
  else if (seconds < 1)
    snprintf(text, size, "%.2f ms", seconds * 1e3);
  else
    snprintf(text, size, "%.2f s", seconds);
  return text;
}

const char *pto_format_bytes(uint64_t bytes, char *text, size_t size) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  int unit = -1;
  for (; value >= 1024 && unit < 3; unit++) value /= 1024;
  if (unit < 0)
    snprintf(text, size, "%" PRIu64 " bytes", bytes);
  else
    snprintf(text, size, "%.1f %s", value, units[unit]);
  return text;
}
