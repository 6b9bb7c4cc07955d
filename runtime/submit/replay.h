/* SPDX-License-Identifier: MIT */
/*
 * Replay: makes the calls of a list again (runtime/control/call_list.h).
 *
 * Call by call, through the functions that an orchestration's calls come to; there is no second way into the runtime.
 * Control thread only.
 */
#ifndef PTO_RUNTIME_SUBMIT_REPLAY_H
#define PTO_RUNTIME_SUBMIT_REPLAY_H

#include <runtime/control/call_list.h>

/* Submits all of it, at the same depth of scopes; `given` as in the call to begin, but for their buffers.  PTO_OK, or
 * what the first call that is refused returns. */
PTO_MUST_CHECK int pto_call_list_replay(struct pto_runtime *rt, struct pto_call_list *list,
                                        const struct pto_tensor *given, uint32_t given_count);

#endif
