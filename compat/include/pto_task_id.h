/* SPDX-License-Identifier: MIT */
/*
 * PTO2TaskId: a submitted task, as a ring and its number there.
 *
 * Ids begin with 0 in each ring at the begin of a run, allocations and tasks without kernels counted, so they are the
 * existing runtime's.  A ring is a depth of scopes, 0 to 3.
 */
#ifndef PTO_COMPAT_PTO_TASK_ID_H
#define PTO_COMPAT_PTO_TASK_ID_H

#include <cstdint>

struct PTO2TaskId {
  std::uint64_t raw;

  static constexpr PTO2TaskId invalid() { return {UINT64_MAX}; }
  static constexpr PTO2TaskId make(std::uint8_t ring_id, std::uint32_t local_id) {
    return {std::uint64_t{ring_id} << 32 | local_id};
  }
  constexpr bool is_valid() const { return !is_invalid(); }
  constexpr bool is_invalid() const { return raw == UINT64_MAX; }
  constexpr std::uint8_t ring() const { return static_cast<std::uint8_t>(raw >> 32); }
  constexpr std::uint32_t local() const { return static_cast<std::uint32_t>(raw); }
  constexpr bool operator==(const PTO2TaskId &other) const { return raw == other.raw; }
  constexpr bool operator!=(const PTO2TaskId &other) const { return raw != other.raw; }
};
static_assert(sizeof(PTO2TaskId) == 8, "part of ChipTensor's layout");

#endif
