/* SPDX-License-Identifier: MIT */
/*
 * Conformance cases: graphs with inputs, and what must come out of every path.
 *
 * A path is a way to run a graph; the list below has them.  A case is made through the builder by the names of its
 * file, run on every path, and compared by its tolerance.  It counts once, and passes if it does on all of them; a path
 * counts what passed on it.
 *
 * Owns nothing.  Always true: every case of the document is counted once, whatever is wrong with it.
 */
#ifndef PTO_CONFORMANCE_RUN_H
#define PTO_CONFORMANCE_RUN_H

#include <jansson.h>

#include <graph/build/operand_graph.h>
#include <tests/conformance/case_report.h>

/* What a path returns that does not concern the graph: the case does not fail, and does not count on it. */
#define PTO_CONFORMANCE_SKIPPED 1

/* Runs a graph: dense bytes of its inputs, and room for those of its outputs, in their order. */
typedef int pto_conformance_path_run(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                                     struct pto_error *error);
struct pto_conformance_path {
  const char *name;
  pto_conformance_path_run *run;
};
extern const struct pto_conformance_path pto_conformance_paths[];
extern const uint32_t pto_conformance_path_count;

/* Runs the cases of one file's document. */
void pto_conformance_run(json_t *document, struct pto_case_report *report);

#endif
