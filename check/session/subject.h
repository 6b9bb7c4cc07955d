/* SPDX-License-Identifier: MIT */
/*
 * What PROGRAM means: a program of the list, a shared object, a graph file, a model, or one that the caller made.
 *
 *   vector_example, errors/scope, FILE.so    the loader's (orchestration/loader/loader.h)
 *   FILE.json                                a capture (check/capture/capture_program.h), the manifest of an adopted
 *                                            program (check/adopt/program.h), else a graph of operations
 *                                            (check/session/graph_program.h)
 *   FILE.webnn, FILE.onnx                    a graph of operations
 *   model:NAME                               a model of `ptosim list models`, built with the settings
 *
 * Owns what it has loaded until fini.  One thread.  To add a kind of program: a line in `kinds` of subject.c.
 */
#ifndef PTO_CHECK_SESSION_SUBJECT_H
#define PTO_CHECK_SESSION_SUBJECT_H

#include <orchestration/loader/loader.h>
#include <pto/tools.h>

#define PTO_SUBJECT_MODEL "model:"

struct pto_adopted_program;
struct pto_capture_program;
struct pto_graph_program;

struct pto_subject {
  const struct pto_program *program;
  const char *name;
  void *handle;                      /* of dlopen: where kernels of its own are; NULL: it has none there */
  struct pto_loaded_program *loaded; /* NULL: it was not loaded */
  struct pto_graph_program *graph;   /* NULL: it is no graph */
  bool owns_graph;
  struct pto_capture_program *capture; /* NULL: it is none */
  struct pto_adopted_program *adopted; /* likewise */
};

/* PTO_OK, or the sentence.  fini is due in either case. */
PTO_MUST_CHECK int pto_subject_init(struct pto_subject *subject, const struct pto_session_options *options,
                                    struct pto_error *error);
/* Whether its file names its chip: a capture's, or a manifest's. */
bool pto_subject_names_chip(const char *program);
/* That chip, where the file can be read; the caller frees it.  NULL: there is none, or no memory. */
char *pto_subject_named_chip(const char *program);
/* Whether it runs on no stack but a thread's own: calls of an adopted orchestration name no run, so the thread says of
 * which they are (compat/adapter/compat.h); a program that the caller made may be an interpreter's. */
bool pto_subject_wants_thread(const struct pto_session_options *options);
/* A zeroed one is allowed. */
void pto_subject_fini(struct pto_subject *subject);

#endif
