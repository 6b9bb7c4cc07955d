/* SPDX-License-Identifier: MIT */
/*
 * The shared objects of an adopted program: its orchestration and its kernels, compiled, kept by contents
 * (compat/kernel/object_cache.h) and loaded.
 *
 * Objects are in objects/ and kernels/ of the folder that the environment variable PTO_ADOPTED names, else of
 * build/adopted in the working folder.  The headers are those of the folder compat/ that PTO_COMPAT names, else of the
 * one beside the executable's folder or in ../lib/pto of it.  CXX names the compiler of orchestrations, else it is c++;
 * KERNEL_CXX that of kernels, else it is chosen (compat/kernel/kernel.h).  PTO_ISA names the checkout that kernels are
 * compiled against.
 *
 * Owns the handles until fini.  Kernels are never unloaded: their symbols are shared between them.  All compilations of
 * a program run at the same time, one a CPU.  The thread that will be the control thread.
 */
#ifndef PTO_CHECK_ADOPT_BUILD_H
#define PTO_CHECK_ADOPT_BUILD_H

#include <check/adopt/manifest.h>
#include <compat/adapter/compat.h>

struct pto_adopted_build {
  void *handle; /* of the orchestration */
  const struct pto_compat_orchestration *orchestration;
  struct pto_compat_kernel *kernels; /* one for each of the manifest */
  unsigned char *workspace;          /* what DMA engines have on a device, so that kernels find it: on a CPU unused */
  uint32_t compiled, objects;        /* how many of the objects were not there before */
};

/* With `has_kernels` not set kernels are only priced, and none is compiled.  PTO_OK, or the sentence of the first
 * object, in the manifest's order, that could not be had; then nothing is kept but objects that are whole.  `adopted`
 * is borrowed until fini. */
PTO_MUST_CHECK int pto_adopted_build(const struct pto_adopted *adopted, bool has_kernels,
                                     struct pto_adopted_build *build, struct pto_error *error);
/* A zeroed one is allowed. */
void pto_adopted_build_fini(struct pto_adopted_build *build);

#endif
