/* SPDX-License-Identifier: MIT */
/*
 * What the kernel guard hides around a kernel, against a byte at a time: never a byte of a parameter, and all others up
 * to a margin away from one.  memory_checker.h's functions are the test's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/watch/kernel_guard.h>
#include <runtime/port/core_port.h>

#define MEMORY_BYTES 8192u
#define MOST_TENSORS 3u

static _Alignas(1024) char memory[MEMORY_BYTES];
static bool is_hidden[MEMORY_BYTES], is_fresh_hidden[MEMORY_BYTES], is_written[MEMORY_BYTES];

/* ---- in the place of memory_checker.c ---- */

static void set(bool *map, const void *addr, uint64_t size_bytes) {
  uint64_t first = (uint64_t)((const char *)addr - memory);
  assert_true(first < MEMORY_BYTES && size_bytes <= MEMORY_BYTES - first);
  memset(map + first, 1, size_bytes);
}
void pto_memory_hide(struct pto_hidden_list *list, void *addr, uint64_t size_bytes) {
  set(is_hidden, addr, size_bytes);
  list->count++;
}
void pto_memory_hide_fresh(struct pto_hidden_list *list, void *addr, uint64_t size_bytes) {
  set(is_fresh_hidden, addr, size_bytes);
  list->count++;
}
void pto_memory_mark_written(void *addr, uint64_t size_bytes) { set(is_written, addr, size_bytes); }
void pto_memory_show(struct pto_hidden_list *list) {
  memset(is_hidden, 0, sizeof is_hidden);
  memset(is_fresh_hidden, 0, sizeof is_fresh_hidden);
  list->count = 0;
}

/* ---- a port that runs what it is sent ---- */

static struct pto_core core = {.kind = PTO_AIV};
static bool run_at_once(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                        struct pto_completion *completion) {
  assert_int_equal(pto_message_run(message, &core), 7); /* the kernel's own status comes through */
  return true;
}
static const struct pto_port *destroyed;
static void destroy_port(struct pto_port *port) { destroyed = port; }
static const struct pto_port_ops plain_ops = {.dispatch = run_at_once, .destroy = destroy_port};

/* ---- a task ---- */

static struct {
  struct pto_payload header;
  struct pto_kernel_tensor tensors[MOST_TENSORS];
  uint64_t shapes[MOST_TENSORS][PTO_MAX_DIMS], strides[MOST_TENSORS][PTO_MAX_DIMS];
} task;
static struct pto_kernel_param params[2][MOST_TENSORS];
static struct pto_kernel kernels[2];
static uint32_t calls, scalars;     /* scalars: parameters in front of the tensors */
static uint64_t lo_bound, hi_bound; /* of the memory that the tensors are in */
static bool is_margin_expected, is_exact, is_written_expected = true;

/* Every byte of a tensor, index by index. */
static void mark_tensor(const struct pto_kernel_tensor *t, bool *map) {
  uint64_t index[PTO_MAX_DIMS] = {0}, size = pto_dtype_size(t->dtype);
  for (uint32_t d = 0; d < t->ndims; d++)
    if (t->shape[d] == 0) return;
  for (;;) {
    uint64_t element = 0;
    for (uint32_t d = 0; d < t->ndims; d++) element += index[d] * t->strides[d];
    set(map, (char *)t->addr + element * size, size);
    uint32_t d = t->ndims;
    while (d > 0 && ++index[d - 1] == t->shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

static uint32_t own_mode(uint32_t i) { return params[0][scalars + i].mode; }
static uint32_t union_mode(uint32_t i) {
  return own_mode(i) | (task.header.kernels[2] ? params[1][scalars + i].mode : 0);
}

static int check_while_running(const struct pto_kernel_args *args) {
  static bool of_params[MEMORY_BYTES], of_written[MEMORY_BYTES], of_read[MEMORY_BYTES];
  memset(of_params, 0, sizeof of_params);
  memset(of_written, 0, sizeof of_written);
  memset(of_read, 0, sizeof of_read);
  calls++;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    mark_tensor(&args->tensors[i], of_params);
    if (union_mode(i) & PTO_OUTPUT) mark_tensor(&args->tensors[i], of_written);
    if (union_mode(i) == PTO_INPUT && own_mode(i) != PTO_UNUSED) mark_tensor(&args->tensors[i], of_read);
  }
  uint64_t last = 0; /* one behind the last byte of a parameter; 0: none yet */
  for (uint64_t x = 0; x < MEMORY_BYTES; x++) {
    if (of_params[x]) last = x + 1;
    uint64_t next = x;
    while (next < MEMORY_BYTES && next < x + PTO_GUARD_MARGIN_BYTES + 1 && !of_params[next]) next++;
    bool is_near = (last && x < last + PTO_GUARD_MARGIN_BYTES) ||
                   (next < MEMORY_BYTES && next <= x + PTO_GUARD_MARGIN_BYTES && of_params[next]);
    bool is_expected = is_margin_expected && is_near && !of_params[x] && x >= lo_bound && x < hi_bound;
    if (is_hidden[x] && !is_expected) fail_msg("byte %llu is hidden", (unsigned long long)x);
    if (is_exact && is_expected && !is_hidden[x]) fail_msg("byte %llu is open", (unsigned long long)x);
    assert_int_equal(is_written[x], is_written_expected && of_written[x]);
    if (is_margin_expected) assert_int_equal(is_fresh_hidden[x], of_read[x]);
  }
  return 7;
}

static void set_tensor(uint32_t i, uint64_t offset, uint32_t dtype, uint32_t ndims, const uint64_t *shape,
                       const uint64_t *strides) {
  memcpy(task.shapes[i], shape, ndims * sizeof *shape);
  memcpy(task.strides[i], strides, ndims * sizeof *strides);
  task.tensors[i] = (struct pto_kernel_tensor){memory + offset, task.shapes[i], task.strides[i], ndims, dtype};
}

/* Sends the task once through a guard over a port with so many workers. */
static void send(uint32_t tensor_count, uint32_t worker_count, uint8_t flags) {
  struct pto_port port = {.ops = &plain_ops, .worker_count = worker_count};
  struct pto_external_range range = {(uintptr_t)memory + lo_bound, (uintptr_t)memory + hi_bound, 0};
  bool is_external = lo_bound != 0 || hi_bound != MEMORY_BYTES;
  const struct pto_buffer_registry registry = {.ranges = &range, .range_count = is_external};
  const struct pto_gm_arena arena = {.memory = {memory, MEMORY_BYTES}, .is_checked = true},
                            elsewhere = {.is_checked = true};
  struct pto_kernel_guard *guard = pto_kernel_guard_create(&port, is_external ? &elsewhere : &arena, &registry);
  for (uint32_t k = 0; k < 2; k++)
    kernels[k] = (struct pto_kernel){
        .name = "checked", .params = params[k], .param_count = scalars + tensor_count, .run = check_while_running};
  task.header.tensor_count = tensor_count;
  task.header.kernels[1] = &kernels[0];
  task.header.held_count_and_guard = 5; /* the count of held memory stays below the guard's address */
  const struct pto_message message = {.payload = &task.header,
                                      .run = check_while_running,
                                      .role = 1,
                                      .tensor_count = (uint8_t)tensor_count,
                                      .flags = flags};
  memset(is_written, 0, sizeof is_written);
  port.ops->dispatch(&port, &message, 0, NULL);
  assert_int_equal(task.header.held_count_and_guard & (PTO_GUARD_ALIGN - 1), 5);
  for (uint32_t x = 0; x < MEMORY_BYTES; x++) assert_false(is_hidden[x] || is_fresh_hidden[x]);
  port.ops->destroy(&port);
  assert_ptr_equal(destroyed, &port);
  assert_ptr_equal(port.ops, &plain_ops); /* an engine finds its own operations again */
  pto_kernel_guard_destroy(guard);
}

/* A view as the public calls make them: a stepped sub-box of a dense root, its dimensions in any order. */
static void random_view(struct pto_rng *rng, uint32_t i) {
  static const uint32_t dtypes[] = {PTO_UINT8, PTO_FLOAT16, PTO_FLOAT32, PTO_INT64};
  uint32_t dtype = dtypes[pto_rng_below(rng, PTO_ARRAY_LENGTH(dtypes))], ndims = (uint32_t)pto_rng_below(rng, 4);
  uint64_t shape[3], strides[3], root = 1, first = 0, size = pto_dtype_size(dtype);
  for (uint32_t d = ndims; d-- > 0;) {
    uint64_t extent = 1 + pto_rng_below(rng, 9), step = 1 + pto_rng_below(rng, 3);
    uint64_t begin = pto_rng_below(rng, extent);
    shape[d] = 1 + pto_rng_below(rng, (extent - begin - 1) / step + 1);
    strides[d] = root * step;
    first += begin * root;
    root *= extent;
  }
  for (uint32_t d = 1; d < ndims; d++) {
    uint32_t other = (uint32_t)pto_rng_below(rng, d + 1);
    uint64_t n = shape[d], s = strides[d];
    shape[d] = shape[other], strides[d] = strides[other];
    shape[other] = n, strides[other] = s;
  }
  uint64_t places = (MEMORY_BYTES - root * size) / size;
  set_tensor(i, (pto_rng_below(rng, places + 1) + first) * size, dtype, ndims, shape, strides);
}

static void margins_are_hidden_up_to_the_next_byte_of_a_parameter(void **state) {
  static const uint32_t modes[] = {PTO_INPUT, PTO_OUTPUT, PTO_INOUT};
  struct pto_rng rng = {20261123};
  lo_bound = 0, hi_bound = MEMORY_BYTES;
  is_margin_expected = is_exact = true;
  for (int round = 0; round < 1000; round++) {
    uint32_t count = 1 + (uint32_t)pto_rng_below(&rng, MOST_TENSORS);
    for (uint32_t i = 0; i < count; i++) {
      random_view(&rng, i);
      params[0][i].mode = modes[pto_rng_below(&rng, PTO_ARRAY_LENGTH(modes))];
    }
    calls = 0;
    send(count, 1, 0);
    assert_int_equal(calls, 1);
  }
}

static void the_first_and_the_last_byte_of_the_arena_have_margins_too(void **state) {
  const uint64_t shape[] = {16}, strides[] = {1};
  lo_bound = 0, hi_bound = MEMORY_BYTES;
  is_margin_expected = is_exact = true;
  set_tensor(0, 0, PTO_FLOAT32, 1, shape, strides);
  set_tensor(1, MEMORY_BYTES - 64, PTO_FLOAT32, 1, shape, strides);
  params[0][0].mode = PTO_INPUT;
  params[0][1].mode = PTO_OUTPUT;
  send(2, 1, 0);
}

static void no_byte_of_a_parameter_is_hidden_whatever_its_strides(void **state) {
  struct pto_rng rng = {20261124};
  lo_bound = 0, hi_bound = MEMORY_BYTES;
  is_margin_expected = true;
  is_exact = false;
  for (int round = 0; round < 400; round++) {
    uint64_t shape[3], strides[3];
    for (uint32_t d = 0; d < 3; d++) {
      shape[d] = 1 + pto_rng_below(&rng, 5);
      strides[d] = pto_rng_below(&rng, 40);
    }
    set_tensor(0, 4 * pto_rng_below(&rng, 100), PTO_UINT32, 3, shape, strides);
    random_view(&rng, 1);
    params[0][0].mode = params[0][1].mode = PTO_INPUT;
    send(2, 1, 0);
  }
}

static void margins_in_external_memory_end_where_its_registrations_do(void **state) {
  const uint64_t shape[] = {4, 4}, strides[] = {8, 1};
  lo_bound = 1000, hi_bound = 1120;
  is_margin_expected = is_exact = true;
  set_tensor(0, 1004, PTO_FLOAT32, 2, shape, strides);
  params[0][0].mode = PTO_INPUT;
  /* written bytes are marked in the arena alone */
  send(1, 1, 0);
}

/* Scalars have no bytes, empty tensors none, what only another kernel of the task reads is open, and around memory that
 * has no owner nothing is hidden. */
static void parameters_without_bytes_of_their_own_hide_nothing(void **state) {
  const uint64_t shape[] = {16}, none[] = {0}, strides[] = {1};
  lo_bound = 1000, hi_bound = 1200;
  is_margin_expected = is_exact = true;
  set_tensor(0, 1064, PTO_FLOAT32, 1, shape, strides);
  set_tensor(1, 1100, PTO_FLOAT32, 1, none, strides);
  params[0][0].mode = PTO_SCALAR;
  params[0][1].mode = params[0][2].mode = PTO_INPUT;
  scalars = 1;
  send(2, 1, 0);
  scalars = 0;
  lo_bound = 0, hi_bound = MEMORY_BYTES;
  set_tensor(0, 1024, PTO_FLOAT32, 1, shape, strides);
  params[0][0].mode = PTO_UNUSED;
  params[1][0].mode = PTO_INPUT;
  task.header.kernels[2] = &kernels[1];
  send(1, 1, 0);
  task.header.kernels[2] = NULL;
  lo_bound = 1000, hi_bound = 1120;
  set_tensor(0, 4096, PTO_FLOAT32, 1, shape, strides); /* neither there nor in the arena */
  params[0][0].mode = PTO_INPUT;
  send(1, 1, 0);
  params[0][0].mode = PTO_INOUT;
  set_tensor(0, 1004, PTO_FLOAT32, 1, shape, strides);
  is_written_expected = false; /* which is kept of the arena alone */
  send(1, 1, 0);
  is_written_expected = true;
}

static void where_kernels_run_side_by_side_or_wait_no_margin_is_hidden(void **state) {
  const uint64_t shape[] = {4, 4}, strides[] = {8, 1};
  lo_bound = 0, hi_bound = MEMORY_BYTES;
  is_margin_expected = is_exact = false;
  set_tensor(0, 1024, PTO_FLOAT32, 2, shape, strides);
  set_tensor(1, 4096, PTO_FLOAT32, 2, shape, strides);
  params[0][0].mode = PTO_INPUT;
  params[0][1].mode = PTO_OUTPUT;
  send(2, 2, 0);
  send(2, 1, PTO_MESSAGE_WAITS);
}

static void what_another_kernel_of_the_task_writes_is_not_hidden_from_who_reads_it(void **state) {
  const uint64_t shape[] = {16}, strides[] = {1};
  lo_bound = 0, hi_bound = MEMORY_BYTES;
  is_margin_expected = is_exact = true;
  set_tensor(0, 1024, PTO_FLOAT32, 1, shape, strides);
  set_tensor(1, 2048, PTO_FLOAT32, 1, shape, strides);
  params[0][0].mode = PTO_INPUT;
  params[1][0].mode = PTO_OUTPUT;
  params[0][1].mode = PTO_OUTPUT;
  params[1][1].mode = PTO_UNUSED;
  task.header.kernels[2] = &kernels[1];
  send(2, 1, 0);
  task.header.kernels[2] = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(margins_are_hidden_up_to_the_next_byte_of_a_parameter),
      cmocka_unit_test(the_first_and_the_last_byte_of_the_arena_have_margins_too),
      cmocka_unit_test(no_byte_of_a_parameter_is_hidden_whatever_its_strides),
      cmocka_unit_test(margins_in_external_memory_end_where_its_registrations_do),
      cmocka_unit_test(parameters_without_bytes_of_their_own_hide_nothing),
      cmocka_unit_test(where_kernels_run_side_by_side_or_wait_no_margin_is_hidden),
      cmocka_unit_test(what_another_kernel_of_the_task_writes_is_not_hidden_from_who_reads_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
