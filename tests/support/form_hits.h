/* SPDX-License-Identifier: MIT */
/*
 * Whether a submit took the short way of submit_form.c, seen from outside: its payload has a form, and no form was
 * begun.
 *
 * Take the mark before the submit and ask after it; only for submits of kernels that were accepted.
 */
#ifndef PTO_FORM_HITS_H
#define PTO_FORM_HITS_H

#include <runtime/control/runtime_state.h>

struct form_mark {
  uint64_t begun; /* grows with every form begun */
};

static inline struct form_mark form_mark_take(const struct pto_runtime *rt) {
  struct form_mark mark = {0};
  for (uint32_t i = 0; i < PTO_PAYLOAD_FORMS; i++) mark.begun += rt->payloads.forms[i];
  return mark;
}
/* A payload that is free again keeps its form: only its first word is a link then. */
static inline bool form_mark_was_hit(const struct pto_runtime *rt, struct form_mark mark) {
  return rt->work->payload && rt->work->payload->form && form_mark_take(rt).begun == mark.begun;
}

#endif
