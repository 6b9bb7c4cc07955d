/* SPDX-License-Identifier: MIT */
/* The buffer registry against a list of live handles and, for ranges of external memory, a byte map. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/memory/buffer_registry.h>

#define CAPACITY 64u
#define TAG 0x1234u

static struct pto_buffer_registry registry;

static void make(uint32_t capacity) { assert_true(pto_buffer_registry_init(&registry, capacity, TAG)); }

static struct pto_buffer insert(uint32_t kind, uint32_t *list) {
  struct pto_buffer_record *record = pto_buffer_registry_insert(&registry, kind, 0, list);
  assert_non_null(record);
  assert_true(pto_buffer_registry_is_valid(&registry));
  return pto_buffer_registry_handle(record);
}
static bool is_live(struct pto_buffer buffer) { return pto_buffer_registry_lookup(&registry, &buffer) != NULL; }

/* As the end of a scope does. */
static void end_scope(uint32_t *list) {
  for (uint32_t i = *list; i != PTO_NONE;) {
    struct pto_buffer_record *record = &registry.records[i];
    i = record->next_in_scope;
    pto_buffer_registry_remove(&registry, record);
  }
  *list = PTO_NONE;
  assert_true(pto_buffer_registry_is_valid(&registry));
}

static void test_buffers_are_numbered_from_one_in_order_of_creation(void **state) {
  (void)state;
  uint32_t list = PTO_NONE;
  make(CAPACITY);
  for (uint64_t id = 1; id <= 5; id++) assert_int_equal(insert(PTO_BUFFER_MANAGED, &list).id, id);
  end_scope(&list);
  assert_int_equal(insert(PTO_BUFFER_MANAGED, &list).id, 6);
  pto_buffer_registry_new_epoch(&registry);
  end_scope(&list);
  assert_int_equal(insert(PTO_BUFFER_MANAGED, &list).id, 1);
  pto_buffer_registry_fini(&registry);
}

static void test_a_handle_is_live_until_its_scope_ends_and_never_again(void **state) {
  (void)state;
  uint32_t list = PTO_NONE;
  make(CAPACITY);
  struct pto_buffer buffer = insert(PTO_BUFFER_MANAGED, &list);
  assert_true(is_live(buffer));
  end_scope(&list);
  assert_false(is_live(buffer));
  struct pto_buffer next = insert(PTO_BUFFER_MANAGED, &list); /* in the same record */
  assert_int_equal((uint32_t)next.generation, (uint32_t)buffer.generation);
  assert_false(is_live(buffer));
  assert_true(is_live(next));
  pto_buffer_registry_fini(&registry);
}

static void test_a_handle_of_an_earlier_run_is_not_met_by_the_record_in_its_place(void **state) {
  (void)state;
  uint32_t list = PTO_NONE;
  make(CAPACITY);
  struct pto_buffer buffer = insert(PTO_BUFFER_MANAGED, &list);
  end_scope(&list);
  pto_buffer_registry_new_epoch(&registry);
  struct pto_buffer next = insert(PTO_BUFFER_MANAGED, &list);
  assert_int_equal(next.id, buffer.id);
  assert_false(is_live(buffer));
  pto_buffer_registry_fini(&registry);
}

static void test_the_runtimes_part_of_a_handle_outlives_any_number_of_runs(void **state) {
  (void)state;
  uint32_t list = PTO_NONE;
  make(CAPACITY);
  for (uint32_t epoch = 0; epoch < 3 * 65536; epoch++) {
    pto_buffer_registry_new_epoch(&registry);
    assert_int_equal(registry.tag >> 48, TAG);
    assert_int_equal((uint32_t)registry.tag, 0);
  }
  assert_int_equal(insert(PTO_BUFFER_MANAGED, &list).generation >> 48, TAG);
  pto_buffer_registry_fini(&registry);
}

static void test_registrations_made_outside_runs_keep_their_numbers(void **state) {
  (void)state;
  uint32_t outside = PTO_NONE, list = PTO_NONE;
  make(CAPACITY);
  struct pto_buffer one = insert(PTO_BUFFER_EXTERNAL, &outside), two = insert(PTO_BUFFER_EXTERNAL, &outside);
  registry.outside_ids = two.id;
  for (int run = 0; run < 3; run++) {
    pto_buffer_registry_new_epoch(&registry);
    assert_int_equal(insert(PTO_BUFFER_MANAGED, &list).id, 3);
    assert_true(is_live(one) && is_live(two));
    end_scope(&list);
  }
  pto_buffer_registry_fini(&registry);
}

static void test_handles_made_by_hand_or_of_another_runtime_meet_nothing(void **state) {
  (void)state;
  uint32_t list = PTO_NONE;
  make(CAPACITY);
  struct pto_buffer buffer = insert(PTO_BUFFER_MANAGED, &list), other;
  assert_false(is_live((struct pto_buffer){0}));
  other = buffer;
  other.id++;
  assert_false(is_live(other));
  other = buffer;
  other.generation ^= UINT64_C(1) << 48;
  assert_false(is_live(other));
  other = buffer;
  other.generation |= UINT32_MAX; /* a record that there is not */
  assert_false(is_live(other));
  other = buffer;
  other.generation++;
  assert_false(is_live(other));
  end_scope(&list);
  other = (struct pto_buffer){.id = 0, .generation = buffer.generation}; /* a free record has id 0 */
  assert_false(is_live(other));
  pto_buffer_registry_fini(&registry);
}

static void test_a_full_registry_refuses_and_takes_again_when_a_scope_has_ended(void **state) {
  (void)state;
  uint32_t list = PTO_NONE;
  make(3);
  for (int i = 0; i < 3; i++) insert(PTO_BUFFER_MANAGED, &list);
  assert_null(pto_buffer_registry_insert(&registry, PTO_BUFFER_MANAGED, 0, &list));
  assert_int_equal(registry.live_count, 3);
  end_scope(&list);
  for (int i = 0; i < 3; i++) insert(PTO_BUFFER_MANAGED, &list);
  pto_buffer_registry_fini(&registry);
}

static void test_only_external_handles_carry_an_address(void **state) {
  (void)state;
  uint32_t list = PTO_NONE;
  make(CAPACITY);
  struct pto_buffer_record *record = pto_buffer_registry_insert(&registry, PTO_BUFFER_EXTERNAL, 0, &list);
  record->addr = 4096;
  record->size_bytes = 77;
  assert_int_equal(pto_buffer_registry_handle(record).base, 4096);
  assert_int_equal(pto_buffer_registry_handle(record).size_bytes, 77);
  record = pto_buffer_registry_insert(&registry, PTO_BUFFER_MANAGED, 0, &list);
  record->addr = 4096;
  assert_int_equal(pto_buffer_registry_handle(record).base, 0);
  pto_buffer_registry_fini(&registry);
}

static uint32_t list_length(uint32_t list) {
  uint32_t count = 0, previous = PTO_NONE;
  for (uint32_t i = list; i != PTO_NONE; previous = i, i = registry.records[i].next_in_scope, count++) {
    assert_int_equal(registry.records[i].previous_in_scope, previous);
    assert_true(count <= CAPACITY);
  }
  return count;
}

static void test_a_buffer_moves_from_any_place_of_one_scopes_list_to_anothers(void **state) {
  (void)state;
  for (uint32_t place = 0; place < 3; place++) {
    uint32_t outer = PTO_NONE, inner = PTO_NONE;
    make(CAPACITY);
    struct pto_buffer buffers[3];
    for (int i = 0; i < 3; i++) buffers[i] = insert(PTO_BUFFER_MANAGED, &outer);
    insert(PTO_BUFFER_MANAGED, &inner);
    struct pto_buffer_record *record = pto_buffer_registry_lookup(&registry, &buffers[place]);
    pto_buffer_registry_move(&registry, record, &outer, &outer, 0); /* to where it is: nothing */
    assert_int_equal(list_length(outer), 3);
    pto_buffer_registry_move(&registry, record, &outer, &inner, 5);
    assert_int_equal(list_length(outer), 2);
    assert_int_equal(list_length(inner), 2);
    assert_int_equal(record->scope_depth, 5);
    end_scope(&inner);
    assert_false(is_live(buffers[place]));
    assert_true(is_live(buffers[(place + 1) % 3]));
    pto_buffer_registry_fini(&registry);
  }
}

#define SCOPES 5u

static void test_random_scopes_and_moves_keep_exactly_the_live_handles(void **state) {
  (void)state;
  struct pto_rng rng = {20261120};
  for (int round = 0; round < 10; round++) {
    struct {
      struct pto_buffer buffer;
      uint32_t scope; /* SCOPES: dead */
    } known[512];
    uint32_t lists[SCOPES], counts[SCOPES] = {0}, known_count = 0;
    for (uint32_t s = 0; s < SCOPES; s++) lists[s] = PTO_NONE;
    make(CAPACITY);
    for (uint32_t step = 0; step < 2000 && known_count < 512; step++) {
      uint32_t scope = (uint32_t)pto_rng_below(&rng, SCOPES), draw = (uint32_t)pto_rng_below(&rng, 10);
      if (draw < 6) {
        struct pto_buffer_record *record =
            pto_buffer_registry_insert(&registry, PTO_BUFFER_MANAGED, scope, &lists[scope]);
        if (!record) {
          assert_int_equal(registry.live_count, CAPACITY);
          continue;
        }
        known[known_count].buffer = pto_buffer_registry_handle(record);
        known[known_count++].scope = scope;
        counts[scope]++;
      } else if (draw == 6) {
        end_scope(&lists[scope]);
        counts[scope] = 0;
        for (uint32_t i = 0; i < known_count; i++)
          if (known[i].scope == scope) known[i].scope = SCOPES;
      } else if (known_count) {
        uint32_t i = (uint32_t)pto_rng_below(&rng, known_count), from = known[i].scope;
        if (from == SCOPES) continue;
        pto_buffer_registry_move(&registry, pto_buffer_registry_lookup(&registry, &known[i].buffer), &lists[from],
                                 &lists[scope], scope);
        counts[from]--;
        counts[scope]++;
        known[i].scope = scope;
      }
      for (uint32_t s = 0; s < SCOPES; s++) assert_int_equal(list_length(lists[s]), counts[s]);
      for (uint32_t i = 0; i < known_count; i++) assert_int_equal(is_live(known[i].buffer), known[i].scope < SCOPES);
      assert_true(pto_buffer_registry_is_valid(&registry));
    }
    pto_buffer_registry_fini(&registry);
  }
}

/* ---- ranges of external memory ---- */

#define BYTES 200u

/* The range that holds each byte, by its space; merged ranges get the space of the latest. */
static void add_range(uint32_t *space_of_byte, uint64_t lo, uint64_t hi, uint32_t space) {
  uint32_t first, last;
  pto_buffer_registry_find_ranges(&registry, lo, hi, &first, &last);
  uint64_t all_lo = lo, all_hi = hi;
  for (uint32_t i = first; i < last; i++) {
    all_lo = pto_min_u64(all_lo, registry.ranges[i].lo);
    all_hi = pto_max_u64(all_hi, registry.ranges[i].hi);
  }
  assert_true(pto_buffer_registry_replace_ranges(&registry, first, last - first, all_lo, all_hi, space));
  for (uint64_t b = all_lo; b < all_hi; b++) space_of_byte[b] = space;
}

static void test_random_ranges_stay_sorted_and_merge_where_they_meet(void **state) {
  (void)state;
  struct pto_rng rng = {20261120};
  for (int round = 0; round < 200; round++) {
    uint32_t space_of_byte[BYTES] = {0};
    make(CAPACITY);
    for (uint32_t space = 1; space < 30; space++) {
      uint64_t lo = pto_rng_below(&rng, BYTES - 12);
      add_range(space_of_byte, lo, lo + 1 + pto_rng_below(&rng, 12), space);
      assert_true(pto_buffer_registry_is_valid(&registry));
      uint32_t changes = 0;
      for (uint64_t b = 0; b < BYTES; b++) {
        uint32_t at, end;
        pto_buffer_registry_find_ranges(&registry, b, b + 1, &at, &end);
        const bool is_inside = at < end;
        uint64_t lo_of_byte, hi_of_byte;
        assert_int_equal(pto_buffer_registry_find_extent(&registry, b, &lo_of_byte, &hi_of_byte), is_inside);
        assert_int_equal(is_inside ? registry.ranges[at].space : 0, space_of_byte[b]);
        if (is_inside && (lo_of_byte != registry.ranges[at].lo || hi_of_byte != registry.ranges[at].hi)) fail();
        changes += space_of_byte[b] && (b == 0 || space_of_byte[b - 1] != space_of_byte[b]);
      }
      assert_int_equal(changes, registry.range_count);
    }
    pto_buffer_registry_fini(&registry);
  }
}

static void test_touching_ranges_stay_apart_and_the_first_byte_behind_one_belongs_to_the_next(void **state) {
  (void)state;
  make(CAPACITY);
  assert_true(pto_buffer_registry_replace_ranges(&registry, 0, 0, 100, 110, 1));
  assert_true(pto_buffer_registry_replace_ranges(&registry, 1, 0, 110, 120, 2));
  static const uint32_t firsts[][2] = {{99, 0}, {109, 0}, {110, 1}, {120, 2}};
  for (size_t i = 0; i < 4; i++) {
    uint32_t first, last;
    pto_buffer_registry_find_ranges(&registry, firsts[i][0], firsts[i][0] + 1, &first, &last);
    assert_int_equal(first, firsts[i][1]);
  }
  assert_true(pto_buffer_registry_is_valid(&registry));
  pto_buffer_registry_fini(&registry);
}

/* By base, each first byte has a range of its own, and what a byte's memory is takes in all that overlap. */
static void test_random_ranges_by_base_are_one_a_first_byte(void **state) {
  (void)state;
  struct pto_rng rng = {20261128};
  for (int round = 0; round < 200; round++) {
    uint64_t end_of[BYTES] = {0}; /* by first byte */
    make(CAPACITY);
    registry.by_base = true;
    for (uint32_t step = 1; step < 30; step++) {
      const uint64_t lo = pto_rng_below(&rng, BYTES - 40), size = 1 + pto_rng_below(&rng, 12);
      uint32_t first, last, bases = 0;
      pto_buffer_registry_find_ranges(&registry, lo, lo + size, &first, &last);
      assert_int_equal(last - first, end_of[lo] != 0);
      end_of[lo] = pto_max_u64(end_of[lo], lo + size);
      assert_true(pto_buffer_registry_replace_ranges(&registry, first, last - first, lo, end_of[lo], step));
      assert_true(pto_buffer_registry_is_valid(&registry));
      bool is_joined[BYTES] = {false}, is_inside[BYTES] = {false}; /* to the byte before */
      for (uint64_t b = 0; b < BYTES; b++) {
        bases += end_of[b] != 0;
        for (uint64_t i = b; i < end_of[b]; i++) is_inside[i] = true, is_joined[i] |= i > b;
      }
      assert_int_equal(registry.range_count, bases);
      for (uint64_t b = 0; b < BYTES; b++) {
        uint64_t begin = b, end = b + 1, found_begin, found_end;
        while (is_joined[begin]) begin--;
        while (end < BYTES && is_joined[end]) end++;
        assert_int_equal(pto_buffer_registry_find_extent(&registry, b, &found_begin, &found_end), is_inside[b]);
        if (is_inside[b] && (found_begin != begin || found_end != end)) fail_msg("byte %d", (int)b);
      }
    }
    pto_buffer_registry_fini(&registry);
  }
}

static void test_a_full_list_of_ranges_refuses_a_new_one_and_still_merges(void **state) {
  (void)state;
  make(2);
  assert_true(pto_buffer_registry_replace_ranges(&registry, 0, 0, 0, 10, 1));
  assert_true(pto_buffer_registry_replace_ranges(&registry, 1, 0, 20, 30, 2));
  assert_false(pto_buffer_registry_replace_ranges(&registry, 2, 0, 40, 50, 3));
  assert_int_equal(registry.range_count, 2);
  assert_true(pto_buffer_registry_replace_ranges(&registry, 0, 2, 0, 30, 3));
  assert_int_equal(registry.range_count, 1);
  assert_true(pto_buffer_registry_is_valid(&registry));
  pto_buffer_registry_fini(&registry);
}

static void test_what_contradicts_the_lists_is_not_valid(void **state) {
  (void)state;
  uint32_t list = PTO_NONE;
  make(CAPACITY);
  struct pto_buffer one = insert(PTO_BUFFER_MANAGED, &list);
  insert(PTO_BUFFER_MANAGED, &list);
  struct pto_buffer_record *record = pto_buffer_registry_lookup(&registry, &one);
  record->previous_in_scope = PTO_NONE;
  assert_false(pto_buffer_registry_is_valid(&registry));
  record->previous_in_scope = 1;
  assert_true(pto_buffer_registry_is_valid(&registry));
  registry.live_count++;
  assert_false(pto_buffer_registry_is_valid(&registry));
  registry.live_count--;
  assert_true(pto_buffer_registry_replace_ranges(&registry, 0, 0, 0, 10, 1));
  assert_true(pto_buffer_registry_replace_ranges(&registry, 1, 0, 9, 12, 1));
  assert_false(pto_buffer_registry_is_valid(&registry));
  pto_buffer_registry_fini(&registry);
}

static void test_each_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  (void)state;
  uint32_t failures = 0;
  for (uint32_t n = 1;; n++, failures++) {
    pto_reserve_fail_countdown = n;
    bool is_made = pto_buffer_registry_init(&registry, CAPACITY, TAG);
    pto_reserve_fail_countdown = 0;
    pto_buffer_registry_fini(&registry);
    assert_null(registry.memory.addr);
    if (is_made) break;
  }
  assert_int_equal(failures, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buffers_are_numbered_from_one_in_order_of_creation),
      cmocka_unit_test(test_a_handle_is_live_until_its_scope_ends_and_never_again),
      cmocka_unit_test(test_a_handle_of_an_earlier_run_is_not_met_by_the_record_in_its_place),
      cmocka_unit_test(test_the_runtimes_part_of_a_handle_outlives_any_number_of_runs),
      cmocka_unit_test(test_registrations_made_outside_runs_keep_their_numbers),
      cmocka_unit_test(test_handles_made_by_hand_or_of_another_runtime_meet_nothing),
      cmocka_unit_test(test_a_full_registry_refuses_and_takes_again_when_a_scope_has_ended),
      cmocka_unit_test(test_only_external_handles_carry_an_address),
      cmocka_unit_test(test_a_buffer_moves_from_any_place_of_one_scopes_list_to_anothers),
      cmocka_unit_test(test_random_scopes_and_moves_keep_exactly_the_live_handles),
      cmocka_unit_test(test_random_ranges_stay_sorted_and_merge_where_they_meet),
      cmocka_unit_test(test_random_ranges_by_base_are_one_a_first_byte),
      cmocka_unit_test(test_touching_ranges_stay_apart_and_the_first_byte_behind_one_belongs_to_the_next),
      cmocka_unit_test(test_a_full_list_of_ranges_refuses_a_new_one_and_still_merges),
      cmocka_unit_test(test_what_contradicts_the_lists_is_not_valid),
      cmocka_unit_test(test_each_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
