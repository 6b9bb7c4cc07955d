/* SPDX-License-Identifier: MIT */
/*
 * What a recorded run keeps of a submit: the task and its parameters, where its edges are, and its time.
 *
 * Writes to the trace alone, and changes nothing that is done.  Control thread only.
 */
#ifndef PTO_RUNTIME_SUBMIT_RECORD_H
#define PTO_RUNTIME_SUBMIT_RECORD_H

#include <runtime/submit/params.h>

/* At the begin of a run: hears of each edge where the graph is recorded. */
void pto_record_listen(struct pto_runtime *rt);
/* Before the task's edges are found, where the graph is recorded; gives where these will begin. */
PTO_COLD uint64_t pto_record_task(struct pto_runtime *rt, const struct pto_submit_work *submit,
                                  const struct pto_submit_request *request, uint32_t slot_index, uint64_t begin_time);
/* Once they are: the reasons of an edge follow each other, producers in the order of their submits. */
PTO_COLD void pto_record_edges(struct pto_runtime *rt, uint64_t number, uint64_t first_edge);
/* What the submit has taken of virtual time since `begin`, where segments are recorded. */
PTO_COLD void pto_record_charges(struct pto_runtime *rt, const struct pto_submit_request *request, uint64_t begin,
                                 uint32_t allocated, uint64_t edges);
/* A part of a submit began then.  Where parts are recorded: adds the time since to that part, without the kernels that
 * this thread has run in it, and lets the next one begin; `kernels`: how many it had run when the part began. */
static inline void pto_record_part_begin(struct pto_runtime *rt, uint64_t time) { rt->trace.part_begin = time; }
PTO_COLD void pto_record_part_end(struct pto_runtime *rt, enum pto_submit_part part, uint64_t kernels);
/* How many kernels the control thread has run. */
static inline uint64_t pto_record_kernels(const struct pto_runtime *rt) {
  return rt->trace.span_log_count ? rt->trace.spans[0].count : 0;
}
/* The submit's place on the timeline; gives its end. */
PTO_COLD uint64_t pto_record_time(struct pto_runtime *rt, const struct pto_task_slot *slot, uint64_t begin_time,
                                  uint64_t number);

#endif
