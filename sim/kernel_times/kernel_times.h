/* SPDX-License-Identifier: MIT */
/*
 * Tables of kernel times: what calls of a kernel took on hardware, by the kernel's own text of what its time depends on
 * (the callback `key` of struct pto_kernel).
 *
 * A table is a file of lines "kernel,core,key,count,mean_ps,p10_ps,p90_ps,active_cores,source,commit,date", the first
 * line being just that.  No field has a comma or a quote in it.  core is AIC, AIV or MIX.  count is how many calls were
 * measured, and active_cores how many cores were busy with such calls at the time; these, p10_ps and p90_ps are 0 where
 * the source does not say.  Kernel, core and key together are there once.
 *
 * Where a call's time comes from, in this order (docs/kernel-times.md):
 *   measured      the table has its key;
 *   interpolated  the table has two keys that differ from it in one number, and from each other, one on either side;
 *   modelled      by the stages of the chip file ([stages]), where it has them;
 *   assumed       by the rates of the chip file, as where there is neither table nor stages.
 * Nothing is extrapolated: a key beyond all rows is modelled or assumed.
 *
 * Integers only.  A table is its owner's, constant once loaded; any thread.
 */
#ifndef PTO_SIM_KERNEL_TIMES_KERNEL_TIMES_H
#define PTO_SIM_KERNEL_TIMES_KERNEL_TIMES_H

#include <sim/chips/chip.h>

#include <stdio.h>

struct pto_kernel_row {
  char kernel[48], core[8], key[PTO_KERNEL_KEY_SIZE];
  uint64_t count, mean_ps, p10_ps, p90_ps;
  uint32_t active_cores;
  char source[112], commit[48], date[16];
};

/* Rows by kernel, core and key.  Zeroed: an empty one. */
struct pto_kernel_table {
  struct pto_kernel_row *rows;
  uint32_t count;
};

/* Loads a shipped table by name ("a2a3"), else the file at that path.  PTO_OK, or PTO_EINVAL, PTO_ENOMEM or PTO_ESYSTEM
 * with file, line and value. */
PTO_MUST_CHECK int pto_kernel_table_load(const char *name_or_path, struct pto_kernel_table *table,
                                         struct pto_error *error);
/* Takes a row in, in its place; one with its kernel, core and key is replaced.  False: no memory. */
PTO_MUST_CHECK bool pto_kernel_table_add(struct pto_kernel_table *table, const struct pto_kernel_row *row);
/* As it is read; 0, or PTO_EINVAL where a text has a comma, a quote or a line's end in it. */
PTO_MUST_CHECK int pto_kernel_table_write(const struct pto_kernel_table *table, FILE *to);
void pto_kernel_table_free(struct pto_kernel_table *table);

/* What a table says of a call. */
struct pto_kernel_found {
  enum pto_origin origin; /* measured or interpolated; PTO_ORIGIN_ASSUMED: nothing */
  uint64_t ps;
  uint32_t active_cores; /* as measured; 0: not known */
};
struct pto_kernel_found pto_kernel_table_find(const struct pto_kernel_table *table, const char *kernel,
                                              uint32_t core_kind, const char *key);

/* The shipped tables by index: name and text, no NUL behind it; false past the end. */
struct pto_kernel_table_file {
  const char *name, *text;
  size_t size_bytes;
};
bool pto_kernel_table_file_at(uint32_t index, struct pto_kernel_table_file *file);

#endif
