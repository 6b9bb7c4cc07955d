/* SPDX-License-Identifier: MIT */
#include <pto/version.h>

const char *pto_version(void) { return PTO_VERSION; }
