/* SPDX-License-Identifier: MIT */
/* Loading a kernel's object, and what stands in where there is none. */
#include <compat/kernel/kernel.h>

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <compat/kernel/seam.h>
#include <runtime/base/base.h>

struct search {
  size_t module;
  bool is_found, has_memory;
};

static int add_block(struct dl_phdr_info *info, size_t size, void *context) {
  struct search *search = context;
  (void)size;
  if (info->dlpi_tls_modid != search->module) return 0;
  for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_TLS) continue;
    const void *image = (const void *)(info->dlpi_addr + header->p_vaddr); /* NOLINT */
    search->is_found = true;
    search->has_memory =
        pto_compat_seam_add_module(search->module, image, header->p_filesz, header->p_memsz, header->p_align);
  }
  return 1;
}

/* The object's block of thread-local variables becomes its cores'. */
static bool take_block(void *object) {
  struct search search = {.has_memory = true};
  if (dlinfo(object, RTLD_DI_TLS_MODID, &search.module) != 0 || search.module == 0) return true;
  dl_iterate_phdr(add_block, &search);
  return search.has_memory;
}

int pto_compat_kernel_load(const char *path, pto_compat_entry **entry_out, struct pto_error *error) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!object) return pto_error_set(error, PTO_EINVAL, "kernel %s: %s", path, dlerror());
  const struct pto_compat_seam_calls **calls = dlsym(object, PTO_COMPAT_SEAM_SYMBOL);
  const uint32_t *abi = dlsym(object, PTO_COMPAT_SEAM_SYMBOL "_abi");
  void (*begin)(void);
  pto_compat_entry *entry;
  *(void **)&begin = dlsym(object, PTO_COMPAT_SEAM_SYMBOL "_begin");
  *(void **)&entry = dlsym(object, "kernel_entry");
  int status = PTO_OK;
  if (!calls || !abi || !begin || *abi != PTO_COMPAT_SEAM_ABI)
    status = pto_error_set(error, PTO_EINVAL, "kernel %s: not built by this version", path);
  else if (!entry)
    status = pto_error_set(error, PTO_EINVAL, "kernel %s: it has no function kernel_entry", path);
  else if (!*calls && !take_block(object))
    status = pto_error_set(error, PTO_ENOMEM, "kernel %s: no memory", path);
  if (status != PTO_OK) return status; /* the object stays: others may have its symbols by now */
  if (!*calls) {
    *calls = pto_compat_seam_table();
    begin();
  }
  *entry_out = entry;
  return PTO_OK;
}

/* ---- substitutes ---- */

static int call_substitute(void *context, const struct pto_compat_call *call) {
  const struct pto_kernel *kernel = context;
  return kernel->run(call->core_args);
}

int pto_compat_kernel_substitute(const char *name, struct pto_compat_kernel *kernel, struct pto_error *error) {
  const struct pto_kernel *ours = name ? pto_kernel_find(name) : NULL;
  if (name && !ours) return pto_error_set(error, PTO_EINVAL, "no kernel of ours is called %s", name);
  kernel->entry = NULL;
  kernel->call = ours ? call_substitute : NULL;
  kernel->context = (void *)(uintptr_t)ours;
  kernel->flags = ours ? ours->flags : 0;
  if (ours) kernel->cost = ours->cost;
  return PTO_OK;
}
