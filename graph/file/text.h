/* SPDX-License-Identifier: MIT */
/*
 * The text form of graph files (.webnn): a second spelling of webnn-graph-json, for people.
 *
 *   webnn_graph "head" v1 {
 *     inputs { x: f32[1,4]; }
 *     consts { w: f32[4,3] @weights("w"); s: f32[] @scalar(0.5); t: u8[2] @bytes([1, 2]); }
 *     nodes { y = matmul(x, w); [a, b] = split(y, splits=[1, 2], axis=1); }
 *     outputs { a; z = b; }
 *   }
 *
 * Reading gives the document that the JSON form would be, so that one loader judges both.  Writing is
 * graph/file/save_text.c.  Format: that of the crate webnn-graph 0.4 and of rustnn; docs/graph.md has the grammar, what
 * is ours and what is not taken.
 *
 * Owns nothing; the document is the caller's (json_decref).  Always true: places has one item for each item of the
 * document's lists, in their order; depth is bounded by the grammar, so nothing recurses; the work is proportional
 * to the bytes.
 *
 * One thread a text.
 */
#ifndef PTO_GRAPH_FILE_TEXT_H
#define PTO_GRAPH_FILE_TEXT_H

#include <formats/json_read.h>

enum pto_graph_file_list {
  PTO_GRAPH_FILE_INPUTS,
  PTO_GRAPH_FILE_CONSTS,
  PTO_GRAPH_FILE_NODES,
  PTO_GRAPH_FILE_OUTPUTS,
  PTO_GRAPH_FILE_LISTS
};

struct pto_graph_place {
  uint32_t line, column; /* from 1; columns count bytes */
};

/* Where the items of a text's lists begin; zeroed: of no text. */
struct pto_graph_places {
  struct {
    struct pto_graph_place *items;
    size_t count, capacity;
  } of[PTO_GRAPH_FILE_LISTS];
};
void pto_graph_places_fini(struct pto_graph_places *places);

/* Whether a file of this name is written, and read, as text: it ends in .webnn. */
bool pto_graph_text_is_name(const char *path);
/* Whether bytes that stand in a file of any name are text of this form. */
bool pto_graph_text_is_content(const void *bytes, size_t size);
/* Whether `name` needs no quotes. */
bool pto_graph_text_is_word(const char *name);

/* The document of `size` bytes; NULL with "PATH: line L, column C: …" in the reader's error.  The bytes are not needed
 * afterwards. */
json_t *pto_graph_text_read(struct pto_json_reader *reader, const char *path, const void *bytes, size_t size,
                            struct pto_graph_places *places, struct pto_error *error);

#endif
