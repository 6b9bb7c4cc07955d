/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for pto-isa's header, as far as tests of the seam need one: local memory that is thread-local, a pipe that
 * blocks on a condition variable in state that a hook gives, and the names of flags.  It behaves as pto-isa does where
 * kernels meet the process; it has none of its instructions.
 */
#ifndef TEST_PTO_INST_HPP
#define TEST_PTO_INST_HPP

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <vector>

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

/* A core's local memory. */
struct Local {
  std::vector<char> bytes = std::vector<char>(192 << 10);
  static Local &Instance() {
    thread_local Local instance;
    return instance;
  }
};
inline thread_local std::uint64_t control = 5;

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

/* Some slots of a size, from one core to another of the block. */
template <std::uint64_t Key, std::size_t SlotBytes, int Slots> struct Pipe {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int first = 0, count = 0;
    char slots[Slots][SlotBytes];
  };
  struct Storage {
    std::atomic<std::uint32_t> stage;
    alignas(State) unsigned char bytes[sizeof(State)];
  };
  static State &state() {
    static auto hook =
        reinterpret_cast<void *(*)(std::uint64_t, std::size_t)>(dlsym(RTLD_DEFAULT, "pto_sim_get_pipe_shared_state"));
    auto *storage = static_cast<Storage *>(hook(Key, sizeof(Storage)));
    std::uint32_t zero = 0;
    if (storage->stage.compare_exchange_strong(zero, 1)) {
      new (storage->bytes) State();
      storage->stage = 2;
    }
    while (storage->stage != 2) {
    }
    return *std::launder(reinterpret_cast<State *>(storage->bytes));
  }
  static void push(const char *from) {
    State &pipe = state();
    std::unique_lock<std::mutex> lock(pipe.mutex);
    pipe.changed.wait(lock, [&] { return pipe.count < Slots; });
    char *slot = pipe.slots[(pipe.first + pipe.count++) % Slots];
    for (std::size_t i = 0; i < SlotBytes; i++) slot[i] = from[i];
    lock.unlock();
    pipe.changed.notify_all();
  }
  static void pop(char *to) {
    State &pipe = state();
    std::unique_lock<std::mutex> lock(pipe.mutex);
    pipe.changed.wait(lock, [&] { return pipe.count > 0; });
    const char *slot = pipe.slots[pipe.first];
    for (std::size_t i = 0; i < SlotBytes; i++) to[i] = slot[i];
    pipe.first = (pipe.first + 1) % Slots;
    pipe.count--;
    pipe.changed.notify_all();
  }
};

} // namespace pto
#endif
