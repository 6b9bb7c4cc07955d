/* SPDX-License-Identifier: MIT */
/*
 * hwloc finds nothing, as in a container that shows no sysfs: where an allocation of its own fails it crashes, or goes
 * round for ever (2.9).  For the one source of a test program that includes this.
 */
#ifndef PTO_NO_HWLOC_H
#define PTO_NO_HWLOC_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <pto/status.h>

PTO_API int access(const char *path, int mode) {
  return strncmp(path, "/sys/devices/system/cpu", 23) == 0 ? -1 : faccessat(AT_FDCWD, path, mode, 0);
}

#endif
