/* SPDX-License-Identifier: MIT */
#include <sim/host/local_memory.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t spread(uint64_t size_bytes, uint64_t page) {
  return pto_align_up(size_bytes, page) + PTO_LOCAL_GUARD_BYTES;
}

/* The next memory, room for its guard behind it. */
static void carve(char **at, uint64_t size_bytes, uint64_t page, struct pto_local_memory *local) {
  local->addr = *at;
  local->size_bytes = size_bytes;
  *at += spread(size_bytes, page);
}

static bool guard(const struct pto_local_memory *local, uint64_t page) {
  return mprotect((char *)local->addr + pto_align_up(local->size_bytes, page), PTO_LOCAL_GUARD_BYTES, PROT_NONE) == 0;
}

bool pto_local_memories_make_guards(struct pto_local_memories *memories, const struct pto_core *view) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  const bool is_guarded =
      guard(&view->local, page) &&
      (view->kind == PTO_AIV || (guard(&view->l0a, page) && guard(&view->l0b, page) && guard(&view->l0c, page)));
  const size_t place = (size_t)(view - memories->views);
  if (is_guarded) memories->guarded[place / 64] |= UINT64_C(1) << place % 64;
  return is_guarded;
}

bool pto_local_memories_init(struct pto_local_memories *memories, const struct pto_chip *chip, struct pto_core *views) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  uint64_t aic_bytes = spread(chip->l1_bytes, page) + spread(chip->l0a_bytes, page) + spread(chip->l0b_bytes, page) +
                       spread(chip->l0c_bytes, page);
  memset(memories, 0, sizeof *memories);
  if (!pto_reserve_init(&memories->memory, chip->cluster_count * (aic_bytes + 2 * spread(chip->ub_bytes, page))))
    return false;
  memories->views = views;
  char *at = memories->memory.addr;
  for (uint32_t i = 0; i < 3 * chip->cluster_count; i++) {
    struct pto_core *view = &views[i];
    memset(view, 0, sizeof *view);
    view->index = i;
    view->cluster = i / 3;
    view->lane = i % 3;
    view->kind = view->lane == 0 ? PTO_AIC : PTO_AIV;
    if (view->kind == PTO_AIV) {
      carve(&at, chip->ub_bytes, page, &view->local);
    } else {
      carve(&at, chip->l1_bytes, page, &view->local);
      carve(&at, chip->l0a_bytes, page, &view->l0a);
      carve(&at, chip->l0b_bytes, page, &view->l0b);
      carve(&at, chip->l0c_bytes, page, &view->l0c);
    }
  }
  return true;
}

void pto_local_memories_fini(struct pto_local_memories *memories) { pto_reserve_fini(&memories->memory); }
