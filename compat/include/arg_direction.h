/* SPDX-License-Identifier: MIT */
/*
 * How many arguments tasks, graphs and orchestrations take, and the directions of a kernel's signature.
 */
#ifndef PTO_COMPAT_ARG_DIRECTION_H
#define PTO_COMPAT_ARG_DIRECTION_H

#include <cstdint>

inline constexpr int CORE_MAX_TENSOR_ARGS = 32, CORE_MAX_SCALAR_ARGS = 16;
inline constexpr int CHIP_MAX_TENSOR_ARGS = 256, CHIP_MAX_SCALAR_ARGS = 128;
inline constexpr std::uint32_t GRAPH_MAX_TENSOR_ARGS = 128, GRAPH_MAX_SCALAR_ARGS = 64;

#define MAX_TENSOR_ARGS CORE_MAX_TENSOR_ARGS
#define MAX_SCALAR_ARGS CORE_MAX_SCALAR_ARGS

enum class ArgDirection : std::int32_t { SCALAR = 0, IN = 1, OUT = 2, INOUT = 3 };

inline const char *arg_direction_name(ArgDirection direction) {
  static const char *const names[] = {"SCALAR", "IN", "OUT", "INOUT"};
  const auto index = static_cast<std::uint32_t>(direction);
  return index < 4 ? names[index] : "UNKNOWN";
}

#endif
