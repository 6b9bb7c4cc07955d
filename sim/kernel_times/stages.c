/* SPDX-License-Identifier: MIT */
#include <sim/kernel_times/stages.h>

#define TILE_ROWS 128u
#define TILE_COLUMNS 256u

/* ⌈bytes · 10⁶ / mbps⌉ */
static uint64_t transfer_ps(uint64_t bytes, uint64_t mbps) {
  return bytes ? pto_timing_scale_wide(bytes, UINT64_C(1000000), mbps) : 0;
}

/* Products in tiles: an element of a goes to L0A once for so many columns, one of b to L0B once for so many rows. */
static void default_l0_bytes(struct pto_cost *cost) {
  if (cost->multiply_adds == 0 || cost->l0a_bytes || cost->l0b_bytes) return;
  static const uint8_t bits[PTO_DTYPE_COUNT] = {
#define X(constant, value, name, bits, class_) [value] = bits,
      PTO_DTYPE_LIST(X)
#undef X
  };
  const uint64_t width = cost->dtype < PTO_DTYPE_COUNT ? bits[cost->dtype] : 32;
  cost->l0a_bytes = pto_timing_scale_wide(cost->multiply_adds, width, UINT64_C(8) * TILE_COLUMNS);
  cost->l0b_bytes = pto_timing_scale_wide(cost->multiply_adds, width, UINT64_C(8) * TILE_ROWS);
}

/* The cube and the vector unit at the rates of the chip, the cube's as far as it gets. */
static uint64_t compute_ps(const struct pto_chip_stages *stages, const struct pto_timing *timing,
                           const struct pto_cost *cost, uint32_t core_kind) {
  const struct pto_cost vector = {.vector_elems = cost->vector_elems, .dtype = cost->dtype};
  const struct pto_cost cube = {.multiply_adds = cost->multiply_adds, .dtype = cost->dtype};
  if (core_kind == PTO_AIV) {
    const struct pto_cost both = {
        .vector_elems = cost->vector_elems, .multiply_adds = cost->multiply_adds, .dtype = cost->dtype};
    return pto_timing_load(timing, &both, core_kind).compute_ps;
  }
  const uint64_t cube_ps = pto_timing_load(timing, &cube, core_kind).compute_ps;
  return pto_max_u64(pto_timing_scale_wide(cube_ps, 100, stages->cube_percent),
                     pto_timing_load(timing, &vector, core_kind).compute_ps);
}

struct pto_timing_load pto_stages_load(const struct pto_chip_stages *stages, const struct pto_timing *timing,
                                       const struct pto_cost *stated, uint32_t core_kind) {
  struct pto_cost cost = *stated;
  default_l0_bytes(&cost);
  const uint32_t trips = cost.trips ? cost.trips : (uint32_t)(cost.bytes_in > 0) + (uint32_t)(cost.bytes_out > 0);
  const uint64_t compute = compute_ps(stages, timing, &cost, core_kind);
  struct pto_timing_load load = {.bytes = pto_timing_add_saturating(cost.bytes_in, cost.bytes_out)};
  if (load.bytes) load.serial_ps = stages->start_ps;
  load.serial_ps += trips * stages->trip_ps;
  if (core_kind == PTO_AIV) {
    load.compute_ps =
        transfer_ps(cost.bytes_in, stages->gm_to_ub_mbps) + transfer_ps(cost.bytes_out, stages->ub_to_gm_mbps);
    load.serial_ps += compute;
  } else {
    const uint64_t beside[] = {
        compute, transfer_ps(cost.bytes_in, stages->gm_to_l1_mbps), transfer_ps(cost.l0a_bytes, stages->l1_to_l0a_mbps),
        transfer_ps(cost.l0b_bytes, stages->l1_to_l0b_mbps), transfer_ps(cost.bytes_out, stages->l0c_to_gm_mbps)};
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(beside); i++) load.compute_ps = pto_max_u64(load.compute_ps, beside[i]);
  }
  load.compute_ps = pto_min_u64(load.compute_ps, PTO_TIMING_MAX_PS);
  load.serial_ps = pto_min_u64(load.serial_ps, PTO_TIMING_MAX_PS);
  return load;
}
