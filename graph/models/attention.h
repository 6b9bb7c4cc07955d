/* SPDX-License-Identifier: MIT */
/*
 * Attention of one step over caches of keys and values, as decoders of graph/models share it.
 *
 * Owns nothing.  Always true: a cache is float32 [kv_heads, window, head_width], "past_key3" as an input and "key3" as
 * an output, of one shape, so that two tensors can take turns; rows behind the position do not reach any result.
 * Consecutive heads share one of the kv_heads.
 *
 * One thread.
 */
#ifndef PTO_MODEL_ATTENTION_H
#define PTO_MODEL_ATTENTION_H

#include <graph/models/graph_model.h>

struct pto_model_attention {
  struct pto_graph_model *model;
  uint64_t heads, kv_heads, head_width, window;
  struct pto_graph_operand is_past, is_now; /* of positions: up to this step's [window], this step's [window, 1] */
};

/* Tells positions apart by `position`, int32 [1]; the sizes are set before. */
void pto_model_attention_init(struct pto_model_attention *attention, struct pto_graph_operand position);
/* The cache of a layer ("key", "value") with this step's row, [1, kv_heads · head_width], at its position. */
struct pto_graph_operand pto_model_cache(const struct pto_model_attention *attention, const char *what, uint32_t layer,
                                         struct pto_graph_operand row);
/* Values weighted by how well their keys fit: `query` and the result are [1, heads · head_width]. */
struct pto_graph_operand pto_model_attend(const struct pto_model_attention *attention, uint32_t layer,
                                          struct pto_graph_operand query, struct pto_graph_operand keys,
                                          struct pto_graph_operand values);
struct pto_graph_operand pto_model_reshape(struct pto_graph_model *model, struct pto_graph_operand operand,
                                           uint32_t ndims, const uint32_t *shape);

#endif
