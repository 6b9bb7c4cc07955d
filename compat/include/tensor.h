/* SPDX-License-Identifier: MIT */
/*
 * ChipTensor: the tensor descriptor that orchestrations make and kernels read.
 *
 * Its layout is that of struct pto_compat_tensor.  Views are made of descriptors alone, no runtime is asked; what is no
 * view of its tensor throws, with the line of the call.  Strides are above 0 and count elements, as offset and shape
 * do. A view without elements is legal wherever it begins.
 */
#ifndef PTO_COMPAT_TENSOR_H
#define PTO_COMPAT_TENSOR_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "assert_compat.h"
#include "data_type.h"
#include "pto_compat/calls.h"
#include "pto_task_id.h"

/* The line of the call that this is a default argument of. */
inline constexpr pto_compat_place pto_compat_here(const char *file = __builtin_FILE(),
                                                  std::uint32_t line = __builtin_LINE()) {
  return {file, line};
}
#define PTO_COMPAT_NEEDS(place, condition, sentence)                                                                   \
  ((condition) ? (void)0 : assert_impl(sentence, (place).file, static_cast<int>((place).line)))

struct PTOBufferHandle {
  std::uint64_t addr, size; /* bytes */
};

enum class TensorArgType : std::int32_t {
  INPUT = PTO_COMPAT_INPUT,
  OUTPUT = PTO_COMPAT_CREATE,
  INOUT = PTO_COMPAT_INOUT,
  OUTPUT_EXISTING = PTO_COMPAT_OUTPUT,
  NO_DEP = PTO_COMPAT_NO_DEP
};

struct alignas(64) ChipTensor {
  PTOBufferHandle buffer;
  PTO2TaskId owner_task_id; /* what created the buffer; invalid: memory of the caller's */
  std::uint64_t start_offset;
  std::int32_t version;
  std::uint32_t ndims;
  DataType dtype;
  bool manual_dep; /* takes part in order through its creator alone */
  bool is_contiguous;
  AddressSpace address_space;
  std::uint32_t shapes[MAX_TENSOR_DIMS];
  std::uint64_t extent_elem_cache;
  std::uint32_t strides[MAX_TENSOR_DIMS];
  std::uint8_t _pad_cl2[36];

  std::uint64_t numel() const {
    std::uint64_t count = 1;
    for (std::uint32_t d = 0; d < ndims; d++) count *= shapes[d];
    return count;
  }
  /* Elements from the first to the last of the view, gaps counted. */
  std::uint64_t extent_elem() const { return is_contiguous ? numel() : extent_elem_cache; }
  std::uint64_t nbytes() const { return numel() * get_element_size(dtype); }
  bool is_device_memory() const { return address_space == AddressSpace::DEVICE; }
  /* Of the buffer's first byte, wherever the view begins. */
  template <typename T> T *data_as() const { return reinterpret_cast<T *>(static_cast<std::uintptr_t>(buffer.addr)); }
  std::uint64_t compute_flat_offset(const std::uint32_t indices[], std::uint32_t in_ndims) const {
    std::uint64_t offset = start_offset;
    for (std::uint32_t d = 0; d < in_ndims; d++) offset += std::uint64_t{strides[d]} * indices[d];
    return offset;
  }

  /* A dense tensor at `addr`. */
  void init_external(void *addr, std::uint64_t buffer_size_bytes, const std::uint32_t in_shapes[],
                     std::uint32_t in_ndims, DataType in_dtype, std::int32_t in_version, bool in_manual_dep = false,
                     AddressSpace in_address_space = AddressSpace::HOST, pto_compat_place here = pto_compat_here()) {
    PTO_COMPAT_NEEDS(here, in_ndims >= 1 && in_ndims <= MAX_TENSOR_DIMS, "a tensor has 1 to 5 dimensions");
    buffer = {reinterpret_cast<std::uintptr_t>(addr), buffer_size_bytes};
    owner_task_id = PTO2TaskId::invalid();
    version = in_version;
    dtype = in_dtype;
    manual_dep = in_manual_dep;
    address_space = in_address_space;
    start_offset = 0;
    set_shape(in_shapes, in_ndims);
  }
  void init_from(const ChipTensor &other) { *this = other; }
  void copy(const ChipTensor &other) { *this = other; }

  /* The box of `view_shapes` elements that begins at `view_offsets`. */
  ChipTensor view(const std::uint32_t view_shapes[], const std::uint32_t view_offsets[], bool in_manual_dep = false,
                  pto_compat_place here = pto_compat_here()) const {
    ChipTensor result = *this;
    result.manual_dep = in_manual_dep;
    bool is_empty = false;
    for (std::uint32_t d = 0; d < ndims; d++) is_empty |= view_shapes[d] == 0;
    for (std::uint32_t d = 0; d < ndims; d++) {
      PTO_COMPAT_NEEDS(here, is_empty || std::uint64_t{view_offsets[d]} + view_shapes[d] <= shapes[d],
                       "view: the box does not lie within the tensor");
      result.shapes[d] = view_shapes[d];
      if (!is_empty) result.start_offset += std::uint64_t{strides[d]} * view_offsets[d];
    }
    result.derive();
    return result;
  }
  bool valid_transpose(std::uint32_t x, std::uint32_t y) const { return x < ndims && y < ndims; }
  ChipTensor transpose(std::uint32_t x, std::uint32_t y, bool in_manual_dep = false,
                       pto_compat_place here = pto_compat_here()) const {
    PTO_COMPAT_NEEDS(here, valid_transpose(x, y), "transpose: no such dimension");
    std::uint32_t order[MAX_TENSOR_DIMS];
    for (std::uint32_t d = 0; d < ndims; d++) order[d] = d == x ? y : d == y ? x : d;
    return permute(order, in_manual_dep, here);
  }
  /* Dimension d of the result is dimension order[d]. */
  ChipTensor permute(const std::uint32_t order[], bool in_manual_dep = false,
                     pto_compat_place here = pto_compat_here()) const {
    ChipTensor result = *this;
    result.manual_dep = in_manual_dep;
    std::uint32_t seen = 0;
    for (std::uint32_t d = 0; d < ndims; d++) {
      PTO_COMPAT_NEEDS(here, order[d] < ndims && !(seen >> order[d] & 1), "permute: each dimension once");
      seen |= 1u << order[d];
      result.shapes[d] = shapes[order[d]];
      result.strides[d] = strides[order[d]];
    }
    result.derive();
    return result;
  }
  /* Indices start, start + step, … below `end` of one dimension. */
  ChipTensor slice(std::uint32_t dim, std::uint32_t start, std::uint32_t end, std::uint32_t step = 1,
                   bool in_manual_dep = false, pto_compat_place here = pto_compat_here()) const {
    PTO_COMPAT_NEEDS(here, dim < ndims && step >= 1 && start < end && end <= shapes[dim],
                     "slice: indices of the dimension, from start up to end, by 1 or more");
    ChipTensor result = *this;
    result.manual_dep = in_manual_dep;
    result.start_offset += std::uint64_t{strides[dim]} * start;
    result.shapes[dim] = (end - start - 1) / step + 1;
    result.strides[dim] = strides[dim] * step;
    result.derive();
    return result;
  }
  bool valid_reshape(const std::uint32_t new_shapes[], std::uint32_t new_ndims) const {
    std::uint64_t count = 1;
    for (std::uint32_t d = 0; d < new_ndims; d++) count *= new_shapes[d];
    return count == numel();
  }
  ChipTensor reshape(const std::uint32_t new_shapes[], std::uint32_t new_ndims, bool in_manual_dep = false,
                     pto_compat_place here = pto_compat_here()) const {
    PTO_COMPAT_NEEDS(here, new_ndims >= 1 && new_ndims <= MAX_TENSOR_DIMS, "reshape: 1 to 5 dimensions");
    PTO_COMPAT_NEEDS(here, valid_reshape(new_shapes, new_ndims), "reshape: another number of elements");
    PTO_COMPAT_NEEDS(here, is_contiguous, "reshape: the tensor has gaps");
    ChipTensor result = *this;
    result.manual_dep = in_manual_dep;
    result.set_shape(new_shapes, new_ndims);
    return result;
  }

  std::string dump() const {
    std::string text = get_dtype_name(dtype);
    for (const auto *numbers : {shapes, strides}) {
      text += numbers == shapes ? "[" : "] strides [";
      for (std::uint32_t d = 0; d < ndims; d++) text += (d ? "," : "") + std::to_string(numbers[d]);
    }
    return text + "] offset " + std::to_string(start_offset) + " of " + std::to_string(buffer.size) + " bytes at " +
           std::to_string(buffer.addr);
  }

  /* For the makers of descriptors: dense strides of a shape; what strides and shape make of the rest. */
  void set_shape(const std::uint32_t in_shapes[], std::uint32_t in_ndims) {
    std::uint32_t stride = 1;
    ndims = in_ndims;
    for (std::uint32_t d = in_ndims; d-- > 0; stride *= in_shapes[d]) {
      shapes[d] = in_shapes[d];
      strides[d] = stride;
    }
    derive();
  }
  void derive() {
    std::uint64_t dense = 1, last = 0;
    bool has_gaps = false;
    for (std::uint32_t d = ndims; d-- > 0; dense *= shapes[d]) {
      has_gaps |= strides[d] != dense;
      if (shapes[d]) last += std::uint64_t{strides[d]} * (shapes[d] - 1);
    }
    is_contiguous = dense == 0 || !has_gaps;
    extent_elem_cache = dense == 0 ? 0 : last + 1;
  }
};
static_assert(sizeof(ChipTensor) == sizeof(pto_compat_tensor) && std::is_trivially_copyable_v<ChipTensor>, "kernels");
#define PTO_COMPAT_SAME(theirs, ours)                                                                                  \
  static_assert(offsetof(ChipTensor, theirs) == offsetof(pto_compat_tensor, ours), #theirs)
PTO_COMPAT_SAME(buffer, addr);
PTO_COMPAT_SAME(owner_task_id, owner);
PTO_COMPAT_SAME(start_offset, start_offset);
PTO_COMPAT_SAME(version, version);
PTO_COMPAT_SAME(ndims, ndims);
PTO_COMPAT_SAME(dtype, dtype);
PTO_COMPAT_SAME(manual_dep, manual_dep);
PTO_COMPAT_SAME(is_contiguous, is_contiguous);
PTO_COMPAT_SAME(address_space, address_space);
PTO_COMPAT_SAME(shapes, shape);
PTO_COMPAT_SAME(extent_elem_cache, extent);
PTO_COMPAT_SAME(strides, strides);
#undef PTO_COMPAT_SAME

/* A dense tensor over memory of the caller's. */
inline ChipTensor make_tensor_external(void *addr, const std::uint32_t shapes[], std::uint32_t ndims,
                                       DataType dtype = DataType::FLOAT32, bool manual_dep = false,
                                       std::int32_t version = 0, AddressSpace address_space = AddressSpace::HOST,
                                       pto_compat_place here = pto_compat_here()) {
  ChipTensor result{};
  result.init_external(addr, 0, shapes, ndims, dtype, version, manual_dep, address_space, here);
  result.buffer.size = result.nbytes();
  return result;
}
/* One with strides of its own; `addr` is that of its first element. */
inline ChipTensor make_tensor_strided(void *addr, const std::uint32_t shapes[], const std::uint32_t strides[],
                                      std::uint32_t ndims, DataType dtype = DataType::FLOAT32, bool manual_dep = false,
                                      std::int32_t version = 0, AddressSpace address_space = AddressSpace::HOST,
                                      pto_compat_place here = pto_compat_here()) {
  ChipTensor result = make_tensor_external(addr, shapes, ndims, dtype, manual_dep, version, address_space, here);
  for (std::uint32_t d = 0; d < ndims; d++) result.strides[d] = strides[d];
  result.derive();
  result.buffer.size = result.extent_elem_cache * get_element_size(dtype);
  return result;
}

/* Its name until August 2026. */
using Tensor = ChipTensor;

#endif
