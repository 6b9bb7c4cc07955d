/* SPDX-License-Identifier: MIT */
/* Which edges dispatches have to those before them: the same wherever memory lay, whenever it came back, and on each
 * backend. */
#include <tests/support/context_fixture.h>

#define STEPS 20

/* What may differ between two runs of the same calls. */
enum timing {
  AS_IT_COMES,
  AFTER_EACH,  /* the executor has carried out every call before the next one */
  MEMORY_KEPT, /* nothing is destroyed: no tensor gets the memory of another */
};

static void carry_out(enum timing timing) {
  if (timing == AFTER_EACH) assert_int_equal(pto_context_sync(context), PTO_OK);
}

/* Dispatches on tensors that live for a step each, and on one that lives long. */
static uint64_t edges_of_steps(enum timing timing) {
  struct pto_device_tensor lasting = host_tensor();
  write4(lasting, 1, 2, 3, 4);
  for (int i = 0; i < STEPS; i++) {
    struct pto_device_tensor in = host_tensor(), out = host_tensor();
    write4(in, 1, 1, 1, 1);
    dispatch1(&times_2, in, out);
    carry_out(timing);
    dispatch2(&plus, out, lasting, in);
    dispatch1(&times_3, in, out);
    if (timing == MEMORY_KEPT) continue;
    assert_int_equal(pto_device_tensor_destroy(context, in), PTO_OK);
    carry_out(timing);
    assert_int_equal(pto_device_tensor_destroy(context, out), PTO_OK);
    carry_out(timing);
  }
  assert_int_equal(pto_context_sync(context), PTO_OK);
  return counters().edges;
}

static void test_a_tensor_in_the_place_of_a_destroyed_one_has_no_edge_to_its_tasks(void **state) {
  for (int timing = AS_IT_COMES; timing <= MEMORY_KEPT; timing++) {
    ON_EACH_BACKEND {
      /* a step's: `plus` reads `out` and writes `in`, which the first has read; the last reads that and writes `out` */
      assert_int_equal(edges_of_steps((enum timing)timing), STEPS * 3);
    }
  }
}

static void test_a_destroy_that_is_queued_behind_a_view_of_the_tensor_forgets_it_too(void **state) {
  ON_EACH_BACKEND {
    const struct pto_device_tensor_desc half = {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {1, COLUMNS}};
    struct pto_device_tensor other, in = host_tensor(), out = host_tensor();
    dispatch1(&times_2, in, out);
    assert_int_equal(pto_device_tensor_destroy(context, in), PTO_OK);
    assert_int_equal(pto_device_tensor_destroy(context, out), PTO_OK);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(pto_device_tensor_create_host(context, &half, &other), PTO_OK); /* within the place of `in` */
    in = host_tensor(), out = host_tensor();
    dispatch1(&times_2, in, out);
    dispatch1(&times_2, out, in);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    assert_int_equal(counters().edges, 1);
  }
}

static void test_reads_between_dispatches_change_no_edge(void **state) {
  for (int reads = 0; reads < 2; reads++) {
    ON_EACH_BACKEND {
      struct pto_device_tensor a = host_tensor(), b = host_tensor();
      write4(a, 1, 1, 1, 1);
      for (int i = 0; i < STEPS; i++) {
        dispatch1(&times_2, a, b);
        if (reads) reads4(b, 2, 2, 2, 2);
        dispatch1(&times_3, b, a);
        if (reads) write4(a, 1, 1, 1, 1);
      }
      assert_int_equal(pto_context_sync(context), PTO_OK);
      assert_int_equal(counters().tasks, 2 * STEPS);
      assert_int_equal(counters().edges,
                       2 * STEPS - 1 + 2 * STEPS - 2); /* to the last one and to the one before that */
    }
  }
}

static void test_an_edge_to_a_task_of_an_earlier_call_counts_until_its_slot_comes_round_again(void **state) {
  ON_EACH_BACKEND {
    struct pto_device_tensor a = host_tensor(), b = host_tensor(), third = host_tensor();
    write4(a, 1, 1, 1, 1);
    dispatch1(&times_2, a, b);
    for (int i = 0; i < 62; i++) { /* of 64 slots */
      dispatch1(&times_2, a, third);
      reads4(third, 2, 2, 2, 2);
    }
    dispatch1(&times_3, b, third); /* the last of them wrote `third`, the first task b */
    reads4(third, 6, 6, 6, 6);
    assert_int_equal(counters().edges, 61 + 2);
    dispatch1(&times_3, b, third); /* after one write alone */
    reads4(third, 6, 6, 6, 6);
    assert_int_equal(counters().edges, 61 + 2 + 1);
  }
}

static void test_computes_have_the_edges_of_one_each(void **state) {
  ON_EACH_BACKEND {
    float values[NUMEL] = {1, 2, 3, 4}, doubled[NUMEL], sums[NUMEL];
    const struct pto_host_array in[] = {{"a", values, BYTES}, {"b", doubled, BYTES}};
    const struct pto_host_array twice[] = {{"c", doubled, BYTES}}, sum_of[] = {{"c", sums, BYTES}};
    for (int i = 0; i < STEPS; i++) {
      assert_int_equal(pto_context_compute(context, &times_2,
                                           &(struct pto_compute_arrays){
                                               .inputs = in, .outputs = twice, .input_count = 1, .output_count = 1}),
                       PTO_OK);
      assert_int_equal(pto_context_compute(context, &plus,
                                           &(struct pto_compute_arrays){
                                               .inputs = in, .outputs = sum_of, .input_count = 2, .output_count = 1}),
                       PTO_OK);
      assert_float_equal(sums[3], 12, 0);
    }
    assert_int_equal(counters().edges, 0); /* a task each, on tensors of its own */
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_tensor_in_the_place_of_a_destroyed_one_has_no_edge_to_its_tasks),
      cmocka_unit_test(test_a_destroy_that_is_queued_behind_a_view_of_the_tensor_forgets_it_too),
      cmocka_unit_test(test_reads_between_dispatches_change_no_edge),
      cmocka_unit_test(test_an_edge_to_a_task_of_an_earlier_call_counts_until_its_slot_comes_round_again),
      cmocka_unit_test(test_computes_have_the_edges_of_one_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
