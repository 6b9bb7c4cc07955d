/* SPDX-License-Identifier: MIT */
#include <graph/file/text.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_text.h>
#include <graph/build/operation.h>
#include <graph/file/json.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

struct parser {
  const char *at, *end, *line_start;
  uint32_t line;
  struct pto_json_reader *reader;
  struct pto_graph_places *places;
  json_t *document;
};

/* ---- letters ---- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/' || c == '$';
}
static bool is_in_word(char c) { return (begins_word(c) && c != '$') || is_digit(c) || c == '.'; }

bool pto_graph_text_is_word(const char *name) {
  static const char *const literals[] = {"true", "false", "null"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(literals); i++)
    if (strcmp(name, literals[i]) == 0) return false;
  if (!begins_word(name[0])) return false;
  for (const char *c = name + 1; *c; c++)
    if (!is_in_word(*c)) return false;
  return true;
}

bool pto_graph_text_is_name(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
  return dot && dot > name && strcmp(dot, ".webnn") == 0;
}

/* ---- places ---- */

void pto_graph_places_fini(struct pto_graph_places *places) {
  for (size_t i = 0; i < PTO_GRAPH_FILE_LISTS; i++) free(places->of[i].items);
  *places = (struct pto_graph_places){0};
}

static bool has_failed(const struct parser *p) { return p->reader->status != PTO_OK; }

static void refuse_memory(struct parser *p) {
  if (!has_failed(p))
    p->reader->status = pto_error_set(p->reader->error, PTO_ENOMEM, "%.400s: out of memory", p->reader->path);
}

static json_t *keep(struct parser *p, json_t *value) {
  if (!value) refuse_memory(p);
  return value;
}

static struct pto_graph_place place_of(const struct parser *p) {
  return (struct pto_graph_place){p->line, (uint32_t)(p->at - p->line_start) + 1};
}

static void point_at(struct parser *p, struct pto_graph_place place) {
  pto_json_read_at(p->reader, "line %u, column %u", place.line, place.column);
}

static void remember_place(struct parser *p, enum pto_graph_file_list list) {
  struct pto_graph_place *place =
      pto_grow(&p->places->of[list].items, &p->places->of[list].count, &p->places->of[list].capacity, sizeof *place);
  if (place)
    *place = place_of(p);
  else
    refuse_memory(p);
}

/* What stands at the cursor is not what has to. */
static void refuse_here(struct parser *p, const char *wanted) {
  char found[24];
  size_t length = 0;
  for (const char *c = p->at; c < p->end && length + 1 < sizeof found && !is_space(*c); c++)
    found[length++] = *c > ' ' && *c < 0x7f ? *c : '?';
  found[length] = '\0';
  point_at(p, place_of(p));
  if (p->at == p->end)
    pto_json_read_refuse(p->reader, "the file ends where %s is expected", wanted);
  else
    pto_json_read_refuse(p->reader, "%s is expected, not %s", wanted, found);
}

/* ---- tokens ---- */

/* Over white space and comments. */
static void skip(struct parser *p) {
  for (; p->at < p->end; p->at++) {
    if (*p->at == '#') {
      const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
      p->at = newline ? newline : p->end;
      if (!newline) return;
    }
    if (!is_space(*p->at)) return;
    if (*p->at == '\n') {
      p->line++;
      p->line_start = p->at + 1;
    }
  }
}

static bool is_next(struct parser *p, char c) {
  skip(p);
  return p->at < p->end && *p->at == c;
}

static bool take(struct parser *p, char c) {
  if (has_failed(p) || !is_next(p, c)) return false;
  p->at++;
  return true;
}

static void need(struct parser *p, char c) {
  const char wanted[] = {'"', c, '"', '\0'};
  if (!has_failed(p) && !take(p, c)) refuse_here(p, wanted);
}

/* The length of the word at the cursor, 0: there is none. */
static size_t word_length(struct parser *p) {
  const char *c = p->at;
  skip(p);
  c = p->at;
  if (c == p->end || !begins_word(*c)) return 0;
  while (++c < p->end && is_in_word(*c)) continue;
  return (size_t)(c - p->at);
}

static bool take_word(struct parser *p, const char *word) {
  const size_t length = word_length(p);
  if (length == 0 || length != strlen(word) || memcmp(p->at, word, length) != 0) return false;
  p->at += length;
  return true;
}

/* A string or a number with a point, as JSON writes them. */
static json_t *literal(struct parser *p, size_t size) {
  json_error_t reason;
  json_t *value = pto_json_load(p->at, size, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &reason);
  if (value) {
    p->at += reason.position;
    return value;
  }
  if (errno == ENOMEM) {
    refuse_memory(p);
    return NULL;
  }
  point_at(p, place_of(p));
  pto_json_read_refuse(p->reader, "%.200s", reason.text);
  return NULL;
}

/* Its end is found first: what follows is not the string's. */
static json_t *string(struct parser *p) {
  const char *c = p->at + 1;
  for (; c < p->end && *c != '"' && *c != '\n'; c++) c += *c == '\\' && c + 1 < p->end;
  return literal(p, (size_t)(c - p->at) + (c < p->end));
}

/* Whole ones that JSON's integers do not hold are strings, as they are in JSON. */
static json_t *number(struct parser *p) {
  const char *c = p->at + (*p->at == '-'), *digits = c;
  char text[24] = "";
  while (c < p->end && is_digit(*c)) c++;
  const size_t length = (size_t)(c - p->at);
  const bool is_whole = c > digits && (c == p->end || (*c != '.' && *c != 'e' && *c != 'E'));
  if (!is_whole || length >= sizeof text) {
    while (c < p->end && (is_in_word(*c) || *c == '+' || *c == '-')) c++;
    return literal(p, (size_t)(c - p->at));
  }
  memcpy(text, p->at, length);
  p->at = c;
  errno = 0;
  const long long value = strtoll(text, NULL, 10);
  return keep(p, errno ? json_string(text) : json_integer(value));
}

/* A word, or a string for what is none. */
static json_t *name(struct parser *p, const char *wanted) {
  const size_t length = has_failed(p) ? 0 : word_length(p);
  if (has_failed(p)) return NULL;
  if (is_next(p, '"')) return string(p);
  if (length == 0) {
    refuse_here(p, wanted);
    return NULL;
  }
  p->at += length;
  return keep(p, json_stringn(p->at - length, length));
}

/* ---- values ---- */

/* One that JSON's integers hold. */
static json_t *whole(struct parser *p) {
  skip(p);
  const struct pto_graph_place place = place_of(p);
  json_t *value = NULL;
  if (p->at < p->end && is_digit(*p->at))
    value = number(p);
  else
    refuse_here(p, "a whole number");
  if (has_failed(p) || json_is_integer(value)) return value;
  json_decref(value);
  point_at(p, place);
  pto_json_read_refuse(p->reader, "a whole number of up to 63 bits is expected");
  return NULL;
}

static void set(struct parser *p, json_t *object, const char *key, json_t *item) {
  if (has_failed(p))
    json_decref(item);
  else if (json_object_set_new_nocheck(object, key, item) != 0)
    refuse_memory(p);
}

/* Behind dyn: ("NAME", MOST), which becomes what the JSON form has for it. */
static json_t *open_size(struct parser *p) {
  json_t *size = keep(p, json_object());
  need(p, '(');
  set(p, size, "name", name(p, "the name of a size"));
  need(p, ',');
  if (!has_failed(p)) set(p, size, "maxSize", whole(p));
  need(p, ')');
  return size;
}

static json_t *dimension(struct parser *p) { return take_word(p, "dyn") ? open_size(p) : whole(p); }

/* Values may be called dyn too. */
static bool take_dyn(struct parser *p) {
  const struct parser before = *p;
  if (take_word(p, "dyn") && is_next(p, '(')) return true;
  *p = before;
  return false;
}

static json_t *scalar(struct parser *p) {
  if (take_dyn(p)) return open_size(p);
  if (take_word(p, "true")) return json_true();
  if (take_word(p, "false")) return json_false();
  if (take_word(p, "null")) return json_null();
  skip(p);
  if (p->at < p->end && (is_digit(*p->at) || *p->at == '-')) return number(p);
  return name(p, "a value");
}

/* From its bracket on. */
static json_t *list(struct parser *p, json_t *(*item)(struct parser *)) {
  json_t *items = keep(p, json_array());
  need(p, '[');
  if (take(p, ']')) return items;
  do {
    json_t *value = has_failed(p) ? NULL : item(p);
    if (has_failed(p))
      json_decref(value);
    else if (json_array_append_new(items, value) != 0)
      refuse_memory(p);
  } while (take(p, ','));
  need(p, ']');
  return items;
}

static json_t *value(struct parser *p) { return is_next(p, '[') ? list(p, scalar) : scalar(p); }

/* ---- types ---- */

/* "f32" is float32, "u8" uint8: the first letter of the kind, and the bits. */
static void read_type(struct parser *p, json_t *object) {
  static const char *const kinds[] = {"float", "int", "uint"};
  char full[16] = "";
  const size_t length = has_failed(p) ? 0 : word_length(p);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(kinds); i++)
    if (length > 1 && length < 8 && *p->at == kinds[i][0])
      snprintf(full, sizeof full, "%s%.*s", kinds[i], (int)length - 1, p->at + 1);
  if (pto_graph_dtype_find(full) < 0) {
    if (!has_failed(p)) refuse_here(p, "a type, f32, f16, i32, u32, i64, u64, i8, u8, i4 or u4 and a shape,");
    return;
  }
  p->at += length;
  set(p, object, "dataType", keep(p, json_string(full)));
  set(p, object, "shape", list(p, dimension));
}

/* ---- inputs and constants ---- */

static void set_init(struct parser *p, json_t *init, const char *kind, const char *key, json_t *item) {
  set(p, init, "kind", keep(p, json_string(kind)));
  set(p, init, key, item);
}

static void read_annotation(struct parser *p, json_t *init) {
  if (take_word(p, "weights")) {
    need(p, '(');
    set_init(p, init, "weights", "ref", name(p, "the name of a tensor"));
  } else if (take_word(p, "scalar")) {
    need(p, '(');
    if (!has_failed(p)) set_init(p, init, "scalar", "value", scalar(p));
  } else if (take_word(p, "bytes")) {
    need(p, '(');
    if (!has_failed(p)) set_init(p, init, "inlineBytes", "bytes", list(p, whole));
  } else {
    refuse_here(p, "weights, scalar or bytes");
  }
  need(p, ')');
}

/* Without an annotation the data are the weights of its own name. */
static void read_const(struct parser *p, json_t *object, const char *own_name) {
  json_t *init = keep(p, json_object());
  if (take(p, '@'))
    read_annotation(p, init);
  else
    set_init(p, init, "weights", "ref", keep(p, json_string(own_name)));
  set(p, object, "init", init);
}

static void refuse_twice(struct parser *p, struct pto_graph_place place, const char *what) {
  point_at(p, place);
  pto_json_read_refuse(p->reader, "\"%.60s\" is given twice", what);
}

static void read_declaration(struct parser *p, enum pto_graph_file_list which, json_t *declared) {
  const struct pto_graph_place place = place_of(p);
  json_t *key = name(p, "a name"), *object = keep(p, json_object());
  const char *text = key ? json_string_value(key) : "";
  if (!has_failed(p) && json_object_get(declared, text)) refuse_twice(p, place, text);
  need(p, ':');
  read_type(p, object);
  if (!has_failed(p) && which == PTO_GRAPH_FILE_CONSTS) read_const(p, object, text);
  need(p, ';');
  set(p, declared, text, object);
  json_decref(key);
}

/* ---- nodes ---- */

static json_t *result_name(struct parser *p) { return name(p, "the name of a result"); }

/* An operand, or an option NAME=VALUE. */
static void read_argument(struct parser *p, json_t *inputs, json_t *options) {
  skip(p);
  const struct pto_graph_place place = place_of(p);
  json_t *item = value(p);
  if (has_failed(p)) {
    json_decref(item);
  } else if (!json_is_string(item)) {
    point_at(p, place);
    pto_json_read_refuse(p->reader, "an operand is the name of a value; an option is NAME=VALUE");
    json_decref(item);
  } else if (!take(p, '=')) {
    if (json_array_append_new(inputs, item) != 0) refuse_memory(p);
  } else {
    if (json_object_get(options, json_string_value(item))) refuse_twice(p, place, json_string_value(item));
    if (!has_failed(p)) set(p, options, json_string_value(item), value(p));
    json_decref(item);
  }
}

static void read_call(struct parser *p, json_t *node) {
  json_t *inputs = keep(p, json_array()), *options = keep(p, json_object());
  set(p, node, "op", name(p, "an operation"));
  if (!has_failed(p) && !is_next(p, '(')) refuse_here(p, "the \"(\" of a call");
  need(p, '(');
  if (!take(p, ')')) {
    do {
      if (!has_failed(p)) read_argument(p, inputs, options);
    } while (take(p, ','));
    need(p, ')');
  }
  need(p, ';');
  set(p, node, "inputs", inputs);
  set(p, node, "options", options);
}

/* The first result's name is the node's, as converters have it. */
static void read_node(struct parser *p, json_t *nodes) {
  json_t *node = keep(p, json_object());
  if (is_next(p, '[')) {
    const struct pto_graph_place place = place_of(p);
    json_t *results = list(p, result_name);
    point_at(p, place);
    if (!has_failed(p) && json_array_size(results) == 0) pto_json_read_refuse(p->reader, "no result is named");
    set(p, node, "outputs", results);
    if (!has_failed(p)) set(p, node, "id", json_incref(json_array_get(results, 0)));
  } else {
    set(p, node, "id", result_name(p));
  }
  need(p, '=');
  if (!has_failed(p)) read_call(p, node);
  if (has_failed(p))
    json_decref(node);
  else if (json_array_append_new(nodes, node) != 0)
    refuse_memory(p);
}

/* ---- outputs ---- */

/* NAME; or, of ours, NAME = VALUE; for an output whose value has another name. */
static void read_output(struct parser *p, json_t *outputs) {
  const struct pto_graph_place place = place_of(p);
  json_t *key = name(p, "the name of an output"), *result = NULL;
  if (take(p, '=')) result = name(p, "the name of a value");
  if (!has_failed(p) && json_object_get(outputs, json_string_value(key)))
    refuse_twice(p, place, json_string_value(key));
  if (key) set(p, outputs, json_string_value(key), result ? result : json_incref(key));
  json_decref(key);
  if (!take(p, ',')) (void)take(p, ';'); /* which may be left out, as in the format */
}

/* ---- the document ---- */

static const char *const list_names[] = {"inputs", "consts", "nodes", "outputs"};
_Static_assert(PTO_ARRAY_LENGTH(list_names) == PTO_GRAPH_FILE_LISTS, "a list more: its name goes here");

static void read_block(struct parser *p) {
  uint32_t which = 0;
  while (which < PTO_GRAPH_FILE_LISTS && !take_word(p, list_names[which])) which++;
  if (which == PTO_GRAPH_FILE_LISTS) {
    refuse_here(p, "inputs, consts, nodes, outputs or \"}\"");
    return;
  }
  json_t *items = json_object_get(p->document, list_names[which]);
  need(p, '{');
  while (!has_failed(p) && !take(p, '}')) {
    if (p->places->of[which].count > PTO_GRAPH_FILE_MAX_NODES) { /* before they take all memory */
      pto_json_read_at(p->reader, "%s", "");
      pto_json_read_refuse(p->reader, "\"%s\" has more than %u items", list_names[which], PTO_GRAPH_FILE_MAX_NODES);
      return;
    }
    remember_place(p, which);
    if (which == PTO_GRAPH_FILE_NODES)
      read_node(p, items);
    else if (which == PTO_GRAPH_FILE_OUTPUTS)
      read_output(p, items);
    else
      read_declaration(p, which, items);
  }
}

/* `#: weights data="…", manifest="…"`, of ours, a comment to others: the files beside it.  Other comments of this
 * beginning have no = in their line. */
static void read_weights_names(struct parser *p) {
  static const char mark[] = "#: weights ";
  const size_t length = sizeof mark - 1;
  while (p->at < p->end && is_space(*p->at) && *p->at != '\n') p->at++;
  if (has_failed(p) || (size_t)(p->end - p->at) < length || memcmp(p->at, mark, length) != 0) return;
  const char *newline = memchr(p->at, '\n', (size_t)(p->end - p->at)), *end = newline ? newline : p->end;
  if (!memchr(p->at, '=', (size_t)(end - p->at))) return;
  json_t *names = keep(p, json_object());
  p->at += length;
  do {
    json_t *key = name(p, "data or manifest");
    need(p, '=');
    if (key) set(p, names, json_string_value(key), name(p, "the name of a file"));
    json_decref(key);
  } while (take(p, ','));
  set(p, p->document, "weights", names);
}

static void read_header(struct parser *p) {
  if (!take_word(p, "webnn_graph")) refuse_here(p, "webnn_graph \"NAME\" v1 {");
  set(p, p->document, "name", has_failed(p) ? NULL : name(p, "the name of the graph"));
  skip(p);
  if (!has_failed(p) && (p->at == p->end || *p->at != 'v')) refuse_here(p, "the version v1 or v2");
  if (!has_failed(p)) p->at++;
  if (!has_failed(p)) set(p, p->document, "version", whole(p));
  if (take(p, '@') && !take_word(p, "quantized")) refuse_here(p, "quantized");
  need(p, '{');
  read_weights_names(p);
}

json_t *pto_graph_text_read(struct pto_json_reader *reader, const char *path, const void *bytes, size_t size,
                            struct pto_graph_places *places, struct pto_error *error) {
  *reader = (struct pto_json_reader){.path = path, .error = error};
  struct parser p = {.at = bytes, .line = 1, .reader = reader, .places = places};
  if (!bytes) p.at = "";
  p.line_start = p.at;
  p.end = p.at + size;
  p.document = keep(&p, json_object());
  set(&p, p.document, "format", keep(&p, json_string("webnn-graph-json")));
  for (uint32_t i = 0; i < PTO_GRAPH_FILE_LISTS; i++)
    set(&p, p.document, list_names[i], keep(&p, i == PTO_GRAPH_FILE_NODES ? json_array() : json_object()));
  if (!has_failed(&p)) read_header(&p);
  while (!has_failed(&p) && !take(&p, '}')) read_block(&p);
  skip(&p);
  if (!has_failed(&p) && p.at != p.end) refuse_here(&p, "the end of the file");
  pto_json_read_at(reader, "%s", "");
  if (!has_failed(&p)) return p.document;
  json_decref(p.document);
  return NULL;
}

bool pto_graph_text_is_content(const void *bytes, size_t size) {
  struct parser p = {.at = bytes, .line_start = bytes, .end = (const char *)bytes + size};
  return size > 0 && take_word(&p, "webnn_graph");
}
