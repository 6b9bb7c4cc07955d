/* SPDX-License-Identifier: MIT */
/*
 * What the decoders of graph/models share, of one step: RMS norm, rotary positions, attention over caches.
 *
 * Owns nothing.  Always true: vectors are [1, heads · head_width]; consecutive heads share one of the kv_heads; rows of
 * keys and values behind the position do not reach any result.  A cache of pto_model_cache is float32 [kv_heads,
 * window, head_width], "past_key3" as an input and "key3" as an output, of one shape, so that two tensors can take
 * turns.
 *
 * One thread.
 */
#ifndef PTO_DECODER_PARTS_H
#define PTO_DECODER_PARTS_H

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
/* Values weighted by how well their keys fit, both [kv_heads, window, head_width]; `query` and the result are [1, heads
 * · head_width]. */
struct pto_graph_operand pto_model_attend(const struct pto_model_attention *attention, uint32_t layer,
                                          struct pto_graph_operand query, struct pto_graph_operand keys,
                                          struct pto_graph_operand values);
/* x [rows, columns], each row over the root of its mean square, times weight [columns]. */
struct pto_graph_operand pto_model_rms_norm(struct pto_graph_model *model, const char *name, struct pto_graph_operand x,
                                            struct pto_graph_operand weight, double epsilon);

/* Pairs of a head's vector turned by position / base^(2i / head_width). */
struct pto_model_rotation {
  bool is_halves; /* elements i and i + head_width / 2 are a pair, else 2i and 2i + 1 */
  uint64_t head_width;
  struct pto_graph_operand cosines, sines; /* of this step, shaped to multiply the parts that turn */
};
/* Of `position`, below `window`; is_halves and head_width are set before. */
void pto_model_rotation_init(struct pto_model_rotation *rotation, struct pto_graph_model *model,
                             struct pto_graph_operand position, uint64_t window, double base);
struct pto_graph_operand pto_model_rotate(const struct pto_model_rotation *rotation, struct pto_graph_model *model,
                                          struct pto_graph_operand x, uint64_t heads);

struct pto_graph_operand pto_model_reshape(struct pto_graph_model *model, struct pto_graph_operand operand,
                                           uint32_t ndims, const uint32_t *shape);

#endif
