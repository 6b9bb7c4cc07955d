/* SPDX-License-Identifier: MIT */
#include <runtime/base/base.h>

#include <stdio.h>

void pto_assert_failed(const char *condition, const char *file, int line) {
  fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  abort();
}
