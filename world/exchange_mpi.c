/* SPDX-License-Identifier: MIT */
/*
 * The exchange between processes: all that calls MPI.  A plug-in (libpto_mpi.so), which only runs of several processes
 * load; it has symbols of libpto as little as any program does, so all that it shares is exchange.h.
 *
 * Always true: MPI is begun once and ended once; where a process cannot go on, it says why and ends all of them.
 *
 * Threads: the one that begins it calls all the rest.
 */
#include <world/exchange.h>

#include <limits.h>
#include <mpi.h>
#include <stdio.h>

/* What a process says first. */
struct arrival {
  uint64_t value, byte_count, is_well;
};

struct processes {
  struct pto_exchange base;
  struct arrival *arrivals; /* by process, as the rest */
  int *counts, *offsets;
};

/* The others may wait for this one, so all end. */
_Noreturn static void end_all(const char *sentence) {
  fprintf(stderr, "ptosim: MPI: %s\n", sentence);
  MPI_Abort(MPI_COMM_WORLD, 3);
  abort();
}

static bool meet(struct pto_exchange *exchange, struct pto_exchange_visit *visit, bool is_well) {
  struct processes *processes = (struct processes *)exchange;
  const struct arrival own = {visit->value, visit->out->count, is_well};
  uint64_t total = 0;
  MPI_Allgather(&own, 3, MPI_UINT64_T, processes->arrivals, 3, MPI_UINT64_T, MPI_COMM_WORLD);
  for (uint32_t i = 0; i < exchange->part_count; i++) {
    const struct arrival *arrival = &processes->arrivals[i];
    visit->value = pto_min_u64(visit->value, arrival->value);
    is_well &= arrival->is_well != 0;
    if (arrival->byte_count > INT_MAX - total) end_all("ranks tell each other more than 2 GiB at once");
    processes->counts[i] = (int)arrival->byte_count;
    processes->offsets[i] = (int)total;
    total += arrival->byte_count;
  }
  visit->in->count = 0;
  void *room = total ? pto_exchange_bytes_add(visit->in, total) : NULL;
  if (total && !room) end_all("no memory for messages between ranks");
  if (total)
    MPI_Allgatherv(visit->out->data, (int)visit->out->count, MPI_BYTE, room, processes->counts, processes->offsets,
                   MPI_BYTE, MPI_COMM_WORLD);
  visit->out->count = 0;
  return is_well;
}

static void destroy(struct pto_exchange *exchange) {
  struct processes *processes = (struct processes *)exchange;
  MPI_Finalize();
  free(processes->arrivals);
  free(processes->counts);
  free(processes->offsets);
  free(processes);
}

PTO_API pto_exchange_of_mpi_function pto_exchange_of_mpi;
PTO_API struct pto_exchange *pto_exchange_of_mpi(uint32_t process_count, const char **sentence) {
  int provided, count, own;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    *sentence = "it does not begin";
    return NULL;
  }
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  MPI_Comm_rank(MPI_COMM_WORLD, &own);
  if ((uint32_t)count != process_count) {
    *sentence = "the launcher is another MPI's, and has started other processes than this one knows of";
    return NULL;
  }
  struct processes *processes = calloc(1, sizeof *processes);
  if (!processes) end_all("no memory");
  *processes = (struct processes){
      .base = {.part_count = process_count,
               .first = (uint32_t)own,
               .end = (uint32_t)own + 1,
               .meet = meet,
               .destroy = destroy},
      .arrivals = calloc(process_count, sizeof *processes->arrivals),
      .counts = calloc(process_count, sizeof *processes->counts),
      .offsets = calloc(process_count, sizeof *processes->offsets),
  };
  if (!processes->arrivals || !processes->counts || !processes->offsets) end_all("no memory");
  return &processes->base;
}
