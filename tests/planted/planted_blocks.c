/* SPDX-License-Identifier: MIT */
/*
 * Blocks and cores of one task that touch the same bytes, and results that depend on which task came first although
 * every declared access is ordered.
 */
#include <stdatomic.h>

#include <tests/planted/planted.h>

#define BUGS(X)                                                                                                        \
  X(same_row, "two neighbouring blocks write the same row: block_index / 2 in the place of block_index")               \
  X(added_blocks, "all blocks add to one INOUT at once; ACCUMULATE would let them take turns")                         \
  X(halo_read, "each block reads the row of the block before it, which that one writes")                               \
  X(running_sum, "each block adds to the sum that the block before it writes, in an OUTPUT")                           \
  X(kept_log, "blocks add to rows of their own and to one log, and no ACCUMULATE lets them run one after another")     \
  X(half_shared, "blocks have an odd number of elements of 4 bits each, so that neighbours share a byte")              \
  X(mixed_cores, "both vector cores of a MIX task write the first half")                                               \
  X(ticket, "each task takes the next number from a counter that no task declares")                                    \
  X(host_peek, "the host waits for one task, and reads by its pointer what another one writes")                        \
  X(peek_behind, "the host reads by its pointer what the task writes that it has just submitted")                      \
  X(peek_last, "the host reads by its pointer what the last task writes, and waits for nothing behind it")             \
  X(filled_again, "the host fills by its pointer, for the next task, what the one before it reads")

static int write_row_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  uint64_t row = a->core->block_index / a->scalars[0].u64;
  for (uint64_t j = 0; j < PLANTED_COLUMNS; j++) z[row * PLANTED_COLUMNS + j] = a->core->block_index;
  return 0;
}
static const struct pto_kernel_param of_inout_value[] = {ANY("x", PTO_INOUT), U64("value")};
static const struct pto_kernel write_row = AIV_KERNEL("write_row", of_inout_value, write_row_run);

static void same_row(struct planted *p) {
  struct pto_tensor x = array_x(p);
  struct pto_launch launch = {.aiv0 = &write_row, .block_count = 4};
  put(p, launch, PARAMS(pto_inout(&x), pto_scalar_u64(p->is_buggy ? 2 : 1)));
}

static int add_index_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr;
  for (uint64_t j = 0; j < PLANTED_COLUMNS; j++) z[j] += 7 * a->core->block_index + 1;
  return 0;
}
static const struct pto_kernel_param of_accumulate[] = {ANY("sum", PTO_ACCUMULATE)};
static const struct pto_kernel add_at_once = AIV_KERNEL("add_at_once", of_inout, add_index_run);
static const struct pto_kernel add_in_turn = AIV_KERNEL("add_in_turn", of_accumulate, add_index_run);

static void added_blocks(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0);
  struct pto_launch at_once = {.aiv0 = &add_at_once, .block_count = 4};
  struct pto_launch in_turn = {.aiv0 = &add_in_turn, .block_count = 4};
  if (p->is_buggy)
    put(p, at_once, PARAMS(pto_inout(&row)));
  else
    put(p, in_turn, PARAMS(pto_accumulate(&row)));
}

/* Row b of x += row b − value, block by block. */
static int add_halo_run(const struct pto_kernel_args *a) {
  uint32_t *x = a->tensors[0].addr;
  uint64_t row = a->core->block_index, before = row >= a->scalars[0].u64 ? row - a->scalars[0].u64 : row;
  for (uint64_t j = 0; j < PLANTED_COLUMNS; j++) x[row * PLANTED_COLUMNS + j] += x[before * PLANTED_COLUMNS + j];
  return 0;
}
static const struct pto_kernel add_halo = AIV_KERNEL("add_halo", of_inout_value, add_halo_run);

static void halo_read(struct planted *p) {
  struct pto_tensor x = array_x(p);
  struct pto_launch launch = {.aiv0 = &add_halo, .block_count = 4};
  put(p, launch, PARAMS(pto_inout(&x), pto_scalar_u64(p->is_buggy ? 1 : 0)));
}

/* Row b of z = row 0 + … + row b of x: from the row before of z, or from the rows of x. */
static int running_sum_run(const struct pto_kernel_args *a) {
  const uint32_t *x = a->tensors[0].addr;
  const uint64_t row = a->core->block_index;
  uint32_t *z = a->tensors[1].addr;
  for (uint64_t j = 0; j < PLANTED_COLUMNS; j++) {
    const bool is_buggy = a->scalars[0].u64 != 0;
    uint32_t sum = is_buggy && row ? z[(row - 1) * PLANTED_COLUMNS + j] : 0;
    for (uint64_t i = is_buggy ? row : 0; i <= row; i++) sum += x[i * PLANTED_COLUMNS + j];
    z[row * PLANTED_COLUMNS + j] = sum;
  }
  return 0;
}
static const struct pto_kernel_param of_running_sum[] = {ANY("x", PTO_INPUT), ANY("z", PTO_OUTPUT), U64("mistake")};
static const struct pto_kernel running_sum_kernel = AIV_KERNEL("running_sum", of_running_sum, running_sum_run);

static void running_sum(struct planted *p) {
  const struct pto_tensor x = array_x(p), from = pto_tensor_slice(&x, 0, 0, 4, 1),
                          to = pto_tensor_slice(&x, 0, 4, 8, 1);
  const struct pto_launch launch = {.aiv0 = &running_sum_kernel, .block_count = 4};
  put(p, launch, PARAMS(pto_input(&from), pto_output(&to), pto_scalar_u64(p->is_buggy)));
}

/* Row b += 1, and the log tells in which order the blocks came. */
static int add_and_log_run(const struct pto_kernel_args *a) {
  uint32_t *row = (uint32_t *)a->tensors[0].addr + a->core->block_index * PLANTED_COLUMNS, *log = a->tensors[1].addr;
  for (uint64_t j = 0; j < PLANTED_COLUMNS; j++) row[j]++;
  *log = 3 * *log + a->core->block_index;
  return 0;
}
static const struct pto_kernel_param of_logged[] = {ANY("x", PTO_INOUT), ANY("log", PTO_INOUT)},
                                     of_logged_sum[] = {ANY("x", PTO_ACCUMULATE), ANY("log", PTO_INOUT)};
static const struct pto_kernel log_at_once = AIV_KERNEL("log_at_once", of_logged, add_and_log_run);
static const struct pto_kernel log_in_order = AIV_KERNEL("log_in_order", of_logged_sum, add_and_log_run);

static void kept_log(struct planted *p) {
  const struct pto_tensor x = array_x(p), log = slot(p, 0);
  const struct pto_launch launch = {.aiv0 = p->is_buggy ? &log_at_once : &log_in_order, .block_count = 4};
  put_fill(p, &log, 0);
  put(p, launch, PARAMS(p->is_buggy ? pto_inout(&x) : pto_accumulate(&x), pto_inout(&log)));
}

/* Each block so many elements of 4 bits as the scalar says, two a byte. */
static int put_nibbles_run(const struct pto_kernel_args *a) {
  uint8_t *z = a->tensors[0].addr;
  const uint64_t first = a->core->block_index * a->scalars[0].u64;
  for (uint64_t i = first; i < first + a->scalars[0].u64; i++)
    z[i / 2] = i % 2 ? (uint8_t)((z[i / 2] & 15) | 0x70) : (uint8_t)((z[i / 2] & 240) | 7);
  return 0;
}
static const struct pto_kernel put_nibbles = AIV_KERNEL("put_nibbles", of_out_value, put_nibbles_run);

static void half_shared(struct planted *p) {
  const uint64_t numel = p->is_buggy ? 7 : 8, shape[] = {4 * numel};
  const struct pto_tensor z = pto_managed_tensor(p->rt, pto_create_buffer(p->rt, 2 * numel), PTO_INT4, 1, shape);
  const struct pto_launch launch = {.aiv0 = &put_nibbles, .block_count = 4};
  put(p, launch, PARAMS(pto_output(&z), pto_scalar_u64(numel)));
}

/* Vector core n writes half n of the first row; where the scalar says so, both write the first. */
static int write_half_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[0].addr, lane = a->core->lane - 1;
  uint64_t first = a->scalars[0].u64 ? 0 : lane * (PLANTED_COLUMNS / 2);
  for (uint64_t j = 0; j < PLANTED_COLUMNS / 2; j++) z[first + j] = lane;
  return 0;
}
static const struct pto_kernel write_half = AIV_KERNEL("write_half", of_inout_value, write_half_run);

static void mixed_cores(struct planted *p) {
  struct pto_tensor x = array_x(p), row = row_of(&x, 0);
  struct pto_launch launch = {.aiv0 = &write_half, .aiv1 = &write_half};
  put(p, launch, PARAMS(pto_inout(&row), pto_scalar_u64(p->is_buggy)));
}

/* z = the counter at the address, which goes up; or what the scalar says, where there is no address. */
static int draw_run(const struct pto_kernel_args *a) {
  atomic_uint *counter = (void *)(uintptr_t)a->scalars[1].u64; /* relaxed: only who comes first matters */
  uint32_t drawn = counter ? atomic_fetch_add_explicit(counter, 1, memory_order_relaxed) : (uint32_t)a->scalars[0].u64;
  memcpy(a->tensors[0].addr, &drawn, sizeof drawn);
  return 0;
}
static const struct pto_kernel_param of_draw[] = {ANY("z", PTO_OUTPUT), U64("number"), U64("counter")};
static const struct pto_kernel draw = AIV_KERNEL("draw", of_draw, draw_run);

static void ticket(struct planted *p) {
  uint64_t counter = (uint64_t)(uintptr_t)pto_program_find(p->run, "x")->data;
  for (uint64_t i = 0; i < 4; i++) {
    struct pto_tensor z = slot(p, i);
    put(p, PLAIN(draw), PARAMS(pto_output(&z), pto_scalar_u64(i), pto_scalar_u64(p->is_buggy ? counter : 0)));
  }
}

static void host_peek(struct planted *p) {
  const uint64_t first[] = {0};
  struct pto_tensor z[3] = {slot(p, 0), slot(p, 1), slot(p, 2)};
  uint32_t other, said = 0;
  put_fill(p, &z[0], 5);
  put_fill(p, &z[1], 6);
  note(p, pto_read_element(p->rt, &z[1], first, &other));
  if (p->is_buggy)
    said = *(const uint32_t *)pto_program_find(p->run, "z")->data;
  else
    note(p, pto_read_element(p->rt, &z[0], first, &said));
  put_fill(p, &z[2], said);
}

static uint32_t *host_z(const struct planted *p) { return pto_program_find(p->run, "z")->data; }

static uint32_t said_first(struct planted *p, const struct pto_tensor *z) {
  const uint64_t first[] = {0};
  uint32_t said = 0;
  if (p->is_buggy) return *host_z(p);
  note(p, pto_read_element(p->rt, z, first, &said));
  return said;
}

static void peek_behind(struct planted *p) {
  struct pto_tensor z[2] = {slot(p, 0), slot(p, 1)};
  put_fill(p, &z[0], 5);
  put_fill(p, &z[1], said_first(p, &z[0]));
}

static void peek_last(struct planted *p) {
  struct pto_tensor z = slot(p, 0);
  put_fill(p, &z, 5);
  host_z(p)[1] = said_first(p, &z);
}

static void filled_again(struct planted *p) {
  struct pto_tensor x = array_x(p);
  uint32_t *host = pto_program_find(p->run, "x")->data;
  for (uint64_t i = 0; i < 3; i++) {
    const uint64_t row = p->is_buggy ? 0 : i;
    struct pto_tensor from = row_of(&x, row);
    host[row * PLANTED_COLUMNS] = (uint32_t)(100 * (i + 1));
    put_digest(p, &from, i);
  }
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_blocks",
                .summary = "blocks that touch the same bytes, and results that depend on who comes first");
