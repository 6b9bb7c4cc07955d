/* SPDX-License-Identifier: MIT */
/*
 * The kernels of a loaded shared object, found again by name: a kernel is a constant of its shared object and most are
 * static, so that no symbol leads to them.
 *
 * A struct pto_kernel is found by what it must be: its name is a string of the object with the wanted text, its cores
 * and flags are ones that there are, and its function lies in code.  Those of one name are numbered in the order of
 * their addresses: the same number in every load of the same file.
 *
 * Owns nothing beyond pto_kernel_library, which keeps its object mapped until close; kernels found in it live as long.
 * Reads memory of the object alone.  One thread.
 */
#ifndef PTO_KERNEL_IMAGE_H
#define PTO_KERNEL_IMAGE_H

#include <orchestration/loader/loader.h>

struct pto_kernel_library {
  void *handle; /* of dlopen */
};

/* Maps any shared object, one with a pto_program or without.  PTO_OK, PTO_EINVAL with the reason. */
PTO_MUST_CHECK int pto_kernel_library_open(const char *path, struct pto_kernel_library *library,
                                           struct pto_error *error);
/* A zeroed struct is allowed. */
void pto_kernel_library_close(struct pto_kernel_library *library);

/* Number `nth` of the kernels called `name` in the object of a dlopen handle; NULL where there are fewer. */
const struct pto_kernel *pto_kernel_image_find(void *handle, const char *name, uint32_t nth);
/* Which of its name a kernel is; false where it lies in another object. */
bool pto_kernel_image_number(void *handle, const struct pto_kernel *kernel, uint32_t *nth_out);

#endif
