/* SPDX-License-Identifier: MIT */
/*
 * What valgrind is asked and told.  The one user of valgrind's headers, which are optional; without them, and outside
 * valgrind, nothing happens.  Any thread.
 */
#ifndef PTO_VALGRIND_REQUESTS_H
#define PTO_VALGRIND_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the process runs under valgrind, which wants its faults for itself. */
bool pto_is_under_valgrind(void);

/* [lowest, lowest + size_bytes) is a stack that a thread may switch to; a number for the second call. */
uint32_t pto_valgrind_stack_register(void *lowest, uint64_t size_bytes);
void pto_valgrind_stack_deregister(uint32_t number);

#endif
