/* SPDX-License-Identifier: MIT */
/* The payload pool: size classes by enumeration, random work against a list of the pieces that are live, and forms. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/task/payload_pool.h>

static struct pto_payload_pool pool;

static void test_every_size_has_the_smallest_class_that_holds_it(void **state) {
  (void)state;
  for (uint32_t units = 1; units <= PTO_PAYLOAD_MAX_UNITS; units++) {
    uint32_t smallest = 0;
    while (pto_payload_class_units(smallest) < units) smallest++;
    assert_int_equal(pto_payload_class(units), smallest);
    assert_true(smallest < PTO_PAYLOAD_CLASSES);
    assert_true(4 * pto_payload_class_units(smallest) <= 5 * units); /* a quarter wasted at most */
  }
  for (uint32_t i = 1; i < PTO_PAYLOAD_CLASSES; i++)
    assert_true(pto_payload_class_units(i - 1) < pto_payload_class_units(i));
  assert_int_equal(pto_payload_class_units(PTO_PAYLOAD_CLASSES - 1), PTO_PAYLOAD_MAX_UNITS);
}

static void test_sizes_are_rounded_up_to_units(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  assert_int_equal(pto_payload_pool_alloc(&pool, 64)->size_class, 0);
  assert_int_equal(pool.units_used, 1);
  assert_int_equal(pto_payload_pool_alloc(&pool, 65)->size_class, 1);
  assert_int_equal(pool.units_used, 3);
  pto_payload_pool_fini(&pool);
}

static void test_the_piece_freed_last_comes_back_first_and_only_to_its_class(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  struct pto_payload *first = pto_payload_pool_alloc(&pool, 128), *second = pto_payload_pool_alloc(&pool, 128);
  pto_payload_pool_free(&pool, first);
  pto_payload_pool_free(&pool, second);
  struct pto_payload *larger = pto_payload_pool_alloc(&pool, 192);
  assert_ptr_not_equal(larger, first);
  assert_ptr_not_equal(larger, second);
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 100), second);
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 128), first);
  pto_payload_pool_fini(&pool);
}

static void test_live_work_that_has_all_units_is_refused_more_and_a_smaller_piece_may_still_fit(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 5));
  assert_non_null(pto_payload_pool_alloc(&pool, 4 * PTO_PAYLOAD_UNIT));
  assert_null(pto_payload_pool_alloc(&pool, 2 * PTO_PAYLOAD_UNIT));
  assert_int_equal(pool.live_count, 1);
  assert_non_null(pto_payload_pool_alloc(&pool, PTO_PAYLOAD_UNIT));
  assert_null(pto_payload_pool_alloc(&pool, 1));
  pto_payload_pool_reset(&pool);
  assert_non_null(pto_payload_pool_alloc(&pool, 5 * PTO_PAYLOAD_UNIT));
  pto_payload_pool_fini(&pool);
}

#define MAX_LIVE 64u
struct piece {
  struct pto_payload *payload;
  uint32_t size_bytes;
  uint8_t pattern;
};

/* All bytes behind the header are the owner's. */
static void fill(const struct piece *piece) {
  memset((char *)piece->payload + sizeof *piece->payload, piece->pattern, piece->size_bytes - sizeof *piece->payload);
}
static void check(const struct piece *piece) {
  const uint8_t *bytes = (const uint8_t *)piece->payload;
  for (uint32_t i = sizeof *piece->payload; i < piece->size_bytes; i++) assert_int_equal(bytes[i], piece->pattern);
  assert_int_equal((uintptr_t)bytes % PTO_PAYLOAD_UNIT, 0);
}

static void test_random_sizes_never_share_a_byte_and_warm_pieces_need_no_new_units(void **state) {
  (void)state;
  struct pto_rng rng = {20261120};
  struct piece live[MAX_LIVE];
  uint32_t live_count = 0;
  uint64_t warm_units = 0;
  assert_true(pto_payload_pool_init(&pool, UINT64_C(2) * MAX_LIVE * PTO_PAYLOAD_CLASSES * PTO_PAYLOAD_MAX_UNITS));
  for (uint32_t step = 0; step < 20000; step++) {
    if (live_count < MAX_LIVE && pto_rng_below(&rng, 2)) {
      uint32_t most = pto_rng_below(&rng, 8) ? 1024 : PTO_PAYLOAD_MAX_UNITS * PTO_PAYLOAD_UNIT;
      uint32_t size =
          (uint32_t)(sizeof(struct pto_payload) + pto_rng_below(&rng, most - sizeof(struct pto_payload) + 1));
      struct piece *piece = &live[live_count++];
      *piece = (struct piece){pto_payload_pool_alloc(&pool, size), size, (uint8_t)step};
      assert_non_null(piece->payload);
      fill(piece);
    } else if (live_count) {
      uint32_t at = (uint32_t)pto_rng_below(&rng, live_count);
      check(&live[at]);
      pto_payload_pool_free(&pool, live[at].payload);
      live[at] = live[--live_count];
    }
    assert_int_equal(pool.live_count, live_count);
    if (step % 256 == 0) assert_true(pto_payload_pool_is_valid(&pool));
  }
  for (uint32_t i = 0; i < live_count; i++) check(&live[i]);
  while (live_count) pto_payload_pool_free(&pool, live[--live_count].payload);
  warm_units = pool.units_used;
  for (int i = 0; i < 1000; i++) pto_payload_pool_free(&pool, pto_payload_pool_alloc(&pool, 64 + (uint32_t)i));
  assert_int_equal(pool.units_used, warm_units);
  pto_payload_pool_fini(&pool);
}

/* ---- forms ---- */

/* A payload of the form, as if its submit had made it. */
static struct pto_payload *alloc_of(uint32_t form, uint32_t size_bytes) {
  struct pto_payload *payload = pto_payload_pool_alloc(&pool, size_bytes);
  assert_non_null(payload);
  assert_int_equal(payload->template_id, 0);
  payload->template_id = form;
  return payload;
}

static void test_a_parked_payload_comes_back_to_its_form_alone_and_as_it_was(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  uint32_t x = pto_payload_pool_begin_template(&pool, 3), y = pto_payload_pool_begin_template(&pool, 4);
  assert_int_not_equal(x, y);
  assert_int_equal(x % PTO_PAYLOAD_TEMPLATES, 3);
  assert_null(pto_payload_pool_take(&pool, x));
  struct pto_payload *of_x = alloc_of(x, 256), *of_y = alloc_of(y, 256), *of_none = pto_payload_pool_alloc(&pool, 256);
  memset((char *)of_x + sizeof *of_x, 0x5a, 256 - sizeof *of_x);
  of_x->block_count = 7;
  of_x->held_count_and_guard = 99;
  const struct pto_payload was = *of_x;
  pto_payload_pool_free(&pool, of_x);
  pto_payload_pool_free(&pool, of_y);
  pto_payload_pool_free(&pool, of_none);
  assert_true(pto_payload_pool_is_valid(&pool));
  assert_int_equal(pool.live_count, 0);
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 256), of_none);
  struct pto_payload *fresh = pto_payload_pool_alloc(&pool, 256);
  assert_ptr_not_equal(fresh, of_x);
  assert_ptr_not_equal(fresh, of_y);
  assert_ptr_equal(pto_payload_pool_take(&pool, x), of_x);
  assert_null(pto_payload_pool_take(&pool, x));
  assert_memory_equal((char *)of_x + sizeof was.task_number, (const char *)&was + sizeof was.task_number,
                      sizeof was - sizeof was.task_number);
  for (uint32_t i = sizeof was; i < 256; i++) assert_int_equal(((uint8_t *)of_x)[i], 0x5a);
  assert_ptr_equal(pto_payload_pool_take(&pool, y), of_y);
  assert_int_equal(pool.live_count, 4);
  pto_payload_pool_fini(&pool);
}

static void test_a_form_ends_with_the_next_of_its_index_and_its_payloads_go_the_way_of_others(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  uint32_t old = pto_payload_pool_begin_template(&pool, 31);
  struct pto_payload *parked = alloc_of(old, 128), *in_use = alloc_of(old, 128);
  pto_payload_pool_free(&pool, parked);
  uint32_t next = pto_payload_pool_begin_template(&pool, 31);
  assert_int_not_equal(next, old);
  assert_int_equal(next % PTO_PAYLOAD_TEMPLATES, 31);
  assert_true(pto_payload_pool_is_valid(&pool));
  assert_null(pto_payload_pool_take(&pool, next));
  pto_payload_pool_free(&pool, in_use); /* of a form that has ended */
  assert_null(pto_payload_pool_take(&pool, next));
  assert_true(pto_payload_pool_is_valid(&pool));
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 128), in_use);
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 128), parked);
  assert_int_equal(in_use->template_id, 0);
  assert_int_equal(parked->template_id, 0);
  assert_int_equal(pool.units_used, 4);
  pto_payload_pool_fini(&pool);
}

static void test_the_last_form_of_an_index_is_followed_by_one_that_is_another(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  for (uint32_t index = 0; index < PTO_PAYLOAD_TEMPLATES; index++) {
    pool.template_ids[index] = UINT32_MAX - (PTO_PAYLOAD_TEMPLATES - 1) + index;
    const uint32_t last = pool.template_ids[index], next = pto_payload_pool_begin_template(&pool, index);
    assert_int_not_equal(next, last);
    assert_int_not_equal(next, 0);
    assert_int_equal(next % PTO_PAYLOAD_TEMPLATES, index);
  }
  pto_payload_pool_fini(&pool);
}

static void test_where_units_run_out_parked_payloads_serve_others(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 8));
  uint32_t x = pto_payload_pool_begin_template(&pool, 0), y = pto_payload_pool_begin_template(&pool, 9);
  struct pto_payload *of_x = alloc_of(x, 3 * PTO_PAYLOAD_UNIT), *of_y = alloc_of(y, 5 * PTO_PAYLOAD_UNIT);
  pto_payload_pool_free(&pool, of_x);
  pto_payload_pool_free(&pool, of_y);
  assert_null(pto_payload_pool_alloc(&pool, 4 * PTO_PAYLOAD_UNIT)); /* of a class that none of them has */
  assert_true(pto_payload_pool_is_valid(&pool));
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 3 * PTO_PAYLOAD_UNIT), of_x);
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 5 * PTO_PAYLOAD_UNIT), of_y);
  assert_null(pto_payload_pool_take(&pool, x)); /* the forms go on, with nothing parked */
  assert_null(pto_payload_pool_take(&pool, y));
  assert_null(pto_payload_pool_alloc(&pool, 3 * PTO_PAYLOAD_UNIT));
  of_x->template_id = x;
  pto_payload_pool_free(&pool, of_x);
  assert_ptr_equal(pto_payload_pool_take(&pool, x), of_x);
  assert_int_equal(pool.live_count, 2);
  pto_payload_pool_fini(&pool);
}

static void test_a_reset_forgets_what_is_parked_and_not_which_forms_there_were(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  uint32_t old = pto_payload_pool_begin_template(&pool, 5);
  struct pto_payload *payload = alloc_of(old, 64), *kept = alloc_of(old, 64);
  pto_payload_pool_free(&pool, payload);
  (void)kept;
  pto_payload_pool_reset(&pool);
  assert_true(pto_payload_pool_is_valid(&pool));
  assert_null(pto_payload_pool_take(&pool, old));
  assert_int_not_equal(pto_payload_pool_begin_template(&pool, 5), old);
  pto_payload_pool_fini(&pool);
}

static void test_a_payload_parked_with_another_form_or_of_another_class_is_noticed(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  uint32_t form = pto_payload_pool_begin_template(&pool, 5);
  struct pto_payload *payload = alloc_of(form, 64), *other = pto_payload_pool_alloc(&pool, 128);
  pto_payload_pool_free(&pool, payload);
  pto_payload_pool_free(&pool, other);
  assert_true(pto_payload_pool_is_valid(&pool));
  payload->template_id = form + PTO_PAYLOAD_TEMPLATES;
  assert_false(pto_payload_pool_is_valid(&pool));
  payload->template_id = form;
  other->size_class = 0;
  assert_false(pto_payload_pool_is_valid(&pool));
  other->size_class = 1;
  pool.parked[6] = payload; /* of an index that has had no form, and twice */
  assert_false(pto_payload_pool_is_valid(&pool));
  pool.parked[6] = NULL;
  pool.live_count = 2;
  assert_false(pto_payload_pool_is_valid(&pool));
  pool.live_count = 0;
  assert_true(pto_payload_pool_is_valid(&pool));
  pto_payload_pool_fini(&pool);
}

/* What stands in a payload that a form has filled in. */
static uint64_t stamp_of(uint32_t form, const struct pto_payload *payload) {
  return pto_mix64(form ^ (uint64_t)(uintptr_t)payload);
}

static void test_random_forms_get_their_own_payloads_back_however_short_the_pool_is(void **state) {
  (void)state;
  struct pto_rng rng = {20261122};
  struct {
    struct pto_payload *payload;
    uint32_t size_bytes;
  } live[MAX_LIVE];
  uint32_t live_count = 0, forms[4], sizes[4], taken = 0, refused = 0;
  assert_true(pto_payload_pool_init(&pool, 3 * MAX_LIVE));
  for (uint32_t i = 0; i < 4; i++) {
    forms[i] = pto_payload_pool_begin_template(&pool, 8 * i);
    sizes[i] = 64 + 64 * i;
  }
  for (uint32_t step = 0; step < 40000; step++) {
    const uint32_t i = (uint32_t)pto_rng_below(&rng, 4), what = (uint32_t)pto_rng_below(&rng, 64);
    if (what == 0) {
      forms[i] = pto_payload_pool_begin_template(&pool, 8 * i);
      sizes[i] = 64 + 64 * (uint32_t)pto_rng_below(&rng, 6);
    } else if (what < 33 && live_count < MAX_LIVE) {
      struct pto_payload *payload = what < 24 ? pto_payload_pool_take(&pool, forms[i]) : NULL;
      if (payload) {
        assert_int_equal(payload->template_id, forms[i]);
        assert_true(payload->held_count_and_guard == stamp_of(forms[i], payload));
        taken++;
      } else {
        payload = pto_payload_pool_alloc(&pool, sizes[i]);
        if (!payload) {
          refused++;
          continue;
        }
        payload->template_id = what < 28 ? forms[i] : 0;
        payload->held_count_and_guard = stamp_of(payload->template_id, payload);
      }
      assert_int_equal(pto_payload_class_units(payload->size_class) * PTO_PAYLOAD_UNIT >= sizes[i], true);
      for (uint32_t k = 0; k < live_count; k++)
        assert_true((char *)payload + sizes[i] <= (char *)live[k].payload ||
                    (char *)live[k].payload + live[k].size_bytes <= (char *)payload);
      live[live_count].payload = payload;
      live[live_count++].size_bytes = sizes[i];
    } else if (live_count) {
      const uint32_t at = (uint32_t)pto_rng_below(&rng, live_count);
      assert_true(live[at].payload->held_count_and_guard == stamp_of(live[at].payload->template_id, live[at].payload));
      pto_payload_pool_free(&pool, live[at].payload);
      live[at] = live[--live_count];
    }
    assert_int_equal(pool.live_count, live_count);
    if (step % 64 == 0) assert_true(pto_payload_pool_is_valid(&pool));
  }
  assert_true(taken > 1000 && refused > 100);
  pto_payload_pool_fini(&pool);
}

static void test_a_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  (void)state;
  pto_reserve_fail_countdown = 1;
  assert_false(pto_payload_pool_init(&pool, 64));
  assert_null(pool.memory.addr);
  pto_payload_pool_fini(&pool);
  assert_true(pto_payload_pool_init(&pool, 64));
  pto_payload_pool_fini(&pool);
  pto_payload_pool_fini(&pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_size_has_the_smallest_class_that_holds_it),
      cmocka_unit_test(test_sizes_are_rounded_up_to_units),
      cmocka_unit_test(test_the_piece_freed_last_comes_back_first_and_only_to_its_class),
      cmocka_unit_test(test_live_work_that_has_all_units_is_refused_more_and_a_smaller_piece_may_still_fit),
      cmocka_unit_test(test_random_sizes_never_share_a_byte_and_warm_pieces_need_no_new_units),
      cmocka_unit_test(test_a_parked_payload_comes_back_to_its_form_alone_and_as_it_was),
      cmocka_unit_test(test_a_form_ends_with_the_next_of_its_index_and_its_payloads_go_the_way_of_others),
      cmocka_unit_test(test_the_last_form_of_an_index_is_followed_by_one_that_is_another),
      cmocka_unit_test(test_where_units_run_out_parked_payloads_serve_others),
      cmocka_unit_test(test_a_reset_forgets_what_is_parked_and_not_which_forms_there_were),
      cmocka_unit_test(test_a_payload_parked_with_another_form_or_of_another_class_is_noticed),
      cmocka_unit_test(test_random_forms_get_their_own_payloads_back_however_short_the_pool_is),
      cmocka_unit_test(test_a_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
