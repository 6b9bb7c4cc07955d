/* SPDX-License-Identifier: MIT */
#include <sim/virtual/rank_clock.h>

#include <sim/virtual/core.h>

bool pto_rank_clock_sync(struct pto_rank_clock *rank, struct pto_port *port, struct pto_virtual_cores *cores,
                         uint64_t next_at) {
  const uint64_t *orchestration = atomic_load_explicit(&port->orchestration, memory_order_relaxed);
  atomic_store_explicit(&port->orchestration, NULL, memory_order_release); /* the watchdog looks elsewhere */
  const enum pto_rank_verdict verdict = rank->sync(rank, next_at);
  atomic_store_explicit(&port->orchestration, orchestration, memory_order_release);
  if (verdict == PTO_RANK_LOOKS_AGAIN) pto_virtual_cores_look_again(cores);
  if (verdict == PTO_RANK_IS_STUCK) pto_waiting_cores_end_waits(&cores->solo.waiting, rank->sentence);
  return verdict != PTO_RANK_IS_STUCK;
}
