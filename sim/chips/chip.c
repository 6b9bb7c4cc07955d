/* SPDX-License-Identifier: MIT */
/*
 * Chip files: INI text → struct pto_chip, with every fault named by file, line, key and value.
 *
 * `keys` below is the one list of what a file must say: each key exactly once, each a whole number in a range, nothing
 * else allowed.  A new key is one line there and one in each shipped file.  The INI parser (inih) reads through
 * `read_line`, which counts lines and sees what the parser does not report: repeated or empty sections, lines that are
 * too long.
 */
#include <sim/chips/chip.h>
#include <sim/chips/chip_files.h>

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

/* Upper bounds keep every product of timing.c inside 128 bits and every sum of a day of virtual time inside 64. */
#define MAX_LOCAL_BYTES (UINT64_C(256) << 20)
#define MAX_KHZ UINT64_C(100000000) /* 100 GHz */
#define MAX_PER_CYCLE UINT64_C(1000000000)
#define MAX_MBPS UINT64_C(1000000000)          /* 1 PB/s */
#define MAX_LATENCY_PS UINT64_C(1000000000000) /* 1 s */
#define MAX_WORK_PS UINT64_C(1000000000)       /* 1 ms */

struct key {
  const char *section, *name;
  size_t offset, size;
  uint64_t min, max;
};

#define FIELD(section, name, field, min, max)                                                                          \
  { section, name, offsetof(struct pto_chip, field), sizeof(((struct pto_chip *)0)->field), min, max }

static const struct key keys[] = {FIELD("chip", "clusters", cluster_count, 1, PTO_CHIP_MAX_CLUSTERS),
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
                                  FIELD("rate", "core_bandwidth_mbps", core_bandwidth_mbps, 1, MAX_MBPS),
                                  FIELD("rate", "chip_bandwidth_mbps", chip_bandwidth_mbps, 1, MAX_MBPS),
                                  FIELD("latency", "kernel_start_ps", kernel_start_ps, 0, MAX_LATENCY_PS),
                                  FIELD("latency", "kernel_end_ps", kernel_end_ps, 0, MAX_LATENCY_PS),
                                  FIELD("rate", "fifo_bandwidth_mbps", fifo_bandwidth_mbps, 1, MAX_MBPS),
                                  FIELD("latency", "signal_ps", signal_ps, 0, MAX_LATENCY_PS),
                                  FIELD("latency", "host_latency_ps", host_latency_ps, 0, MAX_LATENCY_PS),
                                  FIELD("latency", "host_bandwidth_mbps", host_bandwidth_mbps, 1, MAX_MBPS),
#define X(kind, work_name) FIELD("control_ps", work_name, work_ps[kind], 0, MAX_WORK_PS),
                                  PTO_WORK_LIST(X)
#undef X
};

static const char *const sections[] = {"chip", "memory", "rate", "latency", "control_ps"};

struct loader {
  const char *label; /* how messages call the file */
  FILE *file;
  uint32_t line;
  bool is_too_long; /* the parser's buffer ended before the line did */
  bool has_section[PTO_ARRAY_LENGTH(sections)];
  bool has_name, has_key[PTO_ARRAY_LENGTH(keys)];
  struct pto_chip chip;
  struct pto_error *error; /* status PTO_OK until the first fault */
};

/* Keeps the first fault only: what follows it is often its consequence. */
#define FAULT(loader, format, ...)                                                                                     \
  ((loader)->error->status == PTO_OK ? (void)pto_error_set((loader)->error, PTO_EINVAL, "%s line %u: " format,         \
                                                           (loader)->label, (loader)->line, __VA_ARGS__)               \
                                     : (void)0)

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
  return loader->error->status == PTO_OK ? buffer : NULL;
}

static void set_name(struct loader *loader, const char *value) {
  size_t length = strlen(value);
  if (loader->has_name) FAULT(loader, "name = %s: name is there twice", value);
  if (length == 0 || length >= sizeof loader->chip.name)
    FAULT(loader, "name = '%s': must have 1 to %zu characters", value, sizeof loader->chip.name - 1);
  for (size_t i = 0; i < length; i++) {
    if (!isalnum((unsigned char)value[i]) && !strchr("_-.", value[i]))
      FAULT(loader, "name = '%s': letters, digits, '_', '-' and '.' only", value);
  }
  if (loader->error->status != PTO_OK) return;
  memcpy(loader->chip.name, value, length + 1);
  loader->has_name = true;
}

static void set_number(struct loader *loader, size_t index, const char *value) {
  const struct key *key = &keys[index];
  size_t digits = strspn(value, "0123456789");
  errno = 0;
  uint64_t number = strtoull(value, NULL, 10);
  if (loader->has_key[index]) {
    FAULT(loader, "%s = %s: %s is there twice", key->name, value, key->name);
  } else if (digits == 0 || value[digits] != '\0') {
    FAULT(loader, "%s = '%s' is not a whole number", key->name, value);
  } else if (errno == ERANGE || number < key->min || number > key->max) {
    FAULT(loader, "%s = %s is not within %llu to %llu", key->name, value, (unsigned long long)key->min,
          (unsigned long long)key->max);
  } else {
    char *field = (char *)&loader->chip + key->offset;
    PTO_ASSERT(key->size == sizeof(uint32_t) || key->size == sizeof number);
    if (key->size == sizeof(uint32_t))
      memcpy(field, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
    else
      memcpy(field, &number, sizeof number);
    loader->has_key[index] = true;
  }
}

/* Called by the parser for each key; 1: go on (faults end the parse through read_line). */
static int take_key(void *context, const char *section, const char *name, const char *value) {
  struct loader *loader = context;
  if (strcmp(section, "chip") == 0 && strcmp(name, "name") == 0) {
    set_name(loader, value);
    return 1;
  }
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys); i++) {
    if (strcmp(section, keys[i].section) != 0 || strcmp(name, keys[i].name) != 0) continue;
    set_number(loader, i, value);
    return 1;
  }
  if (section[0] == '\0')
    FAULT(loader, "%s = %s stands before the first section", name, value);
  else
    FAULT(loader, "unknown key %s = %s in [%s]", name, value, section);
  return 1;
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
  if (!loader->has_name) return pto_error_set(loader->error, PTO_EINVAL, "%s: [chip] name is missing", loader->label);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(keys); i++) {
    if (!loader->has_key[i])
      return pto_error_set(loader->error, PTO_EINVAL, "%s: [%s] %s is missing", loader->label, keys[i].section,
                           keys[i].name);
  }
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
  struct loader loader;
  bool is_shipped;
  memset(&loader, 0, sizeof loader);
  loader.label = name_or_path;
  loader.error = error;
  pto_error_clear(error);
  loader.file = open_shipped(name_or_path, &is_shipped);
  if (!loader.file && is_shipped)
    return pto_error_set(error, PTO_ENOMEM, "chip %s: no memory to read it", name_or_path);
  if (!loader.file) loader.file = fopen(name_or_path, "re");
  if (!loader.file) return refuse_unknown(name_or_path, error);
  int status = parse(&loader);
  fclose(loader.file);
  if (status == PTO_OK) *chip = loader.chip;
  return status;
}

const char *pto_chip_name_at(uint32_t index) {
  struct pto_chip_file shipped;
  return pto_chip_file_at(index, &shipped) ? shipped.name : NULL;
}
