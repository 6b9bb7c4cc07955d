/* SPDX-License-Identifier: MIT */
/* Views: each makes a descriptor over the same bytes. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const uint32_t grid[2] = {8, 8}, box[2] = {2, 4}, at[2] = {1, 2}, none[2] = {0, 4}, far[2] = {99, 99};
  const ChipTensor a = in.reshape(grid, 2), b = out.reshape(grid, 2);
  copy(a.view(box, at), b.view(box, at)); /* rows 1 and 2, columns 2 to 5 */
  const ChipTensor even = in.slice(0, 0, 8, 2), begin = part(out, 0, 4);
  always_assert(!even.is_contiguous && even.numel() == 4 && even.extent_elem() == 7 && even.strides[0] == 2);
  copy(even, begin); /* 0 2 4 6 */
  const uint32_t order[2] = {1, 0}, one[2] = {1, 8}, last[2] = {7, 0};
  const ChipTensor turned = a.transpose(0, 1), same = a.permute(order);
  always_assert(turned.dump() == same.dump() && turned.valid_transpose(0, 1) && !turned.valid_reshape(grid, 1));
  copy(turned.view(one, last), b.view(one, last)); /* the last column in the last row */
  copy(a.view(none, far), b.view(none, far));      /* nothing: no kernel reads an element */
  const uint32_t four[1] = {4}, two[1] = {2};
  const ChipTensor made = make_tensor_external(out.data_as<float>() + 48, four, 1);
  const ChipTensor strided = make_tensor_strided(out.data_as<float>() + 32, four, two, 1);
  always_assert(made.nbytes() == 16 && strided.buffer.size == 28 && strided.compute_flat_offset(two, 1) == 4);
  fill(made, 5);
  fill(strided, 6);
  ChipTensor copied;
  copied.copy(made);
  always_assert(!copied.is_device_memory() && get_element_size(copied.dtype) == 4);
}
