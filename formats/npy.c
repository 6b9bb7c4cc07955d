/* SPDX-License-Identifier: MIT */
#include <formats/npy.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <formats/new_file.h>
#include <runtime/base/base.h>
#include <runtime/base/dtype.h>
#include <runtime/base/text.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are copied as the file has them");

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6u
#define PREAMBLE_MAX 12u         /* magic, version, header length of 4 bytes */
#define HEADER_LIMIT (64u << 10) /* no plain array needs more than a few hundred bytes */
#define DATA_ALIGN 64u           /* NumPy aligns the elements to this in the file */

/* How each dtype is stored: as what it is, in whole bytes; of bfloat16 and the small floats, which NumPy does not have,
 * the codes. */
_Static_assert(PTO_FLOAT_DTYPE_COUNT == 3, "a float more: how NumPy stores it goes here, and into pto_npy_get");
static bool is_code(uint32_t dtype) { return dtype == PTO_BFLOAT16 || pto_dtype_is_small_float(dtype); }
#define KIND(dtype, class_) ((dtype) == PTO_BFLOAT16 || (class_) == 's' ? 'u' : (class_))
static const struct npy_type {
  char kind;
  uint8_t item_bytes;
} npy_types[PTO_DTYPE_COUNT] = {
#define X(constant, value, name, bits, class_) [value] = {KIND(value, class_), ((bits) + 7) / 8},
    PTO_DTYPE_LIST(X)
#undef X
};

/* ---- the header: a Python dictionary literal with three keys ---- */

struct parser {
  const char *at, *end;
  struct pto_error *error;
};

static int refuse(struct parser *p, const char *what) {
  return pto_error_set(p->error, PTO_EINVAL, "not a usable .npy header: %s", what);
}

static void skip_space(struct parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')) p->at++;
}

static bool try_char(struct parser *p, char c) {
  skip_space(p);
  if (p->at == p->end || *p->at != c) return false;
  p->at++;
  return true;
}

static bool try_word(struct parser *p, const char *word) {
  size_t length = strlen(word);
  skip_space(p);
  if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0) return false;
  p->at += length;
  return true;
}

/* A quoted string without escapes, of less than `size` bytes. */
static bool try_string(struct parser *p, char *text, size_t size) {
  skip_space(p);
  if (p->at == p->end || (*p->at != '\'' && *p->at != '"')) return false;
  const char *start = p->at + 1, *close = memchr(start, *p->at, (size_t)(p->end - start));
  if (!close || (size_t)(close - start) >= size) return false;
  memcpy(text, start, (size_t)(close - start));
  text[close - start] = '\0';
  p->at = close + 1;
  return true;
}

static bool try_extent(struct parser *p, uint64_t *extent) {
  skip_space(p);
  const char *start = p->at;
  *extent = 0;
  for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
    if (__builtin_mul_overflow(*extent, 10u, extent) ||
        __builtin_add_overflow(*extent, (uint64_t)(*p->at - '0'), extent))
      return false;
  return p->at > start;
}

static int parse_descr(struct parser *p, struct pto_npy *npy) {
  char descr[16];
  if (!try_string(p, descr, sizeof descr)) return refuse(p, "descr is no plain type (records are not supported)");
  if (descr[0] == '>') return refuse(p, "its elements are big-endian");
  if (!strchr("<|=", descr[0]) || !descr[0] || !descr[1] || !strchr("fiubV", descr[1]))
    return pto_error_set(p->error, PTO_EINVAL, "elements of type '%s' are not supported", descr);
  static const struct npy_type stored[] = {{'f', 2}, {'f', 4}, {'f', 8}, {'i', 1}, {'i', 2}, {'i', 4}, {'i', 8},
                                           {'u', 1}, {'u', 2}, {'u', 4}, {'u', 8}, {'b', 1}, {'V', 1}, {'V', 2}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(stored); i++)
    if (stored[i].kind == descr[1] && descr[2] == '0' + stored[i].item_bytes && !descr[3]) {
      npy->kind = stored[i].kind;
      npy->item_bytes = stored[i].item_bytes;
      return PTO_OK;
    }
  return pto_error_set(p->error, PTO_EINVAL, "elements of type '%s' are not supported", descr);
}

static int parse_shape(struct parser *p, struct pto_npy *npy) {
  if (!try_char(p, '(')) return refuse(p, "shape is no tuple");
  while (!try_char(p, ')')) {
    if (npy->ndims == PTO_MAX_DIMS) return refuse(p, "more than 8 dimensions");
    if (!try_extent(p, &npy->shape[npy->ndims])) return refuse(p, "shape holds something that is no 64-bit number");
    npy->ndims++;
    if (!try_char(p, ',')) {
      if (!try_char(p, ')')) return refuse(p, "shape does not end");
      break;
    }
  }
  return PTO_OK;
}

enum { HAS_DESCR = 1, HAS_ORDER = 2, HAS_SHAPE = 4 };

/* One `key: value`; *seen collects the keys. */
static int parse_entry(struct parser *p, struct pto_npy *npy, bool *is_fortran, unsigned *seen) {
  char key[16];
  if (!try_string(p, key, sizeof key) || !try_char(p, ':')) return refuse(p, "a key is missing");
  unsigned bit = strcmp(key, "descr") == 0           ? HAS_DESCR
                 : strcmp(key, "fortran_order") == 0 ? HAS_ORDER
                 : strcmp(key, "shape") == 0         ? HAS_SHAPE
                                                     : 0;
  if (!bit) return refuse(p, "a key other than descr, fortran_order and shape");
  if (*seen & bit) return refuse(p, "a key appears twice");
  *seen |= bit;
  if (bit == HAS_DESCR) return parse_descr(p, npy);
  if (bit == HAS_SHAPE) return parse_shape(p, npy);
  *is_fortran = try_word(p, "True");
  return *is_fortran || try_word(p, "False") ? PTO_OK : refuse(p, "fortran_order is neither True nor False");
}

static int parse_dictionary(struct parser *p, struct pto_npy *npy) {
  bool is_fortran = false;
  unsigned seen = 0;
  if (!try_char(p, '{')) return refuse(p, "no dictionary");
  while (!try_char(p, '}')) {
    int status = parse_entry(p, npy, &is_fortran, &seen);
    if (status) return status;
    if (!try_char(p, ',')) {
      if (!try_char(p, '}')) return refuse(p, "the dictionary does not end");
      break;
    }
  }
  skip_space(p);
  if (p->at != p->end) return refuse(p, "something follows the dictionary");
  if (seen != (HAS_DESCR | HAS_ORDER | HAS_SHAPE)) return refuse(p, "descr, fortran_order or shape is missing");
  uint32_t longer_than_one = 0;
  for (uint32_t i = 0; i < npy->ndims; i++) longer_than_one += npy->shape[i] != 1;
  if (is_fortran && longer_than_one > 1) return refuse(p, "its elements are in Fortran order");
  return PTO_OK;
}

/* numel and size_bytes, where they fit.  A product is checked without its zeros, so that [2^63, 2^63, 0] is refused
 * too. */
static int count_elements(struct pto_npy *npy, struct pto_error *error) {
  uint64_t product = npy->item_bytes;
  bool is_empty = false;
  for (uint32_t i = 0; i < npy->ndims; i++) {
    if (npy->shape[i] == 0)
      is_empty = true;
    else if (__builtin_mul_overflow(product, npy->shape[i], &product) || product > INT64_MAX)
      return pto_error_set(error, PTO_EINVAL, "not a usable .npy header: the shape's bytes exceed 2^63");
  }
  npy->size_bytes = is_empty ? 0 : product;
  npy->numel = npy->size_bytes / npy->item_bytes;
  return PTO_OK;
}

/* The length of preamble and header together; 0 and a sentence where the preamble is none.  Needs PREAMBLE_MAX bytes
 * unless the file is shorter. */
static size_t header_end(const unsigned char *bytes, size_t size, size_t *start, struct pto_error *error) {
  if (size < 10 || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0) {
    pto_error_set(error, PTO_EINVAL, "not a .npy file");
    return 0;
  }
  unsigned major = bytes[6], minor = bytes[7];
  if (major < 1 || major > 3 || minor != 0 || (major > 1 && size < PREAMBLE_MAX)) {
    pto_error_set(error, PTO_EINVAL, "version %u.%u of the .npy format is not supported", major, minor);
    return 0;
  }
  uint64_t length = bytes[8] | (uint64_t)bytes[9] << 8;
  if (major > 1) length |= (uint64_t)bytes[10] << 16 | (uint64_t)bytes[11] << 24;
  *start = major > 1 ? 12 : 10;
  if (length > HEADER_LIMIT) {
    pto_error_set(error, PTO_EINVAL, "a header of %" PRIu64 " bytes: at most %u", length, HEADER_LIMIT);
    return 0;
  }
  return *start + (size_t)length;
}

int pto_npy_parse_header(const void *bytes, size_t size, struct pto_npy *npy, size_t *header_bytes,
                         struct pto_error *error) {
  size_t start = 0, end = header_end(bytes, size, &start, error);
  if (end == 0) return PTO_EINVAL;
  if (end > size) return pto_error_set(error, PTO_EINVAL, "the file ends within its header");
  struct pto_npy parsed = {0};
  struct parser p = {.at = (const char *)bytes + start, .end = (const char *)bytes + end, .error = error};
  int status = parse_dictionary(&p, &parsed);
  if (status == PTO_OK) status = count_elements(&parsed, error);
  if (status) return status;
  *npy = parsed;
  *header_bytes = end;
  return PTO_OK;
}

/* ---- files ---- */

static int read_header(FILE *file, struct pto_npy *npy, struct pto_error *error) {
  unsigned char *bytes = malloc(PREAMBLE_MAX + HEADER_LIMIT);
  if (!bytes) return pto_error_set(error, PTO_ENOMEM, "out of memory");
  size_t size = fread(bytes, 1, 10, file), start = 0, header_bytes;
  if (size == 10 && bytes[6] > 1) size += fread(bytes + 10, 1, 2, file);
  size_t end = header_end(bytes, size, &start, error);
  int status = PTO_EINVAL;
  if (end) {
    if (end > size) size += fread(bytes + size, 1, end - size, file);
    status = pto_npy_parse_header(bytes, size, npy, &header_bytes, error);
  }
  free(bytes);
  return status;
}

static int read_data(FILE *file, struct pto_npy *npy, struct pto_error *error) {
  /* A header may promise more than the file has: believed no further than the file grows. */
  uint64_t capacity = pto_min_u64(npy->size_bytes, UINT64_C(1) << 24), have = 0;
  char *data = malloc(capacity ? capacity : 1);
  while (data) {
    have += fread(data + have, 1, capacity - have, file);
    if (have < capacity || capacity == npy->size_bytes) break;
    capacity = pto_min_u64(npy->size_bytes, 2 * capacity);
    char *larger = realloc(data, capacity);
    if (!larger) free(data);
    data = larger;
  }
  if (!data) return pto_error_set(error, PTO_ENOMEM, "no memory for %" PRIu64 " bytes", npy->size_bytes);
  if (have == npy->size_bytes && getc(file) == EOF && !ferror(file)) {
    npy->data = data;
    return PTO_OK;
  }
  free(data);
  if (ferror(file)) return pto_error_set(error, PTO_ESYSTEM, "%s", strerror(errno));
  if (have < npy->size_bytes)
    return pto_error_set(error, PTO_EINVAL, "holds %" PRIu64 " bytes of elements instead of %" PRIu64, have,
                         npy->size_bytes);
  return pto_error_set(error, PTO_EINVAL, "goes on after its %" PRIu64 " bytes of elements", npy->size_bytes);
}

/* Puts the path before the sentence; returns the status. */
static int name_file(const char *path, int status, struct pto_error *error) {
  struct pto_error reason = *error;
  return pto_error_set(error, status, "%.400s: %.600s", path, reason.sentence);
}

int pto_npy_read(const char *path, struct pto_npy *npy, struct pto_error *error) {
  struct pto_npy read = {0};
  FILE *file = pto_regular_file_open(path, error);
  if (!file) return error->status;
  int status = read_header(file, &read, error);
  if (status == PTO_OK) status = read_data(file, &read, error);
  fclose(file);
  if (status) return name_file(path, status, error);
  *npy = read;
  return PTO_OK;
}

void pto_npy_fini(struct pto_npy *npy) {
  free(npy->data);
  memset(npy, 0, sizeof *npy);
}

/* ---- elements ---- */

bool pto_npy_holds(const struct pto_npy *npy, uint32_t dtype) {
  if (dtype >= PTO_DTYPE_COUNT) return false;
  const bool is_kind = npy->kind == npy_types[dtype].kind || (npy->kind == 'V' && is_code(dtype));
  return is_kind && npy->item_bytes == npy_types[dtype].item_bytes;
}

/* One byte an element to two elements a byte, low nibble first. */
static int pack_nibbles(const struct pto_npy *npy, uint32_t dtype, uint8_t *dest, struct pto_error *error) {
  const uint8_t *source = npy->data;
  for (uint64_t i = 0; i < npy->numel; i++) {
    int value = dtype == PTO_INT4 ? (int8_t)source[i] : source[i];
    if (dtype == PTO_INT4 ? value < -8 || value > 7 : value > 15)
      return pto_error_set(error, PTO_EINVAL, "element %" PRIu64 " is %d, which is no %s", i, value,
                           pto_dtype_name(dtype));
    uint8_t nibble = (uint8_t)(value & 15);
    dest[i / 2] = (uint8_t)(i % 2 ? dest[i / 2] | nibble << 4 : nibble);
  }
  return PTO_OK;
}

int pto_npy_copy(const struct pto_npy *npy, uint32_t dtype, void *dest, struct pto_error *error) {
  char text[128];
  if (!pto_npy_holds(npy, dtype))
    return pto_error_set(error, PTO_EINVAL, "the file holds %s and %s is wanted",
                         pto_npy_format(npy, text, sizeof text), pto_dtype_name(dtype));
  if (pto_dtype_bits(dtype) == 4) return pack_nibbles(npy, dtype, dest, error);
  if (npy->size_bytes) memcpy(dest, npy->data, npy->size_bytes);
  return PTO_OK;
}

double pto_npy_get(const struct pto_npy *npy, uint32_t dtype, uint64_t index) {
  const uint32_t bytes = npy->item_bytes, unused = 64 - 8 * bytes;
  uint64_t bits = 0;
  float single;
  double wide;
  memcpy(&bits, (const char *)npy->data + index * bytes, bytes);
  memcpy(&single, &bits, sizeof single);
  memcpy(&wide, &bits, sizeof wide);
  if (dtype == PTO_BFLOAT16 && pto_npy_holds(npy, dtype)) return (double)pto_bf16_to_f32((uint16_t)bits);
  if (pto_dtype_is_small_float(dtype) && pto_npy_holds(npy, dtype))
    return (double)pto_small_float_to_f32(dtype, (uint8_t)bits);
  switch (npy->kind) {
  case 'f':
    return bytes == 4 ? (double)single : bytes == 8 ? wide : (double)pto_fp16_to_f32((uint16_t)bits);
  case 'i':
    return (double)((int64_t)(bits << unused) >> unused);
  case 'b':
  case 'u':
    return (double)bits;
  default:
    return NAN;
  }
}

/* ---- writing ---- */

/* The whole header, padded so that the elements are aligned; returns its length. */
static size_t format_header(const struct pto_npy *npy, char *text, size_t size) {
  char *body = text + 10;
  size_t room = size - 10, length;
  length = (size_t)snprintf(body, room, "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (",
                            npy->item_bytes > 1 ? '<' : '|', npy->kind, npy->item_bytes);
  for (uint32_t i = 0; i < npy->ndims; i++)
    length += (size_t)snprintf(body + length, room - length, i ? " %" PRIu64 "," : "%" PRIu64 ",", npy->shape[i]);
  length += (size_t)snprintf(body + length, room - length, "), }");
  size_t total = pto_align_up(10 + length + 1, DATA_ALIGN);
  memset(body + length, ' ', total - 10 - length - 1);
  text[total - 1] = '\n';
  memcpy(text, MAGIC "\x01\x00", 8);
  text[8] = (char)((total - 10) & 0xff);
  text[9] = (char)((total - 10) >> 8);
  return total;
}

static bool write_nibbles(FILE *file, uint32_t dtype, const uint8_t *data, uint64_t numel) {
  for (uint64_t i = 0; i < numel; i++) {
    int value = data[i / 2] >> (i % 2 * 4) & 15;
    if (dtype == PTO_INT4 && value > 7) value -= 16;
    if (putc(value & 0xff, file) == EOF) return false;
  }
  return true;
}

int pto_npy_write(const char *path, uint32_t dtype, uint32_t ndims, const uint64_t *shape, const void *data,
                  struct pto_error *error) {
  if (dtype >= PTO_DTYPE_COUNT || ndims > PTO_MAX_DIMS)
    return pto_error_set(error, PTO_EINVAL, "%.400s: dtype %u of rank %u cannot be written", path, dtype, ndims);
  struct pto_npy npy = {.kind = npy_types[dtype].kind, .item_bytes = npy_types[dtype].item_bytes, .ndims = ndims};
  if (ndims) memcpy(npy.shape, shape, ndims * sizeof *shape);
  if (count_elements(&npy, error)) return name_file(path, PTO_EINVAL, error);
  char header[10 * DATA_ALIGN]; /* 8 extents of 20 digits and 60 characters around them */
  size_t header_bytes = format_header(&npy, header, sizeof header);
  FILE *file = pto_new_file_create(path, error);
  if (!file) return PTO_ESYSTEM;
  bool is_written =
      fwrite(header, 1, header_bytes, file) == header_bytes &&
      (pto_dtype_bits(dtype) == 4 ? write_nibbles(file, dtype, data, npy.numel)
                                  : (npy.size_bytes == 0 || fwrite(data, 1, npy.size_bytes, file) == npy.size_bytes));
  return pto_new_file_finish(path, file, is_written ? 0 : errno, error);
}

const char *pto_npy_format(const struct pto_npy *npy, char *text, size_t size) {
  int length = snprintf(text, size, "%c%c%u[", npy->item_bytes > 1 ? '<' : '|', npy->kind, npy->item_bytes);
  for (uint32_t i = 0; i < npy->ndims && length > 0 && (size_t)length < size; i++)
    length += snprintf(text + length, size - (size_t)length, i ? ",%" PRIu64 : "%" PRIu64, npy->shape[i]);
  if (length > 0 && (size_t)length < size) snprintf(text + length, size - (size_t)length, "]");
  return text;
}
