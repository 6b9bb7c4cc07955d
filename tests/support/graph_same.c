/* SPDX-License-Identifier: MIT */
#include <tests/support/graph_same.h>

#include <graph/build/sizes.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
  const struct pto_graph *a, *b;
  uint32_t *match; /* by value of a: the value of b; 0: not met yet */
  char *why;
};

static bool is_same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static bool is_same_desc(const struct pto_graph_desc *a, const struct pto_graph_desc *b) {
  return a->dtype == b->dtype && a->ndims == b->ndims && memcmp(a->shape, b->shape, a->ndims * sizeof *a->shape) == 0;
}

/* Values are met in the same order in both. */
static bool meet(struct pair *p, uint32_t a, uint32_t b) {
  if (!a || !b) return a == b;
  if (p->match[a]) return p->match[a] == b;
  p->match[a] = b;
  const struct pto_graph_value *x = &p->a->values[a], *y = &p->b->values[b];
  if (x->kind != y->kind || !is_same_desc(&x->desc, &y->desc)) return false;
  /* A file names all values. */
  if (x->name && !is_same_text(x->name, y->name)) return false;
  return x->kind != PTO_VALUE_CONSTANT ||
         (x->size_bytes == y->size_bytes && memcmp(x->data, y->data, x->size_bytes) == 0);
}

static bool is_same_list(const void *a, const void *b, size_t item_bytes) {
  const struct pto_u32_list *x = a, *y = b; /* lists of floats are laid out alike */
  return x->count == y->count && !x->values == !y->values &&
         (x->count == 0 || memcmp(x->values, y->values, x->count * item_bytes) == 0);
}

static bool is_same_number(const struct pto_number *a, const struct pto_number *b) {
  return a->kind == b->kind && (a->kind == PTO_NUMBER_ABSENT || a->value.u64 == b->value.u64);
}

static bool is_same_attribute(const struct pto_op_attribute *attribute, const void *a, const void *b) {
  const void *x = (const char *)a + attribute->offset, *y = (const char *)b + attribute->offset;
  switch (attribute->kind) {
  case PTO_ATTRIBUTE_NUMBER:
  case PTO_ATTRIBUTE_OPTIONAL_DTYPE:
    return is_same_number(x, y);
  case PTO_ATTRIBUTE_U32_LIST:
  case PTO_ATTRIBUTE_F32_LIST:
  case PTO_ATTRIBUTE_WORD_LIST:
    return is_same_list(x, y, sizeof(uint32_t));
  case PTO_ATTRIBUTE_SPLITS: {
    const struct pto_split_options *s = a, *t = b;
    return is_same_list(x, y, sizeof(uint32_t)) && (s->has_sizes == PTO_FLAG_YES) == (t->has_sizes == PTO_FLAG_YES);
  }
  default:
    return memcmp(x, y, sizeof(uint32_t)) == 0;
  }
}

static bool is_same_node(struct pair *p, uint32_t index) {
  const struct pto_graph_node *x = &p->a->nodes[index], *y = &p->b->nodes[index];
  const struct pto_op_info *info = pto_op_info(x->op);
  snprintf(p->why, 256, "node %" PRIu32 " (%s)", index, info->name);
  if (x->op != y->op || !is_same_text(x->label, y->label) || x->operand_count != y->operand_count ||
      x->result_count != y->result_count)
    return false;
  for (uint32_t k = 0; k < x->operand_count; k++) {
    snprintf(p->why, 256, "node %" PRIu32 " (%s), operand %" PRIu32, index, info->name, k);
    if (!meet(p, x->operands[k], y->operands[k])) return false;
  }
  for (uint32_t k = 0; k < x->result_count; k++) {
    snprintf(p->why, 256, "node %" PRIu32 " (%s), result %" PRIu32, index, info->name, k);
    if (!meet(p, x->first_result + k, y->first_result + k)) return false;
  }
  for (uint32_t k = 0; k < info->attribute_count; k++) {
    snprintf(p->why, 256, "node %" PRIu32 " (%s), %s", index, info->name, info->attributes[k].name);
    if (!is_same_attribute(&info->attributes[k], x->options, y->options)) return false;
  }
  return true;
}

/* The same names at the same places.  Their order is that of values, which the two may number otherwise. */
static bool is_same_sizes(struct pair *p) {
  const struct pto_graph_sizes *x = &p->a->sizes;
  if (x->place_count != p->b->sizes.place_count) return false;
  for (uint32_t i = 0; i < x->place_count; i++) {
    const struct pto_graph_size_place *place = &x->places[i];
    const struct pto_graph_open_size *size = &x->sizes[place->size];
    const struct pto_graph_open_size *other =
        pto_graph_size_in(p->b, p->match[place->value], place->attribute, place->item);
    if (!other || strcmp(size->name, other->name) != 0 || size->most != other->most || size->follows != other->follows)
      return false;
  }
  return true;
}

static bool compare(struct pair *p) {
  snprintf(p->why, 256, "counts of values, nodes, inputs or outputs");
  if (p->a->value_count != p->b->value_count || p->a->node_count != p->b->node_count ||
      p->a->input_count != p->b->input_count || p->a->output_count != p->b->output_count)
    return false;
  for (uint32_t i = 0; i < p->a->input_count; i++) {
    snprintf(p->why, 256, "input %" PRIu32, i);
    if (!meet(p, p->a->inputs[i], p->b->inputs[i])) return false;
  }
  for (uint32_t i = 0; i < p->a->node_count; i++)
    if (!is_same_node(p, i)) return false;
  snprintf(p->why, 256, "open sizes");
  if (!is_same_sizes(p)) return false;
  for (uint32_t i = 0; i < p->a->output_count; i++) {
    snprintf(p->why, 256, "output %" PRIu32, i);
    if (!meet(p, p->a->outputs[i], p->b->outputs[i]) ||
        !is_same_text(p->a->output_operands[i].name, p->b->output_operands[i].name))
      return false;
  }
  return true;
}

bool pto_graph_is_same(const struct pto_graph *a, const struct pto_graph *b, char why[256]) {
  struct pair p = {a, b, calloc(a->value_count + 1u, sizeof(uint32_t)), why};
  if (!p.match) {
    snprintf(why, 256, "out of memory");
    return false;
  }
  const bool is_same = compare(&p);
  free(p.match);
  return is_same;
}
