/* SPDX-License-Identifier: MIT */
#include <kernels/half_table.h>

#include <kernels/kernel_loops.h>
#include <runtime/base/base.h>

#include <stdatomic.h>

/* Operations that have tables: of one number, and not just rounded once.  SLOT_name is how many came before. */
#define IS_OF_ONE_FILL false
#define IS_OF_ONE_FILL_INT false
#define IS_OF_ONE_UNARY true
#define IS_OF_ONE_LANES true
#define IS_OF_ONE_LANES_STEPS true
#define IS_OF_ONE_LANES_SCALED false
#define IS_OF_ONE_LANES_BINARY false
#define IS_OF_ONE_LANES_BINARY_STEPS false
#define IS_OF_ONE_PREDICATE false
#define IS_OF_ONE_BINARY false
#define IS_OF_ONE_COMPARE false
#define IS_OF_ONE_SELECT false
#define IS_OF_ONE_SCALED false
#define IS_OF_ONE_SCALED2 false
#define IS_OF_ONE_SCALED_INT false
#define IS_OF_ONE_BOUNDED_INT false
#define IS_OF_ONE_BOUNDED2_INT false
#define IS_OF_ONE_INPLACE false
#define HAS_TABLE(form, ulps) (IS_OF_ONE_##form && (ulps) > 0.5)
enum slot {
#define X(name, form, dtypes, ulps, ...) SLOT_##name, LAST_##name = SLOT_##name + (HAS_TABLE(form, ulps) ? 0 : -1),
  PTO_ELEMENTWISE_LIST(X)
#undef X
      SLOT_COUNT
};

static const int16_t slots[PTO_OP_COUNT] = {
#define X(name, form, dtypes, ulps, ...) [PTO_OP_##name] = HAS_TABLE(form, ulps) ? SLOT_##name : -1,
    PTO_ELEMENTWISE_LIST(X)
#undef X
};

enum state { EMPTY, IN_MAKING, MADE };

/* The thread that takes `state` from EMPTY to IN_MAKING is the only one that writes `results`, and hands them over with
 * the release of MADE; who reads MADE acquires them. */
static struct table {
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t state;
  _Alignas(PTO_CACHE_LINE) uint16_t results[PTO_HALF_VALUES];
} tables[SLOT_COUNT][2];

/* By load, operation and store, as a tensor of 65536 elements. */
static void make(struct table *table, enum pto_op op, uint32_t dtype) {
  enum { STEP = 1024 };
  const struct pto_loops *loops = pto_loops_best();
  uint16_t bits[STEP];
  float x[STEP], y[STEP];
  const struct pto_chunk chunk = {.count = STEP, .a = x, .out = y};
  for (uint32_t first = 0; first < PTO_HALF_VALUES; first += STEP) {
    for (uint32_t i = 0; i < STEP; i++) bits[i] = (uint16_t)(first + i);
    loops->load[PTO_CLASS_F32][dtype](x, (const char *)bits, sizeof *bits, STEP);
    loops->op[op][PTO_CLASS_F32](&chunk);
    loops->store[PTO_CLASS_F32][dtype](y, (char *)&table->results[first], sizeof *bits, STEP);
  }
}

const uint16_t *pto_half_table(enum pto_op op, uint32_t dtype, uint64_t elems) {
  if ((dtype != PTO_FLOAT16 && dtype != PTO_BFLOAT16) || slots[op] < 0 || elems < PTO_HALF_TABLE_FROM_ELEMS)
    return NULL;
  struct table *table = &tables[slots[op]][dtype == PTO_BFLOAT16 ? 1 : 0];
  uint32_t state = atomic_load_explicit(&table->state, memory_order_acquire); /* pairs with table_made */
  if (state == EMPTY && atomic_compare_exchange_strong_explicit(&table->state, &state, IN_MAKING, memory_order_acquire,
                                                                memory_order_acquire)) { /* table_made, if it failed */
    make(table, op, dtype);
    atomic_store_explicit(&table->state, MADE, memory_order_release); /* table_made */
    return table->results;
  }
  return state == MADE ? table->results : NULL;
}
