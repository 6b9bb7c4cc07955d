/* SPDX-License-Identifier: MIT */
/*
 * Output allocation: which outputs get memory at their submit, where in the heap it is, who sees its address and when,
 * what is in it, and what a refused allocation leaves behind (nothing).
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

/* Where the byte at an offset of a ring lies, the first time round. */
static char *heap_at(struct pto_runtime *rt, uint32_t ring, uint64_t offset) {
  return pto_heap_ring_addr(&rt->rings.rings[ring].heap, offset);
}
static char *addr_of(struct pto_runtime *rt, const struct pto_tensor *t) {
  return (char *)(uintptr_t)pto_get_buffer_addr(rt, t->buffer);
}
static struct pto_tensor managed(struct pto_runtime *rt, uint32_t dtype, uint32_t ndims, const uint64_t *shape,
                                 uint64_t size_bytes) {
  return pto_managed_tensor(rt, pto_create_buffer(rt, size_bytes), dtype, ndims, shape);
}

/* Addresses that kernels saw. */
static void *seen[8];
static int note_addresses(const struct pto_kernel_args *args) {
  for (uint32_t i = 0; i < args->tensor_count; i++) seen[i] = args->tensors[i].addr;
  return 0;
}
static int submit_noting(struct pto_runtime *rt, const char *modes, const struct pto_tensor *const *tensors) {
  static struct pto_kernel kernels[8];
  static uint32_t next;
  struct pto_kernel *kernel = &kernels[next++ % 8];
  *kernel = fixture_kernel_with(modes, 0, note_addresses);
  struct pto_param params[8];
  uint32_t count = (uint32_t)strlen(modes);
  for (uint32_t i = 0; i < count; i++) params[i] = pto_param_tensor(kernel->params[i].mode, tensors[i]);
  return pto_submit_aiv(rt, kernel, params, count);
}
#define NOTING(rt, modes, ...)                                                                                         \
  fixture_expect(rt, submit_noting(rt, modes, (const struct pto_tensor *const[]){__VA_ARGS__}), PTO_OK)

/* ---- the two modes of an output ---- */

static int fresh_buffer_gets_memory(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 100);
  assert_null(addr_of(rt, &t));
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t});
  assert_ptr_equal(addr_of(rt, &t), heap_at(rt, 0, 0));
  return 0;
}
static int second_output_writes_in_place(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 100);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t});
  char *first = addr_of(rt, &t);
  uint64_t used = pto_heap_ring_used(&rt->rings.rings[0].heap);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t});
  assert_ptr_equal(addr_of(rt, &t), first);
  assert_int_equal(pto_heap_ring_used(&rt->rings.rings[0].heap), used);
  return 0;
}
static int external_output_takes_no_heap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 64, 100);
  NOTING(rt, "o", &t);
  fixture_drain(rt);
  assert_ptr_equal(seen[0], f->memory + 64);
  assert_int_equal(rt->rings.rings[0].heap.head, 0);
  return 0;
}
static int view_of_written_buffer(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 100);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t});
  struct pto_tensor half = pto_tensor_slice(&t, 0, 50, 100, 1);
  NOTING(rt, "o", &half);
  fixture_drain(rt);
  assert_ptr_equal(seen[0], addr_of(rt, &t) + 50);
  return 0;
}
static int mixed_modes_in_one_task(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor old = fixture_managed(rt, 10), fresh = fixture_managed(rt, 10), ours = fixture_bytes(f, 0, 10);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&old});
  NOTING(rt, "ooo", &old, &fresh, &ours);
  fixture_drain(rt);
  assert_ptr_equal(seen[0], heap_at(rt, 0, 0));
  assert_ptr_equal(seen[1], heap_at(rt, 0, PTO_OUTPUT_ALIGN));
  assert_ptr_equal(seen[2], f->memory);
  return 0;
}
static int alloc_tensors_gives_memory(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t[3] = {fixture_managed(rt, 10), fixture_managed(rt, 2000), fixture_managed(rt, 10)};
  struct pto_task task = {0, 0};
  fixture_expect(rt, pto_alloc_tensors(rt, t, 3, &task), PTO_OK);
  assert_true(task.generation != 0);
  assert_ptr_equal(addr_of(rt, &t[0]), heap_at(rt, 0, 0));
  assert_ptr_equal(addr_of(rt, &t[1]), heap_at(rt, 0, 1024));
  assert_ptr_equal(addr_of(rt, &t[2]), heap_at(rt, 0, 3072));
  FIXTURE_DO(rt, .modes = "i", .tensors = {&t[1]});
  assert_int_equal(fixture_edges(rt), 1);
  return 0;
}
static int alloc_of_nothing(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_alloc_tensors(rt, NULL, 0, NULL), PTO_OK);
  assert_int_equal(fixture_tasks(rt), 1);
  assert_int_equal(rt->completed_count, 1);
  return 0;
}
static int alloc_of_memory_refused(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 10), external = fixture_bytes(f, 0, 8);
  struct fixture_state before;
  fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_OK);
  fixture_state_take(rt, &before);
  fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_EINVAL);
  fixture_expect_sentence(rt, "param 0: buffer 1 has memory already");
  fixture_expect(rt, pto_alloc_tensors(rt, &external, 1, NULL), PTO_EINVAL);
  fixture_state_expect(rt, &before);
  return 0;
}

/* ---- packing ---- */

static int packed_in_order_of_parameters(struct pto_runtime *rt, struct fixture *f) {
  static const uint64_t sizes[] = {1, 1024, 1025, 3000, 1};
  static const uint64_t places[] = {0, 1024, 2048, 4096, 7168};
  struct pto_tensor t[5];
  for (int i = 0; i < 5; i++) t[i] = fixture_managed(rt, sizes[i]);
  NOTING(rt, "ooooo", &t[0], &t[1], &t[2], &t[3], &t[4]);
  fixture_drain(rt);
  for (int i = 0; i < 5; i++) assert_ptr_equal(seen[i], heap_at(rt, 0, places[i]));
  assert_int_equal(rt->rings.rings[0].heap.head, 8192);
  return 0;
}
static int every_output_is_aligned(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t size = 1; size < 5000; size += 617) {
    struct pto_tensor a = fixture_managed(rt, size), b = fixture_managed(rt, size + 1);
    FIXTURE_DO(rt, .modes = "oo", .tensors = {&a, &b});
    assert_int_equal(pto_get_buffer_addr(rt, a.buffer) % 1024, 0);
    assert_int_equal(pto_get_buffer_addr(rt, b.buffer) % 1024, 0);
    assert_true(addr_of(rt, &b) >= addr_of(rt, &a) + size);
  }
  return 0;
}
static int thirty_two_outputs(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t[PTO_MAX_TENSORS];
  const struct pto_tensor *tensors[PTO_MAX_TENSORS];
  for (uint32_t i = 0; i < PTO_MAX_TENSORS; i++) {
    t[i] = fixture_managed(rt, i + 1);
    tensors[i] = &t[i];
  }
  fixture_expect(rt, fixture_submit(rt, "oooooooooooooooooooooooooooooooo", tensors, NULL), PTO_OK);
  for (uint32_t i = 0; i < PTO_MAX_TENSORS; i++) assert_ptr_equal(addr_of(rt, &t[i]), heap_at(rt, 0, 1024 * i));
  return 0;
}
static int inputs_between_outputs(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_managed(rt, 10), b = fixture_managed(rt, 10), in = fixture_bytes(f, 0, 10);
  NOTING(rt, "oio", &a, &in, &b);
  fixture_drain(rt);
  assert_ptr_equal(seen[0], heap_at(rt, 0, 0));
  assert_ptr_equal(seen[1], f->memory);
  assert_ptr_equal(seen[2], heap_at(rt, 0, 1024));
  return 0;
}

/* ---- zero-size outputs ---- */

static int zero_size_output(struct pto_runtime *rt, struct fixture *f) {
  uint64_t none = 0;
  struct pto_tensor empty = managed(rt, PTO_FLOAT32, 1, &none, 0), full = fixture_managed(rt, 10);
  FIXTURE_DO(rt, .modes = "oo", .tensors = {&empty, &full});
  assert_non_null(addr_of(rt, &empty));
  assert_ptr_equal(addr_of(rt, &full), heap_at(rt, 0, 0));
  assert_int_equal(rt->rings.rings[0].heap.head, 1024);
  FIXTURE_DO(rt, .modes = "i", .tensors = {&empty});
  assert_int_equal(fixture_edges(rt), 0);
  return 0;
}
static int only_zero_size_outputs_in_a_full_heap(struct pto_runtime *rt, struct fixture *f) {
  uint64_t none = 0;
  struct pto_tensor all = fixture_managed(rt, 4096);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&all});
  for (int i = 0; i < 5; i++) {
    struct pto_tensor empty = managed(rt, PTO_UINT8, 1, &none, 0);
    FIXTURE_DO(rt, .modes = "o", .tensors = {&empty});
    assert_int_equal(pto_heap_ring_used(&rt->rings.rings[0].heap), 4096);
  }
  return 0;
}
static int empty_view_allocates_nothing(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 16), empty = pto_tensor_slice(&t, 0, 4, 4, 1);
  struct fixture_state before;
  fixture_state_take(rt, &before);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &empty), PTO_EINVAL);
  fixture_expect_sentence(rt, "not the whole of it");
  fixture_state_expect(rt, &before);
  FIXTURE_DO(rt, .modes = "i", .tensors = {&empty});
  return 0;
}
static int empty_external_output_at_null(struct pto_runtime *rt, struct fixture *f) {
  uint64_t none = 0;
  struct pto_tensor empty = pto_external_tensor(rt, NULL, PTO_UINT8, 1, &none);
  assert_int_equal(pto_tensor_status(&empty), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&empty});
  FIXTURE_DO(rt, .modes = "b", .tensors = {&empty});
  assert_int_equal(pto_get_buffer_addr(rt, empty.buffer), 0);
  assert_int_equal(rt->rings.rings[1].heap.head, 0);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  FIXTURE_DO(rt, .modes = "i", .tensors = {&empty}); /* registered in the run's scope: lives on */
  return 0;
}

/* ---- address visible ---- */

static int kernel_sees_what_submit_gave(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 100);
  struct pto_tensor untouched = t;
  NOTING(rt, "o", &t);
  char *given = addr_of(rt, &t);
  assert_memory_equal(&t, &untouched, sizeof t);
  fixture_drain(rt);
  assert_ptr_equal(seen[0], given);
  return 0;
}
static int consumer_sees_the_address_before_the_producer_ran(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 100), part = pto_tensor_slice(&t, 0, 7, 50, 3);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&t});
  NOTING(rt, "i", &part);
  assert_int_equal(fixture_call_count, 0);
  fixture_drain(rt);
  assert_ptr_equal(seen[0], addr_of(rt, &t) + 7);
  return 0;
}
static int four_bit_output(struct pto_runtime *rt, struct fixture *f) {
  uint64_t shape = 7;
  struct pto_tensor t = managed(rt, PTO_INT4, 1, &shape, 4);
  NOTING(rt, "o", &t);
  fixture_drain(rt);
  assert_ptr_equal(seen[0], heap_at(rt, 0, 0));
  return 0;
}
static int each_ring_its_own_heap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor outer = fixture_managed(rt, 10);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&outer});
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor inner = fixture_managed(rt, 10);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&inner});
  assert_ptr_equal(addr_of(rt, &outer), heap_at(rt, 0, 0));
  assert_ptr_equal(addr_of(rt, &inner), heap_at(rt, 1, 0));
  assert_true(heap_at(rt, 1, 0) > heap_at(rt, 0, 65535));
  return pto_scope_end(rt);
}

/* ---- what is inside ---- */

static int poison_is_nan(struct pto_runtime *rt, struct fixture *f) {
  uint64_t shape = 300, index;
  struct pto_tensor t = managed(rt, PTO_FLOAT32, 1, &shape, 1200);
  fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_OK);
  for (index = 0; index < 300; index++) {
    float x = 0;
    fixture_expect(rt, pto_read_element(rt, &t, &index, &x), PTO_OK);
    assert_true(x != x);
  }
  struct pto_tensor halves = pto_tensor_reinterpret(&t, PTO_FLOAT16);
  uint16_t half = 0;
  index = 599;
  fixture_expect(rt, pto_read_element(rt, &halves, &index, &half), PTO_OK);
  float wide = pto_fp16_to_f32(half);
  assert_true(wide != wide);
  for (uint32_t dtype = PTO_FLOAT8_E4M3FN; dtype <= PTO_FLOAT8_E8M0FNU; dtype++) {
    const struct pto_tensor codes = pto_tensor_reinterpret(&t, dtype);
    uint8_t code = 0;
    fixture_expect(rt, pto_read_element(rt, &codes, &index, &code), PTO_OK);
    wide = pto_small_float_to_f32(dtype, code);
    assert_true(wide != wide);
  }
  return 0;
}
static int poison_again_on_recycled_memory(struct pto_runtime *rt, struct fixture *f) {
  for (int round = 0; round < 3; round++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    struct pto_tensor t = fixture_managed(rt, 1024);
    fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_OK);
    assert_int_equal(fixture_heap_offset(rt, 1, t.buffer), 0);
    for (uint64_t i = 0; i < 1024; i++) {
      uint8_t x = 0;
      fixture_expect(rt, pto_read_element(rt, &t, &i, &x), PTO_OK);
      assert_int_equal(x, 0xff);
      x = (uint8_t)i;
      fixture_expect(rt, pto_write_element(rt, &t, &i, &x), PTO_OK);
    }
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}
static int poison_leaves_existing_memory(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 16), ours = fixture_bytes(f, 0, 16);
  uint64_t index = 3;
  uint8_t x = 77;
  fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_OK);
  fixture_expect(rt, pto_write_element(rt, &t, &index, &x), PTO_OK);
  f->memory[5] = 9;
  FIXTURE_DO(rt, .modes = "oo", .tensors = {&t, &ours});
  fixture_drain(rt);
  x = 0;
  fixture_expect(rt, pto_read_element(rt, &t, &index, &x), PTO_OK);
  assert_int_equal(x, 77);
  assert_int_equal(f->memory[5], 9);
  return 0;
}
static int garbage_is_what_was_there(struct pto_runtime *rt, struct fixture *f) {
  if (rt->arena.is_checked) return 0; /* reading it would be reported: tests/tree/memory_checkers_test.sh */
  for (int round = 0; round < 2; round++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    struct pto_tensor t = fixture_managed(rt, 8);
    uint64_t index = 0;
    uint8_t x = 0;
    fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_OK);
    fixture_expect(rt, pto_read_element(rt, &t, &index, &x), PTO_OK);
    assert_int_equal(x, round ? 55 : 0);
    x = 55;
    fixture_expect(rt, pto_write_element(rt, &t, &index, &x), PTO_OK);
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}

/* ---- dense and whole only ---- */

struct refusal {
  uint32_t kind;
  const char *sentence;
};
static struct pto_tensor partial_tensor(struct pto_runtime *rt, uint32_t kind) {
  uint64_t shape[2] = {8, 8}, small[2] = {4, 8}, wide[2] = {64, 64};
  struct pto_tensor t = managed(rt, PTO_FLOAT32, 2, shape, 256);
  switch (kind) {
  case 0:
    return pto_tensor_slice(&t, 0, 0, 4, 1);
  case 1:
    return pto_tensor_slice(&t, 0, 4, 8, 1);
  case 2:
    return pto_tensor_slice(&t, 1, 0, 8, 2);
  case 3:
    return pto_tensor_transpose(&t, 0, 1);
  case 4:
    return managed(rt, PTO_FLOAT32, 2, small, 256);
  case 5:
    return managed(rt, PTO_FLOAT32, 2, shape, 2048);
  default:
    return pto_tensor_broadcast(&t, 2, wide);
  }
}
static int refused_allocation(struct pto_runtime *rt, struct fixture *f) {
  const struct refusal *refusal = fixture_current->context;
  struct pto_tensor good = fixture_managed(rt, 10), bad = partial_tensor(rt, refusal->kind);
  struct fixture_state before;
  fixture_state_take(rt, &before);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "oo", &good, &bad), PTO_EINVAL);
  fixture_expect_sentence(rt, refusal->sentence);
  fixture_expect_sentence(rt, refusal->kind == 6 ? "view" : "param 1");
  fixture_state_expect(rt, &before);
  assert_null(addr_of(rt, &good));
  FIXTURE_DO(rt, .modes = "o", .tensors = {&good});
  assert_ptr_equal(addr_of(rt, &good), heap_at(rt, 0, 0));
  return 0;
}
static int twice_in_one_task(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 10);
  struct fixture_state before;
  fixture_state_take(rt, &before);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "oo", &t, &t), PTO_EINVAL);
  fixture_expect_sentence(rt, "params 0 and 1 both mean buffer 1");
  fixture_state_expect(rt, &before);
  return 0;
}
static int whole_through_other_shapes(struct pto_runtime *rt, struct fixture *f) {
  uint64_t shape[2] = {8, 8}, line = 64;
  struct pto_tensor a = managed(rt, PTO_FLOAT32, 2, shape, 256), b = managed(rt, PTO_FLOAT32, 2, shape, 256);
  struct pto_tensor flat = pto_tensor_reshape(&a, 1, &line), bytes = pto_tensor_reinterpret(&b, PTO_INT8);
  FIXTURE_DO(rt, .modes = "oo", .tensors = {&flat, &bytes});
  assert_ptr_equal(addr_of(rt, &a), heap_at(rt, 0, 0));
  assert_ptr_equal(addr_of(rt, &b), heap_at(rt, 0, 1024));
  return 0;
}
static int no_address_for_strangers(struct pto_runtime *rt, struct fixture *f) {
  struct pto_buffer none = {0, 0, 0, 0}, wild = {7, UINT64_MAX, 0, 16};
  assert_int_equal(pto_get_buffer_addr(rt, none), 0);
  assert_int_equal(pto_get_buffer_addr(rt, wild), 0);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_managed(rt, 10);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t});
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  assert_int_equal(pto_get_buffer_addr(rt, t.buffer), 0);
  return 0;
}
static int sizes_beyond_32_bits(struct pto_runtime *rt, struct fixture *f) {
  uint64_t size = (UINT64_C(1) << 32) + 1024, small = 10;
  struct pto_tensor big = managed(rt, PTO_UINT8, 1, &size, size), after = managed(rt, PTO_UINT8, 1, &small, 10);
  FIXTURE_DO(rt, .modes = "oo", .tensors = {&big, &after});
  assert_ptr_equal(addr_of(rt, &after), heap_at(rt, 0, size));
  struct pto_tensor end = pto_tensor_slice(&big, 0, size - 1, size, 1);
  FIXTURE_DO(rt, .modes = "i", .tensors = {&end});
  assert_int_equal(fixture_edges(rt), 1);
  return 0;
}

#define REFUSAL(number, text)                                                                                          \
  &(const struct refusal) { number, text }
/* ---- what it begins with, and what it is called ---- */

static int output_of_no_bytes(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor none = managed(rt, PTO_UINT8, 2, (const uint64_t[]){4, 0}, 0);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &none), PTO_OK);
  return 0;
}

static int initial_nibbles(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor t = managed(rt, PTO_UINT4, 1, (const uint64_t[]){5}, 3);
  const struct pto_initial initial = {.bits = 0xa6};
  const struct pto_launch launch = {.aiv0 = fixture_kernel("o"), .initial = &initial, .initial_count = 1};
  const struct pto_param param = pto_output(&t);
  fixture_expect(rt, pto_submit(rt, &launch, &param, 1, NULL), PTO_OK);
  for (int i = 0; i < 3; i++) assert_int_equal((uint8_t)addr_of(rt, &t)[i], 0x66);
  return 0;
}

static int name_of_bytes(struct pto_runtime *rt, struct fixture *f) {
  char text[32], number[32];
  const struct pto_tensor first = fixture_bytes(f, 0, 64), again = fixture_bytes(f, 0, 64);
  const uint64_t addr = (uintptr_t)f->memory + 8;
  snprintf(number, sizeof number, "buffer %llu", (unsigned long long)again.buffer.id);
  assert_string_equal(pto_runtime_name_bytes(rt, addr, text, sizeof text), number); /* the last registration */
  pto_buffer_label(rt, first.buffer, "weights");
  assert_string_equal(pto_runtime_name_bytes(rt, addr, text, sizeof text), "weights");
  return 0;
}

static uint64_t watched_bytes, watched_writes;
static void watch_allocation(void *context, uint64_t number, uint64_t addr, uint64_t size_bytes) {}
static void watch_write(void *context, uint64_t addr, uint64_t size_bytes) {
  watched_bytes += size_bytes;
  watched_writes++;
}
static int initial_of_some_and_no_bytes(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor some = managed(rt, PTO_UINT8, 1, (const uint64_t[]){64}, 64),
                          none = managed(rt, PTO_UINT8, 1, (const uint64_t[]){0}, 0);
  const struct pto_initial initials[] = {{.param = 0, .bits = 5}, {.param = 1, .bits = 5}};
  const struct pto_launch launch = {.aiv0 = fixture_kernel("oo"), .initial = initials, .initial_count = 2};
  const struct pto_param params[] = {pto_output(&some), pto_output(&none)};
  fixture_expect(rt, pto_submit(rt, &launch, params, 2, NULL), PTO_OK);
  return 0;
}
static int nothing(struct pto_runtime *rt, struct fixture *f) { return 0; }
static void watch_initials(struct fixture *f) {
  static const struct pto_memory_watch watch = {
      .allocated = watch_allocation, .registered = watch_allocation, .host_writes = watch_write};
  watched_bytes = watched_writes = 0;
  pto_runtime_watch(f->rt, &watch);
  fixture_run(f, initial_of_some_and_no_bytes, PTO_OK);
  pto_runtime_watch(f->rt, NULL);
  assert_int_equal(watched_bytes, 64);
  assert_int_equal(watched_writes, 1);
}

static const struct fixture_case cases[] = {
    {.name = "an output of no bytes is one", .body = output_of_no_bytes},
    {.name = "memory of 4-bit elements begins with the value in both", .body = initial_nibbles},
    {.name = "bytes are called as the registration that has a label", .body = name_of_bytes},
    {.name = "a watch sees what memory begins with, where it has bytes", .body = nothing, .after = watch_initials},

    {.name = "an output of a buffer without memory gets it at the submit", .body = fresh_buffer_gets_memory},
    {.name = "an output of a buffer with memory is written in place and takes no heap",
     .body = second_output_writes_in_place},
    {.name = "an output of external memory takes no heap", .body = external_output_takes_no_heap},
    {.name = "a view of a buffer with memory is written in place", .body = view_of_written_buffer},
    {.name = "one task may have outputs of both modes", .body = mixed_modes_in_one_task},
    {.name = "alloc_tensors gives memory at once and counts as the writer", .body = alloc_tensors_gives_memory},
    {.name = "alloc_tensors of no tensors is a task that is done", .body = alloc_of_nothing},
    {.name = "alloc_tensors of a buffer with memory is refused and changes nothing", .body = alloc_of_memory_refused},
    {.name = "the outputs of a task are packed in the order of its parameters", .body = packed_in_order_of_parameters},
    {.name = "every output is aligned whatever the sizes before it", .body = every_output_is_aligned},
    {.name = "thirty two outputs of one task each have their place", .body = thirty_two_outputs},
    {.name = "inputs between outputs take no place among them", .body = inputs_between_outputs},
    {.name = "an output without bytes has an address, takes no heap and gets no edge", .body = zero_size_output},
    {.name = "outputs without bytes fit a heap that is full",
     .body = only_zero_size_outputs_in_a_full_heap,
     .heap_bytes = 4096},
    {.name = "an empty view of a buffer without memory allocates nothing", .body = empty_view_allocates_nothing},
    {.name = "an empty external output stays external", .body = empty_external_output_at_null},
    {.name = "the kernel sees the address that submit gave, the caller's descriptor stays as it is",
     .body = kernel_sees_what_submit_gave},
    {.name = "a consumer has the address before the producer has run",
     .body = consumer_sees_the_address_before_the_producer_ran},
    {.name = "an output of an odd number of 4-bit elements is whole", .body = four_bit_output},
    {.name = "each scope depth allocates from the heap of its own ring", .body = each_ring_its_own_heap},
    {.name = "poison is a NaN in every element of every float", .body = poison_is_nan, .poison = true},
    {.name = "recycled memory is poisoned again",
     .body = poison_again_on_recycled_memory,
     .poison = true,
     .heap_bytes = 1024},
    {.name = "poison touches fresh outputs alone", .body = poison_leaves_existing_memory, .poison = true},
    {.name = "without poison a fresh output holds what was there",
     .body = garbage_is_what_was_there,
     .heap_bytes = 1024},
    {.name = "the first half of a buffer is no allocation",
     .body = refused_allocation,
     .context = REFUSAL(0, "128 bytes")},
    {.name = "the second half of a buffer is no allocation",
     .body = refused_allocation,
     .context = REFUSAL(1, "offset 32")},
    {.name = "every second column of a buffer is no allocation",
     .body = refused_allocation,
     .context = REFUSAL(2, "strided")},
    {.name = "a transposed buffer is no allocation", .body = refused_allocation, .context = REFUSAL(3, "strided")},
    {.name = "a dense tensor smaller than its buffer is no allocation",
     .body = refused_allocation,
     .context = REFUSAL(4, "(256 bytes)")},
    {.name = "a dense tensor in a padded buffer is no allocation",
     .body = refused_allocation,
     .context = REFUSAL(5, "(2048 bytes)")},
    {.name = "one buffer allocated twice by one task is refused", .body = twice_in_one_task},
    {.name = "a whole buffer may be allocated as any shape and dtype", .body = whole_through_other_shapes},
    {.name = "buffers that are none or stale have no address", .body = no_address_for_strangers},
    {.name = "outputs larger than 32 bits can say are placed and reached",
     .body = sizes_beyond_32_bits,
     .heap_bytes = UINT64_C(1) << 33},
};

int main(void) { return fixture_run_cases("output_allocation", cases, PTO_ARRAY_LENGTH(cases)); }
