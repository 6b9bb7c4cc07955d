/* SPDX-License-Identifier: MIT */
/*
 * The shipped tables, byte for byte as in sim/kernel_times, inside the library, as sim/chips/chip_files.c has the chip
 * files.  A new table is a line in TABLE_LIST and its file sim/kernel_times/NAME.csv.
 */
#include <sim/kernel_times/kernel_times.h>

#define TABLE_LIST(X) X(a2a3)

#define X(table)                                                                                                       \
  __asm__(".pushsection .rodata.pto_kernel_table,\"a\",%progbits\n"                                                    \
          ".global pto_kernel_table_" #table "_begin\n.hidden pto_kernel_table_" #table "_begin\n"                     \
          ".global pto_kernel_table_" #table "_end\n.hidden pto_kernel_table_" #table "_end\n"                         \
          "pto_kernel_table_" #table "_begin:\n.incbin \"sim/kernel_times/" #table ".csv\"\n"                          \
          "pto_kernel_table_" #table "_end:\n.byte 0\n.popsection\n");                                                 \
  extern __attribute__((visibility("hidden"))) const char pto_kernel_table_##table##_begin[];                          \
  extern __attribute__((visibility("hidden"))) const char pto_kernel_table_##table##_end[];
TABLE_LIST(X)
#undef X

bool pto_kernel_table_file_at(uint32_t index, struct pto_kernel_table_file *file) {
  const struct {
    const char *name, *begin, *end;
  } files[] = {
#define X(table) {#table, pto_kernel_table_##table##_begin, pto_kernel_table_##table##_end},
      TABLE_LIST(X)
#undef X
  };
  if (index >= PTO_ARRAY_LENGTH(files)) return false;
  file->name = files[index].name;
  file->text = files[index].begin;
  file->size_bytes = (size_t)((uintptr_t)files[index].end - (uintptr_t)files[index].begin);
  return true;
}
