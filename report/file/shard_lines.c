/* SPDX-License-Identifier: MIT */
#include <report/file/shard_lines.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_read.h>
#include <formats/json_text.h>
#include <report/file/shard.h>
#include <runtime/base/grow.h>
#include <runtime/base/text.h>

#define MOST_ITEMS (UINT64_C(1) << 40)

/* ---- one line ---- */

static int no_memory(struct pto_error *error) {
  return pto_error_set(error, PTO_ENOMEM, "no memory for lines of shards");
}

/* `line` is taken. */
static int keep_head(struct pto_shard_lines *lines, const struct pto_shard_line *line, struct pto_error *error) {
  struct pto_shard_line *head = pto_grow(&lines->heads, &lines->head_count, &lines->head_capacity, sizeof *head);
  if (!head) {
    json_decref(line->document);
    return no_memory(error);
  }
  *head = *line;
  return PTO_OK;
}

static int keep_item(struct pto_shard_lines *lines, const struct pto_shard_line *line, struct pto_json_reader *reader,
                     struct pto_error *error) {
  struct pto_shard_item *found =
      pto_grow(&lines->items_found, &lines->item_count, &lines->item_capacity, sizeof *found);
  if (!found) {
    json_decref(line->document);
    return no_memory(error);
  }
  *found = (struct pto_shard_item){.path = line->path, .line = line->number, .document = line->document};
  found->item = pto_json_read_u64(reader, line->document, "item", MOST_ITEMS);
  if (pto_json_has(line->document, "seconds")) found->seconds = pto_json_read_number(reader, line->document, "seconds");
  found->result = pto_json_read_object(reader, line->document, "result");
  if (!reader->status && found->item % line->of != line->shard - 1)
    return pto_json_read_refuse(reader, "item %" PRIu64 " is none of shard %" PRIu32 "/%" PRIu32, found->item,
                                line->shard, line->of);
  return reader->status;
}

static int read_line(struct pto_shard_lines *lines, const char *path, uint64_t number, const char *text, size_t size,
                     struct pto_error *error) {
  struct pto_json_reader reader;
  struct pto_shard_line line = {.path = path, .number = number};
  line.document = pto_json_read_memory(&reader, path, text, size, error);
  if (!line.document)
    return pto_error_set(error, PTO_EINVAL, "%s: line %" PRIu64 " is none of a shard: no JSON object", path, number);
  pto_json_read_at(&reader, "line %" PRIu64, number);
  const char *format = json_string_value(json_object_get(line.document, "format"));
  if (!format || strcmp(format, "pto-shard") != 0)
    pto_json_read_refuse(&reader, "none of a shard: its format is \"%.40s\"", format ? format : "");
  if (pto_json_read_u64(&reader, line.document, "version", 1) != 1) pto_json_read_refuse(&reader, "version is not 1");
  line.of = (uint32_t)pto_json_read_u64(&reader, line.document, "of", PTO_SHARDS_MOST);
  line.shard = (uint32_t)pto_json_read_u64(&reader, line.document, "shard", line.of);
  if (!reader.status && line.shard == 0) pto_json_read_refuse(&reader, "shard is 0");
  if (reader.status) {
    json_decref(line.document);
    return reader.status;
  }
  if (!json_object_get(line.document, "command")) return keep_item(lines, &line, &reader, error);
  (void)pto_json_read_string(&reader, line.document, "program");
  (void)pto_json_read_string(&reader, line.document, "build");
  (void)pto_json_read_string(&reader, line.document, "list");
  (void)pto_json_read_u64(&reader, line.document, "items", MOST_ITEMS);
  json_t *command = pto_json_read_array(&reader, line.document, "command", 1000);
  for (size_t i = 0; !reader.status && i < json_array_size(command); i++)
    if (!json_is_string(json_array_get(command, i))) pto_json_read_refuse(&reader, "command: a word is no string");
  const int status = keep_head(lines, &line, error);
  return status ? status : reader.status;
}

static int read_file(struct pto_shard_lines *lines, const char *path, struct pto_error *error) {
  char *text = NULL;
  size_t capacity = 0;
  ssize_t size;
  int status = PTO_OK;
  FILE *stream = strcmp(path, "-") == 0 ? stdin : pto_text_file_open(path, error);
  if (!stream) return error->status;
  for (uint64_t number = 1; status == PTO_OK && (size = getline(&text, &capacity, stream)) >= 0; number++)
    status = read_line(lines, path, number, text, (size_t)size, error);
  if (status == PTO_OK && !feof(stream)) status = pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(errno));
  free(text);
  if (stream != stdin) fclose(stream);
  return status;
}

/* ---- all lines ---- */

/* "ptosim explore NAME --seed=7" */
static void say_command(const struct pto_shard_line *head, char *text, size_t size) {
  json_t *command = json_object_get(head->document, "command");
  int used = snprintf(text, size, "%s", json_string_value(json_object_get(head->document, "program")));
  for (size_t i = 0; i < json_array_size(command) && used < (int)size; i++)
    used += snprintf(text + used, size - (size_t)used, " %s", json_string_value(json_array_get(command, i)));
}

static bool is_same(const struct pto_shard_line *a, const struct pto_shard_line *b, const char *key) {
  return json_equal(json_object_get(a->document, key), json_object_get(b->document, key));
}

/* "b.jsonl: line 1: of ptosim explore x, and a.jsonl: line 1 of ptosim explore y" */
static int refuse_head(const struct pto_shard_line *head, const struct pto_shard_line *first, const char *is,
                       const char *was, struct pto_error *error) {
  return pto_error_set(error, PTO_EINVAL, "%s: line %" PRIu64 ": of %s, and %s: line %" PRIu64 ": of %s", head->path,
                       head->number, is, first->path, first->number, was);
}

static int check_head(const struct pto_shard_lines *lines, size_t index, struct pto_error *error) {
  const struct pto_shard_line *head = &lines->heads[index], *first = &lines->heads[0];
  char is[400], was[400];
  if (!is_same(head, first, "program") || !is_same(head, first, "command")) {
    say_command(head, is, sizeof is);
    say_command(first, was, sizeof was);
    return refuse_head(head, first, is, was, error);
  }
  static const struct {
    const char *key, *what;
  } keys[] = {{"build", "build"}, {"items", "a list with items"}, {"list", "a list"}, {"of", "shards"}};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
    if (is_same(head, first, keys[i].key)) continue;
    char *now = pto_json_dump(json_object_get(head->document, keys[i].key), JSON_ENCODE_ANY);
    char *then = pto_json_dump(json_object_get(first->document, keys[i].key), JSON_ENCODE_ANY);
    snprintf(is, sizeof is, "%s %s", keys[i].what, now ? now : "?");
    snprintf(was, sizeof was, "%s %s", keys[i].what, then ? then : "?");
    free(now);
    free(then);
    return refuse_head(head, first, is, was, error);
  }
  for (size_t i = 0; i < index; i++)
    if (lines->heads[i].shard == head->shard)
      return pto_error_set(error, PTO_EINVAL,
                           "shard %" PRIu32 "/%" PRIu32 " is there twice: %s: line %" PRIu64 ", and %s: line %" PRIu64,
                           head->shard, head->of, lines->heads[i].path, lines->heads[i].number, head->path,
                           head->number);
  return PTO_OK;
}

static int order_items(const void *left, const void *right) {
  const struct pto_shard_item *a = left, *b = right;
  return (a->item > b->item) - (a->item < b->item);
}

static const struct pto_shard_line *find_head(const struct pto_shard_lines *lines, uint64_t shard) {
  for (size_t i = 0; i < lines->head_count; i++)
    if (lines->heads[i].shard == shard) return &lines->heads[i];
  return NULL;
}

static int refuse_missing(const struct pto_shard_lines *lines, uint64_t item, struct pto_error *error) {
  const uint64_t shard = item % lines->of + 1;
  const struct pto_shard_line *head = find_head(lines, shard);
  if (!head)
    return pto_error_set(error, PTO_EINVAL,
                         "item %" PRIu64 " of %" PRIu64 " is missing: no file has shard %" PRIu64 "/%" PRIu32, item,
                         lines->items, shard, lines->of);
  return pto_error_set(error, PTO_EINVAL,
                       "item %" PRIu64 " of %" PRIu64 " is missing: shard %" PRIu64 "/%" PRIu32 " of %s: line %" PRIu64
                       " does not have it, so it was ended before",
                       item, lines->items, shard, lines->of, head->path, head->number);
}

/* Each item once. */
static int check_items(struct pto_shard_lines *lines, struct pto_error *error) {
  const struct pto_shard_item *found = lines->items_found;
  if (lines->item_count) qsort(lines->items_found, lines->item_count, sizeof *found, order_items);
  for (size_t i = 0; i < lines->item_count; i++) {
    if (i > 0 && found[i].item == found[i - 1].item)
      return pto_error_set(error, PTO_EINVAL,
                           "item %" PRIu64 " is there twice: %s: line %" PRIu64 ", and %s: line %" PRIu64,
                           found[i].item, found[i - 1].path, found[i - 1].line, found[i].path, found[i].line);
    if (found[i].item >= lines->items)
      return pto_error_set(error, PTO_EINVAL, "%s: line %" PRIu64 ": item %" PRIu64 ", and the list has %" PRIu64,
                           found[i].path, found[i].line, found[i].item, lines->items);
    if (found[i].item != i) return refuse_missing(lines, i, error);
  }
  return lines->item_count < lines->items ? refuse_missing(lines, lines->item_count, error) : PTO_OK;
}

static int check(struct pto_shard_lines *lines, const char *path, struct pto_error *error) {
  if (lines->head_count == 0)
    return pto_error_set(error, PTO_EINVAL, "%s: no line says which list its shards are of", path);
  json_t *first = lines->heads[0].document;
  lines->program = json_string_value(json_object_get(first, "program"));
  lines->build = json_string_value(json_object_get(first, "build"));
  lines->command = json_object_get(first, "command");
  lines->items = (uint64_t)json_integer_value(json_object_get(first, "items"));
  lines->digest = strtoull(json_string_value(json_object_get(first, "list")), NULL, 16);
  lines->of = lines->heads[0].of;
  for (size_t i = 1; i < lines->head_count; i++) {
    const int status = check_head(lines, i, error);
    if (status) return status;
  }
  return check_items(lines, error);
}

int pto_shard_lines_read(const char *const *paths, size_t count, struct pto_shard_lines *lines,
                         struct pto_error *error) {
  int status = PTO_OK;
  *lines = (struct pto_shard_lines){0};
  for (size_t i = 0; i < count && status == PTO_OK; i++) status = read_file(lines, paths[i], error);
  return status ? status : check(lines, paths[0], error);
}

void pto_shard_lines_fini(struct pto_shard_lines *lines) {
  for (size_t i = 0; i < lines->head_count; i++) json_decref(lines->heads[i].document);
  for (size_t i = 0; i < lines->item_count; i++) json_decref(lines->items_found[i].document);
  free(lines->heads);
  free(lines->items_found);
  *lines = (struct pto_shard_lines){0};
}
