/* SPDX-License-Identifier: MIT */
#include <formats/llm/gguf.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data are used as the file has them");

#define MAGIC "GGUF"
#define DEFAULT_ALIGNMENT 32u
#define LEAST_ALIGNMENT 8u
#define MOST_NAME_SHOWN 100u
/* The fewest bytes that they take: what the file cannot hold is refused before memory is asked for. */
#define LEAST_KEY_BYTES (8u + 4u + 1u)
#define LEAST_TENSOR_BYTES (8u + 4u + 4u + 8u)
#define LEAST_STRING_BYTES 8u
#define LEAST_ARRAY_BYTES (4u + 8u)

static const uint32_t value_bytes[PTO_GGUF_VALUE_TYPE_COUNT] = {
#define X(constant, number, name, bytes) [constant] = (bytes),
    PTO_GGUF_VALUES(X)
#undef X
};

/* Takes values off the bytes one after the other; the first mistake is kept, and nothing is taken after it. */
struct cursor {
  const char *name;
  const unsigned char *bytes;
  uint64_t at, size;
  int status;
  struct pto_error *error;
};

/* `kind` and `name` of the key or tensor that is wrong; without a kind it is told by its byte. */
PTO_PRINTF(4, 5)
static void refuse_named(struct cursor *c, const char *kind, struct pto_gguf_string name, const char *format, ...) {
  char where[MOST_NAME_SHOWN + 32], what[400];
  va_list arguments;
  if (c->status) return;
  if (kind)
    snprintf(where, sizeof where, "%s \"%.*s\"", kind, (int)pto_min_u64(name.length, MOST_NAME_SHOWN), name.bytes);
  else
    snprintf(where, sizeof where, "byte %" PRIu64, c->at);
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  c->status = pto_error_set(c->error, PTO_EINVAL, "%.400s: %s: %s", c->name, where, what);
}
#define refuse(c, ...) refuse_named(c, NULL, (struct pto_gguf_string){0}, __VA_ARGS__)

/* NULL, refused, where fewer are left. */
static const unsigned char *take(struct cursor *c, uint64_t bytes, const char *what) {
  if (!c->status && bytes > c->size - c->at)
    refuse(c, "the file is cut: %s takes %" PRIu64 " bytes, %" PRIu64 " are left", what, bytes, c->size - c->at);
  if (c->status) return NULL;
  c->at += bytes;
  return c->bytes + c->at - bytes;
}

static uint64_t take_number(struct cursor *c, uint64_t size, const char *what) {
  uint64_t value = 0;
  const unsigned char *bytes = take(c, size, what);
  if (bytes) memcpy(&value, bytes, size);
  return value;
}
static uint32_t take_u32(struct cursor *c, const char *what) { return (uint32_t)take_number(c, 4, what); }
static uint64_t take_u64(struct cursor *c, const char *what) { return take_number(c, 8, what); }

static struct pto_gguf_string take_string(struct cursor *c, const char *what) {
  struct pto_gguf_string string = {.length = take_u64(c, what)};
  string.bytes = (const char *)take(c, string.length, what);
  return string;
}

/* A name: printable ASCII, so that sentences can tell it. */
static struct pto_gguf_string take_name(struct cursor *c, const char *what) {
  const uint64_t begin = c->at;
  struct pto_gguf_string name = take_string(c, what);
  if (c->status) return name;
  bool is_good = name.length > 0 && name.length <= PTO_GGUF_MAX_NAME_BYTES;
  for (uint64_t i = 0; is_good && i < name.length; i++) is_good = name.bytes[i] >= ' ' && name.bytes[i] <= '~';
  if (!is_good) {
    c->at = begin;
    refuse(c, "%s of %" PRIu64 " bytes is not 1 to %u of printable ASCII", what, name.length, PTO_GGUF_MAX_NAME_BYTES);
  }
  return name;
}

/* ---- values ---- */

static void skip_elements(struct cursor *c, uint32_t type, uint64_t count, uint32_t depth);

/* What stands before an array's elements. */
static void take_array_head(struct cursor *c, uint32_t *type, uint64_t *count) {
  *type = take_u32(c, "an array's type");
  *count = take_u64(c, "an array's length");
}

static void skip_bools(struct cursor *c, const unsigned char *bytes, uint64_t count) {
  for (uint64_t i = 0; bytes && i < count; i++)
    if (bytes[i] > 1) {
      refuse(c, "a bool is %u, neither 0 nor 1", bytes[i]);
      return;
    }
}

static void skip_arrays(struct cursor *c, uint64_t count, uint32_t depth) {
  if (depth > PTO_GGUF_MAX_DEPTH) {
    refuse(c, "arrays of arrays are more than %u deep", PTO_GGUF_MAX_DEPTH);
    return;
  }
  for (uint64_t i = 0; i < count && !c->status; i++) {
    uint32_t type;
    uint64_t length;
    take_array_head(c, &type, &length);
    skip_elements(c, type, length, depth);
  }
}

/* Steps over `count` values, `depth` arrays deep. */
static void skip_elements(struct cursor *c, uint32_t type, uint64_t count, uint32_t depth) {
  if (c->status) return;
  if (type >= PTO_GGUF_VALUE_TYPE_COUNT) {
    refuse(c, "a value of type %u, which is none", type);
    return;
  }
  const uint64_t least = type == PTO_GGUF_VALUE_STRING  ? LEAST_STRING_BYTES
                         : type == PTO_GGUF_VALUE_ARRAY ? LEAST_ARRAY_BYTES
                                                        : value_bytes[type];
  if (count > (c->size - c->at) / least) {
    refuse(c, "the file is cut: %" PRIu64 " values of at least %" PRIu64 " bytes, %" PRIu64 " bytes are left", count,
           least, c->size - c->at);
  } else if (type == PTO_GGUF_VALUE_STRING) {
    for (uint64_t i = 0; i < count && !c->status; i++) take_string(c, "a string");
  } else if (type == PTO_GGUF_VALUE_ARRAY) {
    skip_arrays(c, count, depth + 1);
  } else {
    const unsigned char *bytes = take(c, count * least, "a value");
    if (type == PTO_GGUF_VALUE_BOOL) skip_bools(c, bytes, count);
  }
}

static void read_key(struct cursor *c, struct pto_gguf_key *key) {
  struct pto_gguf_value *value = &key->value;
  key->name = take_name(c, "a key");
  value->type = value->elem_type = take_u32(c, "a value's type");
  value->count = 1;
  if (value->type == PTO_GGUF_VALUE_ARRAY) take_array_head(c, &value->elem_type, &value->count);
  const uint64_t begin = c->at;
  skip_elements(c, value->elem_type, value->count, value->type == PTO_GGUF_VALUE_ARRAY);
  value->data = c->bytes + begin;
  value->size_bytes = c->at - begin;
}

/* ---- tensors ---- */

static const struct type {
  uint32_t number;
  const char *name;
  uint32_t elems, bytes;
} types[] = {
#define X(constant, number, name, elems, bytes) {number, name, elems, bytes},
    PTO_GGUF_TYPES(X)
#undef X
};

static const struct type *find_type(uint32_t number) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(types); i++)
    if (types[i].number == number) return &types[i];
  return NULL;
}

/* Bytes of the data, where the type is ours. */
static void count_bytes(struct cursor *c, struct pto_gguf_tensor *tensor) {
  const struct type *type = find_type(tensor->type);
  uint64_t elems = 1;
  for (uint32_t d = 0; d < tensor->ndims; d++)
    if (__builtin_mul_overflow(elems, tensor->shape[d], &elems) || elems > INT64_MAX / 8) {
      refuse_named(c, "tensor", tensor->name, "its shape has more elements than a file can");
      return;
    }
  if (!type) return;
  const uint64_t row = tensor->ndims ? tensor->shape[tensor->ndims - 1] : 1;
  if (row % type->elems)
    refuse_named(c, "tensor", tensor->name, "rows of %" PRIu64 " elements are no blocks of %u, as %s has them", row,
                 type->elems, type->name);
  tensor->size_bytes = elems / type->elems * type->bytes;
}

static void read_tensor(struct cursor *c, struct pto_gguf_tensor *tensor) {
  tensor->name = take_name(c, "a tensor's name");
  tensor->ndims = take_u32(c, "a tensor's rank");
  if (tensor->ndims > PTO_GGUF_MAX_DIMS) {
    refuse_named(c, "tensor", tensor->name, "it has rank %u, at most %u is read", tensor->ndims, PTO_GGUF_MAX_DIMS);
    return;
  }
  for (uint32_t d = tensor->ndims; d-- > 0;) tensor->shape[d] = take_u64(c, "a tensor's shape");
  tensor->type = take_u32(c, "a tensor's type");
  tensor->offset = take_u64(c, "a tensor's offset");
  if (!c->status) count_bytes(c, tensor);
}

static int compare_offsets(const void *left, const void *right) {
  const struct pto_gguf_tensor *a = left, *b = right;
  if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
  return (a->size_bytes > b->size_bytes) - (a->size_bytes < b->size_bytes);
}

/* Sorts by offset, and says where the data are. */
static void place_tensors(struct cursor *c, struct pto_gguf *gguf, uint64_t alignment) {
  const uint64_t begin = pto_align_up(c->at, alignment), room = begin < c->size ? c->size - begin : 0;
  uint64_t end = 0;
  if (gguf->tensor_count) qsort(gguf->tensors, gguf->tensor_count, sizeof *gguf->tensors, compare_offsets);
  for (uint64_t i = 0; i < gguf->tensor_count && !c->status; i++) {
    struct pto_gguf_tensor *tensor = &gguf->tensors[i];
    if (!find_type(tensor->type)) continue;
    if (tensor->offset % alignment)
      refuse_named(c, "tensor", tensor->name, "offset %" PRIu64 " is no multiple of %" PRIu64, tensor->offset,
                   alignment);
    else if (tensor->offset > room || tensor->size_bytes > room - tensor->offset)
      refuse_named(c, "tensor", tensor->name, "%" PRIu64 " bytes at offset %" PRIu64 " of %" PRIu64 " bytes of data",
                   tensor->size_bytes, tensor->offset, room);
    else if (tensor->offset < end)
      refuse_named(c, "tensor", tensor->name, "it begins at offset %" PRIu64 ", before another ends, at %" PRIu64,
                   tensor->offset, end);
    if (c->status) return;
    tensor->data = tensor->size_bytes ? c->bytes + begin + tensor->offset : c->bytes;
    end = tensor->offset + tensor->size_bytes;
  }
}

/* ---- lists in order of names ---- */

/* Keys or tensors: items that begin with their names. */
static void sort_by_name(struct cursor *c, const char *kind, void *items, uint64_t count, size_t item_bytes) {
  if (count) qsort(items, count, item_bytes, pto_gguf_compare_names);
  for (uint64_t i = 1; i < count && !c->status; i++) {
    const struct pto_gguf_string *name = (const void *)((const char *)items + i * item_bytes);
    if (pto_gguf_compare_names((const char *)name - item_bytes, name) == 0)
      refuse_named(c, kind, *name, "it is there twice");
  }
}

/* ---- the file ---- */

/* How many of them there are: no more than are read, nor than the file can hold. */
static void check_count(struct cursor *c, const char *kind, uint64_t count, uint64_t most, uint64_t least_bytes) {
  const uint64_t left = c->size - c->at, room = pto_min_u64(most, left / least_bytes);
  if (count > room)
    refuse(c, "%" PRIu64 " %s, at most %" PRIu64 " are read from %" PRIu64 " bytes", count, kind, room, left);
}

static void read_head(struct cursor *c, struct pto_gguf *gguf) {
  if (!pto_gguf_is_one(c->bytes, c->size)) {
    refuse(c, "no magic %s", MAGIC);
    return;
  }
  c->at = sizeof MAGIC - 1;
  gguf->version = take_u32(c, "the version");
  if (gguf->version != 2 && gguf->version != 3) {
    refuse(c, "version %u%s, 2 and 3 are read", gguf->version,
           gguf->version && !(gguf->version & 0xffff) ? " (a big-endian file)" : "");
    return;
  }
  gguf->tensor_count = take_u64(c, "the count of tensors");
  gguf->key_count = take_u64(c, "the count of keys");
  check_count(c, "tensors", gguf->tensor_count, PTO_GGUF_MAX_TENSORS, LEAST_TENSOR_BYTES);
  check_count(c, "keys", gguf->key_count, PTO_GGUF_MAX_KEYS, LEAST_KEY_BYTES);
}

static void read_alignment(struct cursor *c, const struct pto_gguf *gguf, uint64_t *alignment) {
  struct pto_error reason;
  *alignment = DEFAULT_ALIGNMENT;
  if (c->status) return;
  if (pto_gguf_u64(gguf, "general.alignment", alignment, &reason)) {
    refuse(c, "%.300s", reason.sentence);
    return;
  }
  if (!pto_is_power_of_two(*alignment) || *alignment < LEAST_ALIGNMENT || *alignment > PTO_GGUF_MAX_ALIGNMENT)
    refuse(c, "general.alignment is %" PRIu64 ", no power of two from %u to %u", *alignment, LEAST_ALIGNMENT,
           PTO_GGUF_MAX_ALIGNMENT);
}

static void read_lists(struct cursor *c, struct pto_gguf *gguf) {
  uint64_t alignment;
  for (uint64_t i = 0; i < gguf->key_count && !c->status; i++) read_key(c, &gguf->keys[i]);
  if (c->status) return;
  sort_by_name(c, "key", gguf->keys, gguf->key_count, sizeof *gguf->keys);
  read_alignment(c, gguf, &alignment);
  for (uint64_t i = 0; i < gguf->tensor_count && !c->status; i++) read_tensor(c, &gguf->tensors[i]);
  if (c->status) return;
  place_tensors(c, gguf, alignment);
  sort_by_name(c, "tensor", gguf->tensors, gguf->tensor_count, sizeof *gguf->tensors);
}

int pto_gguf_init_memory(struct pto_gguf *gguf, const char *name, const void *bytes, uint64_t size_bytes,
                         struct pto_error *error) {
  struct cursor c = {.name = name, .bytes = bytes, .size = size_bytes, .error = error};
  memset(gguf, 0, sizeof *gguf);
  read_head(&c, gguf);
  if (!c.status) {
    gguf->keys = calloc(gguf->key_count + 1, sizeof *gguf->keys);
    gguf->tensors = calloc(gguf->tensor_count + 1, sizeof *gguf->tensors);
    if (gguf->keys && gguf->tensors)
      read_lists(&c, gguf);
    else
      c.status = pto_error_set(error, PTO_ENOMEM, "%.400s: no memory for %" PRIu64 " keys and %" PRIu64 " tensors",
                               name, gguf->key_count, gguf->tensor_count);
  }
  if (c.status) pto_gguf_fini(gguf);
  return c.status;
}

int pto_gguf_init(struct pto_gguf *gguf, const char *path, struct pto_error *error) {
  struct pto_mapped_file file;
  memset(gguf, 0, sizeof *gguf);
  int status = pto_mapped_file_init(&file, path, error);
  if (status) return status;
  status = pto_gguf_init_memory(gguf, path, file.data, file.size_bytes, error);
  if (status)
    pto_mapped_file_fini(&file);
  else
    gguf->file = file;
  return status;
}

void pto_gguf_fini(struct pto_gguf *gguf) {
  free(gguf->keys);
  free(gguf->tensors);
  pto_mapped_file_fini(&gguf->file);
  memset(gguf, 0, sizeof *gguf);
}

bool pto_gguf_is_one(const void *bytes, uint64_t size_bytes) {
  return size_bytes >= sizeof MAGIC - 1 && memcmp(bytes, MAGIC, sizeof MAGIC - 1) == 0;
}

const struct pto_gguf_tensor *pto_gguf_find_tensor(const struct pto_gguf *gguf, const char *name) {
  const struct pto_gguf_tensor key = {.name = {name, strlen(name)}};
  if (gguf->tensor_count == 0) return NULL;
  return bsearch(&key, gguf->tensors, gguf->tensor_count, sizeof key, pto_gguf_compare_names);
}

const char *pto_gguf_type_name(uint32_t type, char *text, size_t size) {
  const struct type *known = find_type(type);
  if (known) return known->name;
  snprintf(text, size, "type %u", type);
  return text;
}
