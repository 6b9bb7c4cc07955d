/* SPDX-License-Identifier: MIT */
/*
 * A capture as a program: its tasks again, with kernels that do nothing and take as long as they were captured.
 *
 * Option replay:
 *   edges      each task waits for those that it depended on, and touches what it touched; [where dependencies were
 *              captured]
 *   accesses   our rules find the dependencies in what tasks touch; explicit ones are given as they were
 *   recorded   each part of a task alone, released at its dispatch, on its recorded core, in recorded order [else]
 *
 * A task of which no time was captured costs what its bytes cost.
 *
 * Owns the capture and all that is made of it until destroy.  One run at a time; the control thread.
 */
#ifndef PTO_CHECK_CAPTURE_CAPTURE_PROGRAM_H
#define PTO_CHECK_CAPTURE_CAPTURE_PROGRAM_H

#include <check/capture/capture.h>
#include <pto/program.h>

struct pto_capture_program;

/* PTO_OK; PTO_EINVAL, PTO_ESYSTEM, PTO_ENOMEM with the sentence. */
PTO_MUST_CHECK int pto_capture_program_load(const char *path, struct pto_capture_program **program_out,
                                            struct pto_error *error);
/* NULL is allowed. */
void pto_capture_program_destroy(struct pto_capture_program *program);
const struct pto_program *pto_capture_program_program(const struct pto_capture_program *program);
/* The shipped chip that it runs on unless another is asked for. */
const char *pto_capture_program_chip(const struct pto_capture *capture);

#endif
