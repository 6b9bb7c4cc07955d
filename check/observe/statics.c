/* SPDX-License-Identifier: MIT */
#include <check/observe/statics.h>

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <pto/tensor.h>
#include <runtime/base/grow.h>

/* ---- the segments of a file ---- */

struct search {
  struct pto_observe_statics *statics;
  uintptr_t function;
};

static bool is_within(const struct dl_phdr_info *info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz) return true;
  }
  return false;
}

static void add(struct pto_observe_statics *statics, struct pto_statics_segment added) {
  struct pto_statics_segment *segment = &statics->segments[statics->count];
  if (!added.size_bytes || added.size_bytes > PTO_STATICS_MAX_BYTES || statics->count == PTO_STATICS_MAX_SEGMENTS)
    return;
  *segment = added;
  segment->before = calloc(3, segment->size_bytes);
  if (!segment->before) return;
  segment->after = segment->before + segment->size_bytes;
  segment->has_changed = segment->after + segment->size_bytes;
  statics->count++;
}

/* Without what the dynamic linker has made read-only, which lies at the beginning of a segment. */
static void add_segment(struct pto_observe_statics *statics, const struct dl_phdr_info *info, const ElfW(Phdr) * load) {
  uintptr_t begin = info->dlpi_addr + load->p_vaddr;
  const uintptr_t end = begin + load->p_memsz;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *relro = &info->dlpi_phdr[i];
    const uintptr_t relro_begin = info->dlpi_addr + relro->p_vaddr;
    if (relro->p_type == PT_GNU_RELRO && relro_begin >= begin && relro_begin < end)
      begin = relro_begin + relro->p_memsz;
  }
  if (begin < end) add(statics, (struct pto_statics_segment){.data = (char *)begin, .size_bytes = end - begin});
}

/* glibc's: the thread's copy of a file's thread-local variables, made where there is none yet. */
struct tls_index {
  unsigned long module, offset;
};
extern void *__tls_get_addr(struct tls_index *index);

static void add_thread(struct pto_observe_statics *statics, const struct dl_phdr_info *info,
                       const ElfW(Phdr) * variables) {
  struct tls_index index = {info->dlpi_tls_modid, 0};
  add(statics, (struct pto_statics_segment){.data = __tls_get_addr(&index),
                                            .size_bytes = variables->p_memsz,
                                            .is_thread = true,
                                            .image = (const char *)(info->dlpi_addr + variables->p_vaddr),
                                            .image_bytes = variables->p_filesz});
}

/* Whether a function of one of these names is called through these relocations. */
static bool calls_once(const ElfW(Rela) * calls, uint64_t size_bytes, const ElfW(Sym) * symbols, const char *names) {
  static const char *const wanted[] = {"call_once", "pthread_once", "__cxa_guard_acquire"};
  for (uint64_t i = 0; i < size_bytes / sizeof *calls; i++)
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
      if (strcmp(names + symbols[ELF64_R_SYM(calls[i].r_info)].st_name, wanted[k]) == 0) return true;
  return false;
}

static bool builds_once(const struct dl_phdr_info *info) {
  const ElfW(Dyn) *entry = NULL;
  uintptr_t of[DT_JMPREL + 1] = {0};
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (; entry && entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag > 0 && entry->d_tag <= DT_JMPREL) of[entry->d_tag] = entry->d_un.d_ptr;
  const ElfW(Sym) *symbols = (const ElfW(Sym) *)of[DT_SYMTAB];
  const char *names = (const char *)of[DT_STRTAB];
  return symbols && names &&
         ((of[DT_JMPREL] && calls_once((const ElfW(Rela) *)of[DT_JMPREL], of[DT_PLTRELSZ], symbols, names)) ||
          (of[DT_RELA] && calls_once((const ElfW(Rela) *)of[DT_RELA], of[DT_RELASZ], symbols, names)));
}

static int search_file(struct dl_phdr_info *info, size_t size, void *context) {
  const struct search *search = context;
  (void)size;
  if (!is_within(info, search->function)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const uintptr_t lo = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    search->statics->lo = pto_min_u64(search->statics->lo, lo);
    search->statics->hi = pto_max_u64(search->statics->hi, lo + info->dlpi_phdr[i].p_memsz);
  }
  if (is_within(info, (uintptr_t)pto_observe_statics_begin) || is_within(info, (uintptr_t)pto_dtype_name)) return 1;
  search->statics->builds_once = builds_once(info);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W)) add_segment(search->statics, info, segment);
    if (segment->p_type == PT_TLS && info->dlpi_tls_modid) add_thread(search->statics, info, segment);
  }
  return 1;
}

static struct pto_statics_piece *add_piece(struct pto_observe_statics *statics, struct pto_statics_piece piece) {
  struct pto_statics_piece *added =
      pto_grow(&statics->pieces, &statics->piece_count, &statics->piece_capacity, sizeof *added);
  if (added) *added = piece;
  return added;
}

/* ---- around a unit ---- */

void pto_observe_statics_fini(struct pto_observe_statics *statics) {
  for (uint32_t i = 0; i < statics->count; i++) free(statics->segments[i].before);
  free(statics->pieces);
  *statics = (struct pto_observe_statics){0};
}

void pto_observe_statics_find(struct pto_observe_statics *statics, const void *function, uint64_t external_list) {
  const uintptr_t address = (uintptr_t)function;
  if (address >= statics->lo && address < statics->hi && external_list == statics->external_list) return;
  pto_observe_statics_fini(statics);
  statics->external_list = external_list;
  statics->lo = address;
  statics->hi = address + 1;
  dl_iterate_phdr(search_file, &(struct search){statics, address});
  for (uint32_t i = 0; i < statics->count; i++)
    add_piece(statics, (struct pto_statics_piece){&statics->segments[i], 0, statics->segments[i].size_bytes});
}

void pto_observe_statics_cut(struct pto_observe_statics *statics, uint64_t begin, uint64_t end) {
  for (size_t i = 0, count = statics->piece_count; i < count; i++) {
    struct pto_statics_piece *piece = &statics->pieces[i];
    const uint64_t data = (uintptr_t)piece->segment->data;
    const uint64_t lo = pto_max_u64(begin, data + piece->lo), hi = pto_min_u64(end, data + piece->hi);
    if (lo >= hi) continue;
    const struct pto_statics_piece behind = {piece->segment, hi - data, piece->hi};
    piece->hi = lo - data;
    if (behind.lo < behind.hi) (void)add_piece(statics, behind);
  }
}

/* What a new thread has in this place. */
static char new_byte(const struct pto_statics_segment *segment, uint64_t at) {
  return at < segment->image_bytes ? segment->image[at] : 0;
}

void pto_observe_statics_renew(const struct pto_observe_statics *statics) {
  for (size_t i = 0; i < statics->piece_count; i++) {
    const struct pto_statics_piece *piece = &statics->pieces[i];
    for (uint64_t at = piece->lo; piece->segment->is_thread && at < piece->hi; at++)
      piece->segment->data[at] = new_byte(piece->segment, at);
  }
}

void pto_observe_statics_begin(struct pto_observe_statics *statics) {
  statics->has_thread = statics->is_changed = statics->is_thread_changed = false;
  statics->was_new = true;
  for (size_t i = 0; i < statics->piece_count; i++) {
    const struct pto_statics_piece *piece = &statics->pieces[i];
    const struct pto_statics_segment *segment = piece->segment;
    memcpy(segment->before + piece->lo, segment->data + piece->lo, piece->hi - piece->lo);
    for (uint64_t at = piece->lo; segment->is_thread && statics->was_new && at < piece->hi; at++)
      statics->was_new = segment->data[at] == new_byte(segment, at);
    statics->has_thread |= segment->is_thread;
  }
}

/* Whether a byte has changed, and is to be told of.  What is built once stays: built again, it would be destroyed twice
 * when the process ends. */
static bool note_change(const struct pto_observe_statics *statics, const struct pto_statics_segment *segment,
                        uint64_t at) {
  if (segment->before[at] == segment->after[at]) return false;
  if (!statics->builds_once || segment->has_changed[at]) return true;
  segment->has_changed[at] = 1;
  segment->before[at] = segment->after[at];
  return false;
}

bool pto_observe_statics_end_first(struct pto_observe_statics *statics, const char **data, uint64_t *size_bytes) {
  *size_bytes = 0;
  for (size_t i = 0; i < statics->piece_count; i++) {
    const struct pto_statics_piece *piece = &statics->pieces[i];
    const struct pto_statics_segment *segment = piece->segment;
    uint64_t lo = piece->lo;
    memcpy(segment->after + lo, segment->data + lo, piece->hi - lo);
    if (memcmp(segment->before + lo, segment->after + lo, piece->hi - lo) == 0) continue;
    if (segment->is_thread) statics->is_thread_changed = true;
    if (segment->is_thread) continue;
    for (; lo < piece->hi; lo++) {
      if (!note_change(statics, segment, lo)) continue;
      if (!*size_bytes) *data = segment->data + lo;
      *size_bytes += *data + *size_bytes == segment->data + lo;
    }
  }
  statics->is_changed = *size_bytes != 0;
  return statics->is_changed;
}

static void put(const struct pto_observe_statics *statics, bool is_after) {
  for (size_t i = 0; statics->is_changed && i < statics->piece_count; i++) {
    const struct pto_statics_piece *piece = &statics->pieces[i];
    const struct pto_statics_segment *segment = piece->segment;
    if (segment->is_thread) continue;
    memcpy(segment->data + piece->lo, (is_after ? segment->after : segment->before) + piece->lo, piece->hi - piece->lo);
  }
}

void pto_observe_statics_set(const struct pto_observe_statics *statics) { put(statics, false); }

void pto_observe_statics_restore(const struct pto_observe_statics *statics) { put(statics, true); }
