/* SPDX-License-Identifier: MIT */
#include <orchestration/loader/kernel_image.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <runtime/base/base.h>
#include <runtime/base/text.h>

/* What lies between globals is closed to AddressSanitizer, and is read here all the same. */
#define READS_ANYTHING __attribute__((no_sanitize("address"), noinline))
#define MOST_FLAGS (PTO_KERNEL_IN_PLACE | PTO_KERNEL_WAITS | PTO_KERNEL_TURNS | PTO_KERNEL_ONE_BLOCK)

/* ---- segments of an object ---- */

struct search {
  uint64_t load_address; /* of the object */
  const char *name;
  uint32_t nth, before;            /* which of the name to find; how many came before */
  const struct pto_kernel *wanted; /* by address, where the number is asked for */
  const struct pto_kernel *found;
  const struct dl_phdr_info *info; /* while its segments are walked */
};

static bool is_within(const struct dl_phdr_info *info, uint32_t flags, uint64_t addr, uint64_t size_bytes) {
  for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uint64_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && (segment->p_flags & flags) == flags && addr >= begin &&
        addr - begin <= segment->p_memsz && size_bytes <= segment->p_memsz - (addr - begin))
      return true;
  }
  return false;
}

static int is_code_of(struct dl_phdr_info *info, size_t size, void *addr) {
  return is_within(info, PF_X, *(const uint64_t *)addr, 1);
}
static bool is_code(uint64_t addr) { return dl_iterate_phdr(is_code_of, &addr) != 0; }

/* ---- one candidate ---- */

READS_ANYTHING static bool is_same_text(const struct dl_phdr_info *info, const char *text, const char *name) {
  const uint64_t length = strlen(name) + 1;
  if (!is_within(info, PF_R, (uint64_t)(uintptr_t)text, length)) return false;
  for (uint64_t i = 0; i < length; i++)
    if (text[i] != name[i]) return false;
  return true;
}

READS_ANYTHING static bool is_kernel(const struct search *search, const struct pto_kernel *candidate) {
  const uint32_t cores = candidate->cores;
  if (cores == 0 || cores > (PTO_AIC | PTO_AIV) || (candidate->flags & ~(uint32_t)MOST_FLAGS)) return false;
  if (candidate->param_count > PTO_MAX_PARAMS || (candidate->param_count && !candidate->params)) return false;
  return is_same_text(search->info, candidate->name, search->name) && is_code((uint64_t)(uintptr_t)candidate->run);
}

/* True where the search is over. */
static bool search_segment(struct search *search, uint64_t begin, uint64_t end) {
  const uint64_t align = _Alignof(struct pto_kernel);
  for (uint64_t at = pto_align_up(begin, align); at + sizeof(struct pto_kernel) <= end; at += align) {
    const struct pto_kernel *candidate = (const struct pto_kernel *)(uintptr_t)at;
    if (!is_kernel(search, candidate)) continue;
    if (search->wanted ? candidate == search->wanted : search->before == search->nth) {
      search->found = candidate;
      return true;
    }
    search->before++;
  }
  return false;
}

/* Constants with addresses in them lie in a segment that is writable until they are relocated. */
static int search_object(struct dl_phdr_info *info, size_t size, void *context) {
  struct search *search = context;
  if (info->dlpi_addr != search->load_address) return 0;
  search->info = info;
  for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    uint64_t begin = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W)) continue;
    if (search_segment(search, begin, begin + segment->p_memsz)) break;
  }
  return 1;
}

static bool search_handle(void *handle, struct search *search) {
  struct link_map *map;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return false;
  search->load_address = map->l_addr;
  dl_iterate_phdr(search_object, search);
  return search->found != NULL;
}

const struct pto_kernel *pto_kernel_image_find(void *handle, const char *name, uint32_t nth) {
  struct search search = {.name = name, .nth = nth};
  return search_handle(handle, &search) ? search.found : NULL;
}

bool pto_kernel_image_number(void *handle, const struct pto_kernel *kernel, uint32_t *nth_out) {
  struct search search = {.name = kernel->name, .wanted = kernel};
  if (!search_handle(handle, &search)) return false;
  *nth_out = search.before;
  return true;
}

/* ---- objects without a program ---- */

int pto_kernel_library_open(const char *path, struct pto_kernel_library *library, struct pto_error *error) {
  char with_slash[4096];
  memset(library, 0, sizeof *library);
  /* dlopen looks a name without a slash up in the library path; a slash makes it the file that was meant. */
  int length = snprintf(with_slash, sizeof with_slash, "%s%s", strchr(path, '/') ? "" : "./", path);
  if (length >= (int)sizeof with_slash) return pto_error_set(error, PTO_EINVAL, "the path of a library is too long");
  if (access(with_slash, R_OK) != 0) return pto_error_set(error, PTO_EINVAL, "%.400s: %s", path, strerror(errno));
  if (pto_regular_file_check(with_slash, error)) return error->status = PTO_EINVAL;
  library->handle = dlopen(with_slash, RTLD_NOW | RTLD_LOCAL);
  return library->handle ? PTO_OK : pto_error_set(error, PTO_EINVAL, "%s", dlerror());
}

void pto_kernel_library_close(struct pto_kernel_library *library) {
  if (library->handle) dlclose(library->handle);
  memset(library, 0, sizeof *library);
}
