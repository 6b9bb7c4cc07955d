/* SPDX-License-Identifier: MIT */
#include <sim/virtual/l2_share.h>

/* ⌊a · b / c⌋, which is at most a: b ≤ c. */
static uint64_t part_of(uint64_t a, uint64_t b, uint64_t c) {
  return b == c ? a : (uint64_t)((unsigned __int128)a * b / c);
}

struct pto_l2_share pto_l2_share(struct pto_l2_cache *cache, const struct pto_kernel *kernel,
                                 const struct pto_kernel_args *args, uint64_t bytes) {
  struct pto_l2_traffic traffic = {0};
  const uint64_t blocks = pto_max_u64(args->core->block_count, 1), block = blocks > 1 ? args->core->block_index : 0;
  uint64_t all = 0, missed = 0;
  uint32_t param = 0;
  for (uint32_t i = 0; i < args->tensor_count && bytes > 0; i++) {
    const struct pto_kernel_tensor *tensor = &args->tensors[i];
    const struct pto_timing_extent extent = pto_timing_extent(tensor);
    const uint64_t range = extent.range_bytes, elems = pto_min_u64(extent.bytes, range);
    const uint32_t mode = pto_timing_next_mode(kernel, &param);
    const bool is_read = mode & PTO_INPUT, is_written = mode & PTO_OUTPUT;
    const uint64_t from = part_of(range, block, blocks), to = part_of(range, block + 1, blocks);
    if (from == to) continue;
    const uint64_t lo = (uint64_t)(uintptr_t)tensor->addr, moved = part_of(to - from, elems, range);
    all = pto_timing_add_saturating(all, (is_read + is_written) * moved);
    traffic.missed = 0;
    if (to - from <= cache->bytes)
      pto_l2_cache_use(cache, lo + from, lo + to, is_read, is_written, &traffic);
    else
      traffic.missed = (is_read + is_written) * (to - from);
    missed = pto_timing_add_saturating(missed, part_of(traffic.missed, elems, range));
  }
  missed = all > bytes ? part_of(bytes, missed, all) : missed;
  return (struct pto_l2_share){bytes, pto_min_u64(missed, bytes), traffic.written_back};
}
