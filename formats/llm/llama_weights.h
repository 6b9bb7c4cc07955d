/* SPDX-License-Identifier: MIT */
/*
 * The weights of a Llama-style model by their names, out of a file of named tensors.
 *
 * Owns nothing.  A source says how the file calls things and finds tensors in it; pto_llama_weights_read asks it for
 * each weight that the sizes of the model call for.
 *
 * Always true after a successful read: each weight was there, of its shape, of a format of enum pto_weight_format and
 * aligned to its elements (2 bytes for q8_0); no other tensor is in the file, but those that the source says are
 * without meaning.  So a model that has more to it (biases, experts) is refused and not run wrongly.  Matrices point
 * into the file; norms are f32 in model->norms.
 *
 * Threads: any, each with its own arguments.  To add a format of files: a source, and its names in the lists.
 */
#ifndef PTO_LLAMA_WEIGHTS_H
#define PTO_LLAMA_WEIGHTS_H

#include <formats/llm/model_reader.h>
#include <stdbool.h>

/* The kinds of files, which are columns of the lists. */
enum pto_llama_naming { PTO_LLAMA_HUGGING_FACE = 0, PTO_LLAMA_GGUF, PTO_LLAMA_NAMING_COUNT };

#define PTO_LLAMA_MAX_NAME_BYTES 128u

/* X(field of pto_model_layer, rows, columns, Hugging Face, GGUF), with layer number before and ".weight" behind; rows
 * and columns are dim, kv_dim and hidden of the model. */
#define PTO_LLAMA_MATRIX_LIST(X)                                                                                       \
  X(q, dim, dim, "self_attn.q_proj", "attn_q")                                                                         \
  X(k, kv_dim, dim, "self_attn.k_proj", "attn_k")                                                                      \
  X(v, kv_dim, dim, "self_attn.v_proj", "attn_v")                                                                      \
  X(o, dim, dim, "self_attn.o_proj", "attn_output")                                                                    \
  X(gate, hidden, dim, "mlp.gate_proj", "ffn_gate")                                                                    \
  X(up, hidden, dim, "mlp.up_proj", "ffn_up")                                                                          \
  X(down, dim, hidden, "mlp.down_proj", "ffn_down")

/* X(field of pto_model_layer, Hugging Face, GGUF) */
#define PTO_LLAMA_NORM_LIST(X)                                                                                         \
  X(attention_norm, "input_layernorm", "attn_norm")                                                                    \
  X(ffn_norm, "post_attention_layernorm", "ffn_norm")

struct pto_llama_tensor {
  uint64_t index; /* in the file's list */
  const void *data;
  uint32_t format; /* enum pto_weight_format */
  uint32_t ndims;
  uint64_t shape[2]; /* of those of rank 1 and 2 */
};

struct pto_llama_source {
  const void *file;
  enum pto_llama_naming naming;
  bool is_tied; /* the embedding serves as classifier */
  uint64_t tensor_count;
  /* PTO_OK with *out, or PTO_EINVAL with the sentence where there is no such tensor, or of a format that is not read.
   */
  int (*find)(const void *file, const char *name, struct pto_llama_tensor *out, struct pto_error *error);
  /* The name of tensor `index`, and its length. */
  const char *(*name_of)(const void *file, uint64_t index, uint32_t *length_out);
  /* Whether a tensor that no list has is without meaning. */
  bool (*is_spare)(const char *name, uint32_t length);
};

/* "model.layers.7.mlp.up_proj.weight" of "mlp.up_proj".  Returns `text`. */
const char *pto_llama_layer_name(char text[PTO_LLAMA_MAX_NAME_BYTES], enum pto_llama_naming naming, uint32_t layer,
                                 const char *name);

/* Fills layers, norms, embedding, classifier and final_norm of a model whose sizes are checked. */
PTO_MUST_CHECK int pto_llama_weights_read(struct pto_language_model *model, const struct pto_llama_source *source,
                                          struct pto_error *error);

#endif
