/* SPDX-License-Identifier: MIT */
/*
 * What the calling thread runs now: one message and the core that it runs on; and which rank of a world.
 *
 * Owns a thread-local pair of borrowed pointers.  An engine sets it right before a kernel call and clears it right
 * after; in between both pointers stay valid and what they point to does not change.  Each thread sees its own pair
 * only, also from a signal handler that interrupts the kernel: there nothing here locks, allocates or formats through
 * libc.
 *
 * pto_engine_describe_current turns the pair into a sentence for crash reports.
 */
#ifndef PTO_SIM_HOST_CURRENT_H
#define PTO_SIM_HOST_CURRENT_H

#include <runtime/port/port.h>

struct pto_engine_current {
  const struct pto_message *message; /* NULL: in no kernel */
  const struct pto_core *core;
  uint32_t rank_number; /* from 1 on, in a kernel or not; 0: no rank's.  The world sets it */
};

/* initial-exec: stores relative to the thread register also inside the shared library, where the general model would
 * call __tls_get_addr each time.  Setting and clearing costs less than 1 ns (bench/bench_mailbox). */
extern _Thread_local struct pto_engine_current pto_engine_current __attribute__((tls_model("initial-exec")));

static inline void pto_engine_current_set(const struct pto_message *message, const struct pto_core *core) {
  pto_engine_current.core = core;
  pto_engine_current.message = message;
}
static inline void pto_engine_current_clear(void) { pto_engine_current.message = NULL; }

/* The sentence for one message: "task 17 (matmul) block 0 on core 3 (cluster 1 AIC): tensor 0 at 0x7f… f32[64,64]
 * strides [64,1]; scalar 0 0x3f800000".  Truncates to `size` > 0; async-signal-safe.  The message's payload must hold
 * still. */
void pto_engine_describe_message(const struct pto_message *message, char *text, size_t size);
/* ", 12 bytes behind the end of its UB (196608 bytes of local memory),": of an address in the guard behind or before a
 * local memory of the calling thread's core, in a kernel; "" else.  Async-signal-safe as well. */
void pto_engine_describe_local(const void *address, char *text, size_t size);
/* As pto_engine_describe_message, of the message that the calling thread runs; false: it runs none. */
bool pto_engine_describe_current(char *text, size_t size);

#endif
