/* SPDX-License-Identifier: MIT */
/*
 * Assertions of orchestrations: a false one throws, and compat/entry.cpp makes the run's error of it.
 *
 * debug_assert is on whether NDEBUG is set or not: what it finds is a mistake here.
 */
#ifndef PTO_COMPAT_ASSERT_COMPAT_H
#define PTO_COMPAT_ASSERT_COMPAT_H

#include <stdexcept>
#include <string>

class AssertionError : public std::runtime_error {
public:
  AssertionError(const char *condition, const char *file, int line)
      : std::runtime_error(condition), condition_(condition), file_(file), line_(line) {}
  const char *condition() const { return condition_; }
  const char *file() const { return file_; }
  int line() const { return line_; }

private:
  const char *condition_, *file_;
  int line_;
};

[[noreturn]] inline void assert_impl(const char *condition, const char *file, int line) {
  throw AssertionError(condition, file, line);
}
/* No frames are kept: the place of the call is in the error. */
inline std::string get_stacktrace(int skip_frames = 1) {
  (void)skip_frames;
  return {};
}

#define always_assert(condition) ((condition) ? (void)0 : assert_impl(#condition, __FILE__, __LINE__))
#define debug_assert(condition) always_assert(condition)

#define MAYBE_UNINITIALIZED_BEGIN
#define MAYBE_UNINITIALIZED_END

#endif
