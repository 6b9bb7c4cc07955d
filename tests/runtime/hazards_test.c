/* SPDX-License-Identifier: MIT */
/*
 * Hazards of many accesses: what replaces what, and which edges follow. Every pair of modes, relations and rules is in
 * hazard_table_test.c.
 *
 * Long: each test is an orchestration of its own and what must hold of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static struct fixture fixture;

static int setup(void **state) {
  (void)state;
  memset(&fixture, 0, sizeof fixture);
  return 0;
}

static void run_exact(int (*body)(struct pto_runtime *, struct fixture *)) {
  fixture_open(&fixture);
  fixture_run(&fixture, body, PTO_OK);
}

static int inout_chain(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  for (int i = 0; i < 20; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", &t), PTO_OK);
  return 0;
}
static void test_n_inouts_of_one_tile_make_n_minus_1_edges(void **state) {
  (void)state;
  run_exact(inout_chain);
  assert_int_equal(fixture_edges(fixture.rt), 19);
  for (uint64_t i = 1; i < 20; i++)
    assert_int_equal(fixture_reasons(fixture.rt, i - 1, i), PTO_EDGE_RAW | PTO_EDGE_WAW | PTO_EDGE_WAR);
  fixture_close(&fixture);
}

static int readers_between(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);                             /* 0 */
  for (int i = 0; i < 3; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK); /* 1 2 3 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);                             /* 4 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);                             /* 5 */
  return 0;
}
static void test_readers_stay_concurrent_and_a_writer_waits_for_all_of_them(void **state) {
  (void)state;
  run_exact(readers_between);
  assert_int_equal(fixture_edges(fixture.rt), 3 + 4 + 1);
  for (uint64_t r = 1; r <= 3; r++) {
    assert_int_equal(fixture_reasons(fixture.rt, 0, r), PTO_EDGE_RAW);
    assert_int_equal(fixture_reasons(fixture.rt, r, 4), PTO_EDGE_WAR);
    assert_int_equal(fixture_reasons(fixture.rt, r, 5), 0);
  }
  assert_int_equal(fixture_reasons(fixture.rt, 0, 4), PTO_EDGE_WAW);
  assert_int_equal(fixture_reasons(fixture.rt, 4, 5), PTO_EDGE_RAW);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 5), 0);
  fixture_close(&fixture);
}

/* Parameter 2 of task 3 overlaps those of tasks 0 and 1, its parameter 1 task 1, its predicate task 2; parameter 0 is
 * the label. */
static int several_reasons(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor both = fixture_bytes(f, 0, 128), low = fixture_bytes(f, 0, 64), high = fixture_bytes(f, 64, 64),
                    other = fixture_bytes(f, 256, 32), flag = fixture_bytes(f, 512, 1);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&low});
  FIXTURE_DO(rt, .modes = "oo", .tensors = {&other, &high});
  FIXTURE_DO(rt, .modes = "o", .tensors = {&flag});
  FIXTURE_DO(rt, .modes = "ib", .tensors = {&other, &both}, .launch = {.predicate = {&flag, PTO_IF_NE, 0}});
  return 0;
}
static void test_records_name_parameters_and_bytes_and_those_of_a_producer_follow_each_other(void **state) {
  (void)state;
  static const struct {
    uint64_t producer;
    uint32_t reason, producer_param, consumer_param, is_first;
    uint64_t begin, end;
  } expected[] = {{0, PTO_EDGE_RAW, 1, 2, 1, 0, 64},    {0, PTO_EDGE_WAW, 1, 2, 0, 0, 64},
                  {1, PTO_EDGE_RAW, 1, 1, 1, 256, 288}, {1, PTO_EDGE_RAW, 2, 2, 0, 64, 128},
                  {1, PTO_EDGE_WAW, 2, 2, 0, 64, 128},  {2, PTO_EDGE_RAW, 1, UINT32_MAX, 1, 512, 513}};
  run_exact(several_reasons);
  const struct pto_trace_log *edges = &pto_runtime_trace(fixture.rt)->edges;
  const uint64_t base = (uint64_t)(uintptr_t)fixture.memory;
  assert_int_equal(edges->count, PTO_ARRAY_LENGTH(expected));
  for (uint32_t i = 0; i < edges->count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(edges, i);
    assert_int_equal(edge->producer, expected[i].producer);
    assert_int_equal(edge->consumer, 3);
    assert_int_equal(edge->reason, expected[i].reason);
    assert_int_equal(edge->producer_param, expected[i].producer_param);
    assert_int_equal(edge->consumer_param, expected[i].consumer_param);
    assert_int_equal(edge->is_first, expected[i].is_first);
    assert_int_equal(edge->begin - base, expected[i].begin);
    assert_int_equal(edge->end - base, expected[i].end);
  }
  fixture_close(&fixture);
}

static int written_again(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor tile = fixture_bytes(f, 0, 64);
  for (int i = 0; i < 3; i++) FIXTURE_DO(rt, .modes = "o", .tensors = {&tile});
  return 0;
}
static void test_a_write_in_place_of_another_is_of_its_own_parameter(void **state) {
  (void)state;
  run_exact(written_again);
  const struct pto_trace_log *edges = &pto_runtime_trace(fixture.rt)->edges;
  assert_int_equal(edges->count, 2);
  for (uint32_t i = 0; i < 2; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(edges, i);
    assert_int_equal(edge->producer, i);
    assert_int_equal(edge->producer_param, 1);
  }
  fixture_close(&fixture);
}

static int covering_write(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor matrix = fixture_matrix(f, 8, 16);
  for (uint64_t i = 0; i < 8; i++) { /* 0 … 7: one row each */
    struct pto_tensor row = fixture_box(&matrix, i, 1, 0, 16);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &row), PTO_OK);
  }
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &matrix), PTO_OK); /* 8 */
  struct pto_tensor column = fixture_box(&matrix, 0, 8, 3, 1);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &column), PTO_OK); /* 9 */
  return 0;
}
static void test_a_covering_write_waits_for_all_it_covers_and_takes_their_place(void **state) {
  (void)state;
  run_exact(covering_write);
  assert_int_equal(fixture_edges(fixture.rt), 8 + 1);
  assert_int_equal(fixture_reasons(fixture.rt, 8, 9), PTO_EDGE_RAW);
  fixture_close(&fixture);
}

/* Tiles in turn with their whole: entries of what a write has covered stay for the next access, and go where another
 * one finds them before. */
static int tiles_and_their_whole(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor whole = fixture_bytes(f, 0, 8 * 16);
  for (uint32_t round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < 8; i++) {
      struct pto_tensor tile = fixture_bytes(f, 16 * i, 16);
      fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &tile), PTO_OK);
    }
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &whole), PTO_OK);
    assert_int_equal(rt->map.live_entries, 8 + 1);
  }
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &whole), PTO_OK);
  assert_int_equal(rt->map.live_entries, 1);
  return 0;
}
static void test_tiles_that_a_write_covers_are_found_by_none_and_forgotten_when_seen_again(void **state) {
  (void)state;
  run_exact(tiles_and_their_whole);
  /* the whole after 8 tiles; then each tile after the whole, and the whole after them and the one before; the read */
  assert_int_equal(fixture_edges(fixture.rt), 8 + 2 * (8 + 8 + 1) + 1);
  fixture_close(&fixture);
}

static int partly_covered(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor whole = fixture_bytes(f, 0, 64), half = fixture_bytes(f, 0, 32), rest = fixture_bytes(f, 32, 32);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &whole), PTO_OK); /* 0 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &half), PTO_OK);  /* 1 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &rest), PTO_OK);  /* 2: still the first writer */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &half), PTO_OK);  /* 3: both, one covers it and the other is not gone */
  return 0;
}
static void test_a_partly_covered_writer_survives(void **state) {
  (void)state;
  run_exact(partly_covered);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 2), PTO_EDGE_RAW);
  assert_int_equal(fixture_reasons(fixture.rt, 1, 2), 0);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 3), PTO_EDGE_RAW);
  assert_int_equal(fixture_reasons(fixture.rt, 1, 3), PTO_EDGE_RAW);
  fixture_close(&fixture);
}

/* The case that once said "covered" and deleted a live writer. */
static int side_by_side_tiles(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor matrix = fixture_matrix(f, 4, 12);
  struct pto_tensor left = fixture_box(&matrix, 0, 4, 0, 4), right = fixture_box(&matrix, 0, 4, 8, 4);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &left), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &right), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &left), PTO_OK);
  return 0;
}
static void test_tiles_side_by_side_are_independent_and_the_first_writer_lives(void **state) {
  (void)state;
  run_exact(side_by_side_tiles);
  assert_int_equal(fixture_edges(fixture.rt), 1);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 2), PTO_EDGE_RAW);
  fixture_close(&fixture);
}
/* Unordered writes of a manual scope all stand in one entry, and a read has to wait for each, recorded or not. */
static int read_behind_many_writes(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor tile = fixture_bytes(f, 0, 64);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &tile), PTO_OK);
  for (int i = 0; i < 8; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &tile), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  assert_int_equal(fixture_edges(rt), 0);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &tile), PTO_OK);
  assert_int_equal(fixture_edges(rt), 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &tile), PTO_OK);
  assert_int_equal(fixture_edges(rt), 16);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &tile), PTO_OK);
  assert_int_equal(fixture_edges(rt), 16 + 8 + 1 + 2);
  return 0;
}
static void test_a_read_has_an_edge_to_each_unordered_write_of_a_manual_scope(void **state) {
  (void)state;
  for (uint32_t record = PTO_RECORD_GRAPH; record <= PTO_RECORD_TIMELINE; record++) {
    memset(&fixture, 0, sizeof fixture);
    fixture.config.record = record;
    fixture_open(&fixture);
    fixture_run(&fixture, read_behind_many_writes, PTO_OK);
    fixture_close(&fixture);
  }
}
/* The task's write replaces what its fuzzy read overlaps as well; edges name both reasons, whichever comes first. */
static int fuzzy_beside_a_covering_write(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor matrix = fixture_matrix(f, 8, 16);
  struct pto_tensor left = fixture_box(&matrix, 0, 8, 0, 8), right = fixture_box(&matrix, 0, 8, 8, 8);
  struct pto_tensor fuzzy = pto_tensor_with_overlap(&right, PTO_OVERLAP_FUZZY);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &left), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "oi", &left, &fuzzy), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &fuzzy, &left), PTO_OK);
  return 0;
}
static void test_a_fuzzy_read_states_its_reason_beside_a_write_that_replaces_what_it_overlaps(void **state) {
  (void)state;
  run_exact(fuzzy_beside_a_covering_write);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 1), PTO_EDGE_RAW | PTO_EDGE_WAW);
  assert_int_equal(fixture_reasons(fixture.rt, 1, 2), PTO_EDGE_RAW | PTO_EDGE_WAW | PTO_EDGE_WAR);
  fixture_close(&fixture);
}

static int row_and_column_blocks(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor matrix = fixture_matrix(f, 16, 16);
  for (uint64_t i = 0; i < 4; i++) {
    struct pto_tensor rows = fixture_box(&matrix, 4 * i, 4, 0, 16);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &rows), PTO_OK);
  }
  for (uint64_t i = 0; i < 4; i++) {
    struct pto_tensor columns = fixture_box(&matrix, 0, 16, 4 * i, 4);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &columns), PTO_OK);
  }
  return 0;
}
static void test_row_blocks_and_column_blocks_depend_pair_by_pair(void **state) {
  (void)state;
  run_exact(row_and_column_blocks);
  assert_int_equal(fixture_edges(fixture.rt), 16);
  fixture_close(&fixture);
}

static uint32_t fan_in_count;
static int fan_in(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < fan_in_count; i++) {
    struct pto_tensor one = fixture_bytes(f, 16 * i, 16);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &one), PTO_OK);
  }
  struct pto_tensor all = fixture_bytes(f, 0, 16 * fan_in_count);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &all), PTO_OK);
  return 0;
}
static void test_an_access_finds_every_task_that_it_touches(void **state) {
  (void)state;
  static const uint32_t counts[] = {16, 17, 20, 64, 391, 1000};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(counts); i++) {
    fixture.config.window = 2048;
    fan_in_count = counts[i];
    run_exact(fan_in);
    assert_int_equal(fixture_edges(fixture.rt), counts[i]);
    fixture_close(&fixture);
  }
}

static int fan_out(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor source = fixture_bytes(f, 0, 16);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &source), PTO_OK);
  for (uint32_t i = 0; i < fan_in_count; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &source), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &source), PTO_OK);
  return 0;
}
static void test_fan_out_and_the_fan_in_of_its_readers_have_no_cap(void **state) {
  (void)state;
  static const uint32_t counts[] = {5, 6, 18, 19, 391, 1000};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(counts); i++) {
    fixture.config.window = 2048;
    fan_in_count = counts[i];
    run_exact(fan_out);
    assert_int_equal(fixture_edges(fixture.rt), 2 * counts[i] + 1);
    fixture_close(&fixture);
  }
}

static int same_bytes_as_other_dtype(struct pto_runtime *rt, struct fixture *f) {
  uint64_t shape = 32;
  struct pto_tensor floats = pto_external_tensor(rt, f->memory, PTO_FLOAT32, 1, &shape);
  struct pto_tensor part = pto_tensor_slice(&floats, 0, 10, 20, 1);
  struct pto_tensor bytes = fixture_bytes(f, 40, 40);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &part), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &bytes), PTO_OK);
  return 0;
}
static void test_the_same_bytes_through_another_dtype_and_registration_depend(void **state) {
  (void)state;
  run_exact(same_bytes_as_other_dtype);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 1), PTO_EDGE_RAW);
  fixture_close(&fixture);
}

static int creator_and_tiles(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor whole = fixture_managed(rt, 64);
  fixture_expect(rt, pto_alloc_tensors(rt, &whole, 1, NULL), PTO_OK); /* 0 */
  uint64_t offset = 0, count = 32;
  struct pto_tensor low = pto_tensor_view(&whole, &offset, &count);
  offset = 32;
  struct pto_tensor high = pto_tensor_view(&whole, &offset, &count);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &low), PTO_OK);  /* 1 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &high), PTO_OK); /* 2 */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &low),
                 PTO_OK); /* 3: after 1, and the allocation which no write covered yet */
  return 0;
}
static void test_the_task_that_allocates_counts_as_writer_of_the_whole_buffer(void **state) {
  (void)state;
  run_exact(creator_and_tiles);
  assert_int_equal(fixture_edges(fixture.rt), 4);
  for (uint64_t t = 1; t <= 3; t++) assert_int_equal(fixture_reasons(fixture.rt, 0, t), PTO_EDGE_WAW);
  fixture_close(&fixture);
}
static void test_under_pto_rules_a_second_output_waits_for_the_creator_alone(void **state) {
  (void)state;
  fixture.config.deps = PTO_DEPS_PTO;
  run_exact(creator_and_tiles);
  assert_int_equal(fixture_edges(fixture.rt), 3);
  assert_int_equal(fixture_reasons(fixture.rt, 1, 3), 0);
  fixture_close(&fixture);
}

static int two_outputs_then_a_read(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);
  return 0;
}
static void test_under_pto_rules_a_write_replaces_only_what_it_has_an_edge_to(void **state) {
  (void)state;
  fixture.config.deps = PTO_DEPS_PTO;
  run_exact(two_outputs_then_a_read);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 1), 0);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 2), PTO_EDGE_RAW);
  assert_int_equal(fixture_reasons(fixture.rt, 1, 2), PTO_EDGE_RAW);
  fixture_close(&fixture);
}

static int manual_then_automatic(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  const struct pto_tensor *const tensors[] = {&t};
  struct pto_task first;
  fixture_expect(rt, fixture_submit(rt, "o", tensors, &first), PTO_OK); /* 0 */
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK); /* 1: nothing orders it */
  struct pto_param param = pto_output(&t);
  struct pto_launch launch = {.aiv0 = fixture_kernel("o"), .after = &first, .after_count = 1};
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK); /* 2: after 0 alone */
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK); /* 3 */
  return 0;
}
static void test_in_a_manual_scope_only_explicit_edges_order_and_later_automatic_tasks_see_all(void **state) {
  (void)state;
  run_exact(manual_then_automatic);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 1), 0);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 2), PTO_EDGE_EXPLICIT);
  assert_int_equal(fixture_reasons(fixture.rt, 1, 2), 0);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 3), 0); /* replaced by 2, which has an edge to it */
  assert_int_equal(fixture_reasons(fixture.rt, 1, 3), PTO_EDGE_RAW);
  assert_int_equal(fixture_reasons(fixture.rt, 2, 3), PTO_EDGE_RAW);
  fixture_close(&fixture);
}

static int explicit_and_data(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  const struct pto_tensor *const tensors[] = {&t};
  struct pto_task first[2];
  fixture_expect(rt, fixture_submit(rt, "o", tensors, &first[0]), PTO_OK);
  first[1] = first[0];
  struct pto_param param = pto_input(&t);
  struct pto_launch launch = {.aiv0 = fixture_kernel("i"), .after = first, .after_count = 2};
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK);
  return 0;
}
static void test_an_explicit_and_a_derived_reason_are_one_edge(void **state) {
  (void)state;
  run_exact(explicit_and_data);
  assert_int_equal(fixture_edges(fixture.rt), 1);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 1), PTO_EDGE_EXPLICIT | PTO_EDGE_RAW);
  fixture_close(&fixture);
}

/* window submits later the slot comes round, and the access with it */
static int expiry(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), other = fixture_bytes(f, 1024, 64);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  for (uint32_t i = 0; i < fan_in_count; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &other), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);
  return pto_scope_end(rt);
}
static void test_an_access_is_seen_until_its_slot_comes_round_whether_its_task_has_finished_or_not(void **state) {
  (void)state;
  fan_in_count = 62; /* the last submit is the 63rd after the first: the slot is still its own */
  run_exact(expiry);
  assert_int_equal(fixture_edges(fixture.rt), 1);
  fixture_close(&fixture);
  fan_in_count = 63; /* the last submit takes the first one's slot */
  run_exact(expiry);
  assert_int_equal(fixture_edges(fixture.rt), 0);
  fixture_close(&fixture);
}

static int fuzzy_pair(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor matrix = fixture_matrix(f, 8, 16);
  struct pto_tensor left = fixture_box(&matrix, 0, 8, 0, 8), right = fixture_box(&matrix, 0, 8, 8, 8);
  struct pto_tensor fuzzy = pto_tensor_with_overlap(&right, PTO_OVERLAP_FUZZY);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &left), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &right), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &fuzzy), PTO_OK);
  return 0;
}
static void test_a_fuzzy_region_overlaps_all_that_its_bounding_range_overlaps(void **state) {
  (void)state;
  run_exact(fuzzy_pair);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 1), 0);
  assert_int_equal(fixture_reasons(fixture.rt, 0, 2), PTO_EDGE_RAW);
  fixture_close(&fixture);
}

/* A fuzzy write again, in the place of the first, is as fuzzy as that was. */
static uint64_t edges_between_fuzzy_writes;
static int fuzzy_writes_of_one_region(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor matrix = fixture_matrix(f, 8, 16);
  struct pto_tensor left = fixture_box(&matrix, 0, 8, 0, 8), right = fixture_box(&matrix, 0, 8, 8, 8);
  struct pto_tensor fuzzy = pto_tensor_with_overlap(&right, PTO_OVERLAP_FUZZY);
  for (int i = 0; i < 3; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &fuzzy), PTO_OK);
  edges_between_fuzzy_writes = fixture_edges(rt);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &left), PTO_OK);
  return 0;
}
static void test_a_fuzzy_region_that_is_written_again_is_still_fuzzy_whether_edges_are_recorded_or_not(void **state) {
  (void)state;
  uint64_t edges[2];
  for (int is_recorded = 0; is_recorded < 2; is_recorded++) {
    memset(&fixture, 0, sizeof fixture);
    fixture.records_nothing = !is_recorded;
    fixture_open(&fixture);
    fixture_run(&fixture, fuzzy_writes_of_one_region, PTO_OK);
    edges[is_recorded] = fixture_edges(fixture.rt);
    assert_true(edges_between_fuzzy_writes >= 2);
    assert_true(edges[is_recorded] > edges_between_fuzzy_writes);
    fixture_close(&fixture);
  }
  assert_int_equal(edges[0], edges[1]);
}

static int recycled_memory(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  for (int i = 0; i < 3; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    struct pto_tensor t = fixture_managed(rt, 64);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
static void test_recycled_memory_of_a_dead_buffer_orders_nothing(void **state) {
  (void)state;
  run_exact(recycled_memory);
  assert_int_equal(fixture_edges(fixture.rt), 3);
  fixture_close(&fixture);
}

#define STEPS 256
#define STEP_WINDOW 16

/* As a cache of keys: each step writes a row of its own, which covers no earlier access, and reads all rows. */
static uint64_t edges_after_half;
static int rows_and_whole_reads(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor all = fixture_bytes(f, 0, STEPS);
  for (uint32_t step = 0; step < STEPS; step++) {
    struct pto_tensor row = fixture_bytes(f, step, 1);
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK); /* so that slots come round */
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &row), PTO_OK);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &all), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
    if (step + 1 == STEPS / 2) edges_after_half = fixture_edges(rt);
  }
  return 0;
}
static void test_readers_of_a_long_lived_tensor_cost_no_more_edges_than_the_window_has_slots(void **state) {
  (void)state;
  fixture.config.window = STEP_WINDOW;
  run_exact(rows_and_whole_reads);
  const uint64_t edges = fixture_edges(fixture.rt);
  assert_true(edges <= 2 * STEPS * STEP_WINDOW);
  /* Steady: the second half costs what the first does but for its first round of the window. */
  assert_in_range(edges - edges_after_half, edges_after_half, edges_after_half + STEP_WINDOW * STEP_WINDOW);
  fixture_close(&fixture);
}

static int host_access(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64);
  static const uint64_t index = 3;
  uint8_t value = 0;
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &t, &index, &value), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);
  value = 9;
  fixture_expect(rt, pto_write_element(rt, &t, &index, &value), PTO_OK);
  value = 0;
  fixture_expect(rt, pto_read_element(rt, &t, &index, &value), PTO_OK);
  assert_int_equal(value, 9);
  return 0;
}
static void test_the_host_waits_and_makes_no_edges(void **state) {
  (void)state;
  run_exact(host_access);
  assert_int_equal(fixture_edges(fixture.rt), 1);
  fixture_close(&fixture);
}

static int tiles_then_one_across(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t counts[] = {0, 1, 1, 3}; /* the own entry where there is one, and what shares a byte */
  const struct pto_tensor tiles[] = {fixture_bytes(f, 0, 64), fixture_bytes(f, 0, 64), fixture_bytes(f, 64, 64),
                                     fixture_bytes(f, 32, 64)};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(tiles); i++) {
    struct pto_stats stats = {.size = sizeof stats};
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &tiles[i]), PTO_OK);
    pto_runtime_stats(rt, &stats);
    assert_int_equal(stats.lookups, i + 1);
    assert_int_equal(stats.candidates, counts[i]);
  }
  return 0;
}
static void test_candidates_are_the_entries_whose_overlap_had_to_be_decided(void **state) {
  (void)state;
  run_exact(tiles_then_one_across);
  fixture_close(&fixture);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_n_inouts_of_one_tile_make_n_minus_1_edges),
      TEST(test_readers_stay_concurrent_and_a_writer_waits_for_all_of_them),
      TEST(test_records_name_parameters_and_bytes_and_those_of_a_producer_follow_each_other),
      TEST(test_a_write_in_place_of_another_is_of_its_own_parameter),
      TEST(test_a_covering_write_waits_for_all_it_covers_and_takes_their_place),
      TEST(test_a_partly_covered_writer_survives),
      TEST(test_tiles_side_by_side_are_independent_and_the_first_writer_lives),
      TEST(test_row_blocks_and_column_blocks_depend_pair_by_pair),
      TEST(test_an_access_finds_every_task_that_it_touches),
      TEST(test_fan_out_and_the_fan_in_of_its_readers_have_no_cap),
      TEST(test_the_same_bytes_through_another_dtype_and_registration_depend),
      TEST(test_the_task_that_allocates_counts_as_writer_of_the_whole_buffer),
      TEST(test_under_pto_rules_a_second_output_waits_for_the_creator_alone),
      TEST(test_tiles_that_a_write_covers_are_found_by_none_and_forgotten_when_seen_again),
      TEST(test_under_pto_rules_a_write_replaces_only_what_it_has_an_edge_to),
      TEST(test_in_a_manual_scope_only_explicit_edges_order_and_later_automatic_tasks_see_all),
      TEST(test_an_explicit_and_a_derived_reason_are_one_edge),
      TEST(test_an_access_is_seen_until_its_slot_comes_round_whether_its_task_has_finished_or_not),
      TEST(test_a_read_has_an_edge_to_each_unordered_write_of_a_manual_scope),
      TEST(test_a_fuzzy_region_overlaps_all_that_its_bounding_range_overlaps),
      TEST(test_a_fuzzy_read_states_its_reason_beside_a_write_that_replaces_what_it_overlaps),
      TEST(test_a_fuzzy_region_that_is_written_again_is_still_fuzzy_whether_edges_are_recorded_or_not),
      TEST(test_recycled_memory_of_a_dead_buffer_orders_nothing),
      TEST(test_readers_of_a_long_lived_tensor_cost_no_more_edges_than_the_window_has_slots),
      TEST(test_the_host_waits_and_makes_no_edges),
      TEST(test_candidates_are_the_entries_whose_overlap_had_to_be_decided),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
