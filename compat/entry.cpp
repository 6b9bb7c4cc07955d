/* SPDX-License-Identifier: MIT */
/*
 * The one object of an orchestration: its source, as it is, and the symbol that who runs it looks for.
 *
 *   c++ -std=c++17 -O0 -shared -fPIC -fvisibility=hidden -Wl,-Bsymbolic -I compat/include \
 *     -DPTO_COMPAT_SOURCE='"orch.cpp"' -DPTO_COMPAT_ENTRY=aicpu_orchestration_entry compat/entry.cpp
 *
 * Not optimized: a generated orchestration of 7000 lines takes 3 s so, and a minute at -O1. -DPTO_COMPAT_ARCHITECTURE=2
 * is a5, -DPTO_COMPAT_MODE=2 for host_build_graph.  The entry takes its arguments as
 * ChipTaskArgs, or as ChipStorageTaskArgs as until June 2026; any other form is refused here.  What it throws ends the
 * run.  Load it RTLD_LOCAL: all orchestrations have the same names.
 */
#include "pto_orchestration_api.h"

#include PTO_COMPAT_SOURCE

#include <exception>

#define PTO_COMPAT_TEXT_2(text) #text
#define PTO_COMPAT_TEXT(text) PTO_COMPAT_TEXT_2(text)

#ifdef __GLIBCXX__
/* libstdc++ keeps a thread's exceptions in thread-local variables.  Their memory is allocated at the first throw, and
 * the system's library ends the process where there is none, as when std::bad_alloc is thrown.  Where one of them is
 * read relative to the thread pointer, the loader gives all of them a place that threads have from the beginning. */
extern "C" {
extern __thread void *pto_compat_of_libstdcxx __asm__("_ZSt15__once_callable")
    __attribute__((tls_model("initial-exec")));
}
#endif

namespace {

struct Arguments {
  ChipStorageTaskArgs storage;
  ChipTaskArgs args;

  Arguments(const pto_compat_tensor *tensors, std::uint32_t tensor_count, const std::uint64_t *scalars,
            std::uint32_t scalar_count) {
    for (std::uint32_t i = 0; i < tensor_count; i++)
      storage.add_tensor(reinterpret_cast<const ChipTensor *>(tensors)[i]);
    for (std::uint32_t i = 0; i < scalar_count; i++) storage.add_scalar(scalars[i]);
    args.create_from_chip_args(storage);
  }
};

[[maybe_unused]] void call(void (*entry)(const ChipTaskArgs &), Arguments &arguments) { entry(arguments.args); }
[[maybe_unused]] void call(void (*entry)(const ChipStorageTaskArgs &), Arguments &arguments) {
  entry(arguments.storage);
}
template <typename Entry> void call(Entry, Arguments &) {
  static_assert(sizeof(Entry) == 0, "the entry of an orchestration is void NAME(const ChipTaskArgs &)");
}

/* What aicpu_orchestration_config says, where the source has one; looked for by the type of its argument. */
template <typename Args> auto ask(const Args &args, int) -> decltype(aicpu_orchestration_config(args)) {
  return aicpu_orchestration_config(args);
}
template <typename Args> PTO2OrchestrationConfig ask(const Args &, long) { return {-1}; }
std::int32_t expected_of(const Arguments &arguments) {
  const std::int32_t expected = ask(arguments.args, 0).expected_arg_count;
  return expected < 0 ? ask(arguments.storage, 0).expected_arg_count : expected;
}

template <typename Function> void guarded(const Function &function) {
  pto_compat_place here = {__FILE__, 0};
#ifdef __GLIBCXX__
  __asm__ volatile("" ::"r"(&pto_compat_of_libstdcxx));
#endif
  try {
    function();
  } catch (const AssertionError &error) {
    here = {error.file(), static_cast<std::uint32_t>(error.line())};
    pto_compat_mistake(&here, error.condition());
  } catch (const std::exception &error) {
    pto_compat_fatal(PTO2_ERROR_EXPLICIT_ORCH_FATAL, &here, "the orchestration threw: %s", error.what());
  } catch (...) {
    pto_compat_fatal(PTO2_ERROR_EXPLICIT_ORCH_FATAL, &here, "the orchestration threw");
  }
}

void enter(const pto_compat_tensor *tensors, std::uint32_t tensor_count, const std::uint64_t *scalars,
           std::uint32_t scalar_count) {
  guarded([&] {
    Arguments arguments(tensors, tensor_count, scalars, scalar_count); /* 38 KB */
    call(&PTO_COMPAT_ENTRY, arguments);
  });
}

std::int32_t expected_arguments(const pto_compat_tensor *tensors, std::uint32_t tensor_count,
                                const std::uint64_t *scalars, std::uint32_t scalar_count) {
  std::int32_t expected = -1;
  guarded([&] { expected = expected_of(Arguments(tensors, tensor_count, scalars, scalar_count)); });
  return expected;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const pto_compat_orchestration pto_compat_orchestration = {
    PTO_COMPAT_ABI, PTO_COMPAT_ARCHITECTURE, PTO_COMPAT_MODE, PTO_COMPAT_TEXT(PTO_COMPAT_ENTRY), PTO_COMPAT_SOURCE,
    enter,          expected_arguments};
