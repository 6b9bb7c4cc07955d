/* SPDX-License-Identifier: MIT */
/*
 * Coroutines for the oracle, by the C library's own contexts: slow and obvious, and no line of it shared with the
 * engines' stacks.
 *
 * A coroutine runs `body` on a stack of its own from one resume to the next suspend; it is over when body has returned.
 * The caller that inits it finishes it; one that is not over must not be finished, for what its body holds would be
 * lost.
 *
 * AddressSanitizer and ThreadSanitizer are told of every change of stacks.  One thread.
 */
#ifndef PTO_ORACLE_COROUTINE_H
#define PTO_ORACLE_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct oracle_coroutine {
  ucontext_t own, resumer;
  void (*body)(void *argument);
  void *argument;
  char *mapping; /* a page that may not be touched, then the stack */
  size_t mapping_bytes, stack_bytes;
  bool is_over;
  /* What the sanitizers want to know again at the next change. */
  const void *resumer_stack;
  size_t resumer_stack_bytes;
  void *own_fake_stack, *own_fiber, *resumer_fiber;
};

/* False where there is no memory. */
bool oracle_coroutine_init(struct oracle_coroutine *c, size_t stack_bytes, void (*body)(void *), void *argument);
void oracle_coroutine_fini(struct oracle_coroutine *c);
/* Runs it until it suspends itself or is over, which it is not before. */
void oracle_coroutine_resume(struct oracle_coroutine *c);
/* For its body: back to the one who resumed it. */
void oracle_coroutine_suspend(struct oracle_coroutine *c);

#endif
