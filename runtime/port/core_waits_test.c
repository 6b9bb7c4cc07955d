/* SPDX-License-Identifier: MIT */
/* The sentence of what cores wait for, kind by kind; what engines find is in sim/rendezvous/rendezvous_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <pto/pto.h>
#include <runtime/port/core_port.h>
#include <runtime/port/core_waits.h>

#define WHO .task_number = 7, .kernel = "sum", .who = {.block_index = 2, .core = 4, .role = PTO_ROLE_AIV0}
#define OTHER(how) .has_other = true, .other = {.block_index = 1, .core = 5, .role = PTO_ROLE_AIV1, .state = how}

static const struct {
  struct pto_core_wait wait;
  const char *sentence; /* behind who waits */
} cases[] = {
    {{WHO, .waits_for = PTO_WAITS_FOR_NOTHING}, ""},
    {{WHO, .waits_for = PTO_WAITS_FOR_FLAG, .flag = 3}, "for a signal at flag 3"},
    {{WHO, .waits_for = PTO_WAITS_FOR_FLAG, .flag = 3, .sent = 2, .sender = {1, 5, PTO_ROLE_AIV1, PTO_SEAT_RETURNED}},
     "for a signal at flag 3, which has had 2, the last of AIV1 on core 5, which has returned"},
    {{WHO, .waits_for = PTO_WAITS_FOR_FLAG, .flag = 3, .sent = 1, .sender = {1, 5, PTO_ROLE_AIV1, PTO_SEAT_BEGUN}},
     "for a signal at flag 3, which has had 1, the last of AIV1 on core 5"},
    {{WHO, .waits_for = PTO_WAITS_FOR_FLAG, .flag = 3, .has_astray = true, .sender = {1, 5, PTO_ROLE_AIV1}},
     "for a signal at flag 3 (one lies at flag 3 of AIV1)"},
    {{WHO, .waits_for = PTO_WAITS_FOR_ROOM, .room_bytes = 64, OTHER(PTO_SEAT_SENT)},
     "for room for 64 bytes in the FIFO to AIV1 on core 5, which has not begun"},
    {{WHO, .waits_for = PTO_WAITS_FOR_ELEMENT, OTHER(PTO_SEAT_RETURNED)},
     "for an element from AIV1 on core 5, which has returned"},
    {{WHO, .waits_for = PTO_WAITS_FOR_BARRIER, .barrier = 6, .arrived = 1, .expected = 3, OTHER(PTO_SEAT_BEGUN)},
     "at barrier 6 with 1 of 3, without block 1 AIV1 on core 5, which waits"},
    {{WHO, .waits_for = PTO_WAITS_FOR_BARRIER, .barrier = 6, .other_barriers = 1, OTHER(PTO_SEAT_RETURNED)},
     "at barrier 6, without block 1 AIV1 on core 5, which has returned after 1 barrier"},
    {{WHO, .waits_for = PTO_WAITS_FOR_BARRIER, .barrier = 6}, "at barrier 6, without a block that has returned"},
    {{WHO, .waits_for = PTO_WAITS_FOR_TURN, OTHER(PTO_SEAT_BEGUN)},
     "for its turn after block 1 AIV1 on core 5, which waits"},
    {{WHO, .waits_for = PTO_WAITS_FOR_TURN}, "for its turn"},
    {{WHO, .waits_for = PTO_WAITS_FOR_CHANGE}, "for a change of memory that it polls"},
    {{WHO, .waits_for = PTO_WAITS_FOR_CHANGE,
      .peer = {.call = PTO_PEER_TEST, .comm = 2, .signal = 9, .compare = PTO_IF_GE, .value = 4, .found = -1}},
     "for a change of signal 9 of comm 2, which it polls for >= 4, from -1"},
    {{WHO, .waits_for = PTO_WAITS_FOR_PEER, .peer = {.call = PTO_PEER_PUT, .peer = 1, .bytes = 32}},
     "for its put of 32 bytes to rank 1"},
    {{WHO, .waits_for = PTO_WAITS_FOR_PEER, .peer = {.call = PTO_PEER_GET, .peer = 2, .bytes = 16}},
     "for its get of 16 bytes from rank 2"},
    {{WHO, .waits_for = PTO_WAITS_FOR_PEER,
      .peer = {.call = PTO_PEER_SIGNAL, .comm = 1, .signal = 9, .compare = PTO_IF_EQ, .value = -4, .found = 3}},
     "for signal 9 = -4 of comm 1, which is 3"},
    {{WHO, .waits_for = PTO_WAITS_FOR_PEER,
      .peer = {.call = PTO_PEER_SIGNAL, .signal = 9, .compare = PTO_IF_GE, .value = 1}},
     "for signal 9 >= 1 of comm 0, which is 0"},
};

static void each_kind_has_its_sentence(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    char wanted[512], text[512];
    snprintf(wanted, sizeof wanted, "task 7 (sum) block 2 AIV0 on core 4 waits %s", cases[i].sentence);
    assert_int_equal(pto_core_wait_describe(&cases[i].wait, text, sizeof text), strlen(wanted));
    assert_string_equal(text, wanted);
  }
}

static void add_flag(void *context, const struct pto_core_wait *wait, char *text, size_t size) {
  assert_int_equal(size, *(const size_t *)context);
  snprintf(text + strlen(text), size - strlen(text), " at line %u", wait->flag);
}

static void each_wait_has_its_place(void **state) {
  static struct pto_core_waits waits = {.count = 2};
  char text[768];
  size_t size = sizeof text;
  for (uint8_t i = 0; i < 2; i++)
    waits.waits[i] = (struct pto_core_wait){WHO, .waits_for = PTO_WAITS_FOR_CHANGE, .flag = (uint8_t)(40 + i)};
  pto_core_waits_describe(&waits, add_flag, &size, text, size);
  assert_string_equal(text,
                      "cores wait for ever: task 7 (sum) block 2 AIV0 on core 4 waits for a change of memory that it "
                      "polls at line 40; task 7 (sum) block 2 AIV0 on core 4 waits for a change of memory that it "
                      "polls at line 41");
}

static void cores_at_one_barrier_are_said_once(void **state) {
  static struct pto_core_waits waits = {.count = 4};
  char text[768];
  for (uint32_t i = 0; i < 4; i++) {
    waits.waits[i] = (struct pto_core_wait){
        WHO, .waits_for = PTO_WAITS_FOR_BARRIER, .barrier = 1, .arrived = 3, .expected = 4, OTHER(PTO_SEAT_RETURNED)};
    waits.waits[i].who.core = (uint16_t)(6 + i);
  }
  waits.waits[3].barrier = 2;
  pto_core_waits_describe(&waits, NULL, NULL, text, sizeof text);
  assert_string_equal(text, "cores wait for ever: task 7 (sum) block 2 AIV0 on core 6 waits at barrier 1 with 3 of 4, "
                            "without block 1 AIV1 on core 5, which has returned after 0 barriers, and 2 more cores of "
                            "it likewise; task 7 (sum) block 2 AIV0 on core 9 waits at barrier 2 with 3 of 4, without "
                            "block 1 AIV1 on core 5, which has returned after 0 barriers");
}

static void cores_at_one_barrier_that_differ_are_said_each(void **state) {
  static struct pto_core_waits waits = {.count = 6};
  char text[2048];
  uint32_t told = 0;
  for (uint32_t i = 0; i < 6; i++)
    waits.waits[i] = (struct pto_core_wait){WHO, .waits_for = PTO_WAITS_FOR_BARRIER, OTHER(PTO_SEAT_RETURNED)};
  waits.waits[1].kernel = "add";
  waits.waits[2].has_other = false;
  waits.waits[3].other.core = 8;
  waits.waits[4].call = text;
  waits.waits[5].task_number = 70;
  pto_core_waits_describe(&waits, NULL, NULL, text, sizeof text);
  for (const char *at = text; (at = strstr(at, "task 7")) != NULL; at++) told++;
  assert_int_equal(told, 6);
}

static void those_for_whom_there_is_no_room_are_counted(void **state) {
  static struct pto_core_waits waits = {.count = 6, .more = 10};
  char text[512];
  for (uint32_t i = 0; i < 6; i++)
    waits.waits[i] = (struct pto_core_wait){WHO, .waits_for = PTO_WAITS_FOR_FLAG, .flag = (uint8_t)i};
  pto_core_waits_describe(&waits, NULL, NULL, text, sizeof text);
  const char *more = strstr(text, "; and ");
  assert_non_null(more);
  uint32_t told = 0;
  for (const char *at = text; (at = strstr(at, "task 7")) != NULL; at++) told++;
  assert_in_range(told, 1, 5);
  assert_int_equal(strtoul(more + strlen("; and "), NULL, 10), 16 - told);
}

static void a_role_that_is_none_has_no_name(void **state) {
  assert_string_equal(pto_role_name(PTO_ROLE_AIV1), "AIV1");
  assert_string_equal(pto_role_name(PTO_ROLE_COUNT), "?");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_kind_has_its_sentence),
      cmocka_unit_test(each_wait_has_its_place),
      cmocka_unit_test(cores_at_one_barrier_are_said_once),
      cmocka_unit_test(cores_at_one_barrier_that_differ_are_said_each),
      cmocka_unit_test(those_for_whom_there_is_no_room_are_counted),
      cmocka_unit_test(a_role_that_is_none_has_no_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
