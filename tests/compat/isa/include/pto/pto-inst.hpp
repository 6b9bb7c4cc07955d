/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for pto-isa's header, as far as tests of the seam need one: the names of flags, and what asks hooks where
 * it runs.  It behaves as pto-isa does where kernels meet the process; it has none of its instructions.  Local memory
 * and pipes are in pipe.hpp: what most kernels do not need is not compiled with them.
 */
#ifndef TEST_PTO_INST_HPP
#define TEST_PTO_INST_HPP

#include <cstdint>
#include <dlfcn.h>

#define __gm__
#define __aicore__
#define EVENT_ID7 7
enum { PIPE_S, PIPE_MTE3, PIPE_FIX };
inline void set_flag(int, int, int) {}
inline void wait_flag(int, int, int) {}
struct cache_line_t {
  static constexpr int ENTIRE_DATA_CACHE = 0;
};
inline void dcci(const volatile void *, int) {}

namespace pto {

using ContextHook = void (*)(std::uint32_t *, std::uint32_t *, std::uint32_t *);
inline ContextHook context_hook() {
  static auto hook = reinterpret_cast<ContextHook>(dlsym(RTLD_DEFAULT, "pto_cpu_sim_get_execution_context"));
  return hook;
}
inline std::uint32_t get_block_idx() {
  std::uint32_t block = 99, sub_block, dim;
  if (context_hook()) context_hook()(&block, &sub_block, &dim);
  return block;
}
inline std::uint32_t get_subblockid() {
  static auto hook = reinterpret_cast<std::uint32_t (*)()>(dlsym(RTLD_DEFAULT, "pto_sim_get_subblock_id"));
  return hook ? hook() : 99;
}

} // namespace pto
#endif
