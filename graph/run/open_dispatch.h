/* SPDX-License-Identifier: MIT */
/*
 * Dispatches of a template (graph/build/sizes.h): the shapes of what is bound to its inputs say the values of its
 * sizes, and the plain graph of these values runs.
 *
 *   begin (values → plain graph, made where there is none) → dispatch of that graph → end
 *
 * Owns the plain graphs of a template, in its instances: at most PTO_OPEN_GRAPHS besides those that are being
 * dispatched; the one used least recently goes, after its dispatches.  What the context keeps of lowered tasks is keyed
 * by the program of the plain graph, so that each is lowered once a set of tensors.
 *
 * Always true: two entries differ in a value.  Any thread: the list is under the template's lock, and an entry with
 * users stays.
 */
#ifndef PTO_GRAPH_RUN_OPEN_DISPATCH_H
#define PTO_GRAPH_RUN_OPEN_DISPATCH_H

#include <graph/build/sizes.h>

#define PTO_OPEN_GRAPHS 64u

/* What a call binds to one input: a tensor, or bytes of host memory. */
struct pto_open_input {
  const char *name;
  struct pto_device_tensor tensor; /* id 0: none */
  uint64_t size_bytes;
};
typedef struct pto_open_input pto_open_look(const void *item);
/* The items of struct pto_dispatch_bindings, pto_call, pto_compute_arrays. */
pto_open_look pto_open_binding, pto_open_argument, pto_open_array;

/* The inputs of a call, items of whichever struct. */
struct pto_open_inputs {
  const char *what; /* the call, for sentences */
  const void *items;
  size_t item_bytes;
  uint32_t count;
  pto_open_look *look;
};
/* The plain graph of these inputs, which stays until end.  PTO_OK; or what is wrong, in the context. */
PTO_MUST_CHECK int pto_open_graph_begin(struct pto_graph *graph, struct pto_context *context,
                                        const struct pto_open_inputs *inputs, struct pto_graph **plain_out);
void pto_open_graph_end(struct pto_graph *graph, const struct pto_graph *plain);

#endif
