/* SPDX-License-Identifier: MIT */
/* In the form of generated orchestrations: out = a + weight · b, by way of a tensor of its own. */
#include <stddef.h>
#include <stdint.h>

#include "pto_orchestration_api.h"

extern "C" {

__attribute__((visibility("default"))) PTO2OrchestrationConfig
aicpu_orchestration_config(const ChipTaskArgs &orch_args) {
  (void)orch_args;
  return PTO2OrchestrationConfig{.expected_arg_count = 4};
}

__attribute__((visibility("default"))) void aicpu_orchestration_entry(const ChipTaskArgs &orch_args) {
  const ChipTensor &ext_a = orch_args.tensor(0).ref();
  const ChipTensor &ext_b = orch_args.tensor(1).ref();
  const ChipTensor &ext_out = orch_args.tensor(2).ref();
  const float weight = from_u64<float>(orch_args.scalar(0));
  PTO2_SCOPE() {
    uint32_t scaled_ci_shapes[2] = {ext_b.shapes[0], ext_b.shapes[1]};
    TensorCreateInfo scaled_ci(scaled_ci_shapes, 2, DataType::FLOAT32);
    TaskOutputTensors alloc_0 = alloc_tensors(scaled_ci);
    const ChipTensor &scaled = alloc_0.get_ref(0);
    for (uint32_t row = 0; row < ext_a.shapes[0]; row += 4) {
      uint32_t tile_shapes[2] = {4, ext_a.shapes[1]}, tile_offsets[2] = {row, 0};
      ChipTensor b_tile = ext_b.view(tile_shapes, tile_offsets), scaled_tile = scaled.view(tile_shapes, tile_offsets);
      ChipTensor a_tile = ext_a.view(tile_shapes, tile_offsets), out_tile = ext_out.view(tile_shapes, tile_offsets);
      CoreTaskArgs params_t0;
      params_t0.add_input(b_tile);
      params_t0.add_inout(scaled_tile);
      params_t0.add_scalar(weight);
      rt_submit_aic_task(0, params_t0);
      CoreTaskArgs params_t1;
      params_t1.add_input(a_tile);
      params_t1.add_input(scaled_tile);
      params_t1.add_output(out_tile);
      rt_submit_aiv_task(1, params_t1);
    }
  }
}

} // extern "C"
