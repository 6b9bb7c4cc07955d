/* SPDX-License-Identifier: MIT */
#include <runtime/base/valgrind_requests.h>

#include <stddef.h>

#if PTO_HAVE_VALGRIND
#include <valgrind/drd.h>
#include <valgrind/helgrind.h>
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>

bool pto_is_under_valgrind(void) { return RUNNING_ON_VALGRIND != 0; }
bool pto_is_under_memcheck(void) {
  uint8_t byte = 0, bits;
  return VALGRIND_GET_VBITS(&byte, &bits, 1) == 1; /* other tools answer 0 */
}
/* drd takes the end of a thread that has been on a registered stack for the end of that stack, and fails an assertion
 * of its own (valgrind 3.19); without it it warns of a change of stacks, and goes on. */
uint32_t pto_valgrind_stack_register(void *lowest, uint64_t size_bytes) {
  if (DRD_GET_DRD_THREADID != 0) return 0;
  return (uint32_t)VALGRIND_STACK_REGISTER(lowest, (char *)lowest + size_bytes);
}
void pto_valgrind_stack_deregister(uint32_t number) {
  if (number) VALGRIND_STACK_DEREGISTER(number);
}

void pto_memcheck_no_access(const void *addr, uint64_t size_bytes) {
  (void)VALGRIND_MAKE_MEM_NOACCESS(addr, size_bytes);
}
void pto_memcheck_undefined(const void *addr, uint64_t size_bytes) {
  (void)VALGRIND_MAKE_MEM_UNDEFINED(addr, size_bytes);
}
const char *pto_memcheck_first_undefined(const void *addr, uint64_t size_bytes) {
  VALGRIND_DISABLE_ERROR_REPORTING;
  uintptr_t first = VALGRIND_CHECK_MEM_IS_DEFINED(addr, size_bytes);
  VALGRIND_ENABLE_ERROR_REPORTING;
  return (const char *)first;
}
bool pto_memcheck_get_bits(const void *addr, uint8_t *bits, uint64_t size_bytes) {
  return VALGRIND_GET_VBITS(addr, bits, size_bytes) == 1;
}
void pto_memcheck_set_bits(const void *addr, const uint8_t *bits, uint64_t size_bytes) {
  (void)VALGRIND_MAKE_MEM_UNDEFINED(addr, size_bytes);
  (void)VALGRIND_SET_VBITS(addr, bits, size_bytes);
}

/* Each tool knows its own request alone and lets the other's pass. */
void pto_valgrind_happens_before(const void *word) {
  VALGRIND_DO_CLIENT_REQUEST_STMT(_VG_USERREQ__HG_USERSO_SEND_PRE, word, 0, 0, 0, 0);
  VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DRD_ANNOTATE_HAPPENS_BEFORE, word, 0, 0, 0, 0);
}
void pto_valgrind_happens_after(const void *word) {
  VALGRIND_DO_CLIENT_REQUEST_STMT(_VG_USERREQ__HG_USERSO_RECV_POST, word, 0, 0, 0, 0);
  VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DRD_ANNOTATE_HAPPENS_AFTER, word, 0, 0, 0, 0);
}
void pto_valgrind_races_on_purpose(const void *addr, uint64_t size_bytes) {
  VALGRIND_DO_CLIENT_REQUEST_STMT(_VG_USERREQ__HG_ARANGE_MAKE_UNTRACKED, addr, size_bytes, 0, 0, 0);
  VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DRD_START_SUPPRESSION, addr, size_bytes, 0, 0, 0);
}
#else
bool pto_is_under_valgrind(void) { return false; }
bool pto_is_under_memcheck(void) { return false; }
uint32_t pto_valgrind_stack_register(void *lowest, uint64_t size_bytes) { return 0; }
void pto_valgrind_stack_deregister(uint32_t number) {}
void pto_memcheck_no_access(const void *addr, uint64_t size_bytes) {}
void pto_memcheck_undefined(const void *addr, uint64_t size_bytes) {}
const char *pto_memcheck_first_undefined(const void *addr, uint64_t size_bytes) { return NULL; }
bool pto_memcheck_get_bits(const void *addr, uint8_t *bits, uint64_t size_bytes) { return false; }
void pto_memcheck_set_bits(const void *addr, const uint8_t *bits, uint64_t size_bytes) {}
void pto_valgrind_happens_before(const void *word) {}
void pto_valgrind_happens_after(const void *word) {}
void pto_valgrind_races_on_purpose(const void *addr, uint64_t size_bytes) {}
#endif
