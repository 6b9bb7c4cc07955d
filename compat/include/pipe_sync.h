/* SPDX-License-Identifier: MIT */
/*
 * The end of a kernel: waits until what it stored has arrived.  To be included behind pto-inst.hpp, of whose flags it
 * is made; on a CPU they do nothing.
 */
#ifndef PTO_COMPAT_PIPE_SYNC_H
#define PTO_COMPAT_PIPE_SYNC_H

static __aicore__ inline void pipe_sync() {
#if defined(__DAV_CUBE__)
  const auto from = PIPE_FIX;
#else
  const auto from = PIPE_MTE3;
#endif
  set_flag(from, PIPE_S, EVENT_ID7);
  wait_flag(from, PIPE_S, EVENT_ID7);
}

#endif
