/* SPDX-License-Identifier: MIT */
#include <check/session/observed_arrays.h>

/* So far past its ends a touch of an array is noticed, and told with its distance. */
#define MARGIN_BYTES (UINT64_C(64) << 20)

uint64_t pto_observed_margin_bytes(void) { return pto_observation_is_left_to_tool() ? 0 : MARGIN_BYTES; }

void pto_observed_add_arrays(const struct pto_session *session, struct pto_observation *observation) {
  const uint64_t margin = session->options.array_margin_bytes;
  const struct pto_array *array;
  for (uint32_t i = 0; margin && (array = pto_program_run_array(session->run, i)) != NULL; i++)
    pto_observation_add_array(observation, array, margin);
  for (array = NULL; margin && (array = pto_program_run_block(session->run, array)) != NULL;)
    pto_observation_add_array(observation, array, margin);
}

void pto_observed_add_block(void *context, struct pto_observation *observation, uint64_t addr) {
  const struct pto_session *session = context;
  const uint64_t margin = session->options.array_margin_bytes;
  for (const struct pto_array *block = NULL; margin && (block = pto_program_run_block(session->run, block)) != NULL;)
    if (addr - (uintptr_t)block->data < pto_max_u64(block->size_bytes, 1)) {
      pto_observation_add_array(observation, block, margin);
      return;
    }
}
