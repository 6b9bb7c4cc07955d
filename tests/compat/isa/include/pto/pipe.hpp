/* SPDX-License-Identifier: MIT */
/* Of the stand-in for pto-isa: local memory that is thread-local, and a pipe that blocks on a condition variable in
 * state that a hook gives. */
#ifndef TEST_PIPE_HPP
#define TEST_PIPE_HPP

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <vector>

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
