/* SPDX-License-Identifier: MIT */
/*
 * The version of ptosim, as `ptosim --version` prints it; pto.pc takes it from here.
 */
#ifndef PTO_VERSION_H
#define PTO_VERSION_H

#define PTO_VERSION "0.1.0"

#endif
