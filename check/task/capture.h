/* SPDX-License-Identifier: MIT */
/*
 * Keeps chosen tasks of a run, each in a folder (check/task/folder.h), as the run goes by.
 *
 * Owns, from create to destroy, operations that stand between a runtime and its port.  A group of messages of a chosen
 * task (those that are sent in a row: a block, the cores of a MIX task, all blocks of a sync_start task) runs alone:
 * before it is sent everything in flight completes, and nothing else is sent until it has completed.  So what its
 * buffers hold before and after is of that task alone, on every engine and any number of workers; what other tasks did
 * between two stretches counts for neither.  Results are those of any other run, times are not.
 *
 * A folder is written before the task's first kernel runs, without `after`: a kernel that crashes leaves its inputs.
 *
 * Always true: a chosen task with kernels that runs in the first run is captured, or error() says why not; runs after
 * the first are left alone.
 *
 * Control thread.  Create it between runs, destroy it before the runtime.
 */
#ifndef PTO_CHECK_TASK_CAPTURE_H
#define PTO_CHECK_TASK_CAPTURE_H

#include <check/task/choice.h>
#include <check/task/folder.h>

struct pto_task_capture;

struct pto_task_capture_request {
  const char *path;                    /* of the folder that the folders go to; made if it is not there */
  struct pto_task_choice *choice;      /* borrowed */
  void *program_handle;                /* of dlopen: where kernels are looked for; NULL: they are the library's */
  uint64_t first_task;                 /* added to the number of each task: of contexts after the first */
  const struct pto_task_folder *about; /* program, case, settings, seed, engine, chip, deps: copied, strings borrowed */
};

/* `rt` records its graph (PTO_RECORD_GRAPH).  PTO_OK, PTO_ESYSTEM (the folder), PTO_ENOMEM. */
PTO_MUST_CHECK int pto_task_capture_create(struct pto_runtime *rt, const struct pto_task_capture_request *request,
                                           struct pto_task_capture **capture_out, struct pto_error *error);
/* NULL is allowed. */
void pto_task_capture_destroy(struct pto_task_capture *capture);

/* Tasks that were captured with what they left. */
uint64_t pto_task_capture_count(const struct pto_task_capture *capture);
/* What went wrong first; PTO_OK where nothing did. */
const struct pto_error *pto_task_capture_error(const struct pto_task_capture *capture);

#endif
