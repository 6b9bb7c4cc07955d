/* SPDX-License-Identifier: MIT */
#include <sim/handover.h>

#include <string.h>

void pto_handover_init(struct pto_handover *handover) {
  memset(handover, 0, sizeof *handover);
  handover->keep = PTO_HANDOVER_KEEP;
}

void pto_handover_note_own(struct pto_handover *handover, uint64_t took_ns) {
  handover->own_ns[handover->own_count++ % PTO_HANDOVER_OWN] = took_ns;
}

/* A mean would be that of the kernel in which another job had the CPU. */
uint64_t pto_handover_own_ns(const struct pto_handover *handover) {
  uint64_t sorted[PTO_HANDOVER_OWN];
  const uint64_t count = pto_min_u64(handover->own_count, PTO_HANDOVER_OWN);
  if (count == 0) return 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t place = i;
    for (; place > 0 && sorted[place - 1] > handover->own_ns[i]; place--) sorted[place] = sorted[place - 1];
    sorted[place] = handover->own_ns[i];
  }
  return sorted[(count - 1) / 2];
}

bool pto_handover_note_wait(struct pto_handover *handover, uint64_t waited_ns, uint64_t now_ns) {
  handover->waited_ns += waited_ns;
  if (handover->sent < PTO_HANDOVER_GROUP && handover->waited_ns < PTO_HANDOVER_WAITED_NS) return false;
  const uint64_t waited = handover->waited_ns, sent = handover->sent;
  handover->sent = handover->waited_ns = 0;
  if (sent == 0 || handover->own_count < PTO_HANDOVER_OWN) return false;
  if (waited <= sent * pto_handover_own_ns(handover)) {
    handover->keep = PTO_HANDOVER_KEEP;
    return false;
  }
  handover->kept_until_ns = now_ns + handover->keep * waited;
  handover->keep = pto_min_u64(2 * handover->keep, PTO_HANDOVER_MOST_KEEP);
  return true;
}

void pto_handover_release(struct pto_handover *handover) {
  handover->kept_until_ns = handover->sent = handover->waited_ns = 0;
}
