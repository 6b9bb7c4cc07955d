/* SPDX-License-Identifier: MIT */
/*
 * Graphs of host_build_graph: a function whose tasks are recorded at its first launch and replayed by later ones.
 *
 * The function is called at each launch, so that what it would submit can be held against the first: a scalar computed
 * in the function, which is frozen, and other tasks are warned of once a graph.
 *
 * A graph is known by its function or GRAPH_KEY, and the numbers that follow the arguments.
 */
#ifndef PTO_COMPAT_GRAPH_H
#define PTO_COMPAT_GRAPH_H

#include <cstdint>

#include "pto_compat/orchestration.h"

/* FNV-1a over 64 bits. */
constexpr std::uint64_t pto_compat_mix(std::uint64_t hash, std::uint64_t byte) {
  return (hash ^ byte) * UINT64_C(0x100000001b3);
}
inline constexpr std::uint64_t pto_compat_mix_begin = UINT64_C(0xcbf29ce484222325);

constexpr std::uint64_t GRAPH_KEY(const char *name) {
  std::uint64_t hash = pto_compat_mix_begin;
  for (; *name; name++) hash = pto_compat_mix(hash, static_cast<unsigned char>(*name));
  return hash;
}

/* What a launch gives: its task. */
struct GraphScopeResult {
  bool execute_block = true;
  bool recording = false;
  PTO2TaskId task_id = PTO2TaskId::invalid();
  void *recording_handle = nullptr;
};
using GraphSubmitResult = GraphScopeResult;

template <typename T> inline std::uint64_t pto_compat_mix_value(std::uint64_t hash, T value) {
  static_assert(std::is_integral_v<T> || std::is_same_v<T, float> || std::is_same_v<T, double>,
                "rt_submit_graph: after the arguments stand integers, floats, doubles and bools");
  const std::uint64_t bits = to_u64(value);
  hash = pto_compat_mix(hash, sizeof(T) << 2 | std::is_signed_v<T> << 1 | std::is_floating_point_v<T>);
  for (unsigned shift = 0; shift < 64; shift += 8) hash = pto_compat_mix(hash, bits >> shift & 255);
  return hash;
}
template <typename... Config> inline std::uint64_t rt_graph_make_key(std::uint64_t graph_id, Config... config) {
  std::uint64_t hash = graph_id;
  ((hash = pto_compat_mix_value(hash, config)), ...);
  return hash;
}
template <typename Function> inline std::uint64_t rt_graph_function_id(Function function) {
  static_assert(std::is_pointer_v<Function>, "rt_submit_graph: a pointer to a function");
  return to_u64(function);
}

template <typename... Config> using GraphFunctionWithConfig = void (*)(const GraphTaskArgs &, Config...);
using GraphFunction = GraphFunctionWithConfig<>;

template <typename Body>
inline GraphSubmitResult pto_compat_launch(std::uint64_t key, const GraphTaskArgs &args, const pto_compat_place &here,
                                           const Body &body) {
  const pto_compat_submit boundary = pto_compat_submit_of("rt_submit_graph", args);
  pto_compat_graph graph = {};
  graph.key = key;
  graph.mistake = boundary.mistake;
  graph.tensor_count = boundary.tensor_count;
  graph.scalar_count = boundary.scalar_count;
  graph.after_count = boundary.after_count;
  graph.directions = boundary.directions;
  graph.tensors = boundary.tensors;
  graph.scalars = boundary.scalars;
  GraphSubmitResult result;
  if (!pto_compat_graph_begin(&graph, &here)) return result;
  body();
  result.task_id = {pto_compat_graph_end()};
  return result;
}

/* The line of the call comes with the arguments, since numbers may follow them. */
struct pto_compat_graph_args {
  const GraphTaskArgs &args;
  pto_compat_place here;
  pto_compat_graph_args(const GraphTaskArgs &given, pto_compat_place place = pto_compat_here())
      : args(given), here(place) {}
};
/* No deduction from the numbers of a call: they become those that the function takes. */
template <typename T> struct pto_compat_as { using type = T; };

template <typename... Config>
inline GraphSubmitResult rt_submit_graph(std::uint64_t graph_id, GraphFunctionWithConfig<Config...> function,
                                         pto_compat_graph_args args, typename pto_compat_as<Config>::type... config) {
  static_assert(PTO_COMPAT_MODE == PTO_COMPAT_HBG || sizeof(function) == 0,
                "rt_submit_graph: graphs are of host_build_graph; this is compiled for tensormap_and_ringbuffer");
  return pto_compat_launch(rt_graph_make_key(graph_id, config...), args.args, args.here,
                           [&] { function(args.args, config...); });
}
template <typename... Config>
inline GraphSubmitResult rt_submit_graph(GraphFunctionWithConfig<Config...> function, pto_compat_graph_args args,
                                         typename pto_compat_as<Config>::type... config) {
  return rt_submit_graph(rt_graph_function_id(function), function, args, config...);
}

#endif
