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
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#endif

#define PTO_PLACE_TEXT 128 /* of a file and a line */

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

static bool is_inlined(Dwarf_Die *scope) { return dwarf_tag(scope) == DW_TAG_inlined_subroutine; }

/* The line of a call that was inlined. */
static bool name_inlined_call(Dwarf_Die *unit, Dwarf_Die *scope, char *text, size_t size) {
  Dwarf_Attribute attribute;
  Dwarf_Word line, file;
  Dwarf_Files *files;
  if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &line) ||
      dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &file) || dwarf_getsrcfiles(unit, &files, NULL))
    return false;
  const char *path = dwarf_filesrc(files, file, NULL, NULL);
  if (path) snprintf(text, size, "%s:%" PRIu64, last_part(path), (uint64_t)line);
  return path != NULL;
}

/* The line in the function that the address is in, where the code there was inlined from others; else nothing. */
static bool name_outer_line(const struct pto_source_lines *lines, uintptr_t address, char *text, size_t size) {
  Dwarf_Addr bias;
  Dwarf_Die *unit = lines->dwfl ? dwfl_addrdie(lines->dwfl, address, &bias) : NULL, *scopes = NULL;
  const int count = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
  bool is_named = false;
  for (int i = 0; i < count && dwarf_tag(&scopes[i]) != DW_TAG_subprogram; i++)
    if (is_inlined(&scopes[i])) is_named = name_inlined_call(unit, &scopes[i], text, size);
  free(scopes);
  return is_named;
}

/* The innermost function, inlined or not. */
static const char *function_at(const struct pto_source_lines *lines, uintptr_t address) {
  Dwarf_Addr bias;
  Dwarf_Die *unit = lines->dwfl ? dwfl_addrdie(lines->dwfl, address, &bias) : NULL, *scopes = NULL;
  const int count = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
  const char *name = NULL;
  for (int i = 0; i < count && !name; i++)
    if (is_inlined(&scopes[i]) || dwarf_tag(&scopes[i]) == DW_TAG_subprogram) name = dwarf_diename(&scopes[i]);
  free(scopes);
  if (name || !lines->dwfl) return name;
  Dwfl_Module *module = dwfl_addrmodule(lines->dwfl, address);
  return module ? dwfl_module_addrname(module, address) : NULL;
}

static void forget_process(struct pto_source_lines *lines) { dwfl_end(lines->dwfl); }
#else
static void read_process(struct pto_source_lines *lines) { lines->unused = 0; }
static bool name_line(const struct pto_source_lines *lines, uintptr_t address, char *text, size_t size) {
  (void)lines, (void)address, (void)text, (void)size;
  return false;
}
static bool name_outer_line(const struct pto_source_lines *lines, uintptr_t address, char *text, size_t size) {
  return name_line(lines, address, text, size);
}
static const char *function_at(const struct pto_source_lines *lines, uintptr_t address) {
  (void)lines, (void)address;
  return NULL;
}
static void forget_process(struct pto_source_lines *lines) { (void)lines; }
#endif

/* ---- by loaded file ---- */

struct object {
  uintptr_t address; /* that it has */
  const char *name;  /* NULL: there is none */
  uintptr_t base;
};

static int find_if_within(struct dl_phdr_info *info, size_t info_size, void *context) {
  struct object *object = context;
  (void)info_size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || object->address < begin || object->address >= begin + segment->p_memsz) continue;
    object->name = info->dlpi_name && info->dlpi_name[0] ? last_part(info->dlpi_name) : "program";
    object->base = info->dlpi_addr;
    return 1;
  }
  return 0;
}

static struct object object_of(uintptr_t address) {
  struct object object = {.address = address};
  dl_iterate_phdr(find_if_within, &object);
  return object;
}

bool pto_source_lines_share_file(const void *a, const void *b) {
  const struct object first = object_of((uintptr_t)a), second = object_of((uintptr_t)b);
  return first.name && second.name && first.base == second.base;
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

static void name_address(struct pto_source_lines *lines, uintptr_t address, char *text, size_t size) {
  text[0] = '\0';
  if (!address || (lines && name_line(lines, address, text, size))) return;
  const struct object object = object_of(address);
  if (object.name) snprintf(text, size, "%s+0x%" PRIxPTR, object.name, address - object.base);
}

const char *pto_source_lines_name(struct pto_source_lines *lines, const void *call, const void *outer, char *text,
                                  size_t size) {
  char inner[PTO_PLACE_TEXT];
  const uintptr_t address = (uintptr_t)call, outer_address = (uintptr_t)(outer ? outer : call);
  const struct pto_place *place = pto_place_of(call);
  text[0] = '\0';
  if (!address) return text;
  if (place) {
    snprintf(text, size, "%s:%" PRIu32, last_part(place->file), place->line);
    return text;
  }
  /* the call is what stands before the address that it returns to */
  name_address(lines, address - 1, inner, sizeof inner);
  if (!lines || !name_outer_line(lines, outer_address - 1, text, size))
    name_address(lines, outer_address - 1, text, size);
  const size_t used = strlen(text);
  if (strcmp(text, inner) != 0) snprintf(text + used, size - used, " (%s)", inner);
  return text;
}

const char *pto_source_lines_function(struct pto_source_lines *lines, const void *address, char *text, size_t size) {
  char line[PTO_PLACE_TEXT];
  const char *function = lines ? function_at(lines, (uintptr_t)address) : NULL;
  name_address(lines, (uintptr_t)address, line, sizeof line);
  snprintf(text, size, "%s%s%s%s", function ? function : "", function ? " (" : "", line, function ? ")" : "");
  return text;
}
