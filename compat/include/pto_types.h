/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a task (CoreTaskArgs), of a graph (GraphTaskArgs) and of an orchestration (ChipTaskArgs), and what a
 * submit gives (TaskOutputTensors).
 *
 * Arguments keep pointers to tensors and create-infos until the submit, so these must live until then: temporaries do
 * not compile.  Tensors stand before scalars.  The first mistake is kept and is the run's error at the submit.
 */
#ifndef PTO_COMPAT_PTO_TYPES_H
#define PTO_COMPAT_PTO_TYPES_H

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "profiling_config.h"
#include "pto_submit_types.h"
#include "task_args.h"
#include "tensor_create_info.h"

enum class PTO2ScopeMode : std::uint8_t { AUTO = 0, MANUAL = 1 };

/* What an explicit dependency is for.  Here it is always both: it orders, and nothing is given back before its use. */
enum DepFlags : std::uint8_t { DEP_NONE = 0, DEP_WAIT = 1, DEP_RETAIN = 2 };
constexpr DepFlags operator|(DepFlags a, DepFlags b) { return DepFlags(std::uint8_t(a) | std::uint8_t(b)); }
constexpr DepFlags operator&(DepFlags a, DepFlags b) { return DepFlags(std::uint8_t(a) & std::uint8_t(b)); }
constexpr DepFlags &operator|=(DepFlags &a, DepFlags b) { return a = a | b; }
constexpr bool dep_has_wait(DepFlags flags) { return (flags & DEP_WAIT) != DEP_NONE; }
constexpr bool dep_has_retain(DepFlags flags) { return (flags & DEP_RETAIN) != DEP_NONE; }

enum AsyncEngine {
  ASYNC_ENGINE_SDMA = 0,
  ASYNC_ENGINE_ROCE = 1,
  ASYNC_ENGINE_URMA = 2,
  ASYNC_ENGINE_CCU = 3,
  NUM_ASYNC_ENGINES = 4
};
enum class CompletionType : std::int32_t { COUNTER = 0 };

/* ---- what a submit gives ---- */

/* The task, and the tensors that it created, in the order of their add_output.  The descriptors live until the run
 * ends; their memory as long as the scope of the submit. */
class TaskOutputTensors {
public:
  TaskOutputTensors() {
    outputs_.task = PTO_COMPAT_NO_TASK;
    outputs_.count = 0;
  }
  explicit TaskOutputTensors(const pto_compat_outputs &outputs) : outputs_(outputs) {}

  bool empty() const { return outputs_.count == 0; }
  std::uint32_t size() const { return outputs_.count; }
  PTO2TaskId task_id() const { return {outputs_.task}; }
  const ChipTensor &get_ref(std::uint32_t index, pto_compat_place here = pto_compat_here()) const & {
    PTO_COMPAT_NEEDS(here, index < outputs_.count, "get_ref: the task created no such output");
    return *reinterpret_cast<const ChipTensor *>(outputs_.tensors[index]);
  }
  const ChipTensor &get_ref(std::uint32_t index, pto_compat_place here = pto_compat_here()) const && = delete;

private:
  pto_compat_outputs outputs_;
};
using TaskSubmitResult = TaskOutputTensors;

/* ---- arguments ---- */

/* A tensor argument: a tensor, or what is to be created. */
class TensorRef {
public:
  TensorRef() = default;
  TensorRef(const TensorRef &) = delete;
  TensorRef &operator=(const TensorRef &) = delete;
  TensorRef &operator=(const ChipTensor *tensor) {
    pointer_ = tensor;
    return *this;
  }
  TensorRef &operator=(const TensorCreateInfo *create) {
    pointer_ = create;
    return *this;
  }
  const ChipTensor &ref() const { return *static_cast<const ChipTensor *>(pointer_); }
  const TensorCreateInfo &create_info() const { return *static_cast<const TensorCreateInfo *>(pointer_); }
  bool refers_to(const ChipTensor *tensor) const { return pointer_ == tensor; }
  bool refers_to(const TensorCreateInfo *create) const { return pointer_ == create; }

  /* Until June 2026 orchestrations took arguments by value. */
  operator const ChipTensor &() const { return ref(); }

private:
  const void *pointer_ = nullptr;
};
static_assert(sizeof(TensorRef) == sizeof(void *), "a list of them is a list of pointers");

/* The element that a predicate compares. */
struct CorePredicateOperand {
  const ChipTensor *tensor = nullptr;
  std::uint32_t ndims = 0;
  std::uint32_t indices[MAX_TENSOR_DIMS] = {};
};
/* The task runs where the element, taken as a signed number of its size, compares so with `target`. */
struct CoreTaskPredicate {
  CorePredicateOperand operand;
  PredicateOp op = PredicateOp::NONE;
  std::int64_t target = 0;
};

template <std::size_t MaxT, std::size_t MaxS> class PtoCompatArgs {
public:
  bool has_error = false;
  const char *error_msg = nullptr;
  PTO2LaunchSpec launch_spec;

  PtoCompatArgs() = default;
  PtoCompatArgs(const PtoCompatArgs &) = delete;
  PtoCompatArgs &operator=(const PtoCompatArgs &) = delete;

  /* Forgets the arguments; the launch_spec and a mistake stay. */
  void clear() {
    tensor_count_ = scalar_count_ = 0;
    set_dependencies(nullptr, 0);
    is_early_ = false;
    timing_slot_ = TASK_TIMING_SLOT_NONE;
    predicate_ = CoreTaskPredicate();
  }
  /* Forgets the mistake too. */
  void reset() {
    clear();
    has_error = false;
    error_msg = nullptr;
  }
  void set_error(const char *sentence) {
    if (has_error) return;
    has_error = true;
    error_msg = sentence;
  }

  template <typename... Tensors> void add_input(Tensors &&...tensors) {
    add<ChipTensor>(TensorArgType::INPUT, std::forward<Tensors>(tensors)...);
  }
  template <typename... Tensors> void add_inout(Tensors &&...tensors) {
    add<ChipTensor>(TensorArgType::INOUT, std::forward<Tensors>(tensors)...);
  }
  /* Their memory is held, and comes after its creator; nothing else orders them. */
  template <typename... Tensors> void add_no_dep(Tensors &&...tensors) {
    add<ChipTensor>(TensorArgType::NO_DEP, std::forward<Tensors>(tensors)...);
  }
  /* Tensors that are there, or create-infos; not both in one call. */
  template <typename... Outputs> void add_output(Outputs &&...outputs) {
    if constexpr ((std::is_same_v<std::decay_t<Outputs>, TensorCreateInfo> || ...))
      add<TensorCreateInfo>(TensorArgType::OUTPUT, std::forward<Outputs>(outputs)...);
    else
      add<ChipTensor>(TensorArgType::OUTPUT_EXISTING, std::forward<Outputs>(outputs)...);
  }

  template <typename... Scalars> void add_scalar(Scalars &&...scalars) {
    static_assert(sizeof...(Scalars) >= 1 && (is_supported_scalar_arg_v<Scalars> && ...),
                  "add_scalar: one or more numbers or enumerations");
    if (has_room_for_scalars(sizeof...(Scalars)))
      (push_scalar(to_u64(scalars), std::is_lvalue_reference_v<Scalars> ? &scalars : nullptr), ...);
  }
  void add_scalars(const std::uint64_t *values, int count) {
    if (!has_room_for_scalars(count)) return;
    for (int i = 0; i < count; i++) push_scalar(values[i], &values[i]);
  }
  /* The bits of each, zero above: −1 becomes 0xffffffff. */
  void add_scalars_i32(const std::int32_t *values, int count) {
    if (!has_room_for_scalars(count)) return;
    for (int i = 0; i < count; i++) push_scalar(static_cast<std::uint32_t>(values[i]), nullptr);
  }
  template <std::size_t OtherT, std::size_t OtherS>
  void copy_scalars_from(const PtoCompatArgs<OtherT, OtherS> &source, int first, int count) {
    if (first < 0 || count < 0 || first > source.scalar_count() - count) {
      set_error("copy_scalars_from: the source has no such scalars");
      return;
    }
    if (!has_room_for_scalars(count)) return;
    for (int i = first; i < first + count; i++)
      push_scalar(source.scalars()[i], source.scalar_sources()[i] ? source.scalar_sources()[i] : &source.scalars()[i]);
  }

  /* At most once; the array must live until the submit.  None takes back what was set. */
  void set_dependencies(const PTO2TaskId *tasks, std::uint32_t count) {
    if (count == 0) {
      after_ = nullptr;
      kinds_ = nullptr;
      after_count_ = 0;
    } else if (tasks == nullptr) {
      set_error("set_dependencies: no array of tasks");
    } else if (after_ != nullptr) {
      set_error("set_dependencies: once for a list of arguments");
    } else {
      after_ = tasks;
      after_count_ = count;
    }
  }
  void set_dependencies_with_kinds(const PTO2TaskId *tasks, const DepFlags *kinds, std::uint32_t count) {
    if (count != 0 && kinds == nullptr) {
      set_error("set_dependencies_with_kinds: no array of kinds");
      return;
    }
    set_dependencies(tasks, count);
    kinds_ = after_ == tasks ? kinds : kinds_;
  }
  /* Until 13 May 2026: the list has room of its own for 16. */
  template <typename... Ids> void add_dep(Ids... tasks) {
    static_assert(sizeof...(Ids) >= 1 && (std::is_same_v<Ids, PTO2TaskId> && ...), "add_dep: task ids");
    if (after_ != nullptr && after_ != own_after_)
      set_error("add_dep: set_dependencies has set an array");
    else if (after_count_ + sizeof...(Ids) > sizeof own_after_ / sizeof *own_after_)
      set_error("add_dep: more than 16 dependencies");
    else
      ((own_after_[after_count_++] = tasks), ...), after_ = own_after_;
  }
  std::uint32_t explicit_dep_count() const { return after_count_; }
  const PTO2TaskId *explicit_deps_data() const { return after_; }
  PTO2TaskId explicit_dep(std::uint32_t index) const {
    always_assert(index < after_count_);
    return after_[index];
  }
  DepFlags explicit_dep_kind(std::uint32_t index) const {
    always_assert(index < after_count_);
    return kinds_ ? kinds_[index] : DEP_WAIT | DEP_RETAIN;
  }

  void set_predicate(const CoreTaskPredicate &predicate) { predicate_ = predicate; }
  const CoreTaskPredicate &predicate() const { return predicate_; }
  /* A hint to the scheduler there; here tasks are queued behind their producers as it is. */
  void set_allow_early_resolve(bool v = true) { is_early_ = v; }
  bool allow_early_resolve() const { return is_early_; }
  void set_task_timing_slot(std::int32_t slot) {
    if (slot < 0 || slot >= NUM_TASK_TIMING_SLOTS)
      set_error("set_task_timing_slot: there are slots 0 to 15");
    else
      timing_slot_ = slot;
  }
  std::int32_t task_timing_slot() const { return timing_slot_; }
  /* Marks arguments for dumps of the existing runtime: checked, and then without effect. */
  template <typename... Marked> void dump(Marked &&...marked) {
    static_assert((std::is_lvalue_reference_v<Marked> && ...), "dump: what has been added, no temporaries");
    if (tensor_count_ + scalar_count_ == 0) set_error("dump: nothing has been added yet");
    ((void)marked, ...);
  }

  std::int32_t tensor_count() const { return tensor_count_; }
  std::int32_t scalar_count() const { return scalar_count_; }
  const TensorRef &tensor(std::int32_t i) const { return tensors_[i]; }
  TensorRef &tensor(std::int32_t i) { return tensors_[i]; }
  const TensorRef *tensor_data() const { return tensors_; }
  const TensorArgType &tag(std::int32_t i) const { return tags_[i]; }
  const TensorArgType *tag_data() const { return tags_; }
  /* A scalar that is added to another list as it was read here is known as a graph's boundary's. */
  const std::uint64_t &scalar(std::int32_t i) const { return scalars_[i]; }
  std::uint64_t &scalar(std::int32_t i) {
    sources_[i] = nullptr; /* it may be written */
    return scalars_[i];
  }
  const std::uint64_t *scalars() const { return scalars_; }
  const std::uint64_t *scalar_data() const { return scalars_; }
  const void *const *scalar_sources() const { return sources_; }

private:
  TensorRef tensors_[MaxT];
  TensorArgType tags_[MaxT];
  std::uint64_t scalars_[MaxS];
  const void *sources_[MaxS];
  std::int32_t tensor_count_ = 0, scalar_count_ = 0;
  const PTO2TaskId *after_ = nullptr;
  const DepFlags *kinds_ = nullptr;
  std::uint32_t after_count_ = 0;
  PTO2TaskId own_after_[16];
  std::int32_t timing_slot_ = TASK_TIMING_SLOT_NONE;
  bool is_early_ = false;
  CoreTaskPredicate predicate_;

  template <typename Wanted, typename... Tensors> void add(TensorArgType tag, Tensors &&...tensors) {
    static_assert(sizeof...(Tensors) >= 1, "at least one argument");
    static_assert((std::is_lvalue_reference_v<Tensors> && ...), "no temporaries: a pointer is kept until the submit");
    static_assert((std::is_same_v<std::decay_t<Tensors>, Wanted> && ...),
                  "tensors, or for add_output create-infos; not both in one call");
    if (scalar_count_ != 0)
      set_error("tensors stand before scalars: one was added after a scalar");
    else if (tensor_count_ + sizeof...(Tensors) > MaxT)
      set_error(MaxT == CORE_MAX_TENSOR_ARGS ? "more than 32 tensors" : "more tensors than the list holds");
    else
      ((tags_[tensor_count_] = tag, tensors_[tensor_count_++] = &tensors), ...);
  }
  bool has_room_for_scalars(std::int64_t count) {
    if (count >= 0 && scalar_count_ + count <= static_cast<std::int64_t>(MaxS)) return true;
    set_error(MaxS == CORE_MAX_SCALAR_ARGS ? "more than 16 scalars" : "more scalars than the list holds");
    return false;
  }
  void push_scalar(std::uint64_t bits, const void *source) {
    scalars_[scalar_count_] = bits;
    sources_[scalar_count_++] = source;
  }
};

using CoreTaskArgs = PtoCompatArgs<CORE_MAX_TENSOR_ARGS, CORE_MAX_SCALAR_ARGS>;
using GraphTaskArgs = PtoCompatArgs<GRAPH_MAX_TENSOR_ARGS, GRAPH_MAX_SCALAR_ARGS>;

struct ChipTaskArgs : PtoCompatArgs<CHIP_MAX_TENSOR_ARGS, CHIP_MAX_SCALAR_ARGS> {
  /* Of a list that lives as long. */
  void create_from_chip_args(const ChipStorageTaskArgs &source) {
    reset();
    for (std::int32_t i = 0; i < source.tensor_count(); i++) add_input(source.tensors_[i]);
    add_scalars(source.scalars(), source.scalar_count());
  }
};

/* Names until August 2026, and until June. */
using L0TaskArgs = CoreTaskArgs;
using L2TaskArgs = ChipTaskArgs;
using Arg = CoreTaskArgs;

#endif
