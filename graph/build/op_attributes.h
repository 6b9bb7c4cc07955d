/* SPDX-License-Identifier: MIT */
/*
 * Options of an operation, set by the specification's names: what readers of files use in place of the structs.
 *
 *   init(op) ──set(name, value)…──▶ finish ──▶ options, the struct of the operation
 *
 * Owns the struct and the lists in it, until fini.
 *
 * Always true: what is in `options` is of the kind that the table says and within its range; a name is set once, by its
 * old name or its new one; after finish every required attribute is there.  "label" is an attribute of every operation.
 * Operands are no attributes: the caller hands them to pto_graph_builder_call.
 *
 * Values come from no format in particular: a reader makes a struct pto_attribute_value of what its file has.  A value
 * of another kind, a fraction where a whole number is asked for, a number outside its range or not finite where it has
 * to be is PTO_EINVAL with a sentence that names attribute and value, without the operation.
 *
 * One thread.
 */
#ifndef PTO_GRAPH_BUILD_OP_ATTRIBUTES_H
#define PTO_GRAPH_BUILD_OP_ATTRIBUTES_H

#include <graph/build/arena.h>
#include <graph/build/op_options.h>
#include <graph/build/operation.h>

enum pto_attribute_value_kind {
  PTO_VALUE_NUMBER = 0, /* "Infinity" and "NaN" of files too */
  PTO_VALUE_BOOL,
  PTO_VALUE_WORD,
  PTO_VALUE_LIST
};

struct pto_attribute_value {
  uint32_t kind; /* enum pto_attribute_value_kind */
  union {
    struct pto_number number;
    bool truth;
    const char *word;
    struct {
      const struct pto_attribute_value *items;
      uint32_t count;
    } list;
  } as;
};

/* The largest struct of options. */
#define PTO_OPTIONS_BYTES 256u
/* Attributes of one operation. */
#define PTO_ATTRIBUTES_MAX 16u

struct pto_op_attributes {
  uint32_t op;                         /* enum pto_graph_op */
  bool is_set[PTO_ATTRIBUTES_MAX + 1]; /* by attribute; the last is the label */
  _Alignas(16) char options[PTO_OPTIONS_BYTES];
  struct pto_graph_arena arena; /* lists, label */
};

void pto_op_attributes_init(struct pto_op_attributes *attributes, uint32_t op);
void pto_op_attributes_fini(struct pto_op_attributes *attributes);
/* Sets one; the value is borrowed for the call.  PTO_OK, PTO_EINVAL, PTO_ENOMEM. */
PTO_MUST_CHECK int pto_op_attributes_set(struct pto_op_attributes *attributes, const char *name,
                                         const struct pto_attribute_value *value, struct pto_error *error);
/* PTO_OK, or PTO_EINVAL with the first required attribute that was not set. */
PTO_MUST_CHECK int pto_op_attributes_finish(struct pto_op_attributes *attributes, struct pto_error *error);

/* ---- numbers ---- */

/* "3", "-0.5": into `text`, which it returns. */
const char *pto_number_text(struct pto_number number, char text[64]);
/* Whether it is of the class (enum pto_number_class), or absent: PTO_OK, or PTO_EINVAL with a sentence. */
PTO_MUST_CHECK int pto_number_check(const char *name, uint32_t number_class, struct pto_number number,
                                    struct pto_error *error);
/* One that is, as nodes keep it. */
struct pto_number pto_number_normalise(uint32_t number_class, struct pto_number number);

/* ---- structs of options ---- */

/* Whether flags, words, dtypes, numbers and lists of the struct are what the table says; the builder's check of what C
 * programs filled in.  PTO_OK or PTO_EINVAL with a sentence. */
PTO_MUST_CHECK int pto_op_options_check(uint32_t op, const void *options, struct pto_error *error);
/* The struct as inference sees it and nodes keep it: numbers normalised, a last axis (of `ndims`) by its number,
 * operands and label (nodes have them) zeroed; `options` NULL gives the defaults.  Lists are still those of `options`.
 * `into` has PTO_OPTIONS_BYTES. */
void pto_op_options_normalise(uint32_t op, const void *options, uint32_t ndims, void *into);
/* A copy of normalised options with their lists.  NULL where there is no memory. */
void *pto_op_options_copy(uint32_t op, const void *options, struct pto_graph_arena *arena);

#endif
