/* SPDX-License-Identifier: MIT */
/*
 * Which buffer each result of a graph gets while the graph is lowered: one of a value that is dead, or a new one.
 *
 * Owns a list of the buffers that were handed out, from zeroed to fini; the buffers are the runtime's, and live as long
 * as the dispatch's scope.
 *
 * Always true: a buffer belongs to one value at a time, from the node that makes it to the last that may read its
 * storage (pto_value_life.storage_end); it is handed on only where PTO_VALUE_MEMORY_FREE_BYTES have been handed
 * out, and only PTO_VALUE_MEMORY_DISTANCE nodes later; of those that are large enough the one that has been dead for
 * longest, so that the new value's writers seldom wait for the old one's readers.  That they do wait where they must is
 * the runtime's doing: it orders writes after reads of the same bytes.  Under rules that do not (--deps pto) every
 * value keeps its buffer.
 *
 * The choice depends on the graph and the rules alone, so every dispatch makes the same one.  The control thread of a
 * dispatch, in the lowering.
 */
#ifndef PTO_GRAPH_LOWER_VALUE_MEMORY_H
#define PTO_GRAPH_LOWER_VALUE_MEMORY_H

#include <pto/runtime.h>

/* Both: docs/decisions/memory-of-dead-values.md has what was measured. */
#define PTO_VALUE_MEMORY_FREE_BYTES (UINT64_C(4) << 20)
/* Nodes between the last reader of a value and the writer of the next one in its buffer. */
#define PTO_VALUE_MEMORY_DISTANCE 2u

struct pto_value_buffer {
  struct pto_buffer buffer;
  uint32_t end; /* 1 + index of the last node that may read what is in it; UINT32_MAX: the host does, or a later copy */
};

struct pto_value_memory {
  struct pto_value_buffer *buffers;
  size_t count, capacity;
  uint64_t bytes;      /* of all of them */
  bool reuses_at_once; /* before PTO_VALUE_MEMORY_FREE_BYTES have been handed out, too */
  bool reuses_nothing; /* every value gets a buffer of its own */
};

/* A buffer that is free at node `node_index`, for a value of `size_bytes` that no node from `end` on reads.  False
 * where there is none, or where new ones may still be made. */
bool pto_value_memory_reuse(struct pto_value_memory *memory, uint64_t size_bytes, uint32_t node_index, uint32_t end,
                            struct pto_buffer *buffer_out);
/* A buffer that was made for such a value.  False where there is no memory to remember it: then no other value gets it.
 */
bool pto_value_memory_add(struct pto_value_memory *memory, struct pto_buffer buffer, uint32_t end);
/* Before a reused buffer is written by parts: a task that does nothing and counts as the writer of all of it.  It takes
 * the place of all accesses to the old value, so that a part has an edge to it alone, and not to every reader there was
 * of the buffer's values.  PTO_OK, or why it cannot be submitted. */
PTO_MUST_CHECK int pto_value_memory_claim(struct pto_runtime *rt, struct pto_buffer buffer);
/* A zeroed one is allowed. */
void pto_value_memory_fini(struct pto_value_memory *memory);

#endif
