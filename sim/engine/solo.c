/* SPDX-License-Identifier: MIT */
#include <sim/engine/solo.h>

int pto_solo_init(struct pto_solo *solo, const struct pto_engine_config *config, const struct pto_chip *chip,
                  struct pto_core *views, const struct pto_waiting_hooks *hooks, void *engine,
                  const struct pto_port *port, struct pto_error *error) {
  const char *name = port->name;
  const struct pto_watchdog_config watch = {.timeout_ms = config->timeout_ms,
                                            .on_timeout = config->on_timeout,
                                            .context = config->on_timeout_context,
                                            .lines = &solo->line,
                                            .line_count = 1,
                                            .port = port};
  *solo = (struct pto_solo){0};
  if (!pto_local_memories_init(&solo->local, chip, views) ||
      !pto_waiting_cores_init(&solo->waiting, chip->cluster_count, chip->slots_per_core, hooks, engine)) {
    pto_solo_fini(solo);
    return pto_error_set(error, PTO_ENOMEM, "%s engine of chip %s: no memory for %u cores", name, chip->name,
                         3 * chip->cluster_count);
  }
  for (uint32_t i = 0; i < 3 * chip->cluster_count; i++) {
    views[i].message = solo->message;
    views[i].message_size = sizeof solo->message;
  }
  const int status = pto_watchdog_init(&solo->watchdog, &watch);
  if (status == PTO_OK) return PTO_OK;
  pto_solo_fini(solo);
  return pto_error_set(error, status, "%s engine of chip %s: the watchdog's thread does not start", name, chip->name);
}

void pto_solo_fini(struct pto_solo *solo) {
  pto_watchdog_fini(&solo->watchdog);
  pto_waiting_cores_fini(&solo->waiting);
  pto_local_memories_fini(&solo->local);
}

struct pto_waiting_core *pto_solo_start(struct pto_solo *solo, const struct pto_message *message,
                                        struct pto_core *view) {
  struct pto_waiting_core *core = pto_waiting_core_start(&solo->waiting, message, view);
  if (!pto_local_memories_guard(&solo->local, view)) core->refusal = PTO_SOLO_REFUSAL;
  return core;
}

bool pto_solo_resume(struct pto_solo *solo, struct pto_waiting_core *core) {
  const uint64_t begin_ns = solo->watchdog.is_running ? pto_watchdog_now_ns() : 0;
  pto_solo_enter(solo, &core->message, core->view);
  const bool has_returned = pto_waiting_core_resume(core);
  pto_solo_leave(solo);
  if (!has_returned && solo->watchdog.is_running && !solo->skips_pieces)
    pto_watchdog_add_piece(&solo->watchdog, &core->message, begin_ns, &core->ran_ns);
  return has_returned;
}
