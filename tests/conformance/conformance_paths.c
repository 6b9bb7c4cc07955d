/* SPDX-License-Identifier: MIT */
#include <tests/conformance/conformance_run.h>

#include <graph/graph_reference.h>

static int run_reference(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                         struct pto_error *error) {
  return pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, error);
}

const struct pto_conformance_path pto_conformance_paths[] = {{"reference", run_reference}};
const uint32_t pto_conformance_path_count = sizeof pto_conformance_paths / sizeof pto_conformance_paths[0];
