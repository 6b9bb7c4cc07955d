/* SPDX-License-Identifier: MIT */
/* Calls that an observer makes in virtual time (sim/engine/observed_unit.h). */
#include <sim/virtual/core.h>

#include <string.h>

int pto_virtual_cores_observe(struct pto_virtual_cores *cores, const struct pto_message *message) {
  struct pto_virtual_observed *observed = &cores->observed;
  const struct pto_observed_unit unit = {.messages = message, .count = 1};
  observed->message = message;
  observed->run_count = 0;
  observed->observer->observe(observed->observer->context, &unit);
  PTO_ASSERT(observed->run_count > 0);
  observed->message = NULL;
  memcpy(cores->solo.message, observed->sentence, sizeof observed->sentence);
  return observed->status;
}

int pto_virtual_cores_run_observed(struct pto_virtual_cores *cores, struct pto_observed_fill fill) {
  struct pto_virtual_observed *observed = &cores->observed;
  struct pto_core *view = &cores->views[observed->message->core];
  struct pto_kernel_args args;
  pto_observed_call_fill_local(observed->message, view, &observed->local, fill);
  pto_message_args(observed->message, view, &args);
  const struct pto_core moved = pto_observed_call_move(observed->message, view, cores->core_count, observed->seen_core);
  if (observed->seen_core != PTO_OBSERVED_OWN) args.core = &moved;
  pto_solo_limited(&cores->solo, observed->run_count > 0, false);
  if (observed->run_count > 0) pto_observed_call_dirty_stack(fill.value);
  const int status = pto_solo_run(&cores->solo, view, observed->message, &args);
  pto_solo_limited(&cores->solo, false, false);
  if (observed->run_count++ == 0) {
    observed->status = status;
    memcpy(observed->sentence, cores->solo.message, sizeof observed->sentence);
    observed->sentence[sizeof observed->sentence - 1] = '\0';
  }
  return status;
}

uint32_t pto_virtual_cores_siblings(const struct pto_virtual_cores *cores, const struct pto_message *message,
                                    struct pto_message *all, uint32_t capacity) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < cores->core_count; i++)
    for (uint32_t number = cores->cores[i].begun; number != cores->cores[i].sent; number++) {
      const struct pto_message *sent = &pto_virtual_slot_at(cores, i, number)->message;
      if (sent->payload != message->payload) continue;
      if (count < capacity) all[count] = *sent;
      count++;
    }
  return count;
}
