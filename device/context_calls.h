/* SPDX-License-Identifier: MIT */
/*
 * What the calls on a context share: their turn, refusals, and the queue.
 *
 *   context_calls.c     turn and queue
 *   device_calls.c      calls about tensors
 *   dispatch_calls.c    calls about programs, and their operands by name
 *
 * A call is  begin (turn and lock) → checks, under the lock → unlock → enqueue, wait → end.  Whatever it refuses, it
 * has changed nothing by then.
 */
#ifndef PTO_CONTEXT_CALLS_H
#define PTO_CONTEXT_CALLS_H

#include <device/context_state.h>

#include <inttypes.h>

/* Begins a call: its turn, and the lock, which protects the tensors that it looks at.  `call`: its name, where a
 * refusal is counted, as the caller may not have noticed it; NULL: a question, or a tensor that is made or destroyed,
 * whose refusal is an answer.  PTO_OK, or the failure that is kept. */
int pto_context_begin_call(struct pto_context *context, const char *call);
/* Ends its turn; the lock has been given up.  Counts a refusal.  Returns `status`. */
int pto_context_end_call(struct pto_context *context, int status);

#define PTO_CONTEXT_REFUSE(context, ...) pto_error_set(&(context)->refusal, __VA_ARGS__)

/* A refusal of a call made of other calls, "WHAT: SENTENCE", with a turn of its own.  Returns error->status. */
int pto_context_refuse(struct pto_context *context, const char *what, const struct pto_error *error);

/* PTO_OK, or the refusal where what was to write the tensor has failed.  Under the lock. */
int pto_context_check_defined(struct pto_context *context, const char *what, const struct pto_device_record *record);

/* The index of the operand called `name`, or `count`.  `likely` is compared first: bindings mostly come in the order
 * of the operands, and then a dispatch of many costs no more than their number. */
uint32_t pto_context_find_operand(const struct pto_operand *operands, uint32_t count, const char *name,
                                  uint32_t likely);

/* Takes the command (what it owns is freed in any case) and queues it, waiting for room.  PTO_OK, or the failure that
 * is kept. */
int pto_context_enqueue(struct pto_context *context, struct pto_command *command);
/* Behind pto_context_enqueue, or where something is queued: waits until all of it has been carried out, or given up.
 * PTO_OK, or the failure that is kept. */
int pto_context_wait(struct pto_context *context);

#endif
