/* SPDX-License-Identifier: MIT */
#include <sim/threads/mailbox.h>

void pto_mailbox_init(struct pto_mailbox *mailbox, void *slots, uint32_t capacity, uint32_t element_bytes,
                      uint32_t start) {
  PTO_ASSERT(pto_is_power_of_two(capacity) && capacity <= UINT32_C(1) << 31);
  mailbox->slots = slots;
  mailbox->capacity = capacity;
  mailbox->element_bytes = element_bytes;
  mailbox->written = mailbox->cached_head = start;
  mailbox->taken = mailbox->cached_tail = start;
  pto_atomic_init(&mailbox->tail, start);
  pto_atomic_init(&mailbox->head, start);
}

bool pto_mailbox_is_valid(const struct pto_mailbox *mailbox) {
  uint32_t head = pto_atomic_load(&mailbox->head, memory_order_acquire);
  uint32_t tail = pto_atomic_load(&mailbox->tail, memory_order_acquire);
  uint32_t written = mailbox->written - head, published = tail - head;
  return pto_is_power_of_two(mailbox->capacity) && written <= mailbox->capacity && published <= written &&
         mailbox->taken == head && mailbox->cached_tail - head <= published &&
         mailbox->written - mailbox->cached_head <= mailbox->capacity &&
         head - mailbox->cached_head <= mailbox->capacity;
}
