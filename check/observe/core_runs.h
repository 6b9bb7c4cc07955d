/* SPDX-License-Identifier: MIT */
/*
 * One run of a unit whose cores wait for each other: what its stretches write, or what comes of other values.
 *
 *   traced   the records of the run and the writes of each stretch, found by copies of memory
 *   trial    the same order of calls again, in which stretches begin with other values in the bytes of their races, or
 *            one of them with more in a whole number; where its calls are others it has strayed
 *
 * Always true: a trial follows a traced run whose records and races are there.
 *
 * Owns nothing but what struct pto_observe_cores (check/observe/cores.h) has.  One thread.
 */
#ifndef PTO_CHECK_OBSERVE_CORE_RUNS_H
#define PTO_CHECK_OBSERVE_CORE_RUNS_H

#include <check/observe/cores.h>

/* Runs of a unit that come to no end, after which it has no trials any more. */
#define PTO_CORES_MOST_STUCK 2u

/* A traced run; what it came to, where that is not what the first run came to. */
struct pto_observe_outcome pto_cores_trace(struct pto_observe_cores *cores, bool is_reversed);
/* Traces the run once more, by the instruction; false where that was done. */
bool pto_cores_trace_words(struct pto_observe_cores *cores);
/* Whether other values in these bytes of stretches [first, end) make a difference to the traced run, in which the first
 * status that was not 0 was `status`. */
bool pto_cores_matters(struct pto_observe_cores *cores, uint32_t first, uint32_t end, struct pto_observe_range bytes,
                       int status);
/* Whether the stretch reads what the other core writes into the piece of memory where `at` of the copies lies, and goes
 * on as it does with any values there.  The races of the run are no longer there. */
bool pto_cores_reads(struct pto_observe_cores *cores, uint32_t of, uint32_t writer, uint64_t at, int status);
/* What the cores call in a run that is not traced, one core after the other: a hash of all calls and their lines, but
 * for polls. */
uint32_t pto_cores_hash_calls(struct pto_observe_cores *cores);
/* A run that is not traced, in an order by chance. */
struct pto_observe_outcome pto_cores_run_at_random(struct pto_observe_cores *cores, uint64_t random);

/* Whether the byte is one of a sum that cores add to. */
bool pto_cores_is_sum(const struct pto_observe_cores *cores, uint64_t at);
/* Whether both bytes are of one parameter, or of one piece of shared memory. */
bool pto_cores_is_one_piece(const struct pto_observe_cores *cores, uint64_t at, uint64_t other);
/* Whether its stretch writes one word there and nothing beside it, as who is polled does. */
bool pto_cores_is_lone_word(const struct pto_observe_cores *cores, const struct pto_cores_write *write);

#endif
