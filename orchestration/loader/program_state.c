/* SPDX-License-Identifier: MIT */
/*
 * What all files of a program run use: how it fails, and the hash behind its fills and digests.
 */
#include <orchestration/loader/program_state.h>

#include <stdarg.h>
#include <stdio.h>

#include <runtime/base/base.h>

/* ---- failures ---- */

/* The first failure is kept. */
static int store_failure(struct pto_program_run *run, int status, const char *format, va_list arguments) {
  char sentence[PTO_SENTENCE_SIZE];
  if (run->error.status != PTO_OK) return status;
  vsnprintf(sentence, sizeof sentence, format, arguments);
  return pto_error_set(&run->error, status, "%s", sentence);
}

int pto_program_fail(struct pto_program_run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int status = store_failure(run, PTO_EINVAL, format, arguments);
  va_end(arguments);
  return status;
}

int pto_program_fail_as(struct pto_program_run *run, int status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)store_failure(run, status, format, arguments);
  va_end(arguments);
  return status;
}

void pto_program_out_of_memory(struct pto_program_run *run, const char *what) {
  if (run->error.status == PTO_OK)
    (void)pto_error_set(&run->error, PTO_ENOMEM, "%s: out of memory for %s", run->program->name, what);
}

/* ---- XXH64, after the specification of xxHash (Collet), section "XXH64 algorithm description" ---- */

#define PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME_3 UINT64_C(0x165667B19E3779F9)
#define PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME_5 UINT64_C(0x27D4EB2F165667C5)

static uint64_t rotate_left(uint64_t x, uint32_t count) { return x << count | x >> (64 - count); }

static uint64_t load_64(const unsigned char *p) {
  uint64_t x = 0;
  for (int i = 7; i >= 0; i--) x = x << 8 | p[i];
  return x;
}

static uint64_t xxh64_round(uint64_t lane, uint64_t input) { return rotate_left(lane + input * PRIME_2, 31) * PRIME_1; }

uint64_t pto_xxh64(const void *data, uint64_t size, uint64_t seed) {
  const unsigned char *p = data;
  uint64_t left = size, hash = seed + PRIME_5;
  if (size >= 32) {
    uint64_t lanes[4] = {seed + PRIME_1 + PRIME_2, seed + PRIME_2, seed, seed - PRIME_1};
    for (; left >= 32; left -= 32, p += 32)
      for (int i = 0; i < 4; i++) lanes[i] = xxh64_round(lanes[i], load_64(p + 8 * i));
    hash = rotate_left(lanes[0], 1) + rotate_left(lanes[1], 7) + rotate_left(lanes[2], 12) + rotate_left(lanes[3], 18);
    for (int i = 0; i < 4; i++) hash = (hash ^ xxh64_round(0, lanes[i])) * PRIME_1 + PRIME_4;
  }
  hash += size;
  for (; left >= 8; left -= 8, p += 8) hash = rotate_left(hash ^ xxh64_round(0, load_64(p)), 27) * PRIME_1 + PRIME_4;
  if (left >= 4) {
    uint64_t word = p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    hash = rotate_left(hash ^ word * PRIME_1, 23) * PRIME_2 + PRIME_3;
    left -= 4;
    p += 4;
  }
  for (; left > 0; left--, p++) hash = rotate_left(hash ^ *p * PRIME_5, 11) * PRIME_1;
  hash = (hash ^ hash >> 33) * PRIME_2;
  hash = (hash ^ hash >> 29) * PRIME_3;
  return hash ^ hash >> 32;
}
