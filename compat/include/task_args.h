/* SPDX-License-Identifier: MIT */
/*
 * TaskArgsTpl: a list of tensors and then scalars, of fixed capacity; ChipStorageTaskArgs, which orchestrations took
 * until June 2026.
 */
#ifndef PTO_COMPAT_TASK_ARGS_H
#define PTO_COMPAT_TASK_ARGS_H

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "arg_direction.h"
#include "tensor.h"

template <typename T, typename S, std::size_t MaxT, std::size_t MaxS, typename TensorTag = void> struct TaskArgsTpl {
  static_assert(MaxT > 0 && MaxS > 0 && std::is_void_v<TensorTag>,
                "TaskArgsTpl: lists of any length and tagged ones are for several chips, which are not run here");
  T tensors_[MaxT];
  S scalars_[MaxS];
  std::int32_t tensor_count_ = 0, scalar_count_ = 0;

  void add_tensor(const T &tensor) {
    if (scalar_count_ != 0) throw std::logic_error("add_tensor: tensors stand before scalars");
    if (tensor_count_ == static_cast<std::int32_t>(MaxT)) throw std::out_of_range("add_tensor: too many tensors");
    tensors_[tensor_count_++] = tensor;
  }
  void add_scalar(S scalar) {
    if (scalar_count_ == static_cast<std::int32_t>(MaxS)) throw std::out_of_range("add_scalar: too many scalars");
    scalars_[scalar_count_++] = scalar;
  }
  const T &tensor(std::int32_t i) const { return tensors_[i]; }
  T &tensor(std::int32_t i) { return tensors_[i]; }
  S scalar(std::int32_t i) const { return scalars_[i]; }
  S &scalar(std::int32_t i) { return scalars_[i]; }
  const T *tensor_data() const { return tensors_; }
  const S *scalar_data() const { return scalars_; }
  const S *scalars() const { return scalars_; }
  std::int32_t tensor_count() const { return tensor_count_; }
  std::int32_t scalar_count() const { return scalar_count_; }
  void clear() { tensor_count_ = scalar_count_ = 0; }
};

using ChipStorageTaskArgs = TaskArgsTpl<ChipTensor, std::uint64_t, CHIP_MAX_TENSOR_ARGS, CHIP_MAX_SCALAR_ARGS>;

/* Until June 2026 arguments were descriptors without strides, made tensors by from_tensor_arg. */
using ContinuousTensor = ChipTensor;
inline ChipTensor from_tensor_arg(const ChipTensor &argument, bool manual_dep = false, std::int32_t version = 0,
                                  pto_compat_place here = pto_compat_here()) {
  return make_tensor_external(argument.data_as<void>(), argument.shapes, argument.ndims, argument.dtype, manual_dep,
                              version, argument.address_space, here);
}

#endif
