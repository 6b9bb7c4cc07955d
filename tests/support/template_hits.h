/* SPDX-License-Identifier: MIT */
/*
 * Whether a submit matched a template (runtime/submit/template.h), seen from outside: its payload has a template, and
 * no template was begun.
 *
 * Take the mark before the submit and ask after it; only for submits of kernels that were accepted and have not
 * completed.
 */
#ifndef PTO_TEMPLATE_HITS_H
#define PTO_TEMPLATE_HITS_H

#include <runtime/submit/template.h>

struct template_mark {
  uint64_t begun; /* grows with every template begun */
};

static inline struct template_mark template_mark_take(const struct pto_runtime *rt) {
  struct template_mark mark = {0};
  for (uint32_t i = 0; i < PTO_PAYLOAD_TEMPLATES; i++) mark.begun += rt->payloads.template_ids[i];
  return mark;
}
/* Of the task that was submitted last, to the ring of the open scope; NULL where it has completed. */
static inline struct pto_payload *template_last_payload(const struct pto_runtime *rt) {
  const uint32_t ring = rt->scopes[rt->scope_depth].ring;
  const struct pto_task_slot *slot =
      &rt->rings.slots[pto_task_slot_index(&rt->rings, ring, rt->rings.rings[ring].head - 1)];
  return pto_task_state_has_finished(slot->state) ? NULL : slot->payload;
}
static inline bool template_was_hit(const struct pto_runtime *rt, struct template_mark mark) {
  const struct pto_payload *payload = template_last_payload(rt);
  return payload && payload->template_id && template_mark_take(rt).begun == mark.begun;
}

#endif
