/* SPDX-License-Identifier: MIT */
/*
 * Cores of one task that wait for each other, and do it wrong: a signal, an element, a barrier or a turn that is
 * missing, too many, or in the wrong place.
 *
 * Kernels have the parameters of planted_rows.h.
 */
#include <tests/planted/planted_rows.h>

#define BUGS(X)                                                                                                        \
  X(no_signal, "AIV1 sums the row that AIV0 writes, without a signal")                                                 \
  X(early_signal, "AIV0 signals before it has written the row")                                                        \
  X(late_wait, "AIV1 sums the row first, and waits then")                                                              \
  X(other_flag, "AIV1 reads the second row after the flag of the first")                                               \
  X(one_of_two, "AIC and AIV0 signal one flag; AIV1 reads the row of the one after the first signal")                  \
  X(early_relay, "AIV0 passes the AIC's signal on to AIV1 before it has taken it")                                     \
  X(surplus, "a signal too many before the third row, for which the last row has none")                                \
  X(credits, "AIV1 allows three writes ahead into two rows")                                                           \
  X(freed_early,                                                                                                       \
    "the AIC fills two rows, AIV0 passes its signals on to AIV1; AIV0, not AIV1, says that a row is free")             \
  X(first_row, "AIV0 writes each row after AIV1 has read it, but for the first, which AIV1 is to read then")           \
  X(no_answer, "AIV0 writes its next row over the one that AIV1 still reads")                                          \
  X(three_ahead, "a ring of two slots in shared memory, and a producer that goes three ahead")                         \
  X(slot_shared, "both vector cores keep their sum in slot 0 of shared memory")                                        \
  X(last_half, "AIV1 signals before it fills its half of shared memory, and may return before AIV0 reads")             \
  X(no_barrier, "each core reads the row of the other one without a barrier between")                                  \
  X(one_barrier, "each core writes its row again, with no second barrier behind the other's reading")                  \
  X(last_level, "block 0 reads the row to which block 1 adds, with no barrier between")                                \
  X(stencil, "blocks of a sync_start task write their rows again while others still read them")                        \
  X(ring_credit, "blocks of a sync_start task pass rows around, and do not wait until the last one is read")           \
  X(both_write, "both vector cores write the first element, with the same value")                                      \
  X(one_too_many, "AIV0 writes one element of AIV1's half")                                                            \
  X(early_push, "AIV0 pushes a row that the AIC writes, before the AIC's signal")                                      \
  X(pop_over, "AIV1 pops into the row that the AIC reads")                                                             \
  X(row_number, "AIV0 pushes the number of a row, and writes the next one there at once")                              \
  X(slot_number, "AIV0 pushes the number of one of two rows, and writes a third element without an answer")            \
  X(role_returned, "AIV1 takes it that AIV0 has returned long ago")                                                    \
  X(early_ready, "AIV0 sets the word that AIV1 polls before it writes the row")                                        \
  X(gives_up, "AIV1 polls three times, and goes on without")                                                           \
  X(early_count, "AIV0 raises the number of rows that are there before it writes the row")                             \
  X(early_taken, "AIV1 says that it has taken the row, and reads it then")                                             \
  X(poll_alone, "AIV1 polls a word of shared memory without yielding")                                                 \
  X(poll_first, "the core that runs first polls for what the other one writes, without yielding")                      \
  X(middle_value, "the reader looks for the value of the first of two writers before it waits")                        \
  X(plain_count, "two cores take rows by a count, which they raise without an atomic operation")                       \
  X(late_lock, "each core looks at a lock, works, and takes it")                                                       \
  X(torn_read, "the reader of a versioned pair does not look at the version again")                                    \
  X(early_add, "a block adds to the sum before its turn")                                                              \
  X(early_look, "a block reads the sum before its turn, and adds to what it read")                                     \
  X(next_block, "a block of a sync_start task reads the row of the next one without a signal")                         \
  X(shared_handed, "a block of a sync_start task hands the address of its shared memory to the next one")              \
  X(blocks_meet, "blocks of a sync_start task read each other's rows without a barrier")                               \
  X(tile_unfilled, "AIV1 sums a tile of its UB that it has not filled to its end")                                     \
  X(signal_left, "AIV0 signals twice, AIV1 waits once")                                                                \
  X(element_left, "AIV0 pushes three elements, AIV1 pops two")                                                         \
  X(signal_back, "AIV1 answers at a flag that AIV0 never takes")                                                       \
  X(no_signaller, "AIV1 waits for a signal that AIV0 sends to the AIC")                                                \
  X(too_few, "AIV0 pushes two elements, AIV1 pops three")                                                              \
  X(no_room, "AIV0 pushes more than a FIFO holds, AIV1 pops one")                                                      \
  X(barrier_left, "AIV0 comes to two barriers, AIV1 to one")                                                           \
  X(uneven_rounds, "blocks of a sync_start task take five rows in turn with a barrier a row: block 1 has one less")    \
  X(cycle, "each vector core waits for the other one's element before it pushes its own")                              \
  X(all_flags, "AIV0 signals each flag of AIV1, and writes the row then")

/* ---- signals ---- */

static int no_signal_run(const struct pto_kernel_args *a) {
  if (role_of(a) == PTO_ROLE_AIV0) {
    write_row(a, 0, 5);
    return BUG ? 0 : TELL(AIV1, 0);
  }
  const int status = BUG ? 0 : TAKE(0);
  return status != 0 ? status : say(a, 0, sum_row(a, 0));
}

static int early_signal_run(const struct pto_kernel_args *a) {
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0) {
    if (BUG) status = TELL(AIV1, 0);
    if (status == 0) write_row(a, 0, 5);
    if (!BUG) status = TELL(AIV1, 0);
    return status;
  }
  status = TAKE(0);
  return status != 0 ? status : say(a, 0, sum_row(a, 0));
}

static int late_wait_run(const struct pto_kernel_args *a) {
  if (role_of(a) == PTO_ROLE_AIV0) {
    write_row(a, 0, 5);
    return TELL(AIV1, 0);
  }
  const uint32_t early = BUG ? sum_row(a, 0) : 0;
  const int status = TAKE(0);
  return status != 0 ? status : say(a, 0, BUG ? early : sum_row(a, 0));
}

static int other_flag_run(const struct pto_kernel_args *a) {
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0) {
    write_row(a, 0, 5);
    TRY(TELL(AIV1, 0));
    if (status == 0) write_row(a, 1, 9);
    TRY(TELL(AIV1, 1));
    return status;
  }
  TRY(TAKE(0));
  if (status != 0) return status;
  uint32_t sum = sum_row(a, BUG);
  TRY(TAKE(1));
  if (status == 0) sum += sum_row(a, !BUG);
  return say(a, status, sum);
}

static int one_of_two_run(const struct pto_kernel_args *a) {
  int status = 0;
  if (role_of(a) != PTO_ROLE_AIV1) {
    write_row(a, role_of(a), 7);
    return TELL(AIV1, 0);
  }
  TRY(TAKE(0));
  const uint32_t early = status == 0 && BUG ? sum_row(a, PTO_ROLE_AIC) : 0;
  TRY(TAKE(0));
  if (status != 0) return status;
  return say(a, 0, (BUG ? early : sum_row(a, PTO_ROLE_AIC)) + sum_row(a, PTO_ROLE_AIV0));
}

/* AIC -> AIV0 -> AIV1: the signal of AIV0 stands for the row of the AIC too. */
static int early_relay_run(const struct pto_kernel_args *a) {
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIC) {
    write_row(a, 0, 7);
    return TELL(AIV0, 0);
  }
  if (role_of(a) == PTO_ROLE_AIV0) {
    if (BUG) TRY(TELL(AIV1, 0));
    TRY(TAKE(0));
    if (status == 0) write_row(a, 1, sum_row(a, 0));
    if (!BUG) TRY(TELL(AIV1, 0));
    return status;
  }
  TRY(TAKE(0));
  return status != 0 ? status : say(a, 0, sum_row(a, 0));
}

/* The twin is what the remedy says: flag 1 for the rows behind the signal too many. */
static int surplus_run(const struct pto_kernel_args *a) {
  int status = 0;
  uint32_t sum = 0;
  if (role_of(a) == PTO_ROLE_AIV0) {
    for (uint32_t i = 0; i < 2 && status == 0; i++) {
      write_row(a, i, 5 * i);
      TRY(TELL(AIV1, 0));
    }
    TRY(TELL(AIV1, 0));
    for (uint32_t i = 2; i < 4 && status == 0; i++) {
      write_row(a, i, 5 * i);
      if (!BUG) TRY(TELL(AIV1, 1));
      if (i == 2) TRY(TELL(AIV1, 0));
    }
    return status;
  }
  for (uint32_t i = 0; i < 4 && status == 0; i++) {
    TRY(TAKE(0));
    if (!BUG && i >= 2) TRY(TAKE(1));
    if (status == 0) sum = 3 * sum + sum_row(a, i);
  }
  return say(a, status, sum);
}

/* Row i % 2 has element i; flag 1 of AIV0 allows a write.  The twin is what the remedy says: flag 0 too. */
static int credits_run(const struct pto_kernel_args *a) {
  enum { COUNT = 6 };
  int status = 0;
  uint32_t sum = 0;
  for (uint32_t i = 0; role_of(a) == PTO_ROLE_AIV1 && i < 3; i++) TRY(TELL(AIV0, 1));
  for (uint32_t i = 0; i < COUNT && status == 0; i++) {
    if (role_of(a) == PTO_ROLE_AIV0) {
      TRY(TAKE(1));
      if (!BUG && i >= 2) TRY(TAKE(0));
      if (status == 0) write_row(a, i % 2, 100 * i);
      TRY(TELL(AIV1, 0));
    } else {
      TRY(TAKE(0));
      if (status == 0) sum = 3 * sum + sum_row(a, i % 2);
      if (!BUG && i < COUNT - 2) TRY(TELL(AIV0, 0));
      if (i < COUNT - 3) TRY(TELL(AIV0, 1));
    }
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

static int freed_early_run(const struct pto_kernel_args *a) {
  enum { COUNT = 4 };
  const uint32_t frees = BUG ? PTO_ROLE_AIV0 : PTO_ROLE_AIV1;
  int status = 0;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < COUNT && status == 0; i++) {
    if (role_of(a) != PTO_ROLE_AIC || i >= 2) TRY(TAKE(0));
    if (role_of(a) == PTO_ROLE_AIC && status == 0) write_row(a, i % 2, 100 * i);
    if (role_of(a) == PTO_ROLE_AIC) TRY(TELL(AIV0, 0));
    if (role_of(a) == PTO_ROLE_AIV0) TRY(TELL(AIV1, 0));
    if (role_of(a) == PTO_ROLE_AIV1 && status == 0) sum = 3 * sum + sum_row(a, i % 2);
    if (role_of(a) == frees && i < COUNT - 2) TRY(TELL(AIC, 0));
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

/* The twin is what the remedy says: for the first row alone, as the others go the other way. */
static int first_row_run(const struct pto_kernel_args *a) {
  int status = 0;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 3 && status == 0; i++) {
    if (role_of(a) == PTO_ROLE_AIV0) {
      if (i > 0) TRY(TAKE(1));
      if (i == 1) TRY(TAKE(1));
      if (status == 0) write_row(a, i, 100 * i);
      if (!BUG && i == 0) TRY(TELL(AIV1, 0));
    } else {
      if (!BUG && i == 0) TRY(TAKE(0));
      if (status == 0) sum = 3 * sum + sum_row(a, i);
      TRY(TELL(AIV0, 1));
    }
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

static int no_answer_run(const struct pto_kernel_args *a) {
  int status = 0;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 3 && status == 0; i++) {
    if (role_of(a) == PTO_ROLE_AIV0) {
      if (i > 0 && !BUG) status = TAKE(1);
      if (status == 0) write_row(a, 0, 100 * i);
      TRY(TELL(AIV1, 0));
    } else {
      status = TAKE(0);
      if (status == 0) sum += sum_row(a, 0);
      if (i < 2 && !BUG) TRY(TELL(AIV0, 1));
    }
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

/* ---- shared memory ---- */

/* Slot i % 2 has element i; flag 0 says that it is full, flag 1 that it is free again. */
static int three_ahead_run(const struct pto_kernel_args *a) {
  enum { COUNT = 6 };
  uint32_t *slots, sum = 0;
  int status = pto_core_shared(a, 1, 2 * COLUMNS * sizeof *slots, (void **)&slots);
  for (uint32_t i = 0; i < COUNT && status == 0; i++) {
    uint32_t *slot = slots + i % 2 * COLUMNS;
    if (role_of(a) == PTO_ROLE_AIV0) {
      if (i >= (BUG ? 3u : 2u)) status = TAKE(1);
      for (uint32_t j = 0; j < COLUMNS && status == 0; j++) slot[j] = row(a, i)[j];
      TRY(TELL(AIV1, 0));
    } else {
      status = TAKE(0);
      for (uint32_t j = 0; j < COLUMNS && status == 0; j++) sum = 3 * sum + slot[j];
      if (i < COUNT - (BUG ? 3u : 2u)) TRY(TELL(AIV0, 1));
    }
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

static int slot_shared_run(const struct pto_kernel_args *a) {
  uint32_t *slots;
  const uint32_t own = role_of(a) == PTO_ROLE_AIV1, at = BUG ? 0 : own;
  int status = pto_core_shared(a, 1, 2 * sizeof *slots, (void **)&slots);
  if (status != 0) return status;
  slots[at] = sum_row(a, own);
  status = pto_core_barrier(a);
  return own && status == 0 ? say(a, 0, slots[at]) : status;
}

/* Each fills a half, tells the other one, and reads the other half. */
static int last_half_run(const struct pto_kernel_args *a) {
  const uint32_t own = role_of(a) == PTO_ROLE_AIV1, other = PTO_ROLE_BIT(own ? PTO_ROLE_AIV0 : PTO_ROLE_AIV1);
  const bool is_early = BUG && own;
  uint32_t *halves;
  int status = pto_core_shared(a, 4, 2 * COLUMNS * sizeof *halves, (void **)&halves);
  if (is_early) TRY(pto_core_signal(a, other, 2));
  for (uint32_t j = 0; j < COLUMNS && status == 0; j++) halves[own * COLUMNS + j] = row(a, own)[j];
  if (!is_early) TRY(pto_core_signal(a, other, 2));
  TRY(TAKE(2));
  for (uint32_t j = 0; j < COLUMNS && status == 0; j++) row(a, 2 + own)[j] = halves[!own * COLUMNS + j];
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, 1) : status;
}

/* ---- barriers ---- */

static int no_barrier_run(const struct pto_kernel_args *a) {
  const uint32_t own = role_of(a) == PTO_ROLE_AIV1;
  write_row(a, own, 3 + own);
  const int status = BUG ? 0 : pto_core_barrier(a);
  if (status != 0) return status;
  row(a, 2 + own)[0] = sum_row(a, !own);
  return own ? say(a, 0, 1) : 0;
}

static int one_barrier_run(const struct pto_kernel_args *a) {
  const uint32_t own = role_of(a) == PTO_ROLE_AIV1;
  write_row(a, own, 3 + own);
  int status = pto_core_barrier(a);
  if (status != 0) return status;
  const uint32_t sum = sum_row(a, !own);
  if (!BUG) status = pto_core_barrier(a);
  if (status == 0) write_row(a, own, sum);
  return own ? say(a, status, sum) : status;
}

/* Row i is made of its neighbours: as many barriers on all cores.  The twin is what the remedy says. */
static int stencil_run(const struct pto_kernel_args *a) {
  const uint32_t block = a->core->block_index, count = a->core->block_count;
  int status = 0;
  write_row(a, block, 10 * block);
  for (uint32_t i = 0; i < 3 && status == 0; i++) {
    uint32_t sum = 0;
    TRY(pto_core_barrier(a));
    if (status == 0) sum = sum_row(a, (block + 1) % count) + sum_row(a, (block + count - 1) % count);
    if (!BUG) TRY(pto_core_barrier(a));
    if (status == 0) write_row(a, block, sum);
  }
  return status;
}

/* Both calls of a round stand in one line.  The twin is what the remedy says. */
static int ring_credit_run(const struct pto_kernel_args *a) {
  const uint32_t block = a->core->block_index, next = (block + 1) % a->core->block_count;
  const uint32_t before = (block + a->core->block_count - 1) % a->core->block_count;
  enum { ROUNDS = 4 };
  uint32_t sum = block;
  int status = 0;
  for (uint32_t i = 0; i < ROUNDS && status == 0; i++) {
    if (!BUG && i > 0) TRY(TAKE(1));
    if (status == 0) write_row(a, next, sum);
    TRY(pto_core_signal_block(a, next, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0)), TRY(TAKE(0));
    if (status == 0) sum = 3 * sum + sum_row(a, block);
    if (!BUG && i + 1 < ROUNDS) TRY(pto_core_signal_block(a, before, PTO_ROLE_BIT(PTO_ROLE_AIV0), 1));
  }
  if (status == 0) row(a, 8 + block)[0] = sum;
  return status;
}

/* ---- writes ---- */

static int both_write_run(const struct pto_kernel_args *a) {
  const uint32_t own = role_of(a) == PTO_ROLE_AIV1;
  if (own || BUG) row(a, 0)[0] = 77;
  row(a, 0)[1 + own] = own;
  const int status = pto_core_barrier(a);
  return own ? say(a, status, 4) : status;
}

static int one_too_many_run(const struct pto_kernel_args *a) {
  uint32_t *z = a->tensors[1].addr;
  const uint32_t own = role_of(a) == PTO_ROLE_AIV1, half = PLANTED_SLOTS / 2;
  const uint32_t end = (own + 1) * half + (!own && BUG);
  for (uint32_t j = own * half; j < end; j++) z[j] = 50 * (own + 1) + j;
  return pto_core_barrier(a);
}

/* Behind a signal of the AIC, which has local memory of its own. */
static int tile_unfilled_run(const struct pto_kernel_args *a) {
  uint32_t *tile = a->core->local.addr, total = 0;
  if (role_of(a) == PTO_ROLE_AIC) return TELL(AIV1, 0);
  if (role_of(a) == PTO_ROLE_AIV0) return 0;
  const int status = TAKE(0);
  for (uint32_t i = 0; i < COLUMNS - (BUG ? 4 : 0); i++) tile[i] = i;
  for (uint32_t i = 0; i < COLUMNS; i++) total += tile[i];
  return say(a, status, total);
}

/* ---- FIFOs ---- */

static int early_push_run(const struct pto_kernel_args *a) {
  uint32_t tile[COLUMNS];
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIC) {
    write_row(a, 0, 11);
    return BUG ? 0 : TELL(AIV0, 0);
  }
  if (role_of(a) == PTO_ROLE_AIV0) {
    if (!BUG) status = TAKE(0);
    TRY(pto_core_push(a, PTO_ROLE_AIV1, row(a, 0), sizeof tile));
    return status;
  }
  status = pto_core_pop(a, PTO_ROLE_AIV0, tile, sizeof tile);
  return say(a, status, status == 0 ? tile[3] + tile[COLUMNS - 1] : 0);
}

static int pop_over_run(const struct pto_kernel_args *a) {
  uint32_t tile[COLUMNS] = {1, 2, 3};
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIC) {
    const uint32_t sum = sum_row(a, 0);
    if (!BUG) status = TELL(AIV1, 0);
    return say(a, status, sum);
  }
  if (role_of(a) == PTO_ROLE_AIV0) return pto_core_push(a, PTO_ROLE_AIV1, tile, sizeof tile);
  if (!BUG) status = TAKE(0);
  TRY(pto_core_pop(a, PTO_ROLE_AIV0, row(a, 0), sizeof tile));
  return status;
}

static int row_number_run(const struct pto_kernel_args *a) {
  int status = 0;
  uint32_t sum = 0, number;
  for (uint32_t i = 0; i < 4 && status == 0; i++) {
    if (role_of(a) == PTO_ROLE_AIV0) {
      number = BUG ? 0 : i;
      write_row(a, number, 20 * i);
      status = pto_core_push(a, PTO_ROLE_AIV1, &number, sizeof number);
    } else {
      status = pto_core_pop(a, PTO_ROLE_AIV0, &number, sizeof number);
      if (status == 0) sum = 5 * sum + sum_row(a, number);
    }
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

/* The twin is what the remedy says. */
static int slot_number_run(const struct pto_kernel_args *a) {
  enum { COUNT = 5 };
  int status = 0;
  uint32_t sum = 0, slot;
  for (uint32_t i = 0; i < COUNT && status == 0; i++) {
    if (role_of(a) == PTO_ROLE_AIV0) {
      slot = i % 2;
      if (!BUG && i >= 2) TRY(TAKE(0));
      if (status == 0) write_row(a, slot, 20 * i);
      TRY(pto_core_push(a, PTO_ROLE_AIV1, &slot, sizeof slot));
    } else {
      TRY(pto_core_pop(a, PTO_ROLE_AIV0, &slot, sizeof slot));
      if (status == 0) sum = 5 * sum + sum_row(a, slot);
      if (!BUG && i < COUNT - 2) TRY(TELL(AIV0, 0));
    }
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

static int role_returned_run(const struct pto_kernel_args *a) {
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0) {
    TRY(TELL(AIV1, 3));
    if (status == 0) write_row(a, 2, 8);
    if (!BUG) TRY(TELL(AIV1, 4));
    return status;
  }
  TRY(TAKE(3));
  TRY(pto_core_work(a, &(struct pto_cost){.vector_elems = 1000000}));
  if (!BUG) TRY(TAKE(4));
  return status != 0 ? status : say(a, 0, sum_row(a, 2));
}

/* ---- polls ---- */

static int early_ready_run(const struct pto_kernel_args *a) {
  uint32_t *ready;
  int status = pto_core_shared(a, 2, sizeof *ready, (void **)&ready);
  if (status != 0) return status;
  if (role_of(a) == PTO_ROLE_AIV0) {
    if (BUG) *ready = 1;
    TRY(pto_core_work(a, &(struct pto_cost){.vector_elems = 16}));
    if (status != 0) return status;
    write_row(a, 0, 6);
    *ready = 1;
    return 0;
  }
  while (*ready == 0)
    if ((status = pto_core_yield(a, false)) != 0) return status;
  return say(a, 0, sum_row(a, 0));
}

static int gives_up_run(const struct pto_kernel_args *a) {
  uint32_t *ready;
  int status = pto_core_shared(a, 2, sizeof *ready, (void **)&ready);
  if (status != 0) return status;
  if (role_of(a) == PTO_ROLE_AIV0) {
    for (uint32_t i = 0; i < 8; i++) TRY(pto_core_work(a, &(struct pto_cost){.vector_elems = 16}));
    if (status != 0) return status;
    write_row(a, 0, 6);
    *ready = 1;
    return 0;
  }
  for (uint32_t i = 0; *ready == 0 && (!BUG || i < 3); i++)
    if ((status = pto_core_yield(a, false)) != 0) return status;
  return say(a, 0, sum_row(a, 0));
}

/* AIV1 takes all rows that are there. */
static int early_count_run(const struct pto_kernel_args *a) {
  enum { COUNT = 5 };
  const struct pto_cost some = {.vector_elems = 16};
  uint32_t *count, sum = 0, next = 0;
  int status = pto_core_shared(a, 3, sizeof *count, (void **)&count);
  for (uint32_t i = 0; role_of(a) == PTO_ROLE_AIV0 && i < COUNT && status == 0; i++) {
    if (BUG) *count = i + 1;
    TRY(pto_core_work(a, &some));
    if (status == 0) write_row(a, i, 9 * i);
    *count = i + 1;
    TRY(pto_core_work(a, &some));
  }
  if (role_of(a) == PTO_ROLE_AIV0) return status;
  while (status == 0 && next < COUNT) {
    const uint32_t end = *count;
    if (next == end) TRY(pto_core_yield(a, false));
    for (; next < end; next++) sum = 7 * sum + sum_row(a, next);
  }
  return say(a, status, sum);
}

/* One slot: `word[0]` rows were given, `word[1]` taken. */
static int early_taken_run(const struct pto_kernel_args *a) {
  enum { COUNT = 4 };
  const struct pto_cost some = {.vector_elems = 16};
  uint32_t *word, sum = 0;
  int status = pto_core_shared(a, 3, 2 * sizeof *word, (void **)&word);
  for (uint32_t i = 0; i < COUNT && status == 0; i++) {
    const bool gives = role_of(a) == PTO_ROLE_AIV0;
    while (status == 0 && (gives ? word[1] < i : word[0] <= i)) TRY(pto_core_yield(a, false));
    if (status != 0) return status;
    if (gives) {
      write_row(a, 0, 40 * i);
      word[0] = i + 1;
      continue;
    }
    if (BUG) word[1] = i + 1;
    TRY(pto_core_work(a, &some));
    if (status == 0) sum = 3 * sum + sum_row(a, 0);
    word[1] = i + 1;
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, sum) : status;
}

/* Two cores take rows, in any order; the twin's count is atomic, or not there where atomics are not known. */
#ifdef __x86_64__
#define TAKE_ROW(count, own) ((void)(own), __atomic_fetch_add(count, 1, __ATOMIC_RELAXED))
#else
#define TAKE_ROW(count, own) ((own) += 2, (own)-2)
#endif
static int plain_count_run(const struct pto_kernel_args *a) {
  enum { COUNT = 5 };
  const struct pto_cost some = {.vector_elems = 16};
  uint32_t *count, taken = 0, own = role_of(a) == PTO_ROLE_AIV1;
  int status = pto_core_shared(a, 6, sizeof *count, (void **)&count);
  while (status == 0) {
    if (BUG)
      taken = (*count)++;
    else
      taken = TAKE_ROW(count, own);
    if (taken >= COUNT) break;
    write_row(a, taken, 9 * taken);
    TRY(pto_core_work(a, &some));
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, 1) : status;
}

/* Looks again and again without letting others run: AIV1 for what AIV0 writes, or AIV0 for what AIV1 writes, which a
 * thread that runs one core after the other never comes to. */
static int poll(const struct pto_kernel_args *a, uint32_t giver) {
  uint32_t *ready;
  int status = pto_core_shared(a, 4, sizeof *ready, (void **)&ready);
  if (status != 0) return status;
  if (role_of(a) == giver) {
    write_row(a, 0, 6);
    __atomic_store_n(ready, 1, __ATOMIC_RELEASE);
    return 0;
  }
  while (__atomic_load_n(ready, __ATOMIC_ACQUIRE) == 0)
    if (!BUG && (status = pto_core_yield(a, false)) != 0) return status;
  return say(a, 0, sum_row(a, 0));
}
static int poll_alone_run(const struct pto_kernel_args *a) { return poll(a, PTO_ROLE_AIV0); }
static int poll_first_run(const struct pto_kernel_args *a) { return poll(a, PTO_ROLE_AIV1); }

/* Results that are the same in both orders of cores, as each would be alone, and others in between. */
static int middle_value_run(const struct pto_kernel_args *a) {
  uint32_t *x = row(a, 0), value = 0;
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIC) {
    if (BUG) value = x[0];
    TRY(pto_core_wait(a, 0));
    if (!BUG && status == 0) value = x[0];
    return say(a, status, value == 5);
  }
  if (role_of(a) == PTO_ROLE_AIV1) TRY(TAKE(0));
  if (status == 0) x[0] = role_of(a) == PTO_ROLE_AIV0 ? 5 : 6;
  return status ? status : role_of(a) == PTO_ROLE_AIV0 ? TELL(AIV1, 0) : TELL(AIC, 0);
}

/* x[0] counts what both add under the lock x[8].  A core goes on alone from one call to the next, here; on two threads
 * the twin would have to exchange. */
static int late_lock_run(const struct pto_kernel_args *a) {
  const struct pto_cost some = {.vector_elems = 16};
  uint32_t *x = row(a, 0);
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0) x[0] = x[8] = 0;
  if (role_of(a) == PTO_ROLE_AIV0) TRY(TELL(AIV1, 0));
  if (role_of(a) == PTO_ROLE_AIV1) TRY(TAKE(0));
  for (uint32_t i = 0; i < 2 && status == 0; i++) {
    while (status == 0 && x[8] != 0) TRY(pto_core_yield(a, false));
    if (BUG) TRY(pto_core_work(a, &some));
    if (status != 0) return status;
    x[8] = 1;
    const uint32_t was = x[0];
    TRY(pto_core_work(a, &some));
    if (status != 0) return status;
    x[0] = was + 1;
    x[8] = 0;
    TRY(pto_core_yield(a, true));
  }
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, 1) : status;
}

/* x[0] and x[1] are a pair of version x[8], which is odd while they change. */
static int torn_read_run(const struct pto_kernel_args *a) {
  uint32_t *x = row(a, 0), version = 0, first = 0, second = 1;
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0) memset(x, 0, COLUMNS * sizeof *x);
  if (role_of(a) == PTO_ROLE_AIV0) TRY(TELL(AIV1, 0));
  if (role_of(a) == PTO_ROLE_AIV1) TRY(TAKE(0));
  for (uint32_t i = 1; role_of(a) == PTO_ROLE_AIV0 && i <= 3 && status == 0; i++) {
    x[8]++;
    TRY(pto_core_yield(a, true));
    x[0] = i;
    TRY(pto_core_yield(a, true));
    x[1] = i;
    x[8]++;
    TRY(pto_core_yield(a, true));
  }
  if (role_of(a) == PTO_ROLE_AIV0) return status;
  for (bool is_whole = false; !is_whole && status == 0;) {
    version = x[8];
    first = x[0];
    TRY(pto_core_yield(a, version >= 2));
    second = x[1];
    is_whole = version >= 2 && (BUG || (version % 2 == 0 && x[8] == version));
  }
  return say(a, status, first == second);
}

/* ---- turns ---- */

static int early_add_run(const struct pto_kernel_args *a) {
  uint32_t *sum = a->tensors[0].addr;
  int status = BUG ? 0 : pto_core_turn(a);
  for (uint32_t j = 0; j < COLUMNS && status == 0; j++) sum[j] += 7 * a->core->block_index + 1;
  if (BUG) TRY(pto_core_turn(a));
  return status;
}

static int early_look_run(const struct pto_kernel_args *a) {
  uint32_t *sum = a->tensors[0].addr;
  uint32_t was = BUG ? sum[3] : 0;
  const int status = pto_core_turn(a);
  if (status != 0) return status;
  if (!BUG) was = sum[3];
  sum[3] = was + a->core->block_index + 1;
  return 0;
}

/* ---- blocks ---- */

static int next_block_run(const struct pto_kernel_args *a) {
  const uint32_t block = a->core->block_index, next = (block + 1) % a->core->block_count;
  const uint32_t before = (block + a->core->block_count - 1) % a->core->block_count;
  int status = 0;
  write_row(a, block, 10 * block);
  if (!BUG) TRY(pto_core_signal_block(a, before, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0));
  if (!BUG) TRY(TAKE(0));
  if (status == 0) row(a, 8 + block)[0] = sum_row(a, next);
  return status;
}

static int last_level_run(const struct pto_kernel_args *a) {
  const uint32_t block = a->core->block_index;
  int status;
  write_row(a, block, 10 * block);
  status = pto_core_barrier(a);
  if (status == 0 && block == 1) row(a, 1)[0] += sum_row(a, 0);
  if (!BUG) TRY(pto_core_barrier(a));
  if (status == 0 && block == 0) row(a, 8)[0] = row(a, 1)[0];
  return status;
}

static int blocks_meet_run(const struct pto_kernel_args *a) {
  const uint32_t block = a->core->block_index, next = (block + 1) % a->core->block_count;
  write_row(a, block, 10 * block);
  const int status = BUG ? 0 : pto_core_barrier(a);
  if (status == 0) row(a, 8 + block)[0] = sum_row(a, next);
  return status;
}

/* Block 0 hands a number on, or where it is. */
static int shared_handed_run(const struct pto_kernel_args *a) {
  const uint32_t block = a->core->block_index;
  uint64_t *words, word;
  int status = pto_core_shared(a, 1, sizeof *words, (void **)&words);
  if (block == 1) TRY(TAKE(0));
  if (status != 0) return status;
  if (block == 0) *words = 7;
  memcpy(&word, row(a, 0), sizeof word);
  if (block == 1 && BUG) word = *(const uint64_t *)(uintptr_t)word;
  if (block == 1) row(a, 8)[0] = (uint32_t)word;
  if (block == 0) word = BUG ? (uintptr_t)words : *words;
  if (block == 0) memcpy(row(a, 0), &word, sizeof word);
  if (block == 0) TRY(pto_core_signal_block(a, 1, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0));
  if (block == 0) TRY(TAKE(1));
  if (block == 1) TRY(pto_core_signal_block(a, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0), 1));
  return status;
}

/* ---- too many, and too few ---- */

static int signal_left_run(const struct pto_kernel_args *a) {
  int status = 0;
  for (uint32_t i = 0; i < 2; i++)
    if (role_of(a) == PTO_ROLE_AIV0)
      TRY(TELL(AIV1, 2));
    else if (!BUG || i == 0)
      TRY(TAKE(2));
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, 1) : status;
}

static int count_elements(const struct pto_kernel_args *a, uint32_t pushed, uint32_t popped) {
  int status = 0;
  uint32_t value = 9, sum = 0;
  for (uint32_t i = 0; role_of(a) == PTO_ROLE_AIV0 && i < pushed; i++)
    TRY(pto_core_push(a, PTO_ROLE_AIV1, &value, sizeof value));
  if (role_of(a) == PTO_ROLE_AIV0) return status;
  for (uint32_t i = 0; i < popped; i++) {
    TRY(pto_core_pop(a, PTO_ROLE_AIV0, &value, sizeof value));
    if (status == 0) sum += value;
  }
  return say(a, status, sum);
}
static int element_left_run(const struct pto_kernel_args *a) { return count_elements(a, 3, BUG ? 2 : 3); }
static int too_few_run(const struct pto_kernel_args *a) { return count_elements(a, BUG ? 2 : 3, 3); }

/* Four elements are more than PTO_CORE_FIFO_BYTES. */
static int no_room_run(const struct pto_kernel_args *a) {
  enum { COUNT = 5, WORDS = 20000 };
  uint32_t data[WORDS] = {0}, sum = 0;
  int status = 0;
  for (uint32_t i = 0; role_of(a) == PTO_ROLE_AIV0 && i < COUNT; i++) {
    data[0] = 7 * i;
    TRY(pto_core_push(a, PTO_ROLE_AIV1, data, sizeof data));
  }
  if (role_of(a) == PTO_ROLE_AIV0) return status;
  for (uint32_t i = 0; i < (BUG ? 1 : COUNT); i++) {
    TRY(pto_core_pop(a, PTO_ROLE_AIV0, data, sizeof data));
    sum = 3 * sum + data[0];
  }
  return say(a, status, sum);
}

static int signal_back_run(const struct pto_kernel_args *a) {
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0) {
    write_row(a, 0, 5);
    TRY(TELL(AIV1, 0));
    if (!BUG) TRY(TAKE(1));
    return status;
  }
  TRY(TAKE(0));
  if (status != 0) return status;
  const uint32_t sum = sum_row(a, 0);
  TRY(TELL(AIV0, 1));
  return say(a, status, sum);
}

static int no_signaller_run(const struct pto_kernel_args *a) {
  int status = 0;
  if (role_of(a) == PTO_ROLE_AIV0)
    return pto_core_signal(a, PTO_ROLE_BIT(PTO_ROLE_AIC) | (BUG ? 0 : PTO_ROLE_BIT(PTO_ROLE_AIV1)), 0);
  TRY(TAKE(0));
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, 1) : status;
}

static int barrier_left_run(const struct pto_kernel_args *a) {
  int status = pto_core_barrier(a);
  if (role_of(a) == PTO_ROLE_AIV0 || !BUG) TRY(pto_core_barrier(a));
  return role_of(a) == PTO_ROLE_AIV1 ? say(a, status, 1) : status;
}

static int uneven_rounds_run(const struct pto_kernel_args *a) {
  const uint32_t end = BUG ? 5 : 6;
  int status = 0;
  for (uint32_t i = a->core->block_index; i < end && status == 0; i += a->core->block_count) {
    if (i < 5) write_row(a, i, 10 * i);
    status = pto_core_barrier(a);
  }
  return status;
}

static int cycle_run(const struct pto_kernel_args *a) {
  const bool is_first = role_of(a) == PTO_ROLE_AIV0, pops_first = BUG || !is_first;
  const uint32_t other = is_first ? PTO_ROLE_AIV1 : PTO_ROLE_AIV0;
  uint32_t value = 3, got = 0;
  int status = 0;
  if (!pops_first) TRY(pto_core_push(a, other, &value, sizeof value));
  TRY(pto_core_pop(a, other, &got, sizeof got));
  if (pops_first) TRY(pto_core_push(a, other, &value, sizeof value));
  return is_first ? status : say(a, status, got);
}

static int all_flags_run(const struct pto_kernel_args *a) {
  const bool is_first = role_of(a) == PTO_ROLE_AIV0;
  int status = 0;
  if (is_first && !BUG) write_row(a, 0, 5);
  for (uint32_t flag = 0; flag < PTO_CORE_FLAGS; flag++) TRY(is_first ? TELL(AIV1, flag) : TAKE(flag));
  if (is_first && BUG && status == 0) write_row(a, 0, 5);
  return is_first || status != 0 ? status : say(a, status, sum_row(a, 0));
}

/* ---- submits ---- */

static const struct pto_kernel_param of_rows[] = {ANY("x", PTO_INOUT), ANY("z", PTO_OUTPUT), U64("mistake")};
static const struct pto_kernel_param of_blocks[] = {ANY("x", PTO_INOUT), U64("mistake")};
static const struct pto_kernel_param of_sum[] = {ANY("sum", PTO_ACCUMULATE), U64("mistake")};

#define KERNEL(name_, flags_, list)                                                                                    \
  {                                                                                                                    \
    .name = #name_, .cores = PTO_AIC | PTO_AIV, .flags = flags_, .params = list,                                       \
    .param_count = sizeof(list) / sizeof *(list), .run = name_##_run                                                   \
  }

/* AIC where it has a part, AIV0 and AIV1. */
static void put_cluster(struct planted *p, const struct pto_kernel *kernel, bool has_aic) {
  struct pto_tensor x = array_x(p), z = pto_array_tensor(p->rt, pto_program_find(p->run, "z"));
  const struct pto_launch launch = {.aic = has_aic ? kernel : NULL, .aiv0 = kernel, .aiv1 = kernel};
  put(p, launch, PARAMS(pto_inout(&x), pto_output(&z), pto_scalar_u64(p->is_buggy)));
}

#define OF_CLUSTER(name, has_aic)                                                                                      \
  static const struct pto_kernel name##_kernel = KERNEL(name, PTO_KERNEL_WAITS, of_rows);                              \
  static void name(struct planted *p) { put_cluster(p, &name##_kernel, has_aic); }

OF_CLUSTER(no_signal, false)
OF_CLUSTER(early_signal, false)
OF_CLUSTER(late_wait, false)
OF_CLUSTER(other_flag, false)
OF_CLUSTER(one_of_two, true)
OF_CLUSTER(early_relay, true)
OF_CLUSTER(surplus, false)
OF_CLUSTER(credits, false)
OF_CLUSTER(freed_early, true)
OF_CLUSTER(first_row, false)
OF_CLUSTER(no_answer, false)
OF_CLUSTER(three_ahead, false)
OF_CLUSTER(slot_shared, false)
OF_CLUSTER(last_half, false)
OF_CLUSTER(no_barrier, false)
OF_CLUSTER(one_barrier, false)
OF_CLUSTER(both_write, false)
OF_CLUSTER(one_too_many, false)
OF_CLUSTER(early_push, true)
OF_CLUSTER(pop_over, true)
OF_CLUSTER(row_number, false)
OF_CLUSTER(slot_number, false)
OF_CLUSTER(role_returned, false)
OF_CLUSTER(early_ready, false)
OF_CLUSTER(gives_up, false)
OF_CLUSTER(early_count, false)
OF_CLUSTER(early_taken, false)
OF_CLUSTER(middle_value, true)
OF_CLUSTER(plain_count, false)
OF_CLUSTER(late_lock, false)
OF_CLUSTER(torn_read, false)
OF_CLUSTER(poll_alone, false)
OF_CLUSTER(poll_first, false)
OF_CLUSTER(tile_unfilled, true)
OF_CLUSTER(signal_left, false)
OF_CLUSTER(element_left, false)
OF_CLUSTER(signal_back, false)
OF_CLUSTER(no_signaller, true)
OF_CLUSTER(too_few, false)
OF_CLUSTER(no_room, false)
OF_CLUSTER(barrier_left, false)
OF_CLUSTER(cycle, false)
OF_CLUSTER(all_flags, false)

static const struct pto_kernel early_add_kernel = KERNEL(early_add, PTO_KERNEL_TURNS, of_sum);
static const struct pto_kernel early_look_kernel = KERNEL(early_look, PTO_KERNEL_TURNS, of_sum);
static const struct pto_kernel next_block_kernel = KERNEL(next_block, PTO_KERNEL_WAITS, of_blocks);
static const struct pto_kernel shared_handed_kernel = KERNEL(shared_handed, PTO_KERNEL_WAITS, of_blocks);
static const struct pto_kernel blocks_meet_kernel = KERNEL(blocks_meet, PTO_KERNEL_WAITS, of_blocks);

static const struct pto_kernel stencil_kernel = KERNEL(stencil, PTO_KERNEL_WAITS, of_blocks);
static const struct pto_kernel ring_credit_kernel = KERNEL(ring_credit, PTO_KERNEL_WAITS, of_blocks);
static const struct pto_kernel last_level_kernel = KERNEL(last_level, PTO_KERNEL_WAITS, of_blocks);
static const struct pto_kernel uneven_rounds_kernel = KERNEL(uneven_rounds, PTO_KERNEL_WAITS, of_blocks);

static void put_sum(struct planted *p, const struct pto_kernel *kernel) {
  struct pto_tensor x = array_x(p), first = row_of(&x, 0);
  const struct pto_launch launch = {.aiv0 = kernel, .block_count = 4};
  put(p, launch, PARAMS(pto_accumulate(&first), pto_scalar_u64(p->is_buggy)));
}
static void early_add(struct planted *p) { put_sum(p, &early_add_kernel); }
static void early_look(struct planted *p) { put_sum(p, &early_look_kernel); }

static void put_together(struct planted *p, const struct pto_kernel *kernel) {
  struct pto_tensor x = array_x(p);
  const struct pto_launch launch = {.aiv0 = kernel, .block_count = 2, .sync_start = true};
  put(p, launch, PARAMS(pto_inout(&x), pto_scalar_u64(p->is_buggy)));
}
static void stencil(struct planted *p) { put_together(p, &stencil_kernel); }
static void ring_credit(struct planted *p) { put_together(p, &ring_credit_kernel); }
static void next_block(struct planted *p) { put_together(p, &next_block_kernel); }
static void shared_handed(struct planted *p) { put_together(p, &shared_handed_kernel); }
static void blocks_meet(struct planted *p) { put_together(p, &blocks_meet_kernel); }
static void last_level(struct planted *p) { put_together(p, &last_level_kernel); }
static void uneven_rounds(struct planted *p) { put_together(p, &uneven_rounds_kernel); }

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) { return planted_orchestrate(rt, run); }
PLANTED_PROGRAM("planted_cores", .summary = "cores of one task that wait for each other wrongly");
