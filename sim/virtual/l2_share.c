/* SPDX-License-Identifier: MIT */
#include <sim/virtual/l2_share.h>

/* ⌊a · b / c⌋, which is at most a: b ≤ c. */
static uint64_t part_of(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t product;
  if (PTO_LIKELY(b == c)) return a;
  if (PTO_LIKELY(!__builtin_mul_overflow(a, b, &product))) return product / c;
  return (uint64_t)((unsigned __int128)a * b / c);
}

/* Bytes of the elements of all tensors so far, those of them that were missed, and what was written back. */
struct sums {
  uint64_t all;
  struct pto_l2_traffic traffic;
};

/* The part of a tensor that block `block` of `blocks` uses. */
static void use_part(struct pto_l2_cache *cache, uint64_t addr, struct pto_timing_extent extent, uint32_t mode,
                     uint64_t block, uint64_t blocks, struct sums *sums) {
  const uint64_t range = extent.range_bytes, elems = pto_min_u64(extent.bytes, range);
  const uint64_t from = block ? part_of(range, block, blocks) : 0, to = part_of(range, block + 1, blocks);
  const bool is_read = mode & PTO_INPUT, is_written = mode & PTO_OUTPUT;
  if (from == to) return;
  sums->all = pto_timing_add_saturating(sums->all, (is_read + is_written) * part_of(to - from, elems, range));
  const uint64_t missed_before = sums->traffic.missed;
  sums->traffic.missed = 0;
  if (to - from <= cache->bytes)
    pto_l2_cache_use(cache, addr + from, addr + to, is_read, is_written, &sums->traffic);
  else
    sums->traffic.missed = (is_read + is_written) * (to - from);
  sums->traffic.missed = pto_timing_add_saturating(missed_before, part_of(sums->traffic.missed, elems, range));
}

/* The call has bytes. */
static PTO_NOINLINE struct pto_l2_share use_all(struct pto_l2_cache *cache, const struct pto_kernel *kernel,
                                                const struct pto_kernel_args *args, uint64_t bytes) {
  const uint64_t blocks = pto_max_u64(args->core->block_count, 1), block = blocks > 1 ? args->core->block_index : 0;
  struct sums sums = {0};
  uint32_t param = 0;
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    const uint32_t mode = pto_timing_next_mode(kernel, &param);
    const uint64_t addr = (uint64_t)(uintptr_t)args->tensors[i].addr;
    use_part(cache, addr, pto_timing_extent(&args->tensors[i]), mode, block, blocks, &sums);
  }
  const uint64_t missed = sums.all > bytes ? part_of(bytes, sums.traffic.missed, sums.all) : sums.traffic.missed;
  return (struct pto_l2_share){bytes, pto_min_u64(missed, bytes), sums.traffic.written_back};
}

/* A shortcut for a call of one block: whether the range of each of its tensors is one piece of the cache, which is used
 * then; where it is not, the first ones may have been, to be used again.  The general way takes 270 instructions more.
 */
static inline bool touch_all(struct pto_l2_cache *cache, const struct pto_kernel *kernel,
                             const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *tensor = args->tensors, *const end = tensor + args->tensor_count;
  for (uint32_t param = 0; param < kernel->param_count && tensor != end; param++) {
    const uint32_t mode = kernel->params[param].mode;
    uint64_t last = 0, lasts = 0; /* of the elements; the topmost bit of `lasts` is set where there are none */
    if (mode == PTO_SCALAR) continue;
    for (uint32_t d = 0; d < tensor->ndims; d++) {
      lasts |= tensor->shape[d] - 1;
      last += (tensor->shape[d] - 1) * tensor->strides[d];
    }
    const uint64_t lo = (uint64_t)(uintptr_t)tensor->addr;
    const uint64_t hi = lo + ((last + 1) * pto_timing_dtype_bits[tensor->dtype] + 7) / 8;
    if (lasts >> 63 || !pto_l2_cache_touch(cache, lo, hi, mode & PTO_OUTPUT)) return false;
    tensor++;
  }
  return tensor == end;
}

struct pto_l2_share pto_l2_share(struct pto_l2_cache *cache, const struct pto_kernel *kernel,
                                 const struct pto_kernel_args *args, uint64_t bytes) {
  const uint32_t blocks = args->core->block_count;
  if (bytes == 0 || (blocks <= 1 && touch_all(cache, kernel, args))) return (struct pto_l2_share){.bytes = bytes};
  return use_all(cache, kernel, args, bytes);
}
