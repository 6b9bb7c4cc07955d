/* SPDX-License-Identifier: MIT */
#include <world/exchange.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <runtime/base/process.h>

/* Of Open MPI, and of launchers that speak PMI. */
uint32_t pto_exchange_process_count(void) {
  const char *text = getenv("OMPI_COMM_WORLD_SIZE");
  if (!text) text = getenv("PMI_SIZE");
  const unsigned long count = text ? strtoul(text, NULL, 10) : 0;
  return count > 1 && count <= INT_MAX ? (uint32_t)count : 1;
}

/* Beside the executable, or where it is installed.  It stays until the process ends, as MPI does. */
static void *load_plug_in(void) {
  static const char *const places[] = {"libpto_mpi.so", "../lib/pto/libpto_mpi.so"};
  char folder[PATH_MAX], path[PATH_MAX];
  void *plug_in = NULL;
  if (!pto_process_folder(folder)) return NULL;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(places) && !plug_in; i++)
    if (snprintf(path, sizeof path, "%s/%s", folder, places[i]) < (int)sizeof path)
      plug_in = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return plug_in;
}

int pto_exchange_join(struct pto_exchange **exchange_out, struct pto_error *error) {
  const uint32_t count = pto_exchange_process_count();
  *exchange_out = NULL;
  if (count == 1) return PTO_OK;
  void *plug_in = load_plug_in(), *symbol = plug_in ? dlsym(plug_in, PTO_EXCHANGE_OF_MPI) : NULL;
  if (!symbol)
    return pto_error_set(error, PTO_ENOTSUP,
                         "ranks of %" PRIu32 " processes need libpto_mpi.so beside ptosim: it was built without MPI "
                         "(scripts/deps --mpi)",
                         count);
  pto_exchange_of_mpi_function *begin;
  const char *sentence = NULL;
  memcpy(&begin, &symbol, sizeof begin);
  *exchange_out = begin(count, &sentence);
  return *exchange_out ? PTO_OK : pto_error_set(error, PTO_ESYSTEM, "MPI: %s", sentence);
}
