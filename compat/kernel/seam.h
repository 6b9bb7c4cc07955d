/* SPDX-License-Identifier: MIT */
/*
 * Our end of the seam: what a kernel's object asks (compat/object/seam_calls.h), answered for the core that runs it.
 *
 * For compat/kernel.  Each core has a state, in memory that its engine keeps for it (pto_core_private): the
 * thread-local variables of all objects, how often it holds the mutex, and what its last poll looked like.  Always
 * true: while a kernel's code runs, `now` of its thread is its core's state; every switch to another core is within a
 * call of pto_core_yield here, which sets it again.  A core yields only while it does not hold the mutex.
 */
#ifndef PTO_COMPAT_SEAM_H
#define PTO_COMPAT_SEAM_H

#include <compat/kernel/kernel.h>
#include <compat/object/seam_calls.h>

/* For the loader: the table, and a module with a thread-local block that is to be the cores'. */
const struct pto_compat_seam_calls *pto_compat_seam_table(void);
/* `image` of image_bytes, and zeroes up to size_bytes.  False where there is no memory. */
bool pto_compat_seam_add_module(size_t module, const void *image, size_t image_bytes, size_t size_bytes, size_t align);

#endif
