/* SPDX-License-Identifier: MIT */
/*
 * What readers of model files share; the model itself is in language_model.h.
 *
 * To add a format: a reader file, and a line in `readers` of language_model.c.  A reader finds the whole file in
 * model->file, all else zeroed, and fills the rest; what it leaves behind when it refuses is freed by the caller.
 */
#ifndef PTO_MODEL_READER_H
#define PTO_MODEL_READER_H

#include <formats/llm/language_model.h>
#include <runtime/base/error.h>

/* Whether the sizes, rope_base and norm_epsilon may be those of a model; PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_model_check_sizes(const struct pto_language_model *model, struct pto_error *error);

/* Readers, each given the path for files beside it and for no sentence. */

/* The checkpoints of llama2.c, version 0: seven int32, then f32 weights. */
PTO_MUST_CHECK int pto_llama2c_read(struct pto_language_model *model, const char *path, struct pto_error *error);
/* llama_gguf.c, llama_safetensors.c. */
PTO_MUST_CHECK int pto_llama_gguf_read(struct pto_language_model *model, const char *path, struct pto_error *error);
PTO_MUST_CHECK int pto_llama_safetensors_read(struct pto_language_model *model, const char *path,
                                              struct pto_error *error);

#endif
