/* SPDX-License-Identifier: MIT */
/*
 * Submits that repeat the form of an earlier one: what is accepted gives the bytes and edges of submits that all go the
 * long way, and forms take turns in their places. What is refused is in template_refusals_test.c.
 *
 * The truth for accepted submits is the long way itself: the same orchestration with every form forgotten before each
 * submit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/sanitizer.h>
#include <tests/support/template_hits.h>
#include <tests/support/runtime_fixture.h>

/* ---- accepted submits of every kind, against the long way ---- */

#define BYTES 4096u
#define KERNELS 3u

/* Every byte that is read goes into every byte that is written; 4-bit tensors are dense. */
static uint64_t fold_bytes(const struct pto_kernel_tensor *t, uint64_t hash, bool is_written, uint32_t block) {
  const uint64_t size = pto_dtype_size(t->dtype);
  uint64_t count = 1;
  for (uint32_t d = 0; d < t->ndims; d++) count *= t->shape[d];
  const bool is_dense = pto_dtype_bits(t->dtype) == 4;
  if (is_dense) count = (count + 1) / 2;
  for (uint64_t e = 0; e < count; e++) {
    uint64_t at = is_dense ? e : 0, rest = e;
    for (uint32_t d = t->ndims; !is_dense && d-- > 0;) {
      at += rest % t->shape[d] * t->strides[d];
      rest /= t->shape[d];
    }
    uint8_t *bytes = (uint8_t *)t->addr + at * size;
    for (uint64_t k = 0; k < size; k++) {
      if (is_written)
        bytes[k] = (uint8_t)(bytes[k] * 5 + (pto_mix64(hash + e) >> (8 * (k % 8))) + block);
      else
        hash = pto_mix64(hash ^ bytes[k]);
    }
  }
  return hash;
}
/* Scalars: a salt, and a bit for each tensor that is written. */
static int run_fold(const struct pto_kernel_args *a) {
  uint64_t hash = a->scalars[0].u64;
  const uint64_t written = a->scalars[1].u64;
  for (uint32_t i = 0; i < a->tensor_count; i++)
    if (!(written >> i & 1)) hash = fold_bytes(&a->tensors[i], hash, false, 0);
  for (uint32_t i = 0; i < a->tensor_count; i++)
    if (written >> i & 1) fold_bytes(&a->tensors[i], hash, true, a->core->block_index);
  return 0;
}

static const struct pto_kernel_param fold_params[KERNELS][6] = {
    {{.mode = PTO_INPUT}, {.mode = PTO_INOUT}, {.mode = PTO_SCALAR}, {.mode = PTO_SCALAR}},
    {{.mode = PTO_SCALAR}, {.mode = PTO_ACCUMULATE}, {.mode = PTO_INPUT}, {.mode = PTO_SCALAR}, {.mode = PTO_INPUT}},
    {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}, {.mode = PTO_SCALAR}}};
static const uint32_t fold_counts[KERNELS] = {4, 5, 4};
static struct pto_kernel fold_kernels[KERNELS];

/* One kind of tensor, at an index of its own among those that do not meet. */
static struct pto_tensor draw_tensor(struct pto_rng *rng, const struct pto_tensor *memory, uint32_t kind) {
  static const uint64_t ones[PTO_MAX_DIMS] = {1, 2, 1, 2, 1, 2, 1, 2};
  uint64_t bytes[1] = {BYTES}, at[1] = {64 * pto_rng_below(rng, BYTES / 64 - 4)}, length[1] = {256};
  struct pto_tensor base = pto_tensor_reshape(memory, 1, bytes), t = pto_tensor_view(&base, at, length);
  if (kind <= PTO_MAX_DIMS) { /* of that rank */
    uint64_t root[PTO_MAX_DIMS], offsets[PTO_MAX_DIMS] = {0};
    struct pto_tensor words = pto_tensor_reinterpret(&t, PTO_INT16);
    if (kind == 0) { /* as views cannot make it */
      words.ndims = 0;
      return words;
    }
    for (uint32_t d = 0; d < kind; d++) root[d] = d + 1 == kind ? 128 >> (kind - 1) : 2;
    words = pto_tensor_reshape(&words, kind, root);
    for (uint32_t d = 0; d < kind; d++) offsets[d] = pto_rng_below(rng, root[d] - pto_min_u64(ones[d], root[d]) + 1);
    uint64_t shape[PTO_MAX_DIMS];
    for (uint32_t d = 0; d < kind; d++) shape[d] = pto_min_u64(ones[d], root[d]);
    return pto_tensor_view(&words, offsets, shape);
  }
  const uint64_t square[2] = {16, 16};
  struct pto_tensor tile = pto_tensor_reshape(&t, 2, square);
  switch (kind) {
  case 9:
    return pto_tensor_transpose(&tile, 0, 1);
  case 10:
    return pto_tensor_slice(&tile, 1, pto_rng_below(rng, 3), 16, 3);
  case 11:
    return pto_tensor_reinterpret(&t, PTO_INT4);
  case 12:
    return fixture_box(&tile, pto_rng_below(rng, 8), 0, 4, 4);
  case 13: {
    struct pto_tensor box = fixture_box(&tile, 0, 16, 4, 8);
    return pto_tensor_with_overlap(&box, PTO_OVERLAP_FUZZY);
  }
  case 14: {
    struct pto_tensor wide = pto_tensor_reinterpret(&tile, PTO_INT64);
    return wide;
  }
  case 15: { /* one shape, several strides */
    const uint64_t step = 1 + pto_rng_below(rng, 3);
    return pto_tensor_slice(&t, 0, 5, 5 + 64 * step, step);
  }
  default:
    return tile;
  }
}
#define TENSOR_KINDS 17u

struct variety {
  bool is_long_way, is_manual;
  uint32_t hits, accepted, refused;
  uint64_t graph; /* digest of the recorded edges */
  uint64_t seed;
};
static struct variety variety;

static void submit_varied(struct pto_runtime *rt, struct pto_rng *rng, const struct pto_tensor *memory,
                          struct pto_tensor *managed, struct pto_task *last) {
  const uint32_t k = (uint32_t)pto_rng_below(rng, KERNELS), kind = (uint32_t)pto_rng_below(rng, TENSOR_KINDS);
  const uint32_t extra = (uint32_t)pto_rng_below(rng, 24), times = 1 + (uint32_t)pto_rng_below(rng, 5);
  struct pto_tensor flag = draw_tensor(rng, memory, 0);
  for (uint32_t n = 0; n < times; n++) {
    const struct pto_tensor *where = pto_rng_below(rng, 3) ? memory : managed;
    struct pto_tensor a = draw_tensor(rng, pto_rng_below(rng, 3) ? memory : managed, kind),
                      b = draw_tensor(rng, where, pto_rng_below(rng, 8) ? kind : 10), c = draw_tensor(rng, memory, 16);
    struct pto_param params[5];
    const uint64_t salt = pto_rng_next(rng);
    if (extra == 5 && n == 0) b = a; /* in place, where the kernel says so */
    if (extra == 6 && n == 0) {      /* a buffer of its own, that later ones of the row write again */
      const uint64_t shape[1] = {256};
      *managed = pto_managed_tensor(rt, pto_create_buffer(rt, BYTES), PTO_UINT8, 1, &(uint64_t){BYTES});
      fixture_expect(rt, pto_alloc_tensors(rt, managed, 1, NULL), PTO_OK);
      struct pto_tensor fresh = pto_managed_tensor(rt, pto_create_buffer(rt, 256), PTO_UINT8, 1, shape);
      if (k == 2) b = fresh;
    }
    if (k == 1) {
      params[0] = pto_scalar_u64(salt);
      params[1] = pto_param_tensor(PTO_ACCUMULATE, &b);
      params[2] = pto_input(&a);
      params[3] = pto_scalar_u64(1);
      params[4] = pto_input(&c);
    } else {
      params[0] = pto_input(&a);
      params[1] = k == 0 ? pto_inout(&b) : pto_output(&b);
      params[2] = pto_scalar_u64(salt);
      params[3] = pto_scalar_u64(2);
    }
    struct pto_launch launch = {.aiv0 = &fold_kernels[k]};
    if (extra == 1) launch = (struct pto_launch){.aic = &fold_kernels[k]};
    if (extra == 2 && n == 1) launch.block_count = 3;
    if (extra == 3 && n == 1) launch.predicate = (struct pto_predicate){&flag, salt % 2 ? PTO_IF_GT : PTO_ALWAYS, 0};
    if (extra == 4 && n == 1) launch.aic = &fold_kernels[k];
    if (extra >= 20 && last->generation) {
      launch.after = last;
      launch.after_count = 1;
    }
    if (variety.is_long_way) pto_templates_forget(rt);
    if (pto_rng_below(rng, 8) == 0) pto_progress_poll(rt);
    rt->since_poll = 0; /* what a submit polls is not what is compared */
    struct template_mark mark = template_mark_take(rt);
    struct fixture_state before;
    fixture_state_take(rt, &before);
    int status = pto_submit(rt, &launch, params, fold_counts[k], pto_rng_below(rng, 4) ? NULL : last);
    if (status) {
      fixture_state_expect(rt, &before);
      fixture_expect(rt, status, PTO_EINVAL);
      variety.refused++;
      continue;
    }
    variety.accepted++;
    variety.hits += template_was_hit(rt, mark);
  }
}

static int varied(struct pto_runtime *rt, struct fixture *f) {
  struct pto_rng rng = {variety.seed};
  struct pto_tensor memory = fixture_bytes(f, 0, BYTES);
  struct pto_tensor managed = fixture_managed(rt, BYTES);
  struct pto_task last = {0};
  fixture_expect(rt, pto_alloc_tensors(rt, &managed, 1, NULL), PTO_OK);
  for (uint32_t i = 0; i < 60; i++) {
    const bool has_scope = f->config.window == 64 || pto_rng_below(&rng, 4) == 0; /* ends before the window is full */
    struct pto_tensor inner = managed;
    if (has_scope)
      fixture_expect(rt, pto_scope_begin(rt, variety.is_manual ? PTO_SCOPE_MANUAL : PTO_SCOPE_AUTO), PTO_OK);
    for (uint32_t n = 0; n < 4; n++) submit_varied(rt, &rng, &memory, &inner, &last);
    if (has_scope) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
    assert_true(pto_access_map_is_valid(&rt->map));
    assert_true(pto_payload_pool_is_valid(&rt->payloads));
  }
  return 0;
}

static uint64_t digest_of_edges(struct pto_runtime *rt) {
  const struct pto_trace_log *edges = &pto_runtime_trace(rt)->edges;
  uint64_t digest = 0;
  for (uint64_t i = 0; i < edges->count; i++) {
    const struct pto_trace_edge *e = pto_trace_log_at(edges, i);
    digest = pto_mix64(digest ^ e->producer << 32 ^ e->consumer ^ (uint64_t)e->reason << 24);
    digest = pto_mix64(digest ^ (uint64_t)e->producer_param << 32 ^ e->consumer_param);
    digest = pto_mix64(digest ^ (e->end - e->begin) << 32 ^ e->buffer_number);
  }
  return digest;
}

/* One way through a seed's orchestration: bytes in f->memory, and counts in `variety`. */
static void run_varied(struct fixture *f, uint64_t seed, bool is_long_way) {
  memset(f, 0, sizeof *f);
  struct pto_rng rng = {~seed};
  f->config.deps = pto_rng_below(&rng, 4) == 0 ? PTO_DEPS_PTO : PTO_DEPS_EXACT;
  f->config.record = pto_rng_below(&rng, 2) ? PTO_RECORD_GRAPH : PTO_RECORD_TIMELINE; /* the latter: edges unrecorded */
  f->config.window = pto_rng_below(&rng, 2) ? 64 : 2048;
  f->config.heap_bytes = 1 << 20;
  f->config.poison = true;
  f->port.seed = pto_rng_next(&rng);
  f->port.cluster_count = 2;
  f->port.slots_per_core = 2;
  variety = (struct variety){.is_long_way = is_long_way, .is_manual = pto_rng_below(&rng, 3) == 0, .seed = seed};
  for (uint32_t i = 0; i < BYTES; i++) f->memory[i] = (uint8_t)pto_rng_next(&rng);
  fixture_open(f);
  fixture_run(f, varied, PTO_OK);
  variety.graph = digest_of_edges(f->rt);
}

static void test_repeated_submits_give_the_bytes_and_edges_of_the_long_way(void **state) {
  (void)state;
  static struct fixture quick, slow;
  uint64_t hits = 0, accepted = 0, refused = 0;
  static const uint32_t flags[KERNELS] = {0, 0, PTO_KERNEL_IN_PLACE};
  for (uint32_t k = 0; k < KERNELS; k++)
    fold_kernels[k] = (struct pto_kernel){.name = "fold",
                                          .cores = PTO_AIC | PTO_AIV,
                                          .flags = flags[k],
                                          .params = fold_params[k],
                                          .param_count = fold_counts[k],
                                          .run = run_fold};
  const uint64_t count = getenv("PTO_TEST_LONG") ? 20000 : PTO_HAS_SANITIZER ? 50 : 150;
  for (uint64_t seed = 1; seed <= count; seed++) {
    run_varied(&slow, seed, true);
    const struct variety expected = variety;
    run_varied(&quick, seed, false);
    if (variety.accepted != expected.accepted || variety.refused != expected.refused)
      fail_msg("seed %llu: other submits are accepted", (unsigned long long)seed);
    if (fixture_edges(quick.rt) != fixture_edges(slow.rt) || variety.graph != expected.graph)
      fail_msg("seed %llu: other edges", (unsigned long long)seed);
    if (memcmp(quick.memory, slow.memory, sizeof quick.memory))
      fail_msg("seed %llu: other bytes", (unsigned long long)seed);
    assert_int_equal(expected.hits, 0);
    hits += variety.hits;
    accepted += variety.accepted;
    refused += variety.refused;
    fixture_close(&quick);
    fixture_close(&slow);
  }
  printf("seeds 1 to %llu: %llu submits accepted, %llu of them repeated a form; %llu refused\n",
         (unsigned long long)count, (unsigned long long)accepted, (unsigned long long)hits,
         (unsigned long long)refused);
  assert_true(hits > accepted / 10 && refused > accepted / 100);
}

/* ---- forms and their places ---- */

#define MANY 100u
static struct pto_kernel many_kernels[MANY];
static const struct pto_kernel_param byte_params[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}};

static int run_add_byte(const struct pto_kernel_args *a) {
  for (uint64_t i = 0; i < a->tensors[0].shape[0]; i++)
    ((uint8_t *)a->tensors[1].addr)[i] = (uint8_t)(((uint8_t *)a->tensors[0].addr)[i] + a->scalars[0].u64);
  return 0;
}
static void make_many_kernels(void) {
  for (uint32_t i = 0; i < MANY; i++)
    many_kernels[i] = (struct pto_kernel){
        .name = "add_byte", .cores = PTO_AIC | PTO_AIV, .params = byte_params, .param_count = 3, .run = run_add_byte};
}
static bool submit_byte(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *from,
                        const struct pto_tensor *to, uint64_t more) {
  struct pto_param params[] = {pto_input(from), pto_output(to), pto_scalar_u64(more)};
  struct template_mark mark = template_mark_take(rt);
  fixture_expect(rt, pto_submit_aiv(rt, kernel, params, 3), PTO_OK);
  return template_was_hit(rt, mark);
}

static int more_kernels_than_forms(struct pto_runtime *rt, struct fixture *f) {
  uint32_t hits = 0;
  make_many_kernels();
  f->memory[0] = 0;
  for (uint32_t i = 0; i < 40 * MANY; i++) {
    struct pto_tensor from = fixture_bytes(f, i, 1), to = fixture_bytes(f, i + 1, 1);
    hits += submit_byte(rt, &many_kernels[i % MANY], &from, &to, i % MANY);
    if (i % 3 == 0) { /* the same once more, elsewhere */
      struct pto_tensor aside = fixture_bytes(f, 60000 + i % MANY, 1);
      hits += submit_byte(rt, &many_kernels[i % MANY], &from, &aside, 1);
    }
  }
  fixture_drain(rt);
  for (uint32_t i = 0, sum = 0; i < 40 * MANY; sum += i++ % MANY) assert_int_equal(f->memory[i], (uint8_t)sum);
  assert_true(hits > 0);
  assert_true(pto_payload_pool_is_valid(&rt->payloads));
  return 0;
}

static const struct pto_template *place_of(const struct pto_runtime *rt, uint32_t kernel) {
  const struct pto_launch launch = {.aiv0 = &many_kernels[kernel]};
  return pto_template_of(rt, &(struct pto_submit_request){.launch = &launch, .is_single = true});
}

static int two_kernels_of_one_place(struct pto_runtime *rt, struct fixture *f) {
  make_many_kernels();
  struct pto_tensor a = fixture_bytes(f, 0, 4), b = fixture_bytes(f, 4, 4), c = fixture_bytes(f, 8, 4);
  memset(f->memory, 7, 4);
  submit_byte(rt, &many_kernels[0], &a, &b, 1);
  const struct pto_template *place = place_of(rt, 0);
  uint32_t second = 1;
  for (; second < MANY; second++) {
    submit_byte(rt, &many_kernels[second], &a, &b, 1);
    if (place_of(rt, second) == place) break;
  }
  assert_true(second < MANY); /* there are more kernels than places */
  assert_true(submit_byte(rt, &many_kernels[second], &a, &b, 2));
  for (uint32_t i = 0; i < 8; i++) {
    assert_false(submit_byte(rt, &many_kernels[0], &a, &b, 2 * i));
    assert_false(submit_byte(rt, &many_kernels[second], &b, &c, 3));
  }
  assert_true(pto_payload_pool_is_valid(&rt->payloads));
  fixture_drain(rt);
  assert_int_equal(f->memory[4], 7 + 14);
  assert_int_equal(f->memory[8], 7 + 14 + 3);
  return 0;
}

/* A refusal that comes after the form was matched gives the payload back to it. */
static int refused_by_its_explicit_edges(struct pto_runtime *rt, struct fixture *f) {
  make_many_kernels();
  struct pto_tensor a = fixture_bytes(f, 0, 4), b = fixture_bytes(f, 4, 4);
  assert_false(submit_byte(rt, &many_kernels[0], &a, &b, 1));
  struct pto_param params[] = {pto_input(&a), pto_output(&b), pto_scalar_u64(9)};
  struct pto_task none = {0};
  struct pto_launch launch = {.aiv0 = &many_kernels[0], .after = &none, .after_count = 1};
  for (int i = 0; i < 3; i++) {
    uint64_t units = i ? rt->payloads.units_used : 0;
    fixture_expect(rt, pto_submit(rt, &launch, params, 3, NULL), PTO_EINVAL);
    if (i) assert_int_equal(rt->payloads.units_used, units);
  }
  assert_int_equal(rt->payloads.live_count, 1);
  assert_true(submit_byte(rt, &many_kernels[0], &a, &b, 5));
  fixture_drain(rt);
  assert_int_equal(f->memory[4], (uint8_t)(f->memory[0] + 5));
  return 0;
}

static int failing(const struct pto_kernel_args *a) { return (int)a->scalars[0].u64; }

/* ---- a kernel that is gone, and another where it was ---- */

static struct pto_kernel reloaded;

static int first_program(struct pto_runtime *rt, struct fixture *f) {
  reloaded = (struct pto_kernel){
      .name = "first", .cores = PTO_AIV, .params = byte_params, .param_count = 3, .run = run_add_byte};
  struct pto_tensor a = fixture_bytes(f, 0, 4), b = fixture_bytes(f, 4, 4);
  assert_false(submit_byte(rt, &reloaded, &a, &b, 1));
  assert_true(submit_byte(rt, &reloaded, &a, &b, 1));
  return 0;
}
static int second_program(struct pto_runtime *rt, struct fixture *f) {
  static const struct pto_kernel_param params[] = {
      {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPE_BIT(PTO_INT32)}, {.mode = PTO_OUTPUT}, {.mode = PTO_SCALAR}};
  reloaded =
      (struct pto_kernel){.name = "second", .cores = PTO_AIV, .params = params, .param_count = 3, .run = failing};
  struct pto_tensor a = fixture_bytes(f, 0, 4), b = fixture_bytes(f, 4, 4);
  struct pto_param bytes[] = {pto_input(&a), pto_output(&b), pto_scalar_u64(1)};
  fixture_expect(rt, pto_submit_aiv(rt, &reloaded, bytes, 3), PTO_EINVAL);
  fixture_expect_sentence(rt, "second: param 0 (x) has dtype u8");
  struct pto_tensor words = pto_tensor_reinterpret(&a, PTO_INT32);
  assert_false(submit_byte(rt, &reloaded, &words, &b, 0));
  assert_true(submit_byte(rt, &reloaded, &words, &b, 0));
  assert_true(submit_byte(rt, &reloaded, &words, &b, 41)); /* fails, and says what the form did not */
  return 0;
}
static void test_a_form_does_not_outlive_its_run(void **state) {
  (void)state;
  static struct fixture f;
  memset(&f, 0, sizeof f);
  fixture_open(&f);
  for (int i = 0; i < 3; i++) {
    fixture_run(&f, first_program, PTO_OK);
    fixture_run(&f, second_program, PTO_EKERNEL);
    fixture_expect_sentence(f.rt, "task 2: kernel second failed");
    fixture_expect_sentence(f.rt, "status 41; tensor 0 i32[1], tensor 1 u8[4], scalar 0 0x29");
    assert_int_equal(f.rt->payloads.live_count, 0);
  }
  fixture_close(&f);
}

static void run_body(int (*body)(struct pto_runtime *, struct fixture *)) {
  for (uint32_t record = PTO_RECORD_GRAPH; record <= PTO_RECORD_TIMELINE; record++) {
    static struct fixture f;
    memset(&f, 0, sizeof f);
    f.config.window = 8192;
    f.config.record = record;
    fixture_open(&f);
    for (int i = 0; i < 2; i++) fixture_run(&f, body, PTO_OK);
    fixture_close(&f);
  }
}
static void test_more_kernels_than_forms_take_turns(void **state) {
  (void)state;
  run_body(more_kernels_than_forms);
}
static void test_two_kernels_of_one_place_drive_each_other_out(void **state) {
  (void)state;
  run_body(two_kernels_of_one_place);
}
static void test_a_refusal_behind_the_form_gives_its_payload_back(void **state) {
  (void)state;
  run_body(refused_by_its_explicit_edges);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_repeated_submits_give_the_bytes_and_edges_of_the_long_way),
      cmocka_unit_test(test_more_kernels_than_forms_take_turns),
      cmocka_unit_test(test_two_kernels_of_one_place_drive_each_other_out),
      cmocka_unit_test(test_a_refusal_behind_the_form_gives_its_payload_back),
      cmocka_unit_test(test_a_form_does_not_outlive_its_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
