/* SPDX-License-Identifier: MIT */
/*
 * CoreTaskArgsWithDeps: arguments of a task with room for its explicit dependencies.
 */
#ifndef PTO_COMPAT_ARGS_WITH_DEPS_H
#define PTO_COMPAT_ARGS_WITH_DEPS_H

#include "pto_compat/orchestration.h"

template <std::size_t MAX_DEP_COUNT = 16> class CoreTaskArgsWithDeps : private CoreTaskArgs {
public:
  using CoreTaskArgs::add_inout;
  using CoreTaskArgs::add_input;
  using CoreTaskArgs::add_no_dep;
  using CoreTaskArgs::add_output;
  using CoreTaskArgs::add_scalar;
  using CoreTaskArgs::add_scalars;
  using CoreTaskArgs::add_scalars_i32;
  using CoreTaskArgs::allow_early_resolve;
  using CoreTaskArgs::copy_scalars_from;
  using CoreTaskArgs::error_msg;
  using CoreTaskArgs::has_error;
  using CoreTaskArgs::launch_spec;
  using CoreTaskArgs::set_allow_early_resolve;
  using CoreTaskArgs::set_error;
  using CoreTaskArgs::set_predicate;
  using CoreTaskArgs::set_task_timing_slot;
  using CoreTaskArgs::task_timing_slot;

  template <typename... Ids> void add_dep(Ids... ids) { (push(ids, DEP_WAIT | DEP_RETAIN), ...); }
  template <typename... Ids> void add_dep_wait(Ids... ids) { (push(ids, DEP_WAIT), ...); }
  void reset() {
    CoreTaskArgs::reset();
    count_ = 0;
  }
  /* For a submit: the list with its dependencies. */
  CoreTaskArgs &finalize_for_submit() {
    set_dependencies(nullptr, 0);
    set_dependencies_with_kinds(tasks_, kinds_, count_);
    return *this;
  }

private:
  PTO2TaskId tasks_[MAX_DEP_COUNT];
  DepFlags kinds_[MAX_DEP_COUNT];
  std::uint32_t count_ = 0;

  template <typename Id> void push(Id task, DepFlags kind) {
    static_assert(std::is_same_v<Id, PTO2TaskId>, "add_dep, add_dep_wait: task ids");
    if (count_ == MAX_DEP_COUNT) {
      set_error("add_dep: more dependencies than CoreTaskArgsWithDeps has room for");
      return;
    }
    tasks_[count_] = task;
    kinds_[count_++] = kind;
  }
};

template <std::size_t N>
inline TaskOutputTensors rt_submit_task(const MixedKernels &mixed_kernels, CoreTaskArgsWithDeps<N> &args,
                                        pto_compat_place here = pto_compat_here()) {
  return rt_submit_task(mixed_kernels, args.finalize_for_submit(), here);
}
template <std::size_t N>
inline TaskOutputTensors rt_submit_aic_task(std::int32_t kernel_id, CoreTaskArgsWithDeps<N> &args,
                                            pto_compat_place here = pto_compat_here()) {
  return rt_submit_aic_task(kernel_id, args.finalize_for_submit(), here);
}
template <std::size_t N>
inline TaskOutputTensors rt_submit_aiv_task(std::int32_t kernel_id, CoreTaskArgsWithDeps<N> &args,
                                            pto_compat_place here = pto_compat_here()) {
  return rt_submit_aiv_task(kernel_id, args.finalize_for_submit(), here);
}

#endif
