/* SPDX-License-Identifier: MIT */
/*
 * What kernels do where they meet the process, one thing a value of the first scalar, written as kernels of the
 * existing runtime are.  Tensor 0: int64 numbers in which each core leaves what it saw; argument 1: which; argument 2:
 * a number.
 */
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <pto/pipe.hpp>
#include <pto/pto-inst.hpp>
#include <thread>

#include "common/platform_config.h"
#include "intrinsic.h"
#include "pipe_sync.h"
#include "platform_comm/comm_context.h"
#include "tensor.h"

using namespace pto;
using Slots = Pipe<7, 4096, 2>;

static std::int64_t volatile_load(std::int64_t *cell) { return *reinterpret_cast<volatile std::int64_t *>(cell); }

/* The AIC pushes what it has in its local memory, the AIV pops; both have all of their own before and after. */
static std::int64_t stream(std::int64_t rounds) {
  auto &local = Local::Instance().bytes;
#ifdef __DAV_CUBE__
  const char own = 'c';
#else
  const char own = 'v';
#endif
  control = static_cast<unsigned char>(own);
  for (auto &byte : local) byte = own;
  std::int64_t sum = 0;
  for (std::int64_t round = 0; round < rounds; round++) {
    char slot[4096];
#ifdef __DAV_CUBE__
    for (int i = 0; i < 4096; i++) slot[i] = static_cast<char>(round + i);
    Slots::push(slot);
#else
    Slots::pop(slot);
    for (int i = 0; i < 4096; i++) sum += slot[i] == static_cast<char>(round + i);
#endif
    for (std::size_t i = 0; i < local.size(); i += 1023)
      if (local[i] != own) return -1 - round;
    if (control != static_cast<unsigned char>(own)) return -1000000;
  }
  return sum;
}

/* A barrier in memory that the blocks of the task pass some times, by polling without a call. */
static std::int64_t barrier(std::int64_t *cells, std::int64_t *args, std::int64_t rounds) {
  const std::int64_t blocks = get_block_num(args);
  for (std::int64_t round = 1; round <= rounds; round++) {
    __atomic_store_n(&cells[100 + get_block_idx(args)], round, __ATOMIC_RELEASE);
    for (std::int64_t block = 0; block < blocks; block++)
      while (volatile_load(&cells[100 + block]) < round) {
      }
  }
  return 1000 + get_block_idx(args);
}

static void wait_for(std::int64_t *cell, std::int64_t value, bool sleeps) {
  while (__atomic_load_n(cell, __ATOMIC_ACQUIRE) < value) {
    if (sleeps)
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    else
      std::this_thread::yield();
  }
}

/* The two kinds of cores take turns by sleeping and by yielding. */
static std::int64_t take_turns(std::int64_t *cells, std::int64_t rounds) {
  for (std::int64_t round = 0; round < rounds; round++) {
#ifdef __DAV_CUBE__
    wait_for(&cells[200], 2 * round, true);
    __atomic_store_n(&cells[200], 2 * round + 1, __ATOMIC_RELEASE);
#else
    wait_for(&cells[200], 2 * round + 1, false);
    __atomic_store_n(&cells[200], 2 * round + 2, __ATOMIC_RELEASE);
#endif
  }
  return volatile_load(&cells[200]);
}

extern "C" __aicore__ void kernel_entry(__gm__ std::int64_t *args) {
  auto *tensor = reinterpret_cast<__gm__ ChipTensor *>(args[0]);
  auto *cells = reinterpret_cast<std::int64_t *>(tensor->buffer.addr) + tensor->start_offset;
  const std::int64_t number = args[2];
#ifdef __DAV_CUBE__
  auto &mine = cells[0];
#else
  auto &mine = cells[1 + get_sub_block_id(args)];
#endif
  switch (args[1]) {
  case 0:
    mine = stream(number);
    break;
  case 1:
    cells[300 + get_block_idx(args)] = barrier(cells, args, number);
    break;
  case 2:
    mine = take_turns(cells, number);
    break;
  case 3: /* for ever, without a call */
    while (volatile_load(&cells[400]) == 0) {
    }
    break;
  case 4: /* for ever, in a pipe: it holds two slots more than are popped */
#ifdef __DAV_CUBE__
    mine = stream(number + 3);
#else
    mine = stream(number);
#endif
    break;
  case 5:
    std::abort();
  case 6: /* time goes on, and does while a kernel waits for that alone */
    mine = get_sys_cnt();
    while (get_sys_cnt() - mine < 1000) {
    }
    mine = PLATFORM_PROF_SYS_CNT_FREQ;
    break;
  case 7: /* what pto-isa's own names answer */
    mine = 100 * pto::get_block_idx() + get_subblockid() + (get_dma_workspace(args, DMA_WORKSPACE_SDMA) ? 50 : 0);
    break;
  case 9: { /* some milliseconds by the clock; no longer than it takes to see that they are over */
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(number)) std::this_thread::yield();
    const auto took = std::chrono::steady_clock::now() - begin;
    mine = took < std::chrono::seconds(10) ? number : -1;
    break;
  }
  case 8: /* how often this core has been here: thread-local memory is its own, and stays */
    mine = ++Local::Instance().bytes[9];
    break;
  }
  pipe_sync();
}
