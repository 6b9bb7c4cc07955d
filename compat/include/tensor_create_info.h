/* SPDX-License-Identifier: MIT */
/*
 * TensorCreateInfo: a tensor that a submit or alloc_tensors is to make, dense, in memory of the runtime's.
 *
 * Arguments keep a pointer to it until the submit.
 */
#ifndef PTO_COMPAT_TENSOR_CREATE_INFO_H
#define PTO_COMPAT_TENSOR_CREATE_INFO_H

#include "pto_submit_types.h"
#include "tensor.h"

class alignas(64) TensorCreateInfo {
public:
  std::uint64_t initial_value;
  bool has_initial_value;
  std::uint8_t __pad1__[7];
  std::uint64_t __pad2__;
  std::uint64_t start_offset;
  std::int32_t version;
  std::uint32_t ndims;
  DataType dtype;
  bool manual_dep;
  bool is_contiguous;
  std::uint8_t __pad_flags__;
  std::uint32_t shapes[MAX_TENSOR_DIMS];

  TensorCreateInfo() = default;
  TensorCreateInfo(const std::uint32_t shapes_in[], std::uint32_t ndims_in, DataType dtype_in = DataType::FLOAT32,
                   bool manual_dep_in = false, pto_compat_place here = pto_compat_here())
      : initial_value(0), has_initial_value(false), __pad1__{}, __pad2__(0), start_offset(0), version(0),
        ndims(ndims_in), dtype(dtype_in), manual_dep(manual_dep_in), is_contiguous(true), __pad_flags__(0), shapes{} {
    PTO_COMPAT_NEEDS(here, ndims_in >= 1 && ndims_in <= MAX_TENSOR_DIMS, "a tensor has 1 to 5 dimensions");
    for (std::uint32_t d = 0; d < ndims_in; d++) shapes[d] = shapes_in[d];
  }
  void copy(const TensorCreateInfo &other) { *this = other; }

  /* Every element begins with `value`. */
  template <typename T = std::uint64_t> void set_initial_value(T value) {
    static_assert(PTO_COMPAT_MODE == PTO_COMPAT_TRB || sizeof(T) == 0,
                  "set_initial_value: host_build_graph has none; let a task write the values");
    has_initial_value = true;
    initial_value = to_u64(value);
  }
  std::uint64_t buffer_size_bytes() const {
    std::uint64_t count = 1;
    for (std::uint32_t d = 0; d < ndims; d++) count *= shapes[d];
    return count * get_element_size(dtype);
  }
};
static_assert(sizeof(TensorCreateInfo) == sizeof(pto_compat_create), "TensorCreateInfo");
#define PTO_COMPAT_SAME(theirs, ours)                                                                                  \
  static_assert(offsetof(TensorCreateInfo, theirs) == offsetof(pto_compat_create, ours), #theirs)
PTO_COMPAT_SAME(initial_value, initial_value);
PTO_COMPAT_SAME(has_initial_value, has_initial_value);
PTO_COMPAT_SAME(version, version);
PTO_COMPAT_SAME(ndims, ndims);
PTO_COMPAT_SAME(dtype, dtype);
PTO_COMPAT_SAME(manual_dep, manual_dep);
PTO_COMPAT_SAME(shapes, shape);
#undef PTO_COMPAT_SAME

/* A descriptor of that form at the begin of memory that is there, for orchestrations that divide a buffer by hand.
 * Nothing is filled. */
inline void init_tensor_from_create_info(ChipTensor &t, const TensorCreateInfo &ci, void *addr,
                                         std::uint64_t buffer_size, pto_compat_place here = pto_compat_here()) {
  t = ChipTensor{};
  t.init_external(addr, buffer_size, ci.shapes, ci.ndims, ci.dtype, ci.version, ci.manual_dep, AddressSpace::HOST,
                  here);
}

#endif
