/* SPDX-License-Identifier: MIT */
#include <runtime/base/call_stack.h>

#include <dlfcn.h>
#include <stdint.h>
#include <unwind.h>

static _Thread_local const void *frame_of_caller
    __attribute__((tls_model("initial-exec"))); /* as in sim/host/current.h */

const void *pto_call_stack_begin(const void *frame) {
  const void *before = frame_of_caller;
  frame_of_caller = frame;
  return before;
}

bool pto_call_stack_has(uint64_t address) {
  const uint64_t own = (uintptr_t)__builtin_frame_address(0);
  return address > own && address < (uintptr_t)frame_of_caller;
}

/* Where a frame goes on.  The stack pointer there is what the unwinder calls the canonical address of the frame within:
 * below frame_of_caller in that function too, and beyond it in its callers. */
static const void *address_of(struct _Unwind_Context *context) {
  return (const void *)(uintptr_t)_Unwind_GetIP(context); // NOLINT(performance-no-int-to-ptr)
}
static bool is_beyond_caller(struct _Unwind_Context *context) {
  return frame_of_caller && (uintptr_t)_Unwind_GetCFA(context) > (uintptr_t)frame_of_caller;
}

/* ---- the outermost call ---- */

struct outer {
  const void *call;
  bool is_within;            /* the call has been passed */
  const void *last, *second; /* of the frames passed since, the last two */
};

static _Unwind_Reason_Code pass_outer(struct _Unwind_Context *context, void *argument) {
  struct outer *outer = argument;
  const void *address = address_of(context);
  if (is_beyond_caller(context)) return _URC_END_OF_STACK;
  outer->is_within |= address == outer->call;
  if (!outer->is_within) return _URC_NO_REASON;
  outer->second = outer->last;
  outer->last = address;
  return _URC_NO_REASON;
}

const void *pto_call_stack_outer(const void *call) {
  struct outer outer = {.call = call};
  if (!frame_of_caller) return NULL;
  _Unwind_Backtrace(pass_outer, &outer); /* the last one passed is the caller of the program's own code */
  return outer.second == call ? NULL : outer.second;
}

/* ---- the call into this library ---- */

struct entry {
  const void *file; /* where the library is loaded */
  const void *call;
};

static const void *file_of(const void *address) {
  Dl_info info;
  return dladdr(address, &info) ? info.dli_fbase : NULL;
}

static _Unwind_Reason_Code pass_entry(struct _Unwind_Context *context, void *argument) {
  struct entry *entry = argument;
  const void *address = address_of(context);
  const void *file = file_of(address);
  if (!file || file == entry->file) return _URC_NO_REASON;
  entry->call = address;
  return _URC_END_OF_STACK;
}

static const char here;

bool pto_call_stack_is_own(const void *function) { return file_of(function) == file_of(&here); }

const void *pto_call_stack_entry(void) {
  struct entry entry = {.file = file_of(&here)};
  _Unwind_Backtrace(pass_entry, &entry);
  return entry.call;
}

/* ---- all of them, from a fault on ---- */

struct taken {
  const void *outermost;
  const void **calls;
  size_t count, capacity;
};

static _Unwind_Reason_Code pass_taken(struct _Unwind_Context *context, void *argument) {
  struct taken *taken = argument;
  int is_fault = 0;
  (void)_Unwind_GetIPInfo(context, &is_fault);
  if (!taken->count && !is_fault) return _URC_NO_REASON; /* the handler's own */
  if (taken->count == taken->capacity || is_beyond_caller(context)) return _URC_END_OF_STACK;
  taken->calls[taken->count++] = address_of(context);
  const bool is_last = taken->outermost && (uintptr_t)_Unwind_GetRegionStart(context) == (uintptr_t)taken->outermost;
  return is_last ? _URC_END_OF_STACK : _URC_NO_REASON;
}

size_t pto_call_stack_take(const void *outermost, const void **calls, size_t capacity) {
  struct taken taken = {outermost, calls, 0, capacity};
  _Unwind_Backtrace(pass_taken, &taken);
  /* the last one is the caller of the program's own code, where that was not outermost */
  return taken.count > 1 && taken.count < capacity && frame_of_caller && !outermost ? taken.count - 1 : taken.count;
}
