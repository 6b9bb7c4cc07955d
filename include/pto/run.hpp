/* SPDX-License-Identifier: MIT */
/*
 * Runtimes, tensors and submits in C++.  What holds of all of it, and when to use it, is in <pto/pto.hpp>.
 */
#ifndef PTO_RUN_HPP
#define PTO_RUN_HPP

#include <pto/pto.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

/* So that what is told of a call names the line that stands in the program. */
#if defined(__GNUC__)
#define PTO_CPP_INLINE __attribute__((always_inline)) inline
#define PTO_CPP_COLD __attribute__((cold, noinline))
#else
#define PTO_CPP_INLINE inline
#define PTO_CPP_COLD
#endif

namespace pto {

/* ---- errors ---- */

class error : public std::runtime_error {
public:
  error(int status, const char *sentence)
      : std::runtime_error(sentence && *sentence ? sentence : pto_strerror(status)), status_(status) {}
  int status() const noexcept { return status_; }
  const char *name() const noexcept { return pto_status_name(status_); }

private:
  int status_;
};
/* catch (const pto::error_of<PTO_ESTALE> &e) */
template <int Status> class error_of final : public error {
public:
  explicit error_of(const char *sentence) : error(Status, sentence) {}
};

[[noreturn]] PTO_CPP_COLD inline void throw_status(int status, const char *sentence) {
  switch (status) {
#define X(name, value, number, ends_run, text)                                                                         \
  case value:                                                                                                          \
    throw error_of<value>(sentence);
    PTO_STATUS_LIST(X)
#undef X
  default:
    throw error(status, sentence);
  }
}

/* ---- spans ---- */

/* Elements of another's memory, which must stay while it is used.  Of arrays, of containers with data() and size(),
 * and, where T is const, of a list in braces for the length of the call. */
template <class T> class span {
  template <class C>
  using is_container = std::enable_if_t<
      !std::is_base_of_v<span, std::decay_t<C>> && !std::is_array_v<std::remove_reference_t<C>> &&
      std::is_convertible_v<std::remove_pointer_t<decltype(std::data(std::declval<C &>()))> (*)[], T (*)[]>>;
  static constexpr const T *first_of(const std::initializer_list<std::remove_const_t<T>> &list) { return list.begin(); }

public:
  constexpr span() noexcept = default;
  constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
  template <class C, class = is_container<C>>
  constexpr span(C &&container) noexcept : data_(std::data(container)), size_(std::size(container)) {}
  template <class U = T, class = std::enable_if_t<std::is_const_v<U>>>
  constexpr span(std::initializer_list<std::remove_const_t<T>> list) noexcept
      : data_(first_of(list)), size_(list.size()) {}

  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }
  constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};
/* A shape, offsets or an index: one number a dimension, the outermost first. */
using sizes = span<const std::uint64_t>;

/* ---- tensors ---- */

/* The dtype of a C++ type: float, bool, integers of 8 to 64 bits.  Others, such as PTO_FLOAT16, are given by value. */
template <class T> constexpr std::uint32_t dtype_of() noexcept {
  using U = std::remove_cv_t<T>;
  constexpr bool is_int = std::is_integral_v<U>, is_signed = std::is_signed_v<U>;
  static_assert(is_int || std::is_same_v<U, float>, "no dtype of this runtime is this type");
  if constexpr (std::is_same_v<U, float>)
    return PTO_FLOAT32;
  else if constexpr (std::is_same_v<U, bool>)
    return PTO_BOOL;
  else if constexpr (sizeof(U) == 1)
    return is_signed ? PTO_INT8 : PTO_UINT8;
  else if constexpr (sizeof(U) == 2)
    return is_signed ? PTO_INT16 : PTO_UINT16;
  else if constexpr (sizeof(U) == 4)
    return is_signed ? PTO_INT32 : PTO_UINT32;
  else
    return is_signed ? PTO_INT64 : PTO_UINT64;
}

/* Refuses a list of another length than the tensor has dimensions, which C cannot see. */
[[noreturn]] PTO_CPP_COLD inline void raise_rank(const char *what, std::size_t count, std::uint32_t rank) {
  const std::string sentence =
      std::string(what) + ": " + std::to_string(count) + " sizes for a tensor of rank " + std::to_string(rank);
  throw_status(PTO_EINVAL, sentence.c_str());
}

/* A descriptor (pto/tensor.h), whose fields are those of C: t.ndims, t.shape[0], t.dtype. */
class tensor : public pto_tensor {
public:
  tensor() noexcept : pto_tensor{} {}
  PTO_CPP_INLINE tensor(const pto_tensor &t) noexcept : pto_tensor(t) {}
  /* What a call of C makes, without a copy. */
  template <class... A, class... B>
  PTO_CPP_INLINE explicit tensor(pto_tensor (*make)(A...), B... b) noexcept : pto_tensor(make(b...)) {}

  PTO_CPP_INLINE tensor view(sizes offsets, sizes extents) const {
    check_rank("view", offsets);
    check_rank("view", extents);
    return tensor(pto_tensor_view, this, offsets.data(), extents.data());
  }
  PTO_CPP_INLINE tensor slice(std::uint32_t dim, std::uint64_t start, std::uint64_t end,
                              std::uint64_t step = 1) const noexcept {
    return tensor(pto_tensor_slice, this, dim, start, end, step);
  }
  tensor permute(span<const std::uint32_t> order) const {
    if (order.size() != ndims) raise_rank("permute", order.size(), ndims);
    return tensor(pto_tensor_permute, this, order.data());
  }
  tensor transpose(std::uint32_t dim_a, std::uint32_t dim_b) const noexcept {
    return tensor(pto_tensor_transpose, this, dim_a, dim_b);
  }
  tensor reshape(sizes extents) const noexcept {
    return tensor(pto_tensor_reshape, this, static_cast<std::uint32_t>(extents.size()), extents.data());
  }
  tensor broadcast(sizes extents) const noexcept {
    return tensor(pto_tensor_broadcast, this, static_cast<std::uint32_t>(extents.size()), extents.data());
  }
  tensor reinterpret(std::uint32_t to_dtype) const noexcept { return tensor(pto_tensor_reinterpret, this, to_dtype); }
  template <class T> tensor reinterpret() const noexcept { return reinterpret(dtype_of<T>()); }
  tensor with_version(std::int32_t v) const noexcept { return tensor(pto_tensor_with_version, this, v); }
  tensor with_overlap(std::uint32_t mode) const noexcept { return tensor(pto_tensor_with_overlap, this, mode); }

  sizes dims() const noexcept { return {shape, ndims}; }
  std::uint64_t numel() const noexcept { return pto_tensor_numel(this); }
  bool is_contiguous() const noexcept { return pto_tensor_is_contiguous(this); }
  bool is_valid() const noexcept { return pto_tensor_status(this) == PTO_OK; }
  enum pto_overlap overlap_with(const tensor &other) const noexcept { return pto_tensor_overlap(this, &other); }
  /* Why it is invalid; "valid tensor" otherwise. */
  std::string explain() const {
    char text[512];
    pto_tensor_explain(this, text, sizeof text);
    return text;
  }

  /* Throws error_of<PTO_EINVAL> unless there is one number a dimension. */
  PTO_CPP_INLINE void check_rank(const char *what, sizes list) const {
    if (status == PTO_OK && list.size() != ndims) raise_rank(what, list.size(), ndims);
  }
};
static_assert(sizeof(tensor) == sizeof(pto_tensor), "lists of tensors are lists of C's");

/* ---- parameters ---- */

/* A tensor and what the task does to it (enum pto_mode).  Borrows the tensor for the submit. */
template <std::uint32_t Mode> struct param : pto_param {
  PTO_CPP_INLINE explicit param(const pto_tensor &t) noexcept : pto_param(pto_param_tensor(Mode, &t)) {}
};
using input = param<PTO_INPUT>;
using output = param<PTO_OUTPUT>;
using inout = param<PTO_INOUT>;
using accumulate = param<PTO_ACCUMULATE>;
using hold = param<PTO_HOLD>;

/* What a submit takes: parameters as above, and scalars by their type: float, or an integer with or without sign. */
template <class T> PTO_CPP_INLINE pto_param param_of(const T &x) noexcept {
  constexpr bool is_param = std::is_base_of_v<pto_param, T>;
  constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  static_assert(!std::is_base_of_v<pto_tensor, T>, "say what the task does to it: pto::input(t), pto::output(t), …");
  static_assert(!std::is_same_v<T, double>, "a scalar of a kernel has 32 bits if it is no integer: 1.0f");
  static_assert(is_param || is_integer || std::is_same_v<T, float> || std::is_same_v<T, double> ||
                    std::is_base_of_v<pto_tensor, T>,
                "neither a parameter nor a scalar");
  if constexpr (is_param)
    return x;
  else if constexpr (std::is_same_v<T, float>)
    return pto_scalar_f32(x);
  else if constexpr (std::is_signed_v<T>)
    return pto_scalar_i64(x);
  else
    return pto_scalar_u64(x);
}
template <std::size_t Count> struct param_list {
  pto_param items[Count ? Count : 1];
  static constexpr std::uint32_t count = Count;
};
template <class... P> PTO_CPP_INLINE param_list<sizeof...(P)> params_of(const P &...p) noexcept {
  static_assert(sizeof...(P) <= PTO_MAX_PARAMS, "more parameters than a task has");
  return {{param_of(p)...}};
}

/* A kernel whose parameters are types: pto::kernel<pto::input, pto::output, float>.  A call with others does not
 * compile; integers become what the kernel takes.  Borrows the kernel. */
template <class... P> class kernel {
public:
  /* The general kernel of that name.  error_of<PTO_EINVAL> where there is none, or it takes other parameters. */
  explicit kernel(const char *name) : kernel(found(name)) {}
  explicit kernel(const pto_kernel &k) : kernel_(&k) { check(); }
  const pto_kernel &get() const noexcept { return *kernel_; }

private:
  template <class T> static constexpr std::uint32_t mode_of() noexcept {
    if constexpr (std::is_arithmetic_v<T>)
      return PTO_SCALAR;
    else
      return mode_of_param(static_cast<const T *>(nullptr));
  }
  template <std::uint32_t Mode> static constexpr std::uint32_t mode_of_param(const param<Mode> *) noexcept {
    return Mode;
  }
  template <class T> static constexpr std::uint32_t scalar_of() noexcept {
    if constexpr (std::is_same_v<T, float>)
      return PTO_SCALAR_F32;
    else if constexpr (std::is_integral_v<T>)
      return std::is_signed_v<T> ? PTO_SCALAR_I64 : PTO_SCALAR_U64;
    else
      return 0;
  }
  static const pto_kernel &found(const char *name) {
    const pto_kernel *k = pto_kernel_find(name);
    if (!k) throw_status(PTO_EINVAL, (std::string("there is no kernel ") + name).c_str());
    return *k;
  }
  void check() const {
    const std::uint32_t modes[] = {mode_of<P>()..., 0}, scalars[] = {scalar_of<P>()..., 0};
    const std::string named = kernel_->name;
    if (kernel_->param_count != sizeof...(P))
      throw_status(PTO_EINVAL, (named + " takes " + std::to_string(kernel_->param_count) + " parameters, not " +
                                std::to_string(sizeof...(P)))
                                   .c_str());
    for (std::uint32_t i = 0; i < kernel_->param_count; i++)
      if (kernel_->params[i].mode != modes[i] || (modes[i] == PTO_SCALAR && kernel_->params[i].scalar != scalars[i]))
        throw_status(PTO_EINVAL, (named + ": param " + std::to_string(i) + " has another mode or scalar type").c_str());
  }
  const pto_kernel *kernel_;
};

/* Whether an argument of type A may stand where a kernel takes P. */
template <class P, class A>
inline constexpr bool is_taken =
    std::is_arithmetic_v<P>
        ? std::is_arithmetic_v<A> &&std::is_integral_v<P> == std::is_integral_v<A> &&std::is_same_v<A, bool> == false &&
              std::is_same_v<A, double> == false
        : std::is_same_v<P, A> || std::is_same_v<A, hold>;

/* ---- tasks ---- */

using task = pto_task;

/* How a task runs (pto/runtime.h): the fields are those of C, and zero is the default.  What it points to must last
 * until the submit. */
struct launch : pto_launch {
  launch() noexcept : pto_launch{} { size = sizeof(pto_launch); }
  launch &set_after(const task &t) noexcept {
    after = &t;
    after_count = 1;
    return *this;
  }
  template <class C> launch &set_after(const C &tasks) noexcept {
    after = std::data(tasks);
    after_count = static_cast<std::uint32_t>(std::size(tasks));
    return *this;
  }
  launch &set_after(const task &&) = delete; /* it would not last */
  template <class C> std::enable_if_t<!std::is_lvalue_reference_v<C>, launch &> set_after(C &&) = delete;
};

template <auto Destroy> struct destroyer {
  template <class T> void operator()(T *p) const noexcept { Destroy(p); }
};
template <class T, auto Destroy> using owned = std::unique_ptr<T, destroyer<Destroy>>;

/* Tasks that are recorded once and launched as one (pto/recorded.h). */
class recorded {
public:
  explicit recorded(pto_recorded *taken) noexcept : recorded_(taken) {}
  pto_recorded *get() const noexcept { return recorded_.get(); }

private:
  owned<pto_recorded, pto_recorded_destroy> recorded_;
};

/* A run that goes on: what an orchestration calls.  Borrows the runtime; a value. */
class run {
public:
  explicit run(pto_runtime *rt) noexcept : rt_(rt) {}
  pto_runtime *get() const noexcept { return rt_; }
  const char *last_error() const noexcept { return pto_last_error(rt_); }
  /* Throws what a call of C has answered, unless that is PTO_OK. */
  PTO_CPP_INLINE void check(int status) const {
    if (__builtin_expect(status != PTO_OK, 0)) fail(status);
  }

  /* ---- tensors ---- */

  /* Memory of the caller, as pto_external_tensor. */
  tensor external(void *addr, std::uint32_t dtype, sizes shape) const noexcept {
    return tensor(pto_external_tensor, rt_, addr, dtype, static_cast<std::uint32_t>(shape.size()), shape.data());
  }
  template <class T> tensor external(T *addr, sizes shape) const noexcept {
    return external(const_cast<std::remove_const_t<T> *>(addr), dtype_of<T>(), shape);
  }
  /* All of an array or container: of rank 1, or of a shape of as many elements. */
  template <class C> tensor external(C &container) const noexcept {
    return external(std::data(container), {static_cast<std::uint64_t>(std::size(container))});
  }
  template <class C, class = decltype(std::size(std::declval<C &>()))>
  tensor external(C &container, sizes shape) const {
    if (numel_of(shape) != std::size(container)) raise_rank("external", std::size(container), 0);
    return external(std::data(container), shape);
  }
  /* A buffer of its own, which gets memory at its first write. */
  tensor managed(std::uint32_t dtype, sizes shape) const noexcept {
    std::uint64_t bits;
    if (__builtin_mul_overflow(numel_of(shape), pto_dtype_bits(dtype), &bits)) bits = UINT64_MAX;
    const pto_buffer buffer = pto_create_buffer(rt_, bits / 8 + (bits % 8 != 0));
    return tensor(pto_managed_tensor, rt_, buffer, dtype, static_cast<std::uint32_t>(shape.size()), shape.data());
  }
  template <class T> tensor managed(sizes shape) const noexcept { return managed(dtype_of<T>(), shape); }
  void set_label(const tensor &t, const char *label) const noexcept { pto_buffer_label(rt_, t.buffer, label); }

  /* ---- submits ---- */

  template <class... P> PTO_CPP_INLINE void submit_aic(const pto_kernel &k, const P &...p) const {
    const auto params = params_of(p...);
    check(pto_submit_aic(rt_, &k, params.items, params.count));
  }
  template <class... P> PTO_CPP_INLINE void submit_aiv(const pto_kernel &k, const P &...p) const {
    const auto params = params_of(p...);
    check(pto_submit_aiv(rt_, &k, params.items, params.count));
  }
  template <class... P> PTO_CPP_INLINE task submit(const pto_launch &how, const P &...p) const {
    const auto params = params_of(p...);
    task made;
    check(pto_submit(rt_, &how, params.items, params.count, &made));
    return made;
  }
  /* The same with a kernel that is known by type. */
  template <class... K, class... P> PTO_CPP_INLINE void submit_aic(const kernel<K...> &k, const P &...p) const {
    const auto params = typed<K...>(p...);
    check(pto_submit_aic(rt_, &k.get(), params.items, params.count));
  }
  template <class... K, class... P> PTO_CPP_INLINE void submit_aiv(const kernel<K...> &k, const P &...p) const {
    const auto params = typed<K...>(p...);
    check(pto_submit_aiv(rt_, &k.get(), params.items, params.count));
  }
  task barrier(span<const task> after) const {
    task made;
    check(pto_submit_barrier(rt_, after.data(), static_cast<std::uint32_t>(after.size()), &made));
    return made;
  }
  task alloc(span<const tensor> tensors) const {
    task made;
    check(pto_alloc_tensors(rt_, tensors.data(), static_cast<std::uint32_t>(tensors.size()), &made));
    return made;
  }

  /* What `body` submits, with this boundary (pto_recorded_begin).  Where it throws there is no recording. */
  template <class F, class... P> recorded record(F &&body, const P &...boundary) const {
    const auto params = params_of(boundary...);
    pto_recorded *made = nullptr;
    check(pto_recorded_begin(rt_, params.items, params.count));
    try {
      body();
    } catch (...) {
      if (pto_recorded_end(rt_, &made) == PTO_OK) pto_recorded_destroy(made);
      throw;
    }
    check(pto_recorded_end(rt_, &made));
    return recorded(made);
  }
  template <class... P> task submit(const recorded &tasks, const P &...boundary) const {
    const auto params = params_of(boundary...);
    pto_recorded_launch how{};
    task made;
    how.size = sizeof how;
    how.params = params.items;
    how.count = params.count;
    check(pto_submit_recorded(rt_, tasks.get(), &how, &made));
    return made;
  }

  /* ---- the rest ---- */

  /* One element, once its writers are done.  error_of<PTO_EINVAL> where T is not its dtype. */
  template <class T> T read(const tensor &t, sizes index) const {
    T value;
    check_element<T>("read_element", t, index);
    check(pto_read_element(rt_, &t, index.data(), &value));
    return value;
  }
  template <class T> void write(const tensor &t, sizes index, T value) const {
    check_element<T>("write_element", t, index);
    check(pto_write_element(rt_, &t, index.data(), &value));
  }
  void poll() const { check(pto_poll(rt_)); }
  std::uint32_t core_count(std::uint32_t kinds) const noexcept { return pto_core_count(rt_, kinds); }

private:
  [[noreturn]] PTO_CPP_COLD void fail(int status) const { throw_status(status, pto_last_error(rt_)); }
  static std::uint64_t numel_of(sizes shape) noexcept {
    std::uint64_t numel = 1;
    for (const std::uint64_t extent : shape)
      if (__builtin_mul_overflow(numel, extent, &numel)) return UINT64_MAX;
    return numel;
  }
  template <class T> static void check_element(const char *what, const tensor &t, sizes index) {
    t.check_rank(what, index);
    if (t.status == PTO_OK && t.dtype != dtype_of<T>())
      throw_status(PTO_EINVAL, (std::string(what) + ": the tensor has another dtype than the C++ type").c_str());
  }
  template <class... K, class... P> PTO_CPP_INLINE static param_list<sizeof...(P)> typed(const P &...p) noexcept {
    static_assert(sizeof...(K) == sizeof...(P), "the kernel takes another number of parameters");
    static_assert((is_taken<K, P> && ...), "the kernel takes a parameter of another mode, or a scalar of another type");
    return {{param_of(as<K>(p))...}};
  }
  template <class K, class P> PTO_CPP_INLINE static decltype(auto) as(const P &p) noexcept {
    if constexpr (std::is_arithmetic_v<K>)
      return static_cast<K>(p);
    else
      return (p);
  }
  pto_runtime *rt_;
};

/* A scope from here to the end of the block.  That its end is in order the block sees to; another error is the run's,
 * and the next call throws it. */
class [[nodiscard]] scope {
public:
  explicit scope(const run &r, std::uint32_t kind = PTO_SCOPE_AUTO, const char *label = nullptr) : rt_(r.get()) {
    r.check(pto_scope_begin(rt_, kind));
    if (label) pto_scope_label(rt_, label);
  }
  ~scope() {
    if (pto_scope_end(rt_) != PTO_OK) return;
  }
  scope(const scope &) = delete;
  scope &operator=(const scope &) = delete;

private:
  pto_runtime *rt_;
};

/* ---- functions that C calls: no exception leaves them ---- */

/* Calls `body`; the status for C, and what was thrown where that is asked for. */
template <class F> int guard(pto_runtime *rt, F &&body, std::exception_ptr *thrown = nullptr) noexcept {
  const auto told = [&](const char *sentence) {
    if (thrown) *thrown = std::current_exception();
    return pto_report_error(rt, sentence);
  };
  try {
    body();
    return PTO_OK;
  } catch (const error &e) {
    if (std::strcmp(e.what(), pto_last_error(rt)) != 0) return told(e.what()); /* it is of something else */
    if (thrown) *thrown = std::current_exception();
    return e.status();
  } catch (const std::exception &e) {
    return told(e.what());
  } catch (...) {
    return told("the orchestration has thrown what is no std::exception");
  }
}
/* `void f(pto::run, ARGUMENT &)` as the orchestrate of a pto_program or a pto_device_program: pto::orchestrate<f>. */
template <auto F, class Argument> int orchestrate(pto_runtime *rt, Argument *argument) noexcept {
  return guard(rt, [&] { F(run(rt), *argument); });
}

/* `void f(const pto_kernel_args &)` as the run of a pto_kernel: pto::kernel_run<f>.  An exception is the kernel's
 * error. */
template <auto F> int kernel_run(const pto_kernel_args *args) noexcept {
  try {
    F(*args);
    return 0;
  } catch (const std::exception &e) {
    return pto_kernel_error(args, "%s", e.what());
  } catch (...) {
    return pto_kernel_error(args, "it has thrown what is no std::exception");
  }
}
/* A tensor of a kernel, by index: x(i, j).  Throws where it has another dtype than T. */
template <class T> class elements {
public:
  elements(const pto_kernel_args &args, std::uint32_t index) : tensor_(args.tensors[index]) {
    if (tensor_.dtype != dtype_of<T>())
      throw_status(PTO_EINVAL, ("tensor " + std::to_string(index) + " has another dtype than the C++ type").c_str());
  }
  template <class... I> PTO_CPP_INLINE T &operator()(I... index) const noexcept {
    const std::uint64_t at[] = {static_cast<std::uint64_t>(index)...};
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < sizeof...(I); i++) offset += at[i] * tensor_.strides[i];
    return static_cast<T *>(tensor_.addr)[offset];
  }
  std::uint64_t extent(std::uint32_t dim) const noexcept { return tensor_.shape[dim]; }

private:
  const pto_kernel_tensor &tensor_;
};

/* ---- a runtime ---- */

struct config : pto_config {
  config() noexcept : pto_config{} { size = sizeof(pto_config); }
};

class runtime {
public:
  explicit runtime(const pto_config &how = config()) {
    char sentence[512] = "";
    pto_runtime *made = nullptr;
    const int status = pto_runtime_create_explained(&how, &made, sentence, sizeof sentence);
    if (status != PTO_OK) throw_status(status, sentence);
    rt_.reset(made);
  }
  pto_runtime *get() const noexcept { return rt_.get(); }

  /* Runs `void orchestration(pto::run)` and all that it submits. */
  template <class F> void run(F &&orchestration) {
    struct call {
      F &orchestration;
      std::exception_ptr thrown;
    } now{orchestration, nullptr};
    const int status = pto_run(
        get(),
        [](pto_runtime *rt, void *context) {
          call &c = *static_cast<call *>(context);
          return guard(
              rt, [&] { c.orchestration(pto::run(rt)); }, &c.thrown);
        },
        &now);
    if (now.thrown) std::rethrow_exception(now.thrown);
    if (status != PTO_OK) throw_status(status, pto_last_error(get()));
  }
  pto_stats stats() const noexcept {
    pto_stats s{};
    s.size = sizeof s;
    pto_runtime_stats(get(), &s);
    return s;
  }

private:
  owned<pto_runtime, pto_runtime_destroy> rt_;
};

} // namespace pto

#endif
