/* SPDX-License-Identifier: MIT */
/*
 * The Python that this program starts: the first of $PYTHON, python3 and /usr/bin/python3 that has what is asked for,
 * as scripts/python finds it, and the package pto, which stands beside the executable in the tree or in an installed
 * prefix.
 *
 * Owns nothing.  Any thread; finding one waits for the processes that it starts.
 */
#ifndef PTO_CHECK_SESSION_PYTHON_H
#define PTO_CHECK_SESSION_PYTHON_H

#include <limits.h>
#include <stdbool.h>

/* `modules`: names of modules, parted by commas, which it finds and does not import.  NULL: there is none. */
const char *pto_python_find(const char *modules);
/* The folder to put in Python's path for the package that has this file, "pto/onnx.py".  False: it is not there. */
bool pto_python_find_package(const char *file, char folder[PATH_MAX]);

#endif
