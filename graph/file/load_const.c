/* SPDX-License-Identifier: MIT */
#include <graph/file/load.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <graph/build/data.h>
#include <runtime/base/base.h>

/* ---- numbers ---- */

struct pto_number pto_graph_load_number(struct pto_graph_loader *loader, json_t *value, const char *what) {
  struct pto_number number = {0};
  if (json_is_integer(value)) return pto_number_i64(json_integer_value(value));
  if (json_is_real(value)) return pto_number_f64(json_real_value(value));
  if (json_is_string(value) && pto_graph_data_parse_number(json_string_value(value), &number)) return number;
  pto_json_read_refuse(&loader->reader, "\"%.60s\" is no number", what);
  return (struct pto_number){0};
}

/* ---- the forms of constants ---- */

static void make(struct pto_graph_loader *loader, uint32_t index, const struct pto_graph_desc *desc, const void *data,
                 uint64_t size_bytes) {
  if (loader->reader.status) return;
  struct pto_graph_file_value *value = &loader->values[index];
  value->operand = pto_graph_builder_constant(loader->builder, desc, data, size_bytes);
  if (value->operand.index == 0 || pto_graph_builder_set_name(loader->builder, value->operand, value->name))
    pto_graph_load_refuse_as_builder(loader);
}

/* A byte for each 4-bit element, as two elements a byte. */
static void make_of_wide(struct pto_graph_loader *loader, uint32_t index, const struct pto_graph_desc *desc,
                         const unsigned char *wide, uint64_t count) {
  unsigned char *dense = pto_graph_load_alloc(loader, (count + 1) / 2);
  for (uint64_t i = 0; i < count && dense; i++) {
    const unsigned char byte = wide[i];
    if (byte > 15 && !(desc->dtype == PTO_INT4 && byte >= 0xf0)) {
      pto_json_read_refuse(&loader->reader, "byte %" PRIu64 " is %u, which is none of 4 bits", i, byte);
      return;
    }
    dense[i / 2] |= (unsigned char)((byte & 15) << (i % 2 * 4));
  }
  make(loader, index, desc, dense, (count + 1) / 2);
}

static void make_of_bytes(struct pto_graph_loader *loader, uint32_t index, const struct pto_graph_desc *desc,
                          const void *data, uint64_t size_bytes) {
  bool is_wide;
  uint64_t needed = 0;
  if (loader->reader.status) return;
  if (!pto_graph_tensor_holds(desc->dtype, desc->ndims, desc->shape, size_bytes, &is_wide)) {
    if (pto_graph_tensor_bytes(desc->dtype, desc->ndims, desc->shape, &needed))
      pto_json_read_refuse(&loader->reader, "%" PRIu64 " bytes are given, its shape of %s has %" PRIu64, size_bytes,
                           pto_graph_dtype_name(desc->dtype), needed);
    else
      pto_json_read_refuse(&loader->reader, "its shape has more than the %u bytes that a tensor may have",
                           PTO_GRAPH_MAX_TENSOR_BYTES);
  } else if (is_wide) {
    make_of_wide(loader, index, desc, data, size_bytes);
  } else {
    make(loader, index, desc, data, size_bytes);
  }
}

static void make_inline(struct pto_graph_loader *loader, uint32_t index, const struct pto_graph_desc *desc,
                        json_t *init) {
  json_t *bytes = pto_json_read_array(&loader->reader, init, "bytes", SIZE_MAX), *item;
  const size_t count = json_array_size(bytes);
  unsigned char *data = loader->reader.status ? NULL : pto_graph_load_alloc(loader, count);
  size_t i;
  if (!data) return;
  json_array_foreach(bytes, i, item) {
    const json_int_t value = json_is_integer(item) ? json_integer_value(item) : -1;
    if (value < 0 || value > 255) {
      pto_json_read_refuse(&loader->reader, "\"bytes\" item %zu is no number from 0 to 255", i);
      return;
    }
    data[i] = (unsigned char)value;
  }
  make_of_bytes(loader, index, desc, data, count);
}

/* The half byte that no element has stays zero. */
static void fill(unsigned char *data, uint64_t size_bytes, const unsigned char element[8],
                 const struct pto_graph_desc *desc) {
  uint64_t numel = 1, done = pto_min_u64(pto_dtype_size(desc->dtype), size_bytes), part;
  if (done == 0) return;
  memcpy(data, element, done);
  if (pto_dtype_bits(desc->dtype) == 4) data[0] = (unsigned char)((data[0] & 15) | (data[0] & 15) << 4);
  for (; done < size_bytes; done += part) {
    part = pto_min_u64(done, size_bytes - done);
    memcpy(data + done, data, part);
  }
  for (uint32_t d = 0; d < desc->ndims; d++) numel *= desc->shape[d];
  if (pto_dtype_bits(desc->dtype) == 4 && numel % 2 == 1) data[size_bytes - 1] &= 15;
}

static void make_filled(struct pto_graph_loader *loader, uint32_t index, const struct pto_graph_desc *desc,
                        json_t *init) {
  struct pto_json_reader *reader = &loader->reader;
  json_t *value = json_object_get(init, "value");
  unsigned char element[8] = {0};
  uint64_t size_bytes;
  const struct pto_number number = pto_graph_load_number(loader, value, "value");
  if (reader->status) return;
  if (!pto_graph_data_from_number(desc->dtype, number, element))
    pto_json_read_refuse(reader, "\"value\" is no %s", pto_graph_dtype_name(desc->dtype));
  else if (!pto_graph_tensor_bytes(desc->dtype, desc->ndims, desc->shape, &size_bytes))
    pto_json_read_refuse(reader, "its shape has more than the %u bytes that a tensor may have",
                         PTO_GRAPH_MAX_TENSOR_BYTES);
  else if (size_bytes > PTO_GRAPH_MAX_FILLED_BYTES - loader->filled_bytes)
    pto_json_read_refuse(reader, "constants of one value have more than %" PRIu64 " bytes in all",
                         PTO_GRAPH_MAX_FILLED_BYTES);
  if (reader->status) return;
  unsigned char *data = pto_graph_load_alloc(loader, size_bytes);
  loader->filled_bytes += size_bytes;
  if (data) fill(data, size_bytes, element, desc);
  make(loader, index, desc, data, size_bytes);
}

/* Whether the tensor of a file is what the graph says that it is. */
static bool is_same_desc(const struct pto_safetensors_tensor *tensor, const struct pto_graph_desc *desc) {
  return tensor->ndims == desc->ndims && memcmp(tensor->shape, desc->shape, desc->ndims * sizeof *desc->shape) == 0;
}

static void make_widened(struct pto_graph_loader *loader, uint32_t index, const struct pto_graph_desc *desc,
                         const struct pto_safetensors_tensor *tensor) {
  const uint64_t count = tensor->size_bytes / 2;
  float *data = pto_graph_load_alloc(loader, count * sizeof *data);
  for (uint64_t i = 0; i < count && data; i++) {
    uint16_t bits;
    memcpy(&bits, (const unsigned char *)tensor->data + 2 * i, sizeof bits);
    data[i] = pto_bf16_to_f32(bits);
  }
  make(loader, index, desc, data, count * sizeof *data);
}

static void make_referred(struct pto_graph_loader *loader, uint32_t index, const struct pto_graph_desc *desc,
                          json_t *init) {
  struct pto_json_reader *reader = &loader->reader;
  struct pto_error error;
  const char *reference = pto_json_read_string(reader, init, "ref");
  if (reader->status) return;
  const struct pto_safetensors_tensor *tensor = pto_graph_weights_find(&loader->weights, reference, &error);
  if (!tensor) {
    reader->status =
        pto_error_set(reader->error, error.status, "%.300s: %s: %.500s", reader->path, reader->place, error.sentence);
    return;
  }
  if (!is_same_desc(tensor, desc)) {
    pto_json_read_refuse(reader, "tensor \"%.60s\" has another shape in %.200s", reference, loader->weights.path);
    return;
  }
  /* One tensor is copied once, however often a file names it. */
  json_t *first = json_object_get(loader->referred, tensor->name);
  if (tensor->dtype == PTO_BFLOAT16 && desc->dtype == PTO_FLOAT32 && !first)
    make_widened(loader, index, desc, tensor);
  else if (tensor->dtype != (int)desc->dtype && !(tensor->dtype == PTO_BFLOAT16 && desc->dtype == PTO_FLOAT32))
    pto_json_read_refuse(reader, "tensor \"%.60s\" is of %.20s in %.200s", reference, tensor->dtype_name,
                         loader->weights.path);
  else if (first)
    loader->values[index].operand = loader->values[json_integer_value(first)].operand;
  else
    make_of_bytes(loader, index, desc, tensor->data, tensor->size_bytes);
  if (!reader->status && !first && json_object_set_new(loader->referred, tensor->name, json_integer(index)) != 0)
    pto_graph_load_refuse_memory(loader);
}

void pto_graph_load_const(struct pto_graph_loader *loader, json_t *constant, uint32_t index) {
  static const struct {
    const char *kind;
    void (*make)(struct pto_graph_loader *loader, uint32_t index, const struct pto_graph_desc *desc, json_t *init);
  } forms[] = {{"inlineBytes", make_inline}, {"scalar", make_filled}, {"weights", make_referred}};
  const struct pto_graph_arena_mark mark = pto_graph_arena_mark(&loader->scratch);
  const struct pto_graph_desc desc = pto_graph_load_desc(loader, constant, false);
  json_t *init = pto_json_read_object(&loader->reader, constant, "init");
  const char *kind = pto_json_read_string(&loader->reader, init, "kind");
  if (loader->reader.status) return;
  size_t i = 0;
  while (i < PTO_ARRAY_LENGTH(forms) && strcmp(forms[i].kind, kind) != 0) i++;
  if (i == PTO_ARRAY_LENGTH(forms))
    pto_json_read_refuse(&loader->reader, "its kind \"%.40s\" is none of inlineBytes, scalar, weights", kind);
  else
    forms[i].make(loader, index, &desc, init);
  pto_graph_arena_release(&loader->scratch, mark);
}
