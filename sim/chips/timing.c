/* SPDX-License-Identifier: MIT */
/* What of timing.h is not in the path of every call: preparing, costs that are not stated, what does not fit into 64
 * bits. */
#include <sim/chips/timing.h>

#define MEGA UINT64_C(1000000)

PTO_COLD uint64_t pto_timing_scale_wide(uint64_t a, uint64_t b, uint64_t divisor) {
  const unsigned __int128 quotient = ((unsigned __int128)a * b + (divisor - 1)) / divisor;
  return quotient > PTO_TIMING_MAX_PS ? PTO_TIMING_MAX_PS : (uint64_t)quotient;
}

static uint64_t multiply_saturating(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

const uint8_t pto_timing_dtype_bits[PTO_TIMING_DTYPES] = {
#define X(constant, value, name, bits, class_) [value] = bits,
    PTO_DTYPE_LIST(X)
#undef X
};

/* A rate of 0 is one that is never used: chips of tests have them. */
static struct pto_timing_rate rate_of(uint64_t divisor) {
  return (struct pto_timing_rate){.divisor = divisor, .reciprocal = divisor ? UINT64_MAX / divisor : 0};
}

void pto_timing_init(struct pto_timing *timing, const struct pto_chip *chip) {
  timing->core_bandwidth_mbps = rate_of(chip->core_bandwidth_mbps);
  timing->chip_bandwidth_mbps = rate_of(chip->chip_bandwidth_mbps);
  timing->fifo_bandwidth_mbps = rate_of(chip->fifo_bandwidth_mbps);
  timing->full_speed_sharers = (uint32_t)pto_min_u64(chip->chip_bandwidth_mbps / chip->core_bandwidth_mbps, UINT32_MAX);
  for (uint32_t dtype = 0; dtype < PTO_TIMING_DTYPES; dtype++) {
    uint64_t elems = chip->vector_elems_per_cycle, macs = chip->cube_macs_per_cycle;
    const uint32_t bits =
        dtype < PTO_DTYPE_COUNT ? pto_timing_dtype_bits[dtype] : 32; /* what is no dtype counts as f32 */
    if (bits <= 8) {
      elems = chip->vector_elems_per_cycle_8bit;
      macs = chip->cube_macs_per_cycle_8bit;
    } else if (bits == 16) {
      if (dtype != PTO_BFLOAT16) elems = chip->vector_elems_per_cycle_16bit; /* bf16 is computed in f32 */
      macs = chip->cube_macs_per_cycle_16bit;
    }
    timing->compute[dtype].vector = rate_of(elems * chip->aiv_clock_khz);
    timing->compute[dtype].cube = rate_of(macs * chip->aic_clock_khz);
  }
}

/* Elements; 4-bit dtypes pack two in the byte that pto_dtype_bits halves. */
static uint64_t tensor_elems(const struct pto_kernel_tensor *tensor) {
  uint64_t elems = 1;
  for (uint32_t d = 0; d < tensor->ndims; d++) elems = multiply_saturating(elems, tensor->shape[d]);
  return elems;
}

static uint64_t tensor_bytes(const struct pto_kernel_tensor *tensor, uint64_t elems) {
  PTO_ASSERT(tensor->dtype < PTO_DTYPE_COUNT);
  uint32_t width = pto_timing_dtype_bits[tensor->dtype];
  return width >= 8 ? multiply_saturating(elems, width / 8) : elems / 2 + elems % 2;
}

static uint64_t share_of_block(uint64_t total, uint64_t block_count) {
  return total / block_count + (total % block_count != 0);
}

struct pto_cost pto_timing_default_cost(const struct pto_kernel *kernel, const struct pto_kernel_args *args) {
  struct pto_cost cost = {0};
  uint32_t param = 0;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    const struct pto_kernel_tensor *tensor = &args->tensors[i];
    uint64_t elems = tensor_elems(tensor), bytes = tensor_bytes(tensor, elems);
    while (param < kernel->param_count && kernel->params[param].mode == PTO_SCALAR) param++;
    if (param >= kernel->param_count) { /* no list, or more tensors than it names */
      cost.bytes_in = pto_timing_add_saturating(cost.bytes_in, bytes);
      cost.vector_elems = pto_max_u64(cost.vector_elems, elems);
      continue;
    }
    uint32_t mode = kernel->params[param++].mode;
    if (mode & PTO_INPUT) cost.bytes_in = pto_timing_add_saturating(cost.bytes_in, bytes);
    if (mode & PTO_OUTPUT) {
      cost.bytes_out = pto_timing_add_saturating(cost.bytes_out, bytes);
      cost.vector_elems = pto_timing_add_saturating(cost.vector_elems, elems);
    }
  }
  uint64_t blocks = pto_max_u64(args->core->block_count, 1);
  cost.bytes_in = share_of_block(cost.bytes_in, blocks);
  cost.bytes_out = share_of_block(cost.bytes_out, blocks);
  cost.vector_elems = share_of_block(cost.vector_elems, blocks);
  return cost;
}

static inline bool begins_within(const struct pto_kernel_tensor *tensor, uint64_t lo, uint64_t hi) {
  return (uint64_t)(uintptr_t)tensor->addr - lo < hi - lo;
}

uint64_t pto_timing_bytes_within(const struct pto_kernel *kernel, const struct pto_kernel_args *args, uint64_t lo,
                                 uint64_t hi) {
  uint64_t sum = 0;
  uint32_t param = 0, first = 0;
  while (first < args->tensor_count && !begins_within(&args->tensors[first], lo, hi)) first++;
  if (first == args->tensor_count) return 0; /* as in most calls of most programs */
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    const struct pto_kernel_tensor *tensor = &args->tensors[i];
    const uint32_t mode = pto_timing_next_mode(kernel, &param);
    if (!begins_within(tensor, lo, hi)) continue;
    const uint64_t bytes = tensor_bytes(tensor, tensor_elems(tensor));
    if (mode & PTO_INPUT) sum = pto_timing_add_saturating(sum, bytes);
    if (mode & PTO_OUTPUT) sum = pto_timing_add_saturating(sum, bytes);
  }
  return share_of_block(sum, pto_max_u64(args->core->block_count, 1));
}

uint64_t pto_timing_fifo_ps(const struct pto_timing *timing, uint64_t bytes) {
  return pto_timing_scale(bytes, MEGA, &timing->fifo_bandwidth_mbps);
}

struct pto_timing_bound pto_timing_bound(const struct pto_timing *timing, const struct pto_cost *cost,
                                         uint32_t core_kind) {
  const bool has_cube = core_kind != PTO_AIV;
  const struct {
    const char *resource;
    struct pto_cost cost;
  } parts[] = {
      {"memory", {.bytes_in = cost->bytes_in, .bytes_out = cost->bytes_out}},
      {"vector",
       {.vector_elems = cost->vector_elems, .multiply_adds = has_cube ? 0 : cost->multiply_adds, .dtype = cost->dtype}},
      {"cube", {.multiply_adds = has_cube ? cost->multiply_adds : 0, .dtype = cost->dtype}},
  };
  struct pto_timing_bound bound = {"nothing", 0};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(parts); i++) {
    const struct pto_timing_load load = pto_timing_load(timing, &parts[i].cost, core_kind);
    const uint64_t ps = pto_timing_work_ps(timing, &load, 1);
    if (ps > bound.ps) bound = (struct pto_timing_bound){parts[i].resource, ps};
  }
  return bound;
}
