/* SPDX-License-Identifier: MIT */
/*
 * Kernels that were written for the existing runtime: compiled against a checkout of pto-isa, loaded, and called on our
 * cores.
 *
 *   pto_compat_compiler_find(NULL, &compiler)            which compiler there is
 *   pto_compat_kernels_build(workshop, sources, …)       a shared object each, from the cache where nothing has changed
 *   pto_compat_kernel_load(path, &entry)                 into the process, for good
 *   struct pto_compat_kernel {.entry, .flags = PTO_COMPAT_KERNEL_FLAGS, .call = pto_compat_kernel_call}
 *
 * While it runs, a kernel that waits (in a pipe, by sleeping, by polling memory) lets its core wait and not the thread,
 * on every engine; its thread-local state is its core's, so any number of cores may share a thread.  Cores that wait
 * for ever end the run by name, as those of core.h do.  seam.c and compat/object have how.
 *
 * Objects are never unloaded: kernels of one compiler share symbols.  Threads: any may build, one at a time a cache;
 * load and find from one thread; kernels are called by engines.
 */
#ifndef PTO_COMPAT_KERNEL_H
#define PTO_COMPAT_KERNEL_H

#include <compat/adapter/compat.h>

/* ---- compilers ---- */

struct pto_compat_compiler {
  char name[64]; /* "clang++-19" */
  uint32_t version;
  bool is_clang;
  bool has_bfloat16; /* a kernel that names the type is refused without */
};

/* What kernels are compiled with: `name`, or where that is NULL the first that there is of clang 19 and newer, g++ 14
 * and newer, g++ 12 and newer.  PTO_OK, or PTO_ESYSTEM where there is none, or none of that name, that will do. */
PTO_MUST_CHECK int pto_compat_compiler_find(const char *name, struct pto_compat_compiler *compiler,
                                            struct pto_error *error);

/* ---- building ---- */

struct pto_compat_workshop {
  struct pto_compat_compiler compiler;
  const char *compat;  /* our folder compat/ */
  const char *pto_isa; /* the user's checkout */
  const char *cache;   /* a folder, made where there is none; several programs may use it at a time */
  uint32_t jobs;       /* compilers at a time; 0: the CPUs, at most one for each 512 MB of memory */
};

struct pto_compat_kernel_source {
  const char *path;
  uint32_t core;               /* PTO_AIC or PTO_AIV */
  uint32_t architecture;       /* enum pto_compat_architecture */
  const char *const *includes; /* folders */
  uint32_t include_count;
  const char *const *defines; /* "NAME=VALUE" */
  uint32_t define_count;
};

struct pto_compat_kernel_built {
  int status; /* PTO_OK, or PTO_EINVAL: it does not compile */
  bool was_cached;
  uint64_t ns;        /* that it took */
  char path[1024];    /* of the object */
  char sentence[512]; /* "FILE:LINE: …", where it failed */
};

/* Builds all: PTO_OK, where each of `built` has a path; PTO_EINVAL where some do not compile, each with its sentence;
 * PTO_ESYSTEM, PTO_ENOMEM with the sentence in `error`.  A failed one leaves nothing in the cache. */
PTO_MUST_CHECK int pto_compat_kernels_build(const struct pto_compat_workshop *workshop,
                                            const struct pto_compat_kernel_source *sources, uint32_t count,
                                            struct pto_compat_kernel_built *built, struct pto_error *error);

/* ---- loading and calling ---- */

/* PTO_OK; PTO_EINVAL with the reason: not built here, a function that no library has. */
PTO_MUST_CHECK int pto_compat_kernel_load(const char *path, pto_compat_entry **entry_out, struct pto_error *error);

#define PTO_COMPAT_KERNEL_FLAGS PTO_KERNEL_WAITS
/* The hook of struct pto_compat_kernel: calls the entry of call->kernel with what the seam needs. */
int pto_compat_kernel_call(void *context, const struct pto_compat_call *call);

/* A kernel instead of one that cannot be built: ours of that name (pto_kernel_find), or with NULL one that does nothing
 * and costs what it costs.  PTO_EINVAL where there is none of that name.  Fills entry, call, context, cost and flags.
 */
PTO_MUST_CHECK int pto_compat_kernel_substitute(const char *name, struct pto_compat_kernel *kernel,
                                                struct pto_error *error);

#endif
