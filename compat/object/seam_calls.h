/* SPDX-License-Identifier: MIT */
/*
 * What a kernel's shared object asks of the process that loaded it: where the object's seam (seam.c beside this) and
 * compat/kernel/seam.c meet.
 *
 * The loader writes the address of the table into `pto_compat_seam` of each object before its kernel runs.  Until then,
 * and outside of a kernel, the object's calls do without.
 */
#ifndef PTO_COMPAT_SEAM_CALLS_H
#define PTO_COMPAT_SEAM_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define PTO_COMPAT_SEAM_ABI 1u
#define PTO_COMPAT_SEAM_SYMBOL "pto_compat_seam"

struct pto_compat_seam_calls {
  uint32_t abi;
  /* How far from the thread pointer the thread's count of blocks lies: it is counted down, and `block` called where it
   * passes 0.  `registers`: the six that calls preserve; `frame`: the stack from the return address on. */
  ptrdiff_t countdown;
  void (*block)(const uint64_t *frame, const uint64_t *registers);
  /* The core waits, for something in memory or for time; it may have come. */
  void (*wait)(void);
  /* It let others know of something. */
  void (*notify)(void);
  /* All mutexes of all kernels are one.  `unlock_all` gives how often the core held it. */
  void (*lock)(void);
  int (*try_lock)(void);
  void (*unlock)(void);
  uint32_t (*unlock_all)(void);
  void (*lock_again)(uint32_t count);
  /* Thread-local state is the core's: of an emulated variable, and of a module's block. */
  void *(*emulated)(void *control);
  void *(*block_of)(size_t module, size_t offset);
  void (*at_exit)(void (*destroy)(void *), void *object);
  uint64_t (*ticks)(uint64_t per_second);
  void *(*find)(void *handle, const char *name);
  void (*fail)(const char *what) __attribute__((noreturn));
};

#endif
