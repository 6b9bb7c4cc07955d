/* SPDX-License-Identifier: MIT */
/* A kernel that does not compile: in line 8. */
#include <cstdint>
#include <pto/pto-inst.hpp>

extern "C" void kernel_entry(std::int64_t *args) {
  args[0] = 1;
  no_such_instruction(args);
}
