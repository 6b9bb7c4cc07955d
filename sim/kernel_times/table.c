/* SPDX-License-Identifier: MIT */
/*
 * Tables as files, and what they say of a key.
 *
 * `columns` is the one list of what a line has.  Rows are sorted by kernel, core and key, so a kernel's stand together.
 */
#include <sim/kernel_times/kernel_times.h>

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct column {
  const char *name;
  size_t offset, size; /* in struct pto_kernel_row */
  bool is_text;
  uint64_t max; /* of a number */
};

#define FIELD(name) #name, offsetof(struct pto_kernel_row, name), sizeof(((struct pto_kernel_row *)0)->name)
#define TEXT(name)                                                                                                     \
  { FIELD(name), true, 0 }
#define NUMBER(name, max)                                                                                              \
  { FIELD(name), false, max }
#define MAX_COUNT (UINT64_C(1) << 48)
#define MAX_PS UINT64_C(1000000000000) /* 1 s */
#define MAX_CORES 3072

static const struct column columns[] = {TEXT(kernel),
                                        TEXT(core),
                                        TEXT(key),
                                        NUMBER(count, MAX_COUNT),
                                        NUMBER(mean_ps, MAX_PS),
                                        NUMBER(p10_ps, MAX_PS),
                                        NUMBER(p90_ps, MAX_PS),
                                        NUMBER(active_cores, MAX_CORES),
                                        TEXT(source),
                                        TEXT(commit),
                                        TEXT(date)};

/* ---- rows in order ---- */

static int compare(const struct pto_kernel_row *a, const struct pto_kernel_row *b) {
  int order = strcmp(a->kernel, b->kernel);
  if (order == 0) order = strcmp(a->core, b->core);
  return order != 0 ? order : strcmp(a->key, b->key);
}

/* The first row that is not before `row`. */
static uint32_t place_of(const struct pto_kernel_table *table, const struct pto_kernel_row *row) {
  uint32_t first = 0, count = table->count;
  while (count > 0) {
    const uint32_t half = count / 2;
    if (compare(&table->rows[first + half], row) < 0) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

static bool has_row(const struct pto_kernel_table *table, uint32_t at, const struct pto_kernel_row *row) {
  return at < table->count && compare(&table->rows[at], row) == 0;
}

bool pto_kernel_table_add(struct pto_kernel_table *table, const struct pto_kernel_row *row) {
  const uint32_t at = place_of(table, row);
  if (has_row(table, at, row)) {
    table->rows[at] = *row;
    return true;
  }
  struct pto_kernel_row *rows = realloc(table->rows, (table->count + 1) * sizeof *rows);
  if (!rows) return false;
  table->rows = rows;
  memmove(&rows[at + 1], &rows[at], (table->count - at) * sizeof *rows);
  rows[at] = *row;
  table->count++;
  return true;
}

void pto_kernel_table_free(struct pto_kernel_table *table) {
  free(table->rows);
  *table = (struct pto_kernel_table){0};
}

/* ---- files ---- */

static bool is_key(const char *key) {
  const size_t length = strlen(key);
  for (size_t i = 0; i < length; i++) {
    const bool is_blank = key[i] == ' ' && i > 0 && key[i - 1] != ' ' && i + 1 < length;
    if (!islower((unsigned char)key[i]) && !isdigit((unsigned char)key[i]) && !is_blank) return false;
  }
  return length > 0;
}

/* NULL, or what is wrong with the row's texts. */
static const char *fault_of(const struct pto_kernel_row *row) {
  if (row->kernel[0] == '\0') return "kernel is empty";
  if (strcmp(row->core, "AIC") != 0 && strcmp(row->core, "AIV") != 0 && strcmp(row->core, "MIX") != 0)
    return "core is neither AIC, AIV nor MIX";
  if (!is_key(row->key)) return "key has more than words of small letters and digits, with a blank between two";
  if (row->mean_ps == 0) return "mean_ps is 0";
  return NULL;
}

struct reader {
  const char *label;
  uint32_t line;
  struct pto_error *error;
};

static int refuse(const struct reader *reader, const char *what, const char *value) {
  return pto_error_set(reader->error, PTO_EINVAL, "%s line %" PRIu32 ": %s%s%s", reader->label, reader->line, what,
                       value[0] ? ": " : "", value);
}

static int read_field(const struct reader *reader, const struct column *column, const char *text, size_t length,
                      struct pto_kernel_row *row) {
  char value[128];
  snprintf(value, sizeof value, "%.*s", (int)pto_min_u64(length, sizeof value - 1), text);
  char *const field = (char *)row + column->offset;
  if (column->is_text) {
    if (length >= column->size || memchr(text, '"', length)) {
      char what[96];
      snprintf(what, sizeof what, "%s has more than %zu characters, or a quote", column->name, column->size - 1);
      return refuse(reader, what, value);
    }
    memcpy(field, value, length + 1);
    return PTO_OK;
  }
  errno = 0;
  const uint64_t number = strtoull(value, NULL, 10);
  if (length == 0 || strspn(value, "0123456789") != length || errno != 0 || number > column->max) {
    char what[96];
    snprintf(what, sizeof what, "%s is no whole number of 0 to %" PRIu64, column->name, column->max);
    return refuse(reader, what, value);
  }
  if (column->size == sizeof(uint32_t))
    memcpy(field, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
  else
    memcpy(field, &number, sizeof number);
  return PTO_OK;
}

static int read_row(const struct reader *reader, const char *line, size_t length, struct pto_kernel_row *row) {
  const char *at = line, *const end = line + length;
  memset(row, 0, sizeof *row);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(columns); i++) {
    const bool is_last = i + 1 == PTO_ARRAY_LENGTH(columns);
    const char *comma = memchr(at, ',', (size_t)(end - at));
    if (is_last != (comma == NULL)) return refuse(reader, is_last ? "more fields than columns" : "too few fields", "");
    const char *const stop = comma ? comma : end;
    const int status = read_field(reader, &columns[i], at, (size_t)(stop - at), row);
    if (status != PTO_OK) return status;
    at = stop + 1;
  }
  const char *const fault = fault_of(row);
  return fault ? refuse(reader, fault, "") : PTO_OK;
}

static void head_line(char *text, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(columns); i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "," : "", columns[i].name);
}

static int read_text(struct reader *reader, const char *text, size_t size, struct pto_kernel_table *table) {
  char head[160];
  head_line(head, sizeof head);
  const char *const end = text + size;
  for (const char *line = text; line < end; reader->line++) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    if (!stop) stop = end;
    const size_t length = (size_t)(stop - line) - (stop > line && stop[-1] == '\r');
    struct pto_kernel_row row;
    if (reader->line == 1) {
      if (length != strlen(head) || memcmp(line, head, length) != 0) return refuse(reader, "the columns are not", head);
    } else if (length > 0) {
      const int status = read_row(reader, line, length, &row);
      if (status != PTO_OK) return status;
      if (has_row(table, place_of(table, &row), &row)) return refuse(reader, "is there twice", row.key);
      if (!pto_kernel_table_add(table, &row))
        return pto_error_set(reader->error, PTO_ENOMEM, "%s: no memory to read it", reader->label);
    }
    line = stop + 1;
  }
  return reader->line > 1 ? PTO_OK : refuse(reader, "the columns are not", head);
}

/* All of a file, NUL-terminated, to be freed; NULL with a sentence. */
static char *read_file(const char *path, size_t *size, struct pto_error *error) {
  FILE *const file = fopen(path, "re");
  char *text = NULL;
  size_t used = 0, room = 0;
  if (!file) {
    pto_error_set(error, PTO_ESYSTEM, "table of kernel times '%s' is neither shipped nor a file that opens: %s", path,
                  strerror(errno));
    return NULL;
  }
  for (size_t got = 1; got > 0; used += got) {
    if (used == room) {
      room = room ? 2 * room : 4096;
      char *const more = realloc(text, room);
      if (!more) break;
      text = more;
    }
    got = fread(text + used, 1, room - used, file);
  }
  if (ferror(file) || !feof(file)) {
    pto_error_set(error, PTO_ESYSTEM, "%s: cannot be read", path);
    free(text);
    text = NULL;
  }
  fclose(file);
  *size = used;
  return text;
}

int pto_kernel_table_load(const char *name_or_path, struct pto_kernel_table *table, struct pto_error *error) {
  struct reader reader = {.label = name_or_path, .line = 1, .error = error};
  struct pto_kernel_table read = {0};
  struct pto_kernel_table_file shipped;
  bool is_shipped = false;
  for (uint32_t i = 0; !is_shipped && pto_kernel_table_file_at(i, &shipped); i++)
    is_shipped = strcmp(shipped.name, name_or_path) == 0;
  char *text = NULL;
  if (!is_shipped && !(text = read_file(name_or_path, &shipped.size_bytes, error))) return error->status;
  const int status = read_text(&reader, is_shipped ? shipped.text : text, shipped.size_bytes, &read);
  free(text);
  if (status == PTO_OK)
    *table = read;
  else
    pto_kernel_table_free(&read);
  return status;
}

int pto_kernel_table_write(const struct pto_kernel_table *table, FILE *to) {
  char head[160];
  head_line(head, sizeof head);
  for (uint32_t i = 0; i < table->count; i++) {
    if (fault_of(&table->rows[i])) return PTO_EINVAL;
    for (size_t k = 0; k < PTO_ARRAY_LENGTH(columns); k++)
      if (columns[k].is_text && strpbrk((const char *)&table->rows[i] + columns[k].offset, ",\"\r\n"))
        return PTO_EINVAL;
  }
  fprintf(to, "%s\n", head);
  for (uint32_t i = 0; i < table->count; i++) {
    const struct pto_kernel_row *r = &table->rows[i];
    fprintf(to, "%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%s,%s,%s\n", r->kernel, r->core,
            r->key, r->count, r->mean_ps, r->p10_ps, r->p90_ps, r->active_cores, r->source, r->commit, r->date);
  }
  return PTO_OK;
}

/* ---- looking up ---- */

/* The numbers of a key, in its order.  Names of dtypes ("bf16", "f32", "i8") are words. */
struct numbers {
  uint32_t count;
  struct {
    uint32_t first, end; /* in the text */
    uint64_t value;
  } at[PTO_KERNEL_KEY_SIZE / 2];
};

static bool is_dtype(const char *word, size_t length) {
  static const char *const letters[] = {"bf", "f", "fp", "i", "u"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(letters); i++) {
    const size_t prefix = strlen(letters[i]);
    if (length > prefix && strncmp(word, letters[i], prefix) == 0 &&
        strspn(word + prefix, "0123456789") == length - prefix)
      return true;
  }
  return false;
}

static void find_numbers(const char *key, struct numbers *numbers) {
  numbers->count = 0;
  for (uint32_t word = 0; key[word];) {
    const uint32_t length = (uint32_t)strcspn(key + word, " ");
    for (uint32_t i = word; i < word + length && !is_dtype(key + word, length);) {
      const uint32_t digits = (uint32_t)strspn(key + i, "0123456789");
      if (digits > 0 && digits <= 18) {
        numbers->at[numbers->count].first = i;
        numbers->at[numbers->count].end = i + digits;
        numbers->at[numbers->count++].value = strtoull(key + i, NULL, 10);
      }
      i += digits > 0 ? digits : 1;
    }
    word += length;
    word += key[word] == ' ';
  }
}

/* Which number two keys differ in; UINT32_MAX where it is not just one. */
static uint32_t difference(const char *a, const struct numbers *in_a, const char *b, const struct numbers *in_b) {
  uint32_t found = UINT32_MAX, at_a = 0, at_b = 0;
  if (in_a->count != in_b->count) return UINT32_MAX;
  for (uint32_t i = 0; i <= in_a->count; i++) {
    const uint32_t end_a = i < in_a->count ? in_a->at[i].first : (uint32_t)strlen(a);
    const uint32_t end_b = i < in_b->count ? in_b->at[i].first : (uint32_t)strlen(b);
    if (end_a - at_a != end_b - at_b || memcmp(a + at_a, b + at_b, end_a - at_a) != 0) return UINT32_MAX;
    if (i == in_a->count) break;
    if (in_a->at[i].value != in_b->at[i].value) {
      if (found != UINT32_MAX) return UINT32_MAX;
      found = i;
    }
    at_a = in_a->at[i].end;
    at_b = in_b->at[i].end;
  }
  return found;
}

/* On the line through two rows, to the nearest. */
static uint64_t between(uint64_t x, uint64_t low, uint64_t low_ps, uint64_t high, uint64_t high_ps) {
  const unsigned __int128 sum = (unsigned __int128)low_ps * (high - x) + (unsigned __int128)high_ps * (x - low);
  return (uint64_t)((sum + (high - low) / 2) / (high - low));
}

static struct pto_kernel_found interpolate(const struct pto_kernel_table *table, uint32_t first, uint32_t end,
                                           const char *key) {
  struct numbers wanted;
  find_numbers(key, &wanted);
  const struct pto_kernel_row *low[PTO_KERNEL_KEY_SIZE / 2] = {0}, *high[PTO_KERNEL_KEY_SIZE / 2] = {0};
  uint64_t low_at[PTO_KERNEL_KEY_SIZE / 2], high_at[PTO_KERNEL_KEY_SIZE / 2];
  for (uint32_t i = first; i < end; i++) {
    const struct pto_kernel_row *row = &table->rows[i];
    struct numbers numbers;
    find_numbers(row->key, &numbers);
    const uint32_t which = difference(key, &wanted, row->key, &numbers);
    if (which == UINT32_MAX) continue;
    const uint64_t value = numbers.at[which].value, x = wanted.at[which].value;
    if (value < x && (!low[which] || value > low_at[which])) {
      low[which] = row;
      low_at[which] = value;
    } else if (value > x && (!high[which] || value < high_at[which])) {
      high[which] = row;
      high_at[which] = value;
    }
  }
  for (uint32_t i = 0; i < wanted.count; i++) {
    if (!low[i] || !high[i]) continue;
    return (struct pto_kernel_found){
        .origin = PTO_ORIGIN_INTERPOLATED,
        .ps = between(wanted.at[i].value, low_at[i], low[i]->mean_ps, high_at[i], high[i]->mean_ps),
        .active_cores = low[i]->active_cores == high[i]->active_cores ? low[i]->active_cores : 0};
  }
  return (struct pto_kernel_found){.origin = PTO_ORIGIN_ASSUMED};
}

static struct pto_kernel_found find_of(const struct pto_kernel_table *table, const char *kernel, const char *core,
                                       const char *key) {
  struct pto_kernel_row wanted = {0};
  if (strlen(kernel) >= sizeof wanted.kernel || strlen(key) >= sizeof wanted.key)
    return (struct pto_kernel_found){.origin = PTO_ORIGIN_ASSUMED};
  memcpy(wanted.kernel, kernel, strlen(kernel));
  memcpy(wanted.core, core, strlen(core));
  const uint32_t first = place_of(table, &wanted);
  uint32_t end = first;
  for (; end < table->count; end++) {
    const struct pto_kernel_row *row = &table->rows[end];
    if (strcmp(row->kernel, kernel) != 0 || strcmp(row->core, core) != 0) break;
    if (strcmp(row->key, key) == 0)
      return (struct pto_kernel_found){PTO_ORIGIN_MEASURED, row->mean_ps, row->active_cores};
  }
  return interpolate(table, first, end, key);
}

struct pto_kernel_found pto_kernel_table_find(const struct pto_kernel_table *table, const char *kernel,
                                              uint32_t core_kind, const char *key) {
  const struct pto_kernel_found found = find_of(table, kernel, core_kind == PTO_AIV ? "AIV" : "AIC", key);
  return found.origin == PTO_ORIGIN_ASSUMED ? find_of(table, kernel, "MIX", key) : found;
}
