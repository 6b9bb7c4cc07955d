/* SPDX-License-Identifier: MIT */
/*
 * Models, built by the public builder with weights from a seed: what the graph layer is tried on.
 *
 * Owns nothing between calls.
 *
 * Always true: a model with the same settings and seed is the same graph, bit by bit; weights are drawn from a stream
 * of their name, so that a setting which adds some changes no other; they are scaled by their fan-in, so that values
 * keep their size from layer to layer.
 *
 * Any thread.  To add a model: a file with pto_graph_model_options_NAME and pto_graph_model_build_NAME, and a line in
 * PTO_GRAPH_MODEL_LIST.
 */
#ifndef PTO_GRAPH_MODEL_H
#define PTO_GRAPH_MODEL_H

#include <pto/graph.h>
#include <runtime/base/error.h>

/* X(name, what it is) */
#define PTO_GRAPH_MODEL_LIST(X)                                                                                        \
  X(mobilenet_v2, "MobileNetV2, an image classifier (Sandler et al. 2018, table 2)")                                   \
  X(llama, "one step of a Llama-style decoder with grouped queries, from a seed or a file (Touvron et al. 2023)")      \
  X(qwen3_layer, "one step of one layer of Qwen3, with keys and values in pages (Yang et al. 2025)")                   \
  X(gpt2, "one step of a GPT-2-style decoder, with caches of keys and values (Radford et al. 2019)")

#define PTO_GRAPH_MODEL_MAX_OPTIONS 12
#define PTO_GRAPH_MODEL_MAX_LAYERS 128u

struct pto_graph_model_option {
  const char *name, *meaning;
  uint64_t least, most, value; /* value: the default, and then what is set */
  const char *text;            /* the same of an option that is one; NULL of numbers */
};

struct pto_graph_model_made_name {
  struct pto_graph_model_made_name *next;
  char text[80]; /* the longest has some 40 */
};

/* A model on its way: the builder and what its file needs of the settings.  After a refused call the builder keeps the
 * first sentence, and nothing more is made. */
struct pto_graph_model {
  struct pto_graph_builder *builder;
  uint64_t seed;
  const struct pto_graph_model_option *options;
  struct pto_error error; /* the first that is not the builder's: settings that do not fit together, no memory */
  struct pto_graph_output outputs[2 * PTO_GRAPH_MODEL_MAX_LAYERS + 1];
  uint32_t output_count;
  struct pto_graph_model_made_name *names; /* the last that was made */
};
typedef void pto_graph_model_build(struct pto_graph_model *model);

struct pto_graph_model_info {
  const char *name, *summary;
  const struct pto_graph_model_option *options; /* ends with a zeroed one */
  pto_graph_model_build *build;
};

/* The model called `name`, NULL where there is none; by index, NULL past the end. */
const struct pto_graph_model_info *pto_graph_model_find(const char *name);
const struct pto_graph_model_info *pto_graph_model_at(uint32_t index);
/* Builds it.  `settings` are `count` texts "name=value".  PTO_OK; PTO_EINVAL for a setting, with a sentence;
 * PTO_ENOMEM; what the builder, or the reader of a file that a setting names, answers. */
PTO_MUST_CHECK int pto_graph_model_create(const struct pto_graph_model_info *info, const char *const *settings,
                                          uint32_t count, uint64_t seed, struct pto_graph **graph_out,
                                          struct pto_error *error);

/* ---- for the files of models ---- */

/* Ends the model with this reason, unless there is one already. */
void pto_graph_model_refuse(struct pto_graph_model *model, int status, const char *reason);
uint64_t pto_graph_model_option(const struct pto_graph_model *model, const char *name);
const char *pto_graph_model_text(const struct pto_graph_model *model, const char *name);
/* A named constant of floats within ±scale; a vector of them around `middle`. */
struct pto_graph_operand pto_graph_model_weights(struct pto_graph_model *model, const char *name, uint32_t ndims,
                                                 const uint64_t *shape, double scale);
struct pto_graph_operand pto_graph_model_vector(struct pto_graph_model *model, const char *name, uint64_t size,
                                                double middle, double scale);
/* The scale at which a sum of `fan_in` products of such weights and values of variance 1 has variance `gain`. */
double pto_graph_model_scale(uint64_t fan_in, double gain);
/* A named constant with these bytes. */
struct pto_graph_operand pto_graph_model_constant(struct pto_graph_model *model, const char *name, uint32_t dtype,
                                                  uint32_t ndims, const uint64_t *shape, const void *data);
struct pto_graph_operand pto_graph_model_scalar(struct pto_graph_model *model, double value);
void pto_graph_model_output(struct pto_graph_model *model, struct pto_graph_operand operand, const char *format, ...)
    PTO_PRINTF(3, 4);
/* "layer3.attention.query": borrowed for as long as the model is being built. */
const char *pto_graph_model_name(struct pto_graph_model *model, const char *format, ...) PTO_PRINTF(2, 3);

#define X(name, summary)                                                                                               \
  extern const struct pto_graph_model_option pto_graph_model_options_##name[];                                         \
  pto_graph_model_build pto_graph_model_build_##name;
PTO_GRAPH_MODEL_LIST(X)
#undef X

#endif
