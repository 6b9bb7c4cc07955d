/* SPDX-License-Identifier: MIT */
#include <runtime/base/valgrind_requests.h>

#if PTO_HAVE_VALGRIND
#include <valgrind/valgrind.h>

bool pto_is_under_valgrind(void) { return RUNNING_ON_VALGRIND != 0; }
uint32_t pto_valgrind_stack_register(void *lowest, uint64_t size_bytes) {
  return (uint32_t)VALGRIND_STACK_REGISTER(lowest, (char *)lowest + size_bytes);
}
void pto_valgrind_stack_deregister(uint32_t number) { VALGRIND_STACK_DEREGISTER(number); }
#else
bool pto_is_under_valgrind(void) { return false; }
uint32_t pto_valgrind_stack_register(void *lowest, uint64_t size_bytes) {
  (void)lowest;
  (void)size_bytes;
  return 0;
}
void pto_valgrind_stack_deregister(uint32_t number) { (void)number; }
#endif
