/* SPDX-License-Identifier: MIT */
#include <runtime/base/sized.h>

#include <string.h>

#include <runtime/base/base.h>

static size_t size_of(const void *sized) {
  size_t size;
  memcpy(&size, sized, sizeof size);
  return size;
}

int pto_sized_take(void *to, size_t size, const void *given, const char *name, struct pto_error *error) {
  if (given) {
    const size_t known = size_of(given);
    if (known < sizeof known)
      return pto_error_set(error, PTO_EINVAL, "%s.size is %zu; start with {.size = sizeof %s}", name, known, name);
    for (size_t i = size; i < known; i++)
      if (((const unsigned char *)given)[i])
        return pto_error_set(error, PTO_EINVAL, "%s: byte %zu is set and this library knows %zu bytes of it", name, i,
                             size);
    memcpy(to, given, pto_min_u64(known, size));
  }
  memcpy(to, &size, sizeof size);
  return PTO_OK;
}

void pto_sized_give(void *given, const void *from, size_t size) {
  const size_t room = size_of(given);
  if (room <= sizeof room) return;
  memcpy((char *)given + sizeof room, (const char *)from + sizeof room, pto_min_u64(room, size) - sizeof room);
}
