/* SPDX-License-Identifier: MIT */
/*
 * A fiber: a stack of its own for code that is suspended and resumed, so that waiting costs its core and not a thread.
 *
 * Owned by the caller, with the stack's memory; fini before that memory goes.  Always true: a fiber is idle, running or
 * suspended; resume is called on an idle one that has been given something to do, or on a suspended one, always by the
 * same thread; suspend is called on the fiber's own stack.  A fiber whose function has returned is idle again and can
 * be given the next.  Registers that the ABI calls callee-saved and the floating-point control words are kept apart;
 * signal masks are not.
 *
 * AddressSanitizer, ThreadSanitizer and valgrind are told about stacks and switches.  To port it: the switch in fiber.c
 * is assembly for x86-64 and ucontext elsewhere (and under PTO_FIBER_UCONTEXT, which tests build).
 */
#ifndef PTO_SIM_HOST_FIBER_H
#define PTO_SIM_HOST_FIBER_H

#include <runtime/base/base.h>

struct pto_fiber {
  void *stack; /* lowest byte */
  uint64_t stack_bytes;
  void *own_sp, *caller_sp; /* of the side that does not run; with ucontext, the two contexts on the stack */
  void (*run)(void *context);
  void *context;
  bool is_active; /* running or suspended */
  uint32_t valgrind_number;
  void *tsan_own, *tsan_caller; /* ThreadSanitizer's names of both sides */
  void *asan_own, *asan_caller; /* AddressSanitizer's fake stacks */
  const void *caller_stack;     /* and the caller's real one */
  size_t caller_stack_bytes;
};

/* An idle fiber on `stack_bytes` of memory from `stack` on, both multiples of 16. */
void pto_fiber_init(struct pto_fiber *fiber, void *stack, uint64_t stack_bytes);
/* Of an idle fiber; a zeroed one is allowed. */
void pto_fiber_fini(struct pto_fiber *fiber);

/* What an idle fiber runs at its next resume. */
void pto_fiber_give(struct pto_fiber *fiber, void (*run)(void *context), void *context);
/* Until the fiber suspends or its function returns; true where it has returned. */
bool pto_fiber_resume(struct pto_fiber *fiber);
/* On the fiber itself: back to its resumer; returns at the next resume. */
void pto_fiber_suspend(struct pto_fiber *fiber);

#endif
