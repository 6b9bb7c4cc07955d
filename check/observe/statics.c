/* SPDX-License-Identifier: MIT */
#include <check/observe/statics.h>

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <pto/tensor.h>

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
  if (begin >= end || end - begin > PTO_STATICS_MAX_BYTES || statics->count == PTO_STATICS_MAX_SEGMENTS) return;
  struct pto_statics_segment *segment = &statics->segments[statics->count];
  *segment = (struct pto_statics_segment){.data = (char *)begin, .size_bytes = end - begin};
  segment->before = malloc(2 * segment->size_bytes);
  if (!segment->before) return;
  segment->after = segment->before + segment->size_bytes;
  statics->count++;
}

static int search_file(struct dl_phdr_info *info, size_t size, void *context) {
  const struct search *search = context;
  (void)size;
  if (!is_within(info, search->function)) return 0;
  if (is_within(info, (uintptr_t)pto_observe_statics_begin) || is_within(info, (uintptr_t)pto_dtype_name)) return 1;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_W))
      add_segment(search->statics, info, &info->dlpi_phdr[i]);
  return 1;
}

/* ---- around a unit ---- */

void pto_observe_statics_fini(struct pto_observe_statics *statics) {
  for (uint32_t i = 0; i < statics->count; i++) free(statics->segments[i].before);
  *statics = (struct pto_observe_statics){0};
}

void pto_observe_statics_begin(struct pto_observe_statics *statics, const void *function) {
  if (function != statics->function) {
    pto_observe_statics_fini(statics);
    statics->function = function;
    dl_iterate_phdr(search_file, &(struct search){statics, (uintptr_t)function});
  }
  statics->is_changed = false;
  for (uint32_t i = 0; i < statics->count; i++)
    memcpy(statics->segments[i].before, statics->segments[i].data, statics->segments[i].size_bytes);
}

bool pto_observe_statics_end_first(struct pto_observe_statics *statics, const char **data, uint64_t *size_bytes) {
  for (uint32_t i = 0; i < statics->count; i++) {
    const struct pto_statics_segment *segment = &statics->segments[i];
    uint64_t lo = 0;
    memcpy(segment->after, segment->data, segment->size_bytes);
    if (statics->is_changed || memcmp(segment->before, segment->after, segment->size_bytes) == 0) continue;
    while (segment->before[lo] == segment->after[lo]) lo++;
    uint64_t hi = lo + 1;
    while (hi < segment->size_bytes && segment->before[hi] != segment->after[hi]) hi++;
    *data = segment->data + lo;
    *size_bytes = hi - lo;
    statics->is_changed = true;
  }
  return statics->is_changed;
}

void pto_observe_statics_set(const struct pto_observe_statics *statics) {
  for (uint32_t i = 0; statics->is_changed && i < statics->count; i++)
    memcpy(statics->segments[i].data, statics->segments[i].before, statics->segments[i].size_bytes);
}

void pto_observe_statics_restore(const struct pto_observe_statics *statics) {
  for (uint32_t i = 0; statics->is_changed && i < statics->count; i++)
    memcpy(statics->segments[i].data, statics->segments[i].after, statics->segments[i].size_bytes);
}
