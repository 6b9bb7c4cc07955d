/* SPDX-License-Identifier: MIT */
/* fiber_test.c over libc's ucontext, the switch of machines that fiber.c has no assembly for. */
#define PTO_FIBER_UCONTEXT 1
#include <sim/host/fiber.c>
#include <sim/host/fiber_test.c>
