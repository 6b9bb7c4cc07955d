/* SPDX-License-Identifier: MIT */
#include <runtime/trace/trace_digest.h>

static uint64_t chain(uint64_t hash, uint64_t word) {
  return pto_mix64(hash ^ pto_mix64(word + UINT64_C(0x9e3779b97f4a7c15)));
}

/* A sum over the spans: the same in whichever log each of them is. */
uint64_t pto_trace_digest(const struct pto_trace *trace) {
  uint64_t sum = 0, count = 0, dropped = 0;
  for (uint32_t i = 0; i < trace->span_log_count; i++) {
    const struct pto_trace_log *log = &trace->spans[i];
    for (uint64_t j = 0; j < log->count; j++) {
      const struct pto_trace_span *span = pto_trace_log_at(log, j);
      uint64_t hash = chain(chain(0, span->begin), span->end);
      hash = chain(hash, (uint64_t)span->task << 32 | span->block_index);
      sum += chain(hash, (uint64_t)span->core << 8 | span->role);
    }
    count += log->count;
    dropped += log->dropped;
  }
  return chain(chain(sum, count), dropped);
}
