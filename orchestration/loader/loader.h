/* SPDX-License-Identifier: MIT */
/*
 * The loader: finds programs (shared objects with the one symbol `pto_program`) and loads them.  The project's one user
 * of dlopen.
 *
 * Owns: a pto_loaded_program and the mapping of its shared object, until pto_program_unload.
 *
 * Always true: two loads never share a writable global.  The first load of a file maps the file itself, so debuggers
 * and sanitizers see its real path; a load of a file that the process has mapped already maps a private copy of it.
 * Loading again after the unload starts from fresh globals for the same reason that a first load does.
 *
 * Threads: any, one at a time.  Whatever was made of a program (runs, runtimes that still know its kernels) is
 * destroyed before it is unloaded.
 *
 * To add a place where programs are looked for: one line in the list in loader.c.
 */
#ifndef PTO_LOADER_H
#define PTO_LOADER_H

#include <pto/program.h>
#include <runtime/base/error.h>

struct pto_loaded_program {
  const struct pto_program *program;
  char *name;   /* "vector_example", "errors/scope"; of a path: its last part without ".so" */
  char *path;   /* the file that was asked for */
  void *handle; /* of dlopen */
  int copy_fd;  /* the private copy that is mapped instead of the file, or -1 */
};

/* Loads the program called `name_or_path`: a path if it ends in ".so", else a name of pto_program_list.  PTO_OK, or
 * PTO_EINVAL (no such program, no symbol pto_program, another abi, a program without orchestrate and host),
 * PTO_ENOMEM or PTO_ESYSTEM with the sentence in `error`; *loaded_out is written only on success and given to the
 * caller. */
PTO_MUST_CHECK int pto_program_load(const char *name_or_path, struct pto_loaded_program **loaded_out,
                                    struct pto_error *error);
/* Whether this library can run `program`, called so in the sentence: PTO_OK or PTO_EINVAL. */
PTO_MUST_CHECK int pto_program_check(const struct pto_program *program, const char *called, struct pto_error *error);
/* NULL is allowed. */
void pto_program_unload(struct pto_loaded_program *loaded);

/* Calls `visit` for each program in the programs folders, sorted by name, those of sub-folders ("errors/scope") after
 * those above them.  Nothing is loaded.  A non-zero answer of `visit` ends the walk and is returned; else PTO_OK, or
 * PTO_ENOMEM or PTO_ESYSTEM before `visit` is called.  A name that an earlier folder has hides those of later folders.
 *
 * Folders: those of PTO_PROGRAM_PATH (separated by colons) where it is set and not empty; else `programs/` beside the
 * running executable and ../lib/pto/programs from it. */
int pto_program_list(int (*visit)(void *context, const char *name, const char *path), void *context);

#endif
