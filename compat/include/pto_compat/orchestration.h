/* SPDX-License-Identifier: MIT */
/*
 * What an orchestration calls: the existing runtime's functions, over the adapter.
 *
 * An orchestration is `extern "C" void NAME(const ChipTaskArgs &)`, compiled by compat/entry.cpp.  Each call that makes
 * something of a run has a last parameter that nobody passes: the line that it stands in.  docs/adopted-calls.md lists
 * what differs from there.
 *
 * After a mistake calls do nothing and give no outputs; asking such a result for an output throws, and ends the
 * orchestration.
 */
#ifndef PTO_COMPAT_ORCHESTRATION_H
#define PTO_COMPAT_ORCHESTRATION_H

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "orchestrations are C++17 or newer"
#endif

#include <cstddef>
#include <cstdint>

#include "aicpu/spin_hint.h"
#include "pto_runtime_status.h"
#include "pto_types.h"

/* ---- submits ---- */

/* Both structs have places in common with the arguments' own storage: nothing is copied. */
template <std::size_t MaxT, std::size_t MaxS>
inline pto_compat_submit pto_compat_submit_of(const char *what, const PtoCompatArgs<MaxT, MaxS> &args) {
  pto_compat_submit submit = {};
  const CoreTaskPredicate &predicate = args.predicate();
  submit.what = what;
  submit.mistake = args.has_error ? args.error_msg : nullptr;
  for (std::int32_t &kernel : submit.kernels) kernel = INVALID_KERNEL_ID;
  submit.tensor_count = static_cast<std::uint32_t>(args.tensor_count());
  submit.scalar_count = static_cast<std::uint32_t>(args.scalar_count());
  submit.directions = reinterpret_cast<const std::uint32_t *>(args.tag_data());
  submit.tensors = reinterpret_cast<const void *const *>(args.tensor_data());
  submit.scalars = args.scalars();
  submit.scalar_sources = args.scalar_sources();
  submit.after = reinterpret_cast<const std::uint64_t *>(args.explicit_deps_data());
  submit.after_count = args.explicit_dep_count();
  submit.block_count = args.launch_spec.pto_compat_count();
  submit.sync_start = args.launch_spec.require_sync_start();
  submit.compare = static_cast<std::uint32_t>(predicate.op);
  submit.predicate = reinterpret_cast<const pto_compat_tensor *>(predicate.operand.tensor);
  submit.predicate_ndims = predicate.operand.ndims;
  submit.predicate_index = predicate.operand.indices;
  submit.predicate_value = predicate.target;
  return submit;
}

inline TaskOutputTensors pto_compat_submit_task(const char *what, const MixedKernels &kernels, const CoreTaskArgs &args,
                                                const pto_compat_place &here) {
  pto_compat_submit submit = pto_compat_submit_of(what, args);
  submit.kernels[0] = kernels.aic_kernel_id;
  submit.kernels[1] = kernels.aiv0_kernel_id;
  submit.kernels[2] = kernels.aiv1_kernel_id;
  pto_compat_outputs outputs;
  pto_compat_submit_kernels(&submit, &here, &outputs);
  return TaskOutputTensors(outputs);
}

/* One kernel, or several on one cluster. */
inline TaskOutputTensors rt_submit_task(const MixedKernels &mixed_kernels, const CoreTaskArgs &args,
                                        pto_compat_place here = pto_compat_here()) {
  return pto_compat_submit_task("rt_submit_task", mixed_kernels, args, here);
}
inline TaskOutputTensors rt_submit_aic_task(std::int32_t kernel_id, const CoreTaskArgs &args,
                                            pto_compat_place here = pto_compat_here()) {
  MixedKernels kernels;
  kernels.aic_kernel_id = kernel_id;
  return pto_compat_submit_task("rt_submit_aic_task", kernels, args, here);
}
inline TaskOutputTensors rt_submit_aiv_task(std::int32_t kernel_id, const CoreTaskArgs &args,
                                            pto_compat_place here = pto_compat_here()) {
  MixedKernels kernels;
  kernels.aiv0_kernel_id = kernel_id;
  return pto_compat_submit_task("rt_submit_aiv_task", kernels, args, here);
}
/* Takes part in order as its arguments say, and runs nothing. */
inline TaskOutputTensors rt_submit_dummy_task(const CoreTaskArgs &args, pto_compat_place here = pto_compat_here()) {
  const pto_compat_submit submit = pto_compat_submit_of("rt_submit_dummy_task", args);
  pto_compat_outputs outputs;
  pto_compat_submit_dummy(&submit, &here, &outputs);
  return TaskOutputTensors(outputs);
}

/* Tensors that no task writes: those that args creates. */
inline TaskOutputTensors alloc_tensors(const CoreTaskArgs &args, pto_compat_place here = pto_compat_here()) {
  const pto_compat_submit submit = pto_compat_submit_of("alloc_tensors", args);
  pto_compat_outputs outputs;
  pto_compat_alloc(&submit, &here, &outputs);
  return TaskOutputTensors(outputs);
}
inline TaskOutputTensors alloc_tensors(const TensorCreateInfo create_infos[], std::uint32_t count,
                                       pto_compat_place here = pto_compat_here()) {
  CoreTaskArgs args;
  for (std::uint32_t i = 0; i < count; i++) args.add_output(create_infos[i]);
  return alloc_tensors(args, here);
}
/* The first of a list, which brings the line of the call along. */
struct pto_compat_first_create {
  const TensorCreateInfo &info;
  pto_compat_place here;
  pto_compat_first_create(const TensorCreateInfo &created, pto_compat_place place = pto_compat_here())
      : info(created), here(place) {}
};
template <typename... Infos> inline TaskOutputTensors alloc_tensors(pto_compat_first_create first, const Infos &...more) {
  static_assert((std::is_same_v<Infos, TensorCreateInfo> && ...), "alloc_tensors: create-infos only");
  CoreTaskArgs args;
  args.add_output(first.info);
  (args.add_output(more), ...);
  return alloc_tensors(args, first.here);
}

/* ---- scopes ---- */

inline void rt_scope_begin(PTO2ScopeMode mode = PTO2ScopeMode::AUTO, pto_compat_place here = pto_compat_here()) {
  pto_compat_scope_begin(mode == PTO2ScopeMode::MANUAL, &here);
}
inline void rt_scope_end(pto_compat_place here = pto_compat_here()) { pto_compat_scope_end(&here); }

class PTO2ScopeGuard {
public:
  explicit PTO2ScopeGuard(PTO2ScopeMode mode = PTO2ScopeMode::AUTO, const char *file = __builtin_FILE(),
                          int line = __builtin_LINE())
      : here_{file, static_cast<std::uint32_t>(line)} {
    rt_scope_begin(mode, here_);
  }
  ~PTO2ScopeGuard() { rt_scope_end(here_); }
  PTO2ScopeGuard(const PTO2ScopeGuard &) = delete;
  PTO2ScopeGuard &operator=(const PTO2ScopeGuard &) = delete;

private:
  pto_compat_place here_;
};
#define PTO_COMPAT_JOIN_2(a, b) a##b
#define PTO_COMPAT_JOIN(a, b) PTO_COMPAT_JOIN_2(a, b)
/* A scope for the rest of the block, and one for the statement that follows. */
#define PTO2_SCOPE_GUARD(...)                                                                                          \
  [[maybe_unused]] PTO2ScopeGuard PTO_COMPAT_JOIN(pto_compat_scope_, __COUNTER__) { __VA_ARGS__ }
#define PTO2_SCOPE(...) if (PTO2_SCOPE_GUARD(__VA_ARGS__); true)

/* ---- the host's own access, the chip ---- */

/* One element, when its writers are done; of the element's type unless T is the raw 64 bits. */
template <typename T = std::uint64_t>
inline T get_tensor_data(const ChipTensor &tensor, std::uint32_t ndims, const std::uint32_t indices[],
                         pto_compat_place here = pto_compat_here()) {
  return from_u64<T>(pto_compat_read(reinterpret_cast<const pto_compat_tensor *>(&tensor), ndims, indices, &here));
}
template <typename T = std::uint64_t>
inline void set_tensor_data(const ChipTensor &tensor, std::uint32_t ndims, const std::uint32_t indices[], T value,
                            pto_compat_place here = pto_compat_here()) {
  pto_compat_write(reinterpret_cast<const pto_compat_tensor *>(&tensor), ndims, indices, to_u64(value), &here);
}

inline std::int32_t rt_available_cluster_count() { return pto_compat_clusters(); }
inline std::int32_t rt_available_aiv_count() { return pto_compat_aivs(); }
/* Nothing is left to do: the run ends when its tasks have. */
inline void rt_orchestration_done() {}

/* ---- errors and logging ---- */

inline bool rt_is_fatal() { return pto_compat_is_fatal(); }
#define PTO_COMPAT_LINE                                                                                                \
  pto_compat_place { __FILE__, __LINE__ }
#define rt_report_fatal(code, ...)                                                                                     \
  do {                                                                                                                 \
    const pto_compat_place pto_compat_line = PTO_COMPAT_LINE;                                                          \
    pto_compat_fatal((code), &pto_compat_line, __VA_ARGS__);                                                           \
  } while (0)

#define PTO_COMPAT_LOG(level, ...)                                                                                     \
  do {                                                                                                                 \
    const pto_compat_place pto_compat_line = PTO_COMPAT_LINE;                                                          \
    pto_compat_log((level), &pto_compat_line, __VA_ARGS__);                                                            \
  } while (0)
#define LOG_ERROR(...) PTO_COMPAT_LOG(PTO_COMPAT_ERROR, __VA_ARGS__)
#define LOG_WARN(...) PTO_COMPAT_LOG(PTO_COMPAT_WARN, __VA_ARGS__)
#define LOG_TIMING(...) PTO_COMPAT_LOG(PTO_COMPAT_TIMING, __VA_ARGS__)
#define LOG_INFO(...) PTO_COMPAT_LOG(PTO_COMPAT_INFO, __VA_ARGS__)
#define LOG_DEBUG(...) PTO_COMPAT_LOG(PTO_COMPAT_DEBUG, __VA_ARGS__)

/* What aicpu_orchestration_config gives: an orchestration of fewer arguments is not run. */
#ifndef PTO2_ORCHESTRATION_CONFIG_DEFINED
#define PTO2_ORCHESTRATION_CONFIG_DEFINED
struct PTO2OrchestrationConfig {
  int expected_arg_count;
};
#endif

#endif
