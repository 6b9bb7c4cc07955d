/* SPDX-License-Identifier: MIT */
#include <formats/safetensors.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_read.h>
#include <runtime/base/base.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data are used as the file has them");

#define LENGTH_BYTES sizeof(uint64_t)
#define METADATA "__metadata__"

static const struct known_dtype {
  const char *name;
  uint32_t bits;
  int dtype;
} known_dtypes[] = {
#define X(name, bits, dtype) {name, bits, dtype},
    PTO_SAFETENSORS_DTYPES(X)
#undef X
};

/* Bit 0 is that of PTO_SAFETENSORS_NO_DTYPE. */
#define X(name, bits, dtype) | 1u << ((dtype) + 1)
_Static_assert((0u PTO_SAFETENSORS_DTYPES(X)) >> 1 == PTO_DTYPES_ALL,
               "a dtype more: its name goes into formats/safetensors.h");
#undef X

/* ---- the header ---- */

/* The header's length; PTO_EINVAL where the bytes are none. */
static int find_header(const char *name, const unsigned char *bytes, uint64_t size_bytes, uint64_t *length_out,
                       struct pto_error *error) {
  uint64_t length;
  if (size_bytes < LENGTH_BYTES)
    return pto_error_set(error, PTO_EINVAL, "%.400s: %" PRIu64 " bytes cannot hold the length of a header", name,
                         size_bytes);
  memcpy(&length, bytes, sizeof length);
  if (length > PTO_SAFETENSORS_MAX_HEADER_BYTES)
    return pto_error_set(error, PTO_EINVAL,
                         "%.400s: byte 0: a header of %" PRIu64 " bytes, at most %" PRIu64 " are read", name, length,
                         PTO_SAFETENSORS_MAX_HEADER_BYTES);
  if (length > size_bytes - LENGTH_BYTES)
    return pto_error_set(error, PTO_EINVAL, "%.400s: the file is cut: a header of %" PRIu64 " bytes in %" PRIu64, name,
                         length, size_bytes - LENGTH_BYTES);
  if (length == 0 || bytes[LENGTH_BYTES] != '{')
    return pto_error_set(error, PTO_EINVAL, "%.400s: byte 8: the header does not begin with a brace", name);
  *length_out = length;
  return PTO_OK;
}

static void read_dtype(struct pto_json_reader *reader, json_t *entry, struct pto_safetensors_tensor *tensor,
                       uint64_t data_bytes) {
  uint64_t bits;
  tensor->dtype_name = pto_json_read_string(reader, entry, "dtype");
  tensor->dtype = PTO_SAFETENSORS_NO_DTYPE;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(known_dtypes); i++) {
    const struct known_dtype *known = &known_dtypes[i];
    if (strcmp(known->name, tensor->dtype_name) != 0) continue;
    tensor->dtype = known->dtype;
    bits = known->bits;
    for (uint32_t d = 0; d < tensor->ndims; d++)
      if (__builtin_mul_overflow(bits, tensor->shape[d], &bits) || bits > INT64_MAX) { /* as what is written */
        pto_json_read_refuse(reader, "its shape has more bits than a file can");
        return;
      }
    if ((bits + 7) / 8 != data_bytes)
      pto_json_read_refuse(reader, "%s of its shape has %" PRIu64 " bytes, its data_offsets hold %" PRIu64, known->name,
                           (bits + 7) / 8, data_bytes);
    return;
  }
}

static void read_tensor(struct pto_json_reader *reader, const char *name, json_t *entry, const unsigned char *data,
                        uint64_t size_bytes, struct pto_safetensors_tensor *tensor) {
  uint64_t offsets[2] = {0, 0};
  uint32_t count;
  pto_json_read_at(reader, "tensor \"%.70s\"", name);
  if (!json_is_object(entry)) {
    pto_json_read_refuse(reader, "is no object");
    return;
  }
  pto_json_read_u64s(reader, entry, "shape", PTO_MAX_DIMS, INT64_MAX, tensor->shape, &tensor->ndims);
  pto_json_read_u64s(reader, entry, "data_offsets", 2, INT64_MAX, offsets, &count);
  if (reader->status) return;
  if (count != 2) {
    pto_json_read_refuse(reader, "\"data_offsets\" has %u items, not a begin and an end", count);
    return;
  }
  if (offsets[0] > offsets[1] || offsets[1] > size_bytes) {
    pto_json_read_refuse(reader, "data_offsets %" PRIu64 " to %" PRIu64 " of %" PRIu64 " bytes of data", offsets[0],
                         offsets[1], size_bytes);
    return;
  }
  tensor->name = name;
  tensor->size_bytes = offsets[1] - offsets[0];
  tensor->data = data + offsets[0];
  read_dtype(reader, entry, tensor, tensor->size_bytes);
}

static void check_metadata(struct pto_json_reader *reader, json_t *metadata) {
  const char *key;
  json_t *value;
  pto_json_read_at(reader, METADATA);
  if (!json_is_object(metadata)) pto_json_read_refuse(reader, "is no object");
  json_object_foreach(metadata, key, value)
    if (!json_is_string(value)) pto_json_read_refuse(reader, "\"%.70s\" is no string", key);
}

/* ---- the list ---- */

static int compare_names(const void *left, const void *right) {
  const struct pto_safetensors_tensor *a = left, *b = right;
  return strcmp(a->name, b->name);
}

static int compare_places(const void *left, const void *right) {
  const struct pto_safetensors_tensor *a = left, *b = right;
  const uintptr_t a_begin = (uintptr_t)a->data, b_begin = (uintptr_t)b->data;
  if (a_begin != b_begin) return a_begin < b_begin ? -1 : 1;
  return (a->size_bytes > b->size_bytes) - (a->size_bytes < b->size_bytes);
}

/* Sorts by place: each tensor begins where the one before it ends, and the last ends with the file. */
static void check_places(struct pto_json_reader *reader, struct pto_safetensors *list, const unsigned char *data,
                         uint64_t size_bytes) {
  const unsigned char *end = data;
  if (list->tensor_count) qsort(list->tensors, list->tensor_count, sizeof *list->tensors, compare_places);
  for (uint64_t i = 0; i < list->tensor_count; i++) {
    const struct pto_safetensors_tensor *tensor = &list->tensors[i];
    const unsigned char *begin = tensor->data;
    pto_json_read_at(reader, "tensor \"%.70s\"", tensor->name);
    if (begin != end) {
      pto_json_read_refuse(reader, "its data begin at %td, %s those before end, at %td", begin - data,
                           begin < end ? "before" : "beyond where", end - data);
      return;
    }
    end = begin + tensor->size_bytes;
  }
  pto_json_read_at(reader, "data");
  if (end != data + size_bytes)
    pto_json_read_refuse(reader, "%" PRIu64 " bytes follow the last tensor, which ends at %td",
                         size_bytes - (uint64_t)(end - data), end - data);
}

static void read_tensors(struct pto_json_reader *reader, struct pto_safetensors *list, const unsigned char *data,
                         uint64_t size_bytes) {
  const char *name;
  json_t *entry;
  json_object_foreach(list->header, name, entry) {
    if (reader->status) return;
    if (strcmp(name, METADATA) == 0)
      check_metadata(reader, entry);
    else
      read_tensor(reader, name, entry, data, size_bytes, &list->tensors[list->tensor_count++]);
  }
  if (reader->status) return;
  check_places(reader, list, data, size_bytes);
  if (list->tensor_count) qsort(list->tensors, list->tensor_count, sizeof *list->tensors, compare_names);
}

int pto_safetensors_init_memory(struct pto_safetensors *tensors, const char *name, const void *bytes,
                                uint64_t size_bytes, struct pto_error *error) {
  struct pto_json_reader reader;
  uint64_t length = 0;
  memset(tensors, 0, sizeof *tensors);
  int status = find_header(name, bytes, size_bytes, &length, error);
  if (status) return status;
  const unsigned char *header = (const unsigned char *)bytes + LENGTH_BYTES;
  tensors->header = pto_json_read_memory(&reader, name, header, length, error);
  if (!tensors->header) return reader.status;
  tensors->tensors = calloc(json_object_size(tensors->header) + 1, sizeof *tensors->tensors);
  if (tensors->tensors) {
    read_tensors(&reader, tensors, header + length, size_bytes - LENGTH_BYTES - length);
    status = reader.status;
  } else {
    status =
        pto_error_set(error, PTO_ENOMEM, "%.400s: no memory for %zu tensors", name, json_object_size(tensors->header));
  }
  if (status) pto_safetensors_fini(tensors);
  return status;
}

int pto_safetensors_init(struct pto_safetensors *tensors, const char *path, struct pto_error *error) {
  struct pto_mapped_file file;
  memset(tensors, 0, sizeof *tensors);
  int status = pto_mapped_file_init(&file, path, error);
  if (status) return status;
  status = pto_safetensors_init_memory(tensors, path, file.data, file.size_bytes, error);
  if (status)
    pto_mapped_file_fini(&file);
  else
    tensors->file = file;
  return status;
}

void pto_safetensors_fini(struct pto_safetensors *tensors) {
  free(tensors->tensors);
  json_decref(tensors->header);
  pto_mapped_file_fini(&tensors->file);
  memset(tensors, 0, sizeof *tensors);
}

bool pto_safetensors_is_one(const void *bytes, uint64_t size_bytes) {
  uint64_t length;
  if (size_bytes <= LENGTH_BYTES) return false;
  memcpy(&length, bytes, sizeof length);
  return length <= UINT32_MAX && ((const unsigned char *)bytes)[LENGTH_BYTES] == '{';
}

/* ---- use ---- */

const struct pto_safetensors_tensor *pto_safetensors_find(const struct pto_safetensors *tensors, const char *name) {
  const struct pto_safetensors_tensor key = {.name = name};
  if (tensors->tensor_count == 0) return NULL;
  return bsearch(&key, tensors->tensors, tensors->tensor_count, sizeof key, compare_names);
}

const struct pto_safetensors_tensor *pto_safetensors_get(const struct pto_safetensors *tensors, const char *name,
                                                         struct pto_error *error) {
  const struct pto_safetensors_tensor *tensor = pto_safetensors_find(tensors, name);
  if (!tensor) {
    (void)pto_error_set(error, PTO_EINVAL, "there is no tensor \"%.200s\"", name);
  } else if (tensor->dtype == PTO_SAFETENSORS_NO_DTYPE) {
    (void)pto_error_set(error, PTO_EINVAL, "tensor \"%.200s\" is of %.40s, which is none of our dtypes", name,
                        tensor->dtype_name);
    tensor = NULL;
  }
  return tensor;
}

const char *pto_safetensors_dtype_name(int dtype) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(known_dtypes); i++)
    if (known_dtypes[i].dtype == dtype && dtype != PTO_SAFETENSORS_NO_DTYPE) return known_dtypes[i].name;
  return NULL;
}
