/* SPDX-License-Identifier: MIT */
#include <report/run/roofline.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/base.h>

#define MEGA 1e6
#define GIGA 1e9
#define PS_PER_SECOND 1e12
#define TEXT 32u

static bool is_of_cube(const struct pto_trace_cost *cost) { return cost->core_kind == PTO_AIC && cost->multiply_adds; }

void pto_roofline_add(struct pto_roofline *all, const struct pto_trace_cost *cost,
                      const struct pto_trace_rates *rates) {
  all->bytes += cost->bytes;
  all->operations += cost->vector_elems + cost->multiply_adds * (cost->core_kind == PTO_AIC ? 2u : 1u);
  all->memory_ps += cost->memory_ps;
  all->compute_ps += cost->compute_ps;
  all->least_ps += cost->least_ps;
  all->is_l2 = rates->l2_core_mbps > rates->core_mbps;
  if (cost->compute_ps <= all->unit_ps) return;
  all->unit_ps = cost->compute_ps;
  all->is_cube = is_of_cube(cost);
  all->dtype = cost->dtype;
}

static const char *unit_name(bool is_cube, uint32_t dtype, char *text, size_t size) {
  snprintf(text, size, "%s %s", is_cube ? "cube" : "vector", pto_dtype_name(dtype));
  return text;
}

const char *pto_roofline_bound(const struct pto_roofline *all, char *text, size_t size) {
  if (all->least_ps == 0) return NULL;
  if (all->compute_ps > all->memory_ps) return unit_name(all->is_cube, all->dtype, text, size);
  snprintf(text, size, "%s", all->is_l2 ? "L2" : "memory");
  return text;
}

double pto_roofline_intensity(const struct pto_roofline *all) {
  return all->bytes ? (double)all->operations / (double)all->bytes : 0;
}

double pto_roofline_gops(const struct pto_roofline *all, uint64_t time_ps) {
  return time_ps ? (double)all->operations / (double)time_ps * PS_PER_SECOND / GIGA : 0;
}

void pto_roofline_put(const struct pto_roofline *all, uint64_t time_ps, bool is_known, struct pto_json_writer *w) {
  char text[TEXT];
  is_known &= time_ps > 0;
  if (pto_json_try_key(w, "bytes", is_known)) pto_json_u64(w, all->bytes);
  if (pto_json_try_key(w, "operations", is_known)) pto_json_u64(w, all->operations);
  if (pto_json_try_key(w, "intensity", is_known && all->bytes)) pto_json_double(w, pto_roofline_intensity(all));
  if (pto_json_try_key(w, "gops", is_known)) pto_json_double(w, pto_roofline_gops(all, time_ps));
  if (pto_json_try_key(w, "gbps", is_known))
    pto_json_double(w, (double)all->bytes / (double)pto_max_u64(time_ps, 1) * PS_PER_SECOND / GIGA);
  pto_json_put_string(w, "bound", is_known ? pto_roofline_bound(all, text, sizeof text) : NULL);
  if (pto_json_try_key(w, "roof_share", is_known))
    pto_json_double(w, (double)all->least_ps / (double)pto_max_u64(time_ps, 1));
}

/* ---- roofs ---- */

static void add_roof(struct pto_roofs *roofs, const char *name, bool is_memory, double most) {
  for (uint32_t i = 0; i < roofs->count; i++)
    if (strcmp(roofs->items[i].name, name) == 0) return;
  if (most <= 0 || roofs->count == PTO_ROOFS_MAX) return;
  struct pto_roof *roof = &roofs->items[roofs->count++];
  *roof = (struct pto_roof){.is_memory = is_memory, .most = most};
  snprintf(roof->name, sizeof roof->name, "%s", name);
}

static void add_memory(struct pto_roofs *roofs, const char *name, const char *shared_name, uint64_t core_mbps,
                       uint64_t chip_mbps, uint32_t core_count) {
  const double core = (double)core_mbps, share = (double)chip_mbps / core_count;
  add_roof(roofs, name, true, core * MEGA / GIGA);
  if (share < core) add_roof(roofs, shared_name, true, share * MEGA / GIGA);
}

void pto_roofs_init(struct pto_roofs *roofs, const struct pto_trace *trace, uint32_t core_count) {
  const struct pto_trace_rates *rates = &trace->rates;
  char text[TEXT];
  *roofs = (struct pto_roofs){0};
  if (core_count == 0) return;
  add_memory(roofs, "memory", "memory, all cores at once", rates->core_mbps, rates->chip_mbps, core_count);
  add_memory(roofs, "L2", "L2, all cores at once", rates->l2_core_mbps, rates->l2_chip_mbps, core_count);
  for (uint64_t i = 0; i < trace->costs.count; i++) {
    const struct pto_trace_cost *cost = pto_trace_log_at(&trace->costs, i);
    const bool is_cube = is_of_cube(cost);
    if (cost->compute_ps)
      add_roof(roofs, unit_name(is_cube, cost->dtype, text, sizeof text), false,
               (double)(is_cube ? 2 * cost->cube_mops : cost->vector_mops) * MEGA / GIGA);
  }
}

void pto_roofs_put(const struct pto_roofs *roofs, struct pto_json_writer *w) {
  pto_json_put_array(w, "roofs");
  for (uint32_t i = 0; i < roofs->count; i++) {
    pto_json_object_begin(w);
    pto_json_put_string(w, "name", roofs->items[i].name);
    pto_json_put_double(w, roofs->items[i].is_memory ? "gbps" : "gops", roofs->items[i].most);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}
