/* SPDX-License-Identifier: MIT */
#include <graph/file/manifest.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_read.h>
#include <formats/json_writer.h>
#include <formats/new_file.h>
#include <graph/build/operation.h>
#include <runtime/base/base.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data are used as the file has them");

#define HEADER_BYTES 8u
#define VERSION 1u

/* ---- sizes ---- */

static bool count_elements(uint32_t ndims, const uint64_t *shape, uint64_t *numel_out) {
  uint64_t numel = 1;
  for (uint32_t d = 0; d < ndims; d++)
    if (__builtin_mul_overflow(numel, shape[d], &numel) || numel > PTO_GRAPH_MAX_TENSOR_BYTES * UINT64_C(2))
      return false;
  *numel_out = numel;
  return true;
}

bool pto_graph_tensor_bytes(uint32_t dtype, uint32_t ndims, const uint64_t *shape, uint64_t *bytes_out) {
  uint64_t numel;
  if (!count_elements(ndims, shape, &numel)) return false;
  *bytes_out = (numel * pto_dtype_bits(dtype) + 7) / 8;
  return *bytes_out <= PTO_GRAPH_MAX_TENSOR_BYTES;
}

bool pto_graph_tensor_holds(uint32_t dtype, uint32_t ndims, const uint64_t *shape, uint64_t bytes, bool *is_wide_out) {
  uint64_t numel, dense;
  *is_wide_out = false;
  if (!count_elements(ndims, shape, &numel) || !pto_graph_tensor_bytes(dtype, ndims, shape, &dense)) return false;
  *is_wide_out = pto_dtype_bits(dtype) == 4 && bytes == numel && bytes != dense;
  return bytes == dense || *is_wide_out;
}

/* ---- reading ---- */

struct source {
  struct pto_json_reader reader;
  const unsigned char *blob;
  uint64_t blob_bytes;
};

static void read_tensor(struct source *source, const char *name, json_t *entry, struct pto_safetensors_tensor *tensor) {
  struct pto_json_reader *reader = &source->reader;
  bool is_wide;
  pto_json_read_at(reader, "tensors \"%.60s\"", name);
  if (!json_is_object(entry)) pto_json_read_refuse(reader, "is no object");
  tensor->name = name;
  tensor->dtype_name = pto_json_read_string(reader, entry, "dataType");
  pto_json_read_u64s(reader, entry, "shape", PTO_MAX_DIMS, UINT32_MAX, tensor->shape, &tensor->ndims);
  const uint64_t offset = pto_json_read_u64(reader, entry, "byteOffset", INT64_MAX);
  tensor->size_bytes = pto_json_read_u64(reader, entry, "byteLength", INT64_MAX);
  if (reader->status) return;
  tensor->dtype = pto_graph_dtype_find(tensor->dtype_name);
  if (tensor->dtype < 0)
    pto_json_read_refuse(reader, "\"%.40s\" is no data type of graphs, which have %s", tensor->dtype_name,
                         pto_graph_dtype_names());
  else if (pto_json_has(entry, "layout") && strcmp(pto_json_read_string(reader, entry, "layout"), "row-major") != 0)
    pto_json_read_refuse(reader, "a layout other than row-major is not supported");
  else if (!pto_graph_tensor_holds((uint32_t)tensor->dtype, tensor->ndims, tensor->shape, tensor->size_bytes, &is_wide))
    pto_json_read_refuse(reader, "byteLength %" PRIu64 " is not what its dataType and shape have", tensor->size_bytes);
  else if (offset > source->blob_bytes || tensor->size_bytes > source->blob_bytes - offset)
    pto_json_read_refuse(reader, "bytes %" PRIu64 " to %" PRIu64 " are beyond the %" PRIu64 " bytes of the weights",
                         offset, offset + tensor->size_bytes, source->blob_bytes);
  else
    tensor->data = source->blob + offset;
}

static int compare_data(const void *a, const void *b) {
  const struct pto_safetensors_tensor *x = a, *y = b;
  const uintptr_t p = (uintptr_t)x->data, q = (uintptr_t)y->data;
  if (p != q) return p < q ? -1 : 1;
  return x->size_bytes < y->size_bytes ? -1 : x->size_bytes > y->size_bytes;
}

/* Also sorts the tensors by their place in the blob. */
static void check_places(struct source *source, struct pto_graph_manifest *manifest) {
  const unsigned char *end = source->blob;
  const char *before = "the header";
  if (source->reader.status || manifest->tensor_count == 0) return;
  qsort(manifest->tensors, manifest->tensor_count, sizeof *manifest->tensors, compare_data);
  const bool has_header = source->blob_bytes >= HEADER_BYTES && memcmp(source->blob, "WGWT", 4) == 0 &&
                          (const unsigned char *)manifest->tensors[0].data >= source->blob + HEADER_BYTES;
  if (has_header) {
    uint32_t version;
    memcpy(&version, source->blob + 4, sizeof version);
    pto_json_read_at(&source->reader, "the weights");
    if (version != VERSION)
      pto_json_read_refuse(&source->reader, "their version is %" PRIu32 ", %u is read", version, VERSION);
  }
  for (uint64_t i = 0; i < manifest->tensor_count; i++) {
    const struct pto_safetensors_tensor *tensor = &manifest->tensors[i];
    const unsigned char *data = tensor->data;
    if (tensor->size_bytes == 0) continue;
    pto_json_read_at(&source->reader, "tensors \"%.60s\"", tensor->name);
    if (data < end) pto_json_read_refuse(&source->reader, "overlaps \"%.60s\"", before);
    end = data + tensor->size_bytes;
    before = tensor->name;
  }
}

static void read_document(struct source *source, struct pto_graph_manifest *manifest) {
  struct pto_json_reader *reader = &source->reader;
  json_t *entry;
  const char *name;
  if (strcmp(pto_json_read_string(reader, manifest->document, "format"), "wg-weights-manifest") != 0)
    pto_json_read_refuse(reader, "\"format\" is not wg-weights-manifest");
  if (pto_json_read_u64(reader, manifest->document, "version", INT64_MAX) != VERSION)
    pto_json_read_refuse(reader, "\"version\" is not %u", VERSION);
  if (strcmp(pto_json_read_string(reader, manifest->document, "endianness"), "little") != 0)
    pto_json_read_refuse(reader, "\"endianness\" is not little");
  json_t *tensors = pto_json_read_object(reader, manifest->document, "tensors");
  if (reader->status) return;
  manifest->tensors = calloc(json_object_size(tensors) + 1, sizeof *manifest->tensors);
  if (!manifest->tensors) {
    reader->status = pto_error_set(reader->error, PTO_ENOMEM, "%.400s: out of memory", reader->path);
    return;
  }
  json_object_foreach(tensors, name, entry)
    read_tensor(source, name, entry, &manifest->tensors[manifest->tensor_count++]);
  check_places(source, manifest);
}

int pto_graph_manifest_init(struct pto_graph_manifest *manifest, const char *path, const void *blob,
                            uint64_t blob_bytes, struct pto_error *error) {
  struct source source = {.blob = blob ? blob : (const void *)"", .blob_bytes = blob_bytes};
  *manifest = (struct pto_graph_manifest){0};
  manifest->document = pto_json_read_file(&source.reader, path, PTO_GRAPH_MANIFEST_MAX_BYTES, error);
  if (manifest->document) read_document(&source, manifest);
  if (source.reader.status) pto_graph_manifest_fini(manifest);
  return source.reader.status;
}

void pto_graph_manifest_fini(struct pto_graph_manifest *manifest) {
  free(manifest->tensors);
  json_decref(manifest->document);
  *manifest = (struct pto_graph_manifest){0};
}

/* ---- writing ---- */

static int write_blob(const char *path, const struct pto_safetensors_tensor *tensors, uint64_t count,
                      struct pto_error *error) {
  static const unsigned char header[HEADER_BYTES] = {'W', 'G', 'W', 'T', VERSION};
  FILE *file = pto_new_file_create(path, error);
  if (!file) return PTO_ESYSTEM;
  bool is_good = fwrite(header, sizeof header, 1, file) == 1;
  for (uint64_t i = 0; i < count && is_good; i++)
    is_good = tensors[i].size_bytes == 0 || fwrite(tensors[i].data, tensors[i].size_bytes, 1, file) == 1;
  return pto_new_file_finish(path, file, is_good ? 0 : errno, error);
}

static void put_tensor(struct pto_json_writer *w, const struct pto_safetensors_tensor *tensor, uint64_t offset) {
  pto_json_newline(w);
  pto_json_put_object(w, tensor->name);
  pto_json_put_string(w, "dataType", pto_graph_dtype_name((uint32_t)tensor->dtype));
  pto_json_put_array(w, "shape");
  for (uint32_t d = 0; d < tensor->ndims; d++) pto_json_u64(w, tensor->shape[d]);
  pto_json_array_end(w);
  pto_json_put_u64(w, "byteOffset", offset);
  pto_json_put_u64(w, "byteLength", tensor->size_bytes);
  pto_json_put_string(w, "layout", "row-major");
  pto_json_object_end(w);
}

static void put_document(struct pto_json_writer *w, const struct pto_safetensors_tensor *tensors, uint64_t count) {
  uint64_t offset = HEADER_BYTES;
  pto_json_object_begin(w);
  pto_json_put_string(w, "format", "wg-weights-manifest");
  pto_json_put_u64(w, "version", VERSION);
  pto_json_put_string(w, "endianness", "little");
  pto_json_put_object(w, "tensors");
  for (uint64_t i = 0; i < count; offset += tensors[i++].size_bytes) put_tensor(w, &tensors[i], offset);
  pto_json_object_end(w);
  pto_json_object_end(w);
}

int pto_graph_manifest_write(const char *path, const char *blob_path, const struct pto_safetensors_tensor *tensors,
                             uint64_t count, struct pto_error *error) {
  struct pto_json_writer w;
  int status = write_blob(blob_path, tensors, count, error);
  if (status) return status;
  FILE *file = pto_new_file_create(path, error);
  status = PTO_ESYSTEM;
  if (file) {
    pto_json_init(&w, fileno(file));
    put_document(&w, tensors, count);
    status = pto_new_file_finish(path, file, pto_json_finish(&w), error);
  }
  if (status) pto_new_file_remove(blob_path);
  return status;
}
