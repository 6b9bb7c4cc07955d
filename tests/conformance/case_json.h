/* SPDX-License-Identifier: MIT */
/*
 * Files of conformance cases, and what is in them: JSON values as attributes, descriptors and elements.
 *
 * Owns nothing; documents are jansson's and the caller's.  Any file may be given: what is not as the schema says ends
 * in a sentence.
 *
 * Numbers.  An integer beyond int64 becomes a string of its digits before it is parsed, and -0 becomes -0.0, as jansson
 * would refuse the one and lose the sign of the other; so uint64 is exact.  "NaN", "Infinity" and "-Infinity" are
 * numbers where one is asked for.
 */
#ifndef PTO_CASE_JSON_H
#define PTO_CASE_JSON_H

#include <jansson.h>

#include <graph/build/op_attributes.h>

/* The document of a file, NULL with the reason. */
json_t *pto_case_json_load(const char *path, struct pto_error *error);
/* The same of a text; `text` is not changed. */
json_t *pto_case_json_parse(const char *text, size_t size, struct pto_error *error);

/* A member of an object that has to be of this type; NULL with a sentence. */
json_t *pto_case_json_member(json_t *object, const char *key, json_type type, struct pto_error *error);

/* An attribute's value; lists are in `arena`.  PTO_OK, PTO_EINVAL, PTO_ENOMEM. */
int pto_case_json_attribute(json_t *json, struct pto_graph_arena *arena, struct pto_attribute_value *value,
                            struct pto_error *error);
/* {dataType, shape} as a descriptor. */
int pto_case_json_desc(json_t *json, struct pto_graph_desc *desc, struct pto_error *error);
/* The number that an element is. */
bool pto_case_json_number(json_t *json, struct pto_number *number);
/* {data} or {fill} of a tensor as `size_bytes` dense bytes, which the caller frees.  Floats are rounded to nearest even
 * from the decimal's double. */
int pto_case_json_data(json_t *json, const struct pto_graph_desc *desc, void **data_out, uint64_t *size_out,
                       struct pto_error *error);

#endif
