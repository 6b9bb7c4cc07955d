/* SPDX-License-Identifier: MIT */
/*
 * Which sanitizer this is compiled for, as 0 or 1, whatever compiler: gcc says it by a macro, clang by a feature.
 * No state, nothing else.
 */
#ifndef PTO_SANITIZER_H
#define PTO_SANITIZER_H

#ifdef __has_feature
#define PTO_HAS_FEATURE(name) __has_feature(name)
#else
#define PTO_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || PTO_HAS_FEATURE(address_sanitizer)
#define PTO_HAS_ASAN 1
#else
#define PTO_HAS_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || PTO_HAS_FEATURE(thread_sanitizer)
#define PTO_HAS_TSAN 1
#else
#define PTO_HAS_TSAN 0
#endif
#define PTO_HAS_SANITIZER (PTO_HAS_ASAN || PTO_HAS_TSAN || PTO_HAS_FEATURE(memory_sanitizer))

#endif
