/* SPDX-License-Identifier: MIT */
/*
 * Chip files: INI text → struct pto_chip, with every fault named by file, line, key and value.
 *
 * `keys` below is the one list of what a file may say: each key once, each a whole number in a range or one of a few
 * words, nothing else allowed.  An optional key that is absent has another key's value where the list names one, else 0
 * or the first of its words.  A new key is one line there; one that is not optional is one in each shipped file too.
 * The comment behind a value begins with its tag.
 * The INI parser (inih) reads through `read_line`, which counts lines and sees what the parser does not report:
 * repeated or empty sections, lines that are too long.
 */
#include <sim/chips/chip.h>
#include <sim/chips/chip_files.h>

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/closest.h>

/* Upper bounds keep every product of timing.c inside 128 bits and every sum of a day of virtual time inside 64. */
#define MAX_LOCAL_BYTES (UINT64_C(256) << 20)
#define MAX_L2_BYTES (UINT64_C(1) << 40)
#define MAX_KHZ UINT64_C(100000000) /* 100 GHz */
#define MAX_PER_CYCLE UINT64_C(1000000000)
#define MAX_MBPS UINT64_C(1000000000)          /* 1 PB/s */
#define MAX_LATENCY_PS UINT64_C(1000000000000) /* 1 s */
#define MAX_WORK_PS UINT64_C(1000000000)       /* 1 ms */

#define NO_FIELD SIZE_MAX

#define STAGES "stages" /* a section that is there as a whole or not at all */

struct key {
  const char *section, *name;
  size_t offset, size;
  uint64_t min, max;
  bool is_optional;
  size_t fallback;          /* of an optional one: the offset of the field whose value it has where it is absent */
  const char *const *words; /* what it may say, by value, ended by NULL; NULL: a number */
};

#define KEY(section, name, field, min, max, ...)                                                                       \
  { section, name, offsetof(struct pto_chip, field), sizeof(((struct pto_chip *)0)->field), min, max, __VA_ARGS__ }
#define WORK_OFFSET(kind) (offsetof(struct pto_chip, work_ps) + (kind) * sizeof(uint64_t))
#define FIELD(section, name, field, min, max) KEY(section, name, field, min, max, false, NO_FIELD, NULL)
#define OPTIONAL(section, name, field, min, max) KEY(section, name, field, min, max, true, NO_FIELD, NULL)
#define LIKE(section, name, field, min, max, other)                                                                    \
  KEY(section, name, field, min, max, true, offsetof(struct pto_chip, other), NULL)
#define STAGE(name, field, min, max) OPTIONAL(STAGES, name, stages.field, min, max)
#define WORD(section, name, field, words) KEY(section, name, field, 0, 0, true, NO_FIELD, words)

static const char *const sharing_words[] = {"at_begin", "anew", NULL};
static const char *const wiring_words[] = {"orchestrator", "scheduler", NULL};

static const char *const dealing_words[] = {"ranges", "round_robin", NULL};

static const char *const graph_words[] = {"submitted", "prebuilt", NULL};

static const char *const profiling_words[] = {"off", "on", NULL};

static const char *const l2_words[] = {"static", "lru", NULL};

static const struct key keys[] = {
    STAGE("start_ps", start_ps, 0, MAX_LATENCY_PS),
    STAGE("trip_ps", trip_ps, 0, MAX_LATENCY_PS),
    STAGE("gm_to_l1_mbps", gm_to_l1_mbps, 1, MAX_MBPS),
    STAGE("l1_to_l0a_mbps", l1_to_l0a_mbps, 1, MAX_MBPS),
    STAGE("l1_to_l0b_mbps", l1_to_l0b_mbps, 1, MAX_MBPS),
    STAGE("l0c_to_gm_mbps", l0c_to_gm_mbps, 1, MAX_MBPS),
    STAGE("gm_to_ub_mbps", gm_to_ub_mbps, 1, MAX_MBPS),
    STAGE("ub_to_gm_mbps", ub_to_gm_mbps, 1, MAX_MBPS),
    STAGE("cube_percent", cube_percent, 1, 100),
    FIELD("chip", "clusters", cluster_count, 1, PTO_CHIP_MAX_CLUSTERS),
    FIELD("chip", "schedulers", scheduler_count, 1, PTO_CHIP_MAX_SCHEDULERS),
    FIELD("chip", "slots_per_core", slots_per_core, 1, PTO_CHIP_MAX_SLOTS),
    FIELD("memory", "ub_bytes", ub_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("memory", "l1_bytes", l1_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("memory", "l0a_bytes", l0a_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("memory", "l0b_bytes", l0b_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("memory", "l0c_bytes", l0c_bytes, 1, MAX_LOCAL_BYTES),
    FIELD("rate", "aic_clock_khz", aic_clock_khz, 1, MAX_KHZ),
    FIELD("rate", "aiv_clock_khz", aiv_clock_khz, 1, MAX_KHZ),
    FIELD("rate", "cube_macs_per_cycle", cube_macs_per_cycle, 1, MAX_PER_CYCLE),
    FIELD("rate", "vector_elems_per_cycle", vector_elems_per_cycle, 1, MAX_PER_CYCLE),
    LIKE("rate", "cube_macs_per_cycle_16bit", cube_macs_per_cycle_16bit, 1, MAX_PER_CYCLE, cube_macs_per_cycle),
    LIKE("rate", "cube_macs_per_cycle_8bit", cube_macs_per_cycle_8bit, 1, MAX_PER_CYCLE, cube_macs_per_cycle_16bit),
    LIKE("rate", "vector_elems_per_cycle_16bit", vector_elems_per_cycle_16bit, 1, MAX_PER_CYCLE,
         vector_elems_per_cycle),
    LIKE("rate", "vector_elems_per_cycle_8bit", vector_elems_per_cycle_8bit, 1, MAX_PER_CYCLE,
         vector_elems_per_cycle_16bit),
    FIELD("rate", "core_bandwidth_mbps", core_bandwidth_mbps, 1, MAX_MBPS),
    FIELD("rate", "chip_bandwidth_mbps", chip_bandwidth_mbps, 1, MAX_MBPS),
    OPTIONAL("memory", "l2_bytes", l2_bytes, 1, MAX_L2_BYTES),
    WORD("memory", "l2", has_lru_l2, l2_words),
    LIKE("rate", "l2_core_bandwidth_mbps", l2_core_bandwidth_mbps, 1, MAX_MBPS, core_bandwidth_mbps),
    LIKE("rate", "l2_chip_bandwidth_mbps", l2_chip_bandwidth_mbps, 1, MAX_MBPS, chip_bandwidth_mbps),
    WORD("rate", "sharing", shares_anew, sharing_words),
    WORD("chip", "dealing", deals_clusters, dealing_words),
    WORD("chip", "profiling", has_profiling, profiling_words),
    OPTIONAL("latency", "profiling_start_ps", profiling_start_ps, 0, MAX_LATENCY_PS),
    LIKE("latency", "profiling_pending_ps", profiling_pending_ps, 0, MAX_LATENCY_PS, profiling_start_ps),
    OPTIONAL("control_ps", "profiling_dispatch", profiling_dispatch_ps, 0, MAX_WORK_PS),
    OPTIONAL("control_ps", "profiling_poll", profiling_poll_ps, 0, MAX_WORK_PS),
    OPTIONAL("control_ps", "profiling_complete", profiling_complete_ps, 0, MAX_WORK_PS),
    WORD("chip", "graph", is_graph_prebuilt, graph_words),
    WORD("chip", "wiring", schedulers_wire, wiring_words),
    FIELD("latency", "kernel_start_ps", kernel_start_ps, 0, MAX_LATENCY_PS),
    LIKE("latency", "pending_start_ps", pending_start_ps, 0, MAX_LATENCY_PS, kernel_start_ps),
    OPTIONAL("latency", "cold_start_ps", cold_start_ps, 0, MAX_LATENCY_PS),
    OPTIONAL("latency", "handshake_ps", handshake_ps, 0, MAX_LATENCY_PS),
    FIELD("latency", "kernel_end_ps", kernel_end_ps, 0, MAX_LATENCY_PS),
    FIELD("rate", "fifo_bandwidth_mbps", fifo_bandwidth_mbps, 1, MAX_MBPS),
    FIELD("latency", "signal_ps", signal_ps, 0, MAX_LATENCY_PS),
    FIELD("latency", "host_latency_ps", host_latency_ps, 0, MAX_LATENCY_PS),
    FIELD("latency", "host_bandwidth_mbps", host_bandwidth_mbps, 1, MAX_MBPS),
#define X(kind, work_name) FIELD("control_ps", work_name, work_ps[kind], 0, MAX_WORK_PS),
    PTO_WORK_LIST(X)
#undef X
#define X(kind, work_name, other)                                                                                      \
  {"control_ps",                                                                                                       \
   work_name,                                                                                                          \
   WORK_OFFSET(kind),                                                                                                  \
   sizeof(uint64_t),                                                                                                   \
   0,                                                                                                                  \
   MAX_WORK_PS,                                                                                                        \
   true,                                                                                                               \
   other == PTO_WORK_COUNT ? NO_FIELD : WORK_OFFSET(other),                                                            \
   NULL},
        PTO_MORE_WORK_LIST(X)
#undef X
            OPTIONAL("control_ps", "loop", loop_ps, 1, MAX_WORK_PS),
    OPTIONAL("control_ps", "look", look_ps, 0, MAX_WORK_PS),
    LIKE("control_ps", "dispatch_more", dispatch_more_ps, 0, MAX_WORK_PS, work_ps[PTO_WORK_DISPATCH]),
};

static const char *const sections[] = {"chip", "memory", "rate", "latency", STAGES, "control_ps"};

struct loader {
  const char *label; /* how messages call the file */
  FILE *file;
  uint32_t line;
  bool is_sheet;                /* `file` is what a sheet was written to */
  bool is_too_long;             /* the parser's buffer ended before the line did */
  char comment[256];            /* of the line that the parser has */
  struct pto_chip_sheet *sheet; /* NULL: none is wanted */
  bool has_section[PTO_ARRAY_LENGTH(sections)];
  bool has_text[3], has_key[PTO_ARRAY_LENGTH(keys)];
  struct pto_chip chip;
  struct pto_error *error; /* status PTO_OK until the first fault */
};

/* Of a file with the line; of a sheet, whose text nobody has seen, without. */
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
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sections); i++) {
    if (strlen(sections[i]) != length || memcmp(sections[i], text, length) != 0) continue;
    if (loader->has_section[i]) FAULT(loader, "section [%s] is there twice", sections[i]);
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
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(sections); i++) is_head &= !loader->has_section[i];
    if (is_head) memcpy(sheet->about + used, line, strlen(line) + 1);
    return;
  }
  const char *at = line;
  while ((at = strchr(at, ';')) != NULL && (at == line || !isspace((unsigned char)at[-1]))) at++;
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

/* Keys of [chip] that are free text. */
enum { TEXT_NAME, TEXT_ERA, TEXT_KERNEL_TIMES };
static const struct {
  const char *name, *more, *what; /* characters beside letters and digits */
  size_t offset;
} texts[] = {
    [TEXT_NAME] = {"name", "_-.", "letters, digits, '_', '-' and '.' only", offsetof(struct pto_chip, name)},
    [TEXT_ERA] = {"era", " _-.", "letters, digits, blanks, '_', '-' and '.' only", offsetof(struct pto_chip, era)},
    [TEXT_KERNEL_TIMES] = {"kernel_times", "/_-.", "letters, digits, '/', '_', '-' and '.' only",
                           offsetof(struct pto_chip, kernel_times)},
};
_Static_assert(sizeof((struct pto_chip *)0)->name == sizeof((struct pto_chip *)0)->era &&
                   sizeof((struct pto_chip *)0)->name < sizeof((struct pto_chip *)0)->kernel_times,
               "one limit for all texts of a file");

static void set_text(struct loader *loader, size_t index, const char *value) {
  const char *const name = texts[index].name;
  size_t length = strlen(value);
  if (loader->has_text[index]) FAULT(loader, "%s = %s: %s is there twice", name, value, name);
  if (length == 0 || length >= sizeof loader->chip.name)
    FAULT(loader, "%s = '%s': must have 1 to %zu characters", name, value, sizeof loader->chip.name - 1);
  for (size_t i = 0; i < length; i++) {
    if (!isalnum((unsigned char)value[i]) && !strchr(texts[index].more, value[i]))
      FAULT(loader, "%s = '%s': %s", name, value, texts[index].what);
  }
  if (loader->error->status != PTO_OK) return;
  memcpy((char *)&loader->chip + texts[index].offset, value, length + 1);
  loader->has_text[index] = true;
}

/* The value that a key has, by a word of its list or as a number in its range; false after a fault. */
static bool read_value(struct loader *loader, const struct key *key, const char *value, uint64_t *number) {
  if (key->words) {
    for (*number = 0; key->words[*number]; ++*number)
      if (strcmp(key->words[*number], value) == 0) return true;
    FAULT(loader, "%s = %s is neither %s nor %s", key->name, value, key->words[0], key->words[1]);
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
  const struct key *key = &keys[index];
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
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys); i++) {
    if (!has_key[i] && keys[i].fallback != NO_FIELD)
      memcpy((char *)chip + keys[i].offset, (char *)chip + keys[i].fallback, keys[i].size);
  }
}

/* Called by the parser for each key; 1: go on (faults end the parse through read_line). */
static int take_key(void *context, const char *section, const char *name, const char *value) {
  struct loader *loader = context;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(texts); i++) {
    if (strcmp(section, "chip") != 0 || strcmp(name, texts[i].name) != 0) continue;
    set_text(loader, i, value);
    note_key(loader, sections[0], texts[i].name, value);
    return 1;
  }
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys); i++) {
    if (strcmp(section, keys[i].section) != 0 || strcmp(name, keys[i].name) != 0) continue;
    set_key(loader, i, value);
    note_key(loader, keys[i].section, keys[i].name, value);
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
  const bool is_path =
      strchr(chip->kernel_times, '/') || (length > 4 && !strcmp(chip->kernel_times + length - 4, ".csv"));
  if (!is_path || chip->kernel_times[0] == '/') return;
  if (folder + length >= sizeof chip->kernel_times) {
    FAULT(loader, "kernel_times = %s: the path of the chip file is too long for that", chip->kernel_times);
    return;
  }
  memmove(chip->kernel_times + folder, chip->kernel_times, length + 1);
  memcpy(chip->kernel_times, loader->label, folder);
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
  if (!loader->has_text[TEXT_NAME])
    return pto_error_set(loader->error, PTO_EINVAL, "%s: [chip] name is missing", loader->label);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys); i++) {
    const bool is_stage = strcmp(keys[i].section, STAGES) == 0;
    loader->chip.has_stages |= is_stage && loader->has_key[i];
    if (!loader->has_key[i] && (!keys[i].is_optional || (is_stage && loader->chip.has_stages)))
      return pto_error_set(loader->error, PTO_EINVAL, "%s: [%s] %s is missing", loader->label, keys[i].section,
                           keys[i].name);
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
  return PTO_OK;
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
    const int status = pto_chip_sheet_set(sheet, &note, error);
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
    snprintf(chip->name + length, sizeof chip->name - length, "%s", text + name_length);
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
  if (!is_shipped && !(file = fopen(name_or_path, "re"))) return refuse_unknown(name_or_path, error);
  return load_file(file, name_or_path, false, chip, sheet, error);
}

/* ---- sheets ---- */

const char *pto_chip_note_unit(const struct pto_chip_note *note) {
  static const struct {
    const char *end, *unit;
  } units[] = {{"_ps", "ps"},     {"_mbps", "MB/s"},     {"_khz", "kHz"},   {"_bytes", "bytes"},
               {"_percent", "%"}, {"_cycle", "a cycle"}, {"bit", "a cycle"}};
  const size_t length = strlen(note->key);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(units); i++) {
    const size_t end = strlen(units[i].end);
    if (length > end && strcmp(note->key + length - end, units[i].end) == 0) return units[i].unit;
  }
  return strcmp(note->section, "control_ps") == 0 ? "ps" : "";
}

const struct pto_chip_note *pto_chip_sheet_find(const struct pto_chip_sheet *sheet, const char *key) {
  for (uint32_t i = 0; i < sheet->count; i++)
    if (strcmp(sheet->notes[i].key, key) == 0) return &sheet->notes[i];
  return NULL;
}

/* The constant names of a key that a chip file may have. */
static bool find_names(const char *key, const char **section, const char **name) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(texts); i++) {
    if (strcmp(key, texts[i].name) != 0) continue;
    *section = sections[0];
    *name = texts[i].name;
    return true;
  }
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys); i++) {
    if (strcmp(key, keys[i].name) != 0) continue;
    *section = keys[i].section;
    *name = keys[i].name;
    return true;
  }
  return false;
}

static int refuse_key(const char *key, struct pto_error *error) {
  char question[PTO_CLOSEST_TEXT];
  struct pto_closest closest;
  pto_closest_begin(&closest, key);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys); i++) pto_closest_consider(&closest, keys[i].name);
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

void pto_chip_sheet_write(const struct pto_chip_sheet *sheet, FILE *file) {
  fputs(sheet->about, file);
  for (uint32_t i = 0; i < sheet->count; i++) {
    const struct pto_chip_note *note = &sheet->notes[i];
    char text[128];
    if (i == 0 || strcmp(note->section, note[-1].section) != 0) fprintf(file, "\n[%s]\n", note->section);
    snprintf(text, sizeof text, "%s = %s", note->key, note->value);
    if (note->tag == PTO_CHIP_UNTAGGED && !note->source[0])
      fprintf(file, "%s\n", text);
    else
      fprintf(file, "%-38s ; %s%s%s\n", text, tag_names[note->tag],
              note->tag != PTO_CHIP_UNTAGGED && note->source[0] ? ": " : "", note->source);
  }
}

int pto_chip_sheet_load(const struct pto_chip_sheet *sheet, const char *label, struct pto_chip *chip,
                        struct pto_error *error) {
  char *text = NULL;
  size_t size = 0;
  pto_error_clear(error);
  FILE *file = open_memstream(&text, &size);
  if (file) pto_chip_sheet_write(sheet, file);
  const bool is_written = file && fclose(file) == 0;
  const int status = load_file(is_written ? fmemopen(text, size, "r") : NULL, label, true, chip, NULL, error);
  free(text);
  return status;
}

const char *pto_chip_name_at(uint32_t index) {
  struct pto_chip_file shipped;
  return pto_chip_file_at(index, &shipped) ? shipped.name : NULL;
}
