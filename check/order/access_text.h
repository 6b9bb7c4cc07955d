/* SPDX-License-Identifier: MIT */
/*
 * Words for nodes and accesses of an access graph: "task 17 (down_proj)", "param 0 reads buffer 5 (x) [0:64, 0:512]".
 *
 * A view is written as ranges of indices, begin:end or begin:end:step a dimension, of the *root* of its buffer: the
 * first tensor in the record that is the whole buffer, dense; where none is, the dense tensor that the strides of the
 * buffer's first parameter come from.  So a transposed view is written in the order of the root's dimensions, a stepped
 * one with its step, a broadcast one without the repeated dimension.  Where a view is no box of the root (reshaped,
 * reinterpreted as another size), its bytes are given, begin:end from the buffer's first byte; of a view with gaps
 * those from its first to its last.
 *
 * Borrows graph and names until fini and owns the rest.  One thread.
 */
#ifndef PTO_CHECK_ORDER_ACCESS_TEXT_H
#define PTO_CHECK_ORDER_ACCESS_TEXT_H

#include <check/order/access_graph.h>
#include <report/findings/source_lines.h>

/* A dense tensor that a buffer's views are cut from. */
struct pto_text_root {
  uint64_t base, size_bytes;
  uint32_t ndims; /* 0: none is known */
  uint32_t dtype;
  uint64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS]; /* elements */
};

struct pto_access_text {
  const struct pto_access_graph *graph;
  struct pto_source_lines *lines;                       /* NULL: places are given by file and offset */
  const char *(*name_of)(void *context, uint64_t base); /* of the external memory at an address; may be NULL */
  void *context;
  struct pto_text_root *roots; /* by buffer number */
  uint64_t root_count;
};

/* PTO_OK or PTO_ENOMEM; the caller may then set lines and names. */
PTO_MUST_CHECK int pto_access_text_init(struct pto_access_text *text, const struct pto_access_graph *graph);
void pto_access_text_fini(struct pto_access_text *text);

/* Where a task was submitted, or the host's access stands. */
void pto_text_find(const struct pto_access_text *text, uint32_t node, struct pto_source_call *found);

/* Each writes at most `size` bytes, ended by a 0, and returns `out`. */

/* "task 17 (down_proj)", "host access 0 (before task 5)". */
const char *pto_text_node(const struct pto_access_text *text, uint32_t node, char *out, size_t size);
/* "param 0 "; "" for the host. */
const char *pto_text_param(const struct pto_access_text *text, uint32_t access, char *out, size_t size);
/* "reads", "writes", "reads and writes", "holds". */
const char *pto_text_verb(const struct pto_access_text *text, uint32_t access);
/* "buffer 5", "buffer 5 (x)". */
const char *pto_text_buffer(const struct pto_access_text *text, uint32_t access, char *out, size_t size);
/* "[0:64, 0:512]", "bytes 0:4096", "". */
const char *pto_text_view(const struct pto_access_text *text, uint32_t access, char *out, size_t size);
/* The bytes that two accesses both touch, as a view where both are boxes of one root: as above. */
const char *pto_text_common(const struct pto_access_text *text, uint32_t a, uint32_t b, char *out, size_t size);
/* The whole: "param 0 reads buffer 5 (x) [0:64, 0:512]". */
const char *pto_text_access(const struct pto_access_text *text, uint32_t access, char *out, size_t size);

uint64_t pto_text_buffer_number(const struct pto_access_text *text, uint32_t access);
/* Whether people know both by one name: one number, or registrations of the same labelled memory. */
bool pto_text_is_same_buffer(const struct pto_access_text *text, uint32_t a, uint32_t b);

#endif
