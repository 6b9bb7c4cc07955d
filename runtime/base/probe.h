/* SPDX-License-Identifier: MIT */
/*
 * Static probes (USDT): places that perf, bpftrace and gdb find in the note section .note.stapsdt of libpto.so and
 * ptosim, and can stop at.  Provider pto:
 *
 *   submit       number, slot             a task has its slot and its edges; number: in order of submission
 *   dispatch     number, core             a kernel call is sent to a core
 *   kernel_begin payload, core, function  on the thread of the core; function: the kernel's run
 *   kernel_end   payload, core, status
 *   complete     number, slot             consumers of the task have been notified; 32 bits of number
 *   retire       ring, sequence, count    so many slots came back; sequence: of the oldest that is left
 *   stall_begin  reason, number           enum pto_stall_reason; number: of the next task
 *   stall_end    reason
 *
 * A probe is one nop: the tool finds its arguments in registers or memory, so pass only what is already there.  The
 * first field of a payload is the task's number (struct pto_payload).
 *
 * The one user of sys/sdt.h (package systemtap-sdt-dev), which is optional: without it there are no probes, and no
 * code.  Any thread.
 */
#ifndef PTO_PROBE_H
#define PTO_PROBE_H

#if PTO_HAVE_SDT
#include <sys/sdt.h>
#define PTO_PROBE1(name, a) DTRACE_PROBE1(pto, name, a)
#define PTO_PROBE2(name, a, b) DTRACE_PROBE2(pto, name, a, b)
#define PTO_PROBE3(name, a, b, c) DTRACE_PROBE3(pto, name, a, b, c)
#else
#define PTO_PROBE1(name, a) ((void)sizeof(a))
#define PTO_PROBE2(name, a, b) ((void)sizeof(a), (void)sizeof(b))
#define PTO_PROBE3(name, a, b, c) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))
#endif

#endif
