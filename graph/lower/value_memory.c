/* SPDX-License-Identifier: MIT */
#include <graph/lower/value_memory.h>

#include <stdlib.h>

#include <runtime/base/grow.h>

static bool is_free(const struct pto_value_buffer *b, uint32_t node_index) {
  return b->end <= node_index && node_index - b->end >= PTO_VALUE_MEMORY_DISTANCE;
}

bool pto_value_memory_reuse(struct pto_value_memory *memory, uint64_t size_bytes, uint32_t node_index, uint32_t end,
                            struct pto_buffer *buffer_out) {
  struct pto_value_buffer *oldest = NULL;
  if (memory->reuses_nothing) return false;
  if (!memory->reuses_at_once && memory->bytes + size_bytes <= PTO_VALUE_MEMORY_FREE_BYTES) return false;
  for (uint32_t i = 0; i < memory->count; i++) {
    struct pto_value_buffer *b = &memory->buffers[i];
    if (b->buffer.size_bytes >= size_bytes && is_free(b, node_index) && (!oldest || b->end < oldest->end)) oldest = b;
  }
  if (!oldest) return false;
  oldest->end = end;
  *buffer_out = oldest->buffer;
  return true;
}

bool pto_value_memory_add(struct pto_value_memory *memory, struct pto_buffer buffer, uint32_t end) {
  struct pto_value_buffer *added = pto_grow(&memory->buffers, &memory->count, &memory->capacity, sizeof *added);
  if (!added) return false;
  *added = (struct pto_value_buffer){buffer, end};
  memory->bytes += buffer.size_bytes;
  return true;
}

/* What is in the buffer from here on is written by the tasks behind this one. */
static int claim_run(const struct pto_kernel_args *a) { return 0; }
static struct pto_cost claim_cost(const struct pto_kernel_args *a) { return (struct pto_cost){0}; }
static const struct pto_kernel_param claimed[] = {{.mode = PTO_OUTPUT}};
static const struct pto_kernel claim = {
    .name = "claim", .cores = PTO_AIV, .params = claimed, .param_count = 1, .run = claim_run, .cost = claim_cost};

int pto_value_memory_claim(struct pto_runtime *rt, struct pto_buffer buffer) {
  const struct pto_tensor all = pto_managed_tensor(rt, buffer, PTO_UINT8, 1, &buffer.size_bytes);
  const struct pto_param param = pto_output(&all);
  return pto_submit_aiv(rt, &claim, &param, 1);
}

void pto_value_memory_fini(struct pto_value_memory *memory) {
  free(memory->buffers);
  *memory = (struct pto_value_memory){0};
}
