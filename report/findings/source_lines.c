/* SPDX-License-Identifier: MIT */
#include <report/findings/source_lines.h>

#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/base.h>
#include <runtime/base/text.h>
#include <runtime/trace/place.h>

#if PTO_HAVE_DW
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#endif

/* Findings are many where calls are few, and libdw takes milliseconds to find one. */
#define MOST_KNOWN 256u

struct pto_source_lines {
  struct known {
    const void *call, *outer; /* NULL: free */
    struct pto_source_call found;
  } known[MOST_KNOWN];
  bool has_read; /* what the process has loaded: with the first question, as it takes milliseconds */
#if PTO_HAVE_DW
  Dwfl *dwfl; /* NULL: nothing could be read */
#endif
};

static const char *last_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Lines of <pto/pto.hpp>, which stand between a program in C++ and the library, are not the program's. */
static bool is_in_wrapper(const struct pto_source_place *place) {
  static const char *const headers[] = {"pto/run.hpp", "pto/device.hpp"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(headers); i++)
    if (pto_text_ends_with(place->file, headers[i])) return true;
  return false;
}

/* ---- by loaded file ---- */

struct object {
  uintptr_t address; /* that it has */
  const char *path;  /* as the dynamic linker knows it, "" of the program itself; NULL: there is none */
  uintptr_t base;
};

static int find_if_within(struct dl_phdr_info *info, size_t info_size, void *context) {
  struct object *object = context;
  (void)info_size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || object->address < begin || object->address >= begin + segment->p_memsz) continue;
    object->path = info->dlpi_name ? info->dlpi_name : "";
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

/* ---- by debug information ---- */

#if PTO_HAVE_DW
/* A copy that the loader has mapped has no name in the process's maps; the dynamic linker knows where it is open. */
static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, char **file, Elf **elf) {
  const struct object object = object_of((uintptr_t)base);
  if (!object.path || strncmp(object.path, "/proc/self/fd/", strlen("/proc/self/fd/")) != 0)
    return dwfl_linux_proc_find_elf(module, user, name, base, file, elf);
  *file = strdup(object.path);
  return open(object.path, O_RDONLY | O_CLOEXEC);
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_elf, .find_debuginfo = dwfl_standard_find_debuginfo};

static void read_process(struct pto_source_lines *lines) {
  lines->dwfl = dwfl_begin(&callbacks);
  if (!lines->dwfl) return;
  if (dwfl_linux_proc_report(lines->dwfl, getpid()) == 0 && dwfl_report_end(lines->dwfl, NULL, NULL) == 0) return;
  dwfl_end(lines->dwfl);
  lines->dwfl = NULL;
}

/* The path from where it was compiled, or from here, if it lies below; else the whole; without room the last part. */
static void set_file(struct pto_source_place *place, const char *path, const char *compiled_in) {
  char here[PATH_MAX];
  const char *const bases[] = {compiled_in, getcwd(here, sizeof here)};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(bases); i++) {
    const size_t length = bases[i] ? strlen(bases[i]) : 0;
    if (length && strncmp(path, bases[i], length) == 0 && path[length] == '/') path += length + 1;
  }
  snprintf(place->file, sizeof place->file, "%s", strlen(path) < sizeof place->file ? path : last_part(path));
}

static const char *compiled_in(Dwarf_Die *unit) {
  Dwarf_Attribute attribute;
  return unit ? dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)) : NULL;
}

/* libdw would end the process by exit(1), which says that something was found. */
static __attribute__((noreturn)) void end_without_memory(void) {
  fputs("ptosim: no memory to read the lines of sources\n", stderr);
  _Exit(3);
}

/* The module of an address, whose debug information is open. */
static Dwfl_Module *module_of(const struct pto_source_lines *lines, uintptr_t address) {
  Dwarf_Addr bias;
  Dwfl_Module *module = lines->dwfl ? dwfl_addrmodule(lines->dwfl, address) : NULL;
  Dwarf *dwarf = module ? dwfl_module_getdwarf(module, &bias) : NULL;
  if (dwarf) (void)dwarf_new_oom_handler(dwarf, end_without_memory);
  return module;
}

/* The unit that an address is of: by the table of addresses, or one by one where the compiler wrote none, as clang
 * does. */
static Dwarf_Die *unit_of(const struct pto_source_lines *lines, uintptr_t address, Dwarf_Addr *bias) {
  Dwfl_Module *module = module_of(lines, address);
  Dwarf_Die *unit = module ? dwfl_addrdie(lines->dwfl, address, bias) : NULL;
  if (unit) return unit;
  while (module && (unit = dwfl_module_nextcu(module, unit, bias)))
    if (dwarf_haspc(unit, address - *bias) == 1) return unit;
  return unit;
}

/* Scopes around an address, the innermost first, as they were inlined into each other; `*scopes` is the caller's to
 * free. */
static int scopes_at(const struct pto_source_lines *lines, uintptr_t address, Dwarf_Die **unit, Dwarf_Die **scopes) {
  Dwarf_Addr bias;
  Dwarf_Die *written; /* beyond an inlined function these are where it is written, not where it is called */
  *scopes = NULL;
  *unit = unit_of(lines, address, &bias);
  const int count = *unit ? dwarf_getscopes(*unit, address - bias, &written) : 0;
  if (count <= 0) return 0;
  const int all = dwarf_getscopes_die(&written[0], scopes);
  free(written);
  return all;
}

static bool is_inlined(Dwarf_Die *scope) { return dwarf_tag(scope) == DW_TAG_inlined_subroutine; }
static bool is_function(Dwarf_Die *scope) { return dwarf_tag(scope) == DW_TAG_subprogram; }

static void set_function(struct pto_source_place *place, const char *name) {
  snprintf(place->function, sizeof place->function, "%s", name ? name : "");
}

/* The innermost function, inlined or not; where debug information has none, the symbol. */
static void find_function(const struct pto_source_lines *lines, uintptr_t address, struct pto_source_place *place) {
  Dwarf_Die *unit, *scopes;
  const int count = scopes_at(lines, address, &unit, &scopes);
  const char *name = NULL;
  for (int i = 0; i < count && !name; i++)
    if (is_inlined(&scopes[i]) || is_function(&scopes[i])) name = dwarf_diename(&scopes[i]);
  free(scopes);
  Dwfl_Module *module = !name && lines->dwfl ? dwfl_addrmodule(lines->dwfl, address) : NULL;
  set_function(place, module ? dwfl_module_addrname(module, address) : name);
}

static bool find_line(const struct pto_source_lines *lines, uintptr_t address, struct pto_source_place *place) {
  Dwarf_Addr bias;
  Dwarf_Die *unit = unit_of(lines, address, &bias);
  Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
  const char *path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
  int number = 0;
  if (!path || dwarf_lineno(line, &number) || number <= 0) return false;
  set_file(place, path, compiled_in(unit));
  place->line = (uint64_t)number;
  return true;
}

/* The line of a call that was inlined. */
static bool find_inlined_call(Dwarf_Die *unit, Dwarf_Die *scope, struct pto_source_place *place) {
  Dwarf_Attribute attribute;
  Dwarf_Word line, file;
  Dwarf_Files *files;
  if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &line) ||
      dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &file) || dwarf_getsrcfiles(unit, &files, NULL))
    return false;
  const char *path = dwarf_filesrc(files, file, NULL, NULL);
  if (!path) return false;
  set_file(place, path, compiled_in(unit));
  place->line = line;
  return true;
}

/* Where the code at the address was inlined from others, a line of those calls that is the program's own: the one in
 * the function that the address is in, or (`is_inner`) the innermost; else nothing. */
static bool find_inlined_line(const struct pto_source_lines *lines, uintptr_t address, bool is_inner,
                              struct pto_source_place *place) {
  Dwarf_Die *unit, *scopes, *inlined = NULL;
  const int count = scopes_at(lines, address, &unit, &scopes);
  bool is_found = false, is_last = false;
  for (int i = 0; i < count && !is_last; i++) {
    struct pto_source_place one = {.file = ""};
    if (!is_inlined(&scopes[i]) && !is_function(&scopes[i])) continue;
    if (inlined && find_inlined_call(unit, inlined, &one) && !is_in_wrapper(&one)) {
      *place = one;
      set_function(place, dwarf_diename(&scopes[i]));
      is_found = true;
    }
    inlined = &scopes[i];
    is_last = is_function(inlined) || (is_found && is_inner);
  }
  free(scopes);
  return is_found;
}

static void forget_process(struct pto_source_lines *lines) { dwfl_end(lines->dwfl); }
#else
static void read_process(struct pto_source_lines *lines) { (void)lines; }
static bool find_line(const struct pto_source_lines *lines, uintptr_t address, struct pto_source_place *place) {
  (void)lines, (void)address, (void)place;
  return false;
}
static bool find_inlined_line(const struct pto_source_lines *lines, uintptr_t address, bool is_inner,
                              struct pto_source_place *place) {
  (void)is_inner;
  return find_line(lines, address, place);
}
static void find_function(const struct pto_source_lines *lines, uintptr_t address, struct pto_source_place *place) {
  (void)find_line(lines, address, place);
}
static void forget_process(struct pto_source_lines *lines) { (void)lines; }
#endif

bool pto_source_lines_share_file(const void *a, const void *b) {
  const struct object first = object_of((uintptr_t)a), second = object_of((uintptr_t)b);
  return first.path && second.path && first.base == second.base;
}

/* ---- both ---- */

struct pto_source_lines *pto_source_lines_create(void) {
  return calloc(1, sizeof(struct pto_source_lines));
}

void pto_source_lines_destroy(struct pto_source_lines *lines) {
  if (!lines) return;
  forget_process(lines);
  free(lines);
}

static void find_address(const struct pto_source_lines *lines, uintptr_t address, struct pto_source_place *place) {
  if (!address) return;
  if (lines) find_function(lines, address, place);
  if (lines && find_line(lines, address, place)) return;
  const struct object object = object_of(address);
  if (!object.path) return;
  snprintf(place->file, sizeof place->file, "%s", object.path[0] ? last_part(object.path) : "program");
  place->offset = address - object.base;
}

static void name_place(const struct pto_source_place *place, char *text, size_t size) {
  text[0] = '\0';
  if (place->line)
    snprintf(text, size, "%s:%" PRIu64, last_part(place->file), place->line);
  else if (place->file[0])
    snprintf(text, size, "%s+0x%" PRIx64, place->file, place->offset);
}

static bool is_same(const struct pto_source_place *a, const struct pto_source_place *b) {
  return a->line == b->line && a->offset == b->offset && strcmp(a->file, b->file) == 0;
}

static bool is_of_one_function(const struct pto_source_place *a, const struct pto_source_place *b) {
  return a->function[0] && strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0;
}

static void begin_question(struct pto_source_lines *lines) {
  if (!lines || lines->has_read) return;
  lines->has_read = true;
  read_process(lines);
}

static void find_call(struct pto_source_lines *lines, const void *call, const void *outer,
                      struct pto_source_call *found) {
  const uintptr_t address = (uintptr_t)call, outer_address = (uintptr_t)(outer ? outer : call);
  const struct pto_place *given = pto_place_of(call);
  memset(found, 0, sizeof *found);
  if (!address) return;
  if (!given) begin_question(lines);
  if (given) {
    snprintf(found->own.file, sizeof found->own.file, "%s",
             strlen(given->file) < sizeof found->own.file ? given->file : last_part(given->file));
    found->own.line = given->line;
    return;
  }
  /* the call is what stands before the address that it returns to */
  find_address(lines, address - 1, &found->callee);
  if (lines && is_in_wrapper(&found->callee)) find_inlined_line(lines, address - 1, true, &found->callee);
  if (!lines || !find_inlined_line(lines, outer_address - 1, false, &found->own))
    find_address(lines, outer_address - 1, &found->own);
  /* what calls the orchestration in C++ */
  if (lines && is_in_wrapper(&found->own) && !find_inlined_line(lines, address - 1, false, &found->own))
    found->own = found->callee;
  /* A compiler that splits a function calls its rest from its head. */
  if (is_of_one_function(&found->own, &found->callee)) found->own = found->callee;
  if (is_same(&found->own, &found->callee)) memset(&found->callee, 0, sizeof found->callee);
}

void pto_source_lines_find(struct pto_source_lines *lines, const void *call, const void *outer,
                           struct pto_source_call *found) {
  struct known *known =
      lines ? &lines->known[pto_mix64((uintptr_t)call ^ pto_mix64((uintptr_t)outer)) % MOST_KNOWN] : NULL;
  if (known && call && known->call == call && known->outer == outer) {
    *found = known->found;
    return;
  }
  find_call(lines, call, outer, found);
  if (known) *known = (struct known){call, outer, *found};
}

const char *pto_source_call_name(const struct pto_source_call *found, char *text, size_t size) {
  char callee[PTO_SOURCE_FILE_SIZE + 32];
  name_place(&found->own, text, size);
  name_place(&found->callee, callee, sizeof callee);
  if (callee[0]) pto_text_append(text, size, " (%s)", callee);
  if (text[0] && found->dispatch) pto_text_append(text, size, " by dispatch %" PRIu64, found->dispatch);
  return text;
}

const char *pto_source_lines_name(struct pto_source_lines *lines, const void *call, const void *outer, char *text,
                                  size_t size) {
  struct pto_source_call found;
  pto_source_lines_find(lines, call, outer, &found);
  return pto_source_call_name(&found, text, size);
}

const char *pto_source_lines_function(struct pto_source_lines *lines, const void *address, char *text, size_t size) {
  struct pto_source_place place = {.file = ""};
  char line[PTO_SOURCE_FILE_SIZE + 32];
  begin_question(lines);
  find_address(lines, (uintptr_t)address, &place);
  name_place(&place, line, sizeof line);
  snprintf(text, size, place.function[0] ? "%s (%s)" : "%s%s", place.function, line);
  return text;
}
