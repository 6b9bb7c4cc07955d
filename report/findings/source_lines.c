/* SPDX-License-Identifier: MIT */
#include <report/findings/source_lines.h>

#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <runtime/trace/place.h>

#if PTO_HAVE_DW
#include <elfutils/libdwfl.h>
#endif

struct pto_source_lines {
#if PTO_HAVE_DW
  Dwfl *dwfl; /* NULL: nothing could be read */
#else
  int unused;
#endif
};

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* ---- by debug information ---- */

#if PTO_HAVE_DW
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = dwfl_standard_find_debuginfo};

static void read_process(struct pto_source_lines *lines) {
  lines->dwfl = dwfl_begin(&callbacks);
  if (!lines->dwfl) return;
  if (dwfl_linux_proc_report(lines->dwfl, getpid()) == 0 && dwfl_report_end(lines->dwfl, NULL, NULL) == 0) return;
  dwfl_end(lines->dwfl);
  lines->dwfl = NULL;
}

static bool name_line(const struct pto_source_lines *lines, uintptr_t address, char *text, size_t size) {
  Dwfl_Line *line = lines->dwfl ? dwfl_getsrc(lines->dwfl, address) : NULL;
  int number;
  const char *path = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
  if (!path || number <= 0) return false;
  snprintf(text, size, "%s:%d", last_part(path), number);
  return true;
}

static void forget_process(struct pto_source_lines *lines) { dwfl_end(lines->dwfl); }
#else
static void read_process(struct pto_source_lines *lines) { lines->unused = 0; }
static bool name_line(const struct pto_source_lines *lines, uintptr_t address, char *text, size_t size) {
  (void)lines, (void)address, (void)text, (void)size;
  return false;
}
static void forget_process(struct pto_source_lines *lines) { (void)lines; }
#endif

/* ---- by loaded file ---- */

struct wanted {
  uintptr_t address;
  char *text;
  size_t size;
};

static int name_if_within(struct dl_phdr_info *info, size_t info_size, void *context) {
  const struct wanted *wanted = context;
  (void)info_size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || wanted->address < begin || wanted->address >= begin + segment->p_memsz) continue;
    const char *name = info->dlpi_name && info->dlpi_name[0] ? last_part(info->dlpi_name) : "program";
    snprintf(wanted->text, wanted->size, "%s+0x%" PRIxPTR, name, wanted->address - (uintptr_t)info->dlpi_addr);
    return 1;
  }
  return 0;
}

/* ---- both ---- */

struct pto_source_lines *pto_source_lines_create(void) {
  struct pto_source_lines *lines = calloc(1, sizeof *lines);
  if (lines) read_process(lines);
  return lines;
}

void pto_source_lines_destroy(struct pto_source_lines *lines) {
  if (!lines) return;
  forget_process(lines);
  free(lines);
}

const char *pto_source_lines_name(struct pto_source_lines *lines, const void *call, char *text, size_t size) {
  const uintptr_t address = (uintptr_t)call;
  const struct pto_place *place = pto_place_of(call);
  text[0] = '\0';
  if (!address) return text;
  if (place) {
    snprintf(text, size, "%s:%" PRIu32, last_part(place->file), place->line);
    return text;
  }
  /* the call is what stands before the address that it returns to */
  if (lines && name_line(lines, address - 1, text, size)) return text;
  struct wanted wanted = {address, text, size};
  dl_iterate_phdr(name_if_within, &wanted);
  return text;
}
