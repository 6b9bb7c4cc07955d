/* SPDX-License-Identifier: MIT */
/* What kernels here share: tensors of the argument list, and their elements of four bytes.
 */
#ifndef PTO_TESTS_COMPAT_ELEMENTS_H
#define PTO_TESTS_COMPAT_ELEMENTS_H

#include <cstdint>
#include <cstring>
#include <pto/pto-inst.hpp>

#include "intrinsic.h"
#include "tensor.h"

static inline const ChipTensor &tensor_of(const std::int64_t *args, int i) {
  return *reinterpret_cast<const ChipTensor *>(args[i]);
}
/* Number `n`, row-major. */
static inline float &element(const ChipTensor &t, std::uint64_t n) {
  std::uint64_t offset = t.start_offset;
  for (std::uint32_t d = t.ndims; d-- > 0; n /= t.shapes[d]) offset += n % t.shapes[d] * t.strides[d];
  return t.data_as<float>()[offset];
}

#endif
