/* SPDX-License-Identifier: MIT */
/*
 * The command-line tool.  Everything is in pto_ptosim, so that tests can link the rest of cli/ beside a main of their
 * own.
 */
#include <cli/main/verb.h>

int main(int argc, char **argv) { return pto_ptosim(argc, argv); }
