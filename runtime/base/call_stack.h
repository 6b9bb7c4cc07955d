/* SPDX-License-Identifier: MIT */
/*
 * The calls that a thread is in, as the addresses that they return to: the home of the unwinder of gcc's and clang's
 * support library, which reads unwind tables and needs no frame pointers.
 *
 * Owns a thread-local address: the frame of the function that has called the program's own code, an orchestration.  Any
 * thread, also the handler of a fault: with glibc 2.35 and gcc 12 or later nothing here locks or allocates.
 */
#ifndef PTO_CALL_STACK_H
#define PTO_CALL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The program's own code is called from the function whose frame this is (__builtin_frame_address(0)); NULL: it has
 * returned.  What was said before, for a thread that goes on with another stack. */
const void *pto_call_stack_begin(const void *frame);

/* Whether the address is of a variable of the program's own code that is called, from within a function called by it.
 */
bool pto_call_stack_has(uint64_t address);

/* Of the calls that the program's own code is in, the outermost, of which `call` is one within.  NULL: `call` is itself
 * the outermost, or is not found. */
const void *pto_call_stack_outer(const void *call);

/* The call by which other code has come into this library: the innermost that returns to another loaded file than that
 * of this function.  NULL: none does. */
const void *pto_call_stack_entry(void);
/* Whether that file has the function. */
bool pto_call_stack_is_own(const void *function);

/* In the handler of a fault: where it came, and where the calls around that return to, the innermost first, up to the
 * function that starts at `outermost` (NULL: all), or to the end of the program's own code.  How many. */
size_t pto_call_stack_take(const void *outermost, const void **calls, size_t capacity);

#endif
