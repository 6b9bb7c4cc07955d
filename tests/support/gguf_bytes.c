/* SPDX-License-Identifier: MIT */
#include <tests/support/gguf_bytes.h>

#include <stdlib.h>
#include <string.h>

void pto_gguf_bytes_fini(struct pto_gguf_bytes *bytes) {
  free(bytes->data);
  *bytes = (struct pto_gguf_bytes){0};
}

void pto_gguf_put(struct pto_gguf_bytes *bytes, const void *data, uint64_t size) {
  if (size > bytes->capacity - bytes->size) {
    bytes->capacity = 2 * (bytes->size + size);
    bytes->data = realloc(bytes->data, bytes->capacity);
    if (!bytes->data) abort();
  }
  if (size) memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

void pto_gguf_put_u32(struct pto_gguf_bytes *bytes, uint32_t value) { pto_gguf_put(bytes, &value, sizeof value); }
void pto_gguf_put_u64(struct pto_gguf_bytes *bytes, uint64_t value) { pto_gguf_put(bytes, &value, sizeof value); }

void pto_gguf_put_string(struct pto_gguf_bytes *bytes, const char *text) {
  pto_gguf_put_u64(bytes, strlen(text));
  pto_gguf_put(bytes, text, strlen(text));
}

void pto_gguf_put_head(struct pto_gguf_bytes *bytes, uint32_t version, uint64_t tensor_count, uint64_t key_count) {
  pto_gguf_put(bytes, "GGUF", 4);
  pto_gguf_put_u32(bytes, version);
  pto_gguf_put_u64(bytes, tensor_count);
  pto_gguf_put_u64(bytes, key_count);
}

void pto_gguf_put_key(struct pto_gguf_bytes *bytes, const char *name, uint32_t type) {
  pto_gguf_put_string(bytes, name);
  pto_gguf_put_u32(bytes, type);
}

void pto_gguf_put_key_u32(struct pto_gguf_bytes *bytes, const char *name, uint32_t value) {
  pto_gguf_put_key(bytes, name, PTO_GGUF_VALUE_U32);
  pto_gguf_put_u32(bytes, value);
}

void pto_gguf_put_key_f32(struct pto_gguf_bytes *bytes, const char *name, float value) {
  pto_gguf_put_key(bytes, name, PTO_GGUF_VALUE_F32);
  pto_gguf_put(bytes, &value, sizeof value);
}

void pto_gguf_put_key_string(struct pto_gguf_bytes *bytes, const char *name, const char *value) {
  pto_gguf_put_key(bytes, name, PTO_GGUF_VALUE_STRING);
  pto_gguf_put_string(bytes, value);
}

void pto_gguf_put_key_array(struct pto_gguf_bytes *bytes, const char *name, uint32_t elem_type, uint64_t count) {
  pto_gguf_put_key(bytes, name, PTO_GGUF_VALUE_ARRAY);
  pto_gguf_put_u32(bytes, elem_type);
  pto_gguf_put_u64(bytes, count);
}

void pto_gguf_put_tensor(struct pto_gguf_bytes *bytes, const char *name, uint32_t ndims, const uint64_t *shape,
                         uint32_t type, uint64_t offset) {
  pto_gguf_put_string(bytes, name);
  pto_gguf_put_u32(bytes, ndims);
  for (uint32_t d = ndims; d-- > 0;) pto_gguf_put_u64(bytes, shape[d]);
  pto_gguf_put_u32(bytes, type);
  pto_gguf_put_u64(bytes, offset);
}

void pto_gguf_put_padding(struct pto_gguf_bytes *bytes, uint64_t alignment) {
  while (bytes->size % alignment) pto_gguf_put(bytes, "", 1);
}
