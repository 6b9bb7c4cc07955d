/* SPDX-License-Identifier: MIT */
/*
 * Kernel metadata: what a kernel finds in its arguments is what was passed to the submit, in every field, on the serial
 * port and on both engines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

/* A copy of all that a kernel call can reach. */
struct capture {
  uint32_t calls, tensor_count, scalar_count;
  struct pto_core core;
  struct pto_kernel_tensor tensors[PTO_MAX_TENSORS];
  uint64_t shapes[PTO_MAX_TENSORS][PTO_MAX_DIMS], strides[PTO_MAX_TENSORS][PTO_MAX_DIMS];
  union pto_scalar scalars[PTO_MAX_SCALARS];
};
/* By lane and block: calls on several threads each have a place of their own. */
enum { MOST_BLOCKS = 16 };
static struct capture captures[3][MOST_BLOCKS];

static int capture_as(struct capture *c, const struct pto_kernel_args *args) {
  c->calls++;
  c->tensor_count = args->tensor_count;
  c->scalar_count = args->scalar_count;
  c->core = *args->core;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    c->tensors[i] = args->tensors[i];
    for (uint32_t d = 0; d < args->tensors[i].ndims; d++) {
      c->shapes[i][d] = args->tensors[i].shape[d];
      c->strides[i][d] = args->tensors[i].strides[d];
    }
  }
  for (uint32_t j = 0; j < args->scalar_count; j++) c->scalars[j] = args->scalars[j];
  /* local memory is the kernel's to write, all of it */
  if (args->core->local.size_bytes)
    memset(args->core->local.addr, (int)args->core->block_index, args->core->local.size_bytes);
  return 0;
}
static int run_capture(const struct pto_kernel_args *args) {
  return capture_as(
      &captures[args->core->kind == PTO_AIC ? 0 : args->core->lane][args->core->block_index % MOST_BLOCKS], args);
}
/* One AIV call, whichever of the two cores it was on. */
static const struct capture *only_aiv(uint32_t block) {
  assert_int_equal(captures[1][block].calls + captures[2][block].calls, 1);
  return &captures[captures[1][block].calls ? 1 : 2][block];
}

static const struct pto_kernel *capturing(const char *modes) {
  static struct {
    char modes[PTO_MAX_PARAMS + 1];
    struct pto_kernel kernel;
  } made[32];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(made); i++) {
    if (made[i].kernel.run && strcmp(made[i].modes, modes) == 0) return &made[i].kernel;
    if (made[i].kernel.run) continue;
    strcpy(made[i].modes, modes);
    made[i].kernel = fixture_kernel_with(modes, 0, run_capture);
    return &made[i].kernel;
  }
  fail();
  return NULL;
}
static void forget(void) { memset(captures, 0, sizeof captures); }
static void submit(struct pto_runtime *rt, const char *modes, const struct pto_param *params) {
  forget();
  fixture_expect(rt, pto_submit_aiv(rt, capturing(modes), params, (uint32_t)strlen(modes)), PTO_OK);
  fixture_drain(rt);
}
/* One tensor to and fro; the capture of its call. */
static void expect_tensor(struct pto_runtime *rt, const struct capture *c, uint32_t at, const struct pto_tensor *t,
                          const void *base) {
  uint64_t bits = pto_dtype_bits(t->dtype);
  assert_ptr_equal(c->tensors[at].addr, (const char *)base + t->start_offset * bits / 8);
  assert_int_equal(c->tensors[at].dtype, t->dtype);
  assert_int_equal(c->tensors[at].ndims, t->ndims);
  for (uint32_t d = 0; d < t->ndims; d++) {
    assert_true(c->shapes[at][d] == t->shape[d]);
    assert_true(c->strides[at][d] == t->strides[d]);
  }
}
static void expect_arrives(struct pto_runtime *rt, struct fixture *f, struct pto_tensor t) {
  struct pto_param param = pto_input(&t);
  assert_int_equal(pto_tensor_status(&t), PTO_OK);
  submit(rt, "i", &param);
  expect_tensor(rt, only_aiv(0), 0, &t, f->memory);
}

/* ---- tensors ---- */

static int every_dtype(struct pto_runtime *rt, struct fixture *f) {
  uint64_t shape[2] = {6, 8};
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    expect_arrives(rt, f, pto_external_tensor(rt, f->memory, dtype, 2, shape));
  return 0;
}
static int every_rank(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t shape[PTO_MAX_DIMS] = {2, 3, 1, 4, 2, 5, 1, 7};
  for (uint32_t rank = 0; rank <= PTO_MAX_DIMS; rank++)
    expect_arrives(rt, f, pto_external_tensor(rt, f->memory, PTO_FLOAT32, rank, shape));
  return 0;
}
static int views(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t shape[3] = {4, 6, 8}, offsets[3] = {1, 2, 3}, box[3] = {2, 3, 4}, flat[1] = {192},
                        wide[4] = {3, 4, 6, 8};
  static const uint32_t order[3] = {2, 0, 1};
  struct pto_tensor t = pto_external_tensor(rt, f->memory, PTO_INT32, 3, shape);
  struct pto_tensor view = pto_tensor_view(&t, offsets, box);
  expect_arrives(rt, f, view);
  expect_arrives(rt, f, pto_tensor_slice(&view, 2, 1, 4, 2));
  expect_arrives(rt, f, pto_tensor_permute(&view, order));
  expect_arrives(rt, f, pto_tensor_transpose(&t, 0, 2));
  expect_arrives(rt, f, pto_tensor_reshape(&t, 1, flat));
  expect_arrives(rt, f, pto_tensor_broadcast(&t, 4, wide));
  expect_arrives(rt, f, pto_tensor_reinterpret(&view, PTO_INT16));
  struct pto_tensor broadcast = pto_tensor_broadcast(&t, 4, wide);
  assert_int_equal(broadcast.strides[0], 0);
  return 0;
}
static int empty_tensor(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t shape[3] = {4, 0, 8};
  struct pto_tensor t = pto_external_tensor(rt, f->memory, PTO_INT32, 3, shape);
  struct pto_param param = pto_input(&t);
  submit(rt, "i", &param);
  const struct capture *c = only_aiv(0);
  assert_int_equal(c->tensors[0].ndims, 3);
  assert_int_equal(c->shapes[0][0], 4);
  assert_int_equal(c->shapes[0][1], 0);
  assert_int_equal(c->shapes[0][2], 8);
  return 0;
}
static int four_bits_at_an_offset(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t shape[2] = {4, 6}, offsets[2] = {2, 0}, box[2] = {2, 6};
  struct pto_tensor t = pto_external_tensor(rt, f->memory, PTO_UINT4, 2, shape);
  expect_arrives(rt, f, pto_tensor_view(&t, offsets, box));
  assert_ptr_equal(only_aiv(0)->tensors[0].addr, f->memory + 6);
  return 0;
}
static int large_extents(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t shape[2] = {UINT64_C(1) << 20, UINT64_C(1) << 20};
  struct pto_tensor one = pto_external_tensor(rt, f->memory, PTO_UINT8, 0, NULL);
  struct pto_tensor t = pto_tensor_broadcast(&one, 2, shape);
  expect_arrives(rt, f, t);
  return 0;
}
static int fresh_output(struct pto_runtime *rt, struct fixture *f) {
  uint64_t shape[2] = {3, 5};
  struct pto_tensor t = pto_managed_tensor(rt, pto_create_buffer(rt, 60), PTO_FLOAT32, 2, shape);
  struct pto_tensor ours = fixture_bytes(f, 0, 16);
  struct pto_param params[3] = {pto_input(&ours), pto_output(&t), pto_scalar_u64(9)};
  submit(rt, "ios", params);
  expect_tensor(rt, only_aiv(0), 1, &t, (void *)(uintptr_t)pto_get_buffer_addr(rt, t.buffer));
  return 0;
}
static int versions_and_fuzziness_change_nothing(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 16, 16), fuzzy = pto_tensor_with_overlap(&t, PTO_OVERLAP_FUZZY);
  struct pto_tensor next = pto_tensor_with_version(&fuzzy, 1);
  struct pto_param param = pto_output(&next);
  submit(rt, "o", &param);
  expect_tensor(rt, only_aiv(0), 0, &t, f->memory + 16);
  return 0;
}
static int callers_storage_may_change(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), gate = fixture_bytes(f, 128, 8), expected = t;
  struct pto_param params[3] = {pto_input(&t), pto_inout(&gate), pto_scalar_u64(5)};
  struct pto_launch launch = {.aiv0 = capturing("ibs"), .block_count = 2};
  forget();
  FIXTURE_DO(rt, .label = 1, .modes = "b", .tensors = {&gate}); /* so that the task waits */
  fixture_expect(rt, pto_submit(rt, &launch, params, 3, NULL), PTO_OK);
  memset(&t, 0xee, sizeof t);
  memset(params, 0xee, sizeof params);
  memset(&launch, 0xee, sizeof launch);
  fixture_drain(rt);
  for (uint32_t block = 0; block < 2; block++) {
    const struct capture *c = only_aiv(block);
    expect_tensor(rt, c, 0, &expected, f->memory);
    assert_int_equal(c->scalars[0].u64, 5);
    assert_int_equal(c->core.block_count, 2);
  }
  return 0;
}

/* ---- scalars and order ---- */

static int bit_patterns_of_scalars(struct pto_runtime *rt, struct fixture *f) {
  static const uint32_t floats[] = {0x7fc00001, 0x7f800001, 0xffc12345, 0x80000000,
                                    0x7f800000, 0xff800000, 0x00000001, 0x3f800000};
  struct pto_param params[14];
  for (uint32_t i = 0; i < 8; i++) {
    params[i] = pto_scalar_f32(0);
    memcpy(&params[i].value.scalar, &floats[i], 4); /* past the registers that may quieten a signalling NaN */
  }
  params[8] = pto_scalar_i64(INT64_MIN);
  params[9] = pto_scalar_i64(-1);
  params[10] = pto_scalar_i64(INT64_MAX);
  params[11] = pto_scalar_u64(UINT64_MAX);
  params[12] = pto_scalar_u64(0);
  params[13] = pto_scalar_u64(UINT64_C(0x0123456789abcdef));
  submit(rt, "ssssssssssssss", params);
  const struct capture *c = only_aiv(0);
  assert_int_equal(c->scalar_count, 14);
  assert_int_equal(c->tensor_count, 0);
  for (uint32_t i = 0; i < 8; i++) assert_memory_equal(&c->scalars[i], &floats[i], 4);
  assert_true(c->scalars[8].i64 == INT64_MIN);
  assert_true(c->scalars[9].i64 == -1);
  assert_true(c->scalars[10].i64 == INT64_MAX);
  assert_true(c->scalars[11].u64 == UINT64_MAX);
  assert_true(c->scalars[12].u64 == 0);
  assert_true(c->scalars[13].u64 == UINT64_C(0x0123456789abcdef));
  return 0;
}
static int order_is_kept(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_bytes(f, 0, 1), b = fixture_bytes(f, 16, 2), c = fixture_bytes(f, 32, 3);
  struct pto_param params[7] = {pto_scalar_u64(100), pto_inout(&a),       pto_scalar_u64(101), pto_scalar_u64(102),
                                pto_input(&b),       pto_scalar_u64(103), pto_output(&c)};
  submit(rt, "sbssiso", params);
  const struct capture *call = only_aiv(0);
  assert_int_equal(call->tensor_count, 3);
  assert_int_equal(call->scalar_count, 4);
  expect_tensor(rt, call, 0, &a, f->memory);
  expect_tensor(rt, call, 1, &b, f->memory + 16);
  expect_tensor(rt, call, 2, &c, f->memory + 32);
  for (uint64_t i = 0; i < 4; i++) assert_int_equal(call->scalars[i].u64, 100 + i);
  return 0;
}
static int no_parameters(struct pto_runtime *rt, struct fixture *f) {
  submit(rt, "", NULL);
  assert_int_equal(only_aiv(0)->tensor_count, 0);
  assert_int_equal(only_aiv(0)->scalar_count, 0);
  return 0;
}
static int all_32_and_32(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t[PTO_MAX_TENSORS];
  struct pto_param params[PTO_MAX_PARAMS];
  char modes[PTO_MAX_PARAMS + 1] = "";
  static const uint64_t shape[PTO_MAX_DIMS] = {1, 2, 1, 2, 1, 2, 1, 2};
  for (uint32_t i = 0; i < PTO_MAX_TENSORS; i++) {
    t[i] = pto_external_tensor(rt, f->memory + 64 * i, PTO_INT16, PTO_MAX_DIMS, shape);
    params[2 * i] = pto_inout(&t[i]);
    params[2 * i + 1] = pto_scalar_u64(i * UINT64_C(0x100000001));
    strcat(modes, "bs");
  }
  submit(rt, modes, params);
  const struct capture *c = only_aiv(0);
  assert_int_equal(c->tensor_count, 32);
  assert_int_equal(c->scalar_count, 32);
  for (uint32_t i = 0; i < 32; i++) {
    expect_tensor(rt, c, i, &t[i], f->memory + 64 * i);
    assert_true(c->scalars[i].u64 == i * UINT64_C(0x100000001));
  }
  return 0;
}
static int one_tensor_too_many(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 8);
  struct pto_param params[PTO_MAX_TENSORS + 1];
  for (uint32_t i = 0; i <= PTO_MAX_TENSORS; i++) params[i] = pto_input(&t);
  forget();
  fixture_expect(rt, pto_submit_aiv(rt, capturing("iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii"), params, 33), PTO_EINVAL);
  fixture_expect_sentence(rt, "more than 32 tensors");
  submit(rt, "iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii", params);
  assert_int_equal(only_aiv(0)->tensor_count, 32);
  return 0;
}
static int one_scalar_too_many(struct pto_runtime *rt, struct fixture *f) {
  struct pto_param params[PTO_MAX_SCALARS + 1];
  for (uint32_t i = 0; i <= PTO_MAX_SCALARS; i++) params[i] = pto_scalar_u64(i);
  fixture_expect(rt, pto_submit_aiv(rt, capturing("sssssssssssssssssssssssssssssssss"), params, 33), PTO_EINVAL);
  fixture_expect_sentence(rt, "more than 32 scalars");
  return 0;
}

/* ---- cores and blocks ---- */

static void expect_core(const struct capture *c, uint32_t kind, const struct pto_runtime *rt) {
  const struct pto_port *port = rt->port;
  assert_int_equal(c->core.kind, kind);
  assert_int_equal(c->core.index, 3 * c->core.cluster + c->core.lane);
  assert_true(c->core.cluster < port->cluster_count);
  assert_int_equal(c->core.lane == 0, kind == PTO_AIC);
  assert_true(c->core.lane < 3);
  assert_int_equal(c->core.local.size_bytes, kind == PTO_AIC ? port->aic_local_bytes : port->aiv_local_bytes);
  assert_true(c->core.local.size_bytes > 0);
  assert_non_null(c->core.local.addr);
  assert_non_null(c->core.message);
  assert_true(c->core.message_size > 100);
}
static int core_of_an_aiv_task(struct pto_runtime *rt, struct fixture *f) {
  submit(rt, "", NULL);
  expect_core(only_aiv(0), PTO_AIV, rt);
  assert_int_equal(only_aiv(0)->core.block_index, 0);
  assert_int_equal(only_aiv(0)->core.block_count, 1);
  return 0;
}
static int core_of_an_aic_task(struct pto_runtime *rt, struct fixture *f) {
  forget();
  fixture_expect(rt, pto_submit_aic(rt, capturing(""), NULL, 0), PTO_OK);
  fixture_drain(rt);
  assert_int_equal(captures[0][0].calls, 1);
  expect_core(&captures[0][0], PTO_AIC, rt);
  if (!f->config.engine) return 0;
  assert_int_equal(captures[0][0].core.l0a.size_bytes, 65536); /* tiny.ini */
  assert_int_equal(captures[0][0].core.l0b.size_bytes, 65536);
  assert_int_equal(captures[0][0].core.l0c.size_bytes, 131072);
  assert_non_null(captures[0][0].core.l0c.addr);
  return 0;
}
static int blocks_know_their_place(struct pto_runtime *rt, struct fixture *f) {
  struct pto_launch launch = {.aiv0 = capturing("s"), .block_count = MOST_BLOCKS};
  struct pto_param param = pto_scalar_u64(3);
  forget();
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK);
  fixture_drain(rt);
  for (uint32_t block = 0; block < MOST_BLOCKS; block++) {
    const struct capture *c = only_aiv(block);
    assert_int_equal(c->core.block_index, block);
    assert_int_equal(c->core.block_count, MOST_BLOCKS);
    assert_int_equal(c->scalars[0].u64, 3);
    expect_core(c, PTO_AIV, rt);
  }
  return 0;
}
static int run_mix_aic(const struct pto_kernel_args *args) {
  return capture_as(&captures[0][args->core->block_index], args);
}
static int run_mix_aiv0(const struct pto_kernel_args *args) {
  return capture_as(&captures[1][args->core->block_index], args);
}
static int run_mix_aiv1(const struct pto_kernel_args *args) {
  return capture_as(&captures[2][args->core->block_index], args);
}
static int mix_with_unused(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel aic, aiv0, aiv1;
  if (!aic.run) {
    aic = fixture_kernel_with("oi-s", 0, run_mix_aic);
    aiv0 = fixture_kernel_with("i-os", 0, run_mix_aiv0);
    aiv1 = fixture_kernel_with("---s", 0, run_mix_aiv1);
  }
  struct pto_tensor a = fixture_bytes(f, 0, 8), b = fixture_bytes(f, 16, 8), c = fixture_bytes(f, 32, 8);
  struct pto_param params[4] = {pto_inout(&a), pto_input(&b), pto_output(&c), pto_scalar_i64(-4)};
  struct pto_launch launch = {.aic = &aic, .aiv0 = &aiv0, .aiv1 = &aiv1, .block_count = 4};
  forget();
  fixture_expect(rt, pto_submit(rt, &launch, params, 4, NULL), PTO_OK);
  fixture_drain(rt);
  for (uint32_t block = 0; block < 4; block++)
    for (uint32_t lane = 0; lane < 3; lane++) {
      const struct capture *call = &captures[lane][block];
      assert_int_equal(call->calls, 1);
      assert_int_equal(call->core.lane, lane);
      assert_int_equal(call->core.cluster, captures[0][block].core.cluster);
      assert_int_equal(call->core.block_index, block);
      assert_int_equal(call->core.block_count, 4);
      expect_core(call, lane ? PTO_AIV : PTO_AIC, rt);
      assert_int_equal(call->tensor_count, 3); /* all of them, also those that it does not use */
      expect_tensor(rt, call, 0, &a, f->memory);
      expect_tensor(rt, call, 1, &b, f->memory + 16);
      expect_tensor(rt, call, 2, &c, f->memory + 32);
      assert_true(call->scalars[0].i64 == -4);
    }
  return 0;
}
static int predicate_is_no_argument(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor flag = pto_external_tensor(rt, f->memory, PTO_INT32, 0, NULL), t = fixture_bytes(f, 16, 8);
  struct pto_launch launch = {.aiv0 = capturing("i"), .predicate = {&flag, PTO_IF_EQ, 0}};
  struct pto_param param = pto_input(&t);
  forget();
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK);
  fixture_drain(rt);
  assert_int_equal(only_aiv(0)->tensor_count, 1);
  expect_tensor(rt, only_aiv(0), 0, &t, f->memory + 16);
  return 0;
}
static int in_place_pair(struct pto_runtime *rt, struct fixture *f) {
  static struct pto_kernel kernel;
  if (!kernel.run) kernel = fixture_kernel_with("io", PTO_KERNEL_IN_PLACE, run_capture);
  struct pto_tensor t = fixture_bytes(f, 0, 8), next = pto_tensor_with_version(&t, 1);
  struct pto_param params[2] = {pto_input(&t), pto_output(&next)};
  forget();
  fixture_expect(rt, pto_submit_aiv(rt, &kernel, params, 2), PTO_OK);
  fixture_drain(rt);
  assert_int_equal(only_aiv(0)->tensor_count, 2); /* one access, two descriptors */
  expect_tensor(rt, only_aiv(0), 0, &t, f->memory);
  expect_tensor(rt, only_aiv(0), 1, &t, f->memory);
  return 0;
}

static const struct fixture_case bodies[] = {
    {.name = "every dtype arrives", .body = every_dtype},
    {.name = "every rank from 0 to 8 arrives with its shape and strides", .body = every_rank},
    {.name = "views of every kind arrive with their address, shape and strides", .body = views},
    {.name = "an empty tensor arrives with its shape", .body = empty_tensor},
    {.name = "a 4-bit view at an offset has the address of its byte", .body = four_bits_at_an_offset},
    {.name = "extents beyond 32 bits arrive", .body = large_extents},
    {.name = "a fresh output arrives with the memory it was given", .body = fresh_output},
    {.name = "version and overlap mode change nothing of what arrives", .body = versions_and_fuzziness_change_nothing},
    {.name = "the caller's tensors and parameters may change after the submit", .body = callers_storage_may_change},
    {.name = "the bits of scalars arrive as they are", .body = bit_patterns_of_scalars},
    {.name = "tensors and scalars arrive in their order however mixed", .body = order_is_kept},
    {.name = "a kernel without parameters finds none", .body = no_parameters},
    {.name = "32 tensors of rank 8 and 32 scalars arrive", .body = all_32_and_32},
    {.name = "33 tensors are refused", .body = one_tensor_too_many},
    {.name = "33 scalars are refused", .body = one_scalar_too_many},
    {.name = "an AIV task knows its core and local memory", .body = core_of_an_aiv_task},
    {.name = "an AIC task knows its core and local memories", .body = core_of_an_aic_task},
    {.name = "each block knows its index and how many there are", .body = blocks_know_their_place},
    {.name = "each kernel of a MIX finds the whole list and its own core", .body = mix_with_unused},
    {.name = "a predicate is no argument of the kernel", .body = predicate_is_no_argument},
    {.name = "an in-place pair arrives as two descriptors", .body = in_place_pair},
};

int main(void) {
  static const char *const engines[] = {NULL, "threads", "virtual"};
  enum { BODIES = PTO_ARRAY_LENGTH(bodies), ENGINES = PTO_ARRAY_LENGTH(engines) };
  static struct fixture_case cases[BODIES * ENGINES];
  static char names[BODIES * ENGINES][128];
  for (uint32_t i = 0; i < BODIES * ENGINES; i++) {
    const char *engine = engines[i / BODIES];
    cases[i] = bodies[i % BODIES];
    cases[i].engine = engine;
    cases[i].clusters = 2;
    snprintf(names[i], sizeof names[i], "%s (%s)", bodies[i % BODIES].name, engine ? engine : "serial port");
    cases[i].name = names[i];
  }
  return fixture_run_cases("kernel_metadata", cases, PTO_ARRAY_LENGTH(cases));
}
