/* SPDX-License-Identifier: MIT */
/*
 * Graphs from ONNX files: the Python module pto.onnx writes the graph file that is read, into a folder that is gone
 * afterwards.
 *
 * The Python has cffi, numpy and onnx (python.h).  Any thread; waits for the process that it starts.
 */
#ifndef PTO_CHECK_SESSION_ONNX_FILE_H
#define PTO_CHECK_SESSION_ONNX_FILE_H

#include <pto/graph.h>
#include <pto/tools.h>
#include <runtime/base/error.h>

bool pto_is_onnx_file(const char *path);

/* `sizes`: NAME=NUMBER each, for sizes that the model names.  PTO_OK; PTO_EINVAL for what the module refuses, with its
 * sentences, or the first of them where there is no room for all, which are on standard error then; PTO_ENOTSUP where
 * there is no such Python, PTO_ESYSTEM, PTO_ENOMEM. */
PTO_MUST_CHECK int pto_onnx_load(const char *path, struct pto_words sizes, struct pto_graph **graph_out,
                                 struct pto_error *error);

#endif
