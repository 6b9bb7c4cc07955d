/* SPDX-License-Identifier: MIT */
/*
 * Runs one captured task again, alone, through an ordinary runtime: the same kernels, or others of the same names, on
 * the same bytes through the same views, all its blocks and cores; and compares what it leaves with what was captured.
 *
 * Owns the folder's contents, the program or library that the kernels are of, the memory, and the runtime, until close.
 *
 * Always true after open: memory M begins where its first byte did within a page, and nothing of ours lies behind its
 * last byte, so that a checker sees who runs past it; without one, its pages lie between guards.  Every run starts from
 * the bytes that were captured.
 *
 * One thread, the control thread.
 */
#ifndef PTO_CHECK_TASK_REPLAY_H
#define PTO_CHECK_TASK_REPLAY_H

#include <report/findings/findings.h>
#include <check/task/folder.h>
#include <orchestration/loader/kernel_image.h>
#include <runtime/base/reserve.h>

/* What a memory lies in. */
struct pto_task_block {
  unsigned char *data;        /* the memory begins page_offset bytes behind */
  struct pto_reserve guarded; /* with guards around it; zeroed: of the heap, where a checker watches that */
};

struct pto_task_replay {
  struct pto_task_folder folder;
  struct pto_loaded_program *program; /* NULL: not needed */
  struct pto_kernel_library library;  /* of `library_path` */
  const struct pto_kernel *kernels[3];
  bool is_replaced; /* some kernel is the library's */
  struct pto_runtime *rt;
  struct pto_tensor tensors[PTO_MAX_PARAMS];
  struct pto_task_block blocks[PTO_MAX_TENSORS];
  struct pto_error refusal; /* of the last run's submit; PTO_OK: it was taken */
};

/* How much an element may differ, by |a − g| ≤ atol + rtol·|g|; both 0: not a bit. */
struct pto_task_tolerance {
  double rtol, atol;
};

/* `config` is that of the runtime to make; engine and chip NULL: the folder's.  `library_path` may be NULL.  PTO_OK;
 * PTO_EINVAL, PTO_EFIT where folder, program, library or chip are not what they have to be; PTO_ESYSTEM, PTO_ENOMEM.
 * close is due in any case. */
PTO_MUST_CHECK int pto_task_replay_open(struct pto_task_replay *replay, const char *path, const char *library_path,
                                        const struct pto_config *config, struct pto_error *error);
void pto_task_replay_close(struct pto_task_replay *replay);

/* PTO_OK, or the run's error; that of the submit where the task was refused. */
PTO_MUST_CHECK int pto_task_replay_run(struct pto_task_replay *replay, struct pto_error *error);

/* What the last run left against what was captured: a finding a parameter, and one a memory for bytes that no parameter
 * has.  `tolerance` NULL: bit by bit if the kernels are those of the program, else by dtype.  Returns how many units
 * differ. */
uint64_t pto_task_replay_compare(const struct pto_task_replay *replay, const struct pto_task_tolerance *tolerance,
                                 struct pto_findings *findings);

#endif
