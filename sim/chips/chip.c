/* SPDX-License-Identifier: MIT */
/*
 * Chip files: INI text → struct pto_chip, with every fault named by file, line, key and value.
 *
 * What a file may say is in chip_keys.h.  The comment behind a value begins with its tag.
 * The INI parser (inih) reads through `read_line`, which counts lines and sees what the parser does not report:
 * repeated or empty sections, lines that are too long.
 */
#include <sim/chips/chip.h>
#include <sim/chips/chip_files.h>
#include <sim/chips/chip_keys.h>

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/closest.h>
#include <runtime/base/text.h>

struct loader {
  const char *label; /* how messages call the file */
  FILE *file;
  uint32_t line;
  bool is_sheet;                /* `file` is what a sheet was written to */
  bool is_too_long;             /* the parser's buffer ended before the line did */
  char comment[256];            /* of the line that the parser has */
  struct pto_chip_sheet *sheet; /* NULL: none is wanted */
  bool has_section[PTO_CHIP_SECTION_COUNT];
  bool has_text[PTO_CHIP_TEXT_COUNT], has_key[PTO_CHIP_MAX_NOTES];
  struct pto_chip chip;
  struct pto_error *error; /* status PTO_OK until the first fault */
};

/* Of a file with the line; of a sheet, whose text is in no file, without. */
PTO_PRINTF(2, 3) static void fault(struct loader *loader, const char *format, ...) {
  char text[PTO_SENTENCE_SIZE], line[32] = "";
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!loader->is_sheet) snprintf(line, sizeof line, " line %u", loader->line);
  pto_error_set(loader->error, PTO_EINVAL, "%s%s: %.800s", loader->label, line, text);
}

/* Keeps the first fault only: what follows it is often its consequence. */
#define FAULT(loader, format, ...) ((loader)->error->status == PTO_OK ? fault((loader), format, __VA_ARGS__) : (void)0)

static void check_section(struct loader *loader, const char *text) {
  size_t length = strcspn(text, "]");
  if (text[length] == '\0') {
    FAULT(loader, "'[%.*s' has no ']'", (int)strcspn(text, "\r\n"), text);
    return;
  }
  for (size_t i = 0; i < PTO_CHIP_SECTION_COUNT; i++) {
    if (strlen(pto_chip_sections[i]) != length || memcmp(pto_chip_sections[i], text, length) != 0) continue;
    if (loader->has_section[i]) FAULT(loader, "section [%s] is there twice", pto_chip_sections[i]);
    loader->has_section[i] = true;
    return;
  }
  FAULT(loader, "unknown section [%.*s]", (int)length, text);
}

/* ---- where numbers come from ---- */

static const char *const tag_names[PTO_CHIP_TAG_COUNT] = {"", "measured", "fitted", "vendor", "assumed"};

const char *pto_chip_tag_name(enum pto_chip_tag tag) { return tag_names[tag]; }

/* Keeps the comment of a line, or a comment line at the head of the file. */
static void take_comment(struct loader *loader, const char *line, bool is_comment) {
  struct pto_chip_sheet *sheet = loader->sheet;
  if (!sheet) return;
  loader->comment[0] = '\0';
  if (is_comment) {
    const size_t used = strlen(sheet->about);
    bool is_head = *line == ';' && used + strlen(line) < sizeof sheet->about;
    for (size_t i = 0; i < PTO_CHIP_SECTION_COUNT; i++) is_head &= !loader->has_section[i];
    if (is_head) memcpy(sheet->about + used, line, strlen(line) + 1);
    return;
  }
  const char *at = line; /* which a semicolon does not begin: it would be a comment line */
  while ((at = strchr(at, ';')) != NULL && !isspace((unsigned char)at[-1])) at++;
  if (!at) return;
  at += 1 + strspn(at + 1, " \t");
  size_t length = strcspn(at, "\r\n");
  while (length > 0 && isspace((unsigned char)at[length - 1])) length--;
  snprintf(loader->comment, sizeof loader->comment, "%.*s", (int)length, at);
}

/* The comment's first word is its tag where a colon follows, or nothing. */
static void read_tag(const char *comment, struct pto_chip_note *note) {
  const size_t length = strspn(comment, "abcdefghijklmnopqrstuvwxyz");
  enum pto_chip_tag tag = PTO_CHIP_UNTAGGED;
  for (uint32_t i = PTO_CHIP_MEASURED; i < PTO_CHIP_TAG_COUNT; i++)
    if (strlen(tag_names[i]) == length && memcmp(tag_names[i], comment, length) == 0) tag = i;
  if (length == 6 && memcmp("public", comment, length) == 0) tag = PTO_CHIP_VENDOR;
  if (comment[length] != ':' && comment[length] != '\0') tag = PTO_CHIP_UNTAGGED;
  const char *source = tag == PTO_CHIP_UNTAGGED ? comment : comment + length + (comment[length] == ':');
  note->tag = tag;
  snprintf(note->source, sizeof note->source, "%s", source + strspn(source, " \t"));
}

static void note_key(struct loader *loader, const char *section, const char *key, const char *value) {
  struct pto_chip_sheet *sheet = loader->sheet;
  if (!sheet || loader->error->status != PTO_OK) return;
  PTO_ASSERT(sheet->count < PTO_CHIP_MAX_NOTES);
  struct pto_chip_note *note = &sheet->notes[sheet->count++];
  *note = (struct pto_chip_note){.section = section, .key = key};
  snprintf(note->value, sizeof note->value, "%s", value);
  read_tag(loader->comment, note);
}

/* One line for the parser.  NULL ends the parse, after a fault too. */
static char *read_line(char *buffer, int size, void *context) {
  struct loader *loader = context;
  if (loader->error->status != PTO_OK || !fgets(buffer, size, loader->file)) return NULL;
  loader->line++;
  size_t length = strlen(buffer);
  const char *text = buffer + strspn(buffer, " \t");
  bool is_comment = *text == ';' || *text == '#' || *text == '\0' || *text == '\r' || *text == '\n';
  if (length + 1 >= (size_t)size && buffer[length - 1] != '\n') {
    FAULT(loader, "longer than %d characters", size - 2);
    return NULL;
  }
  if (!is_comment && text != buffer) {
    FAULT(loader, "'%.*s' does not begin in the first column", (int)strcspn(text, "\r\n"), text);
    return NULL;
  }
  if (*text == '[') check_section(loader, text + 1);
  take_comment(loader, text, is_comment);
  return loader->error->status == PTO_OK ? buffer : NULL;
}

static void set_text(struct loader *loader, size_t index, const char *value) {
  const char *const name = pto_chip_texts[index].name;
  size_t length = strlen(value);
  if (loader->has_text[index]) FAULT(loader, "%s = %s: %s is there twice", name, value, name);
  if (length == 0 || length >= sizeof loader->chip.name)
    FAULT(loader, "%s = '%s': must have 1 to %zu characters", name, value, sizeof loader->chip.name - 1);
  for (size_t i = 0; i < length; i++) {
    if (!isalnum((unsigned char)value[i]) && !strchr(pto_chip_texts[index].more, value[i]))
      FAULT(loader, "%s = '%s': %s", name, value, pto_chip_texts[index].what);
  }
  if (loader->error->status != PTO_OK) return;
  memcpy((char *)&loader->chip + pto_chip_texts[index].offset, value, length + 1);
  loader->has_text[index] = true;
}

/* The value that a key has, by a word of its list or as a number in its range; false after a fault. */
static bool read_value(struct loader *loader, const struct pto_chip_key *key, const char *value, uint64_t *number) {
  if (key->words) {
    for (*number = 0; key->words[*number]; ++*number)
      if (strcmp(key->words[*number], value) == 0) return true;
    FAULT(loader, "%s = %s is neither %s nor %s%s%s", key->name, value, key->words[0], key->words[1],
          key->words[2] ? " nor " : "", key->words[2] ? key->words[2] : "");
    return false;
  }
  const struct pto_chip_note note = {.section = key->section, .key = key->name};
  const char *unit = pto_chip_note_unit(&note);
  size_t digits = strspn(value, "0123456789");
  errno = 0;
  *number = strtoull(value, NULL, 10);
  if (digits == 0 || value[digits] != '\0') {
    FAULT(loader, "%s = '%s' is not a whole number%s%s", key->name, value, unit[0] ? " of " : "", unit);
  } else if (errno == ERANGE || *number < key->min || *number > key->max) {
    FAULT(loader, "%s = %s is not within %llu to %llu%s%s", key->name, value, (unsigned long long)key->min,
          (unsigned long long)key->max, unit[0] ? " " : "", unit);
  }
  return loader->error->status == PTO_OK;
}

static void set_key(struct loader *loader, size_t index, const char *value) {
  const struct pto_chip_key *key = &pto_chip_keys[index];
  uint64_t number;
  if (loader->has_key[index]) FAULT(loader, "%s = %s: %s is there twice", key->name, value, key->name);
  if (loader->error->status != PTO_OK || !read_value(loader, key, value, &number)) return;
  char *field = (char *)&loader->chip + key->offset;
  PTO_ASSERT(key->size == sizeof(uint32_t) || key->size == sizeof number);
  if (key->size == sizeof(uint32_t))
    memcpy(field, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
  else
    memcpy(field, &number, sizeof number);
  loader->has_key[index] = true;
}

/* What absent keys are; a key's other one stands before it in the list. */
static void set_absent(struct pto_chip *chip, const bool *has_key) {
  for (size_t i = 0; i < pto_chip_key_count; i++) {
    if (!has_key[i] && pto_chip_keys[i].fallback != PTO_CHIP_NO_FIELD)
      memcpy((char *)chip + pto_chip_keys[i].offset, (char *)chip + pto_chip_keys[i].fallback, pto_chip_keys[i].size);
  }
}

/* Called by the parser for each key; 1: go on (faults end the parse through read_line). */
static int take_key(void *context, const char *section, const char *name, const char *value) {
  struct loader *loader = context;
  for (size_t i = 0; i < PTO_CHIP_TEXT_COUNT; i++) {
    if (strcmp(section, "chip") != 0 || strcmp(name, pto_chip_texts[i].name) != 0) continue;
    set_text(loader, i, value);
    note_key(loader, pto_chip_sections[0], pto_chip_texts[i].name, value);
    return 1;
  }
  for (size_t i = 0; i < pto_chip_key_count; i++) {
    if (strcmp(section, pto_chip_keys[i].section) != 0 || strcmp(name, pto_chip_keys[i].name) != 0) continue;
    set_key(loader, i, value);
    note_key(loader, pto_chip_keys[i].section, pto_chip_keys[i].name, value);
    return 1;
  }
  if (section[0] == '\0')
    FAULT(loader, "%s = %s stands before the first section", name, value);
  else
    FAULT(loader, "unknown key %s = %s in [%s]", name, value, section);
  return 1;
}

/* A table's path is relative to the chip file; a word without '/' and ".csv" is a shipped table's name. */
static void find_kernel_times(struct loader *loader) {
  struct pto_chip *chip = &loader->chip;
  const char *const end = strrchr(loader->label, '/');
  const size_t length = strlen(chip->kernel_times), folder = end ? (size_t)(end + 1 - loader->label) : 0;
  const bool is_path = strchr(chip->kernel_times, '/') || pto_text_ends_with(chip->kernel_times, ".csv");
  if (!is_path || chip->kernel_times[0] == '/') return;
  if (folder + length >= sizeof chip->kernel_times) {
    FAULT(loader, "kernel_times = %s: the path of the chip file is too long for that", chip->kernel_times);
    return;
  }
  memmove(chip->kernel_times + folder, chip->kernel_times, length + 1);
  memcpy(chip->kernel_times, loader->label, folder);
}

/* What [fabric] does not say, and whether what it says goes together. */
static int check_fabric(struct loader *loader) {
  static const char *const tiers[PTO_CHIP_TIER_COUNT] = {"package", "node", "nodes"};
  struct pto_chip_fabric *fabric = &loader->chip.fabric;
  if (!fabric->dies_per_package) fabric->dies_per_package = 1;
  if (!fabric->chips_per_node) fabric->chips_per_node = fabric->dies_per_package;
  if (!fabric->nodes) fabric->nodes = 1;
  if (!fabric->link_percent) fabric->link_percent = 100;
  if (fabric->chips_per_node % fabric->dies_per_package != 0)
    return pto_error_set(loader->error, PTO_EINVAL, "%s: chips_per_node = %u is no multiple of dies_per_package = %u",
                         loader->label, fabric->chips_per_node, fabric->dies_per_package);
  if (fabric->nodes * fabric->chips_per_node > PTO_CHIP_MAX_JOINED)
    return pto_error_set(loader->error, PTO_EINVAL, "%s: nodes = %u of chips_per_node = %u are more than %u chips",
                         loader->label, fabric->nodes, fabric->chips_per_node, PTO_CHIP_MAX_JOINED);
  const uint32_t members[PTO_CHIP_TIER_COUNT] = {fabric->dies_per_package,
                                                 fabric->chips_per_node / fabric->dies_per_package, fabric->nodes};
  for (uint32_t tier = 0; tier < PTO_CHIP_TIER_COUNT; tier++) {
    if (members[tier] > 1 && !(fabric->tiers[tier].latency_ps && fabric->tiers[tier].bandwidth_mbps))
      return pto_error_set(loader->error, PTO_EINVAL, "%s: [fabric] %s_%s is missing", loader->label, tiers[tier],
                           fabric->tiers[tier].latency_ps ? "bandwidth_mbps" : "latency_ps");
  }
  return PTO_OK;
}

/* What a recorder adds, where one runs. */
static void add_profiling(struct pto_chip *chip) {
  if (!chip->has_profiling) return;
  chip->kernel_start_ps += chip->profiling_start_ps;
  chip->pending_start_ps += chip->profiling_pending_ps;
  chip->work_ps[PTO_WORK_DISPATCH] += chip->profiling_dispatch_ps;
  chip->dispatch_more_ps += chip->profiling_dispatch_ps;
  chip->work_ps[PTO_WORK_POLL] += chip->profiling_poll_ps;
  chip->work_ps[PTO_WORK_COMPLETE] += chip->profiling_complete_ps;
}

static int parse(struct loader *loader) {
  int line = ini_parse_stream(read_line, loader, take_key, loader);
  if (loader->error->status != PTO_OK) return loader->error->status;
  if (ferror(loader->file))
    return pto_error_set(loader->error, PTO_ESYSTEM, "%s: cannot be read: %s", loader->label, strerror(errno));
  if (line > 0)
    return pto_error_set(loader->error, PTO_EINVAL, "%s line %d: neither [section] nor key = value", loader->label,
                         line);
  if (line < 0) return pto_error_set(loader->error, PTO_ENOMEM, "%s: no memory to read it", loader->label);
  if (!loader->has_text[PTO_CHIP_TEXT_NAME])
    return pto_error_set(loader->error, PTO_EINVAL, "%s: [chip] name is missing", loader->label);
  for (size_t i = 0; i < pto_chip_key_count; i++) {
    const bool is_stage = strcmp(pto_chip_keys[i].section, PTO_CHIP_STAGES) == 0;
    loader->chip.has_stages |= is_stage && loader->has_key[i];
    if (!loader->has_key[i] && (!pto_chip_keys[i].is_optional || (is_stage && loader->chip.has_stages)))
      return pto_error_set(loader->error, PTO_EINVAL, "%s: [%s] %s is missing", loader->label, pto_chip_keys[i].section,
                           pto_chip_keys[i].name);
  }
  set_absent(&loader->chip, loader->has_key);
  add_profiling(&loader->chip);
  find_kernel_times(loader);
  if (loader->error->status != PTO_OK) return loader->error->status;
  if (loader->chip.l2_bytes && !loader->chip.shares_anew)
    return pto_error_set(loader->error, PTO_EINVAL, "%s: l2_bytes needs sharing = anew", loader->label);
  if (loader->chip.has_lru_l2 && !loader->chip.l2_bytes)
    return pto_error_set(loader->error, PTO_EINVAL, "%s: l2 = lru needs l2_bytes", loader->label);
  if (loader->chip.look_ps && !loader->chip.loop_ps)
    return pto_error_set(loader->error, PTO_EINVAL, "%s: look needs loop", loader->label);
  if (loader->chip.scheduler_count > loader->chip.cluster_count)
    return pto_error_set(loader->error, PTO_EINVAL,
                         "%s: schedulers = %u but clusters = %u; each scheduler owns a cluster or more", loader->label,
                         loader->chip.scheduler_count, loader->chip.cluster_count);
  return check_fabric(loader);
}

/* Text in memory through the same stream as a file. */
static FILE *open_shipped(const char *name, bool *is_shipped) {
  struct pto_chip_file shipped;
  for (uint32_t i = 0; pto_chip_file_at(i, &shipped); i++) {
    if (strcmp(shipped.name, name) != 0) continue;
    *is_shipped = true;
    return fmemopen((void *)(uintptr_t)shipped.text, shipped.size_bytes, "r");
  }
  *is_shipped = false;
  return NULL;
}

static int refuse_unknown(const char *name_or_path, struct pto_error *error) {
  int reason = errno;
  pto_error_set(error, PTO_ESYSTEM, "chip '%s' is neither shipped (", name_or_path);
  for (uint32_t i = 0; pto_chip_name_at(i); i++) pto_error_append(error, "%s%s", i ? ", " : "", pto_chip_name_at(i));
  pto_error_append(error, ") nor a file that opens: %s", strerror(reason));
  struct pto_closest closest;
  char question[PTO_CLOSEST_TEXT];
  pto_closest_begin(&closest, name_or_path);
  for (uint32_t i = 0; pto_chip_name_at(i); i++) pto_closest_consider(&closest, pto_chip_name_at(i));
  pto_error_append(error, "%s", pto_closest_question(&closest, question));
  return PTO_ESYSTEM;
}

int pto_chip_load(const char *name_or_path, struct pto_chip *chip, struct pto_error *error) {
  return pto_chip_load_sheet(name_or_path, chip, NULL, error);
}

/* Takes the file, which may be NULL where memory is short. */
static int load_file(FILE *file, const char *label, bool is_sheet, struct pto_chip *chip, struct pto_chip_sheet *sheet,
                     struct pto_error *error) {
  struct loader loader;
  memset(&loader, 0, sizeof loader);
  loader.label = label;
  loader.is_sheet = is_sheet;
  loader.file = file;
  loader.sheet = sheet;
  loader.error = error;
  if (!file) return pto_error_set(error, PTO_ENOMEM, "chip %s: no memory to read it", label);
  const int status = parse(&loader);
  fclose(file);
  if (status == PTO_OK) *chip = loader.chip;
  return status;
}

/* Puts the names that the sheet has before the note's. */
static int add_half_kernel(const struct pto_chip_sheet *sheet, struct pto_chip_note *note, struct pto_error *error) {
  const struct pto_chip_note *before = pto_chip_sheet_find(sheet, note->key);
  char value[2 * sizeof note->value];
  if (!before) return PTO_OK;
  if ((size_t)snprintf(value, sizeof value, "%s+%s", before->value, note->value) >= sizeof note->value)
    return pto_error_set(error, PTO_EINVAL, "%s = %s: longer than %zu characters", note->key, value,
                         sizeof note->value - 1);
  memcpy(note->value, value, sizeof note->value);
  return PTO_OK;
}

/* Sets what stands behind commas, "dispatch=1", in the sheet. */
static int set_keys(const char *settings, struct pto_chip_sheet *sheet, struct pto_error *error) {
  while (*settings == ',') {
    struct pto_chip_note note = {.tag = PTO_CHIP_ASSUMED, .source = "set"};
    char key[64];
    const size_t length = strcspn(++settings, ","), key_length = strcspn(settings, "=,");
    if (key_length == length || key_length >= sizeof key || length - key_length > sizeof note.value)
      return pto_error_set(error, PTO_EINVAL, "chip: '%.*s' is not KEY=VALUE", (int)length, settings);
    snprintf(key, sizeof key, "%.*s", (int)key_length, settings);
    snprintf(note.value, sizeof note.value, "%.*s", (int)(length - key_length - 1), settings + key_length + 1);
    note.key = key;
    int status = strcmp(key, pto_chip_texts[PTO_CHIP_TEXT_HALF_KERNEL].name) == 0 ? add_half_kernel(sheet, &note, error)
                                                                                  : PTO_OK;
    if (status == PTO_OK) status = pto_chip_sheet_set(sheet, &note, error);
    if (status) return status;
    settings += length;
  }
  return PTO_OK;
}

static int load_with_settings(const char *text, size_t name_length, struct pto_chip *chip, struct pto_chip_sheet *sheet,
                              struct pto_error *error) {
  char *name = strndup(text, name_length);
  struct pto_chip_sheet *own = sheet ? NULL : malloc(sizeof *own), *used = sheet ? sheet : own;
  int status = name && used ? pto_chip_load_sheet(name, chip, used, error)
                            : pto_error_set(error, PTO_ENOMEM, "chip %s: no memory to read it", text);
  if (status == PTO_OK) status = set_keys(text + name_length, used, error);
  if (status == PTO_OK) status = pto_chip_sheet_load(used, name, chip, error);
  if (status == PTO_OK) {
    const size_t length = strlen(chip->name);
    const int rest = snprintf(chip->name + length, sizeof chip->name - length, "%s", text + name_length);
    if (rest >= (int)(sizeof chip->name - length)) strcpy(chip->name + sizeof chip->name - sizeof "…", "…");
  }
  free(own);
  free(name);
  return status;
}

int pto_chip_load_sheet(const char *name_or_path, struct pto_chip *chip, struct pto_chip_sheet *sheet,
                        struct pto_error *error) {
  bool is_shipped;
  const size_t name_length = strcspn(name_or_path, ",");
  if (name_or_path[name_length]) return load_with_settings(name_or_path, name_length, chip, sheet, error);
  if (sheet) memset(sheet, 0, sizeof *sheet);
  pto_error_clear(error);
  FILE *file = open_shipped(name_or_path, &is_shipped);
  if (!is_shipped && !(file = pto_text_file_open(name_or_path, error)))
    return error->status == PTO_ESYSTEM ? refuse_unknown(name_or_path, error) : error->status;
  return load_file(file, name_or_path, false, chip, sheet, error);
}

/* ---- sheets ---- */

const char *pto_chip_note_unit(const struct pto_chip_note *note) {
  static const struct {
    const char *end, *unit;
  } units[] = {{"_ps", "ps"},     {"_mbps", "MB/s"},     {"_khz", "kHz"},   {"_bytes", "bytes"},
               {"_percent", "%"}, {"_cycle", "a cycle"}, {"bit", "a cycle"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(units); i++)
    if (pto_text_ends_with(note->key, units[i].end)) return units[i].unit;
  return strcmp(note->section, "control_ps") == 0 ? "ps" : "";
}

const struct pto_chip_note *pto_chip_sheet_find(const struct pto_chip_sheet *sheet, const char *key) {
  for (uint32_t i = 0; i < sheet->count; i++)
    if (strcmp(sheet->notes[i].key, key) == 0) return &sheet->notes[i];
  return NULL;
}

/* The constant names of a key that a chip file may have. */
static bool find_names(const char *key, const char **section, const char **name) {
  for (size_t i = 0; i < PTO_CHIP_TEXT_COUNT; i++) {
    if (strcmp(key, pto_chip_texts[i].name) != 0) continue;
    *section = pto_chip_sections[0];
    *name = pto_chip_texts[i].name;
    return true;
  }
  for (size_t i = 0; i < pto_chip_key_count; i++) {
    if (strcmp(key, pto_chip_keys[i].name) != 0) continue;
    *section = pto_chip_keys[i].section;
    *name = pto_chip_keys[i].name;
    return true;
  }
  return false;
}

static int refuse_key(const char *key, struct pto_error *error) {
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  pto_closest_begin(&closest, key);
  for (size_t i = 0; i < pto_chip_key_count; i++) pto_closest_consider(&closest, pto_chip_keys[i].name);
  for (size_t i = 0; i < PTO_CHIP_TEXT_COUNT; i++) pto_closest_consider(&closest, pto_chip_texts[i].name);
  return pto_error_set(error, PTO_EINVAL, "a chip file has no key %s%s", key, pto_closest_question(&closest, question));
}

int pto_chip_sheet_set(struct pto_chip_sheet *sheet, const struct pto_chip_note *note, struct pto_error *error) {
  struct pto_chip_note made = *note;
  if (!find_names(note->key, &made.section, &made.key)) return refuse_key(note->key, error);
  if (strlen(made.key) + strlen(made.value) + strlen(made.source) + 40 > INI_MAX_LINE)
    return pto_error_set(error, PTO_EINVAL, "%s = %s: the source \"%s\" is too long for a line", made.key, made.value,
                         made.source);
  uint32_t at = sheet->count;
  for (uint32_t i = 0; i < sheet->count; i++)
    if (strcmp(sheet->notes[i].key, made.key) == 0) at = i;
  if (at == sheet->count) {
    PTO_ASSERT(sheet->count < PTO_CHIP_MAX_NOTES);
    /* behind the last of its section */
    for (uint32_t i = 0; i < sheet->count; i++)
      if (strcmp(sheet->notes[i].section, made.section) == 0) at = i + 1;
    memmove(&sheet->notes[at + 1], &sheet->notes[at], (sheet->count - at) * sizeof sheet->notes[0]);
    sheet->count++;
  }
  sheet->notes[at] = made;
  return PTO_OK;
}

bool pto_chip_sheet_write(const struct pto_chip_sheet *sheet, FILE *file) {
  bool is_written = fputs(sheet->about, file) >= 0;
  for (uint32_t i = 0; i < sheet->count; i++) {
    const struct pto_chip_note *note = &sheet->notes[i];
    char text[128];
    if (i == 0 || strcmp(note->section, note[-1].section) != 0)
      is_written &= fprintf(file, "\n[%s]\n", note->section) >= 0;
    snprintf(text, sizeof text, "%s = %s", note->key, note->value);
    if (note->tag == PTO_CHIP_UNTAGGED && !note->source[0])
      is_written &= fprintf(file, "%s\n", text) >= 0;
    else
      is_written &= fprintf(file, "%-38s ; %s%s%s\n", text, tag_names[note->tag],
                            note->tag != PTO_CHIP_UNTAGGED && note->source[0] ? ": " : "", note->source) >= 0;
  }
  return is_written;
}

int pto_chip_sheet_load(const struct pto_chip_sheet *sheet, const char *label, struct pto_chip *chip,
                        struct pto_error *error) {
  char *text = NULL;
  size_t size = 0;
  pto_error_clear(error);
  FILE *file = open_memstream(&text, &size);
  bool is_written = file && pto_chip_sheet_write(sheet, file);
  if (file) is_written &= fclose(file) == 0 && text;
  const int status = load_file(is_written ? fmemopen(text, size, "r") : NULL, label, true, chip, NULL, error);
  free(text);
  return status;
}

const char *pto_chip_name_at(uint32_t index) {
  struct pto_chip_file shipped;
  return pto_chip_file_at(index, &shipped) ? shipped.name : NULL;
}
