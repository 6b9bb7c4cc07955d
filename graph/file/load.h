/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the reader of graph files share: pto_graph_load of <pto/graph.h> is graph/file/load.c, files in
 * text form become documents in graph/file/text.c, constants are graph/file/load_const.c, nodes graph/file/load_node.c.
 *
 * Owns, while a file is read, the document, the names in it, a builder, and what a call needs.
 *
 * Always true: a name is in `names` once, as the index of its value; values stand as the file has them, inputs, then
 * constants, then the results of the nodes in their order; value.operand is none until it is made.  The first mistake
 * is kept in `reader`, with file and place; after it nothing more is built.
 *
 * The work is proportional to the bytes of the file and the tensors made: names are looked up by hash, and no node is
 * visited more than a few times.
 *
 * One thread.
 */
#ifndef PTO_GRAPH_FILE_LOAD_H
#define PTO_GRAPH_FILE_LOAD_H

#include <formats/json_read.h>
#include <graph/build/arena.h>
#include <graph/file/text.h>
#include <graph/file/weights.h>
#include <graph/build/operation.h>

/* Bytes of constants that a file may fill with one number: a few letters of a file would ask for any amount. */
#define PTO_GRAPH_MAX_FILLED_BYTES (UINT64_C(128) << 20)
/* Items of a list in the options of a node. */
#define PTO_GRAPH_MAX_LIST 4096u

struct pto_graph_file_value {
  const char *name;
  struct pto_graph_operand operand;
  uint32_t node; /* 1 + index of the node that makes it, 0: an input or a constant */
  bool is_used;
};

struct pto_graph_loader {
  struct pto_json_reader reader;
  struct pto_graph_builder *builder;
  json_t *document, *inputs, *consts, *nodes, *outputs;
  struct pto_graph_places places; /* of a file in text form */
  json_t *names;                  /* name → index into values */
  struct pto_graph_file_value *values;
  uint32_t value_count;
  uint32_t *numbered; /* values in the order in which files count them; NULL until a file does */
  struct pto_graph_weights weights;
  json_t *referred; /* reference → index of the constant that was made of it first */
  uint64_t filled_bytes;
  struct pto_graph_arena scratch; /* of one constant or node */
};

/* Makes constant `index` of values. */
void pto_graph_load_const(struct pto_graph_loader *loader, json_t *constant, uint32_t index);
/* Calls the builder for node `index`, whose results are values from `first_value` on. */
void pto_graph_load_node(struct pto_graph_loader *loader, json_t *node, uint32_t index, uint32_t first_value);

/* The dtype and shape in `object`; zeroed where refused.  A size that is open (which inputs may have) is its most. */
struct pto_graph_desc pto_graph_load_desc(struct pto_graph_loader *loader, json_t *object, bool may_be_open);
/* The name of a size {"name", "maxSize"}, and the most that it may be; NULL for any other object. */
const char *pto_graph_load_open_size(json_t *size, uint64_t *most_out);
/* Names the open sizes among the items of a shape (`attribute` NULL) or an option, which is then the operand's. */
void pto_graph_load_set_sizes(struct pto_graph_loader *loader, struct pto_graph_operand operand, const char *attribute,
                              json_t *sizes);
/* The value called `name`, which a node or output uses; NULL where refused.  `node` is the index of the node that asks,
 * or the number of nodes. */
struct pto_graph_file_value *pto_graph_load_use(struct pto_graph_loader *loader, const char *name, uint32_t node);
/* A number, also as a string: "NaN", "Infinity", "-Infinity", or whole ones that JSON's integers do not hold.  `what`
 * is for the sentence. */
struct pto_number pto_graph_load_number(struct pto_graph_loader *loader, json_t *value, const char *what);
/* Item `index` of a list, called `name`, is what is read from now on; `option` (may be NULL) is the one of a node.
 * Sentences name the line where the file is text, the list where it is JSON. */
void pto_graph_load_at(struct pto_graph_loader *loader, enum pto_graph_file_list list, uint32_t index, const char *name,
                       const char *option);
/* "nodes[3]", or "the node of line 5, column 3" where the file is text: for sentences about another one. */
void pto_graph_load_other_node(const struct pto_graph_loader *loader, uint32_t index, char *text, size_t size);
/* The id of node `index`, for sentences. */
const char *pto_graph_load_node_id(const struct pto_graph_loader *loader, uint32_t index);
/* "PATH: out of memory". */
int pto_graph_load_refuse_memory(struct pto_graph_loader *loader);
/* Scratch memory; NULL, refused, where there is none. */
void *pto_graph_load_alloc(struct pto_graph_loader *loader, uint64_t size_bytes);
/* "PATH: PLACE: …" with the builder's sentence. */
void pto_graph_load_refuse_as_builder(struct pto_graph_loader *loader);

/* The names of the results of a node: item `index`, or its id where there is no list. */
uint32_t pto_graph_load_result_count(json_t *node);
const char *pto_graph_load_result_name(json_t *node, uint32_t index);

#endif
