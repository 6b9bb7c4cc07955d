/* SPDX-License-Identifier: MIT */
/*
 * One step of one layer in the form of Qwen3: A. Yang et al., "Qwen3 Technical Report", 2025 (heads that share keys and
 * values, RMS norm of each head's query and key, rotary positions in halves, SwiGLU), at the sizes of its 14B model,
 * with keys and values in pages: W. Kwon et al., "Efficient Memory Management for Large Language Model Serving with
 * PagedAttention", 2023.
 *
 * Inputs: "hidden" [1, width]; "position", int32 [1]; "table", int32 [table]: which page holds each run of `page`
 * positions; "past_key_pages" and "past_value_pages" [pages, page, kv_heads, head_width].  Outputs: "result" [1,
 * width]; "key_pages", "value_pages": with this step's rows at the position's place.
 */
#include <graph/models/decoder_parts.h>

const struct pto_graph_model_option pto_graph_model_options_qwen3_layer[] = {
    {"width", "of a token's vector", 1, 65536, 5120, NULL},
    {"hidden", "width within the second part", 1, 262144, 17408, NULL},
    {"heads", "of attention; a multiple of kv_heads", 1, 1024, 40, NULL},
    {"kv_heads", "of keys and values", 1, 1024, 8, NULL},
    {"head_width", "of a head, even", 2, 1024, 128, NULL},
    {"page", "positions a page", 1, 4096, 16, NULL},
    {"pages", "that there are", 1, 65536, 32, NULL},
    {"table", "pages that a sequence may have", 1, 65536, 8, NULL},
    {0}};

#define ROPE_BASE 1e6
#define EPSILON 1e-6

struct layer {
  struct pto_graph_model *model;
  struct pto_graph_builder *builder;
  uint64_t width, hidden, page, pages, table;
  struct pto_model_attention attention;
  struct pto_model_rotation rotation;
  struct pto_graph_operand pages_of, place; /* the table; page and row of the position, [1, 2] */
};

/* x · weightᵀ. */
static struct pto_graph_operand project(struct layer *l, const char *name, struct pto_graph_operand x, uint64_t rows,
                                        uint64_t columns) {
  const uint64_t shape[] = {rows, columns};
  const struct pto_gemm_options options = {.label = name, .b_transpose = PTO_FLAG_YES};
  const struct pto_graph_operand weight = pto_graph_model_weights(
      l->model, pto_graph_model_name(l->model, "%s.weight", name), 2, shape, pto_graph_model_scale(columns, 1));
  return pto_graph_builder_gemm(l->builder, x, weight, &options);
}

static struct pto_graph_operand normalize(struct layer *l, const char *name, struct pto_graph_operand x,
                                          uint64_t columns) {
  const struct pto_graph_operand weight =
      pto_graph_model_vector(l->model, pto_graph_model_name(l->model, "%s.weight", name), columns, 1, 0.1);
  return pto_model_rms_norm(l->model, name, x, weight, EPSILON);
}

/* Each head's vector normalised by itself, then turned. */
static struct pto_graph_operand prepare(struct layer *l, const char *name, struct pto_graph_operand x, uint64_t heads) {
  const uint32_t rows[] = {(uint32_t)heads, (uint32_t)l->attention.head_width};
  x = normalize(l, name, pto_model_reshape(l->model, x, 2, rows), l->attention.head_width);
  return pto_model_rotate(&l->rotation, l->model, x, heads);
}

/* Where the position's row is. */
static void find_place(struct layer *l, struct pto_graph_operand position) {
  struct pto_graph_builder *b = l->builder;
  const struct pto_concat_options across = {NULL, 1};
  const uint32_t cell[] = {1, 1};
  const struct pto_graph_operand size = pto_graph_builder_scalar(b, PTO_INT32, pto_number_u64(l->page));
  const struct pto_graph_operand index = pto_graph_builder_div(b, position, size, NULL);
  struct pto_graph_operand parts[2];
  parts[0] = pto_graph_builder_gather(b, l->pages_of, index, NULL);
  parts[1] = pto_graph_builder_sub(b, position, pto_graph_builder_mul(b, index, size, NULL), NULL);
  for (int i = 0; i < 2; i++) parts[i] = pto_model_reshape(l->model, parts[i], 2, cell);
  l->place = pto_graph_builder_concat(b, parts, 2, &across);
}

/* Writes the row to its place; the sequence's pages, as [kv_heads, window, head_width]. */
static struct pto_graph_operand extend(struct layer *l, const char *what, struct pto_graph_operand row) {
  const struct pto_model_attention *a = &l->attention;
  const struct pto_graph_desc desc = {PTO_FLOAT32, 4, {l->pages, l->page, a->kv_heads, a->head_width}};
  const uint32_t update[] = {1, (uint32_t)a->kv_heads, (uint32_t)a->head_width};
  const uint32_t rows[] = {(uint32_t)a->window, (uint32_t)a->kv_heads, (uint32_t)a->head_width};
  const struct pto_transpose_options by_head = {NULL, PTO_U32_LIST(1, 0, 2)};
  const struct pto_graph_options label = {pto_graph_model_name(l->model, "%s.write", what)};
  const struct pto_graph_operand past =
      pto_graph_builder_input(l->builder, pto_graph_model_name(l->model, "past_%s", what), &desc);
  row = pto_model_reshape(l->model, row, 3, update);
  const struct pto_graph_operand pages = pto_graph_builder_scatter_nd(l->builder, past, l->place, row, &label);
  pto_graph_model_output(l->model, pages, "%s", what);
  const struct pto_graph_operand mine = pto_graph_builder_gather(l->builder, pages, l->pages_of, NULL);
  return pto_graph_builder_transpose(l->builder, pto_model_reshape(l->model, mine, 3, rows), &by_head);
}

static struct pto_graph_operand attend(struct layer *l, struct pto_graph_operand x) {
  const struct pto_model_attention *a = &l->attention;
  const uint64_t width = a->heads * a->head_width, kv_width = a->kv_heads * a->head_width;
  struct pto_graph_operand query = project(l, "query", x, width, l->width);
  struct pto_graph_operand key = project(l, "key", x, kv_width, l->width);
  const struct pto_graph_operand value = project(l, "value", x, kv_width, l->width);
  query = prepare(l, "query.norm", query, a->heads);
  key = prepare(l, "key.norm", key, a->kv_heads);
  const struct pto_graph_operand keys = extend(l, "key_pages", key);
  const struct pto_graph_operand values = extend(l, "value_pages", value);
  return project(l, "attention", pto_model_attend(a, 0, query, keys, values), l->width, width);
}

static struct pto_graph_operand feed_forward(struct layer *l, struct pto_graph_operand x) {
  struct pto_graph_builder *b = l->builder;
  struct pto_graph_operand gate = project(l, "gate", x, l->hidden, l->width);
  const struct pto_graph_operand up = project(l, "up", x, l->hidden, l->width);
  gate = pto_graph_builder_mul(b, gate, pto_graph_builder_sigmoid(b, gate, NULL), NULL);
  return project(l, "down", pto_graph_builder_mul(b, gate, up, NULL), l->width, l->hidden);
}

static void take_options(struct layer *l) {
  struct pto_model_attention *a = &l->attention;
  l->width = pto_graph_model_option(l->model, "width");
  l->hidden = pto_graph_model_option(l->model, "hidden");
  l->page = pto_graph_model_option(l->model, "page");
  l->pages = pto_graph_model_option(l->model, "pages");
  l->table = pto_graph_model_option(l->model, "table");
  a->model = l->model;
  a->heads = pto_graph_model_option(l->model, "heads");
  a->kv_heads = pto_graph_model_option(l->model, "kv_heads");
  a->head_width = pto_graph_model_option(l->model, "head_width");
  a->window = l->table * l->page;
  l->rotation.is_halves = true;
  l->rotation.head_width = a->head_width;
}

void pto_graph_model_build_qwen3_layer(struct pto_graph_model *model) {
  struct layer l = {.model = model, .builder = model->builder};
  take_options(&l);
  const struct pto_graph_desc vector = {PTO_FLOAT32, 2, {1, l.width}}, one = {PTO_INT32, 1, {1}};
  const struct pto_graph_desc table = {PTO_INT32, 1, {l.table}};
  if (l.attention.heads % l.attention.kv_heads != 0 || l.attention.head_width % 2 != 0) {
    pto_graph_model_refuse(model, PTO_EINVAL, "the heads are no multiple of the kv_heads, or head_width is odd");
    return;
  }
  struct pto_graph_operand x = pto_graph_builder_input(l.builder, "hidden", &vector);
  const struct pto_graph_operand position = pto_graph_builder_input(l.builder, "position", &one);
  l.pages_of = pto_graph_builder_input(l.builder, "table", &table);
  pto_model_attention_init(&l.attention, position);
  pto_model_rotation_init(&l.rotation, model, position, l.attention.window, ROPE_BASE);
  find_place(&l, position);
  x = pto_graph_builder_add(l.builder, x, attend(&l, normalize(&l, "norm1", x, l.width)), NULL);
  x = pto_graph_builder_add(l.builder, x, feed_forward(&l, normalize(&l, "norm2", x, l.width)), NULL);
  pto_graph_model_output(model, x, "result");
}
