/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a GGUF file, put one after the other: for tests, which also want files that are wrong.  Checks nothing.
 *
 * Owns its memory until fini; aborts where there is none.  One thread.
 */
#ifndef PTO_TESTS_GGUF_BYTES_H
#define PTO_TESTS_GGUF_BYTES_H

#include <formats/llm/gguf.h>

struct pto_gguf_bytes {
  unsigned char *data;
  uint64_t size, capacity;
};

void pto_gguf_bytes_fini(struct pto_gguf_bytes *bytes);
void pto_gguf_put(struct pto_gguf_bytes *bytes, const void *data, uint64_t size);
void pto_gguf_put_u32(struct pto_gguf_bytes *bytes, uint32_t value);
void pto_gguf_put_u64(struct pto_gguf_bytes *bytes, uint64_t value);
void pto_gguf_put_string(struct pto_gguf_bytes *bytes, const char *text);
void pto_gguf_put_head(struct pto_gguf_bytes *bytes, uint32_t version, uint64_t tensor_count, uint64_t key_count);
/* What stands before a value; the value follows. */
void pto_gguf_put_key(struct pto_gguf_bytes *bytes, const char *name, uint32_t type);
void pto_gguf_put_key_u32(struct pto_gguf_bytes *bytes, const char *name, uint32_t value);
void pto_gguf_put_key_f32(struct pto_gguf_bytes *bytes, const char *name, float value);
void pto_gguf_put_key_string(struct pto_gguf_bytes *bytes, const char *name, const char *value);
/* What stands before `count` elements, which follow. */
void pto_gguf_put_key_array(struct pto_gguf_bytes *bytes, const char *name, uint32_t elem_type, uint64_t count);
/* Row-major shape. */
void pto_gguf_put_tensor(struct pto_gguf_bytes *bytes, const char *name, uint32_t ndims, const uint64_t *shape,
                         uint32_t type, uint64_t offset);
void pto_gguf_put_padding(struct pto_gguf_bytes *bytes, uint64_t alignment);

#endif
