/* SPDX-License-Identifier: MIT */
/*
 * For tests of the fabric: chips by their text, messages in a line, and what arrives.
 */
#ifndef PTO_TESTS_FABRIC_FIXTURE_H
#define PTO_TESTS_FABRIC_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/fabric/fabric.h>

/* Eight chips of one node and no packages; a byte takes 20 ps on a link, which is 200 ns away. */
#define ONE_NODE "tiny,dies_per_package=1,nodes=1"

static inline struct pto_chip chip_of(const char *text) {
  struct pto_chip chip;
  struct pto_error error;
  if (pto_chip_load(text, &chip, &error)) fail_msg("%s", error.sentence);
  return chip;
}

static inline struct pto_fabric *fabric_of(const char *text, uint32_t rank_count) {
  const struct pto_chip chip = chip_of(text);
  struct pto_fabric *fabric;
  struct pto_error error;
  if (pto_fabric_create(&chip, rank_count, &fabric, &error)) fail_msg("%s", error.sentence);
  return fabric;
}

static inline void send_capped(struct pto_fabric *fabric, uint64_t now, uint32_t source, uint32_t target,
                               uint64_t bytes, uint64_t cap_mbps) {
  const struct pto_fabric_message message = {.bytes = bytes, .cap_mbps = cap_mbps, .source = source, .target = target};
  assert_int_equal(pto_fabric_begin(fabric, now, &message), PTO_OK);
}

static inline void send(struct pto_fabric *fabric, uint64_t now, uint32_t source, uint32_t target, uint64_t bytes) {
  send_capped(fabric, now, source, target, bytes, 0);
}

static inline void expect_arrival(struct pto_fabric *fabric, uint64_t at, uint32_t source, uint32_t target) {
  struct pto_fabric_arrival arrival;
  assert_true(pto_fabric_advance(fabric, PTO_FABRIC_NEVER - 1, &arrival));
  assert_true(pto_fabric_is_valid(fabric));
  assert_int_equal(arrival.at, at);
  assert_int_equal(arrival.message.source, source);
  assert_int_equal(arrival.message.target, target);
}

static inline void expect_nothing(struct pto_fabric *fabric) {
  struct pto_fabric_arrival arrival;
  assert_int_equal(pto_fabric_next_at(fabric), PTO_FABRIC_NEVER);
  assert_false(pto_fabric_advance(fabric, PTO_FABRIC_NEVER - 1, &arrival));
}

#endif
