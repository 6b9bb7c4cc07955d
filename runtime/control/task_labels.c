/* SPDX-License-Identifier: MIT */
/* Labels of tasks by slot: a slot that holds a later task has not its label. */
#include <runtime/control/runtime_state.h>

const char *pto_runtime_slot_label(const struct pto_runtime *rt, uint32_t slot, uint64_t number) {
  const struct pto_task_cold *cold = &rt->rings.cold[slot];
  const bool is_its =
      cold->label_number == (uint32_t)number && cold->label_run == (uint32_t)(rt->task_generation >> 32);
  return is_its ? cold->label : NULL;
}

bool pto_runtime_has_message(const struct pto_runtime *rt, const struct pto_message *message) {
  const struct pto_reserve *memory = &rt->payloads.memory;
  return (uintptr_t)message->payload - (uintptr_t)memory->addr < memory->size_bytes;
}

const char *pto_runtime_message_label(const struct pto_runtime *rt, const struct pto_message *message) {
  const bool is_ticket = message->ticket < PTO_RING_COUNT * rt->rings.window;
  return is_ticket ? pto_runtime_slot_label(rt, message->ticket, message->payload->task_number) : NULL;
}
