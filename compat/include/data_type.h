/* SPDX-License-Identifier: MIT */
/*
 * Element types of tensors under the existing runtime's names and numbers, and the packing of values into 64 bits.
 *
 * For orchestrations and kernels; nothing here calls the runtime.  Numbers 9 and 10 are UINT16 and UINT32, the other way
 * round than in pto/tensor.h.
 */
#ifndef PTO_COMPAT_DATA_TYPE_H
#define PTO_COMPAT_DATA_TYPE_H

#include <cstdint>
#include <cstring>
#include <type_traits>

inline constexpr int MAX_TENSOR_DIMS = 5;
/* Its name until June 2026. */
inline constexpr int RUNTIME_MAX_TENSOR_DIMS = MAX_TENSOR_DIMS;

enum class AddressSpace : std::uint8_t { HOST = 0, DEVICE = 1 };

/* X(name, number, bytes of an element) */
#define PTO_COMPAT_DATA_TYPES(X)                                                                                       \
  X(FLOAT32, 0, 4)                                                                                                     \
  X(FLOAT16, 1, 2)                                                                                                     \
  X(INT32, 2, 4)                                                                                                       \
  X(INT16, 3, 2)                                                                                                       \
  X(INT8, 4, 1)                                                                                                        \
  X(UINT8, 5, 1)                                                                                                       \
  X(BFLOAT16, 6, 2)                                                                                                    \
  X(INT64, 7, 8)                                                                                                       \
  X(UINT64, 8, 8)                                                                                                      \
  X(UINT16, 9, 2)                                                                                                      \
  X(UINT32, 10, 4)                                                                                                     \
  X(BOOL, 11, 1)                                                                                                       \
  X(FP8E4M3FN, 12, 1)                                                                                                  \
  X(FP8E8M0, 13, 1)                                                                                                    \
  X(FP4E2M1, 14, 1)

enum class DataType : std::uint8_t {
#define X(name, number, bytes) name = number,
  PTO_COMPAT_DATA_TYPES(X)
#undef X
      DATA_TYPE_NUM = 15
};

/* 0 for a number that is no type. */
inline std::uint64_t get_element_size(DataType dtype) {
  switch (dtype) {
#define X(name, number, bytes)                                                                                         \
  case DataType::name: return bytes;
    PTO_COMPAT_DATA_TYPES(X)
#undef X
  default: return 0;
  }
}

inline const char *get_dtype_name(DataType dtype) {
  switch (dtype) {
#define X(name, number, bytes)                                                                                         \
  case DataType::name: return #name;
    PTO_COMPAT_DATA_TYPES(X)
#undef X
  default: return "UNKNOWN";
  }
}

/* What may be a scalar of a task. */
template <typename T>
inline constexpr bool is_supported_scalar_arg_v =
    std::is_arithmetic_v<std::remove_cv_t<std::remove_reference_t<T>>> ||
    std::is_enum_v<std::remove_cv_t<std::remove_reference_t<T>>>;

/* The type that stands for T in reports; what has none counts as 64 bits. */
template <typename T> constexpr std::uint8_t dtype_of() {
  static_assert(is_supported_scalar_arg_v<T>, "dtype_of: a number or an enumeration");
  DataType dtype = DataType::UINT64;
  if (std::is_same_v<T, bool>) dtype = DataType::BOOL;
  else if (std::is_floating_point_v<T>) dtype = DataType::FLOAT32;
  else if (std::is_integral_v<T> && std::is_signed_v<T>)
    dtype = sizeof(T) == 1   ? DataType::INT8
            : sizeof(T) == 2 ? DataType::INT16
            : sizeof(T) == 4 ? DataType::INT32
                             : DataType::INT64;
  else if (std::is_integral_v<T>)
    dtype = sizeof(T) == 1   ? DataType::UINT8
            : sizeof(T) == 2 ? DataType::UINT16
            : sizeof(T) == 4 ? DataType::UINT32
                             : DataType::UINT64;
  return static_cast<std::uint8_t>(dtype);
}

/* The bits of a value in the low bytes, zero above. */
template <typename T> inline std::uint64_t to_u64(T value) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "to_u64: a plain value of at most 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T> inline T from_u64(std::uint64_t bits) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "from_u64: a plain value of at most 8 bytes");
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

#endif
