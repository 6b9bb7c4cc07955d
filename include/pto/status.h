/* SPDX-License-Identifier: MIT */
/*
 * What every call of this library can answer.
 *
 * A function that can fail returns an int: PTO_OK (0) or one of the negative codes below, and leaves one
 * sentence with the values in it behind (pto_last_error).  Argument errors leave everything as it was and the
 * run goes on; the codes marked "ends the run" are kept as the run's first error, and every later call of that
 * run returns them without doing anything.
 *
 * One list.  A new code is one line here.
 */
#ifndef PTO_STATUS_H
#define PTO_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PTO_MUST_CHECK __attribute__((warn_unused_result))
#define PTO_PRINTF(format_index, first_index) __attribute__((format(printf, format_index, first_index)))
#define PTO_API __attribute__((visibility("default")))
#else
#define PTO_MUST_CHECK
#define PTO_PRINTF(format_index, first_index)
#define PTO_API
#endif

/* X(name, value, number in the existing runtime's reports or 0, ends the run, what it means) */
#define PTO_STATUS_LIST(X)                                                                                             \
  X(PTO_OK, 0, 0, 0, "success")                                                                                        \
  X(PTO_EINVAL, -1, 5, 0, "bad argument")                                                                              \
  X(PTO_ESTALE, -2, 0, 0, "handle used after its life, or in another runtime")                                         \
  X(PTO_EFIT, -3, 7, 0, "can never fit on this chip")                                                                  \
  X(PTO_ESCOPE, -4, 1, 1, "a scope holds more tasks than the window")                                                  \
  X(PTO_EHEAP, -5, 2, 1, "the heap ring cannot hold the outputs")                                                      \
  X(PTO_EWINDOW, -6, 3, 1, "nested scopes hold the whole window")                                                      \
  X(PTO_ECAPACITY, -7, 4, 1, "a map or list is full of live work")                                                     \
  X(PTO_EDEADLOCK, -8, 100, 1, "cores wait for each other for ever")                                                   \
  X(PTO_EKERNEL, -9, 0, 1, "a kernel failed")                                                                          \
  X(PTO_ETIMEOUT, -10, 100, 1, "a kernel outlived the time-out")                                                       \
  X(PTO_EUSER, -11, 9, 1, "reported by the orchestration")                                                             \
  X(PTO_ENOMEM, -12, 0, 0, "out of memory")                                                                            \
  X(PTO_ESYSTEM, -13, 0, 0, "a file or a system call failed")                                                          \
  X(PTO_ENOTSUP, -14, 0, 0, "not supported")                                                                           \
  X(PTO_EINTERRUPTED, -15, 0, 1, "interrupted")

enum pto_status {
#define X(name, value, number, ends_run, text) name = value,
  PTO_STATUS_LIST(X)
#undef X
};

/* What `status` means, and the existing runtime's number for it where it has one ("the heap ring cannot hold
 * the outputs (runtime error 2)").  A static string; unknown codes give "unknown status". */
PTO_API const char *pto_strerror(int status);

/* "PTO_EHEAP" for PTO_EHEAP.  A static string. */
PTO_API const char *pto_status_name(int status);

#ifdef __cplusplus
}
#endif
#endif
