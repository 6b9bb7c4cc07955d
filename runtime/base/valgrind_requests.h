/* SPDX-License-Identifier: MIT */
/*
 * Requests to valgrind.  The one user of valgrind's headers, which are optional; without them, and outside
 * valgrind, nothing happens.  Any thread.
 *
 * Requests about memory are memcheck's and do nothing under its other tools; those about order between threads are
 * helgrind's and drd's, and only builds with PTO_ANNOTATE make them (atomic.h).
 */
#ifndef PTO_VALGRIND_REQUESTS_H
#define PTO_VALGRIND_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the process runs under valgrind, which wants its faults for itself. */
bool pto_is_under_valgrind(void);
/* Whether it runs under memcheck, which listens to the requests about memory. */
bool pto_is_under_memcheck(void);

/* [lowest, lowest + size_bytes) is a stack that a thread may switch to; a number for the second call, 0 for nothing. */
uint32_t pto_valgrind_stack_register(void *lowest, uint64_t size_bytes);
void pto_valgrind_stack_deregister(uint32_t number);

/* No thread may touch the bytes; or all may, but what is in them is nothing that a result may depend on. */
void pto_memcheck_no_access(const void *addr, uint64_t size_bytes);
void pto_memcheck_undefined(const void *addr, uint64_t size_bytes);
/* The first byte that is not both accessible and defined, without a report; NULL where all are. */
const char *pto_memcheck_first_undefined(const void *addr, uint64_t size_bytes);
/* A byte of `bits` for each byte: 0 defined, 0xff undefined, and anything between.  False, and nothing written, where
 * not all of them are accessible. */
bool pto_memcheck_get_bits(const void *addr, uint8_t *bits, uint64_t size_bytes);
/* Accessible, and defined as `bits` say. */
void pto_memcheck_set_bits(const void *addr, const uint8_t *bits, uint64_t size_bytes);

/* What this thread has done so far comes before what another one does after its call of happens_after with the same
 * address. */
void pto_valgrind_happens_before(const void *word);
void pto_valgrind_happens_after(const void *word);
/* Threads touch these bytes at the same time, atomically. */
void pto_valgrind_races_on_purpose(const void *addr, uint64_t size_bytes);

#endif
