/* SPDX-License-Identifier: MIT */
/*
 * Changes of JSON documents, for fuzz targets whose inputs are such: a text that is changed byte by byte is hardly ever
 * JSON again, and never gets behind the parser.
 *
 *   static const char *const words[] = {"shape", …, NULL};     keys and strings of the format
 *   static const struct fuzz_json_format fuzz_format = {.words = words};
 *
 * Owns nothing.  Always true: the same bytes and seed give the same change; one change in four is libFuzzer's own, of
 * bytes, so that texts that are no JSON come too.  A target adds the words of its format, and changes of its own.
 *
 * Only libFuzzer calls these; a replay of a corpus links them and calls none.
 */
#ifndef PTO_FUZZ_JSON_H
#define PTO_FUZZ_JSON_H

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>

#include <runtime/base/base.h>

/* libFuzzer's; a replay has none. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

struct fuzz_json_format {
  const char *const *words;                              /* keys and strings of the format; end with NULL */
  void (*change)(json_t *document, struct pto_rng *rng); /* what only this format knows; NULL: nothing */
  size_t (*repair)(json_t *document); /* places of data as they must be, and how many bytes they have; NULL: none */
  size_t length_bytes;                /* of a little-endian length in front of the document: 8, or 0 */
};

/* The target's, which it has to define. */
static const struct fuzz_json_format fuzz_format;

static inline size_t fuzz_json_below(struct pto_rng *rng, size_t bound) { return (size_t)pto_rng_below(rng, bound); }

/* ---- places in a document ---- */

struct fuzz_json_place {
  json_t *parent, *value;
  const char *key; /* NULL: `index` of an array */
  size_t index;
};

enum { FUZZ_JSON_MOST_PLACES = 4096 };

struct fuzz_json_places {
  struct fuzz_json_place at[FUZZ_JSON_MOST_PLACES];
  size_t count;
};

static inline void fuzz_json_collect(json_t *parent, struct fuzz_json_places *places) {
  const char *key;
  json_t *value;
  size_t index;
  json_object_foreach(parent, key, value) {
    if (places->count == FUZZ_JSON_MOST_PLACES) return;
    places->at[places->count++] = (struct fuzz_json_place){parent, value, key, 0};
    fuzz_json_collect(value, places);
  }
  json_array_foreach(parent, index, value) {
    if (places->count == FUZZ_JSON_MOST_PLACES) return;
    places->at[places->count++] = (struct fuzz_json_place){parent, value, NULL, index};
    fuzz_json_collect(value, places);
  }
}

/* Takes `value`; the place is good for nothing afterwards. */
static inline void fuzz_json_replace(const struct fuzz_json_place *place, json_t *value) {
  if (place->key)
    json_object_set_new(place->parent, place->key, value);
  else
    json_array_set_new(place->parent, place->index, value);
}

/* ---- values ---- */

static inline const char *fuzz_json_word(struct pto_rng *rng) {
  size_t count = 0;
  while (fuzz_format.words && fuzz_format.words[count]) count++;
  return count ? fuzz_format.words[fuzz_json_below(rng, count)] : "x";
}

static inline json_t *fuzz_json_number(struct pto_rng *rng) {
  static const json_int_t wholes[] = {-1,         INT8_MIN,     127,       128,       255,           256,
                                      4096,       65535,        65536,     INT32_MAX, -2147483648LL, 2147483648LL,
                                      UINT32_MAX, 4294967296LL, 1LL << 53, INT64_MAX, INT64_MIN};
  static const double reals[] = {0.5, -0.0, 1.0, 1e-300, 1e300, -1e300, 3.4e38, 1e-45, 65504, 65520, 0x1p63, 0x1p64};
  switch (fuzz_json_below(rng, 4)) {
  case 0:
    return json_integer(wholes[fuzz_json_below(rng, PTO_ARRAY_LENGTH(wholes))]);
  case 1:
    return json_real(reals[fuzz_json_below(rng, PTO_ARRAY_LENGTH(reals))]);
  default:
    return json_integer((json_int_t)fuzz_json_below(rng, 9));
  }
}

static inline json_t *fuzz_json_scalar(struct pto_rng *rng) {
  static const char *const texts[] = {
      "",     "NaN", "Infinity", "-Infinity", "18446744073709551615", "-9223372036854775809",
      "\001", "a/b", "\xc3\xa9", "__proto__"};
  switch (fuzz_json_below(rng, 8)) {
  case 0:
    return json_boolean((int)fuzz_json_below(rng, 2));
  case 1:
    return json_null();
  case 2:
    return json_array();
  case 3:
    return json_object();
  case 4:
    return json_string(texts[fuzz_json_below(rng, PTO_ARRAY_LENGTH(texts))]);
  case 5:
    return json_string(fuzz_json_word(rng));
  default:
    return fuzz_json_number(rng);
  }
}

/* ---- changes ---- */

static inline const struct fuzz_json_place *fuzz_json_any(const struct fuzz_json_places *places, struct pto_rng *rng) {
  return &places->at[fuzz_json_below(rng, places->count)];
}

/* Another value of the kind that is there: of strings and names, often one of the document's. */
static inline json_t *fuzz_json_like(json_t *value, const struct fuzz_json_place *other, struct pto_rng *rng) {
  if (json_is_string(value) && json_is_string(other->value)) return json_incref(other->value);
  if (json_is_string(value) && other->key && fuzz_json_below(rng, 2)) return json_string(other->key);
  if (json_is_integer(value) && fuzz_json_below(rng, 2))
    return json_integer((json_int_t)((uint64_t)json_integer_value(value) + (fuzz_json_below(rng, 2) ? 1 : UINT64_MAX)));
  if (json_is_number(value)) return fuzz_json_number(rng);
  if (json_is_string(value)) return json_string(fuzz_json_word(rng));
  if (json_is_boolean(value)) return json_boolean(json_is_false(value));
  return fuzz_json_scalar(rng);
}

static inline void fuzz_json_add(const struct fuzz_json_place *place, json_t *value, struct pto_rng *rng) {
  char key[32];
  json_t *into = json_is_object(place->value) || json_is_array(place->value) ? place->value : place->parent;
  snprintf(key, sizeof key, "k%zu", fuzz_json_below(rng, 100));
  if (json_is_array(into))
    json_array_insert_new(into, fuzz_json_below(rng, json_array_size(into) + 1), value);
  else
    json_object_set_new(into, fuzz_json_below(rng, 2) ? fuzz_json_word(rng) : key, value);
}

static inline void fuzz_json_rename(const struct fuzz_json_place *place, const struct fuzz_json_place *other,
                                    struct pto_rng *rng) {
  if (!place->key) return;
  const char *key = other->key && fuzz_json_below(rng, 2) ? other->key : fuzz_json_word(rng);
  if (strcmp(key, place->key) == 0) return;
  json_object_set(place->parent, key, place->value); /* before the old one goes, which may be what holds the name */
  json_object_del(place->parent, place->key);
}

/* One change; values that are moved come from `donor`, which may be the document itself. */
static inline void fuzz_json_change(json_t *document, json_t *donor, struct pto_rng *rng) {
  static struct fuzz_json_places places, others;
  places.count = others.count = 0;
  fuzz_json_collect(document, &places);
  fuzz_json_collect(donor, &others);
  if (places.count == 0 || others.count == 0) return;
  const struct fuzz_json_place *place = fuzz_json_any(&places, rng), *other = fuzz_json_any(&others, rng);
  switch (fuzz_json_below(rng, donor == document ? 8 : 2)) {
  case 0:
    fuzz_json_replace(place, json_deep_copy(other->value));
    break;
  case 1:
    fuzz_json_add(place, json_deep_copy(other->value), rng);
    break;
  case 2:
    fuzz_json_replace(place, fuzz_json_scalar(rng));
    break;
  case 3:
    fuzz_json_add(place, fuzz_json_scalar(rng), rng);
    break;
  case 4:
    fuzz_json_rename(place, other, rng);
    break;
  case 5:
    if (place->key)
      json_object_del(place->parent, place->key);
    else
      json_array_remove(place->parent, place->index);
    break;
  default:
    fuzz_json_replace(place, fuzz_json_like(place->value, other, rng));
  }
}

/* ---- inputs ---- */

/* A document in an input: behind the bytes of its length, where the format has such, and in front of data. */
struct fuzz_json_input {
  json_t *document; /* NULL: there is none */
  const uint8_t *tail;
  size_t tail_bytes;
};

static inline struct fuzz_json_input fuzz_json_read(const uint8_t *data, size_t size) {
  struct fuzz_json_input input = {NULL, NULL, 0};
  const size_t head = fuzz_format.length_bytes;
  uint64_t length = size - head;
  if (size < head) return input;
  memcpy(&length, data, head);
  if (length > size - head) return input;
  input.document = json_loadb((const char *)data + head, length, 0, NULL);
  input.tail = data + head + length;
  input.tail_bytes = size - head - length;
  return input;
}

/* Writes the input, whose document is released; 0 where it is longer than `most`.  A tail that has to grow, grows by
 * zeros. */
static inline size_t fuzz_json_write(struct fuzz_json_input *input, size_t tail_bytes, uint8_t *data, size_t most) {
  const size_t head = fuzz_format.length_bytes;
  char *text = json_dumps(input->document, JSON_COMPACT);
  const uint64_t length = text ? strlen(text) : 0;
  const size_t kept = tail_bytes < input->tail_bytes ? tail_bytes : input->tail_bytes;
  const bool fits = length > 0 && tail_bytes <= most && head + length <= most - tail_bytes;
  if (fits) {
    memmove(data + head + length, input->tail, kept);
    memset(data + head + length + kept, 0, tail_bytes - kept);
    memcpy(data + head, text, length);
    memcpy(data, &length, head);
  }
  free(text);
  json_decref(input->document);
  return fits ? head + length + tail_bytes : 0;
}

/* ---- the calls of libFuzzer ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                                 uint8_t *out, size_t most, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  struct pto_rng rng = {seed};
  struct fuzz_json_input input = {NULL, NULL, 0};
  if (fuzz_json_below(&rng, 4)) input = fuzz_json_read(data, size);
  if (!input.document) return LLVMFuzzerMutate(data, size, most);
  for (size_t i = 1 + fuzz_json_below(&rng, 3); i > 0; i--) {
    if (fuzz_format.change && fuzz_json_below(&rng, 2))
      fuzz_format.change(input.document, &rng);
    else
      fuzz_json_change(input.document, input.document, &rng);
  }
  size_t tail_bytes = input.tail_bytes;
  if (fuzz_format.repair && fuzz_json_below(&rng, 2)) tail_bytes = fuzz_format.repair(input.document);
  const size_t length = fuzz_json_write(&input, tail_bytes, data, most);
  return length ? length : size;
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second, size_t second_size,
                                 uint8_t *out, size_t most, unsigned seed) {
  struct pto_rng rng = {seed};
  struct fuzz_json_input input = fuzz_json_read(first, first_size), donor = fuzz_json_read(second, second_size);
  size_t length = 0;
  if (input.document && donor.document) {
    fuzz_json_change(input.document, donor.document, &rng);
    length = fuzz_json_write(&input, input.tail_bytes, out, most);
  } else {
    json_decref(input.document);
  }
  json_decref(donor.document);
  return length;
}

#endif
