/* SPDX-License-Identifier: MIT */
/*
 * Contexts, device tensors and graphs in C++.  What holds of all of it, and when to use it, is in <pto/pto.hpp>.
 */
#ifndef PTO_DEVICE_HPP
#define PTO_DEVICE_HPP

#include <initializer_list>

#include <pto/run.hpp>

namespace pto {

/* ---- devices ---- */

struct context_options : pto_context_options {
  context_options() noexcept : pto_context_options{} { size = sizeof(pto_context_options); }
};

/* A tensor in a device's memory (pto/device.h), given back at its end; before its context. */
class device_tensor {
public:
  device_tensor(pto_context *context, pto_device_tensor taken) noexcept : context_(context), tensor_(taken) {}
  device_tensor(device_tensor &&from) noexcept
      : context_(from.context_), tensor_(std::exchange(from.tensor_, pto_device_tensor{})) {}
  device_tensor &operator=(device_tensor &&from) noexcept {
    std::swap(context_, from.context_);
    std::swap(tensor_, from.tensor_);
    return *this;
  }
  ~device_tensor() {
    if (tensor_.id) pto_device_tensor_destroy(context_, tensor_);
  }
  pto_device_tensor get() const noexcept { return tensor_; }
  operator pto_device_tensor() const noexcept { return tensor_; } /* for bindings: {"x", t} */

  template <class C> void write(const C &container) const {
    const auto from = span<const std::remove_reference_t<decltype(*std::data(container))>>(container);
    check(pto_device_tensor_write(context_, tensor_, from.data(), from.size_bytes()));
  }
  template <class C> void read(C &&container) const {
    const span<std::remove_reference_t<decltype(*std::data(container))>> to(container);
    check(pto_device_tensor_read(context_, tensor_, to.data(), to.size_bytes()));
  }
  void copy_to(const device_tensor &to) const { check(pto_device_tensor_copy(context_, tensor_, to.tensor_)); }
  std::uint64_t size_bytes() const noexcept { return pto_device_tensor_size(context_, tensor_); }

private:
  void check(int status) const {
    if (status != PTO_OK) throw_status(status, pto_context_error(context_));
  }
  pto_context *context_;
  pto_device_tensor tensor_;
};

using bindings = span<const pto_binding>; /* {{"x", x}, {"w", w}} */

inline pto_dispatch_bindings bind(bindings inputs, bindings outputs, span<const char *const> consumed = {}) noexcept {
  pto_dispatch_bindings b{};
  b.inputs = inputs.data();
  b.outputs = outputs.data();
  b.input_count = static_cast<std::uint32_t>(inputs.size());
  b.output_count = static_cast<std::uint32_t>(outputs.size());
  b.consumed = consumed.data();
  b.consumed_count = static_cast<std::uint32_t>(consumed.size());
  return b;
}

class context {
public:
  explicit context(const pto_context_options &how = context_options()) {
    char sentence[512] = "";
    pto_context *made = nullptr;
    const int status = pto_context_create(&how, &made, sentence, sizeof sentence);
    if (status != PTO_OK) throw_status(status, sentence);
    context_.reset(made);
  }
  pto_context *get() const noexcept { return context_.get(); }
  void check(int status) const {
    if (status != PTO_OK) throw_status(status, pto_context_error(get()));
  }
  void sync() const { check(pto_context_sync(get())); }
  void clear_error() const noexcept { pto_context_clear_error(get()); }
  struct pto_context_counters counters() const noexcept {
    struct pto_context_counters c {};
    c.size = sizeof c;
    pto_context_counters(get(), &c);
    return c;
  }

  /* Zeroed; the host reads and writes it as `flags` say (enum pto_device_tensor_flags). */
  device_tensor create(std::uint32_t dtype, sizes shape,
                       std::uint32_t flags = PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE,
                       const char *label = nullptr) const {
    pto_device_tensor_desc d = desc(dtype, shape, flags);
    d.label = label;
    pto_device_tensor made;
    check(pto_device_tensor_create(get(), &d, &made));
    return {get(), made};
  }
  template <class T>
  device_tensor create(sizes shape, std::uint32_t flags = PTO_TENSOR_READABLE | PTO_TENSOR_WRITABLE,
                       const char *label = nullptr) const {
    return create(dtype_of<T>(), shape, flags, label);
  }
  /* One that keeps these elements. */
  template <class T> device_tensor constant(sizes shape, span<const T> data) const {
    const pto_device_tensor_desc d = desc(dtype_of<T>(), shape, 0);
    pto_device_tensor made;
    check(pto_device_tensor_create_constant(get(), &d, data.data(), data.size_bytes(), &made));
    return {get(), made};
  }
  void dispatch(const pto_device_program &program, bindings inputs, bindings outputs,
                span<const char *const> consumed = {}) const {
    const pto_dispatch_bindings b = bind(inputs, outputs, consumed);
    check(pto_context_dispatch(get(), &program, &b));
  }

private:
  static pto_device_tensor_desc desc(std::uint32_t dtype, sizes shape, std::uint32_t flags) {
    pto_device_tensor_desc d{};
    if (shape.size() > PTO_MAX_DIMS) raise_rank("create", shape.size(), PTO_MAX_DIMS);
    d.dtype = dtype;
    d.ndims = static_cast<std::uint32_t>(shape.size());
    d.flags = flags;
    for (std::size_t i = 0; i < shape.size(); i++) d.shape[i] = shape[i];
    return d;
  }
  owned<pto_context, pto_context_destroy> context_;
};

/* ---- graphs ---- */

class graph {
public:
  explicit graph(pto_graph *taken) noexcept : graph_(taken) {}
  /* A file (pto_graph_load); `of` may be null, and `how` too. */
  static graph load(const char *path, const context *of = nullptr, const pto_graph_file_options *how = nullptr) {
    char sentence[512] = "";
    pto_graph *made = nullptr;
    const int status = pto_graph_load(of ? of->get() : nullptr, path, how, &made, sentence, sizeof sentence);
    if (status != PTO_OK) throw_status(status, sentence);
    return graph(made);
  }
  void save(const char *path, const pto_graph_file_options *how = nullptr) const {
    char sentence[512] = "";
    const int status = pto_graph_save(get(), path, how, sentence, sizeof sentence);
    if (status != PTO_OK) throw_status(status, sentence);
  }
  /* The plain graph of these sizes (pto_graph_bind): bind({{"batch", 4}}). */
  graph bind(std::initializer_list<pto_graph_size> sizes) const {
    char sentence[512] = "";
    pto_graph *made = nullptr;
    const int status = pto_graph_bind(get(), sizes.begin(), static_cast<std::uint32_t>(sizes.size()), &made, sentence,
                                      sizeof sentence);
    if (status != PTO_OK) throw_status(status, sentence);
    return graph(made);
  }
  pto_graph *get() const noexcept { return graph_.get(); }
  void dispatch(const context &on, bindings inputs, bindings outputs, span<const char *const> consumed = {}) const {
    const pto_dispatch_bindings b = pto::bind(inputs, outputs, consumed);
    on.check(pto_graph_dispatch(get(), on.get(), &b));
  }

private:
  owned<pto_graph, pto_graph_destroy> graph_;
};

class graph_builder {
public:
  explicit graph_builder(const context *of = nullptr) {
    pto_graph_builder *made = nullptr;
    const int status = pto_graph_builder_create(of ? of->get() : nullptr, &made);
    if (status != PTO_OK) throw_status(status, nullptr);
    builder_.reset(made);
  }
  pto_graph_builder *get() const noexcept { return builder_.get(); }
  /* Throws where an earlier call was refused. */
  void check() const {
    const int status = pto_graph_builder_status(get());
    if (status != PTO_OK) throw_status(status, pto_graph_builder_error(get()));
  }
  pto_graph_operand input(const char *name, const pto_graph_desc &desc) const {
    return checked(pto_graph_builder_input(get(), name, &desc));
  }
  /* pto_graph_builder_set_size: set_size(x, 0, "batch"), set_size(y, 0, "batch", "newShape"). */
  void set_size(pto_graph_operand operand, std::uint32_t item, const char *name,
                const char *attribute = nullptr) const {
    (void)pto_graph_builder_set_size(get(), operand, attribute, item, name);
    check();
  }
  template <class T> pto_graph_operand constant(const pto_graph_desc &desc, span<const T> data) const {
    return checked(pto_graph_builder_constant(get(), &desc, data.data(), data.size_bytes()));
  }
  /* An operation of <pto/graph_operations.h>: call(pto_graph_builder_relu, x).  Without options it has the default
   * ones. */
  template <class F, class... A> auto call(F operation, A &&...a) const {
    if constexpr (std::is_invocable_v<F, pto_graph_builder *, A...>)
      return checked(operation(get(), a...));
    else
      return checked(operation(get(), a..., nullptr));
  }
  graph build(span<const pto_graph_output> outputs) const {
    pto_graph *made = nullptr;
    const int status =
        pto_graph_builder_build(get(), outputs.data(), static_cast<std::uint32_t>(outputs.size()), &made);
    if (status != PTO_OK) throw_status(status, pto_graph_builder_error(get()));
    return graph(made);
  }

private:
  template <class T> T checked(T made) const {
    check();
    return made;
  }
  owned<pto_graph_builder, pto_graph_builder_destroy> builder_;
};

} // namespace pto

#endif
