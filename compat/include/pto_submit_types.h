/* SPDX-License-Identifier: MIT */
/*
 * Which kernels a submit names, in how many blocks they run, and the comparison of a predicate.
 *
 * PTO2LaunchSpec counts blocks; on a5 under tensormap_and_ringbuffer it calls them cores, as the existing runtime does:
 * each has the one name.
 */
#ifndef PTO_COMPAT_PTO_SUBMIT_TYPES_H
#define PTO_COMPAT_PTO_SUBMIT_TYPES_H

#include <cstdint>

#include "pto_compat/calls.h"

#ifndef PTO_COMPAT_ARCHITECTURE
#define PTO_COMPAT_ARCHITECTURE 1 /* enum pto_compat_architecture; the compiler's command says it */
#endif
#ifndef PTO_COMPAT_MODE
#define PTO_COMPAT_MODE 1 /* enum pto_compat_mode, likewise */
#endif
static_assert(PTO_COMPAT_ARCHITECTURE == PTO_COMPAT_A2A3 || PTO_COMPAT_ARCHITECTURE == PTO_COMPAT_A5,
              "PTO_COMPAT_ARCHITECTURE: 1 is a2a3, 2 is a5");

static_assert(PTO_COMPAT_MODE == PTO_COMPAT_TRB || PTO_COMPAT_MODE == PTO_COMPAT_HBG,
              "PTO_COMPAT_MODE: 1 is tensormap_and_ringbuffer, 2 is host_build_graph");
#if PTO_COMPAT_ARCHITECTURE == 2 && PTO_COMPAT_MODE == 1
#define PTO_COMPAT_COUNTS_CORES 1
/* Sources for both architectures tell them apart by this name. */
#define SRC_A5_RUNTIME_TENSORMAP_AND_RINGBUFFER_RUNTIME_PTO_TYPES_H_
#endif

inline constexpr std::int32_t INVALID_KERNEL_ID = PTO_COMPAT_NO_KERNEL;
inline constexpr std::int32_t PTO2_SUBTASK_SLOT_COUNT = 3;
inline constexpr std::uint8_t PTO2_SUBTASK_MASK_AIC = 1, PTO2_SUBTASK_MASK_AIV0 = 2, PTO2_SUBTASK_MASK_AIV1 = 4;

enum class PTO2SubtaskSlot : std::uint8_t { AIC = 0, AIV0 = 1, AIV1 = 2 };

enum class PredicateOp : std::uint8_t {
  NONE = PTO_COMPAT_ALWAYS,
  EQ = PTO_COMPAT_EQ,
  NE = PTO_COMPAT_NE,
  GT = PTO_COMPAT_GT,
  LT = PTO_COMPAT_LT,
  GE = PTO_COMPAT_GE,
  LE = PTO_COMPAT_LE
};

/* One kernel, or two or three that run on one cluster. */
struct MixedKernels {
  std::int32_t aic_kernel_id = INVALID_KERNEL_ID;
  std::int32_t aiv0_kernel_id = INVALID_KERNEL_ID;
  std::int32_t aiv1_kernel_id = INVALID_KERNEL_ID;
};

class PTO2LaunchSpec {
public:
  constexpr PTO2LaunchSpec() = default;
#ifndef PTO_COMPAT_COUNTS_CORES
  std::int16_t block_num() const { return count_; }
  void set_block_num(std::int16_t n) { count_ = n; }
#else
  std::int16_t core_num() const { return count_; }
  void set_core_num(std::int16_t n) { count_ = n; }
#endif
  bool require_sync_start() const { return is_together_; }
  void set_require_sync_start(bool v) { is_together_ = v; }
  /* Whatever it is called. */
  constexpr std::int16_t pto_compat_count() const { return count_; }

private:
  std::int16_t count_ = 1;
  bool is_together_ = false;
};

#endif
